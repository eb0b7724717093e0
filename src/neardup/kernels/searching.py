"""Binary search in ascending values, and their sorting.

Numba's own needs modules of 0.1 s, which a process loads that compiles nothing.
"""

import numpy as np

from neardup.kernels.compiling import inner, kernel


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


@inner
def sort_first(values, count):
    """Sort ``values[:count]`` in place: Shell's sort, which is short and so quickly compiled."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3
