"""Plain-Python references of the kernels in ``neardup.kernels.scanning``: obvious, and slow."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

SPACES = b" \t\r\n"
MARK = "\ufeff".encode()


class Span(NamedTuple):
    """A record: its start, the place where something can be put in, and its end."""

    start: int
    middle: int
    end: int


def json_lines(data: bytes) -> list[Span]:
    """The lines that are not blank."""
    spans = []
    start = 0
    for line in data.split(b"\n"):
        end = min(start + len(line) + 1, len(data))
        rest = line.lstrip(SPACES)
        while rest.startswith(MARK):
            rest = rest.removeprefix(MARK).lstrip(SPACES)
        if rest:
            first = start + len(line) - len(rest)
            spans.append(Span(first, start + len(line.rstrip(SPACES)) - 1, end))
        start = end
    return spans


class _Raw(str):
    """A number as it is written."""


def json_fields(line: bytes, names: list[str], depth: int) -> dict[str, Any] | None:
    """The wanted members of an object with values as Python has them, numbers as they are written.

    None where the line is refused: it is no object, nests too deep, or has a wanted member twice.
    """
    pairs: list[list[tuple[str, Any]]] = []

    def keep(found: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs.append(found)
        return dict(found)

    try:
        # Any bytes may be in strings; only what JSON says counts here.
        value = json.loads(
            line.decode("utf-8", "surrogateescape"),
            parse_float=_Raw,
            parse_int=_Raw,
            parse_constant=_Raw,
            object_pairs_hook=keep,
        )
    except ValueError:
        return None
    if not isinstance(value, dict) or nesting(value) > depth:
        return None
    keys = [key for key, _ in pairs[-1]]
    if any(keys.count(name) > 1 for name in names):
        return None
    return {name: value[name] for name in names if name in value}


def nesting(value: Any) -> int:
    """Levels of arrays and objects."""
    if isinstance(value, dict):
        return 1 + max(map(nesting, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(nesting, value), default=0)
    return 0


def csv_records(
    data: bytes, delimiter: bytes, escape: bytes = b'"'
) -> tuple[list[tuple[Span, list[bytes | None]]], int | None]:
    """Records byte by byte, with their fields; None for an empty field that is not quoted.

    A field in which text comes after the closing quote is left as it is, with its quotes. In
    quotes, an escape (none if it is a quote) takes a quote or itself behind it as text.

    Returns:
        (records, position of a quote that is not closed or None).
    """
    records = []
    i = 0
    while i < len(data):
        if data[i : i + 1] in (b"\n", b"\r"):
            i += 1
            continue
        if data[i : i + 3] == MARK:
            i += 3
            continue
        start = i
        fields: list[bytes | None] = []
        while True:
            first = i
            value = b""
            quoted = data[i : i + 1] == b'"'
            if quoted:
                i += 1
                while True:
                    if i >= len(data):
                        return records, first
                    if data[i : i + 2] == b'""':
                        value += b'"'
                        i += 2
                    elif escape != b'"' and data[i : i + 2] in (escape + b'"', 2 * escape):
                        value += data[i + 1 : i + 2]
                        i += 2
                    elif data[i : i + 1] == b'"':
                        i += 1
                        break
                    else:
                        value += data[i : i + 1]
                        i += 1
            rest = i
            while i < len(data) and data[i : i + 1] not in (delimiter, b"\n", b"\r"):
                i += 1
            if i > rest:
                value = data[first:i]
            fields.append(value if quoted or value else None)
            if i < len(data) and data[i : i + 1] == delimiter:
                i += 1
                continue
            break
        middle = i
        if data[i : i + 2] == b"\r\n":
            i += 2
        elif i < len(data):
            i += 1
        records.append((Span(start, middle, i), fields))
    return records, None


def copy_records(data: bytes, spans: list[Span], extra: list[bytes] | None) -> bytes:
    """Records with something put into each of them."""
    out = b""
    for number, span in enumerate(spans):
        put = b"" if extra is None else extra[number]
        out += data[span.start : span.middle] + put + data[span.middle : span.end]
    return out if not out or out.endswith((b"\n", b"\r")) else out + b"\n"


def unescape(raw: bytes) -> bytes:
    """A JSON string, without its quotes, as UTF-8; U+FFFD for half a surrogate pair."""
    text = json.loads(b'"' + raw + b'"')
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
