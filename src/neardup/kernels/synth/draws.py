"""Random draws by position: sequences of SplitMix64, numbers below a bound, alias tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from neardup.kernels.hashing import mix

__all__ = [
    "COLUMN_STREAM",
    "EDIT_STREAM",
    "GOLDEN",
    "LENGTH_STREAM",
    "LOW32U",
    "PERMUTATION_STREAM",
    "SHARE_STREAM",
    "SLOT_STREAM",
    "SOURCE_STREAM",
    "TEMPLATE_STREAM",
    "TEXT_STREAM",
    "U32",
    "VALUE_STREAM",
    "Whole",
    "alias_table",
    "below",
    "draw_key",
    "jit",
    "pick",
]

# No division here has a zero below, so NumPy's rules spare the checks.
jit = njit(cache=True, nogil=True, error_model="numpy")

Whole = Any  # int64 in a kernel; to a type checker a mix of int and np.int64

# Streams keep the draws for different purposes apart. As NumPy scalars they are not literals to
# Numba, which would compile a copy of each function for each literal.
LENGTH_STREAM, TEXT_STREAM, SOURCE_STREAM = np.uint64(1), np.uint64(2), np.uint64(3)
SHARE_STREAM, EDIT_STREAM, TEMPLATE_STREAM = np.uint64(4), np.uint64(5), np.uint64(6)
SLOT_STREAM, VALUE_STREAM, COLUMN_STREAM = np.uint64(7), np.uint64(8), np.uint64(9)
PERMUTATION_STREAM = np.uint64(10)

#: What a state grows by from draw to draw; a draw is ``mix(state)``.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
U32 = np.uint64(32)
LOW32U = np.uint64(0xFFFFFFFF)
_LOW32 = 0xFFFFFFFF


@jit
def draw_key(seed: Any, stream: Any, index: int) -> Any:
    """Start of the sequence for one purpose and one position: uint64."""
    outer = mix(seed + stream * GOLDEN)
    return mix(outer ^ mix(np.uint64(index) + GOLDEN))


@jit
def below(draw: Any, bound: int) -> Whole:
    """Whole number in [0, bound) from the upper 32 bits of a draw; bound < 2**31."""
    return (np.int64(draw >> U32) * bound) >> 32


@jit
def pick(draw: Any, share: Any, alias: Any) -> Whole:
    """Rank from an alias table (Walker 1977): the upper 32 bits give the cell and the coin."""
    product = np.int64(draw >> U32) * np.int64(share.size)
    cell = product >> 32
    if (product & _LOW32) < np.int64(share[cell]):
        return cell
    return np.int64(alias[cell])


@jit
def alias_table(scaled: npt.NDArray[np.float64], share: Any, alias: Any) -> None:
    """Fill an alias table (Vose 1991), in O(size).

    Args:
        scaled: float64 (size,), the weights, positive and of mean 1; used up.
        share: uint32 (size,), out: the chance that a cell gives its own rank, times 2**32.
        alias: uint32 (size,), out: the rank that a cell gives otherwise.
    """
    size = scaled.size
    small = np.empty(size, np.int64)
    large = np.empty(size, np.int64)
    smalls = larges = 0
    for rank in range(size):
        share[rank] = np.uint32(_LOW32)
        alias[rank] = np.uint32(rank)
        if scaled[rank] < 1.0:
            small[smalls] = rank
            smalls += 1
        else:
            large[larges] = rank
            larges += 1
    while smalls and larges:
        smalls -= 1
        low = small[smalls]
        high = large[larges - 1]
        share[low] = np.uint32(min(scaled[low] * 4294967296.0, 4294967295.0))
        alias[low] = np.uint32(high)
        scaled[high] -= 1.0 - scaled[low]
        if scaled[high] < 1.0:
            larges -= 1
            small[smalls] = high
            smalls += 1
