"""Between Arrow arrays and NumPy arrays, without copies where that is possible."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.arrays import ArrowArray, array_of, numbers
from neardup.sketch.texts import Ragged

Batches: TypeAlias = Iterable[pa.RecordBatch]
Rows: TypeAlias = Iterator[pa.RecordBatch]


def fixed_lists_of(rows: np.ndarray) -> ArrowArray:
    """Return uint64[n, k] as n lists of k numbers."""
    values = array_of(rows.reshape(-1))
    kind = pa.list_(pa.uint64(), rows.shape[1])
    return pa.Array.from_buffers(kind, len(rows), [None], children=[values])


def lists_of(values: np.ndarray, offsets: np.ndarray) -> ArrowArray:
    """Return rows of different lengths as lists; ``offsets`` int64[rows + 1] begin with 0."""
    child = array_of(values)
    kind = pa.large_list(child.type)
    offsets = np.ascontiguousarray(offsets, dtype=np.int64)
    return pa.Array.from_buffers(
        kind, len(offsets) - 1, [None, pa.py_buffer(offsets.data)], children=[child]
    )


def ragged(array: ArrowArray) -> Ragged:
    """Return lists of numbers as rows in one array; the inverse of `lists_of`."""
    lists: Any = array.cast(pa.large_list(array.type.value_type))
    offsets = numbers(lists.offsets)
    values = numbers(lists.values)
    return Ragged(values[offsets[0] : offsets[-1]] if len(lists) else values, offsets - offsets[0])


def columns_of(batches: Batches, *names: str) -> list[np.ndarray]:
    """Return some columns of numbers, those of all batches concatenated."""
    found = [[numbers(batch.column(name)) for name in names] for batch in batches]
    columns = zip(*found, strict=True) if found else [[np.empty(0, np.int64)]] * len(names)
    return [np.concatenate(column) for column in columns]


def one_batch(batches: Batches) -> pa.RecordBatch:
    """Put batches, at least one, together; binary values may have more than 2 GB then."""
    table = pa.Table.from_batches(list(batches))
    fields = [
        field.with_type(pa.large_binary()) if pa.types.is_binary(field.type) else field
        for field in table.schema
    ]
    (batch,) = table.cast(pa.schema(fields)).combine_chunks().to_batches()
    return batch


def groups_of(batches: Batches, name: str, size: int) -> Iterator[list[pa.RecordBatch]]:
    """Yield complete groups of rows, of about ``size`` bytes together, or one that is larger.

    Rows of a group have the same number in the column ``name``, and follow each other.
    """
    complete: list[pa.RecordBatch] = []
    last: list[pa.RecordBatch] = []  # the group that the next batch may continue
    for batch in batches:
        if not batch.num_rows:
            continue
        values = numbers(batch.column(name))
        if last and values[0] != numbers(last[-1].column(name))[-1]:
            complete, last = [*complete, *last], []
        changes = np.flatnonzero(values[1:] != values[:-1])
        if len(changes):
            end = int(changes[-1]) + 1
            complete, last = [*complete, *last, batch.slice(0, end)], []
            batch = batch.slice(end)
        last.append(batch)
        if complete and sum(rows.nbytes for rows in complete) >= size:
            yield complete
            complete = []
    if complete or last:
        yield [*complete, *last]


def schema_of(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(columns)
