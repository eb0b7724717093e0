"""Exact set-similarity join: prefix filter on values ordered by rarity, length and position filter.

AllPairs (Bayardo et al., WWW 2007) with the positional filter of PPJoin (Xiao et al., WWW 2008),
verified by a plain merge, which is what pays (Mann, Augsten, Bouros, PVLDB 2016).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.sets import jaccard, may_reach, needed_overlap

__all__ = [
    "count_values",
    "fill_index",
    "fill_prefixes",
    "gather_part",
    "lower_bound",
    "postings",
    "probe",
]


@njit(cache=True, nogil=True)
def lower_bound(values, i, j, low):
    """Return the first place in the sorted ``values[i:j]`` whose value is not below ``low``."""
    while i < j:
        middle = (i + j) >> 1
        if values[middle] < low:
            i = middle + 1
        else:
            j = middle
    return i


@njit(cache=True, nogil=True)
def gather_part(values, begin, size, docs, low, high, out_values, out_ranks):
    """Collect the members of all sets that lie in ``[low, high]``, with the rank of their document.

    Args:
        values, begin, size: The sets.
        docs: int32[m]: documents to be joined.
        low, high: uint64 bounds, both included.
        out_values, out_ranks: uint64[], int32[], out. What does not fit is only counted.

    Returns:
        Number of members.
    """
    count = 0
    room = out_values.shape[0]
    for r in range(docs.shape[0]):
        d = docs[r]
        end = np.int64(begin[d]) + np.int64(size[d])
        i = lower_bound(values, np.int64(begin[d]), end, low)
        while i < end and values[i] <= high:
            if count < room:
                out_values[count], out_ranks[count] = values[i], r
            count += 1
            i += 1
    return count


@njit(cache=True, nogil=True)
def count_values(sorted_values, sorted_docs, singles, out_docs, out_starts):
    """Find the values that several sets share.

    Args:
        sorted_values, sorted_docs: Members of all sets by value, with the rank of their document.
        singles: int32[m], in and out: number of values that only this document has.
        out_docs: int32[], out: documents of each shared value, one value after the other.
        out_starts: int64[], out: where each shared value begins.

    Returns:
        (shared values, documents listed).
    """
    found = 0
    filled = 0
    n = sorted_values.shape[0]
    i = 0
    while i < n:
        j = i + 1
        while j < n and sorted_values[j] == sorted_values[i]:
            j += 1
        if j - i == 1:
            singles[sorted_docs[i]] += 1
        else:
            out_starts[found] = filled
            found += 1
            for k in range(i, j):
                out_docs[filled] = sorted_docs[k]
                filled += 1
        i = j
    out_starts[found] = filled
    return found, filled


@njit(cache=True, nogil=True)
def postings(order, starts, shared_docs, singles, probe_length, counts):
    """Count, for each shared value, the documents in whose prefix it lies.

    Values come in order of rarity, so that walking them once meets every document's values from
    the rarest on; no document has to be sorted.

    Args:
        order: int64[values]: shared values, rarest first.
        starts, shared_docs: Documents of each shared value.
        singles: int32[m]: place of a document's first shared value in its own order.
        probe_length: int32[m]: length of each prefix.
        counts: int64[m + 1], out: prefix members of each document that are shared, summed up.

    Returns:
        Number of prefix members.
    """
    m = singles.shape[0]
    place = singles.copy()
    for v in order:
        for i in range(starts[v], starts[v + 1]):
            d = shared_docs[i]
            if place[d] < probe_length[d]:
                counts[d + 1] += 1
            place[d] += 1
    for d in range(m):
        counts[d + 1] += counts[d]
    return counts[m]


@njit(cache=True, nogil=True)
def fill_prefixes(order, starts, shared_docs, singles, probe_length, counts, prefix, places):
    """Write each document's prefix: ranks of its shared values, rarest first, and their places.

    Args:
        order, starts, shared_docs, singles, probe_length, counts: As made by `postings`.
        prefix: int32[members], out: rank of the value.
        places: int32[members], out: place of the value in the document's own order.
    """
    m = singles.shape[0]
    place = singles.copy()
    fill = counts[:m].copy()
    for rank in range(order.shape[0]):
        v = order[rank]
        for i in range(starts[v], starts[v + 1]):
            d = shared_docs[i]
            if place[d] < probe_length[d]:
                prefix[fill[d]], places[fill[d]] = rank, place[d]
                fill[d] += 1
            place[d] += 1


@njit(cache=True, nogil=True)
def fill_index(counts, prefix, places, index_length, index_starts, index_docs, index_places):
    """Turn prefixes into an inverted index, documents ascending (that is, by size).

    Args:
        counts, prefix, places: Prefixes of all documents.
        index_length: int32[m]: only places below it are indexed.
        index_starts: int64[values + 1], in: zeros, out: where each value begins.
        index_docs, index_places: int32[], out.
    """
    m = index_length.shape[0]
    n = index_starts.shape[0] - 1
    for d in range(m):
        for i in range(counts[d], counts[d + 1]):
            if places[i] < index_length[d]:
                index_starts[prefix[i] + 1] += 1
    for v in range(n):
        index_starts[v + 1] += index_starts[v]
    fill = index_starts[:n].copy()
    for d in range(m):
        for i in range(counts[d], counts[d + 1]):
            if places[i] < index_length[d]:
                v = prefix[i]
                index_docs[fill[v]], index_places[fill[v]] = d, places[i]
                fill[v] += 1


@njit(cache=True, nogil=True)
def probe(sets, docs, filter, threshold, prefixes, index, first, last, mark, out_a, out_b, out_sim):
    """Find all pairs (earlier document, this document) that reach the threshold.

    Args:
        sets: (values, begin, size).
        docs: int32[m]: documents by ascending size.
        filter: (size, bitmaps, slack), see `neardup.kernels.sets.may_reach`.
        threshold: Least similarity.
        prefixes: (counts, prefix, places).
        index: (index_starts, index_docs, index_places).
        first, last: Range of documents to look for.
        mark: int32[m], scratch, all -1 at first.
        out_a, out_b, out_sim: int32[], int32[], float64[], out; room for ``m`` pairs at least.

    Returns:
        (pairs, comparisons, document to go on with).
    """
    values, begin, size = sets
    _, bitmaps, slack = filter
    counts, prefix, places = prefixes
    index_starts, index_docs, index_places = index
    found = 0
    comparisons = 0
    x = first
    while x < last and found + x <= out_a.shape[0]:
        nx = np.int64(size[docs[x]])
        for i in range(counts[x], counts[x + 1]):
            v = prefix[i]
            p = np.int64(places[i])
            # Sizes ascend in a list, so those too short to match come first.
            low = index_starts[v]
            high = index_starts[v + 1]
            while low < high:
                middle = (low + high) >> 1
                if size[docs[index_docs[middle]]] / nx < threshold:
                    low = middle + 1
                else:
                    high = middle
            for k in range(low, index_starts[v + 1]):
                y = index_docs[k]
                if y >= x:
                    break
                if mark[y] == x:
                    continue
                mark[y] = x
                ny = np.int64(size[docs[y]])
                # This is the rarest value that both have: whatever else they share comes after.
                left = min(nx - p, ny - np.int64(index_places[k]))
                if left < needed_overlap(nx + ny, threshold):
                    continue
                if not may_reach(size, bitmaps, docs[x], docs[y], slack):
                    continue
                comparisons += 1
                sim = jaccard(values, begin, size, docs[x], docs[y], threshold)
                if sim >= threshold:
                    out_a[found], out_b[found] = min(docs[x], docs[y]), max(docs[x], docs[y])
                    out_sim[found] = sim
                    found += 1
        x += 1
    return found, comparisons, x
