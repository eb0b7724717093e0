"""Weighted overlap of sorted sets."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def weighted_overlap(sets, weights, a, b, first, last, shared, total):
    """Add up the weights of what pairs of sets share, and of what they have together.

    Args:
        sets: See `neardup.kernels.jaccard.Sets`.
        weights: float32[power of two]: the weight of a value, by its last bits.
        a: int32[pairs].
        b: int32[pairs].
        first: First pair to do.
        last: Pair after the last one.
        shared: float64[pairs], out: weight of the members of both.
        total: float64[pairs], out: weight of the members of either.
    """
    values, mask = sets.values, np.uint64(weights.shape[0] - 1)
    for pair in range(first, last):
        i, j = np.int64(sets.begin[a[pair]]), np.int64(sets.begin[b[pair]])
        end_i, end_j = i + np.int64(sets.size[a[pair]]), j + np.int64(sets.size[b[pair]])
        both = either = 0.0
        while i < end_i or j < end_j:
            # After the end of one, the other goes on alone.
            u = values[i] if i < end_i else values[j]
            v = values[j] if j < end_j else values[i]
            left = i < end_i and (u <= v or j >= end_j)
            right = j < end_j and (v <= u or i >= end_i)
            weight = weights[(u if left else v) & mask]
            either += weight
            if left and right:
                both += weight
            i += np.int64(left)
            j += np.int64(right)
        shared[pair], total[pair] = both, either
