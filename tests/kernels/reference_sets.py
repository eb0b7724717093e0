"""Plain-Python references of the kernels that compare sets: obvious, and slow.

Sets are sorted lists of integers, buckets are lists of documents, and a document is a number.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

__all__ = [
    "LANES",
    "State",
    "add_to_chains",
    "against_kept",
    "among_themselves",
    "count_candidates",
    "count_shingles",
    "drop_common",
    "fill_bitmaps",
    "group_keys",
    "jaccard",
    "keep_reachable",
    "mark_plausible",
    "may_reach",
    "name_buckets",
    "needed_overlap",
    "pairs_with_old",
    "probe",
    "rank_prefixes",
    "remember",
    "share_a_bucket",
    "tally_pairs",
    "verify",
    "weighted_overlap",
    "window_pairs",
]

LANES = 64
Values = Sequence[int]


def fill_bitmaps(values: Values, words: int, distinct: bool) -> list[int]:
    """Fold values into ``64 * words`` bits by their leading bits: flipped, or set."""
    bits = (64 * words - 1).bit_length()
    bitmap = 0
    for value in values:
        bit = 1 << (value >> (64 - bits))
        bitmap = bitmap ^ bit if distinct else bitmap | bit
    return [bitmap >> 64 * word & 2**64 - 1 for word in range(words)]


def needed_overlap(total: int, threshold: float) -> int:
    """The smallest overlap of sets of so many members together that reaches a threshold."""
    return next((o for o in range(total) if o / (total - o) >= threshold), total)


def jaccard(one: Values, other: Values, threshold: float = 0.0) -> float:
    """Similarity of two sets if it reaches the threshold; else, or where both are empty, -1."""
    together = len(set(one) | set(other))
    similarity = len(set(one) & set(other)) / together if together else -1.0
    return similarity if similarity >= threshold else -1.0


def may_reach(sizes: tuple[int, int], bitmaps: tuple[Values, Values], threshold: float) -> bool:
    """Whether at most the share of members that a threshold permits is in one of two sets alone."""
    limit = (1.0 - threshold) / (1.0 + threshold) * sum(sizes) + 1e-6
    alone = sum((x ^ y).bit_count() for x, y in zip(*bitmaps, strict=True))
    return abs(sizes[0] - sizes[1]) <= limit and alone <= limit


def remember(docs: Values, sets: Sequence[Values], slots: int) -> dict[int, Values]:
    """Of documents with their sets, each that is the last one in its slot."""
    last = {doc % slots: (doc, values) for doc, values in zip(docs, sets, strict=True)}
    return dict(last.values())


def keep_reachable(
    sets: Sequence[Values],
    known: dict[int, Values],
    pairs: Sequence[tuple[int, int]],
    threshold: float,
    words: int,
) -> list[tuple[int, int]]:
    """Pairs of a set and a document that is not known, or that `may_reach` leaves."""

    def reachable(one: Values, two: Values) -> bool:
        bitmaps = fill_bitmaps(one, words, True), fill_bitmaps(two, words, True)
        return may_reach((len(one), len(two)), bitmaps, threshold)

    return [(x, d) for x, d in pairs if d not in known or reachable(sets[x], known[d])]


def verify(
    sets: Sequence[Values], pairs: Sequence[tuple[int, int]], threshold: float
) -> list[float]:
    """Similarity of each pair; -1 below the threshold."""
    return [jaccard(sets[a], sets[b], threshold) for a, b in pairs]


def group_keys(keys: Values) -> list[list[int]]:
    """Buckets of two documents and more, by key, documents ascending."""
    groups: dict[int, list[int]] = {}
    for doc, key in enumerate(keys):
        groups.setdefault(key, []).append(doc)
    return [groups[key] for key in sorted(groups) if len(groups[key]) > 1]


def mark_plausible(
    buckets: Sequence[Values], sizes: Values, bitmaps: Sequence[Values], threshold: float
) -> set[int]:
    """Documents of large buckets, and pairs of small ones whose bitmaps differ little."""
    limit = (1.0 - threshold) / (1.0 + threshold)
    marked: set[int] = set()
    for docs in buckets:
        if len(docs) > 64:
            marked.update(docs)
            continue
        for i, x in enumerate(docs):
            for y in docs[:i]:
                alone = sum(
                    (p ^ q).bit_count() for p, q in zip(bitmaps[x], bitmaps[y], strict=True)
                )
                if alone <= limit * (sizes[x] + sizes[y]) + 1e-6:
                    marked.update((x, y))
    return marked


def name_buckets(buckets: Sequence[Values], first: int, documents: int) -> list[int]:
    """The bucket of each document, counted from ``first``; -1 where it is in none."""
    of = [-1] * documents
    for number, docs in enumerate(buckets, first):
        for doc in docs:
            of[doc] = number
    return of


def share_a_bucket(of: Sequence[Values], x: int, y: int) -> bool:
    """Whether two documents are in one bucket in any band."""
    return any(a == b != -1 for a, b in zip(of[x], of[y], strict=True))


@dataclass
class State:
    """What is decided so far.

    Attributes:
        sets: Of all documents.
        of: Buckets of each document, one for each band; -1 where it is alone.
        threshold: Similarity that makes a duplicate.
        limit: Kept documents that a bucket holds.
        old: Documents that are kept, whatever they are similar to: the first ones.
        kept: Those of each bucket.
        beyond: Kept documents that a bucket has no place for.
        answers: Document that each removed one is a duplicate of.
        not_compared: Pairs that full buckets left out.
    """

    sets: Sequence[Values]
    of: Sequence[Values]
    threshold: float
    limit: int = 2**31 - 1
    old: int = 0
    kept: dict[int, list[int]] = field(default_factory=dict)
    beyond: dict[int, int] = field(default_factory=dict)
    answers: dict[int, int] = field(default_factory=dict)
    not_compared: int = 0

    def first_similar(self, x: int, lowest: int) -> int | None:
        """The first kept document from ``lowest`` on in a bucket of x that is similar to it."""
        docs = {y for b in self.of[x] if b >= 0 for y in self.kept.get(b, ()) if y >= lowest}
        similar = (y for y in docs if jaccard(self.sets[x], self.sets[y], self.threshold) >= 0)
        return min(similar, default=None)


def against_kept(state: State, first: int, last: int) -> None:
    """Compare some documents with those kept before; an answer that is there may be improved."""
    for x in range(first, last):
        found = state.first_similar(x, 0)
        if found is not None:
            state.answers[x] = min(found, state.answers.get(x, found))


def among_themselves(state: State, first: int, last: int) -> None:
    """Decide some documents that were compared with all before the first of them."""
    for x in range(first, last):
        if x in state.answers:
            continue
        found = state.first_similar(x, first)
        if found is not None and x >= state.old:
            state.answers[x] = found
            continue
        for bucket in state.of[x]:
            if bucket < 0:
                continue
            kept = state.kept.setdefault(bucket, [])
            state.not_compared += state.beyond.get(bucket, 0)
            new = [y for y in kept if y >= state.old]
            if x < state.old or len(new) < state.limit:
                kept.append(x)
            else:
                state.beyond[bucket] = state.beyond.get(bucket, 0) + 1


def window_of(members: int) -> int:
    """How many following documents each one of a bucket is compared with: 2**20 pairs, or 256."""
    return max(256, 2**20 // members)


def window_pairs(docs: Sequence[int], buckets: Sequence[Values]) -> set[tuple[int, int]]:
    """Pairs of some documents with those that follow within the window of a bucket."""
    return {
        (x, y)
        for members in buckets
        for place, x in enumerate(members)
        for y in members[place + 1 : place + 1 + window_of(len(members))]
        if x in docs
    }


def count_candidates(keys: Sequence[Sequence[int]]) -> int:
    """Return how many pairs have a key in common, at the same position."""
    return sum(any(map(operator.eq, one, other)) for one, other in combinations(keys, 2))


def tally_pairs(
    pairs: Sequence[tuple[int, int, float]], cluster: Sequence[int], classes: int
) -> tuple[dict[float, int], dict[tuple[int, float], int]]:
    """Count pairs by the lowest similarity of their class: all, and those of each cluster."""
    low = [int(similarity * classes) / classes for _, _, similarity in pairs]
    inner = [
        (cluster[a], k) for (a, b, _), k in zip(pairs, low, strict=True) if cluster[a] == cluster[b]
    ]
    return dict(Counter(low)), dict(Counter(inner))


def pairs_with_old(
    docs: Sequence[int], old: int, buckets: Sequence[Values]
) -> set[tuple[int, int]]:
    """Pairs of the old documents of a bucket with some others."""
    return {
        (y, x) for members in buckets for x in members for y in members if y < old and x in docs
    }


def count_shingles(sets: Sequence[Values], counters: int) -> list[int]:
    """How often shingles occur, by their lowest bits."""
    counts = [0] * counters
    for values in sets:
        for value in values:
            counts[value % counters] += 1
    return counts


def rank_prefixes(values: Values, counts: Values, length: int) -> list[int]:
    """The rarest shingles of a set as numbers: 20 bits of frequency above 44 bits of hash."""
    ranks = [
        min(counts[value % len(counts)], 2**20 - 1) << 44 | (value >> 20) % 2**44
        for value in values
    ]
    return sorted(ranks)[:length]


def add_to_chains(prefixes: Sequence[tuple[int, Values]]) -> dict[int, list[int]]:
    """Documents by shingle; last added first."""
    chains: dict[int, list[int]] = {}
    for doc, values in prefixes:
        for value in values:
            chains.setdefault(value, []).insert(0, doc)
    return chains


def probe(
    sets: Sequence[Values], docs: Sequence[int], indexed: Sequence[int], threshold: float
) -> list[tuple[int, int, float]]:
    """All (earlier, later, similarity) of a document and an indexed one before it, by both."""
    return [
        (y, x, similarity)
        for x in docs
        for y in sorted(indexed)
        if y < x and (similarity := jaccard(sets[x], sets[y], threshold)) >= 0
    ]


def weighted_overlap(
    sets: Sequence[Values], weights: Sequence[float], pairs: Sequence[tuple[int, int]]
) -> list[tuple[float, float]]:
    """Weight of what pairs of sets share, and of what they have together, by the last bits."""

    def weight(values: set[int]) -> float:
        return sum(weights[value & len(weights) - 1] for value in values)

    return [
        (weight(set(sets[a]) & set(sets[b])), weight(set(sets[a]) | set(sets[b]))) for a, b in pairs
    ]


def drop_common(sets: Sequence[Values], common: Sequence[bool]) -> list[list[int]]:
    """Sets without the values that are common by their last bits; all of those without others."""
    rare = [[v for v in values if not common[v & len(common) - 1]] for values in sets]
    return [found or list(values) for found, values in zip(rare, sets, strict=True)]
