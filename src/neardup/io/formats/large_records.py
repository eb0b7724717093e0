"""Records and texts above the limit on their size: refused, or left out without being held."""

import re
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from neardup.errors import FormatError

_QUOTE, _QUOTES = ord('"'), re.compile(b'"')
_BLANK = re.compile(b"[\r\n]*")


class RecordLimit(NamedTuple):
    """Bytes that a record may have, and what happens to a larger one."""

    size: int
    skips: bool  # it is left out, else refused
    delimiter: str | None = None  # of CSV, where a line end may be quoted


class LeftOut(NamedTuple):
    """A record that was read and not held."""

    size: int
    newlines: int
    rest: bytes  # what was read behind it
    ended: bool  # whether its quotes are closed


def leave_out(stream: Any, head: memoryview, limit: RecordLimit) -> LeftOut:
    """Read to the end of a record of which ``head`` was read already."""
    ends = b"" if limit.delimiter is None else b"\r" + re.escape(limit.delimiter.encode())
    stop = re.compile(b"[\n%s]" % ends)
    place = _BLANK.match(head).end()  # type: ignore[union-attr]
    # Whether quotes are open, and whether one here would open them (once more).
    quoted, at_edge = False, limit.delimiter is not None
    size = newlines = 0
    for block in chain((head,), map(memoryview, iter(partial(stream.read, 1 << 20), b""))):
        while place < len(block):
            if quoted or (at_edge and block[place] == _QUOTE):
                if found := _QUOTES.search(block, place):
                    quoted, at_edge = not quoted, quoted
            else:
                found = stop.search(block, place)
                at_edge = found is not None
            place = len(block) if found is None else found.end()
            if found is not None and not quoted and block[place - 1] in b"\r\n":
                lines = bytes(block[:place]).count(b"\n")
                return LeftOut(size + place, newlines + lines, bytes(block[place:]), True)
        size, newlines, place = size + len(block), newlines + bytes(block).count(b"\n"), 0
    return LeftOut(size, newlines, b"", not quoted)


def too_large(where: str, what: str, limit: int) -> FormatError:
    return FormatError(
        f"{where}: a {what} of more than {limit:,} bytes",
        "raise `max_document`, or leave such documents out with `skip_large`=True where it is known"
        + ("; in CSV, a quote may not be closed" if what == "record" else ""),
    )
