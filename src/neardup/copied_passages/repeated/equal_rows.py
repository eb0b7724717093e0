"""Rows of a part, runs and copies of them, to segments of repeated runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from neardup.copied_passages.repeated.spill import Allocate
from neardup.kernels.passages.equal_runs import (
    add_copied,
    follow_groups,
    sort_copies,
    split_groups,
)
from neardup.kernels.passages.sources import sources_of_runs
from neardup.kernels.searching import fill_order
from neardup.match.bucketing import group

#: Types of a table of segments, see `neardup.kernels.passages.run_segments`.
SEGMENT = (np.uint64, np.uint32, np.uint64, np.uint64, np.uint64, np.uint32)


def rows_of(segments: Sequence[np.ndarray]) -> np.ndarray:
    """Return segments, in six arrays, as rows; see `neardup.kernels.passages.run_segments`."""
    position, runs, first, origin, latest, documents = (s.astype(np.uint64) for s in segments)
    return np.column_stack([position, runs | documents << np.uint64(32), first, origin, latest])


#: Rows that are looked at together.
_STEP = 1 << 18


class Groups(NamedTuple):
    """Which documents are compared with each other."""

    of: np.ndarray  # int32[documents], by number in keep order; -1 is compared with none
    others: bool  # sources are documents of other groups, else of the same one


class Rule(NamedTuple):
    """Which equal runs are sources."""

    words: int  # of a run
    groups: Groups | None = None
    boilerplate: int = 0  # documents from which on groups don't count for a run; 0 for never


class _Copies(NamedTuple):
    of: np.ndarray  # int32[rows]: first row of those that are copied with each, or -1
    firsts: np.ndarray  # int64[rows + 1]: copies of each row begin here
    positions: np.ndarray  # uint64[copies]: of the first run


def segments_of(
    runs: list[np.ndarray],
    copied: tuple[list[np.ndarray], int],
    rule: Rule,
    allocate: Allocate,
    at_once: int,
) -> tuple[np.ndarray, ...]:
    """Return segments of the runs of a part that occur twice, in no order.

    Args:
        runs: Rows as `neardup.kernels.passages.run_records.unpack_runs` reads them.
        copied: Records of copies likewise, and the number of copies.
        rule: Which equal runs are sources.
        allocate: Makes arrays, which may be large.
        at_once: Rows that are sorted at once, about.
    """
    (high, low, position, sizes), copies = _sorted(runs, copied, allocate, at_once)
    total = len(position)
    group_of, members = (allocate(total, np.dtype(np.int32)) for _ in range(2))
    ends = allocate(total + 1, np.dtype(np.int64))
    group_of[:], ends[0], count = -1, 0, 0
    shares = -(-total // at_once)
    for number in range(shares):
        rows, starts = _equal(high, (number, shares), allocate)
        count = split_groups(rows, starts, low, (group_of, copies.of, count), members, ends)
    if len(copies.positions):
        count = add_copied(group_of, copies.of, count, members, ends)
    following, later = allocate(count, np.dtype(np.int32)), allocate(count, np.dtype(np.bool_))
    ends = ends[: count + 1]
    chosen = group_of, members, ends
    size = follow_groups((position, sizes), chosen, copies.of, copies.firsts, following, later)
    found = tuple(allocate(size, np.dtype(kind)) for kind in SEGMENT)
    sources_of_runs(
        (position, sizes, copies.of),
        (copies.firsts, copies.positions),
        (members, ends, following, later),
        rule.words,
        _for_kernel(rule),
        allocate(size, np.dtype(np.uint64)),
        found,
    )
    return found


def _falls(values: np.ndarray) -> bool:
    """Return whether a value, of uint64[], is below the one before."""
    parts = (values[low : low + _STEP + 1] for low in range(0, len(values), _STEP))
    return any(bool(np.any(part[1:] < part[:-1])) for part in parts)


def order_of(values: np.ndarray, allocate: Allocate, at_once: int) -> np.ndarray:
    """Return int64[n]: the rows of values, uint64[n], ascending.

    Equal ones are next to each other, and stay so.
    """
    if len(values) <= at_once:
        return np.argsort(values, kind="stable")
    # NumPy would sort rows in memory of its own.
    ascending = allocate(len(values), np.dtype(np.uint64))
    ascending[:] = values
    ascending.sort()
    order = allocate(len(values), np.dtype(np.int64))
    fill_order(values, ascending, order)
    return order


def in_order(values: np.ndarray, order: np.ndarray, allocate: Allocate) -> np.ndarray:
    """Return values by their rows, int64[]."""
    return values.take(order, out=allocate(len(order), values.dtype), mode="clip")


def _sorted(
    runs: list[np.ndarray],
    copied: tuple[list[np.ndarray], int],
    allocate: Allocate,
    at_once: int,
) -> tuple[list[np.ndarray], _Copies]:
    """Sort runs by their positions, and copies by the runs that they are copies of."""
    if _falls(runs[2]):
        order = order_of(runs[2], allocate, at_once)
        runs = [in_order(column, order, allocate) for column in runs]
    total, index = len(runs[2]), np.dtype(np.int64)
    of, firsts = allocate(total, np.dtype(np.int32)), allocate(total + 1, index)
    of[:], firsts[:] = -1, 0
    records, count = copied
    copies = allocate(count, np.dtype(np.uint64))
    if count:
        order = np.empty(0, np.int64)
        if _falls(records[2]):
            order = order_of(records[2], allocate, at_once)
        rows = allocate(len(records[2]), index)
        sort_copies(tuple(records), order, runs[2], rows, of, firsts, copies)
    return runs, _Copies(of, firsts, copies)


def _equal(
    high: np.ndarray, share: tuple[int, int], allocate: Allocate
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of equal hashes, int32[], of a share of all hashes, and where each begins.

    The share is a number, and of how many it is.
    """
    number, shares = share
    if shares == 1:
        return group(high)
    # Periodic text may have all of its rows in one share.
    kept, values = allocate(len(high), np.dtype(np.int32)), allocate(len(high), high.dtype)
    count, are_equal = 0, True
    for low in range(0, len(high), _STEP):
        part = high[low : low + _STEP]
        rows = np.flatnonzero((part >> np.uint64(20)) % np.uint64(shares) == number)
        end = count + len(rows)
        kept[count:end], values[count:end] = low + rows, part[rows]
        are_equal = are_equal and bool(np.all(values[count:end] == values[0]))
        count = end
    kept, values = kept[:count], values[:count]
    if count and are_equal:  # sorted already
        return kept, np.array([0, count], np.int32)
    members, starts = group(values, allocate=allocate)
    return in_order(kept, members, allocate), starts


def _for_kernel(rule: Rule) -> tuple[np.ndarray, bool, int, np.ndarray]:
    limit = rule.boilerplate or 1 << 32
    if rule.groups is None:
        return np.empty(0, np.int32), False, limit, np.empty((3, 0), np.int64)
    count = int(rule.groups.of.max(initial=-1)) + 1
    return rule.groups.of, rule.groups.others, limit, np.full((3, count), -1, np.int64)
