"""What differs between texts, word by word: two side by side, or many as a template with slots.

Texts are aligned by a longest common subsequence of their words. Parts are slices of the texts as
they are, so that the parts of a text joined give it back exactly.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from neardup.report.subsequence import Aligned, align

__all__ = ["Difference", "Op", "differences", "template"]

Op = Literal["equal", "delete", "insert", "replace"]

#: Scripts written without blanks: each character is a word of its own, as in shingles.
_NO_BLANKS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_NO_BLANKS += "\U00020000-\U0003ffff"
#: What two changes have between them is shown as changed too if it has at most a fourth of the
#: words of the smaller of them: single words that agree by chance only break up the view.
_CHANCE = 4


class Difference(NamedTuple):
    """A part of two texts.

    Attributes:
        op: ``"equal"`` in both, ``"delete"`` only in the first, ``"insert"`` only in the second,
            ``"replace"`` where one takes the other's place.
        text_a: What the first has there; empty for ``"insert"``.
        text_b: What the second has there; empty for ``"delete"``.
    """

    op: Op
    text_a: str
    text_b: str


def differences(a: str, b: str) -> list[Difference]:
    """Return two texts in parts that are equal and parts that differ, word by word.

    A word is a run of letters, marks, digits and ``_``; every other character but white space
    stands alone. The parts are in order, and no two in a row are equal.

    Args:
        a, b: The texts. Those of 100,000 words each take a second or two at worst.

    Examples:
        >>> for part in differences("seen on Monday, well", "seen today, well"):
        ...     print(part.op, repr(part.text_a), repr(part.text_b))
        equal 'seen ' 'seen '
        replace 'on Monday' 'today'
        equal ', well' ', well'
    """
    found: list[Difference] = []
    for part in _parts([a, b]):
        if isinstance(part, str):
            found.append(Difference("equal", part, part))
        else:
            op: Op = "replace" if all(part) else "delete" if part[0] else "insert"
            found.append(Difference(op, *part))
    return found


def template(texts: Sequence[str]) -> list[str | tuple[str, ...]]:
    """Return what several texts share, with slots where they vary.

    The words of the first text are aligned with each other one in turn; what all have in the same
    order is shared.

    Args:
        texts: In any number; 200 of some hundred words take about a second.

    Returns:
        Parts in order: a string for what all share, a tuple for a slot, with what each text has
        there (perhaps nothing), in the order of the texts. There is no empty string, and no slot
        in which all are equal.

    Examples:
        >>> template(["Mrs A was seen.", "Mr B was seen.", "Dr Ng was not seen."])
        [('Mrs A', 'Mr B', 'Dr Ng'), ' was ', ('', '', 'not '), 'seen.']
    """
    distinct = list(dict.fromkeys(texts))
    if len(distinct) <= 1:
        return [text for text in distinct if text]
    place = {text: k for k, text in enumerate(distinct)}
    order = [place[text] for text in texts]
    return [
        part if isinstance(part, str) else tuple(part[k] for k in order)
        for part in _parts(distinct)
    ]


def _parts(texts: Sequence[str]) -> list[str | tuple[str, ...]]:
    """Cut texts that are not all the same at the words that all share."""
    numbers: dict[str, int] = {}
    cut = [_cut(text, numbers) for text in texts]
    words = [of_text[0] for of_text in cut]
    # Row k: which word of text k each shared word is.
    shared: Aligned = [list(range(len(words[0])))]
    for other in words[1:]:
        pairs = align([words[0][i] for i in shared[0]], other)
        shared = [[row[i] for i, _ in pairs] for row in shared]
        shared.append([j for _, j in pairs])
    parts: list[str | tuple[str, ...]] = []
    at = [0] * len(texts)
    run = 0  # where what all share has begun in the first text
    ends = [len(text) for text in texts]
    for same in itertools.chain(zip(*shared, strict=True), [None]):
        low = ends if same is None else [cut[k][1][i] for k, i in enumerate(same)]
        between = [text[b:e] for text, b, e in zip(texts, at, low, strict=True)]
        if any(value != between[0] for value in between):
            parts += [texts[0][run : at[0]], *_trimmed(between)]
            run = low[0]
        at = ends if same is None else [cut[k][2][i] for k, i in enumerate(same)]
    parts.append(texts[0][run:])
    return _joined(_without_chance(_joined(parts)))


def _cut(text: str, numbers: dict[str, int]) -> tuple[list[int], array[int], array[int]]:
    """A number for each word, equal for equal words; where it begins, and where it ends."""
    words, begins, ends = [], array("q"), array("q")
    for match in _pattern().finditer(text):
        words.append(numbers.setdefault(match[0], len(numbers)))
        begins.append(match.start())
        ends.append(match.end())
    return words, begins, ends


def _trimmed(values: list[str]) -> Iterable[str | tuple[str, ...]]:
    """Split off the white space that all begin or end with."""
    head = _blank_runs([value[: len(value) - len(value.lstrip())] for value in values])
    rest = [value[len(head) :] for value in values]
    tail = _blank_runs([value[len(value.rstrip()) :] for value in rest])
    rest = [value[: len(value) - len(tail)] for value in rest]
    return [head, tuple(rest), tail]


def _blank_runs(runs: list[str]) -> str:
    """The run of white space if it is the same in all, else nothing."""
    return runs[0] if all(run == runs[0] for run in runs) else ""


def _joined(parts: Iterable[str | tuple[str, ...]]) -> list[str | tuple[str, ...]]:
    """Join parts of one kind that follow each other, and leave out empty ones."""
    runs: list[list[str | tuple[str, ...]]] = []
    for part in parts:
        if not part or (isinstance(part, tuple) and not any(part)):
            continue
        if runs and isinstance(runs[-1][0], str) == isinstance(part, str):
            runs[-1].append(part)
        else:
            runs.append([part])
    return [
        "".join(map(str, run))
        if isinstance(run[0], str)
        else tuple("".join(values) for values in zip(*run, strict=True))
        for run in runs
    ]


def _without_chance(parts: list[str | tuple[str, ...]]) -> list[str | tuple[str, ...]]:
    """Make slots of what is shared between two slots by chance."""
    out: list[str | tuple[str, ...]] = []
    sizes = [_size(part) for part in parts]
    for k, part in enumerate(parts):
        if isinstance(part, str) and 0 < k < len(parts) - 1:
            slots = len(parts[k - 1])
            if sizes[k] * _CHANCE <= min(sizes[k - 1], sizes[k + 1]):
                part = (part,) * slots
        out.append(part)
    return out


def _size(part: str | tuple[str, ...]) -> int:
    """Words, of the largest value."""
    if isinstance(part, tuple):
        return max(map(_size, part))
    return sum(1 for match in _pattern().finditer(part) if match[0][0].isalnum())


@functools.cache
def _pattern() -> re.Pattern[str]:
    """Matches a word; white space is what no match covers."""
    marks = _class(
        chr(point)
        for point in (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))
        if unicodedata.category(chr(point))[0] == "M"
    )
    return re.compile(rf"[{_NO_BLANKS}][{marks}]*|(?:[^\W{_NO_BLANKS}]+|[{marks}\u200d]+)+|[^\w\s]")


def _class(characters: Iterable[str]) -> str:
    """Ranges for a character class."""
    ranges: list[list[int]] = []
    for point in map(ord, characters):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in ranges)
