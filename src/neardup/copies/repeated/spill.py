"""Rows of several columns, divided into parts: in memory while that lasts, then in a file."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from neardup.errors import OutputError, ResumeError

Allocate = Callable[[int, np.dtype], np.ndarray]
#: Bytes that are read at once to check a file.
_READ = 16 << 20


class Flush(NamedTuple):
    """Rows that were written together: part after part, and of each part column after column."""

    begin: int  # first byte in the file
    rows: list[int]  # of each part
    checksum: int  # CRC-32


class Spill:
    """Collects rows and gives them back part by part, in the order in which they came.

    Args:
        columns: Types of the columns.
        parts: Number of parts.
        memory: Bytes that may be in memory; more goes to a file.
        folder: Of a file without a name: nothing is left of it, however the process ends. None for
            the system's folder for temporary files.
        path: Of a file that outlives the process instead; the caller stores what `flush` returns,
            and gives it back as ``flushes``.
        flushes: Batches that were written to the file before.
    """

    def __init__(
        self,
        columns: Sequence[npt.DTypeLike],
        parts: int,
        memory: int,
        folder: Path | None = None,
        *,
        path: Path | None = None,
        flushes: Iterable[Flush] = (),
    ) -> None:
        self._columns = [np.dtype(column) for column in columns]
        self._width = sum(column.itemsize for column in self._columns)
        self._memory, self._folder, self._path = memory, folder, path
        self._pending: list[list[tuple[np.ndarray, ...]]] = [[] for _ in range(parts)]
        self._bytes = 0
        self._flushes = list(flushes)
        self._file: IO[bytes] | None = None
        self._syncer: ThreadPoolExecutor | None = None
        self._syncing: Future[None] | None = None
        self._end = 0
        if self._flushes:
            self._check()

    @property
    def parts(self) -> int:
        return len(self._pending)

    @property
    def rows(self) -> int:
        """Rows so far, but for those that were taken out of the memory."""
        return self._bytes // self._width + sum(sum(flush.rows) for flush in self._flushes)

    @property
    def written(self) -> int:
        """Bytes that are in the file."""
        return self._end

    @property
    def is_full(self) -> bool:
        """Whether more is in memory than should be."""
        return self._bytes > self._memory

    def add(self, part: int, *columns: np.ndarray) -> None:
        """Append rows to a part; the arrays are not copied while they are in memory."""
        if not len(columns[0]):
            return
        row = tuple(
            np.ascontiguousarray(values, dtype)
            for values, dtype in zip(columns, self._columns, strict=True)
        )
        self._pending[part].append(row)
        self._bytes += sum(values.nbytes for values in row)

    def add_divided(self, rows: Sequence[np.ndarray], ends: np.ndarray) -> None:
        """Append rows that are in the order of their parts; ``ends`` is int64[parts + 1]."""
        limits = ends.tolist()
        for part in range(self.parts):
            low, high = limits[part], limits[part + 1]
            if high > low:
                self.add(part, *(values[low:high] for values in rows))

    def flush(self) -> Flush:
        """Write the rows in memory to the file; return the batch, for ``flushes`` of `Spill`.

        They are on the disk after `sync`: the caller goes on meanwhile.
        """
        self.sync()
        with _refused():
            file = self._opened()
            file.seek(self._end)
            checksum, end, rows = 0, self._end, []
            for blocks in self._pending:
                rows.append(sum(len(block[0]) for block in blocks))
                for column in zip(*blocks, strict=True):
                    rows_of = column if len(column) == 1 else [np.concatenate(column)]
                    data = memoryview(cast(Any, rows_of[0].view(np.uint8)))
                    file.write(data)
                    if self._path is not None:
                        checksum = zlib.crc32(data, checksum)
                    end += len(data)
                blocks.clear()
            file.flush()
        if self._path is not None:
            self._syncer = self._syncer or ThreadPoolExecutor(1, "neardup-sync")
            self._syncing = self._syncer.submit(os.fsync, file.fileno())
        found = Flush(self._end, rows, checksum)
        self._flushes.append(found)
        self._end, self._bytes = end, 0
        return found

    def sync(self) -> None:
        """Wait until what was written is on the disk; OutputError if the system refuses it."""
        syncing, self._syncing = self._syncing, None
        if syncing is not None:
            with _refused():
                syncing.result()

    def size(self, part: int) -> int:
        """Return the rows of a part."""
        pending = sum(len(block[0]) for block in self._pending[part])
        return pending + sum(flush.rows[part] for flush in self._flushes)

    def take(self, part: int, allocate: Allocate = np.empty) -> list[np.ndarray]:
        """Return the columns of a part; those in memory are forgotten. For any thread."""
        total = self.size(part)
        found = [allocate(total, column) for column in self._columns]
        done = 0
        for flush in self._flushes:
            begin, count = flush.begin + sum(flush.rows[:part]) * self._width, flush.rows[part]
            for column in found:
                rows = column[done : done + count]
                self._read(rows, begin)
                begin += rows.nbytes
            done += count
        blocks, self._pending[part] = self._pending[part], []
        for block in blocks:
            for column, values in zip(found, block, strict=True):
                column[done : done + len(values)] = values
            done += len(block[0])
        self._bytes -= sum(values.nbytes for block in blocks for values in block)
        return found

    def forget(self) -> None:
        """Forget the rows in memory; those in a file that outlives the process stay there."""
        self._pending = [[] for _ in self._pending]
        self._close()

    def close(self) -> None:
        """Forget all rows, and remove the file."""
        self._close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._syncer is not None:
            self._syncer.shutdown()  # an error is one of a file that nobody needs any more
        if self._file is not None:
            self._file.close()

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            if self._path is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
            else:
                flags = os.O_RDWR | os.O_CREAT | (0 if self._flushes else os.O_TRUNC)
                descriptor = os.open(self._path, flags, 0o600)
                self._file = os.fdopen(descriptor, "r+b")
        return self._file

    def _read(self, into: np.ndarray, begin: int) -> None:
        if not into.nbytes:
            return
        view, done = memoryview(cast(Any, into.view(np.uint8))), 0
        descriptor = self._opened().fileno()
        while done < len(view):
            count = os.preadv(descriptor, [view[done:]], begin + done)
            if not count:
                raise OutputError("a temporary file has become shorter", "start again")
            done += count

    def _check(self) -> None:
        """Compare the file with the sizes and digests that were written."""
        ends = [flush.begin + sum(flush.rows) * self._width for flush in self._flushes]
        self._end = ends[-1]
        try:
            descriptor = self._opened().fileno()
            for flush, end in zip(self._flushes, ends, strict=True):
                checksum, at = 0, flush.begin
                while at < end and (data := os.pread(descriptor, min(_READ, end - at), at)):
                    checksum, at = zlib.crc32(data, checksum), at + len(data)
                if at < end or checksum != flush.checksum:
                    raise OSError
        except OSError as error:
            raise ResumeError(
                f"{self._path} is damaged or missing", "start again with overwrite=True"
            ) from error


@contextmanager
def _refused() -> Iterator[None]:
    """Replace the system's errors by `OutputError`."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or "the system refused it").lower()
        raise OutputError(
            f"no capacity for temporary files: {reason}", "free some space, or allow more memory"
        ) from error
