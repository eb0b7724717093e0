"""Pairs of documents that reach the threshold: sorted, each once, in memory or mapped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from neardup.tuning import TUNING

#: Classes of documents by which edges are counted.
_CLASSES = 1 << 16

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
#: Makes an array by shape and type, as `numpy.empty`.
Allocate = Callable[..., np.ndarray]


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs that reach the threshold: each once, sorted by ``a``, then by ``b``; ``a < b``.

    Arrays may be memory-mapped. They become read-only views: kernels are compiled once for both.

    >>> edges = Edges([0, 0, 1], [1, 2, 3], [0.9, 0.8, 0.75])
    >>> len(edges), edges.at_least(0.8).b.tolist()
    (3, [1, 2])
    """

    a: np.ndarray  # int32[edges]: the first document in keep order
    b: np.ndarray  # int32[edges]
    similarity: np.ndarray  # float64[edges], exact, from 0 to 1

    def __post_init__(self) -> None:
        for name, dtype in (("a", np.int32), ("b", np.int32), ("similarity", np.float64)):
            column = np.ascontiguousarray(getattr(self, name), dtype=dtype).view()
            if column.shape != (len(self.a),):
                raise ValueError(f"{name} is of shape {column.shape}; expected ({len(self.a)},)")
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.a)

    def __reduce__(self) -> "tuple[type[Edges], Triple]":
        return Edges, (self.a, self.b, self.similarity)

    @classmethod
    def gather(cls, parts: Sequence[Triple], allocate: Allocate = np.empty) -> "Edges":
        """Sort edges that were found in any order, and leave each pair once.

        Parts are (int32[], int32[], float64[]): a, b with ``a < b``, and similarity. They are read
        once for each of at most 64 batches, which are sorted at 60 bytes an edge; edges of one
        document, and of one in 65,536 of all, are not split. ``allocate`` makes the three arrays.
        """
        total = sum(len(part[0]) for part in parts)
        slices = [tuple(c[rows] for c in part) for part in parts for rows in batches(len(part[0]))]
        out = tuple(allocate(total, dtype) for dtype in (np.int32, np.int32, np.float64))
        end = 0
        for first, last in _ranges([part[0] for part in slices], max(TUNING.edges, total // 64)):
            in_range = [np.flatnonzero((a >= first) & (a < last)) for a, _, _ in slices]
            a, b, similarity = (
                np.concatenate([part[i][rows] for part, rows in zip(slices, in_range, strict=True)])
                for i in range(3)
            )
            keys = _keys(a, b)
            order = np.argsort(keys)  # equal pairs have equal similarities, so any order will do
            order = order[np.diff(keys[order], prepend=-1) != 0]
            for column, found in zip(out, (a, b, similarity), strict=True):
                column[end : end + len(order)] = found[order]
            end += len(order)
        return cls(*(column[:end] for column in out))

    def with_answers(
        self, duplicate_of: np.ndarray, similarity: np.ndarray, allocate: Allocate = np.empty
    ) -> "Edges":
        """Return them with the pair of each removed document and the one it is a duplicate of.

        Where not all pairs are listed, such a pair may be missing. ``duplicate_of`` is int32[n], -1
        for a kept document; ``similarity``, float64[n], is that of the two.
        """
        removed = np.flatnonzero(duplicate_of >= 0)
        answers = duplicate_of[removed], removed.astype(np.int32), similarity[removed]
        return Edges.gather([(self.a, self.b, self.similarity), answers], allocate)

    def at_least(self, threshold: float) -> "Edges":
        rows = self.similarity >= threshold
        return Edges(self.a[rows], self.b[rows], self.similarity[rows])

    def check(self, n: int) -> None:
        """Raise ValueError unless pairs are ``a < b``, sorted, distinct, and of ``n`` documents."""
        check_range(self.a, self.b, n)
        for rows in batches(len(self)):
            wide = slice(rows.start, rows.stop + 1)  # with the first edge of the next batch
            a, b = self.a[wide], self.b[wide]
            if not ((a < b).all() and (np.diff(_keys(a, b)) > 0).all()):
                raise ValueError(
                    f"edges {rows.start} to {rows.stop}: expected a < b, sorted and distinct"
                )


def check_range(a: np.ndarray, b: np.ndarray, n: int) -> None:
    """Raise ValueError unless all documents of some pairs are from 0 to ``n - 1``."""
    for docs in (a, b):
        if len(docs) and (docs.min() < 0 or docs.max() >= n):
            raise ValueError(f"documents {docs.min()} to {docs.max()}; expected 0 to {n - 1}")


def _keys(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    keys: np.ndarray = a.astype(np.int64) << 32 | b
    return keys


def batches(total: int, size: int | None = None) -> Iterator[slice]:
    """Yield the slices of ``range(total)`` of a size at most; None for that of edges."""
    size = size or TUNING.edges
    for low in range(0, total, size):
        yield slice(low, min(low + size, total))


def _ranges(parts: list[np.ndarray], limit: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents that are in parts about ``limit`` times; none without parts."""
    highest = max((int(docs.max()) for docs in parts), default=0)
    shift = max(0, highest.bit_length() - _CLASSES.bit_length() + 1)
    counts = np.zeros((highest >> shift) + 1, dtype=np.int64)
    for docs in parts:
        counts += np.bincount(docs >> shift, minlength=len(counts))
    for first, last in runs(counts, limit):
        yield first << shift, last << shift


def runs(counts: np.ndarray, limit: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of classes with 1 to ``limit`` members together, or of a single larger class."""
    ends = np.cumsum(counts)
    first = before = 0
    while first < len(counts):
        last = max(first + 1, int(np.searchsorted(ends, before + limit, side="right")))
        if ends[last - 1] > before:
            yield first, last
        first, before = last, int(ends[last - 1])
