"""Tokens to shingles, shingles to sorted sets; and sequences of tokens that are looked for."""

from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import TOKEN_LENGTH, TOKEN_MULTIPLIER, mix
from neardup.kernels.compiling import inner, kernel


@kernel
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


@kernel
def shorten(values):
    """Leave 4 bytes of each hash, the leading ones, in place; the others are made of them.

    All other kernels expect 8 bytes of which each is evenly distributed.

    Args:
        values: uint64[]: hashes.
    """
    for i in range(values.shape[0]):
        leading = values[i] >> np.uint64(32)
        values[i] = leading << np.uint64(32) | mix(leading) >> np.uint64(32)


@inner
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


@inner
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


@kernel
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


class Sequences(NamedTuple):
    """Sequences of tokens that are looked for, in lexicographic order, by their first tokens."""

    keys: np.ndarray  # uint64[2**k]: first tokens, in an open-addressing table
    low: np.ndarray  # int64[2**k]: the first sequence that begins so; -1 for a free slot
    high: np.ndarray  # int64[2**k]: the one after the last
    begin: np.ndarray  # int64[sequences + 1]: where the tokens of each begin
    values: np.ndarray  # uint64[]: their tokens


@inner
def _bound(sequences, low, high, depth, token, above):
    """Return the first of some sequences whose token at a depth is not below, or is above, one."""
    while low < high:
        middle = (low + high) >> 1
        value = sequences.values[sequences.begin[middle] + depth]
        if value < token or (above and value == token):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_sequences(tokens, offsets, sequences, state, where, which):
    """Find every occurrence of some sequences within documents; return how many were written.

    Stops where ``where`` may not have capacity for those of one more token, which is one for each
    sequence at most, and continues there when it is called again.

    Args:
        tokens: uint64[]: hashes of tokens.
        offsets: int64[documents + 1]: where those of each document begin.
        sequences: `Sequences`.
        state: int64[2]: the document and the token to begin with; gets those to continue with.
        where: int64[capacity]: gets the positions of first tokens, ascending.
        which: int64[capacity]: gets the sequences.
    """
    mask = np.uint64(sequences.keys.shape[0] - 1)
    most = sequences.begin.shape[0] - 1
    count = np.int64(0)
    d, i = state[0], state[1]
    while d < offsets.shape[0] - 1:
        i = max(i, offsets[d])
        while i < offsets[d + 1]:
            if count + most > where.shape[0]:
                state[0], state[1] = d, i
                return count
            token = tokens[i]
            at = token & mask
            while sequences.low[at] >= 0 and sequences.keys[at] != token:
                at = (at + np.uint64(1)) & mask
            low, high = sequences.low[at], sequences.high[at]
            depth = np.int64(1)
            while 0 <= low < high:
                while low < high and sequences.begin[low + 1] - sequences.begin[low] == depth:
                    where[count], which[count] = i, low
                    count += 1
                    low += 1
                if low == high or i + depth == offsets[d + 1]:
                    break
                token = tokens[i + depth]
                low = _bound(sequences, low, high, depth, token, False)
                high = _bound(sequences, low, high, depth, token, True)
                depth += 1
            i += 1
        d += 1
    state[0], state[1] = d, i
    return count
