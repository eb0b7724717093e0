"""The kind of a file by its first bytes, where it was to be text."""

from pathlib import PurePath
from typing import NamedTuple

from neardup.errors import EncodingError, FormatError
from neardup.file_formats import COMPRESSIONS
from neardup.io.remote import last_name

#: Bytes that are looked at.
HEAD = 8192
#: Marks of the order of bytes, the longest first.
MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
ENCODING_HINT = (
    "if it comes from Excel or Windows, try `encoding`='cp1252'; `encoding_errors`='replace' "
    "compares damaged characters as U+FFFD"
)
LEAVE_OUT = ", or leave it out by a pattern"
_TO_TEXT = f"convert it to text{LEAVE_OUT}"
#: Of a database, one table is converted.
OF_TABLE = ", with the NAME of its table"
#: First bytes of a zip archive, and the remedy where it has not its ending.
ZIP = b"PK\3\4"
_A_ZIP = f"write it to a file with the ending .zip, and name that{LEAVE_OUT}"
_READ = ", ".join(of.name for of in COMPRESSIONS.values())
_UNPACK = f"unpack it; {_READ} and zip are read"


class Data(NamedTuple):
    """Data that is no text: its first bytes, what messages say of it, and a remedy."""

    magic: bytes
    what: str
    hint: str = _TO_TEXT


_DATA = (
    Data(ZIP, "a zip archive{}, no plain text"),
    Data(b"7z\xbc\xaf\x27\x1c", "compressed by 7z, which is not read", _UNPACK),
    Data(b"Rar!\x1a\7", "compressed by rar, which is not read", _UNPACK),
    Data(b"%PDF-", "PDF, no plain text"),
    Data(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a file of an old Office, no plain text"),
    Data(
        b"PAR1",
        "Parquet, no plain text",
        "give it the ending .parquet, or `input_format`='parquet'",
    ),
    Data(
        b"ARROW1\0", "Arrow, no plain text", "give it the ending .arrow, or `input_format`='arrow'"
    ),
    Data(b"SQLite format 3\0", "a database of SQLite, no plain text", f"convert it{OF_TABLE}"),
    Data(b"\x89PNG\r\n\x1a\n", "an image (PNG), no plain text"),
    Data(b"\xff\xd8\xff", "an image (JPEG), no plain text"),
    Data(b"GIF8", "an image (GIF), no plain text"),
    Data(b"\x7fELF", "a program, no plain text"),
    Data(b"MZ\x90\0", "a program, no plain text"),
)
#: The program of a zip archive, by its ending.
_ZIPS = {
    ".docx": "Word",
    ".pptx": "PowerPoint",
    ".odt": "OpenDocument",
    ".epub": "EPUB",
}


class MarkedEncodingError(EncodingError):
    """A file that was to be UTF-8 has the mark of another encoding.

    Args:
        name: The file.
        encoding: It.
    """

    def __init__(self, name: str, encoding: str) -> None:
        super().__init__(f"{name}: the file is {encoding}", f"`encoding`='{encoding}'")
        self.name, self.encoding = name, encoding

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.name, self.encoding)


def check_data(name: str, head: bytes) -> None:
    """Refuse compressed and other data that is no text, by its first bytes.

    Raises:
        FormatError: It is such data.
    """
    for of in COMPRESSIONS.values():
        if head.startswith(of.magic) and (of.name != "bzip2" or head[4:10] == b"1AY&SY"):
            hint = f"decompress it: {of.tool} FILE | neardup COMMAND -"
            if name != "-":
                hint = f"rename it to {last_name(name)}{of.ending}"
            raise FormatError(f"{name}: this is {of.name} data, and was to be text", hint)
    if found := data_in(name, head):
        raise FormatError(f"{name}: {found.what}", found.hint)


def data_in(name: str, head: bytes) -> Data | None:
    """Return which data a file is by its first bytes, if it is known and no text."""
    for data in _DATA:
        if head.startswith(data.magic):
            kind = _ZIPS.get(PurePath(name).suffix.lower(), "")
            if data.magic != ZIP:
                return data
            hint = _TO_TEXT if kind else _A_ZIP
            return Data(ZIP, data.what.format(f" ({kind}?)" if kind else ""), hint)
    return None


def text_start(name: str, head: bytes, until: bytes = b"") -> int:
    """Return the bytes of the mark of UTF-8 at the head of a text; refuse other data and encodings.

    Args:
        name: The file.
        head: Its first bytes, `HEAD` of them or more, all of a shorter one.
        until: Behind it there may be zeros: the line end of a header.

    Raises:
        FormatError: It is no text.
        MarkedEncodingError: It has the mark of UTF-16.
        EncodingError: It is another encoding.
    """
    check_data(name, head)
    for mark, encoding in MARKS:
        if head.startswith(mark):
            if encoding == "utf-8":
                return len(mark)
            raise MarkedEncodingError(name, known_mark(name, encoding))
    head = head[:HEAD]
    check_no_zeros(name, head.partition(until)[0] if until and not utf16_of(head) else head)
    return 0


def known_mark(name: str, encoding: str) -> str:
    """Return the encoding of a mark; refuse one that is not read."""
    if encoding == "utf-32":
        raise EncodingError(
            f"{name}: the file is UTF-32", "convert it to UTF-8: iconv -f UTF-32 -t UTF-8"
        )
    return encoding


def check_no_zeros(name: str, head: bytes) -> None:
    """Refuse a text with zero bytes, which is UTF-16 without a mark, or no text."""
    if b"\0" not in head:
        return
    if encoding := utf16_of(head):
        what = "UTF-16 without a byte order mark"
        raise EncodingError(f"{name}: {what}", f"`encoding`='{encoding}'")
    raise FormatError(f"{name}: binary data, no plain text", _TO_TEXT)


def not_utf8(name: str, line: int, at: int, byte: int) -> EncodingError:
    """Return the error for a byte of a line, both from 1, that is not UTF-8."""
    what = f"not valid UTF-8 (line {line:,}, byte {at:,}: 0x{byte:02X})"
    return EncodingError(f"{name}: {what}", ENCODING_HINT)


def first_not_utf8(name: str, data: bytes) -> EncodingError | None:
    """Return the error for the bytes of a file, or of its beginning; None if they are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        where = 1 + before.count(b"\n"), error.start - before.rfind(b"\n")
        return not_utf8(name, *where, data[error.start])
    return None


def utf16_of(head: bytes) -> str:
    """Return the order of bytes that a text in UTF-16 without a mark has; empty for another text.

    >>> utf16_of("plain text".encode("utf-16-be")), utf16_of(b"plain text")
    ('utf-16-be', '')
    """
    units = len(head) // 2
    even, odd = (head[side : 2 * units : 2].count(0) for side in (0, 1))
    for encoding, zeros, others in (("utf-16-be", even, odd), ("utf-16-le", odd, even)):
        if units >= 8 and not others and zeros > 0.3 * units:
            return encoding
    return ""
