"""Ids of documents as a page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.report.page.shown import as_json
from neardup.run.finished import FinishedRun
from neardup.run.ids import plain_id

__all__ = ["Names"]

#: Characters that are shown of the beginning and of the end of a long id, such as a path.
_HEAD, _TAIL = 60, 60


class Names:
    """Ids as text.

    Args:
        run: The run.
        texts: Whether texts may be shown. If not, and ids are texts, positions stand for them.
    """

    def __init__(self, run: FinishedRun, texts: bool) -> None:
        self._table = run.clusters(["doc_id", "kept_by"])
        self._hidden = not texts and bool(run.record["secret_ids"])

    def of(self, docs: np.ndarray) -> tuple[list[str], list[str | None]]:
        """Return the ids of some documents, and those of the kept ones that they repeat.

        Args:
            docs: int[]: positions.
        """
        rows = self._table.take(pa.array(docs))
        kept_by = rows.column("kept_by")
        if self._hidden:
            own: Sequence[Any] = docs.tolist()
            others = pc.index_in(kept_by, value_set=self._table.column("doc_id")).to_pylist()
        else:
            own, others = rows.column("doc_id").to_pylist(), kept_by.to_pylist()
        return [_name(x) for x in own], [None if x is None else _name(x) for x in others]

    def size(self, docs: np.ndarray) -> int:
        """Return the bytes that the ids of some documents take in a page."""
        own, others = self.of(docs)
        elsewhere = set(others) - set(own) - {None}
        return len(as_json([*own, *elsewhere]).encode())


def _name(value: Any) -> str:
    name = str(plain_id(value))
    return name if len(name) <= _HEAD + _TAIL else f"{name[:_HEAD]}…{name[-_TAIL:]}"
