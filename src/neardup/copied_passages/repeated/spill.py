"""Rows of several columns, divided into parts: in memory while that lasts, then in a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate, product
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from neardup.copied_passages.repeated.row_batches import Batches
from neardup.errors import OutputError, ResumeError
from neardup.files.scratch import Disk, release
from neardup.files.table_spill import no_capacity
from neardup.kernels.passages.run_records import digest_of

Allocate = Callable[[int, np.dtype], np.ndarray]
#: Bytes that are read at once to check a file.
_READ = 16 << 20
#: The part of the memory from which on a batch of rows is large.
_LARGE = 4
#: Bytes of small blocks that are written at once, at most.
_WRITTEN = 4 << 20


class Flush(NamedTuple):
    """Rows that were written together: part after part, and of each part column after column."""

    begin: int  # first byte in the file
    rows: list[int]  # of each part
    checksums: list[int]  # of each part, see `digest_of`; none in a file without a name


class Stored(NamedTuple):
    """Rows in a file that were written before."""

    flushes: Sequence[Flush] = ()
    freed: int = 0  # parts, the first ones, that are not there any more, see `Spill.free`


class Spill:
    """Collects rows and gives them back part by part, in the order in which they came.

    Args:
        columns: Types of the columns; of 8 bytes each where there is a ``path``.
        parts: Number of parts.
        memory: Bytes that may be in memory; more goes to a file.
        disk: Has the folder of a file without a name: nothing is left of it, however the process
            ends. It counts the bytes of any file.
        path: Of a file that outlives the process instead; the caller stores what `flush` returns,
            and gives it back as ``stored``.
        stored: Rows that are in this file.
    """

    def __init__(
        self,
        columns: Sequence[npt.DTypeLike],
        parts: int,
        memory: int,
        disk: Disk | None = None,
        *,
        path: Path | None = None,
        stored: Stored | None = None,
    ) -> None:
        self._columns = [np.dtype(column) for column in columns]
        self._width = sum(column.itemsize for column in self._columns)
        self._memory, self._disk, self._path = memory, disk or Disk(), path
        self.parts = parts
        self._pending: list[Batches] = []
        self._shared = Batches([])
        self._bytes = 0
        self._flushes = [] if stored is None else [*stored.flushes]
        self._begins = [_begins(flush) for flush in self._flushes]
        self._old = len(self._flushes)
        self._file: IO[bytes] | None = None
        self._syncer: ThreadPoolExecutor | None = None
        self._syncing: Future[None] | None = None
        self._end = self._taken = 0
        self._freed = 0
        if stored is not None and self._flushes:
            self._check(stored.freed)
            self.free(stored.freed)  # if the process ended before it did

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self._bytes // self._width + sum(begins[-1] for begins in self._begins)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows so far, in memory or in the file."""
        return self.rows * self._width

    @property
    def in_memory(self) -> int:
        """Bytes of the rows in memory."""
        return self._bytes

    @property
    def written(self) -> int:
        """Bytes of the rows that were written to the file."""
        return self._end

    @property
    def is_full(self) -> bool:
        """Whether more is in memory than should be."""
        return self._bytes > self._memory

    def add_divided(self, rows: Sequence[np.ndarray], ends: np.ndarray) -> None:
        """Append rows that are in the order of their parts; ``ends`` is int64[parts + 1].

        Large arrays are not copied while they are in memory.
        """
        count = int(ends[-1])
        if not count:
            return
        self._bytes += count * self._width
        if count * self._width <= self._memory // _LARGE and self._can_share(count):
            self._shared.add(rows, ends)
            return
        if not self._shared.rows:  # batches like this one may fill all of the memory
            self._shared = Batches([])
        columns = [
            np.ascontiguousarray(values, dtype)
            for values, dtype in zip(rows, self._columns, strict=True)
        ]
        self._pending.append(Batches.of(columns, ends))

    def _can_share(self, count: int) -> bool:
        """Return whether the arrays that batches share can take so many rows, behind all others."""
        if not self._shared.columns:
            capacity = (self._memory + self._memory // _LARGE) // self._width
            self._shared = Batches([np.empty(capacity, column) for column in self._columns])
        if not self._shared.rows:
            self._pending.append(self._shared)
        return self._pending[-1] is self._shared and self._shared.fits(count)

    def _together(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each part and its bytes as they are written, valid until the next ones."""
        space = np.empty(_WRITTEN if self._pending else 0, np.uint8)
        sizes = [(batches, batches.sizes().tolist()) for batches in self._pending]
        for part in range(self.parts):
            filled = 0
            for (number, column), (batches, rows) in product(enumerate(self._columns), sizes):
                size = rows[part] * column.itemsize
                if filled + size > _WRITTEN:
                    yield part, space[:filled]
                    filled = 0
                if size > _WRITTEN:
                    for block in batches.blocks(part, number):
                        yield part, block
                elif size:
                    filled += batches.copy(part, number, space[filled:])
            yield part, space[:filled]

    def flush(self, durable: bool = True) -> Flush:
        """Write the rows in memory to the file; return the batch, for ``flushes`` of `Spill`.

        They are on the disk after `sync`, if they are to be: the caller goes on meanwhile.
        """
        self.sync()
        named = self._path is not None
        digests, end = np.zeros(self.parts if named else 0, np.uint64), self._end
        with no_capacity():
            file = self._opened()
            file.seek(end)
            for part, data in self._together():
                file.write(memoryview(cast(Any, data)))
                end += len(data)
                if named:
                    digests[part] = digest_of(data.view(np.uint64), digests[part])
            file.flush()
        rows = np.zeros(self.parts, np.int64)
        for batches in self._pending:
            rows += batches.sizes()
        if durable and self._path is not None:
            self._syncer = self._syncer or ThreadPoolExecutor(1, "neardup-sync")
            self._syncing = self._syncer.submit(os.fsync, file.fileno())
        found = Flush(self._end, rows.tolist(), digests.tolist())
        self._flushes.append(found)
        self._begins.append(_begins(found))
        self._take(end - self._end)
        self._end, self._bytes, self._pending = end, 0, []
        self._shared.clear()  # the next rows have its memory: the system would clear new pages
        return found

    def new_flushes(self) -> list[Flush]:
        """Write the rows in memory to the file, and return the batches since the last time."""
        if self._bytes:
            self.flush()
        begin, self._old = self._old, len(self._flushes)
        return self._flushes[begin:]

    def sync(self) -> None:
        """Wait until all rows written are on the disk; OutputError if the system refuses it."""
        syncing, self._syncing = self._syncing, None
        if syncing is not None:
            with no_capacity():
                syncing.result()

    def end(self) -> None:
        """Say that no rows follow: where most are in the file, the others need no memory."""
        if self._flushes and self._pending:
            self.flush(durable=False)
        if not self._pending:
            self._shared = Batches([])

    def size(self, part: int) -> int:
        """Return the rows of a part."""
        pending = sum(batches.size(part) for batches in self._pending)
        return pending + sum(flush.rows[part] for flush in self._flushes)

    def take(self, part: int, allocate: Allocate = np.empty) -> list[np.ndarray]:
        """Return the columns of a part. For any thread."""
        total = self.size(part)
        found = [allocate(total, column) for column in self._columns]
        done = 0
        for flush, begins in zip(self._flushes, self._begins, strict=True):
            begin, count = flush.begin + begins[part] * self._width, flush.rows[part]
            for column in found:
                rows = column[done : done + count]
                self._read(rows, begin)
                begin += rows.nbytes
            done += count
        for number, column in enumerate(found):
            left = column[done:].view(np.uint8)
            for batches in self._pending:
                left = left[batches.copy(part, number, left) :]
        return found

    def array(self, allocate: Allocate = np.empty) -> np.ndarray:
        """Return the rows of a spill of one column and one part, in memory or mapped.

        They are not in the spill any more, unless they are in a file.
        """
        self.end()
        if self._flushes:
            pages = self._disk.map(self._opened().fileno(), self._end)
            return np.frombuffer(pages, self._columns[0])
        batches = self._pending
        found = batches[0].columns[0] if len(batches) == 1 else self.take(0, allocate)[0]
        rows, self._pending, self._shared = self.rows, [], Batches([])
        return found[:rows]

    def free(self, parts: int) -> None:
        """Give back the disk of so many parts, the first ones; they are not asked for any more."""
        if parts <= self._freed:
            return
        for flush, begins in zip(self._flushes, self._begins, strict=True):
            begin, end = (flush.begin + begins[part] * self._width for part in (self._freed, parts))
            self._take(-release(self._opened().fileno(), begin, end))
        self._freed = parts

    def _take(self, size: int) -> None:
        """Note so many bytes of disk more, or fewer."""
        self._taken += size
        self._disk.add(size)

    def forget(self) -> None:
        """Forget the rows in memory; those in a file that outlives the process stay there."""
        self._pending, self._shared, self._bytes = [], Batches([]), 0
        self._close()

    def close(self) -> None:
        """Forget all rows, and remove the file."""
        self._pending, self._shared = [], Batches([])
        self._close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._take(-self._taken)

    def _close(self) -> None:
        if self._syncer is not None:
            # The file is not needed any more.
            self._syncer.shutdown(wait=False, cancel_futures=True)
        if self._file is not None:
            self._file.close()
            self._file = None
            if self._path is None:
                self._flushes, self._begins = [], []
                self._take(-self._taken)

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            if self._path is None:
                self._file = tempfile.TemporaryFile(dir=self._disk.folder)  # noqa: SIM115
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

    def _check(self, freed: int) -> None:
        """Compare the file, but for some parts, with the sizes and digests that were written."""
        last, rows = self._flushes[-1], self._begins[-1][-1]
        self._end = last.begin + rows * self._width
        self._take(self._end)
        try:
            descriptor = self._opened().fileno()
            for flush, begins in zip(self._flushes, self._begins, strict=True):
                for part in range(freed, self.parts):
                    at, end = (flush.begin + row * self._width for row in begins[part : part + 2])
                    checksum = np.uint64(0)
                    while at < end and (data := os.pread(descriptor, min(_READ, end - at), at)):
                        data = data[: len(data) & -8]
                        checksum = np.uint64(digest_of(np.frombuffer(data, np.uint64), checksum))
                        at += len(data)
                    if at < end or checksum != flush.checksums[part]:
                        raise OSError
        except OSError as error:
            self._close()
            raise ResumeError(
                f"{self._path} is damaged or missing", "start again with overwrite=True"
            ) from error


def _begins(flush: Flush) -> list[int]:
    """Return the rows before each part, and all."""
    return list(accumulate(flush.rows, initial=0))
