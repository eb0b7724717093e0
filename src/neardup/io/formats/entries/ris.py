"""RIS, and the format of PubMed: lines that begin with a tag, and lines that continue them."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from neardup.io.formats.entries.citation_columns import (
    COLUMNS,
    OTHERS,
    column_value,
    other_values,
    source_of,
)
from neardup.io.formats.entries.entry_syntax import FoundEntry, Syntax, Values

_MARK = rb"(?:\xef\xbb\xbf)?"  # of UTF-8: files that were put together have it before any record
_RIS_END, _NBIB_END = rb"  -(?: |(?=[\r\n])|\Z)", rb"- ?"
_SPACES, _NUMBER = re.compile(rb"[^\r\n]*\s*"), re.compile(rb"\n[0-9]{1,9}\.$")
_BREAK = re.compile(r"\s*[\r\n]+\s*")
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


#: Types of other formats, and those of RIS.
_TYPES = {
    "article": "JOUR",
    "journal article": "JOUR",
    "book": "BOOK",
    "incollection": "CHAP",
    "inbook": "CHAP",
    "book section": "CHAP",
    "inproceedings": "CONF",
    "conference": "CONF",
    "conference paper": "CPAPER",
    "phdthesis": "THES",
    "mastersthesis": "THES",
    "thesis": "THES",
    "techreport": "RPRT",
    "report": "RPRT",
    "unpublished": "UNPB",
}


class _Tagged(Syntax):
    """Records of lines with tags; ``tag`` finds these, and fields are added as notes."""

    columns = COLUMNS
    sources: Mapping[str, str]
    tag: re.Pattern[bytes]
    note: str
    #: Between a tag and its value; characters of a tag; tags of columns that are not the first ones
    #: that they are read from.
    between: str
    width: int
    written: Mapping[str, str]

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
        if column == OTHERS:
            of_pages = {"SP", "EP"} if any(values.get("pages", ())) else set[str]()
            hidden = {"pages", "pmid", "ER"} | of_pages
            rest = {name: of for name, of in values.items() if name not in hidden}
            return other_values(rest, self.sources)
        return column_value(values, column, self.sources.get(column, ""))

    def changed(self, record: bytes, values: Mapping[str, str]) -> bytes:
        entry = next(iter(self.entries(record)))
        content, end = record[entry.start : entry.insert], record[entry.insert :]
        there = self.values(entry.content, b"")
        columns = {name: value for name, value in values.items() if name in COLUMNS}
        others = json.loads(columns.pop(OTHERS, "") or "{}")
        drop = {tag for name in columns for tag in source_of(there, self.sources.get(name, ""))}
        drop |= {"SP", "EP"} if "pages" in drop else set()
        tags = [(tag.start(), tag[1].strip().decode()) for tag in self.tag.finditer(content)]
        spans = pairwise([*tags, (len(content), "")])
        kept = b"".join(content[a:b] for (a, tag), (b, _) in spans if tag not in drop).rstrip()
        lines = [line for name, value in columns.items() for line in self._lines(name, value)]
        for name, found in others.items():
            known = self.tag.match(f"{self._head(name)}\n".encode())
            if name not in there or name in drop:
                head = self._head(name) if known else f"{self.note}{name}: "
                lines += [head + value for value in found]
        line_end = "\r\n" if b"\r\n" in record else "\n"
        new = "".join(line_end + _BREAK.sub(" ", line) for line in lines)
        more = {name: value for name, value in values.items() if name not in COLUMNS}
        return kept + (new + self.added(more, line_end)).encode(errors="surrogateescape") + end

    def _lines(self, column: str, value: str) -> list[str]:
        """Return the lines of a column, which has a value."""
        tag = self.written.get(column) or self.sources.get(column, "").split(" ")[0]
        if column == "pages":
            first, _, last = value.partition("-")
            pages = {"SP": first, "EP": last} if tag == "pages" else {tag: value}
            return [f"{self._head(name)}{page}" for name, page in pages.items() if page]
        if column == "pmid" and tag == "pmid":
            return [f"{self.note}PMID: {value}"]
        if not tag:
            return [f"{self.note}{column}: {value}"]
        every = value.split("; ") if column in ("author", "keywords") else [value]
        doi = " [doi]" if (column, tag) == ("doi", "AID") else ""
        return [f"{self._head(tag)}{one}{doi}" for one in every if one]

    def _head(self, tag: str) -> str:
        return f"{tag:<{self.width}}{self.between}"

    def added(self, values: Mapping[str, str], line_end: str) -> str:
        lines = (f"{self.note}{name}: {' '.join(value.split())}" for name, value in values.items())
        return "".join(f"{line_end}{line}" for line in lines)


class _Ris(_Tagged):
    sources = _RIS
    tag = re.compile(rb"^%s([A-Z][A-Z0-9])%s" % (_MARK, _RIS_END), re.M)
    mark = re.compile(rb"^%sTY%s" % (_MARK, _RIS_END), re.M)
    no_mark = "no line begins with 'TY  - ', as each record of RIS does"
    note = "N1  - "
    between = "  - "
    width = 2
    written: Mapping[str, str] = {}

    def new(self, values: Mapping[str, str]) -> bytes:
        kind, given = values.get("type", ""), {**values, "type": ""}
        known = _TYPES.get(kind.lower(), kind if re.fullmatch("[A-Z]{3,6}", kind) else "")
        given["original_type"] = "" if known else kind
        if "PY" in json.loads(given.get(OTHERS) or "{}"):
            given["year"] = ""  # which has a day too
        there = {name: value for name, value in given.items() if value}
        return self.changed(f"TY  - {known or 'GEN'}\nER  - \n\n".encode(), there)

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
    between = "- "
    width = 4
    written: Mapping[str, str] = {"doi": "AID", "keywords": "OT"}

    def read(self, chunk: bytes) -> Iterator[FoundEntry]:
        tags = list(self.tag.finditer(chunk))
        # A second record may lack the blank line before it.
        ids = [tag.start(1) for tag in tags if tag[1] == b"PMID"]
        for start, end in pairwise([*(tag.start(1) for tag in tags[:1]), *ids[1:], len(chunk)]):
            insert = start + len(chunk[start:end].rstrip())
            yield FoundEntry(start, insert, end, chunk[start:insert])


SYNTAX = {"ris": _Ris(), "nbib": _Nbib()}
