"""EndNote XML: each element ``record`` is read by itself, and so no other damages it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from neardup.io.formats.entries.citation_columns import (
    COLUMNS,
    OTHERS,
    column_value,
    other_values,
)
from neardup.io.formats.entries.entry_syntax import FoundEntry, Syntax, Values

_PATHS = {
    "id": "rec-number",
    "type": "ref-type",
    "title": "titles/title",
    "author": "contributors/authors/author",
    "year": "dates/year dates/pub-dates/date",
    "journal": "periodical/full-title titles/secondary-title periodical/abbr-1",
    "doi": "electronic-resource-num urls/related-urls/url",
    "keywords": "keywords/keyword",
    "pmid": "pmid",
    "url": "urls/related-urls/url urls/web-urls/url",
}
_SOURCES = {name: _PATHS.get(name, name) for name in COLUMNS if name != OTHERS}
_HEAD, _FOOT = b'<?xml version="1.0" encoding="UTF-8"?>\n<xml><records>\n', b"</records></xml>\n"
_OPENED = re.compile(r"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*<xml>\s*<records\b", re.DOTALL)
_ENCODING = re.compile(r"<\?xml[^>]*encoding=.(?!utf-8|us-ascii)([\w-]+)", re.IGNORECASE)
_END = b"</record>"


class _EndNote(Syntax):
    columns = COLUMNS
    mark = re.compile(rb"<record(?=[\s>])")
    no_mark = "no element 'record' in it"

    def check(self, head: bytes) -> str:
        text = head.decode(errors="replace")
        if "<!DOCTYPE" in text.partition("<record")[0]:
            return "it has a DOCTYPE, which is refused, and which EndNote does not write"
        if found := _ENCODING.search(text):
            return f"it is in {found[1]}, and was to be UTF-8"
        return "" if _OPENED.match(text) else "no XML of EndNote, which begins with <xml><records>"

    def read(self, chunk: bytes) -> Iterator[FoundEntry]:
        if not self.mark.match(chunk):
            return
        body, end, rest = chunk.partition(_END)
        if not end:
            yield FoundEntry(0, 0, len(chunk), wrong="the record does not end")
            return
        try:
            # By itself it has no DOCTYPE, and so no entities.
            found = ElementTree.fromstring(body + end)  # noqa: S314
        except ElementTree.ParseError:
            yield FoundEntry(0, 0, len(chunk), wrong="the record is no well-formed XML")
        else:
            yield FoundEntry(0, len(body), len(chunk) - len(rest.lstrip()), found)

    def complete(self, data: bytes) -> int:
        return data.rfind(_END) + len(_END) if _END in data else 0

    def values(self, content: Any, context: bytes) -> Values:
        found = _texts(content)
        numbers = [number for number in found.get("accession-num", ()) if number.isdecimal()]
        return {**found, "pmid": [number for number in numbers if len(number) < 9]}

    def value(self, values: Values, column: str) -> str:
        if column == OTHERS:
            known = _SOURCES | ({"pmid": "accession-num"} if any(values["pmid"]) else {})
            return other_values({**values, "pmid": []}, known)
        return column_value(values, column, _SOURCES[column])

    def added(self, values: Mapping[str, str], line_end: str) -> str:
        notes = escape("; ".join(f"{name}: {value}" for name, value in values.items()))
        return f"<research-notes>{notes}</research-notes>"

    def frame(self, parts: Iterable[bytes]) -> tuple[bytes, bytes]:
        return _HEAD, _FOOT


def _texts(record: ElementTree.Element) -> Values:
    """Return the texts of all elements by their paths; styles are only their looks."""
    found: dict[str, list[str]] = {}
    waiting = [(record, "")]
    while waiting:
        element, path = waiting.pop()
        inner = [child for child in element if child.tag != "style"]
        if not inner:
            text = element.get("name") or " ".join("".join(element.itertext()).split())
            found.setdefault(path[1:], []).append(text)
        waiting += [(child, f"{path}/{child.tag}") for child in reversed(inner)]
    return found


SYNTAX = {"endnote": _EndNote()}
