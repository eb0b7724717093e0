"""How alike the documents of clusters are."""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.sets import jaccard

__all__ = ["count_pairs"]


@njit(cache=True, nogil=True)
def count_pairs(docs, starts, first, last, sets, edge_threshold, tree_threshold):
    """Compare every two documents of some clusters.

    Args:
        docs: int32[]: documents of each cluster.
        starts: int64[clusters + 1].
        first, last: Range of clusters to do.
        sets: (values, begin, size), see `neardup.kernels.sets`.
        edge_threshold, tree_threshold: What the pairs are held against.

    Returns:
        (pairs that reach the edge threshold, others that reach the tree threshold).
    """
    values, begin, size = sets
    high = np.int64(0)
    mid = np.int64(0)
    for cluster in range(first, last):
        for i in range(starts[cluster], starts[cluster + 1]):
            for j in range(starts[cluster], i):
                sim = jaccard(values, begin, size, docs[i], docs[j], tree_threshold)
                if sim >= edge_threshold:
                    high += 1
                elif sim >= tree_threshold:
                    mid += 1
    return high, mid
