"""New files whose bytes go to the disk past the cache of the system.

Whoever writes gigabytes and then waits until they are on the disk gains nothing from that cache:
each byte is copied once more, other pages are pushed out, and the last gigabytes are written while
no thread works.
"""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import Any, cast

import numpy as np

from neardup.tuning import TUNING

#: Direct reading and writing begin at a multiple of this, in the file and in memory.
ALIGNED = 4096


def aligned_buffer(size: int) -> np.ndarray:
    """Return uint8[size or more] that begins at a multiple of ``ALIGNED``, with anything in it."""
    found = np.empty(size + ALIGNED, np.uint8)
    return found[-found.ctypes.data % ALIGNED :]


class DirectFile(io.RawIOBase):
    """A new file, for its owner only; the old content of one of that name is lost.

    File systems that write nothing directly get all through the cache. The file is complete and on
    the disk when it is closed.
    """

    def __init__(self, path: Path) -> None:
        self._file, self._is_direct = -1, False
        self._filled = self._size = 0
        self._pid = os.getpid()
        self._buffer = aligned_buffer(TUNING.direct_bytes)[: TUNING.direct_bytes]
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        self._is_direct = _set_direct(self._file, True)

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes that were written."""
        return self._size

    def write(self, data: Any) -> int:
        """Append bytes, all of them; return their number.

        After an error of the system the file is incomplete, and is of no use.
        """
        if self.closed:  # the system may have given its number to another file
            raise ValueError("the file is closed")
        rest = np.frombuffer(data, np.uint8)
        size = len(rest)
        while len(rest):
            count = min(len(rest), len(self._buffer) - self._filled)
            self._buffer[self._filled : self._filled + count] = rest[:count]
            self._filled += count
            rest = rest[count:]
            if self._filled == len(self._buffer):
                self._put()
        self._size += size
        return size

    def close(self) -> None:
        """Write the gathered bytes, wait until all are on the disk, and close the file."""
        if self.closed:
            return
        file = self._file
        try:
            # In a fork: the bytes that were gathered before it are those of its parent.
            if file >= 0 and self._pid == os.getpid():
                self._end_direct()
                self._put()
                os.fsync(file)
        finally:
            super().close()
            self._file = -1
            if file >= 0:
                os.close(file)

    def _put(self) -> None:
        """Write the bytes that were gathered; after an error, they are not written again."""
        left = memoryview(cast(Any, self._buffer))[: self._filled]
        self._filled = 0
        while left:
            try:
                count = os.write(self._file, left)
            except OSError as error:
                if error.errno != errno.EINVAL or not self._is_direct:
                    raise
                count = 0
            left = left[count:]
            if count % ALIGNED or not count:
                self._end_direct()

    def _end_direct(self) -> None:
        if self._is_direct:
            self._is_direct = _set_direct(self._file, False)


def _set_direct(file: int, is_direct: bool) -> bool:
    """Have a file written directly, or not any more; return whether it is."""
    if not hasattr(os, "O_DIRECT"):
        return False
    try:
        import fcntl

        flags = fcntl.fcntl(file, fcntl.F_GETFL)
        flags = flags | os.O_DIRECT if is_direct else flags & ~os.O_DIRECT
        fcntl.fcntl(file, fcntl.F_SETFL, flags)
    except (ImportError, OSError):  # the file system knows no direct writing
        return False
    return is_direct
