"""Texts as a page holds them: as bytes that run nothing, and briefly where they are alike."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from neardup.report.differences import template

__all__ = ["as_delta", "as_json", "shared_parts", "units"]

#: Values of a slot that are listed, and characters of each.
_VALUES, _VALUE = 6, 160
#: A word with the white space after it, and words that must be equal in a row.
_WORD, _RUN = re.compile(r"\S+\s*|\s+"), 4
#: What could end the element that JSON stands in, or change how the page's own source is read.
_UNSAFE = re.compile("[<>&\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def as_json(value: Any) -> str:
    """Return JSON that may stand in a ``<script>`` of a data type.

    >>> as_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def units(text: str) -> int:
    """Return the length of a text as browsers count, in units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def as_delta(text: str, base: str, number: int) -> list[Any] | str:
    """Return a text as slices of another one and what stands between them, if that is shorter.

    Runs of four words are looked up in the other text, and go on from there as long as words are
    equal. This is not the shortest that there is, but takes a fraction of a millisecond.

    Args:
        text: The text.
        base: The other one.
        number: Of the other one in the page.

    Returns:
        ``[number, part, ...]`` where a part is a string, or ``[begin, end]`` for a slice of the
        other text, in units of UTF-16; or the text itself.
    """
    words, others = _WORD.findall(text), _WORD.findall(base)
    ends = list(itertools.accumulate(map(units, others), initial=0))
    places: dict[tuple[str, ...], int] = {}
    for place, run in enumerate(zip(*(others[k:] for k in range(_RUN)), strict=False)):
        places.setdefault(run, place)
    delta: list[Any] = [number]
    literal: list[str] = []
    at, expected = 0, 0
    while at < len(words):
        run = tuple(words[at : at + _RUN])
        # Where the last slice ended, if it goes on there: of a phrase that occurs twice it is
        # rather the second one.
        ahead = tuple(others[expected : expected + _RUN]) == run and bool(run)
        begin = expected if ahead else places.get(run, -1)
        if begin < 0:
            literal.append(words[at])
            at += 1
            expected += 1
            continue
        end = begin
        while end < len(others) and at < len(words) and others[end] == words[at]:
            end, at = end + 1, at + 1
        if literal:
            delta.append("".join(literal))
            literal = []
        delta.append([ends[begin], ends[end]])
        expected = end
    if literal:
        delta.append("".join(literal))
    return delta if len(as_json(delta)) < len(as_json(text)) else text


def shared_parts(texts: Sequence[str]) -> list[Any]:
    """Return the template of some texts, as a walk along the first of them.

    Returns:
        Parts: a number for so many units that all share; ``[skipped, distinct, [[value, count],
        ...]]`` for a slot, with the units that it takes of the first text, and the commonest
        values.
    """
    parts: list[Any] = []
    for part in template(texts):
        if isinstance(part, str):
            parts.append(units(part))
            continue
        values = Counter(part).most_common()
        listed = [
            [value if len(value) <= _VALUE else value[:_VALUE] + "…", count]
            for value, count in values[:_VALUES]
        ]
        parts.append([units(part[0]), len(values), listed])
    return parts
