"""Edges from the most similar one down, a block at a time, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from neardup.core.edges import Triple
from neardup.core.space import Space
from neardup.kernels import edges as kernels

__all__ = ["descending"]

#: Edges that are sorted at a time, and looked at together while they are cut into classes.
_BLOCK = 1 << 21
#: Classes into which edges are cut by the leading bits of what they are sorted by.
_BITS = 16

Apart = Callable[[np.ndarray, np.ndarray], np.ndarray]
Value = Callable[[Triple], np.ndarray]


def descending(
    parts: list[Triple], hashes: np.ndarray, apart: Apart, space: Space, limit: int = _BLOCK
) -> Iterator[Triple]:
    """Yield edges in descending order of similarity, each once.

    Ties are broken by a mix of the two documents' hashes, and so by their contents; by position
    only among pairs that have equal contents. Where there are more edges than one block holds,
    those between documents that are together by then are left out.

    Args:
        parts: Edges in any order.
        hashes: uint64[documents], see `neardup.kernels.sets.hash_sets`.
        apart: Takes (int32[m], int32[m]) and says which of the pairs are still apart: bool[m].
        space: Where a copy of the edges lies that is ordered in part.
        limit: Edges of a block.

    Source: V. Osipov, P. Sanders, J. Singler. The filter-Kruskal minimum spanning tree algorithm.
    ALENEX 2009.
    """

    def by_similarity(edges: Triple) -> np.ndarray:
        # As bits, floats that are not negative are in the order of their values.
        return np.uint64(1 << 62) - edges[2].view(np.uint64)

    def by_hash(edges: Triple) -> np.ndarray:
        out = np.empty(len(edges[0]), np.uint64)
        kernels.pair_hashes(hashes, edges[0], edges[1], out)
        return out

    def ordered(edges: Triple) -> Triple:
        value, mixed = by_similarity(edges), by_hash(edges)
        order = np.lexsort((mixed, value))
        tied = (np.diff(value[order]) == 0) & (np.diff(mixed[order]) == 0)
        if tied.any():
            pair = edges[0].astype(np.uint64) << np.uint64(32) | edges[1].astype(np.uint64)
            order = np.lexsort((pair, mixed, value))
            order = order[np.concatenate([[True], np.diff(pair[order]) != 0])]
        a, b, similarity = (column[order] for column in edges)
        return a, b, similarity

    def go(parts: list[Triple], values: list[Value]) -> Iterator[Triple]:
        total = sum(len(part[0]) for part in parts)
        if total <= limit or not values:
            if total:
                a, b, similarity = (np.concatenate(columns) for columns in zip(*parts, strict=True))
                yield ordered((a, b, similarity))
            return
        classes = _classes(parts, values[0])
        if classes is None:  # all have the same value
            yield from go(parts, values[1:])
            return
        cut, ends = _cut(parts, classes, space)
        del parts
        first = 0
        while first < len(ends):
            low = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, low + limit, side="right")))
            if ends[last - 1] > low:
                piece = _still(cut, low, int(ends[last - 1]), apart)
                # One class that is too large is cut again, more finely.
                yield from go([piece], values)
            first = last

    yield from go(parts, [by_similarity, by_hash])


def _pieces(parts: list[Triple]) -> Iterator[Triple]:
    for a, b, similarity in parts:
        for low in range(0, len(a), _BLOCK):
            piece = slice(low, low + _BLOCK)
            yield a[piece], b[piece], similarity[piece]


def _classes(parts: list[Triple], value: Value) -> Value | None:
    """Return what cuts the range of the values into classes; None where they are all equal."""
    ranges = [(int(v.min()), int(v.max())) for v in map(value, _pieces(parts))]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    if low == high:
        return None
    shift = np.uint64(max(0, (high - low).bit_length() - _BITS))

    def classes(edges: Triple) -> np.ndarray:
        return (value(edges) - np.uint64(low) >> shift).astype(np.uint16)

    return classes


def _cut(parts: list[Triple], classes: Value, space: Space) -> tuple[Triple, np.ndarray]:
    """Return the edges class by class, and where each class ends."""
    counts = np.zeros(1 << _BITS, dtype=np.int64)
    for piece in _pieces(parts):
        counts += np.bincount(classes(piece), minlength=len(counts))
    ends = np.cumsum(counts)
    total = int(ends[-1])
    cut = (
        space.empty(total, np.int32),
        space.empty(total, np.int32),
        space.empty(total, np.float64),
    )
    begins = ends - counts
    for piece in _pieces(parts):
        kernels.scatter(classes(piece), begins, *piece, *cut)
    return cut, ends


def _still(cut: Triple, low: int, high: int, apart: Apart) -> Triple:
    """Return a slice of the edges, without those whose documents are together by now."""
    end = low
    for begin in range(low, high, _BLOCK):
        piece = slice(begin, min(begin + _BLOCK, high))
        mask = apart(cut[0][piece], cut[1][piece])
        count = int(np.count_nonzero(mask))
        for column in cut:
            column[end : end + count] = column[piece][mask]
        end += count
    a, b, similarity = (column[low:end] for column in cut)
    return a, b, similarity
