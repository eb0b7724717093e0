"""Rows in memory that came in batches, each of them in the order of parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from neardup.kernels.passages.run_records import gather_blocks


class Batches:
    """Rows of several columns, batch behind batch in arrays that the batches share.

    Args:
        columns: An array for each column; rows are added to these.
    """

    def __init__(self, columns: Sequence[np.ndarray]) -> None:
        self.columns = columns
        self._ends: list[np.ndarray] = []
        self._table: np.ndarray | None = None
        self.rows = 0

    @classmethod
    def of(cls, columns: Sequence[np.ndarray], ends: np.ndarray) -> Batches:
        """Return a batch with arrays of its own, which are not copied."""
        found = cls(columns)
        found._ends, found.rows = [ends], int(ends[-1])
        return found

    def clear(self) -> None:
        """Forget all rows; the arrays stay."""
        self._ends, self._table, self.rows = [], None, 0

    def fits(self, count: int) -> bool:
        return self.rows + count <= len(self.columns[0])

    def add(self, rows: Sequence[np.ndarray], ends: np.ndarray) -> None:
        """Append rows that are in the order of their parts; ``ends`` is int64[parts + 1]."""
        last = self.rows + int(ends[-1])
        for column, values in zip(self.columns, rows, strict=True):
            column[self.rows : last] = values
        self._ends.append(self.rows + ends)
        self._table, self.rows = None, last

    def sizes(self) -> np.ndarray:
        """Return int64[parts]: the rows of each part."""
        return np.diff(self._bounds().sum(axis=1))

    def size(self, part: int) -> int:
        """Return the rows of a part."""
        first, last = self.limits(part)
        return int((last - first).sum())

    def copy(self, part: int, column: int, out: np.ndarray) -> int:
        """Copy the rows of a part to the begin of ``out``, uint8[]; return their bytes."""
        first, last = self.limits(part)
        values = self.columns[column]
        return int(gather_blocks(values.view(np.uint8), first, last, values.itemsize, out))

    def limits(self, part: int) -> tuple[np.ndarray, np.ndarray]:
        """Return where the rows of a part begin and end, int64[blocks] each."""
        first, last = self._bounds()[part : part + 2]
        return first, last

    def blocks(self, part: int, column: int) -> Iterator[np.ndarray]:
        """Yield the rows of a part, uint8[], batch by batch, without a copy."""
        for first, last in zip(*self.limits(part), strict=True):
            yield self.columns[column][first:last].view(np.uint8)

    def _bounds(self) -> np.ndarray:
        """Return int64[parts + 1, batches]: where the parts begin, and the end."""
        table = self._table
        if table is None:
            table = self._table = np.ascontiguousarray(np.array(self._ends).T)
        return table
