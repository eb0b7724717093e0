"""Groups of records that are too large to list all of their pairs: fixed rules that cut them.

The rules depend on the records and on nothing else: neither on memory nor on threads. Of more than
`MOST_EQUAL` records that are equal in all fields, so many are compared with others; each further
one is compared with the first of them only, and belongs where that one belongs. And if there are
more candidates than `most_candidates`, each record keeps those that are most similar to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import BATCH, Edges, batches, runs
from neardup.kernels.record_pairs import rank_pairs
from neardup.records.decision.frequencies import row_hashes
from neardup.records.features import Features
from neardup.threads import Pool

#: Equal records, within a file, that are compared with others.
MOST_EQUAL = 256
#: Candidates by complete records: for each record on average, or in a small file in all.
_EACH, _FEW = 50, 1 << 20
#: Records that share a value, from which on a group is large: some of their pairs may be left out.
LARGE = 1024
_MIX = np.uint64(0x9E3779B97F4A7C15)
#: Levels of similarity, whose bits are before those of an order by contents; and the bits that come
#: after those of a class, by which pairs are divided before they are sorted.
_LEVELS, _REST, _CLASS = 1023, np.uint64(54), np.uint64(48)


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


def find_copies(features: Features, split: int) -> Copies:
    """Find the records that come after `MOST_EQUAL` equal ones of their file.

    Args:
        features: Of the records.
        split: Number of the first record of the second file, or of records.
    """
    hashes, records = row_hashes(features), len(features.hashes)
    hashes[~features.present.any(axis=1)] = 0  # without values, records are no copies
    order = np.argsort(hashes, kind="stable").astype(np.int32)  # within a group, by file
    ordered, second = hashes[order], order >= split
    new = ordered[1:] != ordered[:-1]
    groups = np.append(0, np.cumsum(new | (second[1:] != second[:-1]))) if records else order
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
    if split == records:
        large = np.unique(group)
        left_out = int((size[large] * (size[large] - 1) // 2).sum())
        left_out -= int((listed[large] * (listed[large] - 1) // 2).sum()) + len(mine)
        return Copies(of, of[mine], mine, left_out)
    # Across two files, one by one; the group of the other file is next to it, if there is one.
    other = np.where(second[excess], group - 1, group + 1)
    other = np.clip(other, 0, len(starts) - 1)
    there = (other != group) & (ordered[starts[other]] == ordered[excess])
    other, mine, rank = other[there], mine[there], rank[excess][there]
    theirs = order[starts[other] + rank % size[other]]
    a, b = np.minimum(mine, theirs), np.maximum(mine, theirs)
    pairs = np.unique(np.column_stack([a, b]), axis=0)
    one = np.unique(np.minimum(group[there], other))
    left_out = int((size[one] * size[one + 1] - listed[one] * listed[one + 1]).sum()) - len(pairs)
    return Copies(of, pairs[:, 0].copy(), pairs[:, 1].copy(), left_out)


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


class Cut(NamedTuple):
    """Candidates that are left.

    Attributes:
        edges: The candidates.
        left_out: How many were left out.
        each: Candidates that each record keeps; 0 for all.
    """

    edges: Edges
    left_out: int
    each: int


def cut(edges: Edges, content: np.ndarray, most: int, pool: Pool) -> Cut:
    """Leave out candidates of low similarity, of the records that have most of them.

    A pair stays if it is among the first so many of one of its two records, by their similarity.
    That number is the largest one by which there are no more than ``most``. To cut some candidates,
    and to cut again after others have come, has the result of one cut.

    Args:
        edges: The candidates.
        content: uint64[records]: hashes of all values, which decide ties: the order of the
            records does not.
        most: How many candidates there may be.
        pool: Threads.
    """
    if len(edges) <= most:
        return Cut(edges, 0, 0)
    a, b = edges.a, edges.b

    def key(low: int, high: int) -> np.ndarray:
        """First those that are most similar, to three decimals; then in an order by contents."""
        mixed = (content[a[low:high]] + content[b[low:high]]) * _MIX
        apart = np.rint((1 - edges.similarity[low:high]) * _LEVELS).astype(np.uint64)
        return np.asarray(apart << _REST | mixed >> (np.uint64(64) - _REST))

    keys = pool.filled(key, len(edges), np.uint64)
    counts = _counted(keys, 1 << 16, _CLASS)
    ranks, seen = pool.empty(len(edges), np.int32), np.zeros(len(content), np.int32)
    # As many at a time as are sorted in a small part of the memory.
    for first, last in runs(counts, BATCH):
        parts = []
        for rows in batches(len(edges)):
            of = keys[rows] >> _CLASS
            parts.append(rows.start + np.flatnonzero((of >= first) & (of < last)))
        found = np.concatenate(parts)
        rank_pairs(found[np.argsort(keys[found], kind="stable")], a, b, seen, ranks)
    ends = np.cumsum(_counted(ranks, int(seen.max())))
    each = max(1, int(np.searchsorted(ends, most, side="right")))
    left, end = int(ends[each - 1]), 0
    columns = tuple(pool.empty(left, dtype) for dtype in (np.int32, np.int32, np.float64))
    for rows in batches(len(edges)):
        stay = ranks[rows] < each
        more = int(np.count_nonzero(stay))
        for column, of in zip(columns, (a, b, edges.similarity), strict=True):
            column[end : end + more] = of[rows][stay]
        end += more
    return Cut(Edges(*columns), len(edges) - left, each)


def _counted(values: np.ndarray, classes: int, shift: np.uint64 | int = 0) -> np.ndarray:
    """Return int64[classes]: how many of some values there are, without their last bits."""
    counts = np.zeros(classes, np.int64)
    for rows in batches(len(values)):
        counts += np.bincount((values[rows] >> shift).astype(np.int64), minlength=classes)
    return counts


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
