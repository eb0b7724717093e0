"""Resources of finding passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neardup.copied_passages.repeated.search_progress import Progress
from neardup.copied_passages.repeated.spill import Spill
from neardup.deduplication.clock import Clock
from neardup.files.scratch import Disk, Scratch
from neardup.io.source import Partition
from neardup.memory_plan import (
    BASE,
    THREAD,
    PrivatePeak,
    least_for_texts,
    require_memory,
    resident_memory,
    show_size,
)
from neardup.state.run_state import RunState
from neardup.threads import Pool
from neardup.tuning import TUNING
from neardup.values.json_values import JSON

#: The part of the free memory that arrays of the threads may take.
_ARRAYS_SHARE = 3
#: Bytes of memory for each partition that is begun, if these are more than usual.
_BEGUN = 40 * 10**6
#: Bytes that suffice for all but cached tokens, which take a half of the rest.
_SUFFICES = 10**9
#: Bytes of memory for rows and arrays, at least.
_LEAST = 16 * 10**6
#: Bytes of a partition from which on its texts take more memory than a thread has.
_LARGE = 12 << 20
#: Bytes of memory that are kept free for what comes between two looks at it, as a part of all.
_RESERVE = 10


def is_large(item: object) -> bool:
    """Whether an item is a partition, or has one, that takes much memory."""
    size = getattr(getattr(item, "partition", item), "size", None)
    return isinstance(size, int) and size > _LARGE


@dataclass
class Work:
    """Threads, memory, and the steps that are done."""

    pool: Pool
    clock: Clock
    memory: int  # bytes
    folder: Path | None = None  # for temporary files; None for that of the system
    state: RunState | None = None  # of a run that can be resumed
    manifest: Mapping[str, JSON] | None = None  # settings and inputs of the result
    private: PrivatePeak | None = None  # watches the memory
    is_limit: bool = False  # the memory was asked for: what needs more is refused

    def __post_init__(self) -> None:
        self.disk = Disk(self.folder, self._look)
        self.scratch = Scratch(self.free // TUNING.scratch_share, self.disk)
        #: Makes arrays that a thread works with: where memory is short they are mapped too.
        self.arrays = Scratch(self.free // _ARRAYS_SHARE, self.disk)
        self.pool.is_large = is_large
        if self.private is not None:
            self.private.also(self._look)
        self.rows = 0  # bytes of rows at the same time, in memory or in files, at most
        self.progress = Progress(self.state, self.manifest, self.memory)
        self._spills: list[Spill] = []

    def _look(self) -> None:
        """Let go of mapped files where little memory is left."""
        if resident_memory()[0] > self.memory - self.memory // _RESERVE:
            self.disk.let_go()

    def check(self, partition: Partition) -> None:
        """Raise SpecError where the memory does not suffice for the texts of a partition."""
        if not (self.is_limit and is_large(partition)):
            return
        least = least_for_texts(partition.size)
        what = f"texts of {show_size(partition.size)} that are read together"
        require_memory(self.memory, least, what, "allow more memory, or split the text")

    def close_later(self, spill: Spill) -> Spill:
        """Close the files of rows at the end, if an error comes before; return the rows."""
        self._spills.append(spill)
        return spill

    def close(self) -> None:
        for spill in self._spills:
            spill.forget()

    def close_rows(self) -> None:
        """Remove the files of all rows."""
        for spill in self._spills:
            spill.close()

    def note_rows(self, *spills: Spill) -> None:
        """Note the bytes of rows that are kept at the same time."""
        self.rows = max(self.rows, sum(spill.nbytes for spill in spills))

    @property
    def free(self) -> int:
        """Bytes for rows and arrays, less those of the process, threads and cached tokens."""
        taken = BASE + self.pool.threads * THREAD + self.cached
        return max(_LEAST, self.memory - taken)

    @property
    def cached(self) -> int:
        """Bytes of tokens that may be kept from the first pass to the second."""
        return max(0, self.memory - _SUFFICES) // 2

    @property
    def begun(self) -> int:
        """Partitions that may be begun; with more memory there is work while rows are written."""
        threads = self.pool.threads
        return max(2 * threads + 1, min(12 * threads, self.free // _BEGUN))

    @property
    def parts(self) -> int:
        """Parts of rows that may be begun: each takes much memory, and one is next."""
        return self.pool.threads + 1

    @property
    def spilled(self) -> int:
        """Bytes of rows of a kind that may be in memory."""
        return self.free // TUNING.spill_share
