"""Ranges of large files, read past the cache of the system before a thread wants them.

The pages of a source that is larger than memory push out others, such as those of temporary files;
and where all pages are in use, freeing one for each page that is read takes a tenth of the CPU.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, cast

import numpy as np

from neardup.arrays import PAD
from neardup.files.direct_files import ALIGNED, aligned_buffer

#: Ranges that are begun and not taken yet, at most.
_READY = 3
#: A range is not needed any more when one is taken that was asked for so much later.
_LATE = 32
#: Bytes of a buffer that is used again, and the number of these.
_KEPT, _FREE = 64 << 20, 8

#: Path, first byte, number of bytes.
Range: TypeAlias = tuple[str, int, int]


class ReadAhead:
    """Reads ranges in the order in which they are asked for, in a thread of its own.

    Whoever wants a range that is not being read yet reads it without that thread.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._count = 0
        #: Ranges to read, and those that are begun, with their numbers in the order of `ask`.
        self._asked: dict[Range, int] = {}
        self._begun: dict[Range, tuple[int, Future[np.ndarray]]] = {}
        self._free: list[np.ndarray] = []
        self._last = threading.local()
        self._thread = ThreadPoolExecutor(1, "neardup-ahead")

    def __reduce__(self) -> tuple[type[ReadAhead], tuple[()]]:
        return ReadAhead, ()

    def ask(self, path: str, start: int, size: int) -> None:
        """Say that a range will be taken, after those that were asked for before."""
        if self._pid != os.getpid():  # a fork has no threads of its parent
            self.__init__()  # type: ignore[misc]
        if size > _KEPT:  # several of them would take much memory
            return
        with self._lock:
            self._asked.pop((path, start, size), None)
            self._asked[path, start, size] = self._count
            self._count += 1
            self._begin()

    def take(self, path: str, start: int, size: int) -> np.ndarray | None:
        """Return uint8[size + PAD or more]: the bytes, and zeros behind them.

        They are valid until the same thread calls again. None where the system reads nothing
        directly, or where the file is shorter now.
        """
        of = path, start, size
        if self._pid != os.getpid():
            self.__init__()  # type: ignore[misc]
        if (last := getattr(self._last, "buffer", None)) is not None:
            self._last.buffer = None
            self._release(last)
        with self._lock:
            number, future = self._begun.pop(of, (0, None))
            self._forget(max(number, self._asked.pop(of, 0)) - _LATE)
            self._begin()
        try:
            is_ready = future is not None and not future.cancel()
            found = future.result() if is_ready and future else self._read(of)
        except (OSError, EOFError):
            return None
        self._last.buffer = found
        data = found[start % ALIGNED :]
        data[size : size + PAD] = 0
        return data

    def _begin(self) -> None:
        """Begin to read the ranges that come next, as many as may wait."""
        while self._asked and len(self._begun) < _READY:
            of = next(iter(self._asked))
            number = self._asked.pop(of)
            self._begun[of] = number, self._thread.submit(self._read, of)

    def _forget(self, first: int) -> None:
        """Forget the ranges before a number."""
        for of in [of for of, (number, _) in self._begun.items() if number < first]:
            _, future = self._begun.pop(of)
            future.cancel()
        for of in list(itertools.takewhile(lambda of: self._asked[of] < first, self._asked)):
            del self._asked[of]

    def _read(self, of: Range) -> np.ndarray:
        path, start, size = of
        begin = start - start % ALIGNED
        needed = start - begin + size
        length = -(-needed // ALIGNED) * ALIGNED
        buffer = self._buffer(length + PAD)
        view, filled = memoryview(cast(Any, buffer)), 0
        with _opened(path) as file:
            while filled < needed:
                count = os.preadv(file, [view[filled:length]], begin + filled)
                filled += count
                if not count or (filled < needed and filled % ALIGNED):
                    raise EOFError(path)
        return buffer

    def _buffer(self, size: int) -> np.ndarray:
        with self._lock:
            for number, buffer in enumerate(self._free):
                if len(buffer) >= size:
                    return self._free.pop(number)
        # Ranges of a source have about the same size.
        return aligned_buffer(size + size // 8)

    def _release(self, buffer: np.ndarray) -> None:
        with self._lock:
            if len(buffer) <= _KEPT:
                self._free.append(buffer)
            if len(self._free) > _FREE:
                self._free.pop(min(range(len(self._free)), key=lambda i: len(self._free[i])))


@contextmanager
def _opened(path: str) -> Iterator[int]:
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        yield file
    finally:
        with suppress(OSError):
            os.close(file)
