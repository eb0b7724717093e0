"""Rows of several columns, divided into parts: in memory while that lasts, then in a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from neardup.errors import OutputError, ResumeError
from neardup.kernels.passages.run_records import digest_of

Allocate = Callable[[int, np.dtype], np.ndarray]
#: Bytes that are read at once to check a file.
_READ = 16 << 20
#: Bytes of small blocks that are written at once, at most.
_WRITTEN = 4 << 20


class Flush(NamedTuple):
    """Rows that were written together: part after part, and of each part column after column."""

    begin: int  # first byte in the file
    rows: list[int]  # of each part
    checksum: int  # see `digest_of`


class Spill:
    """Collects rows and gives them back part by part, in the order in which they came.

    Args:
        columns: Types of the columns; of 8 bytes each where there is a ``path``.
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
        self.parts = parts
        # Rows in the order of their parts, and where each part begins in them.
        self._pending: list[tuple[list[np.ndarray], list[int]]] = []
        self._bytes = 0
        self._flushes = list(flushes)
        self._begins = [_begins(flush) for flush in self._flushes]
        self._file: IO[bytes] | None = None
        self._syncer: ThreadPoolExecutor | None = None
        self._syncing: Future[None] | None = None
        self._end = 0
        if self._flushes:
            self._check()

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self._bytes // self._width + sum(begins[-1] for begins in self._begins)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows so far, in memory or in the file."""
        return self.rows * self._width

    @property
    def written(self) -> int:
        """Bytes that are in the file."""
        return self._end

    @property
    def is_full(self) -> bool:
        """Whether more is in memory than should be."""
        return self._bytes > self._memory

    def add_divided(self, rows: Sequence[np.ndarray], ends: np.ndarray) -> None:
        """Append rows that are in the order of their parts; ``ends`` is int64[parts + 1].

        The arrays are not copied while they are in memory.
        """
        if ends[-1]:
            columns = [
                np.ascontiguousarray(values, dtype)
                for values, dtype in zip(rows, self._columns, strict=True)
            ]
            self._pending.append((columns, ends.tolist()))
            self._bytes += sum(values.nbytes for values in columns)

    def _blocks(self, part: int) -> Iterator[list[np.ndarray]]:
        """Yield the rows of a part in memory: for each column, uint8[] of each block."""
        for number in range(len(self._columns)):
            yield [
                columns[number][ends[part] : ends[part + 1]].view(np.uint8)
                for columns, ends in self._pending
                if ends[part + 1] > ends[part]
            ]

    def _together(self) -> Iterator[list[np.ndarray]]:
        """Yield the rows in memory as they are written; of several blocks at most `_WRITTEN`."""
        waiting: list[np.ndarray] = []
        size = 0
        for block in (b for part in range(self.parts) for each in self._blocks(part) for b in each):
            if waiting and size + len(block) > _WRITTEN:
                yield waiting
                waiting, size = [], 0
            waiting.append(block)
            size += len(block)
        if waiting:
            yield waiting

    def flush(self, durable: bool = True) -> Flush:
        """Write the rows in memory to the file; return the batch, for ``flushes`` of `Spill`.

        They are on the disk after `sync`, if they are to be: the caller goes on meanwhile.
        """
        self.sync()
        digest, end = np.uint64(0), self._end
        space = np.empty(_WRITTEN if self._pending else 0, np.uint8)
        with _refused():
            file = self._opened()
            file.seek(end)
            for blocks in self._together():
                size = sum(map(len, blocks))
                data = blocks[0]
                if len(blocks) > 1:
                    data = np.concatenate(blocks, out=space[:size])
                file.write(memoryview(cast(Any, data)))
                end += size
                if self._path is not None:
                    digest = np.uint64(digest_of(data.view(np.uint64), digest))
            file.flush()
        every = np.array([ends for _, ends in self._pending], np.int64).reshape(-1, self.parts + 1)
        rows, checksum = np.diff(every).sum(axis=0).tolist(), int(digest)
        self._pending = []
        if durable and self._path is not None:
            self._syncer = self._syncer or ThreadPoolExecutor(1, "neardup-sync")
            self._syncing = self._syncer.submit(os.fsync, file.fileno())
        found = Flush(self._end, rows, checksum)
        self._flushes.append(found)
        self._begins.append(_begins(found))
        self._end, self._bytes = end, 0
        return found

    def sync(self) -> None:
        """Wait until all rows written are on the disk; OutputError if the system refuses it."""
        syncing, self._syncing = self._syncing, None
        if syncing is not None:
            with _refused():
                syncing.result()

    def end(self) -> None:
        """Say that no rows follow: where most are in the file, the others need no memory."""
        if self._flushes and self._pending:
            self.flush(durable=False)

    def size(self, part: int) -> int:
        """Return the rows of a part."""
        pending = sum(ends[part + 1] - ends[part] for _, ends in self._pending)
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
        for column, blocks in zip(found, self._blocks(part), strict=True):
            if blocks:
                np.concatenate(blocks, out=column[done:].view(np.uint8))
        return found

    def forget(self) -> None:
        """Forget the rows in memory; those in a file that outlives the process stay there."""
        self._pending = []
        self._close()

    def close(self) -> None:
        """Forget all rows, and remove the file."""
        self._pending = []
        self._close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._syncer is not None:
            # The file is not needed any more.
            self._syncer.shutdown(wait=False, cancel_futures=True)
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
        ends = [
            flush.begin + begins[-1] * self._width
            for flush, begins in zip(self._flushes, self._begins, strict=True)
        ]
        self._end = ends[-1]
        try:
            descriptor = self._opened().fileno()
            for flush, end in zip(self._flushes, ends, strict=True):
                checksum, at = np.uint64(0), flush.begin
                while at < end and (data := os.pread(descriptor, min(_READ, end - at), at)):
                    data = data[: len(data) & -8]
                    checksum = np.uint64(digest_of(np.frombuffer(data, np.uint64), checksum))
                    at += len(data)
                if at < end or checksum != flush.checksum:
                    raise OSError
        except OSError as error:
            raise ResumeError(
                f"{self._path} is damaged or missing", "start again with overwrite=True"
            ) from error


def _begins(flush: Flush) -> list[int]:
    """Return the rows before each part, and all."""
    return list(accumulate(flush.rows, initial=0))


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
