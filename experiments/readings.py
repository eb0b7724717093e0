"""Three readings of section 6.5 of the paper: which pairs of a bucket are compared.

The prose compares the documents of a bucket, but those in one set already. The pseudo-code of
``find_candidate_pairs`` first puts the root of its set in place of each document, which "compresses
the set", and compares all pairs of roots. The third reading does that, and leaves out what has been
united meanwhile.

Source: `experiments.documents.PAPER`, sections 6.3 to 6.5.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from neardup.cluster.methods import lowest

__all__ = ["Reading", "buckets", "of_roots", "similarity_matrix"]


class Reading(NamedTuple):
    """Disjoint sets, and what they took.

    Attributes:
        labels: int32[documents]: the lowest document of each one's set.
        compared: Distinct pairs of documents whose similarity was computed.
    """

    labels: np.ndarray
    compared: int


class _Forest:
    """Disjoint sets whose documents all reach the tree threshold, by the bound of section 6.3."""

    def __init__(self, similarity: np.ndarray, tree_threshold: float) -> None:
        self.compared: set[tuple[int, int]] = set()
        self._similarity = similarity
        self._tree_threshold = tree_threshold
        self._parent = list(range(len(similarity)))
        self._rank = [0] * len(similarity)
        self._low = [1.0] * len(similarity)

    def find(self, x: int) -> int:
        parent = self._parent
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    def compare(self, x: int, y: int) -> float:
        self.compared.add((min(x, y), max(x, y)))
        return float(self._similarity[x, y])

    def unite(self, x: int, y: int) -> None:
        x, y = self.find(x), self.find(y)
        if x == y:
            return
        similarity = self.compare(x, y)
        if self._low[x] + self._low[y] + similarity - 2.0 < self._tree_threshold:
            return
        if (self._rank[y], x) < (self._rank[x], y):
            x, y = y, x  # below goes the one of lower rank, then of the higher number
        self._rank[y] += self._rank[x] == self._rank[y]
        self._parent[x] = y
        self._low[y] = min(self._low[y], self._low[x] - (1.0 - similarity))


def similarity_matrix(count: int, a: np.ndarray, b: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return float64[count, count] of the similarities of pairs ``a``, ``b``; 1 of a document."""
    found = np.eye(count)
    found[a, b] = found[b, a] = values
    return found


def buckets(keys: np.ndarray) -> Iterator[list[int]]:
    """Yield the documents of each bucket of two and more, band by band.

    Args:
        keys: uint64[documents, bands].
    """
    for band in keys.T:
        order = np.argsort(band, kind="stable")
        ends = np.flatnonzero(np.diff(band[order])) + 1
        for bucket in np.split(order, ends):
            if len(bucket) > 1:
                yield bucket.tolist()


def of_roots(
    keys: np.ndarray,
    similarity: np.ndarray,
    thresholds: tuple[float, float],
    *,
    skip_united: bool,
) -> Reading:
    """Make disjoint sets by comparing the roots of each bucket.

    Args:
        keys: uint64[documents, bands].
        similarity: float64[documents, documents].
        thresholds: Of an edge, and of a tree.
        skip_united: Pairs of roots that have been united since are not compared.
    """
    forest = _Forest(similarity, thresholds[1])
    for bucket in buckets(keys):
        roots = sorted({forest.find(document) for document in bucket})
        for x, y in itertools.combinations(roots, 2):
            if skip_united and forest.find(x) == forest.find(y):
                continue
            if forest.compare(x, y) >= thresholds[0]:
                forest.unite(x, y)
    labels = np.array([forest.find(x) for x in range(len(similarity))], dtype=np.int32)
    return Reading(lowest(labels), len(forest.compared))
