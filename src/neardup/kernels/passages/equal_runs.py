"""Groups of equal runs, and which of them follow one another."""

import numpy as np

from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import COPY, TOKEN
from neardup.kernels.searching import first_not_below


@kernel
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


@inner
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


@kernel
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


@kernel
def sort_copies(columns, order, runs, rows, of, firsts, out):
    """Sort copies by the row that they are copies of, stably.

    Args:
        columns: Of copies, as `neardup.kernels.passages.run_records.unpack_runs` reads them.
        order: int64[records], records in the order of their positions; nothing where they are in
            that order.
        runs: uint64[runs], positions of rows, ascending.
        rows: int64[records], working memory.
        of: int32[runs] of -1 for the first row of those that are copied together with each.
        firsts: int64[runs + 1] of 0 for the first copy of each.
        out: uint64[copies] for the positions of copies.
    """
    origin, sizes, position = columns
    count = position.shape[0]
    every = np.int64(runs.shape[0])
    for k in range(count):
        row = first = rows[k] = first_not_below(runs, np.int64(0), every, origin[k])
        firsts[first + 1] += np.int64(sizes[k] >> np.uint64(32))
        end = origin[k] + (sizes[k] & TOKEN)
        is_new = of[first] < 0
        while is_new and row < of.shape[0] and origin[k] <= runs[row] < end:
            of[row] = np.int32(first)
            row += 1
    for first in range(firsts.shape[0] - 1):
        firsts[first + 1] += firsts[first]
    for i in range(count):
        k = order[i] if order.shape[0] > 0 else i
        for i in range(sizes[k] >> np.uint64(32)):
            out[firsts[rows[k]]] = (position[k] ^ COPY) + np.uint64(i) * (sizes[k] & TOKEN)
            firsts[rows[k]] += 1
    for first in range(firsts.shape[0] - 1, 0, -1):  # each is the next one's now
        firsts[first] = firsts[first - 1]
    firsts[0] = 0


@kernel
def follow_groups(rows, groups, copied, copies, following, later):
    """Find the group that has the runs just behind those of a group, all of them and no others.

    So the runs of a template are looked at once for all of them, and not one by one.

    Args:
        rows: Positions uint64[n], and int32[n], how many runs each is of.
        groups: Group of each row int32[n], members int32[], and ends int64[groups + 1], see
            `split_groups`.
        copied: The first row of those that are copied together with each int32[n], -1 for none.
        copies: First copy of each such row int64[n + 1].
        following: int32[groups] for the group; -1 where there is none.
        later: bool[groups] for which follow another one.

    Returns:
        How many rows the others have.
    """
    position, sizes = rows
    group_of, members, ends = groups
    total = np.int64(0)
    later[:] = False
    following[:] = -2  # not known so far
    # In the order of the rows: those of a group are far from each other.
    for row in range(position.shape[0]):
        group = group_of[row]
        if group < 0 or following[group] == -1:
            continue
        other = group_of[row + 1] if row + 1 < position.shape[0] else np.int32(-1)
        if (
            other < 0
            or other == group
            or position[row + 1] != position[row] + np.uint64(sizes[row])
            or copied[row + 1] != copied[row]
            or (following[group] >= 0 and following[group] != other)
        ):
            other = np.int32(-1)
        following[group] = other
    for group in range(following.shape[0]):
        other = following[group]
        if other >= 0 and ends[other + 1] - ends[other] == ends[group + 1] - ends[group]:
            later[other] = True
        else:
            following[group] = -1
    for group in range(following.shape[0]):
        if not later[group]:
            total += ends[group + 1] - ends[group]
            for i in range(ends[group], ends[group + 1] if copies[-1] > 0 else 0):
                of = copied[members[i]]
                if of >= 0:
                    total += copies[of + 1] - copies[of]
    return total
