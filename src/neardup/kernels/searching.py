"""An inverted index of queries, for documents of a stream that share shingles with them.

Documents of a stream are looked up in an index of the queries, in memory. There, a shingle
that many queries have has a row of bytes instead of a list, one for each query. Rows are added up
by words of eight bytes, so that a shingle which all have costs an eighth of a step each.
"""

from typing import NamedTuple

import numpy as np
from numba import njit


class QueryIndex(NamedTuple):
    """The shingles of some queries, each with the queries that have it."""

    heads: np.ndarray  # int32[2**k + 1]: where the shingles with given leading bits begin
    head_shift: np.uint64  # shift of a shingle that gives those bits
    shingles: np.ndarray  # uint64[m], sorted: shingles of all queries, each once
    postings: np.ndarray  # int32[]: queries of each shingle, one shingle after the other
    starts: np.ndarray  # int64[m + 1]: where the queries of each begin
    row_of: np.ndarray  # int32[m]: row of a shingle that many queries have; -1 for the others
    rows: np.ndarray  # uint64[rows, words]: a byte for each query, 1 where it has the shingle
    sizes: np.ndarray  # int64[queries]: sizes of their sets


class Counters(NamedTuple):
    """Working memory of one thread; all zeros before and after a call."""

    counts: np.ndarray  # int32[queries]: shingles shared with each
    touched: np.ndarray  # int32[queries]: queries that share a shingle
    packed: np.ndarray  # uint64[words]: sums of rows of bytes
    unpacked: np.ndarray  # uint8[8 * words]: the same memory


class Overlaps(NamedTuple):
    """Pairs of a document and a query, int32[pairs] each."""

    doc: np.ndarray  # row of the document, ascending
    query: np.ndarray  # row of the query
    overlap: np.ndarray  # shingles that they share


@njit(cache=True, nogil=True)
def overlaps(values, offsets, first, index, minimum, contained, counters, out):
    """Count what documents share with queries; report the pairs that reach a minimum above 0.

    Begins at document ``first``. ``contained`` measures the share of the query that the document
    has, not their similarity. ``out`` has capacity for one pair of each query, at least.
    Returns (pairs, the first document that is not done).

    Args:
        values: uint64[]: shingles.
        offsets: int64[documents + 1]: where those of each document begin.
        first: int: first document.
        index: `QueryIndex`.
        minimum: float: lowest share or similarity.
        contained: bool: see above.
        counters: `Counters`.
        out: `Overlaps`, for as many pairs as there are queries, at least.
    """
    counts, touched, packed = counters.counts, counters.touched, counters.packed
    queries, words = index.sizes.shape[0], packed.shape[0]
    found = 0
    d = first
    while d < offsets.shape[0] - 1 and found + queries <= out.doc.shape[0]:
        seen = 0
        added = 0
        for i in range(offsets[d], offsets[d + 1]):
            value = values[i]
            # Most shingles are no query's, and most leading bits none of theirs.
            head = np.int64(value >> index.head_shift)
            entry = index.heads[head]
            end = index.heads[head + 1]
            while entry < end and index.shingles[entry] < value:
                entry += 1
            if entry == end or index.shingles[entry] != value:
                continue
            row = index.row_of[entry]
            if row < 0:
                for k in range(index.starts[entry], index.starts[entry + 1]):
                    q = index.postings[k]
                    if counts[q] == 0:
                        touched[seen] = q
                        seen += 1
                    counts[q] += np.int32(1)
                continue
            for w in range(words):
                packed[w] += index.rows[row, w]
            added += 1
            if added % 255 == 0:  # a byte has no more
                _unpack(counters)
        if added:
            _unpack(counters)
            seen = queries
        size = offsets[d + 1] - offsets[d]
        for k in range(seen):
            q = np.int32(k) if added else touched[k]
            overlap = np.int64(counts[q])
            base = index.sizes[q] if contained else index.sizes[q] + size - overlap
            if overlap and overlap / base >= minimum:
                out.doc[found], out.query[found], out.overlap[found] = d, q, overlap
                found += 1
            counts[q] = 0
        d += 1
    return found, d


@njit(cache=True, nogil=True)
def _unpack(counters):
    """Add the bytes to the counts, and clear them."""
    for q in range(counters.counts.shape[0]):
        counters.counts[q] += np.int32(counters.unpacked[q])
        counters.unpacked[q] = np.uint8(0)
