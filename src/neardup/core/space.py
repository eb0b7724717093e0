"""Room for large arrays: in memory while the budget lasts, then in files that are mapped."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import OutputError

__all__ = ["Space"]

#: Smaller arrays are always in memory: what they take is counted with the working memory.
_SMALL = 1 << 20


class Space:
    """Gives out arrays, and remembers how many bytes of them are alive.

    Pages of a mapped file belong to the file: the kernel writes them out and drops them when
    memory is short, so that they don't count as memory of the process. The files have no name, so
    that nothing is left of them, however the process ends.

    Args:
        budget: Bytes of arrays that may be in memory; None for all.
        folder: Where files go; None for the system's folder for temporary files.
    """

    def __init__(self, budget: int | None = None, folder: Path | None = None) -> None:
        self.budget = budget
        self._folder = folder
        # Arrays may be given up while one is asked for, in the same thread.
        self._lock = threading.RLock()
        self.used = 0
        self.mapped = 0

    def fits(self, size: int) -> bool:
        """Whether an array of so many bytes would be in memory."""
        return self.budget is None or self.used + size <= self.budget

    def claim(self, size: int) -> bool:
        """Take so many bytes of the budget, if they are there, until somebody gives them back."""
        with self._lock:
            if not self.fits(size):
                return False
            self.used += size
            return True

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array with anything in it.

        Raises:
            OutputError: There is no space on the disk for it.
        """
        dtype = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if size < _SMALL:
            return np.empty(shape, dtype)
        if self.claim(size):
            flat, name = np.empty(size, dtype=np.uint8), "used"
        else:
            flat, name = np.frombuffer(self._map(size), dtype=np.uint8), "mapped"
            with self._lock:
                self.mapped += size
        # Views keep the flat array alive, so that it goes when the last of them does.
        weakref.finalize(flat, self._forget, name, size).atexit = False
        return flat.view(dtype).reshape(shape)

    def _forget(self, name: str, size: int) -> None:
        with self._lock:
            setattr(self, name, getattr(self, name) - size)

    def zeros(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array of zeros."""
        array = self.empty(shape, dtype)
        array[...] = 0
        return array

    def filled(self, shape: int | tuple[int, ...], dtype: Any, value: Any) -> np.ndarray:
        """Return an array that is ``value`` everywhere."""
        array = self.empty(shape, dtype)
        array[...] = value
        return array

    def arange(self, stop: int, dtype: Any) -> np.ndarray:
        """Return 0, 1, ... up to ``stop``."""
        array = self.empty(stop, dtype)
        step = 1 << 20
        for low in range(0, stop, step):
            high = min(low + step, stop)
            array[low:high] = np.arange(low, high, dtype=dtype)
        return array

    def _map(self, size: int) -> mmap.mmap:
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                reserve(file.fileno(), 0, size)
                return mmap.mmap(file.fileno(), size)
        except OSError as error:
            reason = (error.strerror or "the system refused it").lower()
            raise OutputError(
                f"no room for {size:,} bytes of scratch space: {reason}",
                "free some space, or give more --memory",
            ) from error


def reserve(descriptor: int, start: int, size: int) -> None:
    """Have a part of a file allocated on the disk: a full disk must show here, not when a mapped
    page is written to, which would end the process.
    """
    if size == 0:
        return
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, size)
        return
    zeros = bytes(1 << 20)
    for low in range(start, start + size, len(zeros)):
        os.pwrite(descriptor, zeros[: min(len(zeros), start + size - low)], low)
