"""Random numbers by position: a draw depends on the seed, its purpose and its place alone."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

_GOLDEN = 0x9E3779B97F4A7C15
_STEP = np.uint32(0x9E3779B9)
_MASK = 2**64 - 1


class Stream(IntEnum):
    """The purposes of draws, kept apart."""

    LENGTH, TEXT, LAYOUT, SOURCE, SHARE, EDIT, TEMPLATE, SLOT, VALUE, COLUMNS, ORDER = range(1, 12)


def mix(state: U64) -> U64:
    """Return the output function of SplitMix64 (Steele, Lea and Flood 2014) of each number."""
    z = state ^ (state >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def stream_keys(seed: int, stream: int, places: npt.NDArray[np.integer]) -> U64:
    """Return 64 random bits for each place, of one purpose."""
    outer = mix(np.array([(seed + stream * _GOLDEN) & _MASK], np.uint64))
    return mix(outer ^ mix(places.astype(np.uint64) + np.uint64(_GOLDEN)))


def unit(keys: U64) -> npt.NDArray[np.float64]:
    """Return keys as numbers in [0, 1)."""
    return (keys >> np.uint64(11)).astype(np.float64) * np.float64(2.0**-53)


def ragged_draws(keys: U64, counts: I64) -> U32:
    """Return ``counts`` draws of 32 bits for each key, one key's after another's; 2 ns a draw.

    A sequence walks through 2**32 states and adds the other half of its key in the middle of the
    mixing, so that two sequences that pass the same states still differ.
    """
    first = np.cumsum(counts) - counts
    x = np.arange(int(counts.sum()), dtype=np.uint32)
    x *= _STEP
    x += np.repeat(keys.astype(np.uint32) - first.astype(np.uint32) * _STEP, counts)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x21F0AAAD)
    x ^= np.repeat((keys >> np.uint64(32)).astype(np.uint32), counts)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x735A2D97)
    x ^= x >> np.uint32(16)
    return x


def permute(places: npt.NDArray[np.integer], size: int, seed: int, back: bool = False) -> I64:
    """Apply a pseudo-random permutation of ``range(size)`` to some numbers, or its inverse.

    A Feistel network over an even number of bits, repeated until the result is below ``size``
    (Black and Rogaway 2002, methods 2 and 3): about two repetitions on average, and no memory.
    """
    half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    rounds = stream_keys(seed, Stream.ORDER, np.arange(6))
    x = places.astype(np.uint64)
    open_ = np.arange(x.size)
    while open_.size:
        left, right = x[open_] >> half, x[open_] & mask
        for key in rounds[::-1] if back else rounds:
            if back:
                left, right = right ^ (mix(left + key) & mask), left
            else:
                left, right = right, left ^ (mix(right + key) & mask)
        x[open_] = (left << half) | right
        open_ = open_[x[open_] >= np.uint64(size)]
    return x.astype(np.int64)
