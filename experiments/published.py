"""Disjoint sets of candidate pairs in a given order, as published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.cluster.bounded import Bound, Bounded, new_trees, unite
from neardup.cluster.descending import roots
from neardup.cluster.edges import Edges, check_range
from neardup.cluster.methods import lowest
from neardup.kernels.jaccard import Sets
from neardup.threads import Pool

__all__ = ["Published", "bounded_in_given_order"]


@dataclass(frozen=True)
class Published(Bounded):
    """Bounded clusters of candidate pairs."""

    edges: Edges  # pairs that were compared and reach the threshold
    compared: int  # number of candidate pairs that were compared
    saved: int  # number of those that were in one cluster already, and were not compared


def bounded_in_given_order(
    sets: Sets, a: np.ndarray, b: np.ndarray, threshold: float, tree_threshold: float
) -> Published:
    """Make bounded clusters of candidate pairs in the order given.

    Pairs within one cluster are not compared. The result depends on the order of pairs, and of the
    documents ``a`` and ``b``, int32[pairs]; that of `neardup.cluster.bounded.bounded` does not.
    """
    n = len(sets.size)
    check_range(a, b, n)
    a, b = (np.array(column, dtype=np.int32) for column in (a, b))
    # Without degrees, and with numbers for contents, the lower of two roots stays one.
    trees = new_trees(np.zeros(n, dtype=np.int32), np.arange(n))
    similarity = np.full(len(a), np.nan)
    with Pool(1) as pool:
        bound = Bound(trees.content, sets, tree_threshold, pool)
        unions, refused, roots_compared = unite((a, b, similarity), threshold, trees, bound)
    saved = int(np.isnan(similarity).sum())
    reach = similarity >= threshold
    x, y = a[reach], b[reach]
    edges = Edges.gather([(np.minimum(x, y), np.maximum(x, y), similarity[reach])])
    labels = lowest(roots(trees.parent, trees.parent))
    return Published(labels, unions, refused, roots_compared, edges, len(a) - saved, saved)
