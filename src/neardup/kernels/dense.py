"""All pairs of sets that have most of their values in common, at a few nanoseconds a pair.

The values that occur in most of the sets become bits; what is left of each set stays a list.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.bits import popcount
from neardup.kernels.buckets import contains
from neardup.kernels.join import lower_bound

__all__ = ["all_pairs", "chain", "chained", "split"]


@njit(cache=True, nogil=True)
def split(sets, docs, frequent, shared, bits, rest, rest_starts):
    """Split each set into bits for frequent values and a list of the other shared ones.

    Args:
        sets: (values, begin, size).
        docs: int32[m].
        frequent: uint64[], sorted: the values that get a bit.
        shared: uint64[], sorted: other values that more than one of the sets has.
        bits: uint64[m, words], in: zeros, out.
        rest: uint64[], out: the other shared values of each set, sorted.
        rest_starts: int64[m + 1], out.

    Returns:
        Number of values in ``rest``.
    """
    values, begin, size = sets
    count = 0
    rest_starts[0] = 0
    for r in range(docs.shape[0]):
        d = docs[r]
        i = j = 0
        for k in range(begin[d], begin[d] + size[d]):
            v = values[k]
            while i < frequent.shape[0] and frequent[i] < v:
                i += 1
            if i < frequent.shape[0] and frequent[i] == v:
                bits[r, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
                continue
            # Shared values can be many; gallop instead of walking.
            step = 1
            while j + step < shared.shape[0] and shared[j + step] < v:
                step *= 2
            j = lower_bound(shared, j, min(j + step, shared.shape[0]), v)
            if j < shared.shape[0] and shared[j] == v:
                rest[count] = v
                count += 1
        rest_starts[r + 1] = count
    return count


@njit(cache=True, nogil=True)
def all_pairs(
    bits, rest, rest_starts, docs, sizes, roots, met, threshold, compared, first, last, out
):
    """Compare each row with all later ones of other clusters.

    Left out are pairs that were compared with an earlier bucket, and, of those that reach the
    threshold, the ones whose edge is known already.

    Args:
        bits, rest, rest_starts: As made by `split`.
        docs: int32[m].
        sizes: int32[m]: size of each whole set.
        roots: int32[m]: root of each document.
        met: uint64[m, any]: earlier buckets that each document went through here with, as bits.
        threshold: Least similarity.
        compared: Set of pairs, see `neardup.kernels.buckets`.
        first, last: Range of rows to do.
        out: (int32[], int32[], float64[]), out; room for every pair of the range.

    Returns:
        (pairs found, pairs compared).
    """
    out_a, out_b, out_similarity = out
    words = bits.shape[1]
    share = threshold / (1.0 + threshold)
    found = 0
    comparisons = 0
    for i in range(first, last):
        rest_i = rest_starts[i + 1] - rest_starts[i]
        for j in range(i + 1, docs.shape[0]):
            if roots[i] == roots[j]:
                continue
            again = np.uint64(0)
            for w in range(met.shape[1]):
                again |= met[i, w] & met[j, w]
            if again:
                continue
            comparisons += 1
            overlap = np.int64(0)
            for w in range(words):
                overlap += np.int64(popcount(bits[i, w] & bits[j, w]))
            total = np.int64(sizes[i]) + np.int64(sizes[j])
            rest_j = rest_starts[j + 1] - rest_starts[j]
            # A bound with a margin; the exact test is that of the reported similarity.
            if overlap + min(rest_i, rest_j) < share * total - 1e-6:
                continue
            p, q = rest_starts[i], rest_starts[j]
            while p < rest_starts[i + 1] and q < rest_starts[j + 1]:
                u, v = rest[p], rest[q]
                overlap += np.int64(u == v)
                p += np.int64(u <= v)
                q += np.int64(v <= u)
            similarity = overlap / (total - overlap)
            if similarity >= threshold and not contains(compared, docs[i], docs[j]):
                out_a[found], out_b[found] = min(docs[i], docs[j]), max(docs[i], docs[j])
                out_similarity[found] = similarity
                found += 1
    return found, comparisons


@njit(cache=True, nogil=True)
def chain(docs, bucket, heads, links, owners, filled):
    """Note that documents went through a bucket together.

    Args:
        docs: int32[m].
        bucket: Number of the bucket.
        heads: int64[documents]: latest link of each document, -1 for none.
        links: int64[], previous link of the same document.
        owners: int32[], bucket of each link.
        filled: Links in use; there is room for ``m`` more.
    """
    for d in docs:
        links[filled], owners[filled] = heads[d], bucket
        heads[d] = filled
        filled += 1
    return filled


@njit(cache=True, nogil=True)
def chained(docs, heads, links, owners, out_rows, out_buckets):
    """List (place in ``docs``, bucket) for all that was noted; return how many there are.

    What does not fit into ``out_rows`` and ``out_buckets`` is only counted.
    """
    count = 0
    for i in range(docs.shape[0]):
        link = heads[docs[i]]
        while link >= 0:
            if count < out_rows.shape[0]:
                out_rows[count], out_buckets[count] = i, owners[link]
            count += 1
            link = links[link]
    return count
