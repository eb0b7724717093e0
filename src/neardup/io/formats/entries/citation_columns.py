"""The columns of citations, which are the same for all of their formats; all of them are texts."""

import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from neardup.io.formats.entries.entry_syntax import Values

#: The column of values that no other column has in full: lists by their names, as JSON.
OTHERS = "other_fields"
COLUMNS = (
    *("id", "type", "title", "author", "year", "journal", "volume", "number", "pages", "doi"),
    *("abstract", "keywords", "pmid", "url", OTHERS),
)
#: Separators of columns that have several values; of the others the first one counts.
_BETWEEN = {"type": "; ", "author": "; ", "keywords": "; ", "abstract": " "}
_YEAR = re.compile(r"[0-9]{4}")
_DOI = re.compile(r"10\.[0-9]{4,9}/[^\s\"<>]+")
_RANGE = re.compile(r"([0-9]+)-([0-9]+)(?![0-9A-Za-z])")
_DASHES = re.compile(r" *[-\u2010-\u2015\u2212]+ *")


def column_value(values: Values, column: str, sources: str) -> str:
    """Return the value of a column.

    Args:
        values: Of an entry.
        column: The column.
        sources: Names of values: the first that the entry has counts, and those that are joined by
            ``+`` count together.
    """
    clean = _CLEAN.get(column, str)
    for names in sources.split():
        every = [value for name in names.split("+") for value in values.get(name, ())]
        if found := [value for value in map(clean, every) if value]:
            return _BETWEEN[column].join(found) if column in _BETWEEN else found[0]
    return ""


def source_of(values: Values, sources: str) -> tuple[str, ...]:
    """Return the names of the values that count for a column, see `column_value`."""
    for names in sources.split():
        if any(value for name in names.split("+") for value in values.get(name, ())):
            return tuple(names.split("+"))
    return ()


def other_values(values: Values, sources: Mapping[str, str]) -> str:
    """Return all values that the columns do not have in full, as JSON; empty without any.

    >>> other_values({"TI": ["A"], "CY": ["Bern"], "UR": ["x", "y"]}, {"title": "TI", "url": "UR"})
    '{"CY": ["Bern"], "UR": ["y"]}'
    """
    found = {name: [*filter(None, of)] for name, of in values.items() if name}
    for column, names in sources.items():
        for name in source_of(values, names):
            rest = [] if column in _BETWEEN else found.get(name, [])[1:]
            if column == "year" and year(values[name][0]) != values[name][0].strip("/ "):
                rest = found[name]
            found[name] = rest
    found = {name: of for name, of in found.items() if of}
    return json.dumps(found, ensure_ascii=False) if found else ""


def year(value: str) -> str:
    """Return the first four digits in a row.

    >>> year("1999 Mar-Apr"), year("in press")
    ('1999', '')
    """
    found = _YEAR.search(value)
    return found[0] if found else ""


def doi(value: str) -> str:
    """Return a DOI in small letters, without the address that resolves it.

    >>> doi("https://doi.org/10.1000/ABC%28x%29."), doi("10.1002/x [doi]"), doi("none")
    ('10.1000/abc(x)', '10.1002/x', '')
    """
    found = _DOI.search(unquote(value) if "://" in value else value)
    return found[0].lower().rstrip(".,;") if found else ""


def pages(value: str) -> str:
    """Return pages in full.

    >>> pages("100-10"), pages("e12--e15"), pages("7, 1001–4"), pages("12-")
    ('100-110', 'e12-e15', '7, 1001-1004', '12')
    """
    return _RANGE.sub(_full, _DASHES.sub("-", value)).strip("-")


def _full(found: re.Match[str]) -> str:
    first, last = found.groups()
    return f"{first}-{first[: max(0, len(first) - len(last))]}{last}"


_CLEAN: dict[str, Callable[[str], str]] = {"year": year, "doi": doi, "pages": pages}
