"""Documents of a stream that are like one of some queries, by an inverted index of the queries.

A shingle that many queries have has a row of bytes instead of a list, one for each query. Rows are
added up by words of eight bytes, so that a shingle which all have costs an eighth of a step each.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["add_rows", "overlaps", "share_a_band", "unite"]


@njit(cache=True, nogil=True)
def add_rows(postings, starts, row_of, out):
    """Write the queries of each dense shingle as bytes 0 and 1, eight to a word.

    Args:
        postings: int32[]: queries of each shingle, one shingle after the other.
        starts: int64[shingles + 1]: where each begins.
        row_of: int32[shingles]: row of a dense shingle; -1 for the others.
        out: uint64[rows, words], in: zeros, out.
    """
    for e in range(row_of.shape[0]):
        if row_of[e] >= 0:
            for i in range(starts[e], starts[e + 1]):
                q = np.int64(postings[i])
                out[row_of[e], q >> 3] |= np.uint64(1) << np.uint64((q & 7) * 8)


@njit(cache=True, nogil=True)
def overlaps(values, offsets, first, index, least, scratch, out_doc, out_query, out_overlap):
    """Count what documents share with queries; give the pairs that reach a similarity.

    Args:
        values: uint64[], offsets: int64[documents + 1]: sets of the documents, each value once.
        first: Document to begin with.
        index: What `neardup.core.search.Index` makes: (bits uint64[]: a flag for each value of the
            leading bits of a shingle; shift to get those; heads int32[]: where in the list shingles
            of other leading bits begin; shift to get those; shingles uint64[], sorted; postings
            int32[]: queries of each; starts int64[shingles + 1] of those; row_of int32[shingles]:
            -1 for none; rows uint64[rows, words]; sizes int64[queries]: of their sets).
        least: Least similarity, above 0.
        scratch: (counts int32[queries], touched int32[queries], packed uint64[words] and the same
            memory as uint8[8 * words]); zeros, and zeros again at the end.
        out_doc, out_query, out_overlap: int32[], out; room for as many pairs as there are queries.

    Returns:
        (pairs, document to go on with).
    """
    bits, shift, heads, head_shift, shingles, postings, starts, row_of, rows, sizes = index
    counts, touched, packed, unpacked = scratch
    queries = sizes.shape[0]
    words = packed.shape[0]
    found = 0
    d = first
    while d < offsets.shape[0] - 1 and found + queries <= out_doc.shape[0]:
        met = 0
        added = 0
        for i in range(offsets[d], offsets[d + 1]):
            v = values[i]
            # Most shingles are no query's: one look at a few bits tells.
            place = v >> shift
            if not bits[np.int64(place >> np.uint64(6))] >> (place & np.uint64(63)) & np.uint64(1):
                continue
            head = np.int64(v >> head_shift)
            e = heads[head]
            end = heads[head + 1]
            while e < end and shingles[e] < v:
                e += 1
            if e == end or shingles[e] != v:
                continue
            row = row_of[e]
            if row < 0:
                for k in range(starts[e], starts[e + 1]):
                    q = postings[k]
                    if counts[q] == 0:
                        touched[met] = q
                        met += 1
                    counts[q] += np.int32(1)
                continue
            for w in range(words):
                packed[w] += rows[row, w]
            added += 1
            if added % 255 == 0:  # a byte holds no more
                _unpack(unpacked, counts)
        size = offsets[d + 1] - offsets[d]
        if added:
            _unpack(unpacked, counts)
            for q in range(queries):
                overlap = np.int64(counts[q])
                if overlap and overlap / (sizes[q] + size - overlap) >= least:
                    out_doc[found], out_query[found], out_overlap[found] = d, q, overlap
                    found += 1
                counts[q] = 0
        else:
            for k in range(met):
                q = touched[k]
                overlap = np.int64(counts[q])
                if overlap / (sizes[q] + size - overlap) >= least:
                    out_doc[found], out_query[found], out_overlap[found] = d, q, overlap
                    found += 1
                counts[q] = 0
        d += 1
    return found, d


@njit(cache=True, nogil=True)
def _unpack(unpacked, counts):
    """Add the bytes to the counters, and begin again."""
    for q in range(counts.shape[0]):
        counts[q] += np.int32(unpacked[q])
        unpacked[q] = np.uint8(0)


@njit(cache=True, nogil=True)
def share_a_band(keys_a, keys_b, a, b, out):
    """Say of each pair whether the two have the same key in some band.

    Args:
        keys_a, keys_b: uint64[documents, num_bands].
        a, b: int32[pairs]: rows of the two.
        out: bool[pairs], out.
    """
    for i in range(a.shape[0]):
        same = False
        for band in range(keys_a.shape[1]):
            if keys_a[a[i], band] == keys_b[b[i], band]:
                same = True
                break
        out[i] = same


@njit(cache=True, nogil=True)
def unite(parent, a, b):
    """Join the trees of each pair under the lower one of their roots.

    Args:
        parent: int32[documents], in and out: a forest in which no parent is above its child.
        a, b: int64[pairs].
    """
    for i in range(a.shape[0]):
        x, y = np.int64(a[i]), np.int64(b[i])
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = np.int64(parent[x])
        while parent[y] != y:
            parent[y] = parent[parent[y]]
            y = np.int64(parent[y])
        parent[max(x, y)] = min(x, y)
