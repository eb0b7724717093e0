"""Earlier positions of runs where a machine has only a range of the documents.

A range of documents is summed up by a row for each distinct run in it: its first and last position
there. Rows of all ranges together say what stands in the ranges before.
"""

import numpy as np

from neardup.kernels.bits import mix
from neardup.kernels.compiling import kernel
from neardup.kernels.passages.positions import NONE, document_of, is_earlier


@kernel
def mixed(values, out):
    """Fill an array with a hash of each value, and return it.

    Args:
        values: uint64[n].
        out: uint64[n] for the hashes.
    """
    for i in range(values.shape[0]):
        out[i] = mix(values[i])
    return out


@kernel
def number_equal(high, low, table, numbers, firsts):
    """Number rows by their hashes, in the order of their first ones; return how many there are.

    Args:
        high: uint64[n], the first half of the hash of each row.
        low: uint64[n], the other half.
        table: int32[slots] of -1, slots a power of 2 above n.
        numbers: int32[n] for the number of each row.
        firsts: int32[n] for the first row of each number.
    """
    last = np.uint64(table.shape[0] - 1)
    count = np.int32(0)
    for i in range(high.shape[0]):
        slot = low[i] & last
        while table[slot] >= 0:
            row = firsts[table[slot]]
            if high[row] == high[i] and low[row] == low[i]:
                break
            slot = (slot + np.uint64(1)) & last
        if table[slot] < 0:
            table[slot] = count
            firsts[count] = i
            count += 1
        numbers[i] = table[slot]
    return count


@kernel
def sum_up(position, numbers, ends, documents, sizes):
    """Sum up the rows of each number.

    Args:
        position: uint64[n], ascending.
        numbers: int32[n], -1 for rows that do not count.
        ends: uint64[numbers, 2] for first and last position.
        documents: uint32[numbers] for the documents that have it.
        sizes: uint32[numbers] for its rows.
    """
    documents[:] = 0
    sizes[:] = 0
    for i in range(position.shape[0]):
        number = numbers[i]
        if number < 0:
            continue
        if sizes[number] == 0:
            ends[number, 0] = position[i]
        if sizes[number] == 0 or document_of(ends[number, 1]) != document_of(position[i]):
            documents[number] += np.uint32(1)
        ends[number, 1] = position[i]
        sizes[number] += np.uint32(1)


@kernel
def add_other_ends(ends, group, value, at, position):
    """Enter a position among the first and last ones of two groups.

    Args:
        ends: uint64[n, 4], rows of first position, first of another group than that one, last
            position, last of another group than that one; `NONE` for none.
        group: int64[n, 2], the groups of first and last position.
        value: int64, the group of the position.
        at: Row.
        position: uint64, after all that are entered.
    """
    if ends[at, 0] == NONE:
        ends[at, 0], group[at, 0] = position, value
    elif group[at, 0] != value and ends[at, 1] == NONE:
        ends[at, 1] = position
    if ends[at, 2] != NONE and group[at, 1] != value:
        ends[at, 3] = ends[at, 2]
    ends[at, 2], group[at, 1] = position, value


@kernel
def sum_up_groups(position, numbers, values, ends, group):
    """Sum up the rows of each number for those of other groups: see `add_other_ends`.

    Args:
        position: uint64[n], ascending.
        numbers: int32[n], -1 for rows of no group.
        values: int64[n], the group of each row.
        ends: uint64[numbers, 4] of `NONE`.
        group: int64[numbers, 2].
    """
    for i in range(position.shape[0]):
        if numbers[i] >= 0:
            add_other_ends(ends, group, values[i], numbers[i], position[i])


@kernel
def before_each(numbers, ends, documents, found, totals, ranges):
    """Find what stands in the ranges before each row.

    Args:
        numbers: int32[n], equal for equal runs; rows in the order of their ranges.
        ends: uint64[n, 2], first and last position in the range.
        documents: uint32[n].
        found: uint64[n, 2] for the first and last position in the ranges before.
        totals: uint32[n] for the documents in all ranges.
        ranges: uint32[n] for the number of ranges that have the run.
    """
    count = np.int64(0)
    for number in numbers:
        count = max(count, np.int64(number) + 1)
    before = np.full((count, 2), NONE)
    total = np.zeros(count, dtype=np.uint32)
    having = np.zeros(count, dtype=np.uint32)
    for i in range(numbers.shape[0]):
        number = numbers[i]
        found[i, 0], found[i, 1] = before[number, 0], before[number, 1]
        if before[number, 0] == NONE:
            before[number, 0] = ends[i, 0]
        before[number, 1] = ends[i, 1]
        total[number] += documents[i]
        having[number] += np.uint32(1)
    for i in range(numbers.shape[0]):
        totals[i], ranges[i] = total[numbers[i]], having[numbers[i]]


@kernel
def groups_before_each(numbers, ends, group, found, found_group):
    """Find what stands in the ranges before each row, by groups: see `add_other_ends`.

    Args:
        numbers: int32[n], equal for equal runs; rows in the order of their ranges.
        ends: uint64[n, 4] of each range.
        group: int64[n, 2] of each range.
        found: uint64[n, 4] for those of the ranges before.
        found_group: int64[n, 2] likewise.
    """
    count = np.int64(0)
    for number in numbers:
        count = max(count, np.int64(number) + 1)
    before = np.full((count, 4), NONE)
    of = np.zeros((count, 2), dtype=np.int64)
    for i in range(numbers.shape[0]):
        k = numbers[i]
        found[i] = before[k]
        found_group[i] = of[k]
        if ends[i, 0] == NONE:
            continue
        if before[k, 0] == NONE:
            before[k] = ends[i]
            of[k] = group[i]
            continue
        if before[k, 1] == NONE:
            before[k, 1] = ends[i, 0] if group[i, 0] != of[k, 0] else ends[i, 1]
        other = ends[i, 3]
        if other == NONE:
            other = before[k, 2] if of[k, 1] != group[i, 1] else before[k, 3]
        before[k, 2], before[k, 3], of[k, 1] = ends[i, 2], other, group[i, 1]


@kernel
def sources_in_range(position, numbers, before, words, origin, latest):
    """Find the earlier positions of the runs of a range.

    Args:
        position: uint64[n], ascending.
        numbers: int32[n], equal for equal runs; -1 for those without sources.
        before: uint64[numbers, 2], first and last position in the ranges before, or `NONE`.
        words: Tokens of a run.
        origin: uint64[n] for the first earlier position, or `NONE`.
        latest: uint64[n] for the latest earlier position, or `NONE`.
    """
    count = before.shape[0]
    head = np.full(count, -1, dtype=np.int32)
    newest, back = head.copy(), head.copy()
    following = np.full(position.shape[0], -1, dtype=np.int32)
    for i in range(position.shape[0]):
        number = numbers[i]
        origin[i] = latest[i] = NONE
        if number < 0:
            continue
        if newest[number] >= 0:
            following[newest[number]] = i
        else:
            head[number] = i
        newest[number] = i
        while True:  # the last one that does not overlap this one
            after = head[number] if back[number] < 0 else following[back[number]]
            if after < 0 or not is_earlier(position[after], position[i], words):
                break
            back[number] = after
        origin[i], latest[i] = before[number, 0], before[number, 1]
        if back[number] >= 0:
            latest[i] = position[back[number]]
            if origin[i] == NONE:
                origin[i] = position[head[number]]


@kernel
def sources_in_other_groups(position, numbers, values, ends, group, origin, latest):
    """Find the earlier positions of the runs of a range in documents of other groups.

    Args:
        position: uint64[n], ascending.
        numbers: int32[n], equal for equal runs; -1 for those without sources.
        values: int64[n], the group of each.
        ends: uint64[numbers, 4] of the ranges before, see `add_other_ends`; changed.
        group: int64[numbers, 2] likewise.
        origin: uint64[n] for the first earlier position, or `NONE`.
        latest: uint64[n] for the latest earlier position, or `NONE`.
    """
    for i in range(position.shape[0]):
        k = numbers[i]
        origin[i] = latest[i] = NONE
        if k < 0:
            continue
        if ends[k, 0] != NONE:
            origin[i] = ends[k, 0] if group[k, 0] != values[i] else ends[k, 1]
            latest[i] = ends[k, 2] if group[k, 1] != values[i] else ends[k, 3]
        add_other_ends(ends, group, values[i], k, position[i])
