"""Records and texts above the limit on their size: refused, or left out without being cached."""

import re
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from neardup.errors import FormatError

_QUOTE, _QUOTES = ord('"'), re.compile(b'"')
_BLANK = re.compile(b"(?:[\r\n]|\xef\xbb\xbf)*")  # a byte order mark too


class RecordLimit(NamedTuple):
    """Bytes that a record may have, and the treatment of a larger one."""

    size: int
    skips: bool | None  # it is left out, else refused; None where that can't be asked for
    delimiter: str | None = None  # of CSV, where a line end may be quoted
    escape: str = ""  # of CSV: a quote behind it ends no field


class LeftOut(NamedTuple):
    """A record that was read and not cached."""

    size: int
    newlines: int
    rest: bytes  # the bytes read after it
    ended: bool  # whether its quotes are closed


def leave_out(stream: Any, head: memoryview, limit: RecordLimit) -> LeftOut:
    """Read to the end of a record of which ``head`` was read already."""
    ends = b"" if limit.delimiter is None else b"\r" + re.escape(limit.delimiter.encode())
    stop = re.compile(b"[\n%s]" % ends)
    offset = _BLANK.match(head).end()  # type: ignore[union-attr]
    # Whether quotes are open, and whether one here would open them (once more).
    quoted, at_edge, escaped = False, limit.delimiter is not None, False
    escape, quotes = limit.escape.encode(), _QUOTES
    if escape:
        quotes = re.compile(b'["%s]' % re.escape(escape))
    size = newlines = 0
    for block in chain((head,), map(memoryview, iter(partial(stream.read, 1 << 20), b""))):
        while offset < len(block):
            if escaped:
                offset += block[offset] in (_QUOTE, *escape)
                escaped, found = False, None
                continue
            if quoted or (at_edge and block[offset] == _QUOTE):
                if found := quotes.search(block, offset):
                    escaped = quoted and block[found.start()] in escape
                    if not escaped:
                        quoted, at_edge = not quoted, quoted
            else:
                found = stop.search(block, offset)
                at_edge = found is not None
            offset = len(block) if found is None else found.end()
            if found is not None and not quoted and block[offset - 1] in b"\r\n":
                lines = _newlines(block[:offset])
                return LeftOut(size + offset, newlines + lines, bytes(block[offset:]), True)
        size, newlines, offset = size + len(block), newlines + _newlines(block), 0
    return LeftOut(size, newlines, b"", not quoted)


def _newlines(block: memoryview) -> int:
    step = 1 << 20  # a copy of all might be as large as the limit
    return sum(bytes(block[i : i + step]).count(b"\n") for i in range(0, len(block), step))


def too_blank(where: str, limit: int) -> FormatError:
    return FormatError(
        f"{where}: more than {limit:,} bytes of blank lines", "remove them, or raise `max_document`"
    )


def too_large(where: str, what: str, limit: RecordLimit) -> FormatError:
    hint = "raise `max_document`"
    if limit.skips is not None:
        hint += ", or leave such documents out with `skip_large`=True"
    if limit.delimiter is not None:
        hint += "; perhaps a quote is not closed"
    return FormatError(f"{where}: a {what} of more than {limit.size:,} bytes", hint)
