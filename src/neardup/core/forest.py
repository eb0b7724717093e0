"""Disjoint sets of documents, with or without the bound of the Jaccard distance."""

from __future__ import annotations

import numpy as np

from neardup.core.edges import Triple
from neardup.core.space import Space
from neardup.core.verify import ShingleSets
from neardup.kernels import bounded as kernels
from neardup.kernels import buckets as bucket_kernels
from neardup.kernels.clusters import find_all

__all__ = ["Forest", "PairSet", "room_for"]

_BY_POSITION = np.zeros(0, dtype=np.uint64)


class PairSet:
    """Pairs of documents in an open-addressing table that grows.

    Args:
        space: Where the table lies.
    """

    def __init__(self, space: Space | None = None) -> None:
        self._space = space or Space()
        self.table = self._space.zeros(1 << 16, np.uint64)
        self.count = 0

    def reserve(self, more: int) -> None:
        """Make room for so many more pairs."""
        size = len(self.table)
        while (self.count + more) * 2 > size:
            size *= 2
        if size > len(self.table):
            larger = self._space.zeros(size, np.uint64)
            bucket_kernels.rehash(self.table, larger)
            self.table = larger

    def add(self, a: np.ndarray, b: np.ndarray) -> None:
        self.reserve(len(a))
        self.count += bucket_kernels.insert(self.table, a, b)


class Forest:
    """Disjoint sets of documents, each a tree with a root.

    Args:
        sets: Shingle sets of all documents that may be joined to others.
        space: Where arrays by document lie.
        keys: uint64[documents] that decide which of two roots of equal rank stays one; without
            them it is the earlier document.

    Attributes:
        parent: int32[documents].
        low: float64[documents]: lower bound of the similarity between a root and any document of
            its tree.
        unions, refused, root_comparisons: What was done so far; see `neardup.core.growing.Counts`.

    Source: "Deduplication in a massive clinical note dataset", Shenoy et al. 2017, section 6.
    """

    def __init__(self, sets: ShingleSets, space: Space, keys: np.ndarray = _BY_POSITION) -> None:
        documents = len(sets.size)
        self._sets = sets
        self.parent = space.arange(documents, np.int32)
        self._rank = space.zeros(documents, np.uint8)
        self.low = space.filled(documents, np.float64, 1.0)
        self._apart = PairSet(space)
        self._keys = keys
        self.unions = self.refused = self.root_comparisons = 0

    def unite(self, edges: Triple, tree_threshold: float | None) -> tuple[Triple, Triple]:
        """Apply the unions of edges in their order.

        Args:
            edges: (int32[], int32[], float64[]): pairs with their exact similarities.
            tree_threshold: What the bound is held against; None for no bound.

        Returns:
            (child, root and similarity of the unions made; pairs of roots that were compared, lower
            position first, with their similarities).
        """
        a, b, similarity = edges
        made, compared = room_for(len(a)), room_for(len(a))
        unions, comparisons, refused = kernels.unite(
            a,
            b,
            similarity,
            0.0 if tree_threshold is None else tree_threshold,
            tree_threshold is not None,
            self.state(len(a)),
            self._sets.arrays,
            compared,
            made,
        )
        self.note(unions, comparisons, refused)
        return _first(made, unions), _first(compared, comparisons)

    def unite_again(self, made: Triple, compared: tuple[np.ndarray, np.ndarray]) -> None:
        """Do again what `unite` did, without comparing anything.

        Args:
            made, compared: As it returned them; of the pairs of roots only these.
        """
        kernels.relink(*made, self.parent, self._rank, self.low)
        self._apart.add(*compared)

    def state(self, pairs: int) -> tuple[np.ndarray, ...]:
        """Return what the kernels take, with room for so many more pairs of roots."""
        self._apart.reserve(pairs)
        return self.parent, self._rank, self.low, self._apart.table, self._keys

    def note(self, unions: int, comparisons: int, refused: int) -> None:
        """Add up what a kernel says that it did."""
        self._apart.count += comparisons
        self.unions += unions
        self.root_comparisons += comparisons
        self.refused += refused

    def roots(self, docs: np.ndarray | None = None) -> np.ndarray:
        """Return int32[m]: the root of each document, or of some."""
        if docs is None:
            docs = np.arange(len(self.parent), dtype=np.int32)
        out = np.empty(len(docs), dtype=np.int32)
        find_all(self.parent, docs, out)
        return out


def room_for(pairs: int) -> Triple:
    """Return arrays for so many pairs with their similarities."""
    return np.empty(pairs, np.int32), np.empty(pairs, np.int32), np.empty(pairs, np.float64)


def _first(triple: Triple, count: int) -> Triple:
    a, b, similarity = triple
    return a[:count].copy(), b[:count].copy(), similarity[:count].copy()
