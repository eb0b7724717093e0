"""Documents in keep order against the kept documents of their buckets.

Documents are numbered 0 to m - 1 in keep order. The members of a bucket are in ascending order, and
the kept ones among them are moved to the front of the bucket as they are found. No other list is
needed.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import popcount
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.jaccard import jaccard, may_reach, most_differing, slack_of
from neardup.kernels.searching import first_not_below

#: Words of the bitmaps in large buckets; half of those of a set.
FOLDED_WORDS = 8
#: Documents whose bitmaps are looked at together.
LANES = 64


class Buckets(NamedTuple):
    """Buckets of all bands."""

    members: np.ndarray  # int32[]: documents of each bucket, ascending
    starts: np.ndarray  # int64[buckets + 1]: where each begins
    of: np.ndarray  # int32[m, num_bands]: bucket of each document and band; -1 for none


class KeptMembers(NamedTuple):
    """The kept documents of each bucket."""

    filled: np.ndarray  # int32[buckets]: how many there are at the front of the bucket
    beyond: np.ndarray  # int32[buckets]: kept documents not there, since the bucket is full
    limit: int  # documents that are kept in a bucket at most, besides old ones
    old: int  # the first so many documents are kept, whatever they are similar to


class BitmapLanes(NamedTuple):
    """Bitmaps of the kept documents of large buckets, word by word: many are read at once.

    A large bucket has as many slots as it has members, up to a multiple of `LANES`.
    """

    first: np.ndarray  # int64[buckets]: where the slots of a bucket begin; -1 for a small one
    bits: np.ndarray  # uint64[slots * FOLDED_WORDS]: words of a bucket, each for all its slots
    size: np.ndarray  # int32[slots]: shingles of each kept document


class Answers(NamedTuple):
    """For each document the one that it is a duplicate of."""

    duplicate_of: np.ndarray  # int32[m]: first kept document with an edge; -1 for none (yet)
    similarity: np.ndarray  # float64[m]: of the two; NaN where there is none


class Working(NamedTuple):
    """Working memory of one thread."""

    seen: np.ndarray  # int32[m]: last document compared with each; all -1 at the beginning
    over: np.ndarray  # float64[LANES]: how far each lane is above the limit
    differing: np.ndarray  # uint64[LANES]: bits in which each lane differs

    @classmethod
    def of(cls, seen: np.ndarray) -> "Working":
        """Make it for the documents of ``seen``."""
        return cls(seen, np.empty(LANES, np.float64), np.empty(LANES, np.uint64))


@kernel
def share_a_bucket(of, x, y):
    """Return whether two documents share a bucket in any band.

    Args:
        of: int32[m, num_bands]: see `Buckets`.
        x: int: the one.
        y: int: the other.
    """
    shared = False
    for band in range(of.shape[1]):
        shared |= of[x, band] >= 0 and of[x, band] == of[y, band]
    return shared


@inner
def _is_full(x, bucket, buckets, kept):
    """Return whether a bucket takes no more kept documents, such as x; old ones don't count.

    ``buckets`` and ``kept`` are as for `among_themselves`.
    """
    filled = np.int64(kept.filled[bucket])
    if x < kept.old or filled < kept.limit:
        return False
    low = buckets.starts[bucket]
    first_new = first_not_below(buckets.members, low, low + filled, kept.old)
    return low + filled - first_new >= kept.limit


@inner
def _first_of(x, members, low, high, best, sets, threshold, working, counts):
    """Find the first of ``members[low:high]``, before ``best``, that reaches the threshold.

    The members are ascending, so the first one found is the one. ``members`` is int32[]; the other
    arguments are as for `against_kept`. Returns (document, similarity); (best, -1.0) if there is
    none.
    """
    slack = slack_of(threshold)
    for i in range(low, high):
        y = members[i]
        if y >= best:
            break
        if working.seen[y] == x:
            continue
        working.seen[y] = x
        if not may_reach(sets.size, sets.bitmaps, x, np.int64(y), slack):
            counts[1] += 1
            continue
        counts[0] += 1
        similarity = jaccard(sets, x, np.int64(y), threshold)
        if similarity >= 0.0:
            return y, similarity
    return best, -1.0


@inner
def _first_of_large(x, bucket, buckets, kept, lanes, best, sets, threshold, working, counts):
    """Find the first kept document of a large bucket that reaches the threshold, as `_first_of`."""
    members, low = buckets.members, buckets.starts[bucket]
    capacity = (buckets.starts[bucket + 1] - low + LANES - 1) // LANES * LANES
    slot = lanes.first[bucket]
    slack = slack_of(threshold)
    size = np.float64(sets.size[x])
    limit = most_differing(slack, size)
    over, differing = working.over, working.differing
    for begin in range(0, kept.filled[bucket], LANES):
        if members[low + begin] >= best:
            break
        left = min(LANES, kept.filled[bucket] - begin)
        # Always all lanes, of which the compiler makes vector instructions; those behind the
        # last document have no meaning, and are not looked at below.
        for k in range(LANES):
            differing[k] = np.uint64(0)
        for w in range(FOLDED_WORDS):
            word = sets.bitmaps[x, w] ^ sets.bitmaps[x, w + FOLDED_WORDS]
            at = slot * FOLDED_WORDS + w * capacity + begin
            others = lanes.bits[at : at + LANES]
            for k in range(LANES):
                differing[k] += popcount(word ^ others[k])
        closest = np.inf
        sizes = lanes.size[slot + begin : slot + begin + LANES]
        for k in range(LANES):
            other_size = np.float64(sizes[k])
            difference = max(np.float64(np.int64(differing[k])), abs(size - other_size))
            over[k] = difference - slack * other_size
            closest = min(closest, over[k])
        counts[1] += left
        if closest > limit:
            continue
        for k in range(left):
            if over[k] > limit:
                continue
            y = members[low + begin + k]
            if y >= best:
                break
            if working.seen[y] == x:
                continue
            working.seen[y] = x
            if not may_reach(sets.size, sets.bitmaps, x, np.int64(y), slack):
                continue
            counts[0] += 1
            counts[1] -= 1
            similarity = jaccard(sets, x, np.int64(y), threshold)
            if similarity >= 0.0:
                return y, similarity
    return best, -1.0


@kernel
def against_kept(
    first, last, buckets, kept, lanes, sets, threshold, indexed, working, answers, counts
):
    """Compare some documents with those kept before; several threads may do so.

    Args:
        first: int: first document.
        last: int: document after the last.
        buckets: `Buckets` of m documents.
        kept: `KeptMembers`, of documents before ``first`` only.
        lanes: `BitmapLanes`, of documents before ``first`` only.
        sets: `neardup.kernels.jaccard.Sets` of m documents.
        threshold: float: lowest similarity of two similar documents.
        indexed: bool[m]: documents whose large buckets an index has searched.
        working: `Working` of one thread, of m documents.
        answers: `Answers` of m documents; one that is there already may be improved.
        counts: int64[2 or more]: get comparisons, and pairs ruled out by size or bitmap, added.
    """
    none = answers.duplicate_of.shape[0]
    for x in range(first, last):
        best = np.int64(answers.duplicate_of[x])
        best = none if best < 0 else best
        for band in range(buckets.of.shape[1]):
            bucket = buckets.of[x, band]
            if bucket < 0:
                continue
            low = buckets.starts[bucket]
            high = low + kept.filled[bucket]
            if lanes.first[bucket] < 0:
                found, similarity = _first_of(
                    x, buckets.members, low, high, best, sets, threshold, working, counts
                )
            elif indexed[x]:
                continue
            else:
                found, similarity = _first_of_large(
                    x, bucket, buckets, kept, lanes, best, sets, threshold, working, counts
                )
            if similarity >= 0.0:
                best = np.int64(found)
                answers.duplicate_of[x], answers.similarity[x] = best, similarity


@kernel
def among_themselves(first, last, buckets, kept, lanes, sets, threshold, working, answers, counts):
    """Decide some documents, compared already with all before ``first``, and keep those left.

    Kept documents are moved to the front of their buckets.

    Args:
        first: int: first document.
        last: int: document after the last.
        buckets: `Buckets` of m documents; the members are overwritten.
        kept: `KeptMembers`, to which kept documents are added.
        lanes: `BitmapLanes`, to which kept documents are added.
        sets: `neardup.kernels.jaccard.Sets` of m documents.
        threshold: float: lowest similarity of two similar documents.
        working: `Working` of one thread, of m documents.
        answers: `Answers` of m documents.
        counts: int64[3]: as for `against_kept`; the third, of pairs that a full bucket left out.
    """
    members, starts = buckets.members, buckets.starts
    none = answers.duplicate_of.shape[0]
    for x in range(first, last):
        if answers.duplicate_of[x] >= 0:
            continue  # an earlier document than any of these
        best = np.int64(none)
        for band in range(buckets.of.shape[1] if x >= kept.old else 0):
            bucket = buckets.of[x, band]
            if bucket < 0:
                continue
            high = starts[bucket] + kept.filled[bucket]
            low = high
            while low > starts[bucket] and members[low - 1] >= first:
                low -= 1
            found, similarity = _first_of(
                x, members, low, high, best, sets, threshold, working, counts
            )
            if similarity >= 0.0:
                best = np.int64(found)
                answers.duplicate_of[x], answers.similarity[x] = best, similarity
        if best < none:
            continue
        for band in range(buckets.of.shape[1]):
            bucket = buckets.of[x, band]
            if bucket < 0:
                continue
            counts[2] += kept.beyond[bucket]
            if not _is_full(x, bucket, buckets, kept):
                # Never behind the slot of x itself: the member that is overwritten was looked at.
                slot = kept.filled[bucket]
                members[starts[bucket] + slot] = x
                kept.filled[bucket] += 1
                at = lanes.first[bucket]
                if at >= 0:
                    lanes.size[at + slot] = sets.size[x]
                    capacity = (starts[bucket + 1] - starts[bucket] + LANES - 1) // LANES * LANES
                    for w in range(FOLDED_WORDS):
                        lanes.bits[at * FOLDED_WORDS + w * capacity + slot] = (
                            sets.bitmaps[x, w] ^ sets.bitmaps[x, w + FOLDED_WORDS]
                        )
            else:
                kept.beyond[bucket] += 1
