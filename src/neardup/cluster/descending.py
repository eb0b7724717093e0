"""Edges from the most similar one down, a batch at a time, however many there are."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Edges, Triple, batches, runs
from neardup.kernels.bits import TOKEN_MULTIPLIER
from neardup.threads import Pool
from neardup.tuning import TUNING

#: The bits of 1.0. The bits of floats are in the order of their values. So this minus the bits
#: of a similarity ascends from 0 where the similarity descends from 1.
_ONE = 0x3FF0000000000000
#: Classes into which the edges of a range are counted.
_CLASSES = 1 << 16


class _EdgeRange(NamedTuple):
    """Successive edges: all of some values; or, of one value, those of some hashes. Ends count."""

    low: int
    high: int
    value: int | None = None


def descending(
    edges: Edges, content: np.ndarray, parent: np.ndarray, pool: Pool
) -> Iterator[Triple]:
    """Yield edges in descending order of similarity, those within one tree of ``parent`` left out.

    Ties are broken by a hash of both contents, and by numbers among pairs of equal contents. Edges
    are neither copied nor sorted all at once, but counted by classes of similarity, and read once
    for each of about 64 batches at most. An edge of a batch takes 60 bytes; there are more
    where more have equal similarity and contents.

    Source: V. Osipov, P. Sanders, J. Singler. The filter-Kruskal minimum spanning tree algorithm.
    ALENEX 2009.
    """
    if len(edges) == 0:
        return
    values = edges.similarity.view(np.int64)

    def select(part: _EdgeRange, rows: slice) -> tuple[np.ndarray, ...]:
        rows_of_part, _ = _within(edges, content, part, rows)
        a, b = edges.a[rows_of_part], edges.b[rows_of_part]
        apart = roots(parent, a) != roots(parent, b)
        return a[apart], b[apart], values[rows_of_part[apart]]

    all_values = _EdgeRange(0, _ONE - int(values.min()))
    for part in _cut(edges, content, all_values, max(TUNING.edges, len(edges) // 64), pool):
        found = pool.ordered(partial(select, part), batches(len(edges)))
        a, b, value = (np.concatenate(columns) for columns in zip(*found, strict=True))
        # Both are sorted by numbers already, and sorting is stable.
        order = np.lexsort((_hashes(content, a, b), _ONE - value))
        yield a[order], b[order], value[order].view(np.float64)


def roots(parent: np.ndarray, docs: np.ndarray) -> np.ndarray:
    """Return int32[m]: the root of each document; trees must not be high."""
    found: np.ndarray = parent[docs]
    while not np.array_equal(found, above := parent[found]):
        found = above
    return found


def _cut(
    edges: Edges, content: np.ndarray, part: _EdgeRange, limit: int, pool: Pool
) -> Iterator[_EdgeRange]:
    low, high, value = part
    shift = max(0, (high - low).bit_length() - _CLASSES.bit_length() + 1)

    def count(rows: slice) -> np.ndarray:
        keys = _within(edges, content, part, rows)[1] - low
        return np.bincount(keys >> shift, minlength=_CLASSES)

    counts: np.ndarray = sum(pool.ordered(count, batches(len(edges))), np.zeros(_CLASSES, np.int64))
    for first, last in runs(counts, limit):
        inner = _EdgeRange(low + (first << shift), min(high, low + (last << shift) - 1), value)
        # One cut by hash suffices: 65,536 times the limit would have to be equally similar.
        if counts[first:last].sum() <= limit or value is not None:
            yield inner
        else:
            if inner.low == inner.high:
                inner = _EdgeRange(0, (1 << 63) - 1, inner.low)
            yield from _cut(edges, content, inner, limit, pool)


def _within(
    edges: Edges, content: np.ndarray, part: _EdgeRange, rows: slice
) -> tuple[np.ndarray, np.ndarray]:
    """Return which of some edges are in a range, and the keys by which it can be cut further."""
    keys = _ONE - edges.similarity[rows].view(np.int64)
    if part.value is None:
        found = np.flatnonzero((keys >= part.low) & (keys <= part.high))
        return found + rows.start, keys[found]
    found = np.flatnonzero(keys == part.value) + rows.start
    keys = _hashes(content, edges.a[found], edges.b[found])
    in_range = (keys >= part.low) & (keys <= part.high)
    return found[in_range], keys[in_range]


def _hashes(content: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return int64[m]: a hash of 63 bits of each unordered pair, by contents."""
    x, y = content[a], content[b]
    mixed: np.ndarray = (np.maximum(x, y) * TOKEN_MULTIPLIER ^ np.minimum(x, y)) >> np.uint64(1)
    return mixed.view(np.int64)
