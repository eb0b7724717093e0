"""Passages for a page that has no ids: it names rows of the table of documents instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.copies.passage_results import PassageResults
from neardup.results.results import rows_as_ids

_IDS = ("doc_id", "source_id", "origin_id")
_OTHER = "a document of the other corpus"


def public(results: PassageResults) -> PassageResults:
    """Return results for a page or a message: without ids where these are private."""
    return _WithoutIds(results.storage) if results.record.get("private_ids") else results


class _WithoutIds(PassageResults):
    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        found = super().table(name, columns)
        ids: Any = super().table("documents", ["doc_id"]).column(0)
        names = rows_as_ids(len(ids))
        for column in set(_IDS) & set(found.column_names):
            values: Any = found.column(column)
            rows: Any = pc.index_in(values.cast(ids.type, safe=False), value_set=ids)
            shown: Any = names.take(rows)
            is_source = column != "doc_id" or name == "boilerplate"
            mark = "origin_in_old" if column == "origin_id" else "in_old"
            if is_source and mark in found.column_names:
                shown = pc.if_else(found.column(mark), _OTHER, shown)
            found = found.set_column(found.column_names.index(column), column, shown)
        return found

    def old_texts(self, ids: pa.ChunkedArray[Any]) -> dict[Any, str]:
        """Return nothing: a document without an id is not found again."""
        return {}
