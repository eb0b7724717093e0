"""RIS, and the format of PubMed: lines that begin with a tag, and lines that continue them."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from neardup.io.formats.entries.citation_columns import COLUMNS, column_value
from neardup.io.formats.entries.entry_syntax import FoundEntry, Syntax, Values

_MARK = rb"(?:\xef\xbb\xbf)?"  # of UTF-8: files that were put together have it before any record
_RIS_END, _NBIB_END = rb"  -(?: |(?=[\r\n])|\Z)", rb"- ?"
_SPACES, _NUMBER = re.compile(rb"[^\r\n]*\s*"), re.compile(rb"\n[0-9]{1,9}\.$")
_PMID, _PUBMED = re.compile(r"PMID:? ?([0-9]{1,9})\b"), re.compile("pubmed|medline", re.IGNORECASE)

_RIS = {
    "id": "ID AN",
    "type": "TY",
    "title": "TI T1",
    "author": "AU A1",
    "year": "PY Y1 DA",
    "journal": "JF JO T2 JA",
    "volume": "VL",
    "number": "IS",
    "pages": "pages",
    "doi": "DO M3 UR L3",
    "abstract": "AB N2",
    "keywords": "KW",
    "pmid": "pmid",
    "url": "UR",
}
_NBIB = {
    "id": "PMID",
    "type": "PT",
    "title": "TI BTI",
    "author": "FAU AU",
    "year": "DP",
    "journal": "JT TA",
    "volume": "VI",
    "number": "IP",
    "pages": "PG",
    "doi": "AID+LID",
    "abstract": "AB",
    "keywords": "MH+OT",
    "pmid": "PMID",
}


class _Tagged(Syntax):
    """Records of lines with tags; ``tag`` finds these, and fields are added as notes."""

    columns = COLUMNS
    sources: Mapping[str, str]
    tag: re.Pattern[bytes]
    note: str

    def check(self, head: bytes) -> str:
        if b"\r" in head and b"\n" not in head:
            return "its lines end with carriage returns: convert these to line feeds"
        return ""

    def values(self, content: Any, context: bytes) -> Values:
        found: dict[str, list[str]] = {}
        tags = [(tag.start(), tag.end(), tag[1]) for tag in self.tag.finditer(content)]
        for (_, start, name), (end, _, _) in pairwise([*tags, (len(content), 0, b"")]):
            value = b" ".join(content[start:end].split()).decode(errors="surrogateescape")
            found.setdefault(name.strip().decode(), []).append(value)
        return found

    def value(self, values: Values, column: str) -> str:
        return column_value(values, column, self.sources.get(column, ""))

    def added(self, values: Mapping[str, str], line_end: str) -> str:
        lines = (f"{self.note}{name}: {' '.join(value.split())}" for name, value in values.items())
        return "".join(f"{line_end}{line}" for line in lines)


class _Ris(_Tagged):
    sources = _RIS
    tag = re.compile(rb"^%s([A-Z][A-Z0-9])%s" % (_MARK, _RIS_END), re.M)
    mark = re.compile(rb"^%sTY%s" % (_MARK, _RIS_END), re.M)
    no_mark = "no line begins with 'TY  - ', as each record of RIS does"
    note = "N1  - "

    def read(self, chunk: bytes) -> Iterator[FoundEntry]:
        tags = list(self.tag.finditer(chunk))
        if tags and tags[0][1] == b"TY":
            last = next((tag for tag in tags if tag[1] == b"ER"), None)
            if last is None:  # as in some files; the number of the next record may follow
                body = chunk.rstrip(b"\xef\xbb\xbf \t\r\n")
                insert = len(_NUMBER.sub(b"", body).rstrip())
            else:
                insert = len(chunk[: last.start()].rstrip())
            end = _SPACES.match(chunk, last.end() if last else insert).end()  # type: ignore[union-attr]
            yield FoundEntry(tags[0].start(1), insert, end, chunk[:insert])
            # Some files end with EF.
            tags = [tag for tag in tags if tag.start() >= end and tag[1] != b"EF"]
        if tags:
            yield FoundEntry(
                tags[0].start(1), len(chunk), len(chunk), wrong="no record before this tag"
            )

    def values(self, content: Any, context: bytes) -> Values:
        found = super().values(content, context)
        first, last = ([*found.get(tag, ()), ""][0] for tag in ("SP", "EP"))
        pages = f"{first}-{last}" if last and "-" not in first else first
        from_pubmed = any(map(_PUBMED.search, [*found.get("DB", ()), *found.get("DP", ())]))
        numbers = [*found.get("AN", ())] if from_pubmed else []
        numbers += [note[1] for note in map(_PMID.search, found.get("N1", ())) if note]
        return {**found, "pages": [pages], "pmid": [n for n in numbers if n.isdecimal()]}


class _Nbib(_Tagged):
    sources = _NBIB
    tag = re.compile(rb"^%s([A-Z][A-Z0-9 ]{3})%s" % (_MARK, _NBIB_END), re.M)
    mark = re.compile(
        rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))(?=%s[A-Z][A-Z0-9 ]{3}%s)" % (_MARK, _NBIB_END)
    )
    no_mark = "no line begins with a tag such as 'PMID- ', as each record of PubMed does"
    note = "GN  - "

    def read(self, chunk: bytes) -> Iterator[FoundEntry]:
        tags = list(self.tag.finditer(chunk))
        # A second record may lack the blank line before it.
        ids = [tag.start(1) for tag in tags if tag[1] == b"PMID"]
        for start, end in pairwise([*(tag.start(1) for tag in tags[:1]), *ids[1:], len(chunk)]):
            insert = start + len(chunk[start:end].rstrip())
            yield FoundEntry(start, insert, end, chunk[start:insert])


SYNTAX = {"ris": _Ris(), "nbib": _Nbib()}
