"""BibTeX: bibtexparser splits entries, pylatexenc makes text of LaTeX."""

import json
import logging
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any
from zlib import crc32

from bibtexparser.middlewares.names import NameParts
from bibtexparser.middlewares.names import parse_single_name_into_parts as parts_of_name
from bibtexparser.model import (
    DuplicateBlockKeyBlock,
    DuplicateFieldKeyBlock,
    ParsingFailedBlock,
    String,
)
from bibtexparser.model import Entry as Block
from bibtexparser.splitter import Splitter
from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

from neardup.io.formats.entries.citation_columns import (
    COLUMNS,
    OTHERS,
    column_value,
    other_values,
    source_of,
)
from neardup.io.formats.entries.entry_syntax import FoundEntry, Syntax, Values

_FIELDS = {
    "id": "key",
    "type": "type",
    "year": "year date",
    "journal": "journal journaltitle booktitle",
    "number": "number issue",
    "keywords": "keywords keyword",
}
_SOURCES = {name: _FIELDS.get(name, name) for name in COLUMNS if name != OTHERS}
#: Fields as which columns are written that have another name; types of RIS and PubMed.
_WRITTEN = {"id": "key"}
_TYPES = {
    "jour": "article",
    "journal article": "article",
    "book": "book",
    "chap": "incollection",
    "conf": "inproceedings",
    "cpaper": "inproceedings",
    "thes": "phdthesis",
    "rprt": "techreport",
    "gen": "misc",
}
_NAME, _KEY = re.compile(r"[A-Za-z][\w-]*"), re.compile(r"[^\w:.+/-]+")
_SPECIAL = str.maketrans({name: f"\\{name}" for name in "&%$#_{}"} | {"\\": "/"})
_BLOCK = re.compile(rb"^[ \t]*@[ \t]*(\w*)[ \t]*[{(]", re.M)
#: Blocks that are no entries, those of them that entries need, and those of any text.
_OTHERS = (b"string", b"preamble", b"comment")
_NEEDED, _FREE = _OTHERS[:1], _OTHERS[2:]
_SPACES = re.compile(rb"\s*")
_PLUS, _AND = re.compile(r'(?<!\\)[{}"#]'), re.compile(r"(?<!\\)[{}]|\s+and\s+")
_OPEN = "Unexpectedly reached end of file"

#: Splitting logs parts of entries that are wrong.
_splitting = threading.local()
logging.getLogger("bibtexparser.splitter").addFilter(lambda _: not hasattr(_splitting, "now"))


def _blocks(text: str) -> list[Any]:
    _splitting.now = True
    try:
        found = Splitter(text).split().blocks
    finally:
        del _splitting.now
    twice = DuplicateFieldKeyBlock | DuplicateBlockKeyBlock
    return [block.ignore_error_block if isinstance(block, twice) else block for block in found]


class _Bibtex(Syntax):
    columns = COLUMNS
    mark = _BLOCK
    no_mark = "no line begins with '@', as each entry of BibTeX does"

    def read(self, chunk: bytes) -> Iterator[FoundEntry]:
        kind = self.mark.match(chunk)
        if kind is None or kind[1].lower() in _FREE:
            return
        end = 0
        for block in _blocks(chunk.decode(errors="surrogateescape")):
            raw = (block.raw or "").encode(errors="surrogateescape")
            start = chunk.find(raw, end)
            if isinstance(block, Block):
                end = start + len(raw)
                body = raw[:-1].rstrip().removesuffix(b",").rstrip()
                found = _SPACES.match(chunk, end)
                yield FoundEntry(start, start + len(body), found.end() if found else end, block)
            elif isinstance(block, ParsingFailedBlock):
                open = _OPEN in getattr(block.error, "abort_reason", "")
                what = "the entry does not end" if open else "the entry is no valid BibTeX"
                yield FoundEntry(start, start, len(chunk), wrong=what)
                return

    def values(self, content: Any, context: bytes) -> Values:
        strings, found = (
            _strings(context),
            {"key": [content.key], "type": [content.entry_type.lower()]},
        )
        for field in content.fields:
            found.setdefault(field.key.lower(), []).append(_joined(str(field.value), strings))
        return found

    def value(self, values: Values, column: str) -> str:
        if column == OTHERS:
            every = {name: [*map(_text, of)] for name, of in values.items()}
            return other_values(every, _SOURCES)
        names = _SOURCES[column]
        found = {name: list(map(_text, values.get(name, ()))) for name in names.split()}
        if column in ("url", "doi"):  # where ~ is a character
            found = {column: [value.strip("{}") for value in values.get(column, ())]}
        if column == "author":
            found = {"author": [_text(_persons(value)) for value in values.get("author", ())[:1]]}
        return column_value(found, column, names)

    def added(self, values: Mapping[str, str], line_end: str) -> str:
        clean = str.maketrans("{}", "()")
        fields = (f"  {name} = {{{value.translate(clean)}}}" for name, value in values.items())
        return "".join(f",{line_end}{field}" for field in fields)

    def changed(self, record: bytes, values: Mapping[str, str]) -> bytes:
        entry = next(iter(self.entries(record)))
        there = self.values(entry.content, b"")
        columns = {name: value for name, value in values.items() if value}
        others = json.loads(columns.pop(OTHERS, "") or "{}")
        sources = {name: _SOURCES[name] for name in columns if name in _SOURCES}
        drop = {field for names in sources.values() for field in source_of(there, names)}
        more = {_WRITTEN.get(name, name): _latex(name, value) for name, value in columns.items()}
        for name, found in others.items():
            if name.lower() not in there and _NAME.fullmatch(name):
                more[name.lower()] = _latex(name, "; ".join(found))
        kept = record[entry.start : entry.insert].decode(errors="surrogateescape")
        if drop:
            fields = [field for field in entry.content.fields if field.key.lower() not in drop]
            lines = [f"  {field.key} = {field.value}" for field in fields]
            kept = ",\n".join([f"@{entry.content.entry_type}{{{entry.content.key}", *lines])
        line_end = "\r\n" if b"\r\n" in record else "\n"
        new = (f",{line_end}  {name} = {{{value}}}" for name, value in more.items())
        return (kept + "".join(new)).encode(errors="surrogateescape") + record[entry.insert :]

    def new(self, values: Mapping[str, str]) -> bytes:
        kind, given = values.get("type", "").lower(), {**values, "type": "", "id": ""}
        known = _TYPES.get(kind, kind if kind in _TYPES.values() else "")
        given["original_type"] = "" if known else values.get("type", "")
        # Keys must differ.
        key = _KEY.sub("_", values.get("id", "")) or f"record{crc32(repr(given).encode()):08x}"
        return self.changed(f"@{known or 'misc'}{{{key}\n}}\n\n".encode(), given)

    def context(self, data: bytes) -> bytes:
        return _others(data, _NEEDED)

    def frame(self, parts: Iterable[bytes]) -> tuple[bytes, bytes]:
        return b"".join(_others(part, _OTHERS) for part in parts), b""


def _others(data: bytes, kinds: tuple[bytes, ...]) -> bytes:
    """Return the blocks of some kinds that can be read, each with all up to the next one."""
    marks = [(mark.start(), mark[1].lower()) for mark in _BLOCK.finditer(data)]
    spans = pairwise([*marks, (len(data), b"")])
    found = (data[start:end] for (start, kind), (end, _) in spans if kind in kinds)
    return b"".join(
        block for block in found if not any(e.wrong for e in SYNTAX["bibtex"].read(block))
    )


@lru_cache(maxsize=8)
def _strings(context: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in _blocks(context.decode(errors="surrogateescape")):
        if isinstance(block, String):
            found[block.key.lower()] = _joined(str(block.value), found)
    return found


def _joined(value: str, strings: Mapping[str, str]) -> str:
    """Return a value without what encloses it, and with the texts of strings for their names.

    >>> _joined('"a {#} " # jan # { 1999}', {"jan": "January"})
    'a {#} January 1999'
    """
    found = []
    for part in map(str.strip, _split(value, _PLUS)):
        is_enclosed = len(part) > 1 and part[0] + part[-1] in ('""', "{}")
        found.append(part[1:-1] if is_enclosed else strings.get(part.lower(), part))
    return "".join(found)


def _latex(name: str, value: str) -> str:
    r"""Return a value of a column, or of another field, as LaTeX.

    >>> _latex("author", "Doe, J; Fox & Co"), _latex("url", "a_b")
    ('Doe, J and Fox \\& Co', 'a_b')
    """
    value = " ".join(value.split())
    if name in ("url", "doi"):
        return value.translate(str.maketrans("{}", "()"))
    value = value.translate(_SPECIAL)
    return value.replace("; ", " and ") if name in ("author", "editor") else value


def _persons(value: str) -> str:
    """Return names with the family name first.

    >>> _persons("Hans van Damme and {A and B} and Doe, Jr., Jane and others")
    'van Damme, Hans; {A and B}; Doe, Jane, Jr.'
    """
    names = [parts_of_name(name, strict=False) for name in _split(value, _AND)]
    return "; ".join(_person(name) for name in names if name != NameParts(last=["others"]))


def _split(value: str, between: re.Pattern[str]) -> Iterator[str]:
    """Split a value where a pattern is, but not in braces or quotes; it finds these too."""
    start, depth, quoted = 0, 0, False
    for mark in between.finditer(value):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        quoted ^= mark[0] == '"' and not depth
        if mark[0] not in '{}"' and not depth and not quoted:
            yield value[start : mark.start()]
            start = mark.end()
    yield value[start:]


def _person(name: NameParts) -> str:
    parts = ([*name.von, *name.last], name.first, name.jr)
    return ", ".join(" ".join(part) for part in parts if part)


@lru_cache(maxsize=1 << 14)
def _text(value: str) -> str:
    r"""Return the text of some LaTeX.

    >>> _text(r'{M}{\"u}ller: 5% of $\alpha$')
    'Müller: 5% of α'
    """
    if "\\" not in value:
        return " ".join(value.translate(_PLAIN).split())
    value = re.sub(r"(?<!\\)%", r"\\%", value)
    if len(re.findall(r"(?<!\\)\$", value)) % 2:
        value = re.sub(r"(?<!\\)\$", r"\\$", value)
    try:
        text = _decoder().latex_to_text(value)
    except (LookupError, AttributeError, TypeError, RecursionError):
        # Some macros without their arguments; braces in thousands of others.
        text = value.translate(_PLAIN)
    return " ".join(text.split())


_PLAIN = str.maketrans("~", " ", "{}")
#: Macros that pylatexenc leaves out.
_MACROS = {"url": "%s", "textless": "<", "textgreater": ">", "textbar": "|", "textunderscore": "_"}


@lru_cache(maxsize=1)
def _decoder() -> LatexNodes2Text:
    known = get_default_latex_context_db()
    macros = [MacroTextSpec(*macro) for macro in _MACROS.items()]
    known.add_context_category("plain", prepend=True, macros=macros)
    return LatexNodes2Text(latex_context=known, math_mode="text")


SYNTAX = {"bibtex": _Bibtex()}
