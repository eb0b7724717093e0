"""Anchors of runs: an anchor that no other one equals rules out its runs."""

import numpy as np

from neardup.kernels.bits import TOKEN_MULTIPLIER, mix
from neardup.kernels.compiling import kernel


@kernel
def window_anchors(tokens, offsets, gram, window, keys, since, counts):
    """Select the anchors of each document; return how many there are.

    The anchor of a run is the leftmost of its ``window`` grams of ``gram`` tokens with the smallest
    hash. It depends only on the tokens of the run: equal runs have equal anchors. A run has
    ``gram + window - 1`` tokens; shorter documents have no anchor.

    Args:
        tokens: uint64[tokens] of all documents.
        offsets: int64[documents + 1] into ``tokens``.
        gram: Tokens of a gram.
        window: Grams of a run.
        keys: uint64[tokens] for the hash of each anchor.
        since: int32[tokens] for the first run that has it; the runs up to the next one's have it.
        counts: int32[documents] for the number of anchors.
    """
    top = np.uint64(1)
    for _ in range(gram):
        top *= TOKEN_MULTIPLIER
    size = np.int64(1)
    while size < window:
        size *= 2
    hashes = np.empty(size, dtype=np.uint64)  # of the last grams
    ring = size - 1
    count = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        first = offsets[d]
        grams = offsets[d + 1] - first - gram + 1
        before = count
        if grams >= window:
            h = np.uint64(0)
            for i in range(gram):
                h = h * TOKEN_MULTIPLIER + tokens[first + i]
            hashes[0] = mix(h)
            best = np.int64(-1)
            smallest = np.uint64(0)
            for end in range(grams):
                if end > 0:
                    gone = tokens[first + end - 1] * top
                    h = h * TOKEN_MULTIPLIER + (tokens[first + end + gram - 1] - gone)
                    hashes[end & ring] = mix(h)
                start = end - window + 1
                if start < 0:
                    continue
                chosen = best
                if best < start:
                    chosen, smallest = start, hashes[start & ring]
                    for i in range(start + 1, end + 1):
                        if hashes[i & ring] < smallest:
                            chosen, smallest = i, hashes[i & ring]
                elif hashes[end & ring] < smallest:
                    chosen, smallest = end, hashes[end & ring]
                if chosen != best:
                    best = chosen
                    keys[count], since[count] = mix(smallest), start
                    count += 1
        counts[d] = count - before
    return count


@kernel
def mark(bits, anchors):
    """Set the bits of some anchors.

    Args:
        bits: uint8[]: a bit for each anchor.
        anchors: int64[]: numbers of anchors.
    """
    for anchor in anchors:
        bits[anchor >> 3] |= np.uint8(1 << (anchor & 7))


@kernel
def needed_anchors(marked, counts, needed):
    """Count the anchors of each document up to its last marked one, and the one behind.

    Args:
        marked: bool[anchors].
        counts: int32[documents], the number of anchors of each.
        needed: int64[documents] for the number; 0 without a marked one.
    """
    first = np.int64(0)
    for d in range(counts.shape[0]):
        needed[d] = 0
        for i in range(counts[d]):
            if marked[first + i]:
                needed[d] = i + 2
        first += counts[d]


@kernel
def divide(keys, parts, order, ends):
    """Sort rows into parts by their keys, stably.

    Args:
        keys: uint64[n], which fill their range evenly.
        parts: Number of parts.
        order: int64[n] for the rows of part 0, then those of part 1, and so on.
        ends: int64[parts + 1] for where each part begins, and the end.
    """
    ends[:] = 0
    parts = np.uint64(parts)
    for key in keys:
        ends[np.int64(key % parts) + 1] += 1
    for part in range(ends.shape[0] - 1):
        ends[part + 1] += ends[part]
    fill = ends.copy()
    for row in range(keys.shape[0]):
        part = np.int64(keys[row] % parts)
        order[fill[part]] = row
        fill[part] += 1


@kernel
def with_anchors(keys, counts, known, found):
    """Mark the documents that have one of some anchors.

    Args:
        keys: uint64[anchors] of all documents.
        counts: int32[documents], the number of anchors of each.
        known: Those that are looked for: uint64[] in ascending order, each once; where those with
            the same leading bits begin int32[2**k + 1]; and the shift that gives these bits.
        found: bool[documents], is filled.
    """
    values, heads, shift = known
    first = np.int64(0)
    for d in range(counts.shape[0]):
        found[d] = False
        last = first + counts[d]
        for i in range(first, last):
            head = np.int64(keys[i] >> shift)
            at, end = heads[head], heads[head + 1]
            while at < end and values[at] < keys[i]:
                at += 1
            if at < end and values[at] == keys[i]:
                found[d] = True
                break
        first = last
