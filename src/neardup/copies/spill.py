"""Rows of several columns, divided into parts: in memory while that lasts, then in files."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from neardup.errors import OutputError

#: Rows of a part in a file: first their number, then each column.
_COUNT = np.dtype("<i8")


class Spill:
    """Collects rows and gives them back part by part, in the order in which they came.

    Args:
        columns: Types of the columns.
        parts: Number of parts.
        memory: Bytes that may be in memory; more goes to files without a name in ``folder``, so
            that nothing is left of them, however the process ends.
        folder: None for that of the system for temporary files.
    """

    def __init__(
        self, columns: Sequence[npt.DTypeLike], parts: int, memory: int, folder: Path | None
    ) -> None:
        self._columns = [np.dtype(column) for column in columns]
        self._memory, self._folder = memory, folder
        self._pending: list[list[tuple[np.ndarray, ...]]] = [[] for _ in range(parts)]
        self._files: list[IO[bytes] | None] = [None] * parts
        self._bytes = 0
        #: Rows so far, and the bytes that were written to files.
        self.rows = self.written = 0

    @property
    def parts(self) -> int:
        return len(self._pending)

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
        self.rows += len(row[0])
        if self._bytes > self._memory:
            self._write()

    def add_divided(self, rows: Sequence[np.ndarray], ends: np.ndarray) -> None:
        """Append rows that are in the order of their parts; ``ends`` is int64[parts + 1]."""
        limits = ends.tolist()
        for part in range(self.parts):
            low, high = limits[part], limits[part + 1]
            if high > low:
                self.add(part, *(values[low:high] for values in rows))

    def take(self, part: int) -> list[np.ndarray]:
        """Return the columns of a part, and forget it."""
        blocks, self._pending[part] = self._pending[part], []
        self._bytes -= sum(values.nbytes for block in blocks for values in block)
        file, self._files[part] = self._files[part], None
        stored = [] if file is None else self._read(file)
        every = [*stored, *blocks]
        return [
            np.concatenate([np.empty(0, dtype), *(block[number] for block in every)])
            for number, dtype in enumerate(self._columns)
        ]

    def _read(self, file: IO[bytes]) -> list[tuple[np.ndarray, ...]]:
        with file:
            file.seek(0)
            data = file.read()
        blocks, at = [], 0
        while at < len(data):
            (count,) = np.frombuffer(data, _COUNT, 1, at).tolist()
            at += _COUNT.itemsize
            block = []
            for dtype in self._columns:
                block.append(np.frombuffer(data, dtype, count, at))
                at += count * dtype.itemsize
            blocks.append(tuple(block))
        return blocks

    def _write(self) -> None:
        try:
            for part, blocks in enumerate(self._pending):
                if not blocks:
                    continue
                file = self._files[part]
                if file is None:
                    file = self._files[part] = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
                for number, block in enumerate(zip(*blocks, strict=True)):
                    values = np.concatenate(block)
                    if number == 0:
                        file.write(np.array(len(values), _COUNT).tobytes())
                        self.written += _COUNT.itemsize
                    file.write(values.tobytes())
                    self.written += values.nbytes
                blocks.clear()
        except OSError as error:
            reason = (error.strerror or "the system refused it").lower()
            raise OutputError(
                f"no capacity for temporary files: {reason}",
                "free some space, or allow more memory",
            ) from error
        self._bytes = 0
