"""The definition of copied passages in plain Python: a dict of tuples of words."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

Position = tuple[int, int]


class Passage(NamedTuple):
    document: int
    first: int
    words: int
    source: Position
    origin: Position
    documents: int
    kind: str


class Oracle:
    """All repeated runs and passages of documents in keep order.

    ``groups`` has a value for each document, None for none, and ``others`` says whether sources are
    in other groups. The first ``old`` documents have no passages.
    """

    def __init__(
        self,
        documents: Sequence[Sequence[Any]],
        length: int,
        rule: str = "longest",
        groups: Sequence[Any] | None = None,
        others: bool = False,
        boilerplate: int = 0,
        old: int = 0,
    ) -> None:
        self.documents, self.length, self.rule = documents, length, rule
        self.groups, self.others, self.boilerplate = groups, others, boilerplate
        self.places: dict[tuple[Any, ...], list[Position]] = {}
        for d, words in enumerate(documents):
            for i in range(len(words) - length + 1):
                self.places.setdefault(tuple(words[i : i + length]), []).append((d, i))
        self.passages = [
            passage for d in range(old, len(documents)) for passage in self._passages(d)
        ]

    def bridges(self, gap: int) -> tuple[list[int | None], list[int]]:
        """The first passage of the joined ones that each passage is in; changed words before it."""
        joined: list[int | None] = [None] * len(self.passages)
        changed = [0] * len(self.passages)
        for i in range(1, len(self.passages)):
            one, two = self.passages[i - 1 : i + 1]
            if one.document != two.document or one.source[0] != two.source[0]:
                continue
            here = two.first - one.first - one.words
            there = two.source[1] - one.source[1] - one.words
            if two.source[1] >= one.source[1] and max(here, there) <= gap:
                joined[i - 1] = i - 1 if joined[i - 1] is None else joined[i - 1]
                joined[i] = joined[i - 1]
                changed[i] = max(0, here)
        return joined, changed

    def run(self, d: int, i: int) -> tuple[Any, ...]:
        return tuple(self.documents[d][i : i + self.length])

    def holders(self, d: int, i: int) -> int:
        return len({e for e, _ in self.places[self.run(d, i)]})

    def is_common(self, d: int, i: int) -> bool:
        return 0 < self.boilerplate <= self.holders(d, i)

    def earlier(self, d: int, i: int) -> list[Position]:
        found = [
            (e, j)
            for e, j in self.places[self.run(d, i)]
            if e < d or (e == d and j <= i - self.length)
        ]
        if self.groups is None or self.is_common(d, i):
            return found
        own = self.groups[d]
        if own is None:
            return []
        return [
            (e, j)
            for e, j in found
            if self.groups[e] is not None and (self.groups[e] != own) == self.others
        ]

    def reach(self, d: int, p: int, source: Position) -> int:
        e, j = source
        count = 0
        while p + count + self.length <= len(self.documents[d]):
            k = p + count
            if j + count + self.length > len(self.documents[e]):
                break
            if self.run(d, k) != self.run(e, j + count) or not self.earlier(d, k):
                break
            if self.is_common(d, k) != self.is_common(d, p):
                break
            count += 1
        return count

    def _passages(self, d: int) -> list[Passage]:
        found, p = [], 0
        while p + self.length <= len(self.documents[d]):
            earlier = self.earlier(d, p)
            if not earlier:
                p += 1
                continue
            origin, latest = earlier[0], earlier[-1]
            if self.rule == "first":
                source = origin
            elif self.rule == "latest":
                source = latest
            else:
                source = max([latest, origin], key=lambda s: (self.reach(d, p, s), s))
            reach = self.reach(d, p, source)
            while self.rule == "longest":
                k = p + reach
                if k + self.length > len(self.documents[d]) or not self.earlier(d, k):
                    break
                if self.is_common(d, k) != self.is_common(d, p):
                    break
                moved = [(e, j - reach) for e, j in (self.earlier(d, k)[0], self.earlier(d, k)[-1])]
                moved = [s for s in moved if s[1] >= 0]
                best = max(moved, key=lambda s: (self.reach(d, p, s), s), default=source)
                if self.reach(d, p, best) <= reach:
                    break
                source, reach = best, self.reach(d, p, best)
            kind = "within" if source[0] == d else "copy"
            kind = "boilerplate" if self.is_common(d, p) else kind
            documents = min(self.holders(d, p + i) for i in range(reach))
            words = reach + self.length - 1
            found.append(Passage(d, p, words, source, origin, documents, kind))
            p += reach
        return found


def planted(rng: random.Random) -> list[list[str]]:
    """Documents over a few words, with parts and wholes of earlier ones in them, or a template."""
    template = [rng.choice("abcxyz") for _ in range(rng.randrange(30))] * (rng.random() < 0.4)
    words = list("abcdefghijklmnopqrst")[: rng.choice([1, 2, 3, 4, 5, 20])]
    made: list[list[str]] = []
    field = rng.randrange(len(template) + 1)  # a word of the template that differs
    for _ in range(rng.choice([rng.randrange(12), rng.randrange(12), 30])):
        document = [rng.choice(words) for _ in range(rng.randrange(30))]
        for _ in range(rng.randrange(3)):
            if made and (other := rng.choice(made)):
                at = rng.randrange(len(other))
                where = rng.randrange(len(document) + 1)
                document[where:0] = other[at : at + rng.randrange(1, 25)]
        if rng.random() < 0.8:
            at = rng.choice([0, rng.randrange(len(document) + 1)])
            document[at:at] = template
            if template and rng.random() < 0.5:
                document[at + field : at + field] = [rng.choice(words)]
        made.append(list(rng.choice(made)) if made and rng.random() < 0.1 else document)
    return made


def spans(words: list[str]) -> list[tuple[int, int]]:
    """Characters of the words of a text that blanks separate."""
    found, at = [], 0
    for word in words:
        found.append((at, at + len(word)))
        at += len(word) + 1
    return found


def expected_rows(oracle: Oracle, ids: list[Any], old: int) -> list[list[Any]]:
    documents = [spans(words) for words in oracle.documents]
    rows = []
    for p in oracle.passages:
        of, source = documents[p.document], documents[p.source[0]]
        rows.append(
            [
                *(ids[p.document], of[p.first][0], of[p.first + p.words - 1][1], p.words),
                *(ids[p.source[0]], source[p.source[1]][0]),
                source[p.source[1] + p.words - 1][1],
                *(ids[p.origin[0]], documents[p.origin[0]][p.origin[1]][0]),
                *(p.documents, p.kind),
                *([p.source[0] < old, p.origin[0] < old] if old else []),
            ]
        )
    return rows
