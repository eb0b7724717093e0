"""A plugin of pytest for runs with the JIT off: `neardup.kernels.bits` in plain Python.

Intrinsics exist only in compiled code. Kernels take these instead if they are imported after this.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.kernels import bits
from neardup.kernels.bits import LANES


def load8(array: Any, index: int) -> Any:
    """Return the 8 bytes of ``array`` from ``index`` on as one uint64, the first byte lowest."""
    return np.uint64(int.from_bytes(array[index : index + 8].tobytes(), "little"))


def trailing_zeros(value: Any) -> Any:
    """Return the number of zero bits below the lowest one bit; 64 for zero."""
    number = int(value)
    return np.uint64((number & -number).bit_length() - 1 if number else 64)


def popcount(value: Any) -> Any:
    """Return the number of one bits."""
    return np.uint64(int(value).bit_count())


def high_product(a: Any, b: Any) -> Any:
    """Return the upper 64 bits of the product of two uint64."""
    return np.uint64(int(a) * int(b) >> 64)


def classify(source: Any, at: int, target: Any, to: int, lower: Any) -> Any:
    """Sort bytes into what may be in a word and what separates words."""
    value = source[at : at + LANES]
    capital = (value >= ord("A")) & (value <= ord("Z"))
    small = (value >= ord("a")) & (value <= ord("z"))
    digit = (value >= ord("0")) & (value <= ord("9"))
    word = capital | small | digit | (value == ord("_"))
    target[to : to + LANES] = value + np.where(capital, np.uint8(lower), np.uint8(0))
    return np.packbits(word | (value >= 128), bitorder="little").view(np.uint64)[0]


def within(array: Any, index: Any, first: Any, count: Any) -> Any:
    """Return a bit for each of 64 bytes that is one of so many from the first on."""
    hits = array[index : index + LANES] - np.uint8(first) < count
    return np.packbits(hits, bitorder="little").view(np.uint64)[0]


def mask32(array: Any, index: int, a: int, b: int, c: int, below: int) -> Any:
    """Return a bit for each of 32 bytes from ``index`` on that is a, b, c or under ``below``."""
    found = array[index : index + 32]
    hits = (found == a) | (found == b) | (found == c) | (found < below)
    return np.uint64(int.from_bytes(np.packbits(hits, bitorder="little").tobytes(), "little"))


def copy32(source: Any, start: int, target: Any, place: int) -> None:
    """Copy 32 bytes."""
    target[place : place + 32] = source[start : start + 32]


for operation in (
    load8,
    trailing_zeros,
    popcount,
    high_product,
    classify,
    within,
    mask32,
    copy32,
):
    setattr(bits, operation.__name__, operation)
