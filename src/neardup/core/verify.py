"""Exact similarities of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.core.shingle import Ragged, shingle_sets
from neardup.core.threads import Pool
from neardup.kernels import sets as kernels
from neardup.spec import ShingleSpec

__all__ = ["ShingleSets", "similarity", "verify"]


@dataclass(frozen=True, slots=True)
class ShingleSets:
    """Shingle sets of documents, by position.

    Attributes:
        values: uint64[]: the sets, sorted, in any order and with gaps.
        begin: int64[documents]: where each set begins.
        size: int32[documents]: its length; 0 for a document whose set is not held.
        bitmaps: uint64[documents, 4]: the set folded into 256 bits, see
            `neardup.kernels.sets.fill_bitmaps`.
    """

    values: np.ndarray
    begin: np.ndarray
    size: np.ndarray
    bitmaps: np.ndarray

    @classmethod
    def of(cls, sets: Ragged) -> ShingleSets:
        """Take sets as `neardup.core.shingle.shingle_sets` gives them."""
        begin, size = sets.offsets[:-1].copy(), np.diff(sets.offsets).astype(np.int32)
        bitmaps = np.zeros((len(size), 4), dtype=np.uint64)
        docs = np.arange(len(size), dtype=np.int32)
        kernels.fill_bitmaps(sets.values, begin, size, docs, bitmaps)
        return cls(sets.values, begin, size, bitmaps)

    def filter(self, threshold: float) -> tuple[np.ndarray, np.ndarray, float]:
        """What `neardup.kernels.sets.may_reach` needs to rule pairs out."""
        return self.size, self.bitmaps, (1 - threshold) / (1 + threshold)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays, as kernels take them."""
        return self.values, self.begin, self.size


def verify(
    sets: ShingleSets, a: np.ndarray, b: np.ndarray, threshold: float, pool: Pool
) -> np.ndarray:
    """Return the exact Jaccard similarity of each pair, or -1 where it is below ``threshold``.

    Args:
        sets: Sets of all documents in the pairs.
        a, b: int32[pairs].
        threshold: Least similarity of interest; 0 for all.
        pool: Threads.

    Returns:
        float64[pairs].
    """
    out = np.empty(len(a), dtype=np.float64)
    pool.ranges(
        lambda first, last: kernels.verify(*sets.arrays, a, b, first, last, threshold, out),
        len(a),
    )
    return out


def similarity(first: str, second: str, spec: ShingleSpec | None = None) -> float:
    """Return the exact Jaccard similarity of two texts; 0.0 where either is empty.

    Args:
        first, second: The texts.
        spec: What a document becomes; word:5 by default.

    Examples:
        >>> similarity("a b c d", "a b c e", ShingleSpec(n=2))
        0.5
    """
    texts: Any = [first, second]
    sets = ShingleSets.of(shingle_sets(texts, spec))
    return max(0.0, float(kernels.jaccard(*sets.arrays, 0, 1, 0.0)))
