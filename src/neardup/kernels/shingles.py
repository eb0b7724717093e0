"""Tokens to shingles, shingles to sorted sets."""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.bits import load8
from neardup.kernels.hashing import TOKEN_LENGTH, TOKEN_MULTIPLIER, mix

__all__ = [
    "byte_hashes",
    "occurrences",
    "place_sets",
    "sequence_hashes",
    "shingles",
    "sort_sets",
]


@njit(cache=True, nogil=True)
def shingles(tokens, offsets, n, out, out_offsets):
    """Hash every ``n`` consecutive tokens of each document, in order, repetitions included.

    A document of fewer than ``n`` tokens gives one shingle of all its tokens, one of none gives
    none. The hash is a polynomial in the tokens (rolling, so that ``n`` costs nothing), mixed.

    Args:
        tokens: uint64[].
        offsets: int64[documents + 1] into ``tokens``.
        n: Tokens in a shingle.
        out: uint64[len(tokens)], out.
        out_offsets: int64[documents + 1], out.

    Returns:
        Number of shingles.
    """
    top = np.uint64(1)
    for _ in range(n):
        top *= TOKEN_MULTIPLIER
    count = 0
    out_offsets[0] = 0
    for d in range(offsets.shape[0] - 1):
        first, last = offsets[d], offsets[d + 1]
        size = min(n, last - first)
        salt = np.uint64(size) * TOKEN_LENGTH
        h = np.uint64(0)
        for i in range(first, first + size):
            h = h * TOKEN_MULTIPLIER + tokens[i]
        if size > 0:
            out[count] = mix(h ^ salt)
            count += 1
        for i in range(first + n, last):
            h = h * TOKEN_MULTIPLIER + tokens[i] - tokens[i - n] * top
            out[count] = mix(h ^ salt)
            count += 1
        out_offsets[d + 1] = count
    return count


@njit(cache=True, nogil=True)
def sequence_hashes(tokens, offsets, out):
    """Hash the whole token sequence of each document to 128 bits, to find exact duplicates.

    Args:
        tokens: uint64[].
        offsets: int64[documents + 1].
        out: uint64[documents, 2], out.
    """
    other = np.uint64(0xD6E8FEB86659FD93)
    for d in range(offsets.shape[0] - 1):
        first, last = offsets[d], offsets[d + 1]
        length = np.uint64(last - first)
        a = np.uint64(0)
        b = length
        for i in range(first, last):
            a = a * TOKEN_MULTIPLIER + tokens[i]
            b = (b ^ tokens[i]) * other
            b ^= b >> np.uint64(29)
        out[d, 0] = mix(a ^ length * TOKEN_LENGTH)
        out[d, 1] = mix(b)


@njit(cache=True, nogil=True)
def byte_hashes(data, offsets, out):
    """Hash the bytes of each string to 64 bits.

    Args:
        data: uint8[].
        offsets: int64[strings + 1].
        out: uint64[strings], out.
    """
    for d in range(offsets.shape[0] - 1):
        i, last = offsets[d], offsets[d + 1]
        h = np.uint64(last - i) * TOKEN_LENGTH
        while i + 8 <= last:
            h = (h ^ load8(data, i)) * TOKEN_MULTIPLIER
            h ^= h >> np.uint64(32)
            i += 8
        w = np.uint64(0)
        while i < last:
            w = w << np.uint64(8) | np.uint64(data[i])
            i += 1
        out[d] = mix(h ^ w)


@njit(cache=True, nogil=True)
def _sort(values, first, last, scratch, counts):
    """Sort ``values[first:last]``, hashes that fill their range evenly, in linear time.

    One pass by the leading bits puts each value near its place; insertion does the rest.
    """
    size = last - first
    bits = 1
    while bits < 16 and (1 << bits) < size:
        bits += 1
    if size > 1 << 20:  # more than 16 values a slot: let the library's sort do it
        values[first:last].sort()
        return
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
def sort_sets(values, offsets, bag, scratch, counts, out_offsets):
    """Turn the shingles of each document into a sorted set, in place.

    Args:
        values: uint64[], in and out; the sets lie one after another from the start.
        offsets: int64[documents + 1] of the shingles.
        bag: The i-th occurrence of a shingle becomes a shingle of its own; else once is enough.
        scratch: uint64[at least the longest document, up to 2**20].
        counts: int64[65537].
        out_offsets: int64[documents + 1], out; may be ``offsets`` itself.

    Returns:
        Number of values.
    """
    count = 0
    first = offsets[0]
    out_offsets[0] = 0
    for d in range(offsets.shape[0] - 1):
        last = offsets[d + 1]
        _sort(values, first, last, scratch, counts)
        start = count
        if bag:
            occurrences(values, first, last)
            _sort(values, first, last, scratch, counts)
            for i in range(first, last):
                values[count] = values[i]
                count += 1
        else:
            for i in range(first, last):
                if count == start or values[i] != values[count - 1]:
                    values[count] = values[i]
                    count += 1
        first = last
        out_offsets[d + 1] = count
    return count


@njit(cache=True, nogil=True)
def occurrences(values, first, last):
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
def place_sets(values, offsets, docs, out, begin, size):
    """Copy sets to the places that were left for them.

    Args:
        values: uint64[], offsets: int64[m + 1]: the sets.
        docs: int32[m]: whose they are.
        out: uint64[], out.
        begin: int64[documents]: where each set goes.
        size: int32[documents], out: length of each.
    """
    for i in range(docs.shape[0]):
        first, at = offsets[i], begin[docs[i]]
        length = offsets[i + 1] - first
        for k in range(length):
            out[at + k] = values[first + k]
        size[docs[i]] = length
