"""Binary search in ascending values.

Numba's own needs modules of 0.1 s, which a process loads that compiles nothing.
"""

from neardup.kernels.compiling import kernel


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
