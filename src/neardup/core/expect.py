"""What a sample of blocks of documents says of the whole corpus. Pure arithmetic on arrays.

The corpus is thought of as cut into blocks of documents, some of which were drawn by chance. A
pair of documents of one block is in the sample if that block is: one in ``ratio``. A pair from two
blocks is in it if both are, which is about one in ``ratio**2``. Each pair that is seen counts for
as many as it stands for (Horvitz and Thompson, JASA 47, 1952); nothing is assumed of what documents
have in common. Exact if the sample is the whole corpus.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.core.band import Buckets
from neardup.core.tune import candidate_probability

__all__ = [
    "FAMILY",
    "About",
    "Drawn",
    "PairCounts",
    "copies",
    "documents",
    "joined",
    "no_pairs",
    "pair_counts",
    "partners_met",
    "recall",
    "share_removed",
]

#: Groups of blocks that are left out in turn, to see how much an estimate depends on chance.
_GROUPS = 16
#: Documents of the sample that share a bucket with at least so many others are taken as those of a
#: family, all of which meet another one; others as having a copy here and there.
FAMILY = 3


class About(NamedTuple):
    """An estimate.

    Attributes:
        value: What is expected.
        low, high: Within which it lies in some 95 of 100 cases.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Drawn:
    """How a sample was drawn.

    Attributes:
        block: int32[documents]: block of each document of the sample, from 0.
        blocks: Blocks that were drawn.
        ratio: Documents of the corpus for each of the sample; 1 if it is the whole.
        everywhere: The blocks come from all over the corpus. If they don't, copies of a document
            are taken to lie where the document does.
    """

    block: np.ndarray
    blocks: int
    ratio: float
    everywhere: bool = True

    @property
    def whole(self) -> bool:
        return self.ratio <= 1

    @property
    def across(self) -> float:
        """Pairs of documents of different blocks in the corpus, for each in the sample."""
        return self._across(self.blocks)

    def _across(self, blocks: float) -> float:
        if self.whole:
            return 1.0
        total = self.ratio * self.blocks
        return total * (total - 1) / (blocks * (blocks - 1)) if blocks > 1 else self.ratio**2

    def weights(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return float64[pairs]: for how many pairs each pair of documents stands.

        Args:
            a, b: int[pairs]: positions in the sample.
        """
        return np.where(self.block[a] == self.block[b], self.ratio, self.across)


def documents(sizes: np.ndarray, counts: np.ndarray, total: float) -> About:
    """Return how many documents a corpus has, by the sizes of some blocks of it.

    A ratio estimate; its variance by the residuals of the blocks (Cochran, Sampling Techniques,
    1977, section 6.4).

    Args:
        sizes: float64[blocks]: bytes of each block.
        counts: float64[blocks]: documents in each.
        total: Bytes of the corpus.
    """
    rate = counts.sum() / max(1.0, sizes.sum())
    value = total * rate
    b = len(sizes)
    if sizes.sum() >= total or b < 2:
        return About(value, value, value)
    spread = float(((counts - rate * sizes) ** 2).sum() / (b - 1))
    blocks = total / (sizes.sum() / b)
    error = 2 * blocks * math.sqrt(spread / b * max(0.0, 1 - b / blocks))
    return About(value, max(float(counts.sum()), value - error), value + error)


@dataclass
class PairCounts:
    """Pairs of documents in buckets.

    Attributes:
        drawn: How the documents were drawn.
        between: float64[groups, groups]: pairs of documents of two groups of blocks, each way; on
            the diagonal twice those within a group.
        within: float64[groups]: pairs of documents of one block.
    """

    drawn: Drawn
    between: np.ndarray
    within: np.ndarray

    def expected(self) -> About:
        """Return how many there are in the corpus. Their variance is that of the jackknife."""
        value = self._total(np.ones(_GROUPS, dtype=np.bool_))
        if self.drawn.whole:
            return About(value, value, value)
        used = np.unique(np.arange(self.drawn.blocks) % _GROUPS)
        if len(used) < 3:
            return About(value, self.seen, 4 * value)
        left = []
        for group in used:
            kept = np.ones(_GROUPS, dtype=np.bool_)
            kept[group] = False
            left.append(self._total(kept))
        n = len(used)
        error = 2 * math.sqrt((n - 1) / n * float(((np.array(left) - np.mean(left)) ** 2).sum()))
        return About(value, max(self.seen, value - error), value + error)

    @property
    def seen(self) -> float:
        """Pairs in the sample."""
        return float(self.between.sum() / 2)

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(self.drawn, self.between + other.between, self.within + other.within)

    def _total(self, kept: np.ndarray) -> float:
        drawn = self.drawn
        numbers = np.arange(drawn.blocks) % _GROUPS
        blocks = int(kept[numbers].sum())
        within = float(self.within[kept].sum())
        every = float(self.between[np.ix_(kept, kept)].sum() / 2)
        ratio = drawn.ratio * drawn.blocks / max(1, blocks)
        return ratio * within + drawn._across(blocks) * (every - within)


def no_pairs(drawn: Drawn) -> PairCounts:
    """Return what other counts are added to."""
    return PairCounts(drawn, np.zeros((_GROUPS, _GROUPS)), np.zeros(_GROUPS))


def pair_counts(found: Buckets, drawn: Drawn) -> PairCounts:
    """Count the pairs of documents that share a bucket of one band.

    Args:
        found: Buckets of the sample.
        drawn: How its documents were drawn.
    """
    sizes = np.diff(found.starts).astype(np.int64)
    bucket = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    block = drawn.block[found.members].astype(np.int64)
    group = block % _GROUPS
    between = np.zeros((_GROUPS, _GROUPS))
    for low in range(0, len(sizes), 1 << 16):  # so that a table of them stays small
        high = min(low + (1 << 16), len(sizes))
        rows = slice(int(found.starts[low]), int(found.starts[high]))
        cells = (bucket[rows] - low) * _GROUPS + group[rows]
        table = np.bincount(cells, minlength=(high - low) * _GROUPS).reshape(-1, _GROUPS)
        table = table.astype(np.float64)
        between += table.T @ table
    between -= np.diag(np.bincount(group, minlength=_GROUPS))
    cells, together = np.unique(bucket * drawn.blocks + block, return_counts=True)
    within = np.bincount(
        cells % drawn.blocks % _GROUPS, together * (together - 1) / 2, minlength=_GROUPS
    )
    return PairCounts(drawn, between, within)


def share_removed(partners: float) -> float:
    """Return which share of documents goes, at most, where each has so many copies on average.

    Of a group of g equal documents g - 1 go, a share of 1 - 1/g, which is concave in g: there are
    most where all groups are about equally large.

    >>> share_removed(0.2), share_removed(1.0), round(share_removed(2.0), 3)
    (0.1, 0.5, 0.667)
    """
    whole = math.floor(partners)
    low, high = whole / (whole + 1), (whole + 1) / (whole + 2)
    return low + (partners - whole) * (high - low)


def copies(first: np.ndarray, docs: np.ndarray, drawn: Drawn) -> About:
    """Return how many documents of the corpus are equal to an earlier one.

    A document and its one copy are both in a sample only once in ``ratio**2``, so that few pairs
    stand for many. Groups of three and more in the sample are taken as groups of proportionally
    many in the corpus.

    Args:
        first: int32[sample]: first document of the sample that is equal, see
            `neardup.core.exact.first_of_group`.
        docs: int32[]: those that are not empty.
        drawn: How they were drawn.
    """
    leaders, counts = np.unique(first[docs], return_counts=True)
    seen = len(docs) - len(leaders)
    if drawn.whole:
        return About(seen, seen, seen)
    total = len(docs) * drawn.ratio
    large = counts >= 3
    in_large = float(counts[large].sum()) * drawn.ratio
    of_large = in_large - int(large.sum())
    repeats = docs[first[docs] != docs]
    pair = np.isin(first[repeats], leaders[counts == 2])
    a, b = first[repeats[pair]], repeats[pair]
    most = max(float(seen), total - len(leaders))
    rest = max(1.0, total - in_large)

    def of_pairs(weight: float) -> float:
        return min(most, of_large + rest * share_removed(2 * weight / rest))

    def at_least(weight: float) -> float:
        # Copies of copies: sizes of groups fall geometrically. With p others on average,
        # a share of p / (2 + p) goes.
        return min(most, of_large + rest * weight / (rest + weight))

    n = len(a)
    if not drawn.everywhere:
        # Nothing tells whether the copy of a text is near it or anywhere.
        return About(drawn.ratio * seen, seen, of_pairs(n * drawn.across))
    weight = float(drawn.weights(a, b).sum())
    error = 2 * math.sqrt(n + 1) / max(1, n)
    unseen = drawn.across * 3 if n == 0 else 0.0
    return About(
        of_pairs(weight),
        max(float(seen), at_least(weight * max(0.0, 1 - error))),
        of_pairs(weight * (1 + error) + unseen),
    )


def partners_met(partners: np.ndarray, alone: float, drawn: Drawn) -> float:
    """Return how many documents of the corpus share a bucket with another one.

    Those that have something with many others in common do so with few of them in a sample. How
    many documents that concerns is told by how often the same ones turn up: of F documents that
    meet others by chance, E meetings touch F (1 - exp(-E / F)).

    Args:
        partners: int64[documents]: with how many others of the sample each shares a bucket, or a
            lower bound where they are many; 0 for two that meet nobody but each other. Of the
            documents that take part.
        alone: Pairs of the corpus for which such two stand.
        drawn: How the sample was drawn.
    """
    total = len(partners) * drawn.ratio
    touched, meetings = int((partners > 0).sum()), float(partners.sum())
    of_many = 0.0
    if touched:
        sociable = _of_whom(touched, meetings, len(partners))
        of_many = sociable * drawn.ratio * -math.expm1(-meetings / sociable * drawn.ratio)
    rest = max(1.0, total - of_many)
    return of_many + rest * -math.expm1(-2 * alone / rest)


def _of_whom(touched: int, meetings: float, most: int) -> float:
    """Solve touched = F (1 - exp(-meetings / F)) for F, by halving; ``most`` if it is beyond."""
    low, high = float(touched), float(most)
    if high <= low or high * -math.expm1(-meetings / high) <= touched:
        return high
    for _ in range(50):
        middle = (low + high) / 2
        if middle * -math.expm1(-meetings / middle) < touched:
            low = middle
        else:
            high = middle
    return high


def recall(
    similarity: np.ndarray, weights: np.ndarray, num_bands: int, rows: int, threshold: float
) -> About:
    """Return which share of the pairs that reach a threshold is found.

    Each pair that was found stands for 1 / P(found). At the least it is what pairs exactly at the
    threshold have, less what chance may take from so few pairs as there are; at the most 1.

    Args:
        similarity: float64[pairs]: of pairs of the sample that share a bucket.
        weights: float64[pairs]: for how many pairs of the corpus each stands.
        num_bands, rows: Of the bands.
        threshold: The edge threshold.
    """
    least = candidate_probability(threshold, num_bands, rows)
    edges = similarity >= threshold
    found = weights[edges]
    total = max(1.0, float(found.sum()))
    value = least
    if edges.any():
        chance = np.array(
            [candidate_probability(float(s), num_bands, rows) for s in similarity[edges]]
        )
        value = float(found.sum() / (found / chance).sum())
    # Wilson, JASA 22, 1927.
    middle = (least + 2 / total) / (1 + 4 / total)
    half = 2 * math.sqrt(least * (1 - least) / total + 1 / total**2) / (1 + 4 / total)
    return About(value, max(0.0, middle - half), 1.0)


def joined(a: np.ndarray, b: np.ndarray, size: int) -> int:
    """Return how many documents a graph of pairs saves: documents less connected components."""
    parent = np.arange(size)

    def find(x: int) -> int:
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = int(parent[x])
        return x

    merged = 0
    pairs: Sequence[tuple[int, int]] = list(zip(a.tolist(), b.tolist(), strict=True))
    for x, y in pairs:
        x, y = find(x), find(y)
        if x != y:
            parent[x] = y
            merged += 1
    return merged
