"""Text in other encodings than UTF-8, which becomes UTF-8 as it is read."""

import codecs
import io
from typing import Any

from neardup.errors import EncodingError, SpecError
from neardup.io.unpacking.first_bytes import (
    HEAD,
    MARKS,
    check_data,
    check_no_zeros,
    known_mark,
    utf16_of,
)

#: Encodings that a file can be said to have.
ENCODINGS = (
    *("utf-8", "utf-16", "utf-16-le", "utf-16-be"),
    *(f"cp{number}" for number in range(1250, 1259)),
    *("latin-1", "iso-8859-15", "shift_jis", "gb18030", "big5", "euc-kr", "koi8-r"),
)
#: Those of two bytes or more, in which some short texts are valid UTF-8 too.
_WIDE = ("shift_jis", "gb18030", "big5", "euc-kr")
_BLOCK = 1 << 20
_BAD = "neardup.bad"  # bytes that can't be decoded become one byte that UTF-8 never has
_HINTS = "name another `encoding`, or use `encoding_errors`='replace'"


def _bad(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\udcff", error.end


codecs.register_error(_BAD, _bad)


def check_encoding(name: str | None) -> str:
    """Return the name of an encoding as Python has it; empty for none.

    Raises:
        SpecError: It is none that is read.
    """
    if name is None:
        return ""
    for known in ENCODINGS:
        if isinstance(name, str) and codecs_name(name) == codecs_name(known):
            return known
    raise SpecError(f"`encoding` is {name!r}", f"known are {', '.join(ENCODINGS)}")


def codecs_name(name: str) -> str:
    """Return the one name of an encoding that has several.

    >>> codecs_name("UTF8"), codecs_name("windows-1252")
    ('utf-8', 'cp1252')
    """
    try:
        return codecs.lookup(name).name
    except LookupError:
        return name


def encoding_of(name: str, head: bytes, named: str) -> str:
    """Return the encoding of a text: that of its mark, or the one that is named, or UTF-8.

    Args:
        name: The file.
        head: Its first bytes.
        named: An encoding that was named; empty for none.

    Raises:
        FormatError: It is no text.
        EncodingError: It has another encoding than the one that was named.
    """
    check_data(name, head)
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return known_mark(name, encoding)
    if named == "utf-16":
        hint = utf16_of(head[:HEAD]) or "utf-16-le"
        what = "UTF-16 without a byte order mark"
        raise EncodingError(f"{name}: {what}", f"`encoding`='{hint}'")
    if named in ("", "utf-8"):
        return "utf-8"
    if not named.startswith("utf-16"):
        check_no_zeros(name, head[:HEAD])
    if _is_utf8(head, named):
        raise EncodingError(
            f"{name}: the file is UTF-8, and `encoding` is {named!r}",
            f"read it in another run, or convert it: iconv -f UTF-8 -t {named}",
        )
    return named


def _is_utf8(head: bytes, named: str) -> bool:
    """Return whether a text is UTF-8 beyond doubt, though another encoding was named."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    if named.startswith("utf-16"):
        return len(head) >= 64 and "\0" not in text
    return sum(c > "\x7f" for c in text[:HEAD]) >= (8 if named in _WIDE else 1)


class Utf8Stream(io.RawIOBase):
    """A text as UTF-8, without the mark of its encoding if that is another one.

    Args:
        stream: Its bytes.
        name: The file.
        encoding: The one that was named; empty for none.
        errors: What becomes of bytes that can't be decoded: ``"strict"`` refuses them,
            ``"replace"`` takes U+FFFD for them, and ``"mark"`` makes invalid UTF-8 of them.
    """

    def __init__(self, stream: Any, name: str, encoding: str, errors: str) -> None:
        self._stream, self._name, self._named = stream, name, encoding
        self._errors = _BAD if errors == "mark" else errors
        self._left = memoryview(b"")
        self._decoder: Any = None
        self._encoding = ""
        self._done = self._lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        if not self._encoding:
            self._begin()
        if not self._left and self._decoder is None:
            return int(self._stream.readinto(target))
        while not self._left and self._decoder is not None:
            block = self._stream.read(_BLOCK)
            self._left = memoryview(self._utf8(block))
            if not block:
                break
        size = min(len(self._left), len(target))
        memoryview(target)[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def _begin(self) -> None:
        most, head = (1 << 16 if self._named else HEAD), b""
        while len(head) < most and (block := self._stream.read(most - len(head))):
            head += block
        self._encoding = encoding_of(self._name, head, self._named)
        if self._encoding == "utf-8":
            self._left = memoryview(head)
            return
        size = len(next((m for m, _ in MARKS if head.startswith(m)), b""))
        self._decoder = codecs.getincrementaldecoder(self._encoding)(self._errors)
        self._done = size
        self._left = memoryview(self._utf8(head[size:]))

    def _utf8(self, block: bytes) -> bytes:
        waiting = self._decoder.getstate()[0]
        try:
            found: bytes = self._decoder.decode(block, not block).encode("utf-8", "surrogateescape")
        except UnicodeDecodeError as error:
            before = (waiting + block)[: error.start].decode(self._encoding, "ignore")
            line = 1 + self._lines + before.count("\n")
            at = self._done - len(waiting) + error.start
            value = (waiting + block)[error.start : error.start + 1].hex().upper()
            raise EncodingError(
                f"{self._name}: not valid {self._encoding} "
                f"(line {line:,}, byte {at + 1:,} of the file: 0x{value})",
                _HINTS,
            ) from error
        self._done += len(block)
        self._lines += found.count(b"\n")
        return found
