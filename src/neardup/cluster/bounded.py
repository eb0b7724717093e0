"""Bounded disjoint sets: clusters in which any two documents reach a minimum similarity.

Jaccard distance obeys the triangle inequality: each root keeps a lower bound of its similarity with
any document of its tree, and few pairs are compared.

Source: "Deduplication in a massive clinical note dataset", Shenoy et al. 2017, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.cluster.components import lowest
from neardup.cluster.descending import descending, roots
from neardup.cluster.edges import Edges, Triple, batches, check_range
from neardup.kernels import unions as kernels
from neardup.kernels.jaccard import Sets
from neardup.kernels.unions import Trees
from neardup.threads import Pool

#: Pairs of roots that are remembered as refused.
_REFUSED = 1 << 18


@dataclass(frozen=True)
class Bound:
    """What `bounded` needs besides the edges."""

    content: np.ndarray  # uint64[n]: hashes of contents; equal ones leave ties to the numbers
    sets: Sets  # of all documents in the edges
    tree_threshold: float  # minimum similarity of any two documents of a cluster
    pool: Pool


@dataclass(frozen=True)
class Bounded:
    """Bounded clusters."""

    labels: np.ndarray  # int32[n]: the lowest document of each one's cluster
    unions: int  # number of clusters merged
    refused: int  # number of edges between two clusters that may not merge
    root_comparisons: int  # number of pairs of roots that were compared to decide that


@dataclass(frozen=True)
class Published(Bounded):
    """Bounded clusters of candidate pairs."""

    edges: Edges  # pairs that were compared and reach the threshold
    compared: int  # number of candidate pairs that were compared
    saved: int  # number of those that were in one cluster already, and were not compared


def bounded(edges: Edges, n: int, bound: Bound) -> Bounded:
    """Merge clusters along edges from the most similar one down, where the bound permits it.

    Of two roots of equal rank the one with more edges stays a root, since the bound is less loose
    where a root is in the middle. Other ties are broken by content. So clusters depend neither on
    the order of documents nor on that of edges, and connected components not on each other.
    """
    edges.check(n)
    degree = np.zeros(n, dtype=np.int32)
    for rows in batches(len(edges)):
        for docs in (edges.a[rows], edges.b[rows]):
            degree += np.bincount(docs, minlength=n).astype(np.int32)
    trees = _trees(degree, bound.content)
    batch = descending(edges, trees.content, trees.parent, bound.pool)
    counts = [(0, 0, 0), *(_unite(columns, 0.0, trees, bound) for columns in batch)]
    return Bounded(lowest(roots(trees.parent, trees.parent)), *map(sum, zip(*counts, strict=True)))


def bounded_in_given_order(
    sets: Sets, a: np.ndarray, b: np.ndarray, threshold: float, tree_threshold: float
) -> Published:
    """Make bounded clusters of candidate pairs in the order given, as published.

    Pairs within one cluster are not compared. The result depends on the order of pairs, and of the
    documents ``a`` and ``b``, int32[pairs]; that of `bounded` does not.
    """
    n = len(sets.size)
    check_range(a, b, n)
    a, b = (np.array(column, dtype=np.int32) for column in (a, b))
    # Without degrees, and with numbers for contents, the lower of two roots stays one.
    trees = _trees(np.zeros(n, dtype=np.int32), np.arange(n))
    similarity = np.full(len(a), np.nan)
    with Pool(1) as pool:
        bound = Bound(trees.content, sets, tree_threshold, pool)
        unions, refused, roots_compared = _unite((a, b, similarity), threshold, trees, bound)
    saved = int(np.isnan(similarity).sum())
    reach = similarity >= threshold
    x, y = a[reach], b[reach]
    edges = Edges.gather([(np.minimum(x, y), np.maximum(x, y), similarity[reach])])
    labels = lowest(roots(trees.parent, trees.parent))
    return Published(labels, unions, refused, roots_compared, edges, len(a) - saved, saved)


def _trees(degree: np.ndarray, content: np.ndarray) -> Trees:
    """Return each document as a tree of its own."""
    n = len(degree)
    parent, rank = np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
    content = np.ascontiguousarray(content, dtype=np.uint64)
    return Trees(parent, rank, np.ones(n), degree, content, np.zeros(_REFUSED, dtype=np.uint64))


def _unite(columns: Triple, threshold: float, trees: Trees, bound: Bound) -> tuple[int, int, int]:
    """Run `kernels.unite_bounded` in a thread, as the main one has to listen for Ctrl-C."""
    thresholds = threshold, bound.tree_threshold
    work = partial(kernels.unite_bounded, *columns, *thresholds, trees, bound.sets)
    unions, refused, compared = bound.pool.submit(work).result()
    return unions, refused, compared
