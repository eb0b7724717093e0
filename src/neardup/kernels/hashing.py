"""64-bit mixing, shared by the kernels."""

import numpy as np
from numba import njit

# Odd constants with no structure of their own: 2**64 over the golden ratio, and digits of pi.
TOKEN_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
TOKEN_LENGTH = np.uint64(0x243F6A8885A308D3)


@njit(cache=True, nogil=True)
def mix(h):
    """Return a bijective mix of a uint64 in which every input bit reaches every output bit.

    The finaliser of MurmurHash3 (A. Appleby), with constants of variant 13 by D. Stafford.
    """
    h ^= h >> np.uint64(30)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(27)
    h *= np.uint64(0x94D049BB133111EB)
    h ^= h >> np.uint64(31)
    return h


@njit(cache=True, nogil=True)
def splitmix(seed, index):
    """Return the ``index``-th uint64 of the SplitMix64 stream of ``seed`` (Steele et al. 2014)."""
    return mix(np.uint64(seed) + (np.uint64(index) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
