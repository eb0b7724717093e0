"""Sequences of random numbers, one for each key."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from neardup.synth.synthetic_words import I64, U64

U32 = npt.NDArray[np.uint32]

_STEP = np.uint32(0x9E3779B9)


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
