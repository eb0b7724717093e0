"""All pairs of documents that have most of their shingles in common."""

from __future__ import annotations

import numpy as np

from neardup.core.join import Joined
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.kernels import dense as kernels
from neardup.kernels.join import gather_part

__all__ = ["History", "dense_pairs"]

#: Values that become bits.
_BITS = 512


class History:
    """Which documents were compared with each other, as members of one bucket.

    Args:
        documents: Number of documents.
        space: Where what is kept for each of them lies.
    """

    def __init__(self, documents: int, space: Space | None = None) -> None:
        self._heads = (space or Space()).filled(documents, np.int64, -1)
        self._links = np.empty(1024, dtype=np.int64)
        self._owners = np.empty(1024, dtype=np.int32)
        self._filled = 0
        self._buckets = 0

    def add(self, docs: np.ndarray) -> None:
        """Take a bucket whose documents are all compared now."""
        while self._filled + len(docs) > len(self._links):
            self._links = np.concatenate([self._links, np.empty_like(self._links)])
            self._owners = np.concatenate([self._owners, np.empty_like(self._owners)])
        self._filled = kernels.chain(
            docs, self._buckets, self._heads, self._links, self._owners, self._filled
        )
        self._buckets += 1

    def masks(self, docs: np.ndarray) -> np.ndarray:
        """Return uint64[m, words]: rows with a bit in common went through a bucket together."""
        rows, owners = np.empty(0, np.int32), np.empty(0, np.int32)
        for _ in range(2):  # the first time only counts
            count = kernels.chained(docs, self._heads, self._links, self._owners, rows, owners)
            rows, owners = rows[:count], owners[:count]
            if len(rows) < count:
                rows, owners = np.empty(count, np.int32), np.empty(count, np.int32)
        names, bit, together = np.unique(owners, return_inverse=True, return_counts=True)
        masks = np.zeros((len(docs), -(-len(names) // 64)), dtype=np.uint64)
        several = together[bit] > 1
        rows, bit = rows[several], bit[several]
        np.bitwise_or.at(masks, (rows, bit >> 6), np.uint64(1) << (bit & 63).astype(np.uint64))
        return masks

    def pairs_that_met(self, docs: np.ndarray) -> int:
        """Count the pairs that went through a bucket together before; 0 where that takes long."""
        masks, sizes = np.unique(self.masks(docs), axis=0, return_counts=True)
        # Documents of one family were in the same few buckets, so that there are few groups.
        if masks.shape[1] == 0 or len(masks) > 2048:
            return 0
        sizes = sizes.astype(np.int64)
        total = 0
        for i, mask in enumerate(masks):
            met = (masks[i + 1 :] & mask).any(axis=1)
            total += int(sizes[i] * sizes[i + 1 :][met].sum())
            if mask.any():
                total += int(sizes[i] * (sizes[i] - 1)) // 2
        return total


def dense_pairs(
    sets: ShingleSets,
    docs: np.ndarray,
    roots: np.ndarray,
    threshold: float,
    compared: np.ndarray,
    met: np.ndarray,
    pool: Pool,
) -> Joined:
    """Compare every two documents of different clusters, exactly.

    For documents made from one template: the values that most of them have are compared as bits,
    512 at a time, so that a pair costs nanoseconds where a merge costs hundreds. Quadratic in the
    number of documents.

    Args:
        sets: Sets of all documents.
        docs: int32[m], distinct.
        roots: int32[m], the root of each one's cluster. Pairs of one cluster are left out.
        threshold: Least similarity.
        compared: Table of pairs whose edges are known already.
        met: uint64[m, any]: pairs with a bit in common are left out, see `History`.
        pool: Threads.

    Returns:
        Pairs that reach the threshold and are not in ``compared``.
    """
    sizes = sets.size[docs]
    total = int(sizes.sum(dtype=np.int64))
    values, ranks = np.empty(total, np.uint64), np.empty(total, np.int32)
    gather_part(*sets.arrays, docs, np.uint64(0), np.uint64(2**64 - 1), values, ranks)
    values.sort()
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    counts = np.diff(starts, append=total)
    shared = np.flatnonzero(counts > 1)
    by_count = shared[np.argsort(-counts[shared], kind="stable")]
    frequent = np.sort(values[starts[by_count[:_BITS]]])
    others = np.sort(values[starts[by_count[_BITS:]]])
    bits = np.zeros((len(docs), max(1, -(-len(frequent) // 64))), dtype=np.uint64)
    rest_starts = np.empty(len(docs) + 1, dtype=np.int64)
    rest = values  # no longer needed, and large enough
    kernels.split(sets.arrays, docs, frequent, others, bits, rest, rest_starts)

    def work(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        room = (last - first) * len(docs)
        out = (np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.float64))
        found, comparisons = kernels.all_pairs(
            bits, rest, rest_starts, docs, sizes, roots, met, threshold, compared, first, last, out
        )
        a, b, similarity = (array[:found].copy() for array in out)
        return a, b, similarity, comparisons

    parts = pool.ranges(work, len(docs), step=32)
    return Joined(
        np.concatenate([p[0] for p in parts]),
        np.concatenate([p[1] for p in parts]),
        np.concatenate([p[2] for p in parts]),
        sum(p[3] for p in parts),
    )
