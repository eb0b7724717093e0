"""Arrays and files for rows, whose sizes follow the memory of a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from neardup.copies.repeated.spill import Spill
from neardup.copies.work import Work

#: Bytes that a part of a spill should have: a few are in memory at the same time. With less than
#: 1 GB it is such a share of the memory.
_PART, _PART_SHARE = 12 << 20, 80
_MOST_PARTS = 1024
#: Rows of a part that are sorted at once, at most; fewer where each thread, and one more, has no
#: so many bytes for each of them, but not fewer than the last number.
_SORTED, _SORTED_BYTES, _FEWEST = 1 << 21, 200, 1 << 14


class Space:
    """Makes arrays and spills.

    Attributes:
        work: Threads and memory.
        at_once: Rows that are sorted at once.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        self.at_once = min(_SORTED, max(_FEWEST, work.free // work.parts // _SORTED_BYTES))

    def allocate(self, rows: int, dtype: np.dtype) -> np.ndarray:
        """Return an array for a part, which may be many times as large as others."""
        return self.work.arrays.empty(rows, dtype)

    def in_order(self, values: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Return values by their rows, int64[]."""
        return values.take(order, out=self.allocate(len(order), values.dtype), mode="clip")

    def parts(self, size: int) -> int:
        """Return how many parts so many bytes of rows are divided into."""
        part = min(_PART, self.work.progress.memory // _PART_SHARE)
        return int(np.clip(-(-size // part), 1, _MOST_PARTS))

    def spill(self, name: str, columns: Sequence[npt.DTypeLike], parts: int) -> Spill:
        """Return a spill, with the rows that a search that is resumed has in its file."""
        progress = self.work.progress
        path, stored = progress.path(name), progress.stored(name)
        memory, disk = self.work.spilled, self.work.disk
        return self.work.close_later(Spill(columns, parts, memory, disk, path=path, stored=stored))
