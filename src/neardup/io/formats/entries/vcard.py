"""vCard 2.1, 3.0 and 4.0: contacts, whose long lines are folded."""

import json
import re
from collections.abc import Iterator, Mapping
from quopri import decodestring
from typing import Any

from neardup.io.formats.entries.citation_columns import OTHERS
from neardup.io.formats.entries.entry_syntax import FoundEntry, Syntax, Values

#: The property of each column, and which of its components that is.
_PROPERTIES: dict[str, tuple[str, int | None]] = {
    "id": ("UID", None),
    "name": ("FN", None),
    "family": ("N", 0),
    "given": ("N", 1),
    "organization": ("ORG", 0),
    "job": ("TITLE", None),
    "email": ("EMAIL", None),
    "phone": ("TEL", None),
    "street": ("ADR", 2),
    "city": ("ADR", 3),
    "region": ("ADR", 4),
    "postcode": ("ADR", 5),
    "country": ("ADR", 6),
    "birthday": ("BDAY", None),
    "url": ("URL", None),
    "note": ("NOTE", None),
}
#: Properties that are no values.
_FRAME = ("BEGIN", "END", "VERSION")
_SEVERAL = ("email", "phone", "url", "note")
_END = re.compile(rb"^END:VCARD[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_FOLD = re.compile(rb"\r?\n[ \t]")
_QUOTED = re.compile(
    rb"^[^:\r\n]*QUOTED-PRINTABLE[^:\r\n]*:(?:[^\r\n]*=\r?\n)*[^\r\n]*", re.M | re.I
)
_LINE = re.compile(rb"^(?:[\w-]+\.)?([\w-]+)((?:;(?:\"[^\"\r\n]*\"|[^\":\r\n])*)?):(.*)$", re.M)
_CHARSET = re.compile(rb"CHARSET=([\w-]+)", re.IGNORECASE)
_COMPONENTS = re.compile(r"(?<!\\);")
_ESCAPE = re.compile(r"\\(.)")


class _VCard(Syntax):
    columns = (*_PROPERTIES, OTHERS)
    mark = re.compile(rb"^(?:\xef\xbb\xbf)?BEGIN:VCARD[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
    no_mark = "no line is 'BEGIN:VCARD', as the first of each contact is"

    def read(self, chunk: bytes) -> Iterator[FoundEntry]:
        begin, end = self.mark.match(chunk), _END.search(chunk)
        if begin and end is None:
            yield FoundEntry(0, 0, len(chunk), wrong="the contact does not end")
        elif begin and end:
            insert = len(chunk[: end.start()].rstrip())
            stop = len(chunk) - len(chunk[end.end() :].lstrip())
            yield FoundEntry(chunk.upper().index(b"BEGIN"), insert, stop, chunk[:insert])

    def values(self, content: Any, context: bytes) -> Values:
        found: dict[str, list[str]] = {}
        text = _QUOTED.sub(_decoded, content.replace(b"\xef\xbb\xbf", b""))
        for line in _LINE.finditer(_FOLD.sub(b"", text)):
            value = line[3].strip().decode(errors="surrogateescape")
            found.setdefault(line[1].decode().upper(), []).append(value)
        return found

    def value(self, values: Values, column: str) -> str:
        if column == OTHERS:
            return _others(values)
        name, number = _PROPERTIES[column]
        every = list(values.get(name, ()))
        if number is not None:
            every = [[*_COMPONENTS.split(value), *[""] * 7][number] for value in every]
        plain = [" ".join(_ESCAPE.sub(_unescaped, value).split()) for value in every]
        found = [value for value in plain if value]
        return ("; ".join(found) if column in _SEVERAL else found[0]) if found else ""

    def added(self, values: Mapping[str, str], line_end: str) -> str:
        named = ((name.upper().replace("_", "-"), value) for name, value in values.items())
        return "".join(f"{line_end}X-{name}:{' '.join(value.split())}" for name, value in named)


def _others(values: Values) -> str:
    """Return the properties that the columns do not have in full, as JSON."""
    found = {}
    for name, every in values.items():
        columns = [column for column, of in _PROPERTIES.items() if of[0] == name]
        numbers = {of[1] for of in _PROPERTIES.values() if of[0] == name}
        rest = [value for value in every if value]
        if columns and None in numbers:
            rest = [] if columns[0] in _SEVERAL else rest[1:]
        elif columns and len(rest) == 1:
            parts = enumerate(_COMPONENTS.split(rest[0]))
            rest = rest if any(part for k, part in parts if k not in numbers) else []
        if rest and name not in _FRAME:
            found[name] = rest
    return json.dumps(found, ensure_ascii=False) if found else ""


def _decoded(line: re.Match[bytes]) -> bytes:
    """Return a property of quoted-printable lines as one of UTF-8, with escaped line ends."""
    head, _, value = line[0].partition(b":")
    named = _CHARSET.search(head)
    try:
        text = decodestring(value).decode(named[1].decode() if named else "utf-8")
    except (LookupError, UnicodeDecodeError):
        text = decodestring(value).decode(errors="surrogateescape")
    return head + b":" + "\\n".join(text.splitlines()).encode(errors="surrogateescape")


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] in "nN" else found[1]


SYNTAX = {"vcard": _VCard()}
