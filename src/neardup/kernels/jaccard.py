"""Exact similarity of sorted sets, weighted or not, and a quick bound that rules pairs out."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from neardup.kernels.bits import popcount
from neardup.kernels.compiling import kernel


class Sets(NamedTuple):
    """Shingle sets of documents 0 to m - 1."""

    values: np.ndarray  # uint64[]: the sets, each sorted and distinct, in any order, with gaps
    begin: np.ndarray  # int64[m]: where each set begins
    size: np.ndarray  # int32[m]: its length; 0 for a document without one
    bitmaps: np.ndarray  # uint64[m, words]: each set folded into bits, see `fill_bitmaps`

    def take(self, rows: np.ndarray, empty: Callable[..., np.ndarray] = np.empty) -> "Sets":
        """Return some sets, int[n]; ``empty`` makes arrays, as `numpy.empty`."""
        begin, size = self.begin[rows], self.size[rows]
        bitmaps = empty((len(rows), self.bitmaps.shape[1]), np.uint64)
        # (In another mode NumPy fills a copy first.)
        return Sets(self.values, begin, size, self.bitmaps.take(rows, 0, bitmaps, "clip"))


class Split(NamedTuple):
    """The same sets, each as bits of members that many have, and a list of the others."""

    bits: np.ndarray  # uint64[m, words]: which of the frequent members it has
    values: np.ndarray  # uint64[]: the others, each set sorted and distinct
    begin: np.ndarray  # int64[m]: where those of each set begin
    size: np.ndarray  # int32[m]: how many these are


class Known(NamedTuple):
    """Sizes and bitmaps of some documents, each in the slot of the last bits of its number."""

    tags: np.ndarray  # uint64[power of two]: number + 1, then 32 bits of size; 0 for a free slot
    bitmaps: np.ndarray  # uint64[power of two, words], see `fill_bitmaps`


@kernel
def needed_overlap(total, threshold):
    """Return the smallest overlap for which sets of ``total`` members together reach ``threshold``.

    The comparison is that of the reported similarity, ``overlap / (total - overlap)`` as float64,
    and so a pair exactly at the threshold is decided the same way everywhere.

    Args:
        total: int: members of both, those that they share twice.
        threshold: float: similarity.
    """
    overlap = np.int64(np.ceil(threshold / (1.0 + threshold) * total))
    while overlap > 0 and (overlap - 1) / (total - overlap + 1) >= threshold:
        overlap -= 1
    while overlap < total and overlap / (total - overlap) < threshold:
        overlap += 1
    return overlap


@register_jitable
def slack_of(threshold):
    """Return the share of their members that two sets at the threshold may not have in common."""
    return (1.0 - threshold) / (1.0 + threshold)


@register_jitable
def most_differing(slack, total):
    """Return how many members may be in one of two sets only, for all of which see `may_reach`.

    Args:
        slack: float: `slack_of` the threshold.
        total: int or float: members of both sets, those that they share twice.
    """
    return slack * total + 1e-6  # as the product is rounded


@kernel
def fill_bitmaps(values, begin, size, distinct, out):
    """Fold the shingles of each document into bits: the leading bits of a hash name its bit.

    If each shingle is there once (``distinct``), it flips its bit, which says more about large
    sets; else it sets its bit. ``out`` is uint64[documents, power of two].

    Args:
        values: uint64[]: shingles.
        begin: int64[n]: where those of each document begin.
        size: int32[n]: how many these are.
        distinct: bool: each shingle is there once.
        out: uint64[n, power of two]: gets the bits.
    """
    words = out.shape[1]
    shift = np.uint64(58)
    while words > 1:
        words >>= 1
        shift -= np.uint64(1)
    for d in range(begin.shape[0]):
        row = out[d]
        row[:] = np.uint64(0)
        for i in range(begin[d], begin[d] + size[d]):
            leading = values[i] >> shift
            word, bit = leading >> np.uint64(6), np.uint64(1) << (leading & np.uint64(63))
            if distinct:
                row[word] ^= bit
            else:
                row[word] |= bit


@kernel
def drop_common(values, begin, size, common, out, offsets):
    """Copy sets without common members; a set without others keeps all.

    Args:
        values: uint64[]: members.
        begin: int64[n]: where each set begins.
        size: int32[n]: its members.
        common: bool[power of two]: which members are common, by their last bits.
        out: uint64[sum of sizes or more]: gets the members that stay.
        offsets: int64[n + 1]: gets where those of each set begin, and where the last ones end.
    """
    mask = np.uint64(common.shape[0] - 1)
    filled = np.int64(0)
    for d in range(begin.shape[0]):
        offsets[d] = filled
        for i in range(begin[d], begin[d] + size[d]):
            # Without a branch: the next member overwrites one that is common.
            out[filled] = values[i]
            filled += np.int64(not common[values[i] & mask])
        if filled == offsets[d]:
            for i in range(begin[d], begin[d] + size[d]):
                out[filled] = values[i]
                filled += 1
    offsets[begin.shape[0]] = filled


@kernel
def may_reach(size, bitmaps, x, y, slack):
    """Return whether two sets can reach a threshold t, by their sizes and bitmaps.

    Two sets reach t only if at most ``slack = (1 - t) / (1 + t)`` of the members of both are in
    only one of them, and each bit in which the bitmaps differ represents at least one such member
    (the bitmap filter of Sandes, Teodoro, Melo, Information Systems 88, 2020). Never rules out a
    pair that does reach it.

    Args:
        size: int32[m]: members of each set.
        bitmaps: uint64[m, words]: see `fill_bitmaps`.
        x: int: the one set.
        y: int: the other.
        slack: float: `slack_of` the threshold.
    """
    nx, ny = np.int64(size[x]), np.int64(size[y])
    limit = most_differing(slack, nx + ny)
    if abs(nx - ny) > limit:
        return False
    differing = np.uint64(0)
    for w in range(bitmaps.shape[1]):
        differing += popcount(bitmaps[x, w] ^ bitmaps[y, w])
    return np.int64(differing) <= limit


@kernel
def remember(known, docs, values, offsets):
    """Put documents, int64[n], into their slots, see `Known`, and forget those that were there.

    Their sets, each sorted and distinct, are in ``values``; each begins at ``offsets``, int64[n+1].

    Args:
        known: `Known`.
        docs: int64[n]: documents.
        values: uint64[]: their sets.
        offsets: int64[n + 1]: where each set begins.
    """
    mask = np.int64(known.tags.shape[0] - 1)
    size = np.empty(1, np.int32)
    for i in range(docs.shape[0]):
        y = docs[i] & mask
        size[0] = offsets[i + 1] - offsets[i]
        known.tags[y] = np.uint64(docs[i] + 1) << np.uint64(32) | np.uint64(size[0])
        fill_bitmaps(values, offsets[i : i + 1], size, True, known.bitmaps[y : y + 1])


@kernel
def keep_reachable(size, bitmaps, known, slack, rows, docs):
    """Keep the pairs of a set and a document that `may_reach` leaves, and those not known.

    Sets have ``size``, int32[m], and ``bitmaps``; see `Known` for documents. Of the pairs of a set
    and a document, ``rows`` and ``docs``, int64[pairs], those that are kept come first. Returns
    how many these are.

    Args:
        size: int32[m]: members of each set.
        bitmaps: uint64[m, words]: see `fill_bitmaps`.
        known: `Known`.
        slack: float: as for `may_reach`.
        rows: int64[pairs]: the set of each pair.
        docs: int64[pairs]: the document of each pair.
    """
    mask = np.int64(known.tags.shape[0] - 1)
    kept = np.int64(0)
    for i in range(rows.shape[0]):
        x, doc = rows[i], docs[i]
        y = doc & mask
        tag = known.tags[y]
        differing, limit = np.uint64(0), np.inf
        if tag >> np.uint64(32) == np.uint64(doc + 1):
            nx, ny = np.int64(size[x]), np.int64(tag & np.uint64(0xFFFFFFFF))
            limit = most_differing(slack, nx + ny)
            differing = np.uint64(abs(nx - ny))
            if differing <= limit:
                differing = np.uint64(0)
                for w in range(bitmaps.shape[1]):
                    differing += popcount(bitmaps[x, w] ^ known.bitmaps[y, w])
        if np.int64(differing) <= limit:
            rows[kept], docs[kept] = x, doc
            kept += 1
    return kept


@kernel
def jaccard(sets, x, y, threshold):
    """Return the similarity of two sets if it reaches ``threshold``, else -1.

    Merges the two from both ends, and stops as soon as the rest can't reach the threshold. Cost:
    at most ``size[x] + size[y]`` steps, two of which run at the same time.

    Args:
        sets: `Sets`.
        x: int: the one set.
        y: int: the other.
        threshold: float: lowest similarity.
    """
    values = sets.values
    nx, ny = np.int64(sets.size[x]), np.int64(sets.size[y])
    total = nx + ny
    if total == 0:
        return -1.0
    needed = needed_overlap(total, threshold)
    # Unsigned: no index is negative, which would be looked at each time.
    one = np.uint64(1)
    i, j = np.uint64(sets.begin[x]), np.uint64(sets.begin[y])
    end_x, end_y = i + np.uint64(nx), j + np.uint64(ny)
    overlap, left = np.int64(0), min(nx, ny)
    while overlap + left >= needed and left > 1:
        # No step moves either side by more than two, so this many need no look at the ends, and
        # without branches that depend on the data the merge runs at the speed of its loads.
        for _ in range(min(left >> 1, np.int64(12))):
            u, v, s, t = values[i], values[j], values[end_x - one], values[end_y - one]
            overlap += np.int64(u == v) + np.int64(s == t)
            i += np.uint64(u <= v)
            j += np.uint64(v <= u)
            end_x -= np.uint64(s >= t)
            end_y -= np.uint64(t >= s)
        left = np.int64(min(end_x - i, end_y - j))
    if overlap + left < needed:
        return -1.0
    while i < end_x and j < end_y:
        u, v = values[i], values[j]
        overlap += np.int64(u == v)
        i += np.uint64(u <= v)
        j += np.uint64(v <= u)
    if overlap < needed:
        return -1.0
    return overlap / (total - overlap)


@kernel
def split_sets(sets, frequent, split):
    """Split sets into bits and others.

    Args:
        sets: `Sets`.
        frequent: uint64[k]: members that have a bit, ascending.
        split: `Split`, whose bits are 0, and which has space for all members; gets the answer.
    """
    filled = np.int64(0)
    for d in range(sets.size.shape[0]):
        split.begin[d] = filled
        k = 0
        for i in range(sets.begin[d], sets.begin[d] + sets.size[d]):
            value = sets.values[i]
            while k < frequent.shape[0] and frequent[k] < value:
                k += 1
            if k < frequent.shape[0] and frequent[k] == value:
                split.bits[d, k >> 6] |= np.uint64(1) << np.uint64(k & 63)
            else:
                split.values[filled] = value
                filled += 1
        split.size[d] = filled - split.begin[d]


@kernel
def split_jaccard(sets, split, x, y, threshold):
    """Return what `jaccard` does; it takes less time where most members are frequent.

    Args:
        sets: `Sets`.
        split: `Split` of these.
        x: int: the one set.
        y: int: the other.
        threshold: float: lowest similarity.
    """
    total = np.int64(sets.size[x]) + np.int64(sets.size[y])
    needed = needed_overlap(total, threshold)
    overlap = np.int64(0)
    for w in range(split.bits.shape[1]):
        overlap += np.int64(popcount(split.bits[x, w] & split.bits[y, w]))
    i, j = split.begin[x], split.begin[y]
    end_x, end_y = i + split.size[x], j + split.size[y]
    while i < end_x and j < end_y:
        if overlap + min(end_x - i, end_y - j) < needed:
            return -1.0
        u, v = split.values[i], split.values[j]
        overlap += np.int64(u == v)
        i += np.int64(u <= v)
        j += np.int64(v <= u)
    return overlap / (total - overlap) if overlap >= needed else -1.0


@kernel
def verify(sets, a, b, first, last, threshold, out):
    """Write the similarity of each pair ``(a[i], b[i])``, or -1 where it is below ``threshold``.

    Args:
        sets: `Sets`.
        a: int[pairs]: the one set of each.
        b: int[pairs]: the other.
        first: int: first pair.
        last: int: pair after the last.
        threshold: float: lowest similarity.
        out: float64[pairs]: gets the similarities.
    """
    for i in range(first, last):
        out[i] = jaccard(sets, np.int64(a[i]), np.int64(b[i]), threshold)


@kernel
def weighted_overlap(sets, weights, a, b, first, last, shared, total):
    """Add up the weights of the members that pairs of sets share, and of all members of both.

    ``weights``, float32[power of two], has the weight of a value by its last bits. For each pair
    ``(a[i], b[i])``, int32, from ``first`` to ``last``, ``shared`` and ``total``, float64[pairs],
    get the weight of the members of both, and of either.

    Args:
        sets: `Sets`.
        weights: float32[power of two]: weight of a value by its last bits.
        a: int32[pairs]: the one set of each.
        b: int32[pairs]: the other.
        first: int: first pair.
        last: int: pair after the last.
        shared: float64[pairs]: gets the weight of members of both.
        total: float64[pairs]: gets the weight of members of either.
    """
    values, mask = sets.values, np.uint64(weights.shape[0] - 1)
    for pair in range(first, last):
        i, j = np.int64(sets.begin[a[pair]]), np.int64(sets.begin[b[pair]])
        end_i, end_j = i + np.int64(sets.size[a[pair]]), j + np.int64(sets.size[b[pair]])
        both = either = 0.0
        while i < end_i or j < end_j:
            # After the end of one, only the other goes on.
            u = values[i] if i < end_i else values[j]
            v = values[j] if j < end_j else values[i]
            left = i < end_i and (u <= v or j >= end_j)
            right = j < end_j and (v <= u or i >= end_i)
            weight = weights[(u if left else v) & mask]
            either += weight
            if left and right:
                both += weight
            i += np.int64(left)
            j += np.int64(right)
        shared[pair], total[pair] = both, either
