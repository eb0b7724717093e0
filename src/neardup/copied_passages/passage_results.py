"""Questions to the passages of a result, and the texts again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.errors import InputError
from neardup.frame.storage import OLD, Storage


class PassageResults:
    """The passages of documents, by their positions in the input.

    Args:
        storage: Record, tables and inputs.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage, self.record, self.name = storage, storage.record, storage.name

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one of the tables."""
        return self.storage.table(name, columns)

    def texts(self, docs: np.ndarray, threads: int | None = None) -> list[str]:
        """Return the texts of documents, by their positions in the input, in any order."""
        return self.storage.corpus().texts(docs, threads)

    def old_texts(self, ids: pa.ChunkedArray[Any]) -> dict[Any, str]:
        """Return the texts of documents of the corpus compared against, by their ids.

        Nothing where that can't be read again.
        """
        if not len(ids):
            return {}
        try:
            old = self.storage.corpus(OLD)
            every = old.ids()
            if every is None:
                every = pa.chunked_array([array_of(np.arange(old.documents))])
            texts = old.texts(_positions(ids, every))
        except InputError:  # gone, or changed since
            return {}
        return dict(zip(ids.to_pylist(), texts, strict=True))


def _positions(ids: Any, every: Any) -> np.ndarray:
    """Return int64[ids]: where ids are among all of a corpus; InputError if one is not."""
    kind = pa.large_string()
    found: Any = pc.index_in(ids.cast(kind), value_set=every.cast(kind))
    if found.null_count:
        raise InputError("the corpus compared against has other ids than before", "run it again")
    return np.asarray(found.to_numpy(), np.int64)


def position_of(results: PassageResults, id: object) -> int:
    """Return the position of a document by its id, or by a text that spells it."""
    ids: Any = results.table("documents", ["doc_id"]).column(0)
    asked: Any = pa.scalar(str(id), pa.large_string())
    found = int(pc.index(ids.cast(pa.large_string()), asked).as_py())
    if found < 0:
        if results.record.get("private_ids") and str(id).startswith("row "):
            with suppress(ValueError):
                if 0 <= int(str(id)[4:]) < len(ids):
                    return int(str(id)[4:])
        secret = results.record["secret_ids"]
        raise InputError(
            f"no document has {'that id' if secret else f'the id {str(id)[:100]}'}",
            "the ids are in the column doc_id of the table of documents",
        )
    return found
