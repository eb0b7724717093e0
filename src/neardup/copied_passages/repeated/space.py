"""Arrays and files for rows, whose sizes follow the memory of a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from neardup.copied_passages.repeated.spill import Spill
from neardup.copied_passages.work import Work
from neardup.tuning import TUNING

#: Bytes that each thread, and one more, has for each row that is sorted; and rows that it sorts at
#: once, at least.
_SORTED_BYTES, _FEWEST = 200, 1 << 14


class Space:
    """Makes arrays and spills.

    Attributes:
        work: Threads and memory.
        at_once: Rows that are sorted at once.
    """

    def __init__(self, work: Work) -> None:
        self.work = work
        fit = max(_FEWEST, work.free // work.parts // _SORTED_BYTES)
        self.at_once = min(TUNING.sorted_rows, fit)

    def allocate(self, rows: int, dtype: np.dtype) -> np.ndarray:
        """Return an array for a part, which may be many times as large as others."""
        return self.work.arrays.empty(rows, dtype)

    def parts(self, size: int) -> int:
        """Return how many parts so many bytes of rows are divided into."""
        part = min(TUNING.spill_part, self.work.progress.memory // TUNING.spill_part_share)
        return int(np.clip(-(-size // part), 1, TUNING.spill_parts))

    def spill(self, name: str, columns: Sequence[npt.DTypeLike], parts: int) -> Spill:
        """Return a spill, with the rows that a search that is resumed has in its file."""
        progress = self.work.progress
        path, stored = progress.path(name), progress.stored(name)
        memory, disk = self.work.spilled, self.work.disk
        return self.work.close_later(Spill(columns, parts, memory, disk, path=path, stored=stored))
