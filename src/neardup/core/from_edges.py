"""Clusters of edges that are all there: one function for every clustering."""

from __future__ import annotations

import numpy as np

from neardup.core.bounded import bounded_in_order, bounded_mst
from neardup.core.edges import EdgeLog, Edges
from neardup.core.growing import Counts
from neardup.core.louvain import louvain
from neardup.core.second import second_round
from neardup.core.space import Space
from neardup.core.star import star_of_edges
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.spec import Spec

__all__ = ["cluster_edges", "merge_clusters"]


def cluster_edges(
    spec: Spec,
    edges: EdgeLog | Edges,
    sets: ShingleSets,
    priority: np.ndarray,
    pool: Pool,
    counts: Counts | None = None,
    space: Space | None = None,
) -> np.ndarray:
    """Make clusters of edges, as the spec asks for, without the second round.

    For a clustering that goes by the order of the edges (``bounded``) this is their canonical
    order: by the lower position, then by the higher one.

    Args:
        spec: Clustering, tree threshold and seed.
        edges: Pairs that reach the edge threshold, with their similarities.
        sets: Shingle sets of all documents that have an edge.
        priority: int64[documents], a permutation; for ``star``.
        pool: Threads.
        counts: What it takes is added here.
        space: Where arrays by document and by edge lie.

    Returns:
        int32[documents]: a label of each document's cluster, 0 to documents - 1.

    Raises:
        DependencyError: The clustering needs a package that is not installed.
    """
    counts, space = counts or Counts(), space or Space()
    if spec.cluster == "star":
        labels = star_of_edges(edges.all(), priority)
        counts.unions += int(np.count_nonzero(labels != np.arange(len(labels))))
        return labels
    if spec.cluster == "louvain":
        return louvain(edges, len(sets.size), spec.seed)
    if spec.cluster == "bounded-mst":
        found = bounded_mst(sets, edges, spec.tree_threshold, pool, space)
    else:
        tree_threshold = spec.tree_threshold if spec.cluster == "bounded" else None
        found = bounded_in_order(sets, edges, tree_threshold, pool, space)
    counts.unions += found.unions
    counts.refused += found.refused
    counts.root_comparisons += found.root_comparisons
    counts.verified += found.root_comparisons
    return found.labels


def merge_clusters(
    spec: Spec,
    labels: np.ndarray,
    edges: EdgeLog | Edges,
    sets: ShingleSets,
    pool: Pool,
    counts: Counts | None = None,
    space: Space | None = None,
) -> np.ndarray:
    """Go through the second round if the spec asks for it; see `second_round`.

    Args:
        spec: Tree threshold.
        labels: int32[documents]: a label of each document's cluster.
        edges, sets, pool, counts, space: As for `cluster_edges`.

    Returns:
        int32[documents]: a label of each document's cluster.
    """
    if not spec.second_round:
        return labels
    counts = counts or Counts()
    labels, done = second_round(labels, edges, sets, spec.tree_threshold, pool, space=space)
    counts.second_merged += done.merged
    counts.second_checked += done.checked
    counts.second_comparisons += done.comparisons
    counts.second_left_out += done.left_out
    counts.verified += done.comparisons
    return labels
