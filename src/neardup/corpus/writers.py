"""Tables written to one file, batch by batch, and gone on with after the process was killed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa

from neardup.corpus.schemas import conform
from neardup.corpus.sinks import AGAIN_HINT, SINKS
from neardup.errors import OutputError, ResumeError, SpecError

__all__ = ["OUTPUT_FORMATS", "TableWriter", "unwritable", "write_hint"]

OUTPUT_FORMATS = tuple(SINKS)
_CODECS = ("none", "lz4", "snappy", "zstd")
_HINTS = {
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EDQUOT: "free some space, or write to another disk",
    errno.EFBIG: "the limit on the size of files is reached; raise it, or write elsewhere",
    errno.EACCES: "check the rights of the folder",
    errno.EPERM: "check the rights of the folder",
    errno.EROFS: "write to another disk",
    errno.ENOENT: "create the folder first",
}


def write_hint(error: OSError) -> str:
    """What helps where the system does not take the data; empty where nothing is known to."""
    return _HINTS.get(error.errno or 0, "")


def unwritable(path: Path, error: OSError) -> OutputError:
    """The error for a file that the operating system does not take."""
    reason = os.strerror(error.errno).lower() if error.errno else "the system refused it"
    return OutputError(f"{path}: can't be written: {reason}", write_hint(error))


class TableWriter:
    """Writes tables of one schema to exactly the path given; a context manager.

    The file is created at once. Temporary names and renaming are the caller's. If the block ends
    with an error, the file is left unfinished and nothing more is raised.

    Args:
        path: Where to write; what is there is lost.
        schema: As `unify` made it. Columns of JSON text are written as JSON in ``jsonl``.
        format: ``parquet``, ``jsonl`` or ``csv``.
        compression: Of Parquet: ``none``, ``lz4``, ``snappy`` or ``zstd``.
        resume: What `checkpoint` returned for the same path, schema, format and compression: what
            was written after it is cut off, and the file is gone on with. The finished file is
            then the same, byte for byte, as one that was written in one go.

    Raises:
        OutputError: The system does not take the data: no space, no right, no folder.
        ResumeError: The file to go on with is gone, too short, or of another format.
        SpecError: Another format.
    """

    def __init__(
        self,
        path: str | Path,
        schema: pa.Schema,
        format: str,
        compression: str = "zstd",
        resume: bytes | None = None,
    ) -> None:
        if format not in SINKS:
            raise SpecError(
                f"output format is {format!r}, expected one of {', '.join(OUTPUT_FORMATS)}"
            )
        if compression not in _CODECS:
            raise SpecError(f"compression is {compression!r}, expected one of {', '.join(_CODECS)}")
        self.path = Path(path)
        self.schema = schema
        self._format = format
        self._closed = False
        state = None if resume is None else json.loads(resume)
        if state is not None and state["format"] != format:
            raise ResumeError(
                f"{self.path}: was begun as {state['format']}, not {format}", AGAIN_HINT
            )
        with self._errors():
            self._sink = SINKS[format](self.path, schema, compression, state)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritable(self.path, error) from error

    def write(self, table: pa.Table) -> None:
        """Append the rows of a table; it is brought into the schema first if it is not in it.

        Raises:
            OutputError: As above.
            FormatError: A value does not fit the schema.
        """
        table = conform(table, self.schema)
        with self._errors():
            self._sink.write(table)

    def checkpoint(self, sync: bool = True) -> bytes:
        """Wait until all that was written is safely on the disk; what is written is not changed.

        Args:
            sync: False to leave it to the caller to have the file synced.

        Returns:
            What ``resume`` needs to go on from here: ASCII, some hundred bytes, and for Parquet
            about as many again for each column of each table written.

        Raises:
            OutputError: As above.
        """
        with self._errors():
            state = json.dumps({"format": self._format, **self._sink.checkpoint()}).encode()
            if sync:
                self._sink.sync()
            return state

    def close(self) -> None:
        """Write what is held back and close the file; a second call does nothing."""
        if not self._closed:
            self._closed = True
            with self._errors():
                self._sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self.close()
            return
        with contextlib.suppress(OutputError, pa.ArrowException):  # the first error counts
            self.close()
