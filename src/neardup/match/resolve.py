"""What is a duplicate of what: documents in keep order against the kept ones of their buckets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Allocate
from neardup.kernels import resolving as kernels
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import FOLDED_WORDS, LANES, Answers, BitmapLanes, Buckets, KeptPlaces
from neardup.match.prefix_index import RarestIndex
from neardup.threads import Local, Pool

#: Documents that are compared with those before them at the same time.
_BATCH = 4096
#: The same where buckets are large: documents of one batch are compared by one thread.
_SMALL_BATCH = 512
#: Members from which on a bucket counts as large.
_LARGE = 64
#: Kept documents of a bucket from which on an index searches them for very large sets.
_INDEXED = 1024
#: Kept documents of a bucket from which on the index takes less time than a look at each bitmap.
_CROWDED = 16_384
#: A bitmap is of use for two sets that may have up to this share of its bits in one of them alone.
_CLEAR = 0.3
#: A bucket that holds this many kept documents is full; there is no limit.
_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Resolved:
    """What was found, by number of the document in keep order."""

    duplicate_of: np.ndarray  # int32[m]: first kept document with an edge; -1 where it is kept
    similarity: np.ndarray  # float64[m]: exact similarity of the two; NaN where it is kept
    compared: int  # pairs whose similarity was computed
    ruled_out: int  # pairs that sizes or bitmaps ruled out
    not_compared: int  # pairs left out since a bucket was full, once for each band


class Limits(NamedTuple):
    max_bucket: int | None = None  # the first so many kept documents of each bucket are compared
    empty: Allocate = np.empty  # allocates what may be large
    old: int = 0  # the first so many documents stay, whatever they are similar to
    among: bool = True  # the others are compared with each other, and not only with those


NO_LIMITS = Limits()


def resolve(
    sets: Sets,
    buckets: Buckets,
    threshold: float,
    pool: Pool,
    limits: Limits = NO_LIMITS,
    advance: Callable[[int, int], None] | None = None,
) -> Resolved:
    """Decide which documents are kept, and what each removed one is a duplicate of.

    Documents are numbered in keep order. One is removed if it reaches the threshold with a kept one
    before it that shares a bucket with it, and is kept otherwise; those of an ``old`` corpus, which
    come first, are always kept. The answer does not depend on threads, batches, or on which are
    searched for by an index.

    The members of the buckets are overwritten. ``advance`` is called with (documents done since,
    pairs compared so far).
    """
    documents = len(sets.size)
    answers = Answers(np.full(documents, -1, np.int32), np.full(documents, np.nan))
    sizes = np.diff(buckets.starts)
    limit = _NO_LIMIT if limits.max_bucket is None else limits.max_bucket
    old, last_kept = limits.old, documents if limits.among else limits.old
    kept = KeptPlaces(np.zeros(len(sizes), np.int32), np.zeros(len(sizes), np.int32), limit, old)
    columns = _columns(sizes)
    large = columns.first >= 0
    index = None
    indexed = np.zeros(documents, np.bool_)
    places, crowded, searched = np.flatnonzero(large), np.zeros_like(large), np.zeros_like(large)
    if large.any() and limits.max_bucket is None:
        index = RarestIndex(sets, buckets.of, large, threshold, pool)
        # Of very large sets a bitmap says too little.
        slack = (1 - threshold) / (1 + threshold)
        unclear = 2 * slack * sets.size > _CLEAR * 64 * sets.bitmaps.shape[1]
        index.wanted &= unclear
    seen = Local(lambda: np.full(documents, -1, np.int32))
    counts = Local(lambda: np.zeros(3, np.int64))

    def against(first: int, last: int) -> None:
        kernels.against_kept(
            first, last, buckets, kept, columns, sets, threshold, indexed, seen(), answers, counts()
        )

    def among(first: int, last: int) -> None:
        kernels.among_themselves(
            first, last, buckets, kept, columns, sets, threshold, seen(), answers, counts()
        )

    step = _SMALL_BATCH if large.any() else _BATCH
    # No batch has both old and new documents, so that the new ones are compared with all old ones.
    for first in (*range(0, old, step), *range(old, documents, step)):
        last = min(first + step, old if first < old else documents)
        if index is not None and index.active:
            index.first_matches(max(first, old), last, answers, counts)
        pool.ranges(against, last, max(64, step // (4 * pool.threads)), max(first, old))
        end = min(last, last_kept)
        pool.ranges(among, end, step, first)
        if index is not None:
            held = kept.held[places]
            if (held[~crowded[places]] > _CROWDED).any():
                more = ~crowded & large & (kept.held > _CROWDED // 4)  # that follow, too
                crowded |= more
                if index.pays(more, kept.held, last):
                    searched |= more
                    index.widen(searched)
            if index.active:
                index.add(np.arange(first, end, dtype=np.int32), answers, limits.empty)
            elif index.wanted.any() and (held.max() > _INDEXED or searched.any()):
                index.add(np.arange(end, dtype=np.int32), answers, limits.empty)
                indexed = index.wanted
        if advance is not None:
            advance(last - first, int(sum(c[0] for c in counts.all)))
    totals = np.sum([*counts.all, np.zeros(3, np.int64)], axis=0)
    return Resolved(*answers, *totals.tolist())


def _columns(sizes: np.ndarray) -> BitmapLanes:
    """Return room for the bitmaps of the kept documents of large buckets."""
    room = np.where(sizes > _LARGE, -(-sizes // LANES) * LANES, 0)
    first = np.where(sizes > _LARGE, np.cumsum(room) - room, -1)
    total = int(room.sum())
    return BitmapLanes(
        first.astype(np.int64),
        np.zeros(total * FOLDED_WORDS, dtype=np.uint64),
        np.zeros(total, dtype=np.int32),
    )
