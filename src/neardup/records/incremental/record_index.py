"""The object that users have of an index of records."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.index.answers import id_values
from neardup.records.incremental.record_store import RecordStore, open_store


class RecordIndex:
    """Records that stay, with their clusters; made by `LinkRun.index`, opened by `open`.

    New records are linked by ``neardup.link(new, against=index)``. One process writes at a time.

    Args:
        store: The index.
    """

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RecordIndex:
        """Open an index.

        Args:
            path: Its folder.

        Raises:
            InputNotFoundError: There is none.
            RecipeError: It was made by other versions of what keys depend on.
            StoreError: It is damaged, or on a network file system.
        """
        return cls(open_store(Path(path)))

    def __repr__(self) -> str:
        where = f" in {self.path}" if self.path else ""
        return f"<RecordIndex{where}: {len(self):,} records, threshold {self._store.threshold:g}>"

    def __len__(self) -> int:
        """Number of records."""
        with self._store.core.reading() as state:
            return state.documents

    def __enter__(self) -> RecordIndex:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files; every later call raises `StoreError`."""
        self._store.close()

    @property
    def path(self) -> Path | None:
        """Its folder; None in memory."""
        return self._store.core.folder

    @property
    def clusters(self) -> pa.Table:
        """A row for each record, as they came: ``id``, ``cluster`` and ``size`` int64.

        A cluster has the number of its first record, and keeps it.
        """
        with self._store.core.reading() as state:
            ids, _, clusters = self._store.everything()
        sizes = np.bincount(clusters)[clusters] if len(clusters) else clusters
        columns = [id_values(ids, state.ids), array_of(clusters), array_of(sizes)]
        return pa.Table.from_arrays(columns, ["id", "cluster", "size"])

    def evaluate(
        self,
        truth: object,
        *,
        columns: Sequence[str] | None = None,
        kind: str | None = None,
        missing: str = "error",
    ) -> dict[str, Any]:
        """Compare the clusters with the ground truth.

        Args:
            truth: As for `LinkRun.evaluate`, as are all other arguments.

        Returns:
            ``clusters``: precision, recall and F1 of the pairs within them, and B-cubed.

        Raises:
            InputError: The truth can't be read, or names ids that no record has.
        """
        from neardup.records.outputs.link_scores import evaluate_clusters

        found = self.clusters
        return evaluate_clusters(found, truth, columns=columns, kind=kind, missing=missing)
