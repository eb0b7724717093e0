"""Bytes of files and pipes: ranges of plain files, decompressed streams, copies of pipes."""

import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import PAD
from neardup.errors import FormatError, InputError
from neardup.file_formats import COMPRESSIONS, FORMATS
from neardup.files.private_files import replacing
from neardup.io.formats.large_records import RecordLimit, leave_out, too_blank, too_large
from neardup.io.remote import last_name, open_remote
from neardup.io.remote_errors import failed, is_of_transfer
from neardup.io.source import Skipped, SourceFile, changed, unreadable
from neardup.io.unpacking.decompressed import decompressed
from neardup.io.unpacking.encodings import Utf8Stream
from neardup.io.unpacking.first_bytes import HEAD

STDIN = "-"

_KEPT = 64 << 20  # bytes of a thread's buffer that stay where they are not needed
_BLOCK = 1 << 16
_AHEAD = 4  # partitions that the system is asked to read before they are wanted


class Raw(NamedTuple):
    """Bytes in memory: uint8[size + PAD or more], as the kernels take it, and their number."""

    data: np.ndarray
    size: int


class Extent(NamedTuple):
    """Bytes of a file: complete records.

    Start and size are those in the file, compressed ones if it is compressed; then ``content`` has
    the decompressed bytes, and ``line`` is the number of the first line, from 1. ``skipped``
    records before it were left out for their size; they have ``gap`` bytes of a plain file.
    """

    start: int
    size: int
    content: Raw | None = None
    line: int | None = None
    gap: int = 0
    skipped: int = 0


#: From bytes, whether the file ends with them, their position in the decompressed file, and their
#: first line if that is known, to the end of the last complete record; 0 for none.
LastEnd: TypeAlias = Callable[[Raw, bool, int, int | None], int]


def view_of(data: np.ndarray, start: int = 0, stop: int | None = None) -> memoryview:
    """Some bytes of uint8[], which are not copied."""
    return memoryview(cast(Any, data))[start:stop]


@contextmanager
def _reading(file: SourceFile) -> Iterator[tuple[Any, Any]]:
    """A file as it is and as a decompressed stream; failures raise InputError."""
    try:
        with ExitStack() as stack:
            raw: Any = sys.stdin.buffer
            if file.content is not None:
                raw = io.BytesIO(file.content)
            elif file.archive is not None:
                from neardup.io.unpacking.zip_members import open_member

                raw = stack.enter_context(open_member(file))
            elif file.is_remote:
                in_order = file.compression is not None
                raw = stack.enter_context(open_remote(file.path, in_order, file.size is None))
            elif file.local_path != STDIN:
                raw = stack.enter_context(Path(file.local_path).open("rb", buffering=0))
            stream = raw
            if file.compression:
                stream = stack.enter_context(decompressed(raw, file.compression))
            # Plain files are read by ranges, and looked at when these are cut.
            is_text = file.format in FORMATS and FORMATS[file.format].is_text
            if file.format == "text" or (is_text and not file.is_plain):
                stream = Utf8Stream(stream, file.path, file.encoding, file.decoding)
            yield raw, stream
    except OSError as error:
        if isinstance(error, InputError):  # one of them is an OSError as well
            raise
        if file.is_remote and is_of_transfer(error):
            raise failed(file.path, error) from error
        # Arrow reports damaged data as OSError without a number; the system always gives one.
        if file.compression and not error.errno:
            raise _not_unpacked(file) from error
        raise unreadable(file.path, error) from error


def _not_unpacked(file: SourceFile) -> FormatError:
    """Return the error for a file that can't be decompressed as its name says."""
    codec = COMPRESSIONS[file.compression or ""]
    # A pipe gives its bytes once.
    is_pipe = file.size is None and file.content is None
    head = b"" if is_pipe else next(_raw_blocks(file), b"")
    if head[: len(codec.magic)] == codec.magic[: len(head)]:
        what = f"the {codec.name} data is cut off or damaged"
        return FormatError(f"{file.path}: {what}", "fetch or compress the file again")
    plain = last_name(file.path).rpartition(".")[0]
    packed = next((of.ending for of in COMPRESSIONS.values() if head.startswith(of.magic)), "")
    what = f"not compressed by {codec.name}, though its name says so"
    return FormatError(f"{file.path}: {what}", f"rename it to {plain}{packed}")


def open_at(file: SourceFile) -> Any:
    """Open a file for Arrow; mapped into memory and cut off, it would end the process."""
    return open_remote(file.path) if file.is_remote else pa.OSFile(file.local_path, "rb")


def _fill(stream: Any, target: memoryview) -> int:
    """Read until a buffer is full or the stream ends; return the number of bytes."""
    filled = 0
    while filled < len(target) and (count := stream.readinto(target[filled:])):
        filled += count
    return filled


def _blocks(file: SourceFile) -> Iterator[bytes]:
    with _reading(file) as (_, stream):
        while block := stream.read(1 << 20):
            yield block


def _raw_blocks(file: SourceFile) -> Iterator[bytes]:
    with _reading(replace(file, compression=None)) as (raw, _):
        while block := raw.read(1 << 20):
            yield block


def as_it_is(file: SourceFile) -> bytes:
    """All bytes of a file, which are neither decompressed nor decoded."""
    return b"".join(_raw_blocks(file))


def read_head(file: SourceFile) -> bytes:
    """Some first bytes of a text, decompressed, and as they are encoded."""
    with _reading(replace(file, format="")) as (_, stream):
        return bytes(stream.read(HEAD))


def read_all(file: SourceFile, limit: RecordLimit | None = None) -> bytes:
    """All bytes of a file, decompressed, of a text UTF-8; refused if they are too many."""
    blocks, size = [], 0
    for block in _blocks(file):
        blocks.append(block)
        size += len(block)
        if limit is not None and size > limit.size:
            raise too_large(file.path, "text" if file.format == "text" else "table", limit)
    return b"".join(blocks)


def fits(file: SourceFile, limit: int) -> bool:
    """Whether a file has at most so many bytes, decompressed; not all of a larger one is read."""
    if file.is_plain:
        return (file.size or 0) <= limit
    done = 0
    return all((done := done + len(block)) <= limit for block in _blocks(file))


class _ThreadState(threading.local):
    """A buffer: new pages cost more than reading into them."""

    data = np.empty(0, np.uint8)


_state = _ThreadState()


def read_range(file: SourceFile, start: int, size: int) -> Raw:
    """Bytes of a plain file, in a buffer that stays valid until this thread calls again."""
    if file.ahead is not None:
        found = file.ahead.take(file.local_path, start, size)
        if found is not None:
            return Raw(found, size)
    data = _state.data
    # One huge record must not take its memory for the rest of the run.
    if len(data) < size + PAD or len(data) > max(4 * size, _KEPT):
        # Ranges have about the same size.
        data = _state.data = np.empty(size + size // 16 + PAD, np.uint8)
    with _reading(file) as (raw, _):
        raw.seek(start)
        if _fill(raw, view_of(data, 0, size)) < size:
            raise changed(file.path)
    data[size : size + PAD] = 0
    return Raw(data, size)


def cut_lines(file: SourceFile, partition_bytes: int, limit: RecordLimit) -> Iterator[Extent]:
    """Extents of a plain file that end after a newline, or at the end of the file."""
    total = file.size or 0
    start = gap = skipped = 0
    with _reading(file) as (raw, _):
        while start < total:
            end = min(start + partition_bytes, total)
            if end < total:  # Google's store refuses to go to the end
                raw.seek(end)
            _advise(file, raw, end, _AHEAD * partition_bytes)
            is_long = False
            while end < total and not is_long and (block := raw.read(_BLOCK)):
                before, newline, _ = block.partition(b"\n")
                end += len(before + newline)
                if newline:
                    break
                is_long = end - start > partition_bytes + limit.size
            if is_long:
                raw.seek(start)
                end = start + raw.read(partition_bytes).rfind(b"\n") + 1
                if not limit.skips:
                    raise _too_long(file, end, None, limit)
            end = min(end, total)
            yield Extent(start, end - start, gap=gap, skipped=skipped)
            start, gap, skipped = end, 0, 0
            if is_long:
                raw.seek(end)
                gap, skipped = leave_out(raw, memoryview(b""), limit).size, 1
                start += gap
        if skipped:
            yield Extent(start, 0, gap=gap, skipped=skipped)


def _advise(file: SourceFile, raw: Any, start: int, size: int) -> None:
    """Ask the system to read bytes: it does not see that threads will want all extents.

    Of files that are read past its cache, it should read no more than each call asks for.
    """
    with suppress(OSError, AttributeError):
        what = os.POSIX_FADV_WILLNEED if file.ahead is None else os.POSIX_FADV_RANDOM
        os.posix_fadvise(raw.fileno(), start, size, what)


def _too_long(file: SourceFile, start: int, line: int | None, limit: RecordLimit) -> FormatError:
    return too_large(f"{file.path}: line {line_of(file, start, line)}", "record", limit)


def cut_stream(
    file: SourceFile, partition_bytes: int, last_end: LastEnd, limit: RecordLimit
) -> Iterator[Extent]:
    """Extents of any file, which is read for it; they have their bytes where it is not plain.

    An extent has about ``partition_bytes`` decompressed bytes, and ends where ``last_end`` says.
    What comes out of a compressed file or a pipe may have no end: no more is in memory than an
    extent, or a record of the limit, and a longer stretch of blank lines is refused as well.
    """
    buffered = not file.is_plain
    ends, spaces = (b"\n", b" \t\r\n") if limit.delimiter is None else (b"\r\n", b"\r\n")
    line_end = re.compile(b"[%s]" % ends)
    buffer = np.empty(partition_bytes + PAD, np.uint8)
    left = position = start = skipped = blank = 0
    without_end = 0  # bytes at the start of the buffer in which no record ends
    capacity, line, final = partition_bytes, 1, False
    with _reading(file) as (raw, stream):
        while not final:
            if len(buffer) < capacity + PAD:
                buffer.resize(capacity + PAD, refcheck=False)  # in place, if the system can
            filled = left + _fill(stream, view_of(buffer, left, capacity))
            final = filled < capacity
            buffer[filled : filled + PAD] = 0
            known = line if buffered else None
            end = 0
            if filled and (final or line_end.search(view_of(buffer, without_end, filled))):
                end = last_end(Raw(buffer, filled), final, position, known)
            is_empty = buffered and not final and _is_blank(buffer, end or filled, spaces)
            if is_empty:
                end = end or filled
                blank += end
                if blank > limit.size:
                    raise too_blank(f"{file.path}: line {line}", limit.size)
            else:
                blank = 0
            if not end and not final and filled <= limit.size:
                # The last byte again: it may be half of a line end.
                without_end = max(filled - 1, 0)
                left, capacity = filled, min(2 * filled, limit.size + 1)
                continue
            without_end = 0
            if not end and not final:
                is_header = limit.delimiter is not None and not position
                if not limit.skips or is_header:
                    raise _too_long(file, position, known, limit)
                out = leave_out(stream, view_of(buffer, 0, filled), limit)
                if not out.ended:
                    raise _too_long(file, position, known, limit)
                position, line, skipped = position + out.size, line + out.newlines, skipped + 1
                left, capacity = len(out.rest), max(partition_bytes, 2 * len(out.rest))
                buffer = np.empty(capacity + PAD, np.uint8)
                buffer[:left] = np.frombuffer(out.rest, np.uint8)
                continue
            # Of a compressed file, the bytes that were used so far: the last extent has the rest.
            packed = buffered and file.size is not None  # a pipe does not count them
            done = int(raw.tell()) if packed else position + end
            rest = buffer[end:filled].copy()
            if is_empty:  # no extent of its own: they would pile up where records are looked for
                line += int(np.count_nonzero(buffer[:end] == 10))
                left, position = len(rest), position + end
                buffer[:left] = rest
                continue
            if buffered:
                buffer[end : end + PAD] = 0
            if end or done > start or skipped:
                if buffered:
                    yield Extent(start, done - start, Raw(buffer, end), line, 0, skipped)
                else:
                    yield Extent(position, end, gap=position - start, skipped=skipped)
                skipped = 0
            left, capacity = len(rest), max(partition_bytes, 2 * len(rest))
            if buffered:
                line += int(np.count_nonzero(buffer[:end] == 10))
                buffer = np.empty(capacity + PAD, np.uint8)
            buffer[:left] = rest
            start, position = done, position + end


def _is_blank(data: np.ndarray, size: int, spaces: bytes) -> bool:
    """Return whether some bytes, at least one, are spaces only."""
    step = 64  # records rarely end in more
    while size > 0:
        low = max(0, size - step)
        if data[low:size].tobytes().strip(spaces):
            return False
        size, step = low, 1 << 20
    return True


def line_of(file: SourceFile, start: int, line: int | None) -> int:
    """The number of the line that begins after ``start`` decompressed bytes, for messages.

    Files are read again for it where ``line`` is None: counting all along would cost a tenth of the
    time of reading.
    """
    if line is not None:
        return line
    line = 1
    for block in _blocks(file):
        line += block[:start].count(b"\n")
        start -= len(block)
        if start <= 0:
            break
    return line


def written_notes(files: Sequence[SourceFile]) -> list[str]:
    """Return a note on files whose records are written in another encoding than theirs."""
    found = sorted({f.encoding for f in files if f.encoding and f.format != "text"})
    said = f"records are written as UTF-8; they were read as {', '.join(found)}"
    return [said] if found else []


def input_notes(skipped: Skipped, files: Sequence[SourceFile]) -> list[str]:
    """Return notes on files, on the first records that can't be read, and on the others."""
    notes = [note for file in files for note in file.notes]
    before = len(notes)
    for number, start, line, what in skipped.first:
        file = files[number]
        where = "" if line == 0 else f"line {line_of(file, start, line):,} "
        notes.append(f"{file.path}: {where}{what}; left out")
    if more := skipped.bad - len(notes) + before:
        notes.append(f"{more:,} more records that can't be read are left out")
    return notes


def copied(file: SourceFile, copy: Path) -> SourceFile:
    """Copy a pipe to a file, which can be read more than once."""
    if not copy.exists():  # it gets its name last, and is complete then
        with replacing(copy) as target:
            target.writelines(_raw_blocks(file))  # as they come: compressed ones stay so
    return replace(file, copy=str(copy), size=copy.stat().st_size)
