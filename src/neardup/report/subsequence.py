"""The longest common subsequence of two sequences of words.

Exact, by bits in long integers: a row of the table of lengths takes a handful of additions however
long it is (Hyyro 2004, "Bit-parallel LCS-length computation revisited"), and the table is halved
until what is left of it may be held (Hirschberg 1975). Where even that would take too long,
successive words that occur once in each sequence are matched first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

__all__ = ["Aligned", "align"]

#: Rows of positions, one for each sequence, of equal length.
Aligned = list[list[int]]

#: Bits of the table that may be held: 4 MB.
_HELD = 1 << 25
#: Bits of the table that may be gone through: some seconds.
_MOST = 1 << 35
#: Successive words that are looked for where the table would be larger.
_RUN = 4
#: Occurrences of a word up to which it gets no mask of its own, so that masks stay few.
_RARE = 4

Pairs = list[tuple[int, int]]


def align(a: Sequence[Hashable], b: Sequence[Hashable], most: int = _MOST) -> Pairs:
    """Return the positions (in ``a``, in ``b``) of a longest common subsequence, ascending.

    Args:
        a, b: Words.
        most: Bits of the table, ``len(a) * len(b)`` without what can't match, up to which the
            result is a longest one. Beyond, it is a long one.
    """
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    end_a, end_b = len(a) - tail, len(b) - tail
    # What the other one does not have can't match.
    in_a, in_b = set(a[head:end_a]), set(b[head:end_b])
    at_a = [i for i in range(head, end_a) if a[i] in in_b]
    at_b = [j for j in range(head, end_b) if b[j] in in_a]
    inner = _align([a[i] for i in at_a], [b[j] for j in at_b], most)
    return [
        *((i, i) for i in range(head)),
        *((at_a[i], at_b[j]) for i, j in inner),
        *((end_a + k, end_b + k) for k in range(tail)),
    ]


def _align(a: list[Hashable], b: list[Hashable], most: int) -> Pairs:
    """Align what is not trivial."""
    if not a or not b:
        return []
    bits = len(a) * len(b)
    if bits > most:
        return list(_anchored(a, b, most))
    if len(a) == 1 or bits <= _HELD:
        return _held(a, b)
    middle = len(a) // 2
    before = _lengths(a[:middle], b)
    after = _lengths(a[middle:][::-1], b[::-1])
    cut = int(np.argmax(before + after[::-1]))
    return [
        *align(a[:middle], b[:cut], most),
        *((i + middle, j + cut) for i, j in align(a[middle:], b[cut:], most)),
    ]


class _Masks:
    """Where each word stands in a sequence, as a number with these bits set."""

    def __init__(self, words: Sequence[Hashable]) -> None:
        self.full = (1 << len(words)) - 1
        self._at: dict[Hashable, list[int]] = defaultdict(list)
        for j, word in enumerate(words):
            self._at[word].append(j)
        self._masks = {word: self._mask(at) for word, at in self._at.items() if len(at) > _RARE}

    def _mask(self, at: list[int]) -> int:
        if len(at) <= _RARE:
            return sum(1 << j for j in at)
        bits = np.zeros(at[-1] + 1, dtype=np.uint8)
        bits[at] = 1
        return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")

    def rows(self, words: Sequence[Hashable]) -> Iterator[int]:
        """Yield a row of the table for each word; bit j is 0 where column j adds to the length."""
        row = self.full
        for word in words:
            mask = self._masks.get(word)
            if mask is None:
                mask = self._mask(self._at.get(word, []))
            met = row & mask
            row = ((row + met) | (row - met)) & self.full
            yield row


def _lengths(a: Sequence[Hashable], b: Sequence[Hashable]) -> np.ndarray:
    """int64[len(b) + 1]: length of the longest subsequence of ``a`` and each beginning of ``b``."""
    row = 0
    for row in _Masks(b).rows(a):  # noqa: B007 - the last one is wanted
        pass
    raw = np.frombuffer(row.to_bytes(len(b) // 8 + 1, "little"), np.uint8)
    bits = np.unpackbits(raw, count=len(b), bitorder="little")
    return np.concatenate([[0], np.cumsum(1 - bits.astype(np.int64))])


def _held(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Go back through the whole table."""
    masks = _Masks(b)
    rows = [masks.full, *masks.rows(a)]
    pairs: Pairs = []
    i, j = len(a), len(b)
    while i and j:
        if rows[i] >> (j - 1) & 1:
            j -= 1
        elif not rows[i - 1] >> (j - 1) & 1:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def _anchored(a: list[Hashable], b: list[Hashable], most: int) -> Iterator[tuple[int, int]]:
    """Match runs of words that occur once in each, and align what is between them."""
    once_a, once_b = _once(a), _once(b)
    found = sorted((i, once_b[run]) for run, i in once_a.items() if run in once_b)
    low_a = low_b = 0
    for i, j in [*_ascending(found), (len(a), len(b))]:
        if (i - low_a) * (j - low_b) <= most:
            pairs = align(a[low_a:i], b[low_b:j], most)
            yield from ((low_a + k, low_b + m) for k, m in pairs)
        if i < len(a):
            yield i, j
        low_a, low_b = i + 1, j + 1


def _once(words: list[Hashable]) -> dict[tuple[Hashable, ...], int]:
    """Runs of words that occur once, with where they begin."""
    runs = list(zip(*(words[k:] for k in range(_RUN)), strict=False))
    counts = Counter(runs)
    return {run: i for i, run in enumerate(runs) if counts[run] == 1}


def _ascending(pairs: Pairs) -> Pairs:
    """The longest run of pairs, of those in order of their first, that ascend in the second."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for k, (_, j) in enumerate(pairs):
        place = bisect_left(ends, j)
        before.append(last[place - 1] if place else -1)
        if place == len(ends):
            ends.append(j)
            last.append(k)
        else:
            ends[place] = j
            last[place] = k
    out: Pairs = []
    k = last[-1] if last else -1
    while k >= 0:
        out.append(pairs[k])
        k = before[k]
    return out[::-1]
