"""Bytes of a file or of stdin, decompressed on the way, and lines cut from them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from neardup.corpus.inputs import STDIN, InputFile, unreadable
from neardup.errors import EncodingError, FormatError

__all__ = [
    "ByteStream",
    "Piece",
    "cut_lines",
    "line_of",
    "lines_within",
    "read_all",
    "without_bom",
]

_AHEAD = 4  # pieces that the system is asked to read before they are wanted


class ByteStream:
    """Reads an input file from its start to its end; a context manager.

    ``plain`` is the number of bytes read, decompressed.

    Raises:
        InputNotFoundError: The file is gone.
        InputError: The file can't be read.
        FormatError: Compressed data that is cut off or damaged.
    """

    def __init__(self, file: InputFile) -> None:
        self.file = file
        self._taken = 0
        self.plain = 0
        self._stack = ExitStack()
        try:
            self._raw = self._opened(file)
            self._stream: Any = self._raw
            if file.compression:
                self._stream = self._stack.enter_context(
                    pa.CompressedInputStream(self._raw, file.compression)
                )
        except OSError as error:
            self._stack.close()
            raise unreadable(file.path, error) from error

    def _opened(self, file: InputFile) -> BinaryIO:
        if file.source == STDIN:
            return sys.stdin.buffer
        return self._stack.enter_context(open(file.source, "rb"))  # noqa: PTH123 - a plain string

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes, decompressed; fewer at the end only, b"" after it."""
        try:
            block: bytes = self._stream.read(size)
        except OSError as error:
            # Arrow reports damaged data as OSError without a number; the system always gives one.
            if self.file.compression and not error.errno:
                raise FormatError(
                    f"{self.file.path}: the {self.file.compression} data is cut off or damaged",
                    "fetch or compress the file again",
                ) from error
            raise unreadable(self.file.path, error) from error
        self.plain += len(block)
        return block

    def taken(self) -> int:
        """Bytes of the source that were used since the last call; compressed ones if it is."""
        position = self._raw.tell() if self.file.compression else self.plain
        used, self._taken = position - self._taken, position
        return used


def read_all(file: InputFile) -> bytes:
    """The whole file, decompressed; raises as `ByteStream`."""
    with ByteStream(file) as stream:
        blocks = []
        while block := stream.read(1 << 24):
            blocks.append(block)
    return b"".join(blocks)


def without_bom(name: str, head: bytes) -> bytes:
    """The first bytes of a text file without the mark of UTF-8.

    Raises:
        EncodingError: The mark is that of UTF-16.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise EncodingError(f"{name}: the file is UTF-16", "convert it to UTF-8")
    return head.removeprefix(b"\xef\xbb\xbf")


class Piece(NamedTuple):
    """Whole lines.

    Args:
        held: The bytes, decompressed; None if they are to be read from ``file`` when needed.
        size: Bytes of the source that they stand for.
        start: Decompressed bytes before them.
        line: Number of the first line, from 1; None for files, see `line_of`.
        file: Where they come from.
    """

    held: bytes | None
    size: int
    start: int
    line: int | None
    file: InputFile

    @property
    def raw(self) -> bytes:
        """The bytes, decompressed.

        Raises:
            FormatError: The file has become shorter since it was cut.
        """
        if self.held is not None:
            return self.held
        try:
            with Path(self.file.source).open("rb", buffering=0) as source:
                source.seek(self.start)
                raw = source.read(self.size) or b""
                while len(raw) < self.size and (more := source.read(self.size - len(raw))):
                    raw += more
        except OSError as error:
            raise unreadable(self.file.path, error) from error
        if len(raw) < self.size:
            raise FormatError(f"{self.file.path} has become shorter while it was read")
        return raw


def cut_lines(
    stream: ByteStream, chunk_bytes: int, check_head: Callable[[bytes], bytes]
) -> Iterator[Piece]:
    """Pieces of about ``chunk_bytes`` that end after a newline, or at the end of the file.

    A piece grows to hold its line, however long. ``check_head`` sees the first block, and what it
    returns takes the block's place.
    """
    file = stream.file
    if file.size is not None and not file.compression:
        yield from _cut_file(stream, chunk_bytes, check_head)
        return
    held: list[bytes] = []
    start = 0
    line = 1 if file.size is None else None
    head = True
    while block := stream.read(chunk_bytes):
        if head:
            block, head = check_head(block), False
        cut = block.rfind(b"\n") + 1
        if not cut:
            held.append(block)
            continue
        raw = b"".join([*held, block[:cut]])
        held = [block[cut:]]
        yield Piece(raw, stream.taken(), start, line, file)
        start = stream.plain - len(held[0])
        if line is not None:
            line += raw.count(b"\n")
    raw = b"".join(held)
    size = stream.taken()
    if raw or size:
        yield Piece(raw, size, start, line, file)


def _cut_file(
    stream: ByteStream, chunk_bytes: int, check_head: Callable[[bytes], bytes]
) -> Iterator[Piece]:
    """Pieces of a plain file; all but the first are read by who needs them, not here."""
    file = stream.file
    blocks = []
    while block := stream.read(chunk_bytes):
        blocks.append(block)
        if b"\n" in block:
            break
    first = b"".join(blocks)
    del blocks
    if not first:
        return
    whole = stream.plain
    end = first.rfind(b"\n") + 1 or whole
    yield Piece(check_head(first[:end]), end, 0, None, file)
    del first
    # Sizes are asked for again, because a file may have grown since it was found.
    total = max(file.size or 0, whole)
    with Path(file.source).open("rb", buffering=0) as source:
        start = end
        while start < total:
            end = _line_end(source, start, min(start + chunk_bytes, total), total)
            if hasattr(os, "posix_fadvise"):
                # Pieces are read by several threads, which the system does not take for one that
                # goes on: it is told what will be wanted next.
                os.posix_fadvise(source.fileno(), end, _AHEAD * chunk_bytes, os.POSIX_FADV_WILLNEED)
            yield Piece(None, end - start, start, None, file)
            start = end


def _line_end(source: Any, start: int, end: int, total: int) -> int:
    """The end of the last line that ends before ``end``, or of the first that ends after it."""
    window = 1 << 16
    high = end
    while high > start and end < total:
        low = max(start, high - window)
        source.seek(low)
        at = source.read(high - low).rfind(b"\n")
        if at >= 0:
            return int(low + at + 1)
        high = low
    while end < total:
        source.seek(end)
        at = source.read(window).find(b"\n")
        if at >= 0:
            return end + at + 1
        end += window
        window = min(window * 2, 1 << 24)
    return total


def lines_within(file: InputFile, start: int, end: int) -> Piece | None:
    """The lines of a plain file that begin in a range of bytes, however long the last one is.

    Ranges that lie side by side have no line in common, and leave none out.

    Args:
        file: A file, not compressed.
        start, end: Bytes of it.

    Returns:
        The lines, to be read when they are needed; None where no line begins there.
    """
    total = file.size or 0
    end = min(end, total)
    try:
        with Path(file.source).open("rb", buffering=0) as source:
            if start:
                start = _line_end(source, start - 1, start - 1, end)
            elif source.read(3) == b"\xef\xbb\xbf":
                start = 3
            if start >= end:
                return None
            last = _line_end(source, end - 1, end - 1, total)
    except OSError as error:
        raise unreadable(file.path, error) from error
    return Piece(None, last - start, start, None, file)


def line_of(file: InputFile, start: int, line: int | None) -> int:
    """The number of the line that starts after ``start`` bytes, for messages.

    Files are read again for it, since counting all along would cost a tenth of the time of
    reading; pipes can't be, and are counted.
    """
    if line is not None:
        return line
    line = 1
    with ByteStream(file) as stream:
        while start > 0 and (block := stream.read(min(start, 1 << 20))):
            line += block.count(b"\n")
            start -= len(block)
    return line
