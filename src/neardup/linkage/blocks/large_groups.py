"""Groups of records that are too large to list all of their pairs: fixed rules that cut them.

The rules depend on the records and on nothing else: neither on memory nor on threads. Of more than
`MOST_EQUAL` records that are equal in all fields, so many are compared with others; each further
one is compared with the first of them only, and belongs where that one belongs. And if there are
more candidates than `most_candidates`, each record keeps those that are most similar to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Edges, Triple, batches
from neardup.kernels.record_pairs import keep_lowest
from neardup.linkage.decision.weights.frequencies import row_hashes
from neardup.linkage.features import Features
from neardup.threads import Pool

#: Equal records, within a file, that are compared with others.
MOST_EQUAL = 256
#: Candidates by complete records: for each record on average, or in a small file in all.
_EACH, _FEW = 50, 1 << 20
#: Records that share a value, from which on a group is large: some of their pairs may be left out.
LARGE = 1024
#: So many times the candidates that there may be are gathered before they are cut.
_CUT_AT = 3
_MIX = np.uint64(0x9E3779B97F4A7C15)
#: Levels of similarity, whose bits are before those of an order by contents.
_LEVELS, _REST = 1023, np.uint64(54)


class Copies(NamedTuple):
    """Records that are equal to many others in all fields.

    Attributes:
        of: int32[records]: the first of these others; -1 for a record that is compared with all
            records of its buckets.
        a: int32[pairs]: records that are compared with one of their equals only, and
        b: int32[pairs]: this one, or the other way round; ``a < b``, across two files.
        left_out: Pairs of equal records that are not listed.
    """

    of: np.ndarray
    a: np.ndarray
    b: np.ndarray
    left_out: int

    @property
    def number(self) -> int:
        """Number of the records that are compared with one of their equals only."""
        return int(np.count_nonzero(self.of >= 0))

    @property
    def are(self) -> np.ndarray:
        """bool[records]: which records these are."""
        return np.asarray(self.of >= 0)


def no_copies(records: int) -> Copies:
    """Return that of so many records none is equal to too many others."""
    none = np.empty(0, np.int32)
    return Copies(np.full(records, -1, np.int32), none, none, 0)


def find_copies(features: Features, apart: np.ndarray | None) -> Copies:
    """Find the records that come after `MOST_EQUAL` equal ones of their file.

    Args:
        features: Of the records.
        apart: int32[records]: file of each, where pairs are across files only; None for all pairs.
    """
    hashes, records = row_hashes(features), len(features.hashes)
    hashes[~features.present.any(axis=1)] = 0  # without values, records are no copies
    order = np.argsort(hashes, kind="stable").astype(np.int32)  # within a group, by file
    ordered, file = hashes[order], np.zeros(records, np.int32) if apart is None else apart[order]
    new = ordered[1:] != ordered[:-1]
    groups = np.append(0, np.cumsum(new | (file[1:] != file[:-1]))) if records else order
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    size = np.diff(starts, append=records)
    rank = np.arange(records) - starts[groups]
    excess = np.flatnonzero((rank >= MOST_EQUAL) & (ordered != 0))
    of = np.full(records, -1, np.int32)
    if not len(excess):
        return no_copies(records)
    group, mine = groups[excess], order[excess]
    of[mine] = order[starts[group]]
    listed = np.minimum(size, MOST_EQUAL)
    # Groups of equal records of several files are next to each other.
    every = np.cumsum(np.diff(ordered[starts], prepend=~ordered[:1]) != 0) - 1
    first = np.flatnonzero(np.diff(every, prepend=-1))
    large = np.unique(every[group])
    if apart is None:
        pairs = np.column_stack([of[mine], mine])
        left_out = _pairs_of(size[large]) - _pairs_of(listed[large])
    else:
        # Across files, one by one with those of the next file that has any.
        other = np.minimum(group + 1, len(starts) - 1)
        other = np.where(every[other] == every[group], other, first[every[group]])
        there = other != group
        theirs = order[starts[other] + rank[excess] % size[other]]
        pairs = np.column_stack([np.minimum(mine, theirs), np.maximum(mine, theirs)])[there]
        pairs = np.unique(pairs, axis=0)
        left_out = 0
        for sizes, sign in ((size, 1), (listed, -1)):
            total = np.add.reduceat(sizes, first)[large]
            within = np.add.reduceat(sizes * (sizes - 1) // 2, first)[large]
            left_out += sign * (_pairs_of(total) - int(within.sum()))
    return Copies(of, pairs[:, 0].copy(), pairs[:, 1].copy(), left_out - len(pairs))


def _pairs_of(sizes: np.ndarray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def without(features: Features, copies: Copies) -> Features:
    """Return features in which copies have no values: they are neither found nor counted."""
    if not copies.number:
        return features
    hashes, size = features.hashes.copy(), features.records.size.copy()
    hashes[copies.are] = 0
    size[copies.are] = 0
    return features._replace(hashes=hashes, records=features.records._replace(size=size))


def most_candidates(records: int) -> int:
    """Return how many candidates by complete records there may be."""
    return max(_FEW, _EACH * records)


class GroupCut(NamedTuple):
    """Candidates that are left.

    Attributes:
        edges: The candidates.
        left_out: How many were left out; one that is found again counts again.
        each: Candidates that each record keeps; 0 for all.
    """

    edges: Edges
    left_out: int
    each: int


class MostSimilar:
    """Candidates, without those of low similarity of the records that have most of them.

    A pair stays if it is among the most similar ones of one of its two records. How many of them a
    record keeps is the largest number by which all records together keep ``2 * most`` at most; a
    pair that both of its records keep counts twice. Pairs may come in any order: one that others
    have pushed out would be out with all that come later, too.

    Args:
        content: uint64[records]: hashes of all values, which decide ties: the order of the
            records does not.
        most: How many candidates there may be before any are left out.
        pool: Threads.
    """

    def __init__(self, content: np.ndarray, most: int, pool: Pool) -> None:
        self._content, self._most, self._pool = content, most, pool
        self._parts, self._left_out, self._each = list[Triple](), 0, 0
        #: uint64[records]: key of the last pair that each record keeps, once it has so many.
        self._last: np.ndarray | None = None

    def add(self, parts: list[Triple]) -> None:
        """Add pairs, each once."""
        for a, b, similarity in parts:
            if self._last is None:
                self._parts.append((a, b, similarity))
                continue
            stay = self._stay(self._last, a, b, similarity)
            self._left_out += len(a) - int(np.count_nonzero(stay))
            self._parts.append((a[stay], b[stay], similarity[stay]))
        if sum(len(part[0]) for part in self._parts) > _CUT_AT * self._most:
            edges = self.all().edges
            self._parts = [(edges.a, edges.b, edges.similarity)]

    def all(self) -> GroupCut:
        """Return the candidates so far."""
        edges = Edges.gather(self._parts, self._pool.empty)
        if len(edges) > self._most:
            edges = self._cut(edges)
        return GroupCut(edges, self._left_out, self._each)

    def _keys(self, a: np.ndarray, b: np.ndarray, similarity: np.ndarray) -> np.ndarray:
        """Return uint64[pairs]: the most similar first, to three decimals; then by contents."""
        mixed = (self._content[a] + self._content[b]) * _MIX
        apart = np.rint((1 - similarity) * _LEVELS).astype(np.uint64)
        return np.asarray(apart << _REST | mixed >> (np.uint64(64) - _REST))

    def _stay(
        self, last: np.ndarray, a: np.ndarray, b: np.ndarray, similarity: np.ndarray
    ) -> np.ndarray:
        keys = self._keys(a, b, similarity)
        return np.asarray((keys <= last[a]) | (keys <= last[b]))

    def _cut(self, edges: Edges) -> Edges:
        every = [(edges.a[r], edges.b[r], edges.similarity[r]) for r in batches(len(edges))]
        degree = np.zeros(len(self._content), np.int64)
        for a, b, _ in every:
            degree += np.bincount(a, minlength=len(degree)) + np.bincount(b, minlength=len(degree))
        each = _largest(degree, 2 * self._most)
        self._each = min(self._each or each, each)
        begin = np.append(0, np.cumsum(np.where(degree > self._each, self._each, 0)))
        heaps, filled = self._pool.empty(int(begin[-1]), np.uint64), np.zeros_like(degree)
        for part in every:
            keep_lowest(self._keys(*part), part[0], part[1], begin, filled, heaps)
        full = np.flatnonzero(filled)
        last = np.full(len(degree), np.iinfo(np.uint64).max)
        last[full] = heaps[begin[full]]
        columns = tuple(
            self._pool.empty(len(edges), dtype) for dtype in (np.int32, np.int32, np.float64)
        )
        end = 0
        for part in every:
            stay = self._stay(last, *part)
            more = int(np.count_nonzero(stay))
            for column, of in zip(columns, part, strict=True):
                column[end : end + more] = of[stay]
            end += more
        self._last = last
        self._left_out += len(edges) - end
        return Edges(*(column[:end] for column in columns))


def _largest(degree: np.ndarray, most: int) -> int:
    """Return the largest number for which all records keep so many pairs at most; at least 1.

    >>> _largest(np.array([1, 5, 9]), 9), _largest(np.array([1, 5, 9]), 2)
    (4, 1)
    """
    # The sum of min(degree, each) grows by the records of a higher degree.
    more = np.cumsum(np.bincount(degree)[::-1])[::-1][1:]
    return max(1, int(np.searchsorted(np.cumsum(more), most, side="right")))


def large_values(features: Features) -> list[tuple[int, int]]:
    """Return fields of which many records have the same value, and how many these are.

    Returns:
        (number of the field, records that have its most frequent value), most frequent first.
    """
    found = []
    for k, column in enumerate(features.hashes.T):
        ordered = np.sort(column[column != 0])
        starts = np.flatnonzero(np.diff(ordered, prepend=np.uint64(0)))
        largest = int(np.diff(starts, append=len(ordered)).max(initial=0))
        if largest > LARGE:
            found.append((k, largest))
    return sorted(found, key=lambda one: (-one[1], one[0]))
