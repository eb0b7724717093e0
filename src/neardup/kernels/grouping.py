"""Band keys to buckets, and buckets to pairs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import popcount
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.jaccard import (
    jaccard,
    may_reach,
    most_differing,
    slack_of,
    split_jaccard,
)
from neardup.kernels.searching import first_not_below

#: A document is compared with at least so many following ones of its bucket.
WINDOW = 256
#: Pairs of a bucket that are compared in any case: all of a bucket of 1,024 documents.
PAIRS = 1 << 20

#: Most bits of a key by which it is put into a part, and then into its order in the part.
_PART_BITS, _NEAR_BITS = 16, 12


class GroupingBuffers(NamedTuple):
    """Working memory of `group_keys`; made outside, since Numba takes long to compile that."""

    part_keys: np.ndarray  # uint64[n]: keys, by leading bits
    part_docs: np.ndarray  # int32[n]: their documents
    part_ends: np.ndarray  # int64[2**16 + 1]: where each part ends
    near_keys: np.ndarray  # uint64[n]: keys of one part, by the bits after those
    near_docs: np.ndarray  # int32[n]: their documents
    near_ends: np.ndarray  # int64[2**12 + 1]: where those of equal bits end

    @classmethod
    def of(cls, n: int, allocate: Callable[..., np.ndarray] = np.empty) -> "GroupingBuffers":
        """Make them for n keys; of the near ones, only as much is used as the largest part has."""
        parts, near = (np.empty((1 << bits) + 1, np.int64) for bits in (_PART_BITS, _NEAR_BITS))
        keys, near_keys = (allocate(n, np.dtype(np.uint64)) for _ in range(2))
        docs, near_docs = (allocate(n, np.dtype(np.int32)) for _ in range(2))
        return cls(keys, docs, parts, near_keys, near_docs, near)


@inner
def _scatter(keys, docs, skipped, bits, ends, out_keys, out_docs):
    """Copy keys and documents in the order of some bits of the keys.

    Args:
        keys: uint64[n]: keys.
        docs: int32[n]: their documents; int32[0] where these are 0 to n - 1.
        skipped: int: leading bits of a key that are not looked at.
        bits: int: bits after those, by which keys are ordered.
        ends: int64[2**bits + 1 or more]: gets where the keys of each value of these bits end.
        out_keys: uint64[n or more]: gets the keys.
        out_docs: int32[n or more]: gets the documents.
    """
    numbered = docs.shape[0] == 0
    slots = 1 << bits
    ends[: slots + 1] = 0
    # A shift by 64 is undefined, so it is done in two steps.
    skip, shift = np.uint64(skipped), np.uint64(63 - bits)
    for key in keys:
        ends[np.int64(key << skip >> np.uint64(1) >> shift) + 1] += 1
    for s in range(slots):
        ends[s + 1] += ends[s]
    for i in range(keys.shape[0]):
        s = np.int64(keys[i] << skip >> np.uint64(1) >> shift)
        out_keys[ends[s]] = keys[i]
        out_docs[ends[s]] = np.int32(i) if numbered else docs[i]
        ends[s] += 1


@kernel
def group_keys(keys, buffers, members, starts):
    """Group equal keys.

    Two passes by leading bits (keys are hashes, so they fill their range evenly) and an insertion
    that then has next to nothing to do: linear time, also where most keys are equal. Uses 12 bytes
    for each document, and up to 12 for each of one key.

    Args:
        keys: uint64[n]: the key of each document.
        buffers: `GroupingBuffers` of n keys.
        members: int32[n]: gets the documents of each bucket of two and more, ascending; buckets in
            ascending order of key.
        starts: int32[n // 2 + 1]: gets where each bucket begins, and where the last one ends.

    Returns:
        Number of buckets.
    """
    n = keys.shape[0]
    bits = 0
    while n >> bits > 256 and bits < _PART_BITS:
        bits += 1
    part_keys, part_docs, ends, near_keys, near_docs, near_ends = buffers
    _scatter(keys, part_docs[:0], np.int64(0), bits, ends, part_keys, part_docs)
    found = 0
    filled = 0
    starts[0] = 0
    low = np.int64(0)
    for part in range(1 << bits):
        high = ends[part]
        m = high - low
        fine = 1
        while fine < _NEAR_BITS and (1 << fine) < m:
            fine += 1
        _scatter(
            part_keys[low:high], part_docs[low:high], bits, fine, near_ends, near_keys, near_docs
        )
        for i in range(1, m):
            key, doc = near_keys[i], near_docs[i]
            j = i
            while j > 0 and near_keys[j - 1] > key:
                near_keys[j] = near_keys[j - 1]
                near_docs[j] = near_docs[j - 1]
                j -= 1
            near_keys[j], near_docs[j] = key, doc
        i = np.int64(0)
        while i < m:
            j = i + 1
            while j < m and near_keys[j] == near_keys[i]:
                j += 1
            if j - i > 1:
                for k in range(i, j):  # to copy a slice takes Numba two seconds to compile
                    members[filled] = near_docs[k]
                    filled += 1
                found += 1
                starts[found] = filled
            i = j
        low = high
    return found


@kernel
def name_buckets(members, starts, first, band, out):
    """Write the number of its bucket for each document of a band that is in one.

    Args:
        members: int32[]: documents of each bucket.
        starts: int32[buckets + 1]: where each bucket begins.
        first: int: number of the first bucket.
        band: int: the band.
        out: int32[documents, bands]: gets the numbers, in the column of the band.
    """
    for bucket in range(starts.shape[0] - 1):
        for i in range(starts[bucket], starts[bucket + 1]):
            out[members[i], band] = first + bucket


@kernel
def mark_plausible(members, starts, size, bitmaps, threshold, marked):
    """Mark the documents of a band that may reach the threshold with another of their bucket.

    Only the bitmaps can rule a pair out and not the sizes. Several threads may mark at once.

    Args:
        members: int32[]: documents of each bucket.
        starts: int32[buckets + 1]: where each bucket begins.
        size: int32[documents]: shingles of each document, repetitions included.
        bitmaps: uint64[documents, words]: see `neardup.kernels.jaccard.fill_bitmaps`.
        threshold: float: lowest similarity of two similar documents.
        marked: bool[documents]: is set for those that are found.
    """
    slack = slack_of(threshold)
    for bucket in range(starts.shape[0] - 1):
        low, high = starts[bucket], starts[bucket + 1]
        if high - low > 64:  # a template, most likely; to look at all pairs would cost too much
            for i in range(low, high):
                marked[members[i]] = True
            continue
        for i in range(low + 1, high):
            x = members[i]
            for j in range(low, i):
                y = members[j]
                if marked[x] and marked[y]:
                    continue
                differing = np.uint64(0)
                for w in range(bitmaps.shape[1]):
                    differing += popcount(bitmaps[x, w] ^ bitmaps[y, w])
                limit = most_differing(slack, np.int64(size[x]) + np.int64(size[y]))
                if np.int64(differing) <= limit:
                    marked[x] = marked[y] = True


@kernel
def window_pairs(first, last, buckets, sets, threshold, seen, edges, counts):
    """Compare some documents with those that follow them in their buckets.

    Stops, before a document, where its edges might not fit.

    Args:
        first: int: first document.
        last: int: document after the last.
        buckets: `neardup.kernels.resolving.Buckets` of m documents.
        sets: `neardup.kernels.jaccard.Sets` of m documents.
        threshold: float: lowest similarity of an edge.
        seen: int32[m]: working memory of one thread, all -1 at the beginning.
        edges: (int32[k], int32[k], float64[k]): get earlier and later document, and similarity.
        counts: int64[2 or more]: get comparisons, and pairs ruled out by size or bitmap, added.

    Returns:
        (First document not done, number of edges).
    """
    members, starts = buckets.members, buckets.starts
    num_bands = buckets.of.shape[1]
    slack = slack_of(threshold)
    filled = 0
    for x in range(first, last):
        most = 0
        for band in range(num_bands):
            bucket = buckets.of[x, band]
            if bucket >= 0:
                members_there = starts[bucket + 1] - starts[bucket]
                most += min(max(WINDOW, PAIRS // members_there), members_there)
        if filled + most > edges[0].shape[0]:
            return x, filled
        for band in range(num_bands):
            bucket = buckets.of[x, band]
            if bucket < 0:
                continue
            high = starts[bucket + 1]
            low = first_not_below(members, starts[bucket], high, x) + 1
            window = max(WINDOW, PAIRS // (high - starts[bucket]))
            for i in range(low, min(high, low + window)):
                y = members[i]
                similarity = _similarity(x, np.int64(y), sets, threshold, slack, seen, counts)
                if similarity >= 0.0:
                    edges[0][filled], edges[1][filled], edges[2][filled] = x, y, similarity
                    filled += 1
    return last, filled


@kernel
def count_candidates(first, last, buckets, seen):
    """Return how many pairs of some documents with later ones share a bucket, each once.

    Args:
        first: int: first document.
        last: int: document after the last.
        buckets: `neardup.kernels.resolving.Buckets` of m documents.
        seen: int32[m]: working memory of one thread, all -1 at the beginning.
    """
    members, starts = buckets.members, buckets.starts
    found = 0
    for x in range(first, last):
        for band in range(buckets.of.shape[1]):
            bucket = buckets.of[x, band]
            if bucket < 0:
                continue
            high = starts[bucket + 1]
            for i in range(first_not_below(members, starts[bucket], high, x) + 1, high):
                found += np.int64(seen[members[i]] != x)
                seen[members[i]] = x
    return found


@kernel
def tally_pairs(
    first, last, buckets, sets, split, threshold, weights, labels, seen, within, classes
):
    """Count the pairs of some documents with later ones of their buckets, by similarity.

    A pair of documents that represent others counts as often as these have pairs.

    Args:
        first: int: first document.
        last: int: document after the last.
        buckets: `neardup.kernels.resolving.Buckets` of m documents.
        sets: `neardup.kernels.jaccard.Sets` of m documents.
        split: `neardup.kernels.jaccard.Split` of these.
        threshold: float: lowest similarity of a pair that counts.
        weights: int64[m]: documents that each represents.
        labels: int32[m]: cluster of each.
        seen: int32[m]: working memory of one thread, all -1 at the beginning.
        within: int64[last - first, k + 1]: get the pairs of each document in its cluster, by
            similarity in k classes from 0 to 1; the last class is that of 1.
        classes: int64[k + 1]: get all pairs, added.

    Returns:
        (Pairs compared, pairs ruled out by size or bitmap).
    """
    members, starts = buckets.members, buckets.starts
    slack = slack_of(threshold)
    compared, ruled_out = 0, 0
    for x in range(first, last):
        for band in range(buckets.of.shape[1]):
            bucket = buckets.of[x, band]
            if bucket < 0:
                continue
            high = starts[bucket + 1]
            for i in range(first_not_below(members, starts[bucket], high, x) + 1, high):
                y = np.int64(members[i])
                if seen[y] == x:
                    continue
                seen[y] = x
                if not may_reach(sets.size, sets.bitmaps, x, y, slack):
                    ruled_out += 1
                    continue
                compared += 1
                similarity = split_jaccard(sets, split, x, y, threshold)
                if similarity >= 0.0:
                    k = np.int64(similarity * (classes.shape[0] - 1))
                    pairs = weights[x] * weights[y]
                    classes[k] += pairs
                    if labels[x] == labels[y]:
                        within[x - first, k] += pairs
    return compared, ruled_out


@inner
def _similarity(x, y, sets, threshold, slack, seen, counts):
    """Compare two documents, unless they were; the similarity, -1 below the threshold."""
    if seen[y] == x:
        return -1.0
    seen[y] = x
    if not may_reach(sets.size, sets.bitmaps, x, y, slack):
        counts[1] += 1
        return -1.0
    counts[0] += 1
    return jaccard(sets, x, y, threshold)


@kernel
def pairs_with_old(first, last, old, buckets, sets, threshold, seen, edges, counts):
    """Compare some documents with all old ones of their buckets.

    Stops, before a document, where its edges might not fit.

    Args:
        first: int: first document, not below ``old``.
        last: int: document after the last.
        old: int: the first so many documents are old.
        buckets: `neardup.kernels.resolving.Buckets` of m documents.
        sets: `neardup.kernels.jaccard.Sets` of m documents.
        threshold: float: lowest similarity of an edge.
        seen: int32[m]: working memory of one thread, all -1 at the beginning.
        edges: (int32[k], int32[k], float64[k]): get old document, new one, and similarity.
        counts: int64[2 or more]: get comparisons, and pairs ruled out by size or bitmap, added.

    Returns:
        (First document not done, number of edges).
    """
    members, starts = buckets.members, buckets.starts
    slack = slack_of(threshold)
    filled = 0
    for x in range(first, last):
        most = 0
        for band in range(buckets.of.shape[1]):
            bucket = buckets.of[x, band]
            if bucket >= 0:
                most += starts[bucket + 1] - starts[bucket]
        if filled + min(most, old) > edges[0].shape[0]:
            return x, filled
        for band in range(buckets.of.shape[1]):
            bucket = buckets.of[x, band]
            if bucket < 0:
                continue
            for i in range(starts[bucket], starts[bucket + 1]):
                y = members[i]
                if y >= old:
                    break
                similarity = _similarity(x, np.int64(y), sets, threshold, slack, seen, counts)
                if similarity >= 0.0:
                    edges[0][filled], edges[1][filled], edges[2][filled] = y, x, similarity
                    filled += 1
    return last, filled
