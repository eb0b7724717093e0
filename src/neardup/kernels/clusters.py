"""Roots of disjoint sets, stars, and the removal rule."""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.sets import jaccard, may_reach

__all__ = [
    "fill_places",
    "find",
    "find_all",
    "keep",
    "star",
    "star_of_edges",
]


@njit(cache=True, nogil=True)
def find(parent, x):
    """Return the root of ``x``, halving the path on the way."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@njit(cache=True, nogil=True)
def find_all(parent, docs, out):
    """Write the root of each document."""
    for i in range(docs.shape[0]):
        out[i] = find(parent, docs[i])


@njit(cache=True, nogil=True)
def fill_places(members, starts, first_bucket, ends, doc_buckets):
    """Note, for the documents of some buckets, which buckets they are in.

    Args:
        members, starts: The buckets of a band.
        first_bucket: Number of the first of them, all bands together.
        ends: int64[documents], in, out: where the next bucket of each document goes.
        doc_buckets: int64[places], out.
    """
    for bucket in range(starts.shape[0] - 1):
        for i in range(starts[bucket], starts[bucket + 1]):
            d = members[i]
            doc_buckets[ends[d]] = first_bucket + bucket
            ends[d] += 1


@njit(cache=True, nogil=True)
def star_of_edges(order, starts, neighbours, centre):
    """Let each document, by priority, join its first neighbour that is kept; else it is kept.

    Args:
        order: int32[], documents with neighbours by priority.
        starts: int64[documents + 1], into ``neighbours``.
        neighbours: int32[], for each document by priority.
        centre: int32[documents], in: the document itself, out: what it joined.
    """
    done = np.zeros(centre.shape[0], dtype=np.bool_)
    for d in order:
        done[d] = True
        for i in range(starts[d], starts[d + 1]):
            e = neighbours[i]
            if done[e] and centre[e] == e:
                centre[d] = e
                break


@njit(cache=True, nogil=True)
def star(docs, priority, bucket_starts, doc_buckets, scratch, sets, filter, threshold, centre, out):
    """Cluster by stars without listing pairs: each document meets only kept ones.

    Args:
        docs: int32[m]: documents that share a bucket with another, by priority.
        priority: int64[documents].
        bucket_starts: int64[documents + 1], into ``doc_buckets``.
        doc_buckets: int64[]: buckets of each document.
        scratch: Kept documents of a bucket are chained, with a link for each of its places in a
            bucket: (last int64[buckets], -1: latest link of each; chain int64[places], owner
            int32[places]; mark int32[documents], -1; near int64[documents],
            by_rank int32[documents]).
        sets: (values, begin, size).
        filter: (size, bitmaps, slack), see `neardup.kernels.sets.may_reach`.
        threshold: Least similarity to a kept document.
        centre: int32[documents], in: the document itself, out: what it joined.
        out: (int32[m], int32[m], float64[m]), out: the pairs found.

    Returns:
        (pairs found, comparisons).
    """
    values, begin, size = sets
    _, bitmaps, slack = filter
    out_a, out_b, out_similarity = out
    last, chain, owner, mark, near, by_rank = scratch
    for d in docs:
        by_rank[priority[d]] = d
    found = 0
    comparisons = 0
    for d in docs:
        count = 0
        for i in range(bucket_starts[d], bucket_starts[d + 1]):
            link = last[doc_buckets[i]]
            while link >= 0:
                e = owner[link]
                if mark[e] != d:
                    mark[e] = d
                    near[count] = priority[e]
                    count += 1
                link = chain[link]
        near[:count].sort()
        for k in range(count):
            e = by_rank[near[k]]
            if not may_reach(size, bitmaps, d, e, slack):
                continue
            comparisons += 1
            sim = jaccard(values, begin, size, d, e, threshold)
            if sim >= threshold:
                centre[d] = e
                out_a[found], out_b[found] = min(d, e), max(d, e)
                out_similarity[found] = sim
                found += 1
                break
        if centre[d] == d:
            for i in range(bucket_starts[d], bucket_starts[d + 1]):
                owner[i] = d
                chain[i] = last[doc_buckets[i]]
                last[doc_buckets[i]] = i
    return found, comparisons


@njit(cache=True, nogil=True)
def keep(docs, starts, first, last, sets, threshold, limit, kept_by, similarity):
    """Decide, cluster by cluster, which documents are kept.

    By priority, a document is removed if it reaches the threshold with one that is kept already.

    Args:
        docs: int32[]: documents of each cluster by priority.
        starts: int64[clusters + 1].
        first, last: Range of clusters to do.
        sets: (values, begin, size).
        threshold: Least exact similarity to a kept document.
        limit: Kept documents that one is compared with at most; beyond that it is kept.
        kept_by: int32[documents], in: -1, out: the kept document that a removed one repeats.
        similarity: float64[documents], out: exact similarity of the two.

    Returns:
        Documents kept because the limit was reached.
    """
    values, begin, size = sets
    unsure = 0
    for cluster in range(first, last):
        low, high = starts[cluster], starts[cluster + 1]
        kept = np.empty(high - low, dtype=np.int32)
        count = 0
        for i in range(low, high):
            d = docs[i]
            for k in range(min(count, limit)):
                sim = jaccard(values, begin, size, d, kept[k], threshold)
                if sim >= threshold:
                    kept_by[d], similarity[d] = kept[k], sim
                    break
            if kept_by[d] < 0:
                unsure += count > limit
                kept[count] = d
                count += 1
    return unsure
