"""How well pairs and clusters agree with the truth, from counts: no pair of a cluster is listed.

Pairs completeness, pairs quality and reduction ratio are those of P. Christen, Data Matching,
Springer 2012, chapter 7; B-cubed is from A. Bagga and B. Baldwin, Algorithms for scoring
coreference chains, LREC 1998; the adjusted Rand index from L. Hubert and P. Arabie, Comparing
partitions, Journal of Classification 2, 1985.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

__all__ = ["Agreement", "Scores", "agreement", "codes", "components", "labels_of", "scores"]


class Scores(NamedTuple):
    """Precision, recall and their harmonic mean; NaN where there is nothing to divide by."""

    precision: float
    recall: float
    f1: float


class Agreement(NamedTuple):
    """How two ways to cluster the same documents agree.

    Attributes:
        pairwise: Of the pairs that one cluster holds, over all clusters.
        b_cubed: Mean over documents of the share of its cluster that is true, and of its true
            cluster that is found.
        adjusted_rand: Adjusted Rand index: 1 for equal clusters, about 0 for random ones.
        shared, given, true: Pairs in one cluster in both, in the first, in the second.
    """

    pairwise: Scores
    b_cubed: Scores
    adjusted_rand: float
    shared: int
    given: int
    true: int


def scores(shared: int, given: int, true: int) -> Scores:
    """Return the scores of ``given`` pairs, ``shared`` of which are among the ``true`` ones.

    >>> scores(3, 4, 6)
    Scores(precision=0.75, recall=0.5, f1=0.6)
    """
    return Scores(
        _ratio(shared, given),
        _ratio(shared, true),
        _ratio(2 * shared, given + true),
    )


def agreement(given: np.ndarray, true: np.ndarray) -> Agreement:
    """Compare clusters with the true ones.

    Args:
        given, true: int64[documents]: a label for each document; only equality matters.

    Examples:
        >>> agreement(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])).pairwise
        Scores(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    documents = len(given)
    of_a, of_b = _dense(given), _dense(true)
    a_sizes, b_sizes = np.bincount(of_a), np.bincount(of_b)
    width = max(1, len(b_sizes))
    cells, sizes = np.unique(of_a * width + of_b, return_counts=True)
    shared, in_a, in_b = _pairs(sizes), _pairs(a_sizes), _pairs(b_sizes)
    squares = sizes.astype(np.float64) ** 2
    precision = _ratio(float((squares / a_sizes[cells // width]).sum()), documents)
    recall = _ratio(float((squares / b_sizes[cells % width]).sum()), documents)
    return Agreement(
        scores(shared, in_a, in_b),
        Scores(precision, recall, _ratio(2 * precision * recall, precision + recall)),
        _adjusted_rand(shared, in_a, in_b, documents * (documents - 1) // 2),
        *(shared, in_a, in_b),
    )


def components(documents: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the connected components of some pairs.

    Each round hangs every root under the lowest root that it is paired with, so that at most half
    of the roots that have a pair are left.

    Args:
        documents: Number of documents.
        a, b: int64[pairs].

    Returns:
        int64[documents]: the lowest document of each one's component.
    """
    root = np.arange(documents, dtype=np.int64)
    while True:
        low, high = np.minimum(root[a], root[b]), np.maximum(root[a], root[b])
        apart = low != high
        if not apart.any():
            return root
        a, b = a[apart], b[apart]
        np.minimum.at(root, high[apart], low[apart])
        while True:
            further = root[root]
            if np.array_equal(further, root):
                break
            root = further


def codes(documents: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return each pair of different documents once, as lower * documents + higher, ascending.

    Args:
        documents: Number of documents, below 2**31.
        a, b: int64[pairs], either order.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.unique((low * documents + high)[low != high])


def labels_of(documents: int, docs: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return a label for each document: that of its group, or one of its own.

    Args:
        documents: Number of documents.
        docs: int64[]: documents that have a group.
        groups: int64[]: their groups, from 0.

    Returns:
        int64[documents].
    """
    labels = int(groups.max(initial=-1)) + 1 + np.arange(documents, dtype=np.int64)
    labels[docs] = groups
    return labels


def _dense(labels: np.ndarray) -> np.ndarray:
    """Labels from 0 to not much more than their number, as most are without a sort."""
    if len(labels) and labels.min() >= 0 and labels.max() <= 3 * len(labels):
        return labels.astype(np.int64, copy=False)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _pairs(sizes: np.ndarray) -> int:
    sizes = sizes.astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _adjusted_rand(shared: int, given: int, true: int, all_: int) -> float:
    """From counts of pairs, as whole numbers: their products go beyond 64 bits."""
    if shared == given == true:
        return 1.0
    expected = given * true
    return (shared * all_ - expected) * 2 / ((given + true) * all_ - 2 * expected)
