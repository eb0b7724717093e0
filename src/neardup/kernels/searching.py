"""Binary search in ascending values.

Numba's own needs modules of 0.1 s, which a process loads that compiles nothing.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from neardup.kernels.compiling import kernel

#: Rows of a block, about.
_BLOCK_BITS = 3
#: Rows behind one that are looked at before a search.
_NEXT = 6


class Blocks(NamedTuple):
    """Rows of ascending values by their upper bits: a search reads few lines of memory."""

    begins: np.ndarray  # int64[blocks + 1]: the first row of each block, and the number of rows
    shift: np.uint64  # bits of a value that are not those of its block


def blocks_of(values: np.ndarray, allocate: Callable[..., np.ndarray] = np.empty) -> Blocks:
    """Divide values, uint64[], ascending, into blocks of a few rows."""
    last = int(values[-1]) if len(values) else 0
    # From 1 on: the number of a block is no negative int64.
    shift = int(np.clip(last.bit_length() - len(values).bit_length() + _BLOCK_BITS, 1, 63))
    begins = allocate((last >> shift) + 2, np.int64)
    _fill_blocks(values, np.uint64(shift), begins)
    return Blocks(begins, np.uint64(shift))


@kernel
def _fill_blocks(values, shift, begins):
    block = np.int64(0)
    for row in range(values.shape[0]):
        last = np.int64(values[row] >> shift)
        while block <= last:
            begins[block] = row
            block += 1
    begins[block:] = values.shape[0]


@kernel
def first_not_below(values, low, high, value):
    """Return the first row from ``low`` on whose value is not below one; ``high`` where none is.

    Args:
        values: Any type, ascending from ``low`` to ``high``.
        low: int: first row.
        high: int: row after the last.
        value: To compare with.
    """
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def first_above(values, low, high, value):
    """Return the first row from ``low`` on whose value is above one; ``high`` where none is.

    Args:
        values: Any type, ascending from ``low`` to ``high``.
        low: int: first row.
        high: int: row after the last.
        value: To compare with.
    """
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def fill_order(values, ascending, order):
    """Fill in the rows of values in ascending order; equal ones are together before, and stay so.

    Args:
        values: uint64[n].
        ascending: uint64[n]: the same values, ascending.
        order: int64[n] for the rows.
    """
    total = np.int64(values.shape[0])
    at = np.int64(-1)
    for row in range(total):
        # Values are mostly a few ascending stretches: a row follows the one before.
        at += 1
        if at >= total or ascending[at] != values[row]:
            at = first_not_below(ascending, np.int64(0), total, values[row])
        order[at] = row


@kernel
def last_not_above(values, blocks, value):
    """Return the last row whose value is not above one; -1 where none is.

    Args:
        values: uint64[], ascending.
        blocks: Of them, see `blocks_of`.
        value: uint64: to compare with.
    """
    block = np.int64(value >> blocks.shift)
    if block >= blocks.begins.shape[0] - 1:
        return np.int64(values.shape[0]) - 1
    return first_above(values, blocks.begins[block], blocks.begins[block + 1], value) - 1


@kernel
def values_at(keys, blocks, values, asked, out):
    """Look values up by their keys.

    Args:
        keys: uint64[], ascending.
        blocks: Of them, see `blocks_of`.
        values: Any type, of each key.
        asked: uint64[asked]: keys, in any order; each is there.
        out: Any type, [asked], for their values.
    """
    row, last = np.int64(0), np.int64(keys.shape[0])
    for i in range(asked.shape[0]):
        # It is often a few rows behind the one before.
        found = np.int64(-1)
        for k in range(row, min(row + _NEXT, last)):
            if keys[k] == asked[i]:
                found = k
                break
        row = found if found >= 0 else last_not_above(keys, blocks, asked[i])
        out[i] = values[row]
