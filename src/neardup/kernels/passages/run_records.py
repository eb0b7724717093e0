"""Runs as they are written to files: the position once for all runs of an anchor.

A record is a position, a number of runs, and both hashes of each; for a copy, see
`neardup.kernels.passages.hashing.runs_of_anchors`, its position, the number of runs, and the
position of the first run that it is a copy of.
"""

import numpy as np

from neardup.kernels.bits import TOKEN_LENGTH, TOKEN_MULTIPLIER
from neardup.kernels.compiling import kernel
from neardup.kernels.passages.positions import COPY


@kernel
def pack_runs(columns, keys, parts, ends, out):
    """Write records, sorted into parts by their keys, stably; return how many words they have.

    Args:
        columns: As `neardup.kernels.passages.hashing.runs_of_anchors` fills them, but the keys.
        keys: uint64[rows], which fill their range evenly.
        parts: Number of parts.
        ends: int64[parts + 1] for where each part begins, and the end.
        out: uint64[] for the words; nothing to get only their number.
    """
    high, low, position = columns
    one, copy = np.uint64(1), np.uint64(COPY)
    ends[:] = 0
    parts = np.uint64(parts)
    rows = position.shape[0]
    for fill in range(2):
        if fill == 1 and out.shape[0] == 0:
            break
        row = np.int64(0)
        while row < rows:
            begin, key = row, keys[row]
            row += 1
            is_copy = position[begin] & copy != 0
            while (
                not is_copy
                and row < rows
                and position[row] == position[row - 1] + one
                and keys[row] == key
            ):
                row += 1
            part = np.int64(key % parts)
            if fill == 0:
                ends[part + 1] += 3 if is_copy else 2 * (row - begin + 1)
                continue
            at = ends[part]
            out[at] = position[begin]
            if is_copy:
                out[at + 1], out[at + 2] = low[begin], high[begin]
                at += 3
            else:
                out[at + 1] = np.uint64(row - begin)
                at += 2
                for k in range(begin, row):
                    out[at], out[at + 1] = high[k], low[k]
                    at += 2
            ends[part] = at
        if fill == 0:
            for part in range(ends.shape[0] - 1):
                ends[part + 1] += ends[part]
    total = ends[ends.shape[0] - 1]
    if out.shape[0] > 0:
        for part in range(ends.shape[0] - 1, 0, -1):
            ends[part] = ends[part - 1]
        ends[0] = 0
        total = out.shape[0]
    return total


@kernel
def unpack_runs(words, columns, copies):
    """Read records; return how many runs there are, and how many copies.

    Args:
        words: uint64[], as `pack_runs` writes them.
        columns: Three arrays for runs, as it takes them; of nothing to get only the number.
        copies: Three arrays for copies.
    """
    high, low, position = columns
    copy, at, count, copied = np.uint64(COPY), np.int64(0), np.int64(0), np.int64(0)
    counting = position.shape[0] == 0 and copies[2].shape[0] == 0
    while at < words.shape[0]:
        start, runs = words[at], np.int64(words[at + 1])
        if start & copy:
            if not counting:
                copies[0][copied], copies[1][copied] = words[at + 2], words[at + 1]
                copies[2][copied] = start
            copied += 1
            at += 3
            continue
        at += 2
        if not counting:
            for k in range(runs):
                high[count + k], low[count + k] = words[at + 2 * k], words[at + 2 * k + 1]
                position[count + k] = start + np.uint64(k)
        count += runs
        at += 2 * runs
    return count, copied


@kernel
def shift_runs(words, more):
    """Add to the positions of records, in place.

    Args:
        words: uint64[], as `pack_runs` writes them.
        more: uint64, the number that is added.
    """
    copy, at = np.uint64(COPY), np.int64(0)
    while at < words.shape[0]:
        is_copy, runs = words[at] & copy != 0, np.int64(words[at + 1])
        words[at] += more
        if is_copy:
            words[at + 2] += more
        at += 3 if is_copy else 2 * (runs + 1)


@kernel
def digest_of(words, before):
    """Return a digest of words that follow others, by which damaged files are recognised.

    Args:
        words: uint64[].
        before: uint64, the digest of the others; 0 for none.
    """
    found = np.uint64(before)
    for word in words:
        found = (found ^ word) * TOKEN_MULTIPLIER + TOKEN_LENGTH
        found ^= found >> np.uint64(29)
    return found
