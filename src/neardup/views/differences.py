"""Differences between texts, word by word.

Texts are aligned by a longest common subsequence of their words. White space, punctuation and case
never count as a difference, but where two texts have equal words: then all but white space does.
Parts are slices of the texts as they are: the parts of a text joined give it back exactly.
"""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from neardup.tuning import TUNING

Op = Literal["equal", "delete", "insert", "replace"]

#: Scripts written without spaces: each character is a word, as in shingles.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_UNSPACED += "\U00020000-\U0003ffff"
#: What two changes have between them is shown as changed too if it has at most a fourth of the
#: words of the smaller of them: single words that agree by chance only break up the view.
_CHANCE = 4
#: A table of an alignment that is too large is cut at runs of so many words that occur once in each
#: text.
_RUN = 4
#: Words that must be left out for a stretch to be folded.
_FOLDED = 10


class Difference(NamedTuple):
    """A part of two texts, in the form of each; equal ones may differ in all but words."""

    op: Op
    text_a: str  # empty for "insert"
    text_b: str  # empty for "delete"


class Fold(NamedTuple):
    """Equal words that are left out of a view: how many, and the text of each there."""

    words: int
    text_a: str
    text_b: str


class AlignedPart(NamedTuple):
    """A part of several texts: begin and end in each, and how many words the longest has there."""

    equal: bool
    spans: tuple[tuple[int, int], ...]
    words: int


def differences(a: str, b: str) -> list[Difference]:
    """Return two texts in parts that are equal and parts that differ, word by word.

    A word is a run of letters, marks, digits and ``_``; in scripts written without spaces it is a
    character. The parts are in order, and equal and different ones alternate.
    Two texts of 100,000 words each take about a second.

    Where all words are equal, any other character that is no white space is a word too, and so is
    one in another case.

    Examples:
        >>> for part in differences("seen on Monday, well", "Seen today; well"):
        ...     print(part.op, repr(part.text_a), repr(part.text_b))
        equal 'seen ' 'Seen '
        replace 'on Monday' 'today'
        equal ', well' '; well'
        >>> [part[1:] for part in differences("in C#, C", "in C++, C") if part.op != "equal"]
        [('#', '++')]
    """
    found = []
    for segment in segments(list(cut([a, b]))):
        (i, j), (k, m) = segment.spans
        changed: Op = "insert" if i == j else "delete" if k == m else "replace"
        found.append(Difference("equal" if segment.equal else changed, a[i:j], b[k:m]))
    return found


def folded(parts: Sequence[Difference], context: int) -> Iterator[Difference | Fold]:
    """Yield the parts of two texts, without the words far from any difference."""
    for position, part in enumerate(parts):
        before, after = (context if position else 0), (context if position < len(parts) - 1 else 0)
        # Cut where words begin.
        texts = (part.text_a, part.text_b)
        a, b = ([0, *[m.start() for m in _words(t)][1:], len(t)] for t in texts)
        count = len(a) - 1 - before - after
        if part.op != "equal" or len(parts) == 1 or count < _FOLDED:
            yield part
            continue
        (i, k), (j, m) = ((at[before], at[-1 - after]) for at in (a, b))
        if i or j:
            yield Difference("equal", part.text_a[:i], part.text_b[:j])
        yield Fold(count, part.text_a[i:k], part.text_b[j:m])
        if part.text_a[k:] or part.text_b[m:]:
            yield Difference("equal", part.text_a[k:], part.text_b[m:])


class WordSequence(NamedTuple):
    """A text, a number for each of its words, equal for equal words, and where these are."""

    text: str
    words: list[int]
    begins: list[int]
    ends: list[int]

    def gap(self, before: int, after: int) -> tuple[int, int]:
        """Return begin and end of the gap between two words."""
        low = self.ends[before] if before >= 0 else 0
        return low, self.begins[after] if after < len(self.words) else len(self.text)


def cut(texts: Iterable[str]) -> Iterator[WordSequence]:
    """Find the words of texts that are to be compared with each other."""
    return _cut(texts, _words, str.lower)


def _cut(
    texts: Iterable[str], find: Callable[[str], Iterator[re.Match[str]]], form: Callable[[str], str]
) -> Iterator[WordSequence]:
    numbers: dict[str, int] = {}
    for text in texts:
        matches = list(find(text))
        words = [numbers.setdefault(form(match[0]), len(numbers)) for match in matches]
        yield WordSequence(text, words, [m.start() for m in matches], [m.end() for m in matches])


def segments(texts: Sequence[WordSequence]) -> list[AlignedPart]:
    """Split texts of one `cut` at the words that all of them have in the same order.

    Segments cover each text, in order; equal and different ones alternate.
    """
    found = _aligned(texts)
    differ = not all(part.equal for part in found)
    if len(texts) != 2 or differ or texts[0].text == texts[1].text:
        return found
    return _aligned(list(_cut((text.text for text in texts), _signs, str)))


def _aligned(texts: Sequence[WordSequence]) -> list[AlignedPart]:
    # As if all had a word before the first one and one after the last one.
    first, last = [[-1]] * len(texts), [[len(text.words)] for text in texts]
    shared = np.hstack([first, _shared(texts), last])
    found: list[AlignedPart] = []
    at, done = [0] * len(texts), 0

    def add_equal(ends: Iterable[int], words: int) -> None:
        spans = tuple(zip(at, ends, strict=True))
        if any(low < high for low, high in spans):
            found.append(AlignedPart(True, spans, words))

    for position in np.flatnonzero((np.diff(shared, axis=1) != 1).any(axis=0)).tolist():
        before, after = shared[:, position].tolist(), shared[:, position + 1].tolist()
        if (slot := _slot(texts, before, after)) is not None:
            add_equal([low for low, _ in slot], position - done)
            most = max(j - i - 1 for i, j in zip(before, after, strict=True))
            found.append(AlignedPart(False, tuple(slot), most))
            at, done = [high for _, high in slot], position
    add_equal([len(text.text) for text in texts], shared.shape[1] - 2 - done)
    return _without_chance(found)


def _shared(texts: Sequence[WordSequence]) -> np.ndarray:
    """Return int64[texts, words]: positions of the words that all texts have in the same order."""
    shared = np.arange(len(texts[0].words))[None, :]
    for other in texts[1:]:
        words = [texts[0].words[i] for i in shared[0].tolist()]
        pairs = [(i + k, j + k) for i, j, n in align(words, other.words) for k in range(n)]
        rows, positions = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        shared = np.vstack([shared[:, rows], positions])
    return shared


def _slot(
    texts: Sequence[WordSequence], before: Sequence[int], after: Sequence[int]
) -> list[tuple[int, int]] | None:
    """Return what differs in each text between two shared words, without separators; or None."""
    cuts = list(zip(texts, before, after, strict=True))
    if all(c.words[i + 1 : j] == texts[0].words[before[0] + 1 : after[0]] for c, i, j in cuts):
        return None
    gaps = [c.gap(i, j) for c, i, j in cuts]
    cores = [(c.begins[i + 1], c.ends[j - 1]) if j - i > 1 else None for c, i, j in cuts]
    full = [core for core in cores if core is not None]
    if len(full) == len(cores):
        return full
    # Some have no word there, only a separator: it belongs to one side or the other.
    empty, other = cores.index(None), cores.index(full[0])
    separator = texts[empty].text[slice(*gaps[empty])]
    lead = texts[other].text[gaps[other][0] : full[0][0]]
    trail = texts[other].text[full[0][1] : gaps[other][1]]
    both = zip(gaps, cores, strict=True)
    if lead != separator == trail:
        return [(low, core[1] if core else low) for (low, _), core in both]
    return [(core[0] if core else high, high) for (_, high), core in both]


def _without_chance(found: list[AlignedPart]) -> list[AlignedPart]:
    """Make one slot of two that have hardly anything between them."""
    out: list[AlignedPart] = []
    for position, segment in enumerate(found):
        equal = segment.equal
        if equal and 0 < position < len(found) - 1:
            around = min(found[position - 1].words, found[position + 1].words)
            equal = segment.words * _CHANCE > around
        if out and not equal and not out[-1].equal:
            last = out.pop()
            both = zip(last.spans, segment.spans, strict=True)
            spans = tuple((low, high) for (low, _), (_, high) in both)
            segment = AlignedPart(False, spans, last.words + segment.words)
        out.append(segment._replace(equal=equal))
    return out


def align(a: Sequence[int], b: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield (position in a, position in b, length) of equal runs: a longest common subsequence.

    Where that would take too much memory, texts are cut at a run that occurs once in each, the one
    nearest to the middle of both.
    """
    from rapidfuzz.distance import LCSseq

    if len(a) * len(b) <= TUNING.aligned_cells:
        for block in LCSseq.opcodes(a, b).as_matching_blocks():
            yield block.a, block.b, block.size
        return
    once_a, once_b = _once(a), _once(b)
    middle = len(a) // 2, len(b) // 2
    cuts = [(i, once_b[run]) for run, i in once_a.items() if i and run in once_b]
    if cuts:
        i, j = min(cuts, key=lambda at: (abs(at[0] - middle[0]) + abs(at[1] - middle[1]), at))
        yield from align(a[:i], b[:j])
        for x, y, n in align(a[i:], b[j:]):
            yield i + x, j + y, n


def _once(words: Sequence[int]) -> dict[tuple[int, ...], int]:
    runs = list(zip(*(words[k:] for k in range(_RUN)), strict=False))
    counts = Counter(runs)
    return {run: i for i, run in enumerate(runs) if counts[run] == 1}


def _signs(text: str) -> Iterator[re.Match[str]]:
    """Find words as they are, and each other character but white space."""
    return re.finditer(r"\w+|[^\w\s]", text)


def _words(text: str) -> Iterator[re.Match[str]]:
    return (re.compile(r"\w+") if text.isascii() else _pattern()).finditer(text)


@functools.cache
def _pattern() -> re.Pattern[str]:
    points = (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))
    marks = "".join(c for c in map(chr, points) if unicodedata.category(c)[0] == "M")
    return re.compile(rf"[{_UNSPACED}][{marks}]*|(?:[^\W{_UNSPACED}]+|[{marks}\u200d]+)+")
