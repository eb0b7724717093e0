"""Kept and removed documents: each, in keep order, against the kept ones of its buckets."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from neardup.files.scratch import Scratch
from neardup.kernels import resolving as kernels
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Answers, Buckets, KeptMembers
from neardup.match.large_buckets import LargeBuckets, bitmap_lanes
from neardup.match.pairs import PairCounts
from neardup.threads import Local, Pool
from neardup.tuning import TUNING

#: A bucket that has this many kept documents is full; there is no limit.
_NO_LIMIT = 2**31 - 1


class Limits(NamedTuple):
    #: The first so many kept documents of each bucket are compared, besides old ones.
    max_bucket: int | None = None
    old: int = 0  # the first so many documents stay, whatever they are similar to
    among: bool = True  # the others are compared with each other, and not only with those
    scratch: Scratch = Scratch()  # makes large arrays


NO_LIMITS = Limits()


def resolve(
    sets: Sets,
    buckets: Buckets,
    threshold: float,
    pool: Pool,
    limits: Limits = NO_LIMITS,
    advance: Callable[[int, int], None] | None = None,
) -> tuple[Answers, PairCounts]:
    """Decide which documents are kept, and which one each removed one is a duplicate of.

    Documents are numbered in keep order. One is removed if it reaches the threshold with a kept one
    before it that shares a bucket with it, and is kept otherwise; those of an ``old`` corpus, which
    come first, are always kept. The answer does not depend on threads, batches, or on which are
    searched for by an index.

    The members of the buckets are overwritten. ``advance`` is called with (documents done since,
    pairs compared so far).
    """
    documents, scratch = len(sets.size), limits.scratch
    old, last_kept = limits.old, documents if limits.among else limits.old
    answers = Answers(
        scratch.filled(documents, np.int32, -1), scratch.filled(documents, np.float64, np.nan)
    )
    kept = _nothing_kept(len(buckets.starts) - 1, limits)
    lanes = bitmap_lanes(buckets.starts, scratch)
    large = None
    if len(lanes.size) and limits.max_bucket is None:
        large = LargeBuckets(sets, buckets, lanes.first, threshold, pool, scratch.empty)
    no_index = np.zeros(documents, np.bool_)
    memory = Local(lambda: kernels.Working.of(scratch.filled(documents, np.int32, -1)))
    counts = Local(lambda: np.zeros(3, np.int64))

    def against(first: int, last: int) -> None:
        indexed = no_index if large is None else large.indexed
        working = indexed, memory(), answers, counts()
        kernels.against_kept(first, last, buckets, kept, lanes, sets, threshold, *working)

    def among(first: int, last: int) -> None:
        working = memory(), answers, counts()
        kernels.among_themselves(first, last, buckets, kept, lanes, sets, threshold, *working)

    step = TUNING.resolved_in_large if len(lanes.size) else TUNING.resolved_documents
    # No batch has both old and new documents: the new ones are compared with all old ones.
    for first in (*range(0, old, step), *range(old, documents, step)):
        last = min(first + step, old if first < old else documents)
        compared, staying = max(first, old), min(last, last_kept)
        if large is not None:
            large.search(compared, last, answers, counts)
        pool.ranges(against, last, max(64, step // (4 * pool.threads)), compared)
        pool.ranges(among, staying, step, first)
        if large is not None:
            large.add(first, staying, kept.filled, answers)
        if advance is not None:
            advance(last - first, int(sum(c[0] for c in counts.all)))
    totals = np.sum([*counts.all, np.zeros(3, np.int64)], axis=0)
    return answers, PairCounts(*totals.tolist())


def _nothing_kept(buckets: int, limits: Limits) -> KeptMembers:
    if limits.max_bucket is None:
        # The second array is never written to: it takes no memory.
        none = np.zeros(buckets, np.int32)
        return KeptMembers(limits.scratch.zeros(buckets, np.int32), none, _NO_LIMIT, limits.old)
    count, beyond = (limits.scratch.zeros(buckets, np.int32) for _ in range(2))
    return KeptMembers(count, beyond, limits.max_bucket, limits.old)
