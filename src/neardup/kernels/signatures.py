"""Shingles to signatures, signatures to band keys.

Both schemes work on the upper half of a shingle's hash, 32 evenly distributed bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.hashing import TOKEN_MULTIPLIER, mix

__all__ = ["affine32", "band_keys", "oph32"]


@njit(cache=True, nogil=True)
def affine32(shingles, offsets, a, b, out):
    """Minima of ``a * x + b`` (mod 2**32) over the shingles of each document.

    Args:
        shingles: uint64[].
        offsets: int64[documents + 1].
        a, b: uint32[num_hashes]; ``a`` odd, so that each function is a permutation.
        out: uint32[documents, num_hashes], out; all ones for a document without shingles.
    """
    k = a.shape[0]
    for d in range(offsets.shape[0] - 1):
        row = out[d]
        for j in range(k):
            row[j] = np.uint32(0xFFFFFFFF)
        for i in range(offsets[d], offsets[d + 1]):
            x = np.uint32(shingles[i] >> np.uint64(32))
            for j in range(k):
                v = np.uint32(a[j] * x + b[j])
                row[j] = min(row[j], v)


@njit(cache=True, nogil=True)
def oph32(shingles, offsets, seed, out):
    """One-permutation hashing, empty bins filled by further rounds.

    Round ``i`` hashes every shingle to a bin and a value; a bin keeps the least value of the first
    round that reached it. From round ``num_hashes`` on, round ``num_hashes + j`` sends everything
    to bin ``j``, so that the work ends. This is Fast Similarity Sketching (Dahlgaard, Knudsen,
    Thorup, FOCS 2017, algorithm 1): unbiased, and never worse than independent functions, also for
    sets smaller than the signature, where densification by copying is.

    Args:
        shingles: uint64[].
        offsets: int64[documents + 1].
        seed: uint64.
        out: uint32[documents, num_hashes], out; all ones for a document without shingles.
    """
    k = out.shape[1]
    filled = np.empty(k, dtype=np.bool_)
    for d in range(offsets.shape[0] - 1):
        row = out[d]
        first, last = offsets[d], offsets[d + 1]
        for j in range(k):
            row[j] = np.uint32(0xFFFFFFFF)
            filled[j] = first == last
        left = 0 if first == last else k
        for turn in range(2 * k):
            if left == 0:
                break
            if turn >= k and filled[turn - k]:
                continue
            salt = mix(seed + np.uint64(turn) * TOKEN_MULTIPLIER)
            # Bins that an earlier round filled must not change in this one.
            before = left
            for i in range(first, last):
                h = mix(shingles[i] ^ salt)
                if turn < k:
                    j = np.int64(((h & np.uint64(0xFFFFFFFF)) * np.uint64(k)) >> np.uint64(32))
                else:
                    j = turn - k
                if not filled[j]:
                    v = np.uint32(h >> np.uint64(32))
                    if v == np.uint32(0xFFFFFFFF):  # reserved for bins that are still empty
                        v = np.uint32(0xFFFFFFFE)
                    row[j] = min(row[j], v)
            left = 0
            for j in range(k):
                filled[j] = row[j] != np.uint32(0xFFFFFFFF)
                left += not filled[j]
            if before == left and turn >= k:
                break


@njit(cache=True, nogil=True)
def band_keys(signatures, num_bands, rows, out):
    """Hash each band of each signature to 64 bits.

    Args:
        signatures: uint32[documents, num_hashes]; ``num_bands * rows <= num_hashes``.
        num_bands, rows: Bands, and entries in each.
        out: uint64[num_bands, documents], out.
    """
    for d in range(signatures.shape[0]):
        for band in range(num_bands):
            h = np.uint64(band)
            for j in range(band * rows, (band + 1) * rows):
                h = (h ^ np.uint64(signatures[d, j])) * TOKEN_MULTIPLIER
                h ^= h >> np.uint64(32)
            out[band, d] = mix(h)
