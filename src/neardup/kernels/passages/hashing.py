"""Runs of anchors, as hashes of 125 bits."""

import numpy as np

from neardup.kernels.bits import TOKEN_LENGTH, mix
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import COPY, NONE, TOKEN

_OTHER = np.uint64(0xD6E8FEB86659FD93)
PRIME = np.uint64((1 << 61) - 1)
BASE = np.uint64(0x0A3B1C9D7E5F2468)


@kernel
def times(a, b):
    """Return the product of two numbers below 2**61 - 1, modulo that prime.

    Args:
        a: uint64: the one.
        b: uint64: the other.
    """
    thirty_two, twenty_nine = np.uint64(32), np.uint64(29)
    a_high, a_low = a >> thirty_two, a & TOKEN
    b_high, b_low = b >> thirty_two, b & TOKEN
    middle = a_high * b_low + a_low * b_high  # below 2**62
    low = a_low * b_low
    # 2**64 is 8 and 2**61 is 1 modulo the prime.
    total = (a_high * b_high) * np.uint64(8)
    total = (total & PRIME) + (total >> np.uint64(61))
    total += (middle >> twenty_nine) + ((middle << thirty_two) & PRIME)
    total += (low & PRIME) + (low >> np.uint64(61))
    total = (total & PRIME) + (total >> np.uint64(61))
    return total - PRIME if total >= PRIME else total


@kernel
def reduced(token):
    """Return a number modulo 2**61 - 1.

    Args:
        token: uint64: the number.
    """
    token = (token & PRIME) + (token >> np.uint64(61))
    return token - PRIME if token >= PRIME else token


@inner
def _differences(prefixes, begin, end, powers, salt):
    """Return both hashes of the tokens from ``begin`` to ``end``, by hashes of prefixes."""
    gone = times(prefixes[0][begin], powers[0])
    high = reduced(prefixes[0][end] + PRIME - gone)
    low = prefixes[1][end] - prefixes[1][begin] * powers[1]
    return mix(high ^ salt), mix(low ^ salt)


@kernel
def runs_of_anchors(tokens, offsets, numbers, anchors, words, recent, out):
    """Hash the runs of anchors that are marked; return how many rows there are.

    An anchor whose runs are those of a recent one gets one row, a *copy*, for all of its runs: so
    little is written of a template that is in all documents.

    Args:
        tokens: uint64[tokens] of all documents.
        offsets: int64[documents + 1] into ``tokens``.
        numbers: int64[documents], in keep order.
        anchors: Keys uint64[anchors], first runs int32[anchors], number of them in each document
            int32[documents], and bool[anchors], which are marked.
        words: Tokens of a run.
        recent: uint64[slots, 3], slots a power of 2: both hashes of all tokens of an anchor's runs,
            and the position of the first, `NONE` in the beginning. It is filled.
        out: Four arrays, uint64[runs]: the first 64 bits of the hash, from a polynomial modulo
            2**61 - 1; the other 64, from a polynomial modulo 2**64 with another base; the position
            of the run; and the key of its anchor, equal for equal runs. For a copy:
            position of the first run of the other anchor, number of runs, own position plus
            `COPY`, key.
    """
    keys, since, counts, marked = anchors
    high, low, position, key = out
    # Hashes of prefixes, from the token `base` on; an anchor needs those of 2 * words tokens.
    size = 4 * words + 4096
    prefixes = np.empty((2, size), dtype=np.uint64)
    # For words tokens and more: an anchor has as many runs as a run has grams, at most.
    powers = np.empty((2, words + 1), dtype=np.uint64)
    powers[0, 0] = powers[1, 0] = np.uint64(1)
    for _ in range(words):
        powers[0, 0] = times(powers[0, 0], BASE)
        powers[1, 0] *= _OTHER
    for i in range(words):
        powers[0, i + 1] = times(powers[0, i], BASE)
        powers[1, i + 1] = powers[1, i] * _OTHER
    salt = np.uint64(words) * TOKEN_LENGTH
    slots = np.uint64(recent.shape[0] - 1)
    count = np.int64(0)
    anchor = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        start = offsets[d]
        document = np.uint64(numbers[d]) << np.uint64(32)
        last = anchor + counts[d]
        done = np.int64(-1)  # tokens up to this one are in the prefixes; those of a gap are not
        base = np.int64(0)
        while anchor < last:
            end = offsets[d + 1] - start - words + 1
            if anchor + 1 < last:
                end = np.int64(since[anchor + 1])
            begin = np.int64(since[anchor])
            if marked[anchor]:
                if done < begin or end + words - base > size:
                    done = base = begin
                    prefixes[0, 0] = prefixes[1, 0] = np.uint64(0)
                for i in range(done - base, end + words - 1 - base):
                    token = tokens[start + base + i]
                    prefixes[0, i + 1] = reduced(times(prefixes[0, i], BASE) + reduced(token))
                    prefixes[1, i + 1] = prefixes[1, i] * _OTHER + token
                done = end + words - 1
                runs = end - begin
                here = document | np.uint64(begin)
                length = np.uint64(runs + words - 1) * TOKEN_LENGTH  # a token may be 0
                one, two = _differences(
                    prefixes, begin - base, done - base, powers[:, runs - 1], length
                )
                slot = np.int64(two & slots)
                key[count] = keys[anchor]
                if recent[slot, 0] == one and recent[slot, 1] == two and recent[slot, 2] != NONE:
                    high[count], low[count] = recent[slot, 2], np.uint64(runs)
                    position[count] = here | COPY
                    count += 1
                else:
                    recent[slot, 0], recent[slot, 1], recent[slot, 2] = one, two, here
                    for i in range(begin, end):
                        high[count], low[count] = _differences(
                            prefixes, i - base, i - base + words, powers[:, 0], salt
                        )
                        position[count], key[count] = document | np.uint64(i), keys[anchor]
                        count += 1
            anchor += 1
    return count
