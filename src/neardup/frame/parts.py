"""Tables that Apache Spark has written, in the order and with the columns of one machine."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.documents.identifiers import id_array

#: Columns of ids of passages, and those by which their rows are sorted.
_IDS, _ORDER = ("doc_id", "source_id", "origin_id"), ("doc_id", "start")


def in_order(name: str, read: Callable[[str], pa.Table]) -> pa.Table:
    """Return a table by its name; ``read`` gives the rows of any as Spark has them."""
    match name:
        case "clusters":
            return _clusters(read(name))
        case "edges":
            return _edges(read(name), _clusters(read("clusters")).column("doc_id"))
        case "boilerplate":
            return read(name)
    table = read(name)
    kind = id_array(table.column("doc_id"), "doc_id").type
    fields = [field.with_type(kind) if field.name in _IDS else field for field in table.schema]
    order: Any = [(each, "ascending") for each in _ORDER if each in table.column_names]
    return table.cast(pa.schema(fields)).sort_by(order)


def _clusters(table: pa.Table) -> pa.Table:
    """Return the clusters of documents in the order of their ids, which number them."""
    found = table.sort_by("id")
    ids, names = found.column("id"), ["kept", "duplicate_of", "similarity", "how"]
    columns: dict[str, Any] = {
        "doc": pa.array(np.arange(len(ids))),
        "doc_id": ids,
        "cluster": _rows(found.column("cluster"), ids),
    }
    return pa.table(columns | {name: found.column(name) for name in names})


def _edges(table: pa.Table, ids: Any) -> pa.Table:
    a, b = (_rows(table.column(name), ids) for name in ("id_a", "id_b"))
    return table.append_column("doc_a", a).append_column("doc_b", b)


def _rows(values: Any, ids: Any) -> "pa.ChunkedArray[Any]":
    """Return the rows of ids, int64."""
    found: Any = pc.index_in(values, value_set=ids)
    rows: pa.ChunkedArray[Any] = found.cast(pa.int64())
    return rows
