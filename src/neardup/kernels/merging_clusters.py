"""Clusters of records, merged by the pairs between them: by their mean, or if all of them are ones.

The pairs between two units are in a hash table, and the units next to each one in lists that are
chained when units are merged: memory is linear in the pairs, and time nearly so.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiling import inner, kernel
from neardup.kernels.unions import find

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Between(NamedTuple):
    """Units, and the sum of a value of the pairs between each two of them."""

    of: np.ndarray  # int32[units]: parent of each unit; one that was not merged is its own
    size: np.ndarray  # int64[units]: records of each one that was not merged
    fixed: np.ndarray  # bool[units]: those that are not merged with one another
    keys: np.ndarray  # uint64[power of two]: two units, lower one first; 0 for none
    sums: np.ndarray  # int64[power of two]: those of these two
    begin: np.ndarray  # int64[units + 1]: where the neighbours of each unit begin
    next: np.ndarray  # int32[units]: the unit whose neighbours follow; -1 for none
    last: np.ndarray  # int32[units]: the unit whose neighbours are the last ones
    many: np.ndarray  # int64[units]: neighbours in all, each at least once
    near: np.ndarray  # int32[2 pairs]: neighbours at the beginning


@inner
def _slot(keys, key):
    """Return where a key is, or else the empty slot in which it would be."""
    mask = np.uint64(len(keys) - 1)
    mixed = key * _MIX
    slot = (mixed ^ (mixed >> np.uint64(32))) & mask
    while keys[slot] != np.uint64(0) and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@inner
def _key(x, y):
    """Return the key of two different units."""
    return (np.uint64(min(x, y)) << np.uint64(32)) | np.uint64(max(x, y))


@inner
def _take(between, key):
    """Return the sum of two units, 0 if they have none, and remove it."""
    keys, sums = between.keys, between.sums
    mask = len(keys) - 1
    slot = _slot(keys, key)
    if keys[slot] == np.uint64(0):
        return np.int64(0)
    found = sums[slot]
    # Those behind it move up: none may be behind an empty slot.
    hole, at = slot, (slot + 1) & mask
    while keys[at] != np.uint64(0):
        mixed = keys[at] * _MIX
        home = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
        if ((at - home) & mask) >= ((at - hole) & mask):
            keys[hole], sums[hole] = keys[at], sums[at]
            hole = at
        at = (at + 1) & mask
    keys[hole] = np.uint64(0)
    return found


@inner
def _merge(between, x, y):
    """Merge two units, ``x`` stays one; return it."""
    of, near = between.of, between.near
    _take(between, _key(x, y))
    unit = np.int64(y)
    while unit >= 0:
        for i in range(between.begin[unit], between.begin[unit + 1]):
            other = np.int64(find(of, near[i]))
            if other not in (x, y):
                value = _take(between, _key(y, other))
                if value:
                    key = _key(x, other)
                    slot = _slot(between.keys, key)
                    if between.keys[slot] == np.uint64(0):
                        between.keys[slot], between.sums[slot] = key, np.int64(0)
                    between.sums[slot] += value
        unit = np.int64(between.next[unit])
    of[y] = x
    between.size[x] += between.size[y]
    between.next[between.last[x]] = y
    between.last[x] = between.last[y]
    between.many[x] += between.many[y]


@kernel
def add_between(a, b, values, between):
    """Add up the values of pairs between units, and list the neighbours of each unit.

    Args:
        a: int32[pairs]: the one unit of each, which differs from the other.
        b: int32[pairs]: the other.
        values: int64[pairs]: other than 0.
        between: `Between` whose `of` has each unit, whose `next` is -1 and whose other arrays are
            0; `size` and `fixed` are not used.
    """
    begin, units = between.begin, between.of.shape[0]
    for i in range(a.shape[0]):
        key = _key(np.int64(a[i]), np.int64(b[i]))
        slot = _slot(between.keys, key)
        between.keys[slot] = key
        between.sums[slot] += values[i]
        between.many[a[i]] += 1
        between.many[b[i]] += 1
    for unit in range(units):
        begin[unit + 1] = begin[unit] + between.many[unit]
        between.last[unit] = unit
    filled = begin[:-1].copy()
    for i in range(a.shape[0]):
        between.near[filled[a[i]]] = b[i]
        between.near[filled[b[i]]] = a[i]
        filled[a[i]] += 1
        filled[b[i]] += 1


@inner
def _before(bounds, pairs, i, j):
    """Return whether an entry of the heap comes before another one."""
    if bounds[i] != bounds[j]:
        return bounds[i] > bounds[j]
    if pairs[i, 0] != pairs[j, 0]:
        return pairs[i, 0] < pairs[j, 0]
    return pairs[i, 1] < pairs[j, 1]


@inner
def _swap(bounds, pairs, i, j):
    bounds[i], bounds[j] = bounds[j], bounds[i]
    for k in range(2):
        pairs[i, k], pairs[j, k] = pairs[j, k], pairs[i, k]


@inner
def _sink(bounds, pairs, i, size):
    """Restore the order of a heap below an entry."""
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and _before(bounds, pairs, child + 1, child):
            child += 1
        if not _before(bounds, pairs, child, i):
            return
        _swap(bounds, pairs, i, child)
        i = child


@inner
def _mean(between, x, y, far):
    slot = _slot(between.keys, _key(x, y))
    if between.keys[slot] == np.uint64(0):
        return np.float64(far)
    return between.sums[slot] / (between.size[x] * between.size[y]) + far


@kernel
def merge_by_mean(between, far, bounds, pairs):
    """Merge the two units with the highest mean of their pairs, while it is not below 0.

    A mean over the records of two units is never above the higher one of those of their parts. So
    the heap's value of two units is an upper bound, and is computed again when it is the highest:
    exact, without all pairs being changed at each merge.

    Args:
        between: `Between`, with sums of values that are added to ``far``; is changed.
        far: int: value of two records that are no pair, below 0.
        bounds: float64[pairs]: working memory.
        pairs: int32[pairs, 2]: working memory.
    """
    size = np.int64(0)
    for slot in range(between.keys.shape[0]):
        key = between.keys[slot]
        if key != np.uint64(0):
            x, y = np.int64(key >> np.uint64(32)), np.int64(key & np.uint64(0xFFFFFFFF))
            mean = between.sums[slot] / (between.size[x] * between.size[y]) + far
            if mean >= 0:
                bounds[size], pairs[size, 0], pairs[size, 1] = mean, x, y
                size += 1
    for i in range(size // 2 - 1, -1, -1):
        _sink(bounds, pairs, i, size)
    while size:
        x, y = np.int64(find(between.of, pairs[0, 0])), np.int64(find(between.of, pairs[0, 1]))
        merged = x == y or (between.fixed[x] and between.fixed[y])
        now = np.float64(-1) if merged else _mean(between, x, y, far)
        if now >= 0 and now < bounds[0]:
            bounds[0] = now
            _sink(bounds, pairs, 0, size)
            continue
        size -= 1
        _swap(bounds, pairs, 0, size)
        _sink(bounds, pairs, 0, size)
        if now >= 0:
            fewer = not between.fixed[x] and between.many[x] < between.many[y]
            if between.fixed[y] or fewer:
                x, y = y, x
            _merge(between, x, y)


@kernel
def merge_complete(between, a, b, order):
    """Merge units along pairs, in an order, if all pairs of their records are there.

    Args:
        between: `Between`, with the numbers of pairs; is changed.
        a: int32[pairs]: the one unit of each.
        b: int32[pairs]: the other.
        order: int64[pairs]: the pairs, the first one first.
    """
    for i in order:
        x, y = np.int64(find(between.of, a[i])), np.int64(find(between.of, b[i]))
        if x == y or (between.fixed[x] and between.fixed[y]):
            continue
        slot = _slot(between.keys, _key(x, y))
        there = between.sums[slot] if between.keys[slot] != np.uint64(0) else np.int64(0)
        if there < between.size[x] * between.size[y]:
            continue
        fewer = not between.fixed[x] and between.many[x] < between.many[y]
        if between.fixed[y] or fewer:
            x, y = y, x
        _merge(between, x, y)
