"""How much memory a run may take, needs, and took."""

import mmap
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from neardup.errors import SpecError, spelled
from neardup.tuning import TUNING

# Measured, in bytes.
#: Interpreter, libraries and compiled kernels.
BASE = 230_000_000
#: Of each thread, whatever it does.
THREAD = 24_000_000
#: Of each byte of the texts of a partition that a thread works on, by words and by characters.
_TEXT_BYTE, _CHAR_BYTE = 4, 8
#: The same, while matches of patterns in them become spaces.
_IGNORED_BYTE = 3
#: Of each document of a partition, and of each band key of it: while a thread sketches it.
_ROW, _ROW_KEY = 240, 24
#: Of a document of a partition whose sketches wait to be stored, besides its keys.
_SKETCH = 128
#: Of sorting pairs, in batches; all of them go to files where memory is short.
EDGES = 256_000_000
#: Of each byte of the texts of a row group while it is written, and bytes of texts in one: the
#: records that wait, their encoded pages, and the tables after them.
_WRITTEN, _GROUP = 6, 32 << 20
#: Of each document: ranks, answers, order, marks, the hash of its bytes, and memory to group one
#: band.
DOCUMENT = 89
#: Of each document of a corpus that is read once: its id, a mark, and memory to check ids.
_READ = 64
#: Of each byte of text of test items: tokens, shingles, and the index of them; 15.9 were measured.
_ITEM_BYTE = 16
#: Of each document of a batch that is compared with an index: sketches, and the answers; besides
#: twice its text.
_INDEXED = 1000
#: Of each record of a linkage, and of each byte of its fields.
_RECORD, _FIELD_BYTE = 2500, 60
#: Of a search for passages, besides the process: tables and their writers, of inputs from so many
#: bytes on; bytes of a partition that keeps a thread busy; and each byte of a large partition.
_TABLES, _USUAL_TABLES, _PART, _PART_BYTE = 60_000_000, 64 << 20, 8 << 20, 6
#: Of a band key.
KEY = 8
#: Share of all texts that is worth to cache: shingle sets need the memory too.
_WORTH = 0.25
#: Of a second process, which compiles kernels where they are not on disk yet.
COMPILER = 350_000_000


def parse_size(size: int | str, name: str) -> int:
    """Return bytes, of a number of them or a text; SpecError, by ``name``, for any other value.

    >>> parse_size("1.5GB", "memory"), parse_size("4GiB", "memory")
    (1500000000, 4294967296)
    """
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return size
    text = size.lower() if isinstance(size, str) else ""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b?\s*", text)
    if found is None or (found[3] and not found[2]):
        what = f"`{name}` is {spelled(size)}, which is not a size"
        raise SpecError(what, "write it as 500MB, 4GB or 4GiB")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** (" kmgt".index(found[2] or " ")))


def memory_of(memory: int | str | None) -> int | None:
    """Return the bytes of the setting ``memory``; None where it is left to `plan_memory`."""
    return None if memory is None else parse_size(memory, "memory")


def least_for_passages(size: int, threads: int) -> int:
    """Return the private bytes that a search for passages takes by itself, about.

    ``size`` is the bytes of the input; of a small one, few threads have something to do.
    """
    busy = min(float(threads), size / _PART)
    return BASE + int(min(1.0, size / _USUAL_TABLES) * _TABLES + busy * TUNING.searching_bytes)


def least_for_texts(size: int) -> int:
    """Return the same for one thread and texts of so many bytes that are read together."""
    return BASE + THREAD + _PART_BYTE * size


def show_size(size: int) -> str:
    """Return bytes in three digits.

    >>> show_size(4_321_000_000)
    '4.32 GB'
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"


#: Seconds between two looks at memory that has a limit.
_SOON = 0.01
#: Limit and use of a container, in which its own limit counts.
_LIMIT, _USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def memory_of_machine() -> int:
    """Return the bytes of memory of the machine, or of the container."""
    import psutil

    total = psutil.virtual_memory().total
    with suppress(OSError, ValueError):
        total = min(total, int(_LIMIT.read_text()))
    return total


def _half_of_free() -> int:
    import psutil

    free = psutil.virtual_memory().available
    with suppress(OSError, ValueError):
        free = min(free, int(_LIMIT.read_text()) - int(_USED.read_text()))
    return max(free, 0) // 2


@dataclass(frozen=True)
class Workload:
    documents: int  # about, as the bytes
    text: int  # bytes
    columns: int  # bytes of those that a run needs: ids, and the column of `keep`
    num_bands: int
    threads: int  # that there are, or that were asked for
    char: bool  # shingles are of characters
    edges: bool = False  # pairs are listed
    partition: int = 0  # bytes of texts and columns in the largest partition
    rows: int = 0  # documents of that partition
    ignored: bool = False  # parts of texts are not compared


@dataclass(frozen=True)
class MemoryPlan:
    """How the memory is divided, in bytes."""

    workload: Workload
    memory: int  # bytes that may be used
    minimum: int  # bytes that the run needs, with one thread
    thread: int  # bytes that each further thread needs
    threads: int  # those that fit
    keys: int  # bytes of all band keys
    arrays: int  # bytes of arrays before they are mapped to files
    cached: int  # bytes of documents that are cached
    each: int = DOCUMENT  # bytes that a document needs until the end

    def check(self) -> None:
        """Raise SpecError where the memory does not suffice for one thread."""
        if self.memory < self.minimum:
            require_memory(self.memory, self.minimum, f"{self.workload.documents:,} documents")

    def check_read(self, documents: int) -> None:
        """Raise SpecError where more documents were read than the memory suffices for.

        The number is not known for pipes, and hardly for files that are compressed well.
        """
        if documents > self.workload.documents:
            minimum = BASE + THREAD + self.each * documents
            require_memory(self.memory, minimum, f"{documents:,} documents read so far, or more")


def require_memory(
    memory: int, minimum: int, what: str, remedy: str = "allow more memory, or split the input"
) -> None:
    """Raise SpecError where memory is below the minimum, both in bytes.

    ``what`` names the task of that estimate.
    """
    if memory < minimum:
        enough = -(-minimum // 10**6)  # rounded up, to be a value that suffices
        raise SpecError(
            f"`memory` is {show_size(memory)}; at least {enough} MB are needed (estimated: {what})",
            remedy,
        )


def available_memory(memory: int | None) -> int:
    """Return the bytes that may be used: those given, or half of the free memory."""
    return _half_of_free() if memory is None else memory


def plan_memory(workload: Workload, memory: int | None) -> MemoryPlan:
    """Divide the memory, or half of the free memory.

    Fewer threads are used where it does not suffice for all of them.
    """
    memory = available_memory(memory)
    row_keys, rows = workload.num_bands * KEY, workload.rows
    waiting = rows * (row_keys + _SKETCH)
    each = _CHAR_BYTE if workload.char else _TEXT_BYTE
    text = workload.partition * (each + _IGNORED_BYTE * workload.ignored)
    thread = THREAD + text + rows * (_ROW + _ROW_KEY * workload.num_bands)
    # The first partition waits while the bands are chosen, and two are stored together.
    sketching = thread + workload.partition + 2 * waiting
    comparing = THREAD + text + DOCUMENT * workload.documents + workload.columns
    comparing += EDGES if workload.edges else 0
    writing = comparing - text + 2 * workload.partition + _WRITTEN * min(workload.text, _GROUP)
    minimum = BASE + max(sketching, comparing, writing)
    free = max(0, memory - minimum)
    threads = max(1, min(workload.threads, 1 + free // thread))
    free = max(0, free - (threads - 1) * thread)
    # (Arrays of offsets and columns come on top of the texts.)
    cached = min(int(free * TUNING.cached_share), 2 * workload.text)
    cached = cached if cached >= _WORTH * workload.text else 0
    keys = row_keys * workload.documents
    return MemoryPlan(workload, memory, minimum, thread, threads, keys, free - cached, cached)


def plan_decontamination(train: Workload, items: int, memory: int | None) -> MemoryPlan:
    """Divide the memory for test items with so many bytes of text, and for a training corpus."""
    more = items * _ITEM_BYTE + train.documents * (_READ - DOCUMENT)
    return replace(plan_memory(replace(train, columns=train.columns + more), memory), each=_READ)


def plan_against(batch: Workload, memory: int | None) -> MemoryPlan:
    """Divide the memory for a batch whose sketches and sets are compared with those of an index."""
    more = batch.documents * (_INDEXED - DOCUMENT) + 2 * batch.text
    each = _INDEXED + 2 * (batch.text // max(1, batch.documents))
    return replace(plan_memory(replace(batch, columns=batch.columns + more), memory), each=each)


def plan_records(records: int, size: int, threads: int, memory: int | None) -> int:
    """Return the bytes of arrays of candidates that may be in memory, of records of so many bytes.

    Raises:
        SpecError: The memory does not suffice for the records.
    """
    minimum = BASE + threads * THREAD + records * _RECORD + size * _FIELD_BYTE
    if memory is not None:
        require_memory(memory, minimum, f"{records:,} records, or more")
    return max(0, available_memory(memory) - minimum)


def peak_memory() -> int:
    """Return the largest resident memory of this process so far, in bytes; 0 where unknown."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    if found := _status("VmHWM"):
        return found
    import resource

    # (On Linux this would count the memory of the parent when it started this process.)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class PrivatePeak:
    """Watches the private memory of this process (RSS of anonymous pages) while it is open.

    Pages of mapped files don't count: the system drops them when it needs the memory. ``pause`` is
    the seconds between two looks.
    """

    def __init__(self, pause: float = 0.05) -> None:
        self._pause = pause
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="neardup-memory", daemon=True)
        self._also: Callable[[], None] | None = None
        #: The peak so far, in bytes; 0 where it can't be measured.
        self.peak = 0

    def also(self, look: Callable[[], None]) -> None:
        """Look more often, and call this each time: it keeps the memory within a limit."""
        self._also, self._pause = look, min(self._pause, _SOON)

    def _watch(self) -> None:
        while not self._end.wait(self._pause):
            self._look()

    def _look(self) -> None:
        resident, shared = resident_memory()
        self.peak = max(self.peak, resident - shared)
        if self._also is not None:
            self._also()

    def __enter__(self) -> Self:
        self._look()
        if self.peak:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._also = None
        self._look()


def resident_memory() -> tuple[int, int]:
    """Return the resident bytes of this process, and those of files among them; 0 but on Linux."""
    with suppress(OSError, ValueError):
        _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
        return int(resident) * mmap.PAGESIZE, int(shared) * mmap.PAGESIZE
    return 0, 0


def _status(name: str) -> int:
    """Return a size that Linux reports of this process, in bytes; 0 elsewhere."""
    with suppress(OSError, ValueError):
        status = Path("/proc/self/status").read_text()
        found = re.search(rf"{name}:\s+(\d+)", status)
        return int(found[1]) * 1024 if found else 0
    return 0
