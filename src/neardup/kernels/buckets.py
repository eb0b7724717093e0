"""Band keys to buckets, buckets to candidate pairs, and the set of pairs already compared."""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.bits import popcount
from neardup.kernels.clusters import find
from neardup.kernels.hashing import mix
from neardup.kernels.sets import may_reach

__all__ = [
    "buckets",
    "contains",
    "insert",
    "not_compared",
    "pair_key",
    "rehash",
    "row_pairs",
    "small_pairs",
    "star_pairs",
]


@njit(cache=True, nogil=True)
def buckets(keys, members, starts):
    """Group equal keys.

    Two passes by leading bits (keys are hashes, so they fill their range evenly) and an insertion
    that then has next to nothing to do: linear time, also where most keys are equal.

    Args:
        keys: uint64[documents].
        members: int32[documents], out: documents of each bucket of two and more, ascending;
            buckets in ascending order of key.
        starts: int32[documents // 2 + 1], out: where each bucket begins in ``members``.

    Returns:
        Number of buckets; ``starts`` has one entry more.
    """
    n = keys.shape[0]
    bits = 0
    while n >> bits > 256 and bits < 16:
        bits += 1
    # A shift by 64 is undefined, so the leading bits go in two steps.
    shift = np.uint64(63 - bits)
    counts = np.zeros((1 << bits) + 1, dtype=np.int64)
    for i in range(n):
        counts[np.int64(keys[i] >> np.uint64(1) >> shift) + 1] += 1
    widest = np.int64(0)
    for s in range(1 << bits):
        widest = max(widest, counts[s + 1])
        counts[s + 1] += counts[s]
    part_keys = np.empty(n, dtype=np.uint64)
    part_docs = np.empty(n, dtype=np.int32)
    for i in range(n):
        s = np.int64(keys[i] >> np.uint64(1) >> shift)
        part_keys[counts[s]] = keys[i]
        part_docs[counts[s]] = i
        counts[s] += 1
    found = 0
    filled = 0
    starts[0] = 0
    near_keys = np.empty(widest, dtype=np.uint64)
    near_docs = np.empty(widest, dtype=np.int32)
    near = np.empty((1 << 12) + 1, dtype=np.int64)
    low = np.int64(0)
    for part in range(1 << bits):
        high = counts[part]
        m = high - low
        fine = 1
        while fine < 12 and (1 << fine) < m:
            fine += 1
        slots = 1 << fine
        for s in range(slots + 1):
            near[s] = 0
        fine_shift = np.uint64(64 - fine)
        for i in range(low, high):
            near[np.int64((part_keys[i] << np.uint64(bits)) >> fine_shift) + 1] += 1
        for s in range(slots):
            near[s + 1] += near[s]
        for i in range(low, high):
            s = np.int64((part_keys[i] << np.uint64(bits)) >> fine_shift)
            near_keys[near[s]] = part_keys[i]
            near_docs[near[s]] = part_docs[i]
            near[s] += 1
        for i in range(1, m):
            key, doc = near_keys[i], near_docs[i]
            j = i
            while j > 0 and near_keys[j - 1] > key:
                near_keys[j] = near_keys[j - 1]
                near_docs[j] = near_docs[j - 1]
                j -= 1
            near_keys[j], near_docs[j] = key, doc
        i = np.int64(0)
        while i < m:
            j = i + 1
            while j < m and near_keys[j] == near_keys[i]:
                j += 1
            if j - i > 1:
                for k in range(i, j):
                    members[filled] = near_docs[k]
                    filled += 1
                found += 1
                starts[found] = filled
            i = j
        low = high
    return found


@njit(cache=True, nogil=True)
def pair_key(x, y):
    """Return one uint64 for an unordered pair of documents; never 0."""
    return np.uint64(min(x, y)) << np.uint64(32) | np.uint64(max(x, y))


@njit(cache=True, nogil=True)
def _slot(table, key):
    """Return where ``key`` is in the open-addressing ``table``, or the free slot for it."""
    mask = np.uint64(table.shape[0] - 1)
    at = mix(key) & mask
    while table[at] != 0 and table[at] != key:
        at = (at + np.uint64(1)) & mask
    return at


@njit(cache=True, nogil=True)
def contains(table, x, y):
    """Return whether a pair is in the set of compared pairs."""
    key = pair_key(x, y)
    return table[_slot(table, key)] == key


@njit(cache=True, nogil=True)
def insert(table, a, b):
    """Add pairs to the set of compared pairs, which must have room; return how many were new."""
    new = 0
    for i in range(a.shape[0]):
        key = pair_key(a[i], b[i])
        at = _slot(table, key)
        new += table[at] == 0
        table[at] = key
    return new


@njit(cache=True, nogil=True)
def rehash(table, larger):
    """Move all pairs into a larger, empty table."""
    for i in range(table.shape[0]):
        if table[i] != 0:
            larger[_slot(larger, table[i])] = table[i]


@njit(cache=True, nogil=True)
def star_pairs(members, starts, parent, filter, compared, out_a, out_b):
    """List, for each bucket, its first document with every other that is not in its cluster yet.

    Args:
        members, starts: Buckets of a band.
        parent: int32[documents], the clusters so far.
        filter: (size, bitmaps, slack), see `neardup.kernels.sets.may_reach`; pairs that can't
            reach the threshold are left out.
        compared: Set of pairs that need not be listed again.
        out_a, out_b: int32[len(members)], out.

    Returns:
        (pairs listed, pairs that the filter left out).
    """
    size, bitmaps, slack = filter
    count = 0
    pruned = 0
    for bucket in range(starts.shape[0] - 1):
        x = members[starts[bucket]]
        root = find(parent, x)
        for i in range(starts[bucket] + 1, starts[bucket + 1]):
            y = members[i]
            if find(parent, y) != root:
                if not may_reach(size, bitmaps, x, y, slack):
                    pruned += 1
                elif not contains(compared, x, y):
                    out_a[count], out_b[count] = x, y
                    count += 1
    return count, pruned


@njit(cache=True, nogil=True)
def small_pairs(members, starts, parent, limit, every, filter, compared, bucket, out_a, out_b):
    """List the pairs of the buckets of at most ``limit`` documents that have to be compared.

    Args:
        members, starts: Buckets of a band.
        parent: int32[documents], the clusters so far.
        limit: Larger buckets are passed over.
        every: Also list pairs within one cluster.
        filter, compared: As for `star_pairs`.
        bucket: First bucket to look at.
        out_a, out_b: int32[], out, room for ``limit * limit`` pairs at least.

    Returns:
        (pairs listed, pairs that the filter left out, the bucket to go on with).
    """
    size, bitmaps, slack = filter
    count = 0
    pruned = 0
    room = out_a.shape[0] - limit * limit
    roots = np.empty(limit, dtype=np.int32)
    while bucket < starts.shape[0] - 1 and count <= room:
        first, last = starts[bucket], starts[bucket + 1]
        bucket += 1
        if last - first > limit:
            continue
        for i in range(first, last):
            x = members[i]
            roots[i - first] = find(parent, x)
            for j in range(first, i):
                if every or roots[i - first] != roots[j - first]:
                    if not may_reach(size, bitmaps, members[j], x, slack):
                        pruned += 1
                    elif not contains(compared, members[j], x):
                        out_a[count], out_b[count] = members[j], x
                        count += 1
    return count, pruned, bucket


@njit(cache=True, nogil=True)
def row_pairs(docs, roots, every, columns, sizes, slack, compared, first, last, out_a, out_b):
    """List the pairs of some documents of one large bucket with all later ones of it.

    The bound of `neardup.kernels.sets.may_reach`, for a row of pairs at a time: distances are
    computed eight at once, and looked at one by one only where one of sixty-four is small enough.

    Args:
        docs: int32[m], one bucket.
        roots: int32[m]: root of each document; pairs of one cluster are left out.
        every: Pairs of one cluster are listed too.
        columns: uint64[4, m]: bitmaps of the documents.
        sizes: float64[m]: sizes of their sets.
        slack: Share of members that may be in one set alone.
        compared: Set of pairs that need not be listed again.
        first, last: Documents to do.
        out_a, out_b: int32[], out. What does not fit is only counted.

    Returns:
        Number of pairs.
    """
    m = docs.shape[0]
    b0, b1, b2, b3 = columns[0], columns[1], columns[2], columns[3]
    over = np.empty(64, dtype=np.float64)
    count = 0
    for i in range(first, last):
        x0, x1, x2, x3 = b0[i], b1[i], b2[i], b3[i]
        limit = slack * sizes[i] + 1e-6
        for low in range(i + 1, m, 64):
            width = min(64, m - low)
            least = np.inf
            for k in range(width):
                j = low + k
                alone = (
                    popcount(x0 ^ b0[j])
                    + popcount(x1 ^ b1[j])
                    + popcount(x2 ^ b2[j])
                    + popcount(x3 ^ b3[j])
                )
                over[k] = np.float64(np.int64(alone)) - slack * sizes[j]
                least = min(least, over[k])
            if least > limit:
                continue
            for k in range(width):
                j = low + k
                if over[k] > limit or (roots[i] == roots[j] and not every):
                    continue
                if abs(sizes[i] - sizes[j]) - slack * sizes[j] > limit:
                    continue
                if not contains(compared, docs[i], docs[j]):
                    if count < out_a.shape[0]:
                        out_a[count], out_b[count] = docs[i], docs[j]
                    count += 1
    return count


@njit(cache=True, nogil=True)
def not_compared(doc, others, filter, compared, out):
    """List those of ``others`` that have to be compared with ``doc`` yet; return how many."""
    size, bitmaps, slack = filter
    count = 0
    for other in others:
        if may_reach(size, bitmaps, doc, other, slack) and not contains(compared, doc, other):
            out[count] = other
            count += 1
    return count
