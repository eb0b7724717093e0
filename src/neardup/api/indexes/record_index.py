"""The object that users have of an index of records."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.errors import SpecError, ids_left_out
from neardup.index.answers import id_values
from neardup.index.incoming import ids_as_stored
from neardup.index.storing.bodies import Id
from neardup.io.remote import local_target
from neardup.linkage.incremental.record_store import RecordStore, open_store
from neardup.options.arguments import expanded
from neardup.options.option_groups import FileOptions, TableOptions
from neardup.threads import Pool

if TYPE_CHECKING:
    from neardup.api.finished.link_runs import LinkRun
    from neardup.linkage.incremental.relinking import Relinked


class RecordIndex:
    """Records that stay, with their clusters; made by `LinkRun.index`, opened by `open`.

    New records are linked by ``neardup.link(new, against=index)``. One process writes at a time.

    Args:
        store: The index.
    """

    #: As that of a linkage, in messages.
    command: ClassVar[str] = "link"

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, readonly: bool = False) -> RecordIndex:
        """Open an index.

        Args:
            path: Its folder.
            readonly: Refuse to write.

        Raises:
            InputNotFoundError: There is none.
            RecipeError: It was made by other versions of what keys depend on.
            StoreError: It is damaged, or on a network file system.
        """
        return cls(open_store(local_target(path), readonly))

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

    def explain(self, a: int | str, b: int | str, *, texts: bool = True) -> dict[str, Any]:
        """Explain why two records are one, or are not, as they were decided.

        Weights that were learnt again since then are the new ones.

        Args:
            a: Id of a record.
            b: Id of another one.
            texts: Return the values of the fields too.

        Returns:
            As `LinkRun.explain`.

        Raises:
            SpecError: The two ids are the same.
            UnknownIdError: No record has that id.
        """
        from neardup.inspect.link_answers import LinkExplanation
        from neardup.linkage.incremental.record_changes import explain_stored

        return LinkExplanation(explain_stored(self._store, self._spelled([a, b]), texts))

    def remove(self, ids: int | str | Iterable[int | str]) -> None:
        """Remove records; all others keep their clusters. Weights stay, too.

        Args:
            ids: An id, or several.

        Raises:
            StoreError: Another process writes.
            UnknownIdError: No record has one of the ids; nothing was removed.
        """
        from neardup.linkage.incremental.record_changes import remove_stored

        several = not isinstance(ids, int | str)
        given: Any = ids if several else [ids]
        spelled = self._spelled(list(dict.fromkeys(given)))
        with self._store.core.writing():
            remove_stored(self._store, spelled)

    @expanded
    def update(self, records: object, **options: Unpack[TableOptions]) -> LinkRun:
        """Replace records: those with these ids are removed, and linked as if they came now.

        Args:
            records: A path, a table or a frame, as for `neardup.link`; ids that are new are added.
            id: Column with the ids; that of the index without it.

        Returns:
            The linkage of these records with the others.

        Raises:
            InputError: They can't be used; its subclasses say why.
            SpecError: Ids of the index are positions.
            StoreError: Another process writes.
        """
        from neardup.api.finished.link_runs import LinkRun
        from neardup.linkage.incremental.linking_new import link_new
        from neardup.linkage.record_files import RecordSource

        how = options["reading"]
        if how.id is None and self._store.id is None:
            raise SpecError("the index has no ids to replace records by", "give the column `id`")
        given = RecordSource((records,), how)
        with ids_left_out(how.private_ids), Pool() as pool:
            return LinkRun._of(link_new(self._store, given, pool, replace=True))

    def mark(self, labels: object, *, private_ids: bool = False) -> int:
        """Mark pairs of records. Their answers stay, until `unmark` takes them back.

        A cluster that contradicts a mark is linked again, as if its records came now; but those
        that are one with its first record stay. All other records keep their clusters.

        Args:
            labels: As for `neardup.link`; ``labels`` with ``against`` does the same.
            private_ids: Have no id in an error.

        Returns:
            How many records were linked again.

        Raises:
            InputError: They can't be read, name ids that no record has, or contradict each other or
                marks that the index has.
            StoreError: Another process writes.
        """
        from neardup.linkage.incremental.linking_new import mark_stored

        with ids_left_out(private_ids), Pool() as pool:
            return mark_stored(self._store, labels, pool)

    def unmark(self, pairs: Iterable[tuple[int | str, int | str]]) -> int:
        """Take back marks of pairs, which the index has from `mark` or the `labels` of a linkage.

        Records keep their clusters; the next ones that come, and `relink`, know nothing of the
        marks.

        Args:
            pairs: Two ids each.

        Returns:
            How many of the pairs were marked.
        """
        spelled = {frozenset(self._spelled(list(pair))) for pair in pairs}
        with self._store.core.writing():
            self._store.refresh()
            return self._store.unmark(spelled)

    def relink(self) -> Relinked:
        """Return the changes by one linkage of all records; the index stays as it is.

        It takes as long as that linkage.
        """
        from neardup.linkage.incremental.relinking import relinked

        with Pool() as pool:
            return relinked(self._store, pool)

    def check(self) -> list[str]:
        """Read all of the index; return its defects, in words. Empty if all is well."""
        from neardup.linkage.incremental.record_changes import problems_in

        return problems_in(self._store)

    def stats(self) -> dict[str, Any]:
        """Return numbers of records, clusters and bytes, and settings, by name.

        ``clusters`` are those of two records and more; ``entities`` are all, a record that is like
        no other one being a cluster by itself.
        """
        from neardup.index.answers import storage_of

        with self._store.core.reading():
            self._store.refresh()
        clusters, storage = self.clusters, storage_of(self._store.core)
        sizes = np.unique(np.asarray(clusters["cluster"]), return_counts=True)[1]
        spec = self._store.spec
        return {
            "records": clusters.num_rows,
            "clusters": int((sizes > 1).sum()),
            "entities": len(sizes),
            "largest": int(sizes.max(initial=0)),
            "bytes": storage["bytes_documents"] + storage["bytes_segments"],
            "num_bands": storage["num_bands"],
            "rows": storage["rows"],
            "learnt_from": self._store.counted,
            "fields": ",".join(spec.names),
            "block_at": spec.block_at,
            "decide_at": spec.decide_at,
        }

    def _spelled(self, ids: Sequence[Any]) -> list[Id]:
        """Return ids as the index has them, of texts or numbers that spell them."""
        with self._store.core.reading() as state:
            return ids_as_stored(ids, state.ids)

    @expanded
    def evaluate(
        self,
        truth: object,
        *,
        columns: Sequence[str] | None = None,
        kind: str | None = None,
        missing: str = "error",
        **options: Unpack[FileOptions],
    ) -> dict[str, Any]:
        """Compare the clusters with the ground truth.

        Args:
            truth: As for `LinkRun.evaluate`, as are all other arguments.

        Returns:
            ``clusters``: precision, recall and F1 of the pairs within them, and B-cubed.

        Raises:
            InputError: The truth can't be read, or names ids that no record has.
        """
        from neardup.inspect.link_answers import LinkEvaluation
        from neardup.inspect.link_scores import evaluate_clusters

        found, how = self.clusters, options["reading"]
        return LinkEvaluation(
            evaluate_clusters(found, truth, columns=columns, kind=kind, missing=missing, how=how)
        )
