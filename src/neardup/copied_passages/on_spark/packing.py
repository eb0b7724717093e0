"""Arrays as the bytes of a row, for a target: a range of documents, or a share of all hashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers
from neardup.spark.stages.batches import Batches, groups_of

#: Schema of rows in shuffles, in Spark's words.
SCHEMA = "target int, kind int, data binary"
_NUMBER: pa.DataType = pa.int32()
_BINARY: pa.DataType = pa.binary()
_ARROW = pa.schema([("target", _NUMBER), ("kind", _NUMBER), ("data", _BINARY)])
#: Rows that are not for a share or a range.
HERE = -1


def pack(*arrays: np.ndarray) -> bytes:
    """Return the bytes of some arrays; `unpack` has to know their types."""
    sizes = np.array([len(arrays), *(values.nbytes for values in arrays)], np.int64)
    return b"".join([sizes.tobytes(), *(values.tobytes() for values in arrays)])


def unpack(data: bytes, *types: Any) -> list[np.ndarray]:
    """Return the arrays that `pack` was given; they can't be written to."""
    view = memoryview(data)
    sizes = np.frombuffer(view, np.int64, 1 + len(types))[1:]
    ends = np.cumsum(sizes) + 8 * (1 + len(types))
    return [
        np.frombuffer(view[end - size : end], kind)
        for size, end, kind in zip(sizes.tolist(), ends.tolist(), types, strict=True)
    ]


def steps_of(values: np.ndarray) -> np.ndarray:
    """Return the differences between values, uint64[n]: positions in order compress well so."""
    return np.diff(values, prepend=np.zeros(1, values.dtype))


def undo_steps(values: np.ndarray) -> np.ndarray:
    """Return the values that `steps_of` was given."""
    return np.cumsum(values, dtype=values.dtype)


class ShuffleRows:
    """Collects rows for a shuffle; yields them in batches of some megabytes."""

    def __init__(self, size: int = 16 << 20) -> None:
        self._rows: list[tuple[int, int, bytes]] = []
        self._size, self._bytes = size, 0

    def add(self, target: int, kind: int, data: bytes) -> None:
        self._rows.append((target, kind, data))
        self._bytes += len(data)

    def full(self) -> Iterator[pa.RecordBatch]:
        """Yield what there is if that is much."""
        if self._bytes >= self._size:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yield what there is."""
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [
                pa.array(list(column), field.type)
                for column, field in zip(columns, _ARROW, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
        self._rows, self._bytes = [], 0


def targets(batches: Batches) -> Iterator[tuple[int, list[tuple[int, bytes]]]]:
    """Yield each target with its rows (kind, data), which follow each other."""
    for rows in groups_of(batches, "target", 0):
        found: dict[int, list[tuple[int, bytes]]] = {}
        for batch in rows:
            columns = (numbers(batch.column(name)).tolist() for name in ("target", "kind"))
            for target, kind, data in zip(*columns, batch.column("data"), strict=True):
                found.setdefault(target, []).append((kind, data.as_buffer()))
        yield from found.items()


def column(rows: list[list[np.ndarray]], k: int, kind: Any) -> np.ndarray:
    """Return an array of all rows, one after the other."""
    return np.concatenate([np.empty(0, kind), *(row[k] for row in rows)])
