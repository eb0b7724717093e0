"""Tables of one schema, concatenated: in memory while that lasts, then in a mapped file."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from neardup.errors import OutputError

if TYPE_CHECKING:
    from neardup.files.scratch import Disk


class TableSpill(AbstractContextManager["TableSpill"]):
    """Collects tables, and gives them back as one.

    Pages of the mapped file don't count as private memory of the process. The file has no name:
    nothing is left of it, however the process ends. A context manager; the table outlives it.

    Args:
        memory: Bytes that may be in memory; more goes to a file.
        disk: Has the folder of the file, and counts its bytes.
    """

    def __init__(self, memory: int, disk: Disk) -> None:
        self._memory, self._disk = memory, disk
        self._tables: list[pa.Table] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._writer: Any = None

    def add(self, table: pa.Table) -> None:
        """Append a table; OutputError where the disk is full."""
        self._tables.append(table)
        self._bytes += table.nbytes
        if self._bytes > self._memory or self._file is not None:
            with no_capacity():
                self._write()

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._disk.folder)  # noqa: SIM115
            self._writer = pa.ipc.new_stream(self._file, self._tables[0].schema)
        before = self._file.tell()
        for table in self._tables:
            self._writer.write_table(table)
        self._disk.add(self._file.tell() - before)
        self._tables.clear()

    def table(self) -> pa.Table:
        """Return all rows, of at least one table that was added; no table follows."""
        if self._file is None:
            return pa.concat_tables(self._tables)
        with no_capacity():
            self._writer.close()
            self._file.flush()
            pages = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return pa.ipc.open_stream(pa.py_buffer(pages)).read_all()

    def __exit__(self, *error: object) -> None:
        self._tables.clear()
        if self._file is not None:
            self._file.close()


@contextmanager
def no_capacity() -> Iterator[None]:
    """Replace the system's errors by `OutputError`."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or "the system refused it").lower()
        raise OutputError(
            f"no capacity for temporary files: {reason}", "free some space, or allow more memory"
        ) from error
