"""Runs as they are written to files: the position once for all runs of an anchor.

A record has a position and a number of runs; then both hashes of each run, or with `ONE_HASH` those
of all tokens of the runs together. A *copy*, see `neardup.kernels.passages.hashing`, has its
position plus `COPY`, the number of runs, and the position of the first run that it is a copy of.
A number of copies << 32 is added to that of the runs: each begins where the one before has ended.
"""

import numpy as np

from neardup.kernels.bits import TOKEN_LENGTH, TOKEN_MULTIPLIER
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import COPY, TOKEN

#: Added to the number of runs that have one hash.
ONE_HASH = np.uint64(1 << 63)


@inner
def _size(words, at):
    """Return the words of a record."""
    if words[at] & COPY:
        return np.int64(3)
    if words[at + 1] & ONE_HASH:
        return np.int64(4)
    return 2 * np.int64(words[at + 1]) + 2


@kernel
def divide_records(words, keys, parts, ends, out):
    """Sort records into parts by their keys, stably.

    Args:
        words: uint64[] of records.
        keys: uint64[records], which fill their range evenly.
        parts: Number of parts.
        ends: int64[parts + 1] for where each part begins, and the end.
        out: uint64[] for the words.
    """
    ends[:] = 0
    parts = np.uint64(parts)
    at = np.int64(0)
    for key in keys:
        size = _size(words, at)
        ends[np.int64(key % parts) + 1] += size
        at += size
    for part in range(ends.shape[0] - 1):
        ends[part + 1] += ends[part]
    fill = ends.copy()
    at = np.int64(0)
    for key in keys:
        part = np.int64(key % parts)
        to, size = fill[part], _size(words, at)
        for i in range(size):
            out[to + i] = words[at + i]
        fill[part] += size
        at += size


@kernel
def count_rows(words):
    """Count what `unpack_runs` reads.

    Args:
        words: uint64[] of records.

    Returns:
        Rows, records of copies, and copies.
    """
    at = rows = records = copies = np.int64(0)
    while at < words.shape[0]:
        if words[at] & COPY:
            records += 1
            copies += np.int64(words[at + 1] >> np.uint64(32))
        else:
            rows += np.int64(1) if words[at + 1] & ONE_HASH else np.int64(words[at + 1])
        at += _size(words, at)
    return rows, records, copies


@kernel
def unpack_runs(words, rows, copies):
    """Read records; see `count_rows`.

    Args:
        words: uint64[] of records.
        rows: Both halves of a hash and position uint64[n], and int32[n], how many runs it is of.
        copies: Position of the first run of the original, numbers of runs and of copies, and
            position plus `COPY`, uint64[records] each.
    """
    high, low, position, sizes = rows
    at = count = copied = np.int64(0)
    while at < words.shape[0]:
        start, runs = words[at], np.int64(words[at + 1] & ~ONE_HASH)
        size = _size(words, at)
        if start & COPY:
            copies[0][copied], copies[1][copied] = words[at + 2], words[at + 1]
            copies[2][copied] = start
            copied += 1
        elif words[at + 1] & ONE_HASH:
            high[count], low[count] = words[at + 2], words[at + 3]
            position[count], sizes[count] = start, runs
            count += 1
        else:
            for k in range(runs):
                high[count + k], low[count + k] = words[at + 2 + 2 * k], words[at + 3 + 2 * k]
                position[count + k], sizes[count + k] = start + np.uint64(k), 1
            count += runs
        at += size


@kernel
def columns_of(words, keys, out):
    """Read records, none of which has `ONE_HASH`, in their order; return how many rows there are.

    Args:
        words: uint64[] of records.
        keys: uint64[records].
        out: Both halves of a hash, position, and key of the record, uint64[]. For a copy: position
            of the first run of the original, number of runs, own position plus `COPY`, key.
    """
    high, low, position, key = out
    at = count = np.int64(0)
    for k in keys:
        start, runs = words[at], words[at + 1] & TOKEN
        if start & COPY:
            for i in range(words[at + 1] >> np.uint64(32)):
                high[count], low[count], key[count] = words[at + 2], runs, k
                position[count] = start + np.uint64(i) * runs
                count += 1
        else:
            for i in range(np.int64(runs)):
                high[count], low[count] = words[at + 2 + 2 * i], words[at + 3 + 2 * i]
                position[count], key[count] = start + np.uint64(i), k
                count += 1
        at += _size(words, at)
    return count


@kernel
def shift_runs(words, more):
    """Add to the positions of records, in place.

    Args:
        words: uint64[] of records.
        more: uint64, the number that is added.
    """
    at = np.int64(0)
    while at < words.shape[0]:
        size, is_copy = _size(words, at), words[at] & COPY != 0
        words[at] += more
        if is_copy:
            words[at + 2] += more
        at += size


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


@kernel
def gather_blocks(values, firsts, lasts, width, out):
    """Copy blocks of rows, each after the other; return the bytes copied.

    Args:
        values: uint8[] of rows.
        firsts: int64[blocks]: the first row of each block.
        lasts: int64[blocks]: the row behind the last one.
        width: Bytes of a row.
        out: uint8[] for the rows.
    """
    at = np.int64(0)
    for block in range(firsts.shape[0]):
        begin, end = firsts[block] * width, lasts[block] * width
        out[at : at + end - begin] = values[begin:end]
        at += end - begin
    return at
