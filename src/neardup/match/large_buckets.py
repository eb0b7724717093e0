"""Large buckets: the bitmaps of their kept documents, and an index where that takes less time."""

import numpy as np

from neardup.cluster.edges import Allocate
from neardup.files.scratch import Scratch
from neardup.kernels.jaccard import Sets, slack_of
from neardup.kernels.resolving import FOLDED_WORDS, LANES, Answers, BitmapLanes, Buckets
from neardup.match.prefix_index import RarestIndex
from neardup.threads import Local, Pool
from neardup.tuning import TUNING

#: Buckets that are looked at together.
_TOGETHER = 1 << 20


def bitmap_lanes(starts: np.ndarray, scratch: Scratch) -> BitmapLanes:
    """Return capacity for the bitmaps of the kept documents of large buckets.

    ``starts``, int64[buckets + 1], says where each bucket begins. Takes 8 bytes for each bucket,
    and 68 for each member of a large one.
    """
    buckets = len(starts) - 1
    first = scratch.empty(buckets, np.int64)
    total = 0
    for low in range(0, buckets, _TOGETHER):
        sizes = np.diff(starts[low : low + _TOGETHER + 1])
        capacity = np.where(sizes > TUNING.large_bucket, -(-sizes // LANES) * LANES, 0)
        ends = total + np.cumsum(capacity)
        first[low : low + _TOGETHER] = np.where(sizes > TUNING.large_bucket, ends - capacity, -1)
        total = int(ends[-1])
    words, size = total * FOLDED_WORDS, scratch.zeros(total, np.int32)
    return BitmapLanes(first, scratch.zeros(words, np.uint64), size)


class LargeBuckets:
    """Decides which large buckets an index of rarest shingles searches, and searches them.

    The answer never depends on it, only the time.

    Args:
        sets: Sets of m documents.
        buckets: Their buckets.
        first: int64[buckets]: -1 for a small bucket, see `BitmapLanes`.
        threshold: Lowest similarity of two similar documents.
        pool: Threads.
        allocate: Makes large arrays.
    """

    def __init__(
        self,
        sets: Sets,
        buckets: Buckets,
        first: np.ndarray,
        threshold: float,
        pool: Pool,
        allocate: Allocate,
    ) -> None:
        self._of, self._first = buckets.of, first
        large = np.greater_equal(first, 0, out=allocate(len(first), np.bool_))
        self._index = RarestIndex(sets, buckets.of, large, threshold, pool, allocate)
        # Bitmaps rule out too few pairs of very large sets.
        clear = TUNING.clear_share * 64 * sets.bitmaps.shape[1]
        bitmaps_fail = 2 * slack_of(threshold) * sets.size > clear
        self._index.by_index &= bitmaps_fail
        self._any_by_index = bool(self._index.by_index.any())
        self._most = 0  # kept documents of the fullest large bucket
        #: bool[buckets]: it was decided whether the index searches them; and that it does.
        self._decided, self._indexed = np.zeros((2, len(first)), np.bool_)
        #: bool[m]: documents whose large buckets the index searches.
        self.indexed = np.zeros(len(sets.size), np.bool_)

    def search(self, first: int, last: int, answers: Answers, counts: Local[np.ndarray]) -> None:
        """Compare documents from ``first`` to ``last`` with the kept ones that the index has."""
        if self._index.active:
            self._index.first_matches(first, last, answers, counts)

    def add(self, first: int, last: int, kept: np.ndarray, answers: Answers) -> None:
        """Add documents from ``first`` to ``last``, once they are decided.

        ``kept``, int32[buckets], is the number of kept documents of each bucket.
        """
        # Only the buckets of these have become fuller.
        numbers = self._of[first:last].ravel()
        numbers = numbers[numbers >= 0]
        fuller = numbers[self._first[numbers] >= 0]
        self._most = max(self._most, int(kept[fuller].max(initial=0)))
        if (kept[fuller[~self._decided[fuller]]] > TUNING.full_bucket).any():
            self._decide(kept, last)
        index = self._index
        if index.active:
            index.add(np.arange(first, last, dtype=np.int32), answers)
        elif self._any_by_index and (self._most > TUNING.indexed_bucket or self._indexed.any()):
            index.add(np.arange(last, dtype=np.int32), answers)
            self.indexed = index.by_index

    def _decide(self, kept: np.ndarray, done: int) -> None:
        """Decide whether the index searches the fullest buckets, and others that will fill soon."""
        full = ~self._decided & (self._first >= 0) & (kept > TUNING.full_bucket // 4)
        self._decided |= full
        if self._index.pays(full, kept, done):
            self._indexed |= full
            self._index.widen(self._indexed)
            self._any_by_index = True
