"""Bounded disjoint sets: clusters in which any two documents reach a minimum similarity.

Jaccard distance obeys the triangle inequality: each root keeps a lower bound of its similarity with
any document of its tree, and few pairs are compared.

Source: "Deduplication in a massive clinical note dataset", Shenoy et al. 2017, section 6.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.cluster.descending import descending, roots
from neardup.cluster.edges import Edges, Triple, batches
from neardup.cluster.methods import lowest
from neardup.kernels import unions as kernels
from neardup.kernels.jaccard import Sets
from neardup.kernels.unions import Trees
from neardup.threads import Pool
from neardup.tuning import TUNING


@dataclass(frozen=True)
class Bound:
    """Inputs of `bounded` besides the edges."""

    content: np.ndarray  # uint64[n]: hashes of contents; equal ones leave ties to the numbers
    sets: Sets  # of all documents in the edges
    tree_threshold: float  # minimum similarity of any two documents of a cluster
    pool: Pool


@dataclass(frozen=True)
class Bounded:
    labels: np.ndarray  # int32[n]: the lowest document of each one's cluster
    unions: int  # number of clusters merged
    refused: int  # number of edges between two clusters that may not merge
    root_comparisons: int  # number of pairs of roots that were compared to decide that


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
    trees = new_trees(degree, bound.content)
    batch = descending(edges, trees.content, trees.parent, bound.pool)
    counts = [(0, 0, 0), *(unite(columns, 0.0, trees, bound) for columns in batch)]
    return Bounded(lowest(roots(trees.parent, trees.parent)), *map(sum, zip(*counts, strict=True)))


def new_trees(degree: np.ndarray, content: np.ndarray) -> Trees:
    """Return each document as a tree of its own."""
    n = len(degree)
    parent, rank = np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
    content = np.ascontiguousarray(content, dtype=np.uint64)
    refused = np.zeros(TUNING.refused_roots, np.uint64)
    return Trees(parent, rank, np.ones(n), degree, content, refused)


def unite(columns: Triple, threshold: float, trees: Trees, bound: Bound) -> tuple[int, int, int]:
    """Merge along pairs in the order given; similarities that are NaN are computed, and set.

    Returns the numbers of clusters merged, of pairs refused, and of roots compared. It runs in a
    thread, as the main one has to listen for Ctrl-C.
    """
    thresholds = threshold, bound.tree_threshold
    work = partial(kernels.unite_bounded, *columns, *thresholds, trees, bound.sets)
    unions, refused, compared = bound.pool.submit(work).result()
    return unions, refused, compared
