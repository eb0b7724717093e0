"""Copied words by month, year, author and other groups: those that people are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

#: Groups that are shown by themselves, at most.
_MOST = 30


class GroupShare(NamedTuple):
    """The words of a group of documents; ``label`` is its name."""

    label: str
    documents: int
    words: int
    copied: int

    @property
    def share(self) -> float:
        """Share of its words that are copied."""
        return self.copied / max(1, self.words)


def of_groups(record: Mapping[str, Any], least: int = 10) -> list[GroupShare]:
    """Return the groups of the columns that were asked for, those with most words first.

    Groups of fewer than ``least`` documents are put together, and so are those behind the first
    ones. Where ids are private, values of the columns are too: they are numbered by their
    documents.
    """
    by = columns_of(record)
    lines = list(record.get("by_value", []))
    names = pseudonyms(record)
    named = [line for line in lines if "others" not in line]
    shown = [line for line in named if line["documents"] >= least][:_MOST]
    found = [_of(_label(line["values"], names), [line]) for line in shown]
    rest = [line for line in lines if line not in shown]
    if rest:
        many = sum(line.get("others", 1) for line in rest)
        found.append(_of(f"{many:,} other{'' if many == 1 else 's'} of {by}", rest))
    return found


def columns_of(record: Mapping[str, Any]) -> str:
    """Return the names of the columns that were asked for; nothing without any."""
    return " and ".join(record["spec"]["by"])


def pseudonyms(record: Mapping[str, Any]) -> list[dict[Any, str]]:
    """Return for each of the columns the name of each value: itself, if it may be seen."""
    found = []
    for k, by in enumerate(record["spec"]["by"]):
        documents: dict[Any, int] = {}
        for line in record.get("by_value", []):
            if "others" not in line:
                value = line["values"][k]
                documents[value] = documents.get(value, 0) + line["documents"]
        values = sorted(filter(None, documents), key=lambda value: -documents[value])
        names = {value: value for value in values}
        if record.get("private_ids"):
            names = {value: f"{by} {number}" for number, value in enumerate(values, 1)}
        found.append({None: "none", "": "none", **names})
    return found


def _label(values: Sequence[Any], names: Sequence[Mapping[Any, str]]) -> str:
    return ", ".join(of[value] for value, of in zip(values, names, strict=True))


def of_years(record: Mapping[str, Any], least: int = 10) -> list[GroupShare]:
    """Return the years; those of fewer than ``least`` documents are put together."""
    lines = record.get("by_year", [])
    found = [_of(line["year"] or "none", [line]) for line in lines if line["documents"] >= least]
    rest = [line for line in lines if line["documents"] < least]
    return [*found, *([_of("other years", rest)] if rest else [])]


def of_months(record: Mapping[str, Any]) -> list[GroupShare]:
    """Return the months, also those between them that have no document."""
    lines = {line["month"]: line for line in record.get("by_month", []) if _is_month(line["month"])}
    if not lines:
        return []
    first, last = (12 * int(one[:4]) + int(one[5:7]) - 1 for one in (min(lines), max(lines)))
    names = [f"{at // 12:04d}-{at % 12 + 1:02d}" for at in range(first, last + 1)]
    if len(names) > _LONGEST:  # a date is wrong, or they are centuries
        names = sorted(lines)
    return [_of(name, [lines[name]] if name in lines else []) for name in names]


#: Months of a complete line.
_LONGEST = 1200


def _is_month(value: Any) -> bool:
    return isinstance(value, str) and value[5:7].isdigit() and 1 <= int(value[5:7]) <= 12


def _of(label: str, lines: Sequence[Mapping[str, Any]]) -> GroupShare:
    sums = (sum(line[name] for line in lines) for name in ("documents", "words", "copied_words"))
    return GroupShare(label, *sums)
