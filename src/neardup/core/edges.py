"""Pairs that reach the edge threshold: sorted, each once, in memory or streamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from neardup.core.space import Space

__all__ = ["EdgeLog", "Edges", "Triple"]

#: Edges that are sorted at a time; while they are, each takes about 60 bytes.
_BLOCK = 1 << 22
#: Classes of documents by which edges are counted, to cut them into blocks.
_CLASSES = 1 << 16

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass
class Edges:
    """Pairs that reach the edge threshold.

    Attributes:
        a, b: int32[pairs], ``a < b``, sorted, each pair once.
        similarity: float64[pairs], exact.
    """

    a: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    b: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    similarity: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.a)

    def parts(self) -> list[Triple]:
        """Return them as `EdgeLog.parts` does."""
        return [(self.a, self.b, self.similarity)]

    def blocks(self) -> Iterator[Edges]:
        """Yield them as `EdgeLog.blocks` does."""
        if len(self):
            yield self

    def all(self) -> Edges:
        """Return all of them."""
        return self

    @classmethod
    def gather(cls, parts: list[Triple]) -> Edges:
        """Join parts, sort them, and leave each pair once."""
        parts = [part for part in parts if len(part[0])]
        if not parts:
            return cls()
        a, b, similarity = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        pair = a.astype(np.uint64) << np.uint64(32) | b.astype(np.uint64)
        order = np.argsort(pair)  # equal pairs have equal similarities, so their order is free
        pair = pair[order]
        order = order[np.concatenate([[True], pair[1:] != pair[:-1]])]
        return cls(a[order], b[order], similarity[order])


class EdgeLog:
    """Edges as they are found, in any order; a pair may come more than once.

    Args:
        documents: Number of documents.
        space: Where they lie.
    """

    def __init__(self, documents: int, space: Space) -> None:
        self._documents = documents
        self._space = space
        self._waiting: list[Triple] = []
        self._parts: list[Triple] = []

    def add(self, a: np.ndarray, b: np.ndarray, similarity: np.ndarray) -> None:
        """Take edges, ``a < b``; the arrays must not change afterwards."""
        if len(a):
            self._waiting.append((a, b, similarity))

    def settle(self) -> Triple:
        """Put what came since the last call where it stays, and return it."""
        count = sum(len(part[0]) for part in self._waiting)
        settled = tuple(self._space.empty(count, t) for t in (np.int32, np.int32, np.float64))
        for i, column in enumerate(settled):
            at = 0
            for part in self._waiting:
                column[at : at + len(part[i])] = part[i]
                at += len(part[i])
        self._waiting = []
        a, b, similarity = settled
        if count:
            self._parts.append((a, b, similarity))
        return a, b, similarity

    def parts(self) -> list[Triple]:
        """Return all edges as they came, some perhaps more than once."""
        self.settle()
        return self._parts

    def blocks(self, limit: int = _BLOCK) -> Iterator[Edges]:
        """Yield all edges in order, each once.

        Args:
            limit: Edges of a block, about: those of one document are never split.
        """
        self.settle()
        shift = 0
        while self._documents >> shift > _CLASSES:
            shift += 1
        counts = np.zeros((self._documents >> shift) + 1, dtype=np.int64)
        for a, _, _ in self._parts:
            for low in range(0, len(a), _BLOCK):
                counts += np.bincount(a[low : low + _BLOCK] >> shift, minlength=len(counts))
        ends = np.cumsum(counts)
        first = 0
        while first < len(counts):
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + limit, side="right")))
            if ends[last - 1] > before:
                yield Edges.gather(
                    [_between(p, first << shift, last << shift) for p in self._parts]
                )
            first = last

    def all(self) -> Edges:
        """Return all edges."""
        self.settle()
        return Edges.gather(self._parts)


def _between(part: Triple, first: int, last: int) -> Triple:
    found: list[Triple] = []
    a, b, similarity = part
    for low in range(0, len(a), _BLOCK):
        piece = slice(low, low + _BLOCK)
        inside = (a[piece] >= first) & (a[piece] < last)
        found.append((a[piece][inside], b[piece][inside], similarity[piece][inside]))
    x, y, s = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return x, y, s
