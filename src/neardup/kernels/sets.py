"""Exact Jaccard similarity of sorted sets.

Sets lie in one array; set ``d`` is ``values[begin[d] : begin[d] + size[d]]``, sorted, each value
once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.bits import popcount
from neardup.kernels.hashing import TOKEN_MULTIPLIER, mix

__all__ = ["fill_bitmaps", "hash_sets", "jaccard", "may_reach", "needed_overlap", "verify"]


@njit(cache=True, nogil=True)
def needed_overlap(total, threshold):
    """Return the least overlap for which sets of ``total`` members together reach ``threshold``.

    The comparison is that of the reported similarity, ``overlap / (total - overlap)`` as float64,
    so that a pair exactly at the threshold is decided the same way everywhere.
    """
    overlap = np.int64(np.ceil(threshold / (1.0 + threshold) * total))
    while overlap > 0 and (overlap - 1) / (total - overlap + 1) >= threshold:
        overlap -= 1
    while overlap < total and overlap / (total - overlap) < threshold:
        overlap += 1
    return overlap


@njit(cache=True, nogil=True)
def fill_bitmaps(values, begin, size, docs, out):
    """Fold each set into 256 bits: each value flips the bit that its leading byte names.

    Args:
        values, begin, size: The sets.
        docs: int32[]: documents to do.
        out: uint64[documents, 4], in: zeros, out.
    """
    for d in docs:
        for i in range(begin[d], begin[d] + size[d]):
            v = values[i]
            out[d, np.int64(v >> np.uint64(62))] ^= np.uint64(1) << (
                v >> np.uint64(56) & np.uint64(63)
            )


@njit(cache=True, nogil=True)
def hash_sets(values, begin, size, docs, out):
    """Hash each set as a whole: equal sets, equal hashes.

    Args:
        values, begin, size: The sets.
        docs: int32[]: documents to do.
        out: uint64[documents], out.
    """
    for d in docs:
        h = np.uint64(size[d]) * TOKEN_MULTIPLIER
        for i in range(begin[d], begin[d] + size[d]):
            h += mix(values[i])
        out[d] = mix(h)


@njit(cache=True, nogil=True)
def may_reach(size, bitmaps, x, y, slack):
    """Return whether two sets can reach a threshold t, by their sizes and bitmaps alone.

    Two sets reach t only if at most ``slack = (1 - t) / (1 + t)`` of their members together are in
    one of them alone, and each bit in which the bitmaps differ stands for one such member at least
    (the bitmap filter of Sandes, Teodoro, Melo, Information Systems 88, 2020). Never rules out a
    pair that does reach it.
    """
    alone = np.uint64(0)
    for w in range(4):
        alone += popcount(bitmaps[x, w] ^ bitmaps[y, w])
    nx, ny = np.int64(size[x]), np.int64(size[y])
    alone = max(np.int64(alone), abs(nx - ny))
    return alone <= slack * (nx + ny) + 1e-6


@njit(cache=True, nogil=True)
def jaccard(values, begin, size, x, y, threshold):
    """Return the similarity of two sets if it reaches ``threshold``, else -1.

    Merges the two, and stops as soon as what is left can't reach the threshold. Cost: at most
    ``size[x] + size[y]`` steps.
    """
    nx, ny = np.int64(size[x]), np.int64(size[y])
    total = nx + ny
    if total == 0:
        return -1.0
    needed = needed_overlap(total, threshold)
    i, j = np.int64(begin[x]), np.int64(begin[y])
    end_x, end_y = i + nx, j + ny
    overlap = np.int64(0)
    while i < end_x and j < end_y:
        if overlap + min(end_x - i, end_y - j) < needed:
            return -1.0
        # No step moves either side by more than one, so this many need no look at the ends, and
        # without branches that depend on the data the merge runs at the speed of its loads.
        for _ in range(min(min(end_x - i, end_y - j), np.int64(24))):
            u, v = values[i], values[j]
            overlap += np.int64(u == v)
            i += np.int64(u <= v)
            j += np.int64(v <= u)
    if overlap < needed:
        return -1.0
    return overlap / (total - overlap)


@njit(cache=True, nogil=True)
def verify(values, begin, size, a, b, first, last, threshold, out):
    """Write the similarity of each pair ``(a[i], b[i])``, or -1 where it is below ``threshold``.

    Args:
        values, begin, size: The sets.
        a, b: int32[pairs].
        first, last: Range of pairs to do.
        threshold: Least similarity of interest.
        out: float64[pairs], out.
    """
    for i in range(first, last):
        out[i] = jaccard(values, begin, size, a[i], b[i], threshold)
