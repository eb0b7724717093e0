"""Candidate pairs to verified pairs to clusters, band by band.

The result is a function of the buckets and the spec alone: bands in order, buckets by key,
documents by position. Similarities are computed by many threads, unions applied in order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.core.bounded import Bounded, BoundedPairs, bounded, bounded_mst
from neardup.core.forest import PairSet
from neardup.core.giant import GiantBuckets
from neardup.core.growing import Counts, Growing
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.kernels import buckets as kernels
from neardup.spec import Spec

__all__ = [
    "Bounded",
    "BoundedPairs",
    "Clustering",
    "Counts",
    "PairSet",
    "bounded",
    "bounded_mst",
]

#: In buckets up to this size, every pair of documents that has to be compared is compared.
SMALL_BUCKET = 256
#: Comparisons, by document of the corpus, that may be spent in larger buckets on pairs of
#: documents whose clusters met there but did not merge.
MENDING = 256
#: Pairs that are listed before they are compared.
_BLOCK = 1 << 18
#: Documents whose buckets are gone through together. Not a matter of how much memory there is:
#: which pairs are compared first decides which clusters merge.
_MEMBERS = 1 << 20


class Clustering(Growing):
    """Clusters that grow as bands are put in.

    With a clustering that is made of all edges in the end (`Spec.of_edges`), the edges are gathered
    and every document stays alone.

    Args:
        sets: Shingle sets of all documents that a bucket may hold.
        spec: Thresholds, clustering and pairs.
        pool: Threads.
        budget: Comparisons that may be spent in giant buckets; `MENDING` a document by default.
        space: Where arrays by document and by pair lie.
    """

    def __init__(
        self,
        sets: ShingleSets,
        spec: Spec,
        pool: Pool,
        budget: int | None = None,
        space: Space | None = None,
    ) -> None:
        space = space or Space()
        super().__init__(sets, spec, pool, space)
        self._small = SMALL_BUCKET
        budget = MENDING * len(sets.size) if budget is None else budget
        self._giants = GiantBuckets(self, self._small, budget, space)
        self._filter = sets.filter(spec.edge_threshold)

    def add_band(self, members: np.ndarray, starts: np.ndarray) -> None:
        """Compare what must be compared in the buckets of one band, and unite.

        Args:
            members: int32[]: documents of each bucket, ascending; buckets by key.
            starts: int32[buckets + 1].
        """
        for first, last in _blocks(starts):
            low, high = int(starts[first]), int(starts[last])
            self._add_block(members[low:high], starts[first : last + 1] - starts[first])

    def roots(self) -> np.ndarray:
        """Return int32[documents]: the root of each document."""
        return self.forest.roots()

    def take_log(self) -> dict[str, np.ndarray]:
        """Return what was done since the last call, for `replay`."""
        return {**super().take_log(), **self._giants.take_log()}

    def replay(self, log: dict[str, np.ndarray]) -> None:
        """Do again, without comparing anything, what `take_log` returned.

        Args:
            log: Logs come in the order in which they were taken.
        """
        super().replay(log)
        self._giants.replay(log)

    def _add_block(self, members: np.ndarray, starts: np.ndarray) -> None:
        sizes = np.diff(starts)
        self.counts.largest_bucket = max(self.counts.largest_bucket, int(sizes.max(initial=0)))
        if not self.every:
            # One comparison for each document first: where a bucket is one cluster, as most are,
            # nothing is left to do after it.
            a, b = np.empty(len(members), np.int32), np.empty(len(members), np.int32)
            count, pruned = kernels.star_pairs(
                members, starts, self.forest.parent, self._filter, self.compared.table, a, b
            )
            self.counts.pruned += pruned
            self.compare(a[:count], b[:count])
        room = _BLOCK + self._small**2
        a, b = np.empty(room, np.int32), np.empty(room, np.int32)
        bucket = 0
        while bucket < len(sizes):
            count, pruned, bucket = kernels.small_pairs(
                members,
                starts,
                self.forest.parent,
                self._small,
                self.every,
                self._filter,
                self.compared.table,
                bucket,
                a,
                b,
            )
            self.counts.pruned += pruned
            self.compare(a[:count], b[:count])
        for large in np.flatnonzero(sizes > self._small):
            self._giants.add(members[starts[large] : starts[large + 1]])


def _blocks(starts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield ranges of buckets of about `_MEMBERS` documents together, whole buckets only."""
    first, buckets = 0, len(starts) - 1
    while first < buckets:
        last = int(np.searchsorted(starts, int(starts[first]) + _MEMBERS, side="right")) - 1
        last = min(max(last, first + 1), buckets)
        yield first, last
        first = last
