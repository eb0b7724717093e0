"""Arrays in memory while that lasts, then in files."""

import mmap
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from neardup.errors import OutputError
from neardup.tuning import TUNING

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of an array that many small blocks share.
_SLAB = 8 << 20

Shape = int | tuple[int, ...]


class Disk:
    """Counts the bytes of temporary files, and the most that there were at the same time.

    ``folder`` is that of the files; None for the system's folder for temporary files. ``look``
    is called before a large array is made, and may `let_go`.
    """

    def __init__(self, folder: Path | None = None, look: Callable[[], None] = lambda: None) -> None:
        self.folder, self.look = folder, look
        # Arrays may be given up while a number is added, in the same thread.
        self._lock = threading.RLock()
        self._now = self.most = 0
        self._mapped: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()

    def add(self, size: int) -> None:
        """Add some bytes; fewer than 0 for those that are gone."""
        with self._lock:
            self._now += size
            self.most = max(self.most, self._now)

    def map(self, descriptor: int, size: int) -> mmap.mmap:
        """Map the first bytes of a file into memory, such that `let_go` knows them."""
        found = mmap.mmap(descriptor, size)
        with self._lock:
            self._mapped.add(found)
        return found

    def let_go(self) -> None:
        """Take the pages of mapped files out of the memory of this process, on Linux.

        They stay in the page cache, which the system writes and drops when it needs the memory.
        Whoever uses them, even now, gets them back from there, about a microsecond for each.
        """
        if sys.platform == "linux":
            with self._lock:
                every = list(self._mapped)
            for pages in every:
                pages.madvise(mmap.MADV_DONTNEED)


class Scratch:
    """Allocates arrays, and counts the bytes of those that are alive.

    Pages of a mapped file belong to the file: the system writes them out and drops them when memory
    is short. They don't count as private memory of the process. The files have no name: nothing is
    left of them, however the process ends.

    ``budget`` is the bytes of arrays that may be in memory, None for any number; files go to the
    folder of ``disk``.
    """

    def __init__(self, budget: int | None = None, disk: Disk | None = None) -> None:
        self.budget, self.disk = budget, disk or Disk()
        # Arrays may be given up while one is asked for, in the same thread.
        self._lock = threading.RLock()
        self.used = 0

    def __reduce__(self) -> "tuple[type[Scratch], tuple[()]]":
        return Scratch, ()  # the arrays stay in this process

    def fits(self, size: int) -> bool:
        return self.budget is None or self.used + size <= self.budget

    @property
    def left(self) -> int:
        """Bytes of arrays that may still be in memory; a large number where there is no limit."""
        return 1 << 62 if self.budget is None else max(0, self.budget - self.used)

    def shrink(self, size: int) -> None:
        """Take some bytes out of the budget, which others need."""
        if self.budget is not None:
            self.budget = max(0, self.budget - size)

    def empty(self, shape: Shape, dtype: npt.DTypeLike) -> np.ndarray:
        """Return an array with anything in it; OutputError where the disk is full."""
        return self._make(shape, np.dtype(dtype))[0]

    def zeros(self, shape: Shape, dtype: npt.DTypeLike) -> np.ndarray:
        """Return an array of zeros."""
        array, fresh = self._make(shape, np.dtype(dtype))
        if not fresh:
            array[...] = 0
        return array

    def _make(self, shape: Shape, kind: np.dtype) -> tuple[np.ndarray, bool]:
        """Return an array, and whether it is known to be of zeros."""
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        if size < TUNING.scratch_bytes:
            return np.empty(shape, kind), False
        with self._lock:
            in_memory = self.fits(size)
            self.used += size if in_memory else 0
        self.disk.look()
        flat = np.empty(size, np.uint8) if in_memory else np.frombuffer(self._map(size), np.uint8)
        if not in_memory:
            self.disk.add(size)
        # Views keep the flat array alive: it goes when the last of them does.
        gone = partial(self._forget, size) if in_memory else partial(self.disk.add, -size)
        weakref.finalize(flat, gone).atexit = False
        return flat.view(kind).reshape(shape), not in_memory

    def filled(self, shape: Shape, dtype: npt.DTypeLike, value: float) -> np.ndarray:
        array = self.empty(shape, dtype)
        array[...] = value
        return array

    def _forget(self, size: int) -> None:
        with self._lock:
            self.used -= size

    def _map(self, size: int) -> mmap.mmap:
        try:
            with tempfile.TemporaryFile(dir=self.disk.folder) as file:
                reserve(file.fileno(), size)
                return self.disk.map(file.fileno(), size)
        except OSError as error:
            reason = (error.strerror or "the system refused it").lower()
            raise OutputError(
                f"no space for {size:,} bytes of scratch files: {reason}",
                "free some space, or allow more memory",
            ) from error


class Slabs:
    """Blocks of bytes that live as long as any view of theirs, many of them in one large array.

    A `Scratch` counts large arrays only, and a process may have some thousand mapped ones at most.
    ``empty`` is that of a `Scratch`. For one thread at a time.
    """

    def __init__(self, empty: Callable[[int, npt.DTypeLike], np.ndarray]) -> None:
        self._empty = empty
        self._slab = np.empty(0, np.uint8)

    def copy(self, data: "bytes | memoryview | np.ndarray | pa.Buffer") -> np.ndarray:
        """Return a copy of some bytes, uint8[], read-only; its begin is aligned to 64 bytes."""
        view = np.frombuffer(cast(Any, data), np.uint8)
        step = -(-len(view) // 64) * 64
        if step > len(self._slab):
            # A slab that is begun is given up with at most this share of it unused.
            size = step if step > _SLAB // 8 else _SLAB
            slab = self._empty(size, np.uint8)
            if size == step:
                slab[: len(view)] = view
                return _read_only(slab[: len(view)])
            self._slab = slab
        block, self._slab = self._slab[: len(view)], self._slab[step:]
        block[...] = view
        return _read_only(block)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def reserve(descriptor: int, size: int) -> None:
    """Have an empty file of so many bytes allocated on the disk, or raise OSError.

    A full disk must show here, not when a mapped page is written to, which would end the process.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    for low in range(0, size, 1 << 20):
        os.write(descriptor, bytes(min(1 << 20, size - low)))


def release(descriptor: int, begin: int, end: int) -> int:
    """Give back the disk that some bytes of a file take, and return how many these are.

    They are complete pages, and the others stay; 0 where the system can't do it.
    """
    page = mmap.ALLOCATIONGRANULARITY
    begin, end = -(-begin // page) * page, end // page * page
    if begin >= end or not hasattr(mmap, "MADV_REMOVE"):
        return 0
    try:
        with mmap.mmap(descriptor, end - begin, offset=begin) as pages:
            pages.madvise(mmap.MADV_REMOVE)
    except OSError:
        return 0
    return end - begin
