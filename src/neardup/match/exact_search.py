"""Exact search for all documents that are similar to one of some queries, in a stream."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from neardup.kernels import prefixes as kernels
from neardup.kernels.jaccard import Sets
from neardup.kernels.prefixes import Counters, QueryIndex
from neardup.match.verifying import taken
from neardup.sketch.texts import Ragged
from neardup.threads import Local
from neardup.tuning import TUNING

#: Memory that a shingle of a query takes while the index is made, at most, in bytes.
SHINGLE_BYTES = 72
#: More leading bits than the shingles need: a list with 2 to the power of that slots for each.
_BITS = 1


class Similar(NamedTuple):
    doc: np.ndarray  # int32[pairs]: row of the document, ascending
    query: np.ndarray  # int32[pairs]: row of the query
    similarity: np.ndarray  # float64[pairs]: exact; or the share of the query that it has


class ExactSearch:
    """The shingles of some queries, each with the queries that have it.

    A shingle of a document costs a look at a table and a step for each query that has it; or, where
    many have it, a small part of a step for each query there is.

    Examples:
        >>> from neardup.match.verifying import make_sets
        >>> from neardup.sketch.tokenising import shingle_sets
        >>> search = ExactSearch(make_sets(shingle_sets(["a b c d e f", "x"])))
        >>> [found.doc.tolist() for found in search(shingle_sets(["x y", "a b c d e"]), 0.5)]
        [[1]]
    """

    def __init__(self, sets: Sets) -> None:
        queries = len(sets.size)
        self._index = _index(sets)
        capacity, words = max(queries, TUNING.reported_pairs), -(-queries // 8)

        def make() -> tuple[Counters, kernels.Overlaps]:
            packed = np.zeros(words, dtype=np.uint64)
            counts, touched = (np.zeros(queries, dtype=np.int32) for _ in range(2))
            out = kernels.Overlaps(*(np.empty(capacity, dtype=np.int32) for _ in range(3)))
            return Counters(counts, touched, packed, packed.view(np.uint8)), out

        self._memory = Local(make)

    @property
    def known(self) -> tuple[np.ndarray, np.ndarray, np.uint64]:
        """All shingles of queries: uint64[], sorted; and their heads and shift, see `heads_of`."""
        return self._index.shingles, self._index.heads, self._index.head_shift

    def __call__(self, sets: Ragged, minimum: float, contained: bool = False) -> Iterator[Similar]:
        """Find every pair of a document and a query that reaches a minimum; for many threads.

        Sets have each value once, and the minimum is above 0. With ``contained`` it is the share of
        the query that the document has, not their similarity. All pairs of a document come at once.
        """
        counters, out = self._memory()
        size = np.diff(sets.offsets)
        first = 0
        while first < len(size):
            count, first = kernels.overlaps(
                sets.values, sets.offsets, first, self._index, minimum, contained, counters, out
            )
            if count:
                doc, query, overlap = (column[:count].copy() for column in out)
                total = self._index.sizes[query]
                if not contained:
                    total = total + size[doc] - overlap
                yield Similar(doc, query, overlap / total)


def _index(sets: Sets) -> QueryIndex:
    queries = len(sets.size)
    flat = taken(sets, np.arange(queries))
    owner = np.repeat(np.arange(queries, dtype=np.int32), sets.size)
    order = np.argsort(flat.values, kind="stable")
    ordered, postings = flat.values[order], owner[order]
    del flat, owner, order
    new = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    starts = np.append(np.flatnonzero(new), len(ordered)).astype(np.int64)
    shingles = ordered[new]
    del ordered, new
    frequency = np.diff(starts)
    dense = frequency >= max(TUNING.dense_queries, queries * TUNING.dense_share)
    row_of = np.full(len(shingles), -1, dtype=np.int32)
    row_of[dense] = np.arange(int(dense.sum()), dtype=np.int32)
    rows = np.zeros((max(1, int(dense.sum())), -(-queries // 8)), dtype=np.uint64)
    bytes_of_rows = rows.view(np.uint8)
    for entry in np.flatnonzero(dense).tolist():
        bytes_of_rows[row_of[entry], postings[starts[entry] : starts[entry + 1]]] = 1
    heads, shift = heads_of(shingles)
    sizes = sets.size.astype(np.int64)
    return QueryIndex(heads, shift, shingles, postings, starts, row_of, rows, sizes)


def heads_of(hashes: np.ndarray) -> tuple[np.ndarray, np.uint64]:
    """Return where sorted hashes, uint64[], with the same leading bits begin, and their shift.

    Hashes fill their range evenly: leading bits estimate a position in the sorted list.
    """
    bits = len(hashes).bit_length() + _BITS
    shift = np.uint64(64 - bits)
    heads = np.zeros((1 << bits) + 1, dtype=np.int32)
    np.cumsum(np.bincount((hashes >> shift).astype(np.int64), minlength=1 << bits), out=heads[1:])
    return heads, shift
