"""Tokens to shingles, shingles to sorted sets."""

import numpy as np
from numba import njit

from neardup.kernels.bits import TOKEN_LENGTH, TOKEN_MULTIPLIER, mix


@njit(cache=True, nogil=True)
def shingle_tokens(tokens, offsets, n, out, out_offsets, hashes):
    """Hash every ``n`` consecutive tokens of each document, in order; return how many there are.

    A document of fewer than ``n`` tokens gives one shingle of all its tokens, one of none gives
    none. The hash is a polynomial in the tokens (rolling: ``n`` costs nothing), mixed.
    ``hashes``, uint64[documents, 2], gets a 128-bit hash of each token sequence, which finds
    exact duplicates; it is skipped if it has no rows.

    Args:
        tokens: uint64[]: hashes of tokens.
        offsets: int64[documents + 1]: where those of each document begin.
        n: int: tokens of a shingle.
        out: uint64[tokens]: gets the shingles.
        out_offsets: int64[documents + 1]: gets where those of each document begin.
        hashes: uint64[documents or 0, 2]: gets the hashes.
    """
    top = np.uint64(1)
    for _ in range(n):
        top *= TOKEN_MULTIPLIER
    other = np.uint64(0xD6E8FEB86659FD93)
    count = np.int64(0)
    out_offsets[0] = 0
    for d in range(offsets.shape[0] - 1):
        first, last = offsets[d], offsets[d + 1]
        length = np.uint64(last - first)
        size = min(n, last - first)
        salt = np.uint64(size) * TOKEN_LENGTH
        # Three hashes in one loop: each has to wait for its own last step, none for another.
        h, a, b = np.uint64(0), np.uint64(0), length
        for i in range(first, first + size):
            token = tokens[i]
            h = h * TOKEN_MULTIPLIER + token
            a = a * TOKEN_MULTIPLIER + token
            b = (b ^ token) * other
            b ^= b >> np.uint64(29)
        if size > 0:
            out[count] = mix(h ^ salt)
            count += 1
        for i in range(first + n, last):
            token = tokens[i]
            h = h * TOKEN_MULTIPLIER + (token - tokens[i - n] * top)
            a = a * TOKEN_MULTIPLIER + token
            b = (b ^ token) * other
            b ^= b >> np.uint64(29)
            out[count] = mix(h ^ salt)
            count += 1
        out_offsets[d + 1] = count
        if hashes.shape[0] > 0:
            hashes[d, 0] = mix(a ^ length * TOKEN_LENGTH)
            hashes[d, 1] = mix(b)
    return count


@njit(cache=True, nogil=True)
def shorten(values):
    """Leave 4 bytes of each hash, in place, spread over 8 again, as all other kernels expect.

    Args:
        values: uint64[]: hashes.
    """
    for i in range(values.shape[0]):
        values[i] = mix(values[i] >> np.uint64(32))


@njit(cache=True, nogil=True)
def _sort(values, first, last, scratch, counts):
    """Sort ``values[first:last]``, hashes that fill their range evenly, in linear time.

    One pass by the leading bits puts each value near its position; insertion does the rest.
    """
    size = last - first
    bits = 1
    while bits < 16 and (1 << bits) < size:
        bits += 1
    if size > 24:
        shift = np.uint64(64 - bits)
        slots = 1 << bits
        for s in range(slots + 1):
            counts[s] = 0
        for i in range(first, last):
            counts[np.int64(values[i] >> shift) + 1] += 1
        for s in range(slots):
            counts[s + 1] += counts[s]
        for i in range(first, last):
            s = np.int64(values[i] >> shift)
            scratch[counts[s]] = values[i]
            counts[s] += 1
        for i in range(size):
            values[first + i] = scratch[i]
    for i in range(first + 1, last):
        v = values[i]
        j = i
        while j > first and values[j - 1] > v:
            values[j] = values[j - 1]
            j -= 1
        values[j] = v


@njit(cache=True, nogil=True)
def _occurrences(values, first, last):
    """Give the second and later ones of equal sorted values hashes of their own, in place."""
    earlier = np.uint64(0)
    previous = np.uint64(0)
    for i in range(first, last):
        v = values[i]
        earlier = earlier + np.uint64(1) if i > first and v == previous else np.uint64(0)
        previous = v
        if earlier:
            values[i] = mix(v + earlier * TOKEN_LENGTH)


@njit(cache=True, nogil=True)
def sort_sets(values, offsets, bag, scratch, counts, out_offsets):
    """Turn the shingles of each document into a sorted set, in place; return the number of values.

    The sets follow one another from the start. With ``bag`` the i-th occurrence of a shingle
    becomes a shingle of its own. ``scratch`` has capacity for the longest document, ``counts`` is
    int64[65537], and ``out_offsets`` may be ``offsets`` itself.

    Args:
        values: uint64[]: shingles.
        offsets: int64[documents + 1]: where those of each document begin.
        bag: bool: count repetitions.
        scratch: uint64[longest document]: working memory.
        counts: int64[65537]: working memory.
        out_offsets: int64[documents + 1]: gets where each set begins.
    """
    count = 0
    first = offsets[0]
    out_offsets[0] = 0
    for d in range(offsets.shape[0] - 1):
        last = offsets[d + 1]
        _sort(values, first, last, scratch, counts)
        start = count
        if bag:
            _occurrences(values, first, last)
            _sort(values, first, last, scratch, counts)
        for i in range(first, last):
            if count == start or values[i] != values[count - 1]:
                values[count] = values[i]
                count += 1
        first = last
        out_offsets[d + 1] = count
    return count
