"""All pairs that share a bucket and reach the threshold, counted by similarity, without a list."""

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from neardup.cluster.edges import Allocate
from neardup.kernels import grouping
from neardup.kernels import jaccard as kernels
from neardup.kernels.jaccard import Sets, Split
from neardup.kernels.resolving import Buckets
from neardup.match.pairs import STEP, Advance, unseen
from neardup.match.verifying import taken
from neardup.threads import Local, Pool

#: Classes of similarity from 0 to 1; 1 itself is one more.
CLASSES = 20


#: Documents that are sampled, in how many of them a shingle has a bit, and shingles, at most.
_SAMPLED, _IN_MANY, _FREQUENT = 1024, 32, 4096
#: A sample may take less time than others.
_MARGIN = 1.25


class Represented(NamedTuple):
    """The documents that are represented by those that are compared."""

    weights: np.ndarray  # int64[m]: how many each represents
    labels: np.ndarray  # int32[m]: cluster of each, named by its first document


class PairTally(NamedTuple):
    """Pairs at or above a threshold that share a bucket, counted and not listed.

    Attributes:
        classes: int64[CLASSES + 1]: all of them, by similarity.
        within: int64[rows, 3]: label of a cluster, class, and pairs of documents of the cluster;
            sorted, without zeros.
        compared: Pairs whose similarity was computed.
        ruled_out: Pairs that sizes or bitmaps ruled out.
    """

    classes: np.ndarray
    within: np.ndarray
    compared: int
    ruled_out: int


class PairTallying:
    """Counts pairs, without a list, and measures beforehand how long that takes."""

    def __init__(
        self,
        sets: Sets,
        buckets: Buckets,
        threshold: float,
        represented: Represented,
        allocate: Allocate = np.empty,
    ) -> None:
        documents = len(sets.size)
        self._given = buckets, sets, _split(sets, buckets, allocate), threshold, *represented
        self._buckets, self._labels, self._allocate = buckets, represented.labels, allocate
        self._seen = Local(lambda: unseen(documents, allocate))
        self._classes = Local(lambda: np.zeros(CLASSES + 1, np.int64))

    def _part(self, first: int, last: int, classes: np.ndarray) -> tuple[np.ndarray, Any]:
        within = np.zeros((last - first, CLASSES + 1), np.int64)
        done = grouping.tally_pairs(first, last, *self._given, self._seen(), within, classes)
        return within, done

    def expected_seconds(self, pool: Pool, sample: int = 16) -> float:
        """Return how long it will take, by the time that a sample of documents takes."""
        buckets, documents = self._buckets, len(self._labels)
        sizes = np.diff(buckets.starts)
        total, sampled = int((sizes * (sizes - 1) // 2).sum()), 0
        rows = range(0, documents, max(1, documents // sample))
        for x in rows:
            there = buckets.of[x][buckets.of[x] >= 0].tolist()
            for bucket in there:
                low, high = buckets.starts[bucket : bucket + 2]
                sampled += int(high - low - np.searchsorted(buckets.members[low:high], x) - 1)
        passed = time.perf_counter()
        for x in rows:
            pool.submit(partial(self._part, x, x + 1, np.zeros(CLASSES + 1, np.int64))).result()
        passed = time.perf_counter() - passed
        self._seen = Local(lambda: unseen(documents, self._allocate))
        return _MARGIN * passed * total / max(1, sampled) / pool.threads

    def run(self, pool: Pool, advance: Advance = None) -> PairTally:
        """Count all pairs."""
        documents, compared, ruled_out = len(self._labels), 0, 0
        slot = np.full(documents, -1, np.int32)
        several = np.flatnonzero(np.bincount(self._labels, minlength=documents) > 1)
        slot[several] = np.arange(len(several), dtype=np.int32)
        found = self._allocate((len(several), CLASSES + 1), np.int64)
        found[:] = 0

        def work(first: int) -> tuple[int, np.ndarray, Any]:
            last = min(first + STEP, documents)
            return first, *self._part(first, last, self._classes())

        for first, within, done in pool.ordered(work, range(0, documents, STEP)):
            compared, ruled_out = compared + done[0], ruled_out + done[1]
            rows = np.flatnonzero(within.any(axis=1))
            np.add.at(found, slot[self._labels[first + rows]], within[rows])
            if advance is not None:
                advance(len(within), compared)
        cluster, k = np.nonzero(found)
        every = np.stack([several[cluster], k, found[cluster, k]], axis=1)
        classes = np.sum([np.zeros(CLASSES + 1, np.int64), *self._classes.all], axis=0)
        return PairTally(classes, every, compared, ruled_out)


def _split(sets: Sets, buckets: Buckets, allocate: Allocate) -> Split:
    """Split sets by the shingles that many have of the documents in large buckets."""
    documents, sizes = len(sets.size), np.diff(buckets.starts)
    work = np.cumsum(sizes * (sizes - 1))
    frequent = np.empty(0, np.uint64)
    if len(work):
        at = np.linspace(0, int(work[-1]) - 1, _SAMPLED).astype(np.int64)
        bucket = np.searchsorted(work, at, "right")
        members = buckets.members[buckets.starts[bucket] + at % sizes[bucket]]
        values, many = np.unique(taken(sets, np.unique(members)).values, return_counts=True)
        often = np.flatnonzero(many >= _IN_MANY)
        often = often[np.argsort(-many[often], kind="stable")][:_FREQUENT]
        frequent = np.sort(values[often])
    bits = allocate((documents, -(-len(frequent) // 64)), np.uint64)
    bits[...] = 0
    if not len(frequent):
        return Split(bits, sets.values, sets.begin, sets.size)
    values = allocate(int(sets.size.sum(dtype=np.int64)), np.uint64)
    split = Split(bits, values, np.empty(documents, np.int64), np.empty(documents, np.int32))
    kernels.split_sets(sets, frequent, split)
    return split
