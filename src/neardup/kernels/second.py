"""Which two clusters to compare next, the cheapest first, while clusters grow.

Clusters are numbered from 0, and an *entry* is a pair of them that an edge joins. What an entry
costs is the product of the two sizes, and changes with each merger of either; so that a merger does
not touch all entries of a cluster, an entry lies in a heap of the larger of its two clusters, by
the size of the smaller, and the clusters lie in a heap by the cost of their best entry. Sizes only
grow, so that what is stored is a lower bound, and is brought up to date when it comes to the top.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.clusters import find
from neardup.kernels.sets import jaccard, may_reach

__all__ = ["begin", "compare", "members", "merge", "part", "rounds"]

#: What `rounds` ended with.
DONE, LARGE, SPENT = 0, 1, 2


@njit(cache=True, nogil=True)
def _better(e, f, entries):
    """Return whether entry ``e`` comes before ``f`` where both cost the same."""
    _, _, similarity, tie, _, _, _ = entries
    if similarity[e] != similarity[f]:
        return similarity[e] > similarity[f]
    if tie[e] != tie[f]:
        return tie[e] < tie[f]
    return e < f


@njit(cache=True, nogil=True)
def _meld(e, f, entries):
    """Return the root of two skew heaps made one, by weight (Sleator, Tarjan 1986); -1 is none."""
    _, _, _, _, weight, left, right = entries
    if e < 0 or f < 0:
        return max(e, f)
    if weight[f] < weight[e] or (weight[f] == weight[e] and _better(f, e, entries)):
        e, f = f, e
    root = e
    while True:
        g = right[e]
        right[e] = left[e]
        if g < 0:
            left[e] = f
            return root
        if weight[f] < weight[g] or (weight[f] == weight[g] and _better(f, g, entries)):
            f, g = g, f
        left[e] = g
        e = g


@njit(cache=True, nogil=True)
def _pop(c, queue, entries):
    """Take the best entry of a cluster out of its heap, and return it."""
    top = queue[3]
    _, _, _, _, _, left, right = entries
    e = top[c]
    top[c] = _meld(left[e], right[e], entries)
    left[e] = right[e] = -1
    return e


@njit(cache=True, nogil=True)
def _before(c, d, queue, entries):
    """Return whether cluster ``c`` has the cheaper best entry."""
    _, _, cost, top, _ = queue
    if cost[c] != cost[d]:
        return cost[c] < cost[d]
    return _better(top[c], top[d], entries)


@njit(cache=True, nogil=True)
def _swap(i, j, slots, place):
    slots[i], slots[j] = slots[j], slots[i]
    place[slots[i]], place[slots[j]] = i, j


@njit(cache=True, nogil=True)
def _sift(i, queue, entries):
    """Move a cluster up or down to where it belongs in the queue."""
    slots, place, _, _, filled = queue
    while i > 0 and _before(slots[i], slots[(i - 1) // 2], queue, entries):
        _swap(i, (i - 1) // 2, slots, place)
        i = (i - 1) // 2
    while 2 * i + 1 < filled[0]:
        child = 2 * i + 1
        if child + 1 < filled[0] and _before(slots[child + 1], slots[child], queue, entries):
            child += 1
        if not _before(slots[child], slots[i], queue, entries):
            return
        _swap(i, child, slots, place)
        i = child


@njit(cache=True, nogil=True)
def _update(c, forest, queue, entries):
    """Put a cluster where its best entry belongs in the queue; take it out if it has none."""
    slots, place, cost, top, filled = queue
    if top[c] >= 0:
        cost[c] = forest[1][c] * entries[4][top[c]]
        if place[c] < 0:
            slots[filled[0]] = c
            place[c] = filled[0]
            filled[0] += 1
        _sift(place[c], queue, entries)
    elif place[c] >= 0:
        i = place[c]
        filled[0] -= 1
        _swap(i, filled[0], slots, place)
        place[c] = -1
        if i < filled[0]:
            _sift(i, queue, entries)


@njit(cache=True, nogil=True)
def begin(forest, queue, entries):
    """Put all entries into the heaps of their larger clusters, and the clusters into the queue."""
    parent, size, _, _, _, _ = forest
    x, y, _, _, weight, _, _ = entries
    top = queue[3]
    for e in range(x.shape[0]):
        c, d = (x[e], y[e]) if size[x[e]] >= size[y[e]] else (y[e], x[e])
        weight[e] = size[d]
        top[c] = _meld(top[c], e, entries)
    for c in range(parent.shape[0]):
        _update(c, forest, queue, entries)


@njit(cache=True, nogil=True)
def _are_apart(c, d, forest, apart):
    """Return whether two clusters, or parts of them, were found not to fit together.

    Walks both chains until the shorter one ends.
    """
    first, _, following, other, _ = apart
    i, j = first[c], first[d]
    while i >= 0 and j >= 0:
        if find(forest[0], other[i]) == d or find(forest[0], other[j]) == c:
            return True
        i, j = following[i], following[j]
    return False


@njit(cache=True, nogil=True)
def part(c, d, forest, queue, entries, apart):
    """Note that two clusters don't fit together; the entry is the best one of ``c``."""
    first, last, following, other, used = apart
    for one, two in ((c, d), (d, c)):
        node = used[0]
        used[0] += 1
        other[node] = two
        following[node] = -1
        if first[one] < 0:
            first[one] = node
        else:
            following[last[one]] = node
        last[one] = node
    _pop(c, queue, entries)
    _update(c, forest, queue, entries)


@njit(cache=True, nogil=True)
def merge(c, d, forest, queue, entries, apart):
    """Merge cluster ``d`` into ``c``, which is not the smaller; the entry is the best of ``c``."""
    parent, size, key, head, tail, chain = forest
    first, last, following, _, _ = apart
    top = queue[3]
    _pop(c, queue, entries)
    parent[d] = c
    size[c] += size[d]
    # The order of the documents must not depend on which of the two is called c.
    front, back = (c, d) if key[c] <= key[d] else (d, c)
    chain[tail[front]] = head[back]
    head[c], tail[c] = head[front], tail[back]
    key[c] += key[d]
    if first[d] >= 0:
        if first[c] < 0:
            first[c] = first[d]
        else:
            following[last[c]] = first[d]
        last[c] = last[d]
    top[c] = _meld(top[c], top[d], entries)
    top[d] = -1
    _update(d, forest, queue, entries)
    _update(c, forest, queue, entries)


@njit(cache=True, nogil=True)
def _refresh(c, forest, queue, entries, apart):
    """Bring the best entry of a cluster up to date; it may go to another one's heap."""
    parent, size, _, _, _, _ = forest
    x, y, _, _, weight, _, _ = entries
    top = queue[3]
    while top[c] >= 0:
        e = top[c]
        d = find(parent, x[e])
        if d == c:
            d = find(parent, y[e])
        if d == c or _are_apart(c, d, forest, apart):
            _pop(c, queue, entries)
        elif size[d] > size[c]:
            _pop(c, queue, entries)
            weight[e] = size[c]
            top[d] = _meld(top[d], e, entries)
            _update(d, forest, queue, entries)
        elif size[d] > weight[e]:
            _pop(c, queue, entries)
            weight[e] = size[d]
            top[c] = _meld(top[c], e, entries)
        else:
            break
    _update(c, forest, queue, entries)


@njit(cache=True, nogil=True)
def members(c, forest, docs, out):
    """List the documents of a cluster; return how many."""
    i = forest[3][c]
    count = 0
    while i >= 0:
        out[count] = docs[i]
        count += 1
        i = forest[5][i]
    return count


@njit(cache=True, nogil=True)
def compare(ones, others, sets, filter, threshold):
    """Compare documents with others, in order, up to the first pair below the threshold.

    Args:
        ones, others: int32[].
        sets: (values, begin, size).
        filter: (size, bitmaps, slack), see `neardup.kernels.sets.may_reach`.
        threshold: What every pair is to reach.

    Returns:
        (pairs compared, whether all of them reach it).
    """
    values, begin, size = sets
    _, bitmaps, slack = filter
    compared = 0
    for one in ones:
        for other in others:
            compared += 1
            if not may_reach(size, bitmaps, one, other, slack):
                return compared, False
            if jaccard(values, begin, size, one, other, threshold) < threshold:
                return compared, False
    return compared, True


@njit(cache=True, nogil=True)
def rounds(forest, queue, entries, apart, docs, sets, filter, threshold, limit, counts):
    """Compare pairs of clusters and merge those that fit, until a large pair comes up.

    Args:
        forest: (parent int32[clusters], size int64[clusters], key uint64[clusters],
            head int32[clusters], tail int32[clusters], chain int32[m]): disjoint sets of clusters;
            the documents of each are chained.
        queue: (slots int32[clusters], place int32[clusters], cost int64[clusters],
            top int32[clusters], filled int64[1]): a heap of clusters, by the entries on top of
            theirs.
        entries: (x int32[entries], y int32[entries], similarity float64[entries],
            tie uint64[entries], weight int64[entries], left int32[entries],
            right int32[entries]).
        apart: (first int32[clusters], last int32[clusters], following int32[2 * entries],
            other int32[2 * entries], used int64[1]): for each cluster a chain of those that it does
            not fit together with.
        docs: int32[m], see ``chain``.
        sets, filter, threshold: As for `compare`.
        limit: Pairs of documents above which the caller compares.
        counts: int64[4], in, out: mergers, pairs of clusters compared, pairs of documents compared,
            and how many of these there may be.

    Returns:
        (`DONE`; or `LARGE` or `SPENT`, a pair of clusters that is above the limit, or beyond what
        may be compared, with the first of them not the smaller; these two clusters).
    """
    slots, _, _, top, filled = queue
    parent, size, key, _, _, _ = forest
    one, other = np.empty(limit, dtype=np.int32), np.empty(limit, dtype=np.int32)
    while filled[0] > 0:
        c = slots[0]
        _refresh(c, forest, queue, entries, apart)
        if filled[0] == 0 or slots[0] != c:
            continue
        e = top[c]
        d = find(parent, entries[0][e])
        if d == c:
            d = find(parent, entries[1][e])
        pairs = size[c] * size[d]
        if pairs > counts[3] - counts[2]:
            return SPENT, c, d
        if pairs > limit:
            return LARGE, c, d
        front, back = (c, d) if key[c] <= key[d] else (d, c)
        ones = members(front, forest, docs, one)
        others = members(back, forest, docs, other)
        compared, fit = compare(one[:ones], other[:others], sets, filter, threshold)
        counts[1] += 1
        counts[2] += compared
        if fit:
            counts[0] += 1
            merge(c, d, forest, queue, entries, apart)
        else:
            part(c, d, forest, queue, entries, apart)
    return DONE, -1, -1
