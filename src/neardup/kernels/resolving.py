"""Documents in keep order against the kept documents of their buckets.

Documents are numbered 0 to m - 1 in keep order. The members of a bucket are in ascending order, and
the kept ones among them are moved to the front of the bucket as they are found, so that no other
list is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from neardup.kernels.bits import popcount
from neardup.kernels.jaccard import jaccard, may_reach

#: Words of the bitmaps in large buckets; half of those of a set.
FOLDED_WORDS = 8
#: Documents whose bitmaps are looked at together.
LANES = 64


class Buckets(NamedTuple):
    """Buckets of all bands.

    Attributes:
        members: int32[]: documents of each bucket, ascending.
        starts: int64[buckets + 1]: where each begins.
        of: int32[m, num_bands]: the bucket of each document in each band; -1 where it is alone.
    """

    members: np.ndarray
    starts: np.ndarray
    of: np.ndarray


class KeptPlaces(NamedTuple):
    """The kept documents of each bucket.

    Attributes:
        held: int32[buckets]: how many there are at the front of the bucket.
        beyond: int32[buckets]: kept documents that are not there since the bucket is full.
        limit: Documents that a bucket holds at most.
    """

    held: np.ndarray
    beyond: np.ndarray
    limit: int


class BitmapLanes(NamedTuple):
    """Bitmaps of the kept documents of large buckets, word by word, so that many are read at once.

    Attributes:
        first: int64[buckets]: where the places of a large bucket begin; -1 for a small one. There
            are as many as it has members, up to a multiple of `LANES`.
        bits: uint64[places * FOLDED_WORDS]: the words of a bucket follow one another, each for all
            its places.
        size: int32[places]: shingles of each kept document.
    """

    first: np.ndarray
    bits: np.ndarray
    size: np.ndarray


class Answers(NamedTuple):
    """What was found for each document.

    Attributes:
        duplicate_of: int32[m]: first kept document that it reaches the threshold with; -1 where
            there is none (yet).
        similarity: float64[m]: that of the two; NaN where there is none.
    """

    duplicate_of: np.ndarray
    similarity: np.ndarray


@njit(cache=True, nogil=True)
def room_of(members):
    """Return the places of a large bucket with so many members."""
    return (members + LANES - 1) // LANES * LANES


@njit(cache=True, nogil=True)
def share_a_bucket(of, x, y):
    """Return whether two documents share a bucket in any band."""
    shared = False
    for band in range(of.shape[1]):
        shared |= of[x, band] >= 0 and of[x, band] == of[y, band]
    return shared


@njit(cache=True, nogil=True)
def _first_of(x, members, low, high, best, sets, threshold, seen, counts):
    """Find the first of ``members[low:high]``, before ``best``, that reaches the threshold.

    The members are ascending, so the first one found is the one.

    Returns:
        (document, similarity); (best, -1.0) if there is none.
    """
    slack = (1.0 - threshold) / (1.0 + threshold)
    for i in range(low, high):
        y = members[i]
        if y >= best:
            break
        if seen[y] == x:
            continue
        seen[y] = x
        if not may_reach(sets.size, sets.bitmaps, x, y, slack):
            counts[1] += 1
            continue
        counts[0] += 1
        similarity = jaccard(sets, x, y, threshold)
        if similarity >= 0.0:
            return y, similarity
    return best, -1.0


@njit(cache=True, nogil=True)
def _first_of_large(x, bucket, buckets, kept, columns, best, sets, threshold, counts):
    """Find the first kept document of a large bucket that reaches the threshold, as `_first_of`."""
    members, low = buckets.members, buckets.starts[bucket]
    room = room_of(buckets.starts[bucket + 1] - low)
    place = columns.first[bucket]
    slack = (1.0 - threshold) / (1.0 + threshold)
    own = np.float64(sets.size[x])
    limit = slack * own + 1e-6
    over = np.empty(LANES, dtype=np.float64)
    alone = np.empty(LANES, dtype=np.uint64)
    for begin in range(0, kept.held[bucket], LANES):
        if members[low + begin] >= best:
            break
        lanes = min(LANES, kept.held[bucket] - begin)
        # Always all lanes, so that the compiler makes vector instructions of it; what is behind
        # the last document is of no meaning, and not looked at below.
        for k in range(LANES):
            alone[k] = np.uint64(0)
        for w in range(FOLDED_WORDS):
            word = sets.bitmaps[x, w] ^ sets.bitmaps[x, w + FOLDED_WORDS]
            at = place * FOLDED_WORDS + w * room + begin
            others = columns.bits[at : at + LANES]
            for k in range(LANES):
                alone[k] += popcount(word ^ others[k])
        closest = np.inf
        sizes = columns.size[place + begin : place + begin + LANES]
        for k in range(LANES):
            other = np.float64(sizes[k])
            apart = max(np.float64(np.int64(alone[k])), abs(own - other))
            over[k] = apart - slack * other
            closest = min(closest, over[k])
        counts[1] += lanes
        if closest > limit:
            continue
        for k in range(lanes):
            if over[k] > limit:
                continue
            y = members[low + begin + k]
            if y >= best:
                break
            if not may_reach(sets.size, sets.bitmaps, x, y, slack):
                continue
            counts[0] += 1
            counts[1] -= 1
            similarity = jaccard(sets, x, y, threshold)
            if similarity >= 0.0:
                return y, similarity
    return best, -1.0


@njit(cache=True, nogil=True)
def against_kept(
    first, last, buckets, kept, columns, sets, threshold, elsewhere, seen, answers, counts
):
    """Compare some documents with the documents kept before them; several threads may do so.

    Args:
        first: First document.
        last: Document after the last one.
        buckets: See `Buckets`.
        kept: See `KeptPlaces`; of documents before ``first`` only.
        columns: See `BitmapLanes`.
        sets: See `neardup.kernels.jaccard.Sets`.
        threshold: Similarity that makes a duplicate.
        elsewhere: bool[m]: documents for which large buckets were searched by other means.
        seen: int32[m]: working memory of the thread, -1 at the beginning.
        answers: See `Answers`; in and out: an answer that is there already may be improved.
        counts: int64[2]: comparisons, pairs ruled out by size or bitmap; added to.
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
            high = low + kept.held[bucket]
            if columns.first[bucket] < 0:
                found, similarity = _first_of(
                    x, buckets.members, low, high, best, sets, threshold, seen, counts
                )
            elif elsewhere[x]:
                continue
            else:
                found, similarity = _first_of_large(
                    x, bucket, buckets, kept, columns, best, sets, threshold, counts
                )
            if similarity >= 0.0:
                best = np.int64(found)
                answers.duplicate_of[x], answers.similarity[x] = best, similarity


@njit(cache=True, nogil=True)
def among_themselves(first, last, buckets, kept, columns, sets, threshold, seen, answers, counts):
    """Decide some documents, compared already with all before ``first``, and keep those left.

    Args:
        first: First document.
        last: Document after the last one.
        buckets: As for `against_kept`; kept documents are moved to the front.
        kept: As for `against_kept`; added to.
        columns: As for `against_kept`; added to.
        sets: As for `against_kept`.
        threshold: As for `against_kept`.
        seen: As for `against_kept`.
        answers: As for `against_kept`.
        counts: int64[3]: as for `against_kept`; and pairs that a full bucket left out.
    """
    members, starts = buckets.members, buckets.starts
    none = answers.duplicate_of.shape[0]
    for x in range(first, last):
        if answers.duplicate_of[x] >= 0:
            continue  # an earlier document than any of these
        best = np.int64(none)
        for band in range(buckets.of.shape[1]):
            bucket = buckets.of[x, band]
            if bucket < 0:
                continue
            high = starts[bucket] + kept.held[bucket]
            low = high
            while low > starts[bucket] and members[low - 1] >= first:
                low -= 1
            found, similarity = _first_of(
                x, members, low, high, best, sets, threshold, seen, counts
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
            if kept.held[bucket] < kept.limit:
                # Never behind the place of x itself: what is overwritten was looked at before.
                place = kept.held[bucket]
                members[starts[bucket] + place] = x
                kept.held[bucket] += 1
                at = columns.first[bucket]
                if at >= 0:
                    columns.size[at + place] = sets.size[x]
                    room = room_of(starts[bucket + 1] - starts[bucket])
                    for w in range(FOLDED_WORDS):
                        columns.bits[at * FOLDED_WORDS + w * room + place] = (
                            sets.bitmaps[x, w] ^ sets.bitmaps[x, w + FOLDED_WORDS]
                        )
            else:
                kept.beyond[bucket] += 1
