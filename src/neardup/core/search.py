"""Exact search: all documents of a stream that are like one of some queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from neardup.core.shingle import Ragged
from neardup.core.threads import scratch
from neardup.core.verify import ShingleSets
from neardup.kernels import search as kernels

__all__ = ["INDEX_BYTES", "Index", "Partners", "take"]

#: Memory that a shingle of a query takes while an index is made, at most, in bytes.
INDEX_BYTES = 72
#: A shingle that so many of the queries have is dense: it is quicker to add up a row of bytes then
#: than to go through a list.
_DENSE_SHARE, _DENSE_LEAST = 1 / 16, 32
#: Bits of the filter for each shingle: one shingle in so many passes without being there.
_BITS = 16
#: Pairs that are given at a time, or a pair for each query.
_PAIRS = 1 << 17


class Partners(NamedTuple):
    """Pairs of a document and a query.

    Attributes:
        doc: int32[pairs]: row of the document, ascending.
        query: int32[pairs]: row of the query.
        similarity: float64[pairs]: exact.
    """

    doc: np.ndarray
    query: np.ndarray
    similarity: np.ndarray


class Index:
    """The shingles of some queries, each with the queries that have it.

    A document costs a look at a few bits for each of its shingles that no query has. For the others
    it costs a step for each query that has the shingle, or, where many have it, a small part of a
    step for each query there is. So a template that all share costs no more than a fixed number of
    passes over the counters of the queries.

    Args:
        sets: Sets of the queries.
    """

    def __init__(self, sets: ShingleSets) -> None:
        queries = len(sets.size)
        self.sizes = sets.size.astype(np.int64)
        flat = take(Ragged(sets.values, sets.begin), np.arange(queries), self.sizes)
        owner = np.repeat(np.arange(queries, dtype=np.int32), self.sizes)
        order = np.argsort(flat.values, kind="stable")
        ordered = flat.values[order]
        postings = owner[order]
        del flat, owner, order
        new = np.ones(len(ordered), dtype=np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        starts = np.append(np.flatnonzero(new), len(ordered)).astype(np.int64)
        shingles = ordered[new]
        del ordered, new
        frequency = np.diff(starts)
        dense = frequency >= max(_DENSE_LEAST, queries * _DENSE_SHARE)
        row_of = np.full(len(shingles), -1, dtype=np.int32)
        row_of[dense] = np.arange(int(dense.sum()), dtype=np.int32)
        self._words = -(-queries // 8)
        rows = np.zeros((max(1, int(dense.sum())), self._words), dtype=np.uint64)
        kernels.add_rows(postings, starts, row_of, rows)
        # Hashes fill their range evenly, so that leading bits find a place in the sorted list.
        head_bits = max(1, len(shingles).bit_length())
        head_shift = np.uint64(64 - head_bits)
        heads = np.zeros((1 << head_bits) + 1, dtype=np.int32)
        counts = np.bincount((shingles >> head_shift).astype(np.int64), minlength=1 << head_bits)
        np.cumsum(counts, out=heads[1:])
        filter_bits = max(6, (_BITS * len(shingles)).bit_length())
        shift = np.uint64(64 - filter_bits)
        places = shingles >> shift
        bits = np.zeros(1 << (filter_bits - 6), dtype=np.uint64)
        flags = np.uint64(1) << (places & np.uint64(63))
        np.bitwise_or.at(bits, (places >> np.uint64(6)).astype(np.int64), flags)
        self._index = (
            *(bits, shift, heads, head_shift, shingles),
            *(postings, starts, row_of, rows, self.sizes),
        )

    def search(self, sets: Ragged, least: float) -> Iterator[Partners]:
        """Find every pair of a document and a query whose similarity is ``least`` or more.

        Safe in several threads at once.

        Args:
            sets: Shingle sets of the documents, each value once.
            least: Least similarity, above 0.

        Yields:
            Some pairs; all those of a document at once.
        """
        queries = len(self.sizes)
        room = max(queries, _PAIRS)
        packed = scratch("search packed", np.uint64, self._words)
        held = (
            scratch("search counts", np.int32, queries),
            scratch("search touched", np.int32, queries),
            packed,
            packed.view(np.uint8),
        )
        for array in held[:3]:
            array[:] = 0
        out = [scratch(f"search {name}", np.int32, room) for name in ("docs", "queries", "shared")]
        size = np.diff(sets.offsets)
        first = 0
        while first < len(size):
            count, first = kernels.overlaps(
                sets.values, sets.offsets, first, self._index, least, held, *out
            )
            if count:
                doc, query, overlap = (array[:count].copy() for array in out)
                together = self.sizes[query] + size[doc]
                yield Partners(doc, query, overlap / (together - overlap))


def take(sets: Ragged, rows: np.ndarray, lengths: np.ndarray | None = None) -> Ragged:
    """Return some rows, one behind the other.

    Args:
        sets: Where they are taken from.
        rows: int[]: which.
        lengths: int64[rows]: how long they are, where they don't end at the next offset.
    """
    begin = sets.offsets[rows]
    if lengths is None:
        lengths = sets.offsets[rows + 1] - begin
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.repeat(begin - offsets[:-1], lengths)
    places += np.arange(int(offsets[-1]))
    return Ragged(sets.values[places], offsets)
