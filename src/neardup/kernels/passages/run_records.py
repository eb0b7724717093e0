"""Runs as they are written to files: the position once for all runs of an anchor.

A record has a position and a number of runs; then both hashes of each run, or with `ONE_HASH` those
of all tokens of the runs together; with `EACH` as well, a *leader*, both of these. A *copy*, see
`neardup.kernels.passages.hashing`, has its position plus `COPY`, the number of runs, and the
position of the first run that it is a copy of. A number of copies << 32 is added to that of the
runs: each begins where the one before has ended.
"""

import numpy as np

from neardup.kernels.bits import TOKEN_LENGTH, TOKEN_MULTIPLIER, mix
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import COPY, NONE, TOKEN

#: Added to the number of runs that have one hash, and of those that have one each as well.
ONE_HASH, EACH = np.uint64(1 << 63), np.uint64(1 << 62)


@inner
def _size(words, at):
    """Return the words of a record."""
    if words[at] & COPY:
        return np.int64(3)
    if words[at + 1] & ONE_HASH == 0:
        return 2 * np.int64(words[at + 1]) + 2
    if words[at + 1] & EACH == 0:
        return np.int64(4)
    return 2 * np.int64(words[at + 1] & TOKEN) + 4


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
def note_hashes(words, seen):
    """Note the hashes of runs with one each, and where runs are that others are copies of.

    Args:
        words: uint64[] of records.
        seen: uint64[2, n] of 0, n a power of 2: a bit for each hash that occurs once or more often,
            and for each that occurs twice or more often. Some bits are of several hashes.
    """
    at, end = np.int64(0), np.int64(words.shape[0])
    while at < end:
        runs = words[at + 1]
        if words[at] & COPY:
            word, bit = _bit(seen, mix(words[at + 2]))
            seen[1, word] |= bit
        elif runs & ONE_HASH == 0 or runs & EACH:
            first = at + 2 if runs & ONE_HASH == 0 else at + 4
            for k in range(np.int64(runs & TOKEN)):
                word, bit = _bit(seen, words[first + 2 * k])
                seen[1, word] |= seen[0, word] & bit
                seen[0, word] |= bit
        at += _size(words, at)


@inner
def _bit(seen, value):
    """Return the word that has the bit of a hash, and the bit."""
    word = np.int64(value >> np.uint64(6) & np.uint64(seen.shape[1] - 1))
    return word, np.uint64(1) << (value & np.uint64(63))


@inner
def _is_noted(seen, value):
    """Whether a hash may occur twice, or a position may be that of an original."""
    word, bit = _bit(seen, value)
    return seen[1, word] & bit != 0


@inner
def _keeps(words, at, seen):
    """Whether all runs of a record with a hash each are read."""
    return words[at + 1] & EACH != 0 or _is_noted(seen, mix(words[at]))


@kernel
def count_rows(words, seen):
    """Count what `unpack_runs` reads.

    Args:
        words: uint64[] of records.
        seen: As `note_hashes` fills it.

    Returns:
        Rows, records of copies, and leaders; rows with one hash are counted as copies too.
    """
    rows = records = leaders = np.int64(0)
    at, end = np.int64(0), np.int64(words.shape[0])
    while at < end:
        runs = words[at + 1]
        if words[at] & COPY:
            records += 1
        elif runs & ONE_HASH and runs & EACH == 0:
            rows += 1
            records += 1
        else:
            leaders += np.int64(runs & EACH != 0)
            if _keeps(words, at, seen):
                rows += np.int64(runs & TOKEN)
            else:
                for k in range(np.int64(runs)):
                    rows += np.int64(_is_noted(seen, words[at + 2 + 2 * k]))
        at += _size(words, at)
    return rows, records, leaders


@inner
def _slot(table, key, other):
    """Return the slot of two values, the first of which is a hash, or the one that is free."""
    mask, last = np.uint64(table.shape[0] - 1), table.shape[1] - 1
    slot = key & mask
    while table[slot, last] != NONE and not (table[slot, 0] == key and table[slot, 1] == other):
        slot = (slot + np.uint64(1)) & mask
    return slot


@inner
def _enter_leaders(words, table):
    """Enter both hashes and the position of each leader, by the first hash."""
    table[:, 2] = NONE
    at, end = np.int64(0), np.int64(words.shape[0] if table.shape[0] > 0 else 0)
    while at < end:
        if words[at] & COPY == 0 and words[at + 1] & EACH:
            slot = _slot(table, words[at + 2], words[at + 3])
            table[slot, 0], table[slot, 1] = words[at + 2], words[at + 3]
            table[slot, 2] = words[at]
        at += _size(words, at)


@kernel
def unpack_runs(words, tables, seen, rows, copies):
    """Read records; runs that have one hash, and a leader, are copies of its runs.

    A run with a hash of its own that no other has is left out, where nothing is a copy of it.

    Args:
        words: uint64[] of records.
        tables: Working memory by hashes, of leaders and of copies of these: uint64[slots, 3], slots
            a power of 2, at least twice as many as leaders, and as records of copies; both have no
            slots where there are no leaders.
        seen: As `note_hashes` fills it.
        rows: Both halves of a hash and position uint64[n], and int32[n], how many runs it is of.
        copies: Position of the first run of the original, numbers of runs and of copies, and
            position plus `COPY`, uint64[records] each.

    Returns:
        Rows, records of copies, and copies.
    """
    high, low, position, sizes = rows
    count = records = copied = np.int64(0)
    table, moved = tables
    _enter_leaders(words, table)
    moved[:, 2] = NONE
    leaders = table.shape[0]
    at, end = np.int64(0), np.int64(words.shape[0])
    while at < end:
        start, runs = words[at], words[at + 1] & TOKEN
        here, at = at, at + _size(words, at)
        if start & COPY:
            # Its original is before it, and may be a copy.
            first = words[here + 2]
            if leaders > 0:
                slot = _slot(moved, mix(first), first)
                first = moved[slot, 2] if moved[slot, 2] != NONE else first
            copies[0][records], copies[1][records] = first, words[here + 1]
            copies[2][records] = start
            copied += np.int64(words[here + 1] >> np.uint64(32))
            records += 1
            continue
        if words[here + 1] & ONE_HASH == 0 or words[here + 1] & EACH:
            hashes = here + 2 if words[here + 1] & ONE_HASH == 0 else here + 4
            every = _keeps(words, here, seen)
            for k in range(np.int64(runs)):
                if every or _is_noted(seen, words[hashes + 2 * k]):
                    high[count], low[count] = words[hashes + 2 * k], words[hashes + 1 + 2 * k]
                    position[count], sizes[count] = start + np.uint64(k), 1
                    count += 1
            continue
        leader = NONE
        if leaders > 0:
            leader = table[_slot(table, words[here + 2], words[here + 3]), 2]
        if leader == NONE:
            high[count], low[count] = words[here + 2], words[here + 3]
            position[count], sizes[count] = start, runs
            count += 1
        else:
            slot = _slot(moved, mix(start), start)
            moved[slot, 0], moved[slot, 1], moved[slot, 2] = mix(start), start, leader
            copies[0][records], copies[2][records] = leader, start | COPY
            copies[1][records] = np.uint64(1) << np.uint64(32) | runs
            records += 1
            copied += 1
    return count, records, copied


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
