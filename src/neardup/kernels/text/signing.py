"""Shingles to signatures, signatures to band keys; and a bitmap of each document's shingles.

Both schemes work on 32 evenly distributed bits of a shingle's hash.
"""

import numpy as np

from neardup.kernels.bits import TOKEN_MULTIPLIER, mix
from neardup.kernels.compiling import kernel

#: Entry of a signature that no shingle reached.
EMPTY = np.uint32(0xFFFFFFFF)


@kernel
def sign_affine(shingles, offsets, a, b, out):
    """Compute minima of ``a * x + b`` (mod 2**32) over the shingles of each document.

    ``a``, ``b`` are uint32[width]; odd factors make each function a permutation, and a width that
    is a multiple of 16 suits vector instructions. A document without shingles gets `EMPTY`.

    Args:
        shingles: uint64[]: shingles.
        offsets: int64[documents + 1]: where those of each document begin.
        a: uint32[width]: factors.
        b: uint32[width]: summands.
        out: uint32[documents, width]: gets the signatures.
    """
    high = np.uint64(32)
    width = a.shape[0]
    for d in range(offsets.shape[0] - 1):
        row = out[d]
        for j in range(width):
            row[j] = EMPTY
        i, last = offsets[d], offsets[d + 1]
        # Four shingles for each time that the row is read and written.
        while i + 4 <= last:
            x0 = np.uint32(shingles[i] >> high)
            x1 = np.uint32(shingles[i + 1] >> high)
            x2 = np.uint32(shingles[i + 2] >> high)
            x3 = np.uint32(shingles[i + 3] >> high)
            for j in range(width):
                v = min(np.uint32(a[j] * x0 + b[j]), np.uint32(a[j] * x1 + b[j]))
                w = min(np.uint32(a[j] * x2 + b[j]), np.uint32(a[j] * x3 + b[j]))
                row[j] = min(row[j], min(v, w))
            i += 4
        while i < last:
            x = np.uint32(shingles[i] >> high)
            for j in range(width):
                row[j] = min(row[j], np.uint32(a[j] * x + b[j]))
            i += 1


@kernel
def sign_oph(shingles, offsets, seed, out):
    """Hash each shingle once into bins; fill empty bins by further rounds.

    Round ``i`` hashes every shingle to a bin and a value; a bin keeps the minimum of the first
    round that reached it. From round ``width`` on, round ``width + j`` sends everything to bin
    ``j``, which ends the work. This is Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup,
    FOCS 2017, algorithm 1): unbiased, and never worse than independent functions, also for sets
    smaller than the signature, where densification by copying is worse. A document without
    shingles gets `EMPTY`.

    Args:
        shingles: uint64[]: shingles.
        offsets: int64[documents + 1]: where those of each document begin.
        seed: uint64: of the rounds.
        out: uint32[documents, width]: gets the signatures.
    """
    k = out.shape[1]
    filled = np.empty(k, dtype=np.bool_)
    for d in range(offsets.shape[0] - 1):
        row = out[d]
        first, last = offsets[d], offsets[d + 1]
        for j in range(k):
            row[j] = EMPTY
            filled[j] = first == last
        left = 0 if first == last else k
        for turn in range(2 * k):
            if left == 0:
                break
            if turn >= k and filled[turn - k]:
                continue
            salt = mix(seed + np.uint64(turn) * TOKEN_MULTIPLIER)
            for i in range(first, last):
                h = mix(shingles[i] ^ salt)
                if turn < k:
                    j = np.int64(((h & np.uint64(0xFFFFFFFF)) * np.uint64(k)) >> np.uint64(32))
                else:
                    j = turn - k
                # Bins that an earlier round filled must not change in this one.
                if not filled[j]:
                    # The value EMPTY is reserved for bins that are still empty.
                    v = min(np.uint32(h >> np.uint64(32)), np.uint32(0xFFFFFFFE))
                    row[j] = min(row[j], v)
            left = 0
            for j in range(k):
                filled[j] = row[j] != EMPTY
                left += not filled[j]


@kernel
def band_keys(signatures, rows, keys):
    """Hash each band of ``rows`` entries of each signature to 64 bits.

    Args:
        signatures: uint32[documents, width]: signatures.
        rows: int: entries of a band.
        keys: uint64[documents, num_bands]: gets the keys.
    """
    for d in range(signatures.shape[0]):
        for band in range(keys.shape[1]):
            h = np.uint64(band)
            for j in range(band * rows, (band + 1) * rows):
                h = (h ^ np.uint64(signatures[d, j])) * TOKEN_MULTIPLIER
                h ^= h >> np.uint64(32)
            keys[d, band] = mix(h)
