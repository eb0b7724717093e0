"""Groups of equal runs, and which of them follow one another."""

import numpy as np
from numba import njit

from neardup.kernels.passages.positions import COPY


@njit(cache=True, nogil=True)
def split_groups(rows, starts, low, groups, members, ends):
    """Enter rows that are equal in both halves of their hashes as groups.

    Args:
        rows: int32[], rows of equal ``high`` hashes, each list in ascending order of position;
            those whose ``low`` hash differs are taken apart, in place.
        starts: int32[lists + 1] into ``rows``.
        low: uint64[n], the second half of the hash of each row.
        groups: The group of each row int32[n], -1 for none so far; the first row of those that are
            copied together with each int32[n], -1 for none; number of groups so far. A row with
            neither an equal one nor copies is in no group.
        members: int32[n] for the rows of each group, ascending.
        ends: int64[n + 1] for where each group begins, and where the last one ends.

    Returns:
        Number of groups.
    """
    group_of, copied, count = groups
    filled = ends[count]
    for part in range(starts.shape[0] - 1):
        begin, end = np.int64(starts[part]), np.int64(starts[part + 1])
        while begin < end:
            stop = _equal(rows, begin, end, low)
            if stop - begin > 1 or copied[rows[begin]] >= 0:
                for i in range(begin, stop):
                    members[filled] = rows[i]
                    group_of[rows[i]] = count
                    filled += 1
                count += 1
                ends[count] = filled
            begin = stop
    return count


@njit(cache=True, nogil=True)
def _equal(rows, begin, end, low):
    """Bring the rows with the same ``low`` hash as the first to the front; return their end."""
    value = low[rows[begin]]
    stop = begin + 1
    while stop < end and low[rows[stop]] == value:
        stop += 1
    for i in range(stop + 1, end):  # two halves of a hash that differ: hardly ever
        row = rows[i]
        if low[row] == value:
            for j in range(i, stop, -1):
                rows[j] = rows[j - 1]
            rows[stop] = row
            stop += 1
    return stop


@njit(cache=True, nogil=True)
def add_copied(group_of, copied, count, members, ends):
    """Enter each row that has copies and is in no group as one; see `split_groups`.

    Args:
        group_of: int32[n], the group of each row, -1 for none.
        copied: int32[n], the first row of those that are copied together with it, -1 for none.
        count: Number of groups so far.
        members: int32[n] for the rows of each group.
        ends: int64[n + 1] for where each group begins, and where the last one ends.

    Returns:
        Number of groups.
    """
    filled = ends[count]
    for row in range(copied.shape[0]):
        if copied[row] >= 0 and group_of[row] < 0:
            members[filled] = row
            group_of[row] = count
            filled += 1
            count += 1
            ends[count] = filled
    return count


@njit(cache=True, nogil=True)
def find_copies(position, copied):
    """Mark the rows that are copies; return how many, and whether they are in ascending order.

    Args:
        position: uint64[rows], see `neardup.kernels.passages.hashing.runs_of_anchors`.
        copied: bool[rows] for whether a row is a copy.
    """
    count = np.int64(0)
    ascending = True
    before = np.uint64(0)
    for row in range(position.shape[0]):
        copied[row] = (position[row] & COPY) != 0
        if copied[row]:
            ascending = ascending and position[row] > before
            before = position[row]
            count += 1
    return count, ascending


@njit(cache=True, nogil=True)
def sort_copies(columns, order, runs, of, firsts, out):
    """Sort copies by the row that they are copies of, stably.

    Args:
        columns: Position of the first run of the original, number of runs, and position of each
            row, uint64[rows] each; rows that are no copies are left out.
        order: int64[copies], rows of copies in the order of their positions; of none where they are
            in that order.
        runs: uint64[runs], positions of rows that are no copies, ascending.
        of: int32[runs] of -1 for the first row of those that are copied together with each.
        firsts: int64[runs + 1] of 0 for the first copy of each.
        out: uint64[copies] for the positions of copies.
    """
    origin, sizes, position = columns
    for row in range(position.shape[0]):
        if position[row] & COPY:
            first = np.searchsorted(runs, origin[row])
            firsts[first + 1] += 1
            if of[first] < 0:
                of[first : first + np.int64(sizes[row])] = np.int32(first)
    for first in range(firsts.shape[0] - 1):
        firsts[first + 1] += firsts[first]
    fill = firsts.copy()
    for k in range(order.shape[0] if order.shape[0] > 0 else position.shape[0]):
        row = order[k] if order.shape[0] > 0 else k
        if position[row] & COPY:
            first = np.searchsorted(runs, origin[row])
            out[fill[first]] = position[row] ^ COPY
            fill[first] += 1


@njit(cache=True, nogil=True)
def follow_groups(position, groups, copied, copies, following):
    """Find the group that has the runs just behind those of a group, all of them and no others.

    So the runs of a template are looked at once for all of them, and not one by one.

    Args:
        position: uint64[n] of rows, ascending.
        groups: Group of each row int32[n], members int32[], and ends int64[groups + 1], see
            `split_groups`.
        copied: The first row of those that are copied together with each int32[n], -1 for none.
        copies: First copy of each such row int64[n + 1].
        following: int32[groups] for the group; -1 where there is none.

    Returns:
        bool[groups], which follow another one; and how many runs the others have.
    """
    group_of, members, ends = groups
    total = np.int64(0)
    later = np.zeros(following.shape[0], dtype=np.bool_)
    one = np.uint64(1)
    for group in range(following.shape[0]):
        begin, end = ends[group], ends[group + 1]
        following[group] = -1
        row = members[begin]
        if row + 1 == position.shape[0] or group_of[row + 1] < 0:
            continue
        other = group_of[row + 1]
        same = other != group and ends[other + 1] - ends[other] == end - begin
        i = begin
        while same and i < end:
            row = members[i]
            same = (
                row + 1 < position.shape[0]
                and group_of[row + 1] == other
                and position[row + 1] == position[row] + one
                and copied[row + 1] == copied[row]
            )
            i += 1
        if same:
            following[group] = other
            later[other] = True
    for group in range(following.shape[0]):
        if not later[group]:
            for i in range(ends[group], ends[group + 1]):
                total += 1
                of = copied[members[i]]
                if of >= 0:
                    total += copies[of + 1] - copies[of]
    return later, total
