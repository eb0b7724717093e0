"""Runs of anchors, as hashes of 125 bits."""

import numpy as np

from neardup.kernels.bits import TOKEN_LENGTH, high_product, mix
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.anchoring import LEADER, RUNS
from neardup.kernels.passages.positions import COPY, NONE, TOKEN
from neardup.kernels.passages.run_records import EACH, ONE_HASH

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
    low, high = a * b, high_product(a, b)
    # 2**61 is 1 modulo the prime.
    total = (low & PRIME) + (high << np.uint64(3) | low >> np.uint64(61))
    return total - PRIME if total >= PRIME else total


@kernel
def reduced(token):
    """Return a number modulo 2**61 - 1.

    Args:
        token: uint64: the number.
    """
    token = (token & PRIME) + (token >> np.uint64(61))
    return token - PRIME if token >= PRIME else token


@kernel
def with_token(prefix, token):
    """Return the hash of a prefix with one token more, modulo 2**61 - 1; below 2**61 + 8, not less.

    Args:
        prefix: uint64, the hash of the prefix, below 2**61 + 8.
        token: uint64.
    """
    low, high = prefix * BASE, high_product(prefix, BASE)
    total = (low & PRIME) + (high << np.uint64(3) | low >> np.uint64(61))
    total += (token & PRIME) + (token >> np.uint64(61))
    return (total & PRIME) + (total >> np.uint64(61))


@inner
def _differences(prefixes, begin, end, powers, salt):
    """Return both hashes of the tokens from ``begin`` to ``end``, by hashes of prefixes.

    ``powers`` are those of both bases for so many tokens.
    """
    gone = times(reduced(prefixes[0, begin]), powers[0])
    high = reduced(prefixes[0, end] + PRIME - gone)
    low = prefixes[1, end] - prefixes[1, begin] * powers[1]
    return mix(high ^ salt), mix(low ^ salt)


@kernel
def runs_of_anchors(tokens, offsets, numbers, anchors, words, recent, out):
    """Hash the runs of anchors that are marked; return how many words and records there are.

    An anchor whose runs are those of a recent one gets one record, a *copy*, for all of its runs:
    so little is written of a template that is in all documents. Successive ones that are copies of
    the same are one record.

    Args:
        tokens: uint64[tokens] of all documents.
        offsets: int64[documents + 1] into ``tokens``.
        numbers: int64[documents], in keep order.
        anchors: Keys uint64[anchors], first runs int32[anchors], number of them in each document
            int32[documents], and their marks uint8[anchors], 0 for none; see
            `neardup.kernels.passages.anchoring.equal_contents`.
        words: Tokens of a run.
        recent: uint64[slots, 3], slots a power of 2: both hashes of all tokens of an anchor's runs,
            and the position of the first, `NONE` in the beginning. It is filled.
        out: Words of records uint64[2 * tokens + 4 * anchors], see
            `neardup.kernels.passages.run_records`; the key of the anchor of each record uint64[],
            equal for equal runs. A hash has 64 bits from a polynomial modulo 2**61 - 1, and 64 from
            a polynomial modulo 2**64 with another base.
    """
    keys, since, counts, marked = anchors
    record, key = out
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
    at = count = anchor = np.int64(0)
    copied = np.int64(-1)  # where the last record is, if it is a copy
    for d in range(offsets.shape[0] - 1):
        start = offsets[d]
        document = np.uint64(numbers[d]) << np.uint64(32)
        last = anchor + counts[d]
        done = np.int64(-1)  # tokens up to this one are in the prefixes; those of a gap are not
        base = np.int64(0)
        while anchor < last:
            if not marked[anchor]:
                anchor += 1
                continue
            end = offsets[d + 1] - start - words + 1
            if anchor + 1 < last:
                end = np.int64(since[anchor + 1])
            begin = np.int64(since[anchor])
            if done < begin or end + words - base > size:
                done = base = begin
                prefixes[0, 0] = prefixes[1, 0] = np.uint64(0)
            for i in range(done - base, end + words - 1 - base):
                token = tokens[start + base + i]
                prefixes[0, i + 1] = with_token(prefixes[0, i], token)
                prefixes[1, i + 1] = prefixes[1, i] * _OTHER + token
            done = end + words - 1
            runs = end - begin
            here = document | np.uint64(begin)
            length = np.uint64(runs + words - 1) * TOKEN_LENGTH  # a token may be 0
            power = powers[0, runs - 1], powers[1, runs - 1]
            one, two = _differences(prefixes, begin - base, done - base, power, length)
            slot = np.int64(two & slots)
            known = recent[slot, 0] == one and recent[slot, 1] == two
            if known and recent[slot, 2] != NONE and marked[anchor] != LEADER:
                if copied >= 0 and _continues(record, copied, here, runs, recent[slot, 2]):
                    record[copied + 1] += np.uint64(1) << np.uint64(32)
                    anchor += 1
                    continue
                record[at], record[at + 2] = here | COPY, recent[slot, 2]
                record[at + 1] = np.uint64(1) << np.uint64(32) | np.uint64(runs)
                copied = at
                at += 3
            else:
                copied = np.int64(-1)
                recent[slot, 0], recent[slot, 1], recent[slot, 2] = one, two, here
                record[at], record[at + 1] = here, np.uint64(runs)
                at += 2
                if marked[anchor] != RUNS:
                    record[at - 1] |= ONE_HASH
                    record[at], record[at + 1] = one, two
                    at += 2
                if marked[anchor] == LEADER:
                    record[at - 3] |= EACH
                if marked[anchor] == RUNS or marked[anchor] == LEADER:
                    for i in range(begin - base, end - base):
                        record[at], record[at + 1] = _differences(
                            prefixes, i, i + words, (powers[0, 0], powers[1, 0]), salt
                        )
                        at += 2
            key[count] = keys[anchor]
            count += 1
            anchor += 1
    return at, count


@inner
def _continues(record, at, here, runs, origin):
    """Whether a copy goes on behind those of a record of copies of the same."""
    if record[at + 2] != origin or record[at + 1] & TOKEN != np.uint64(runs):
        return False
    repeats = record[at + 1] >> np.uint64(32)
    return record[at] + repeats * np.uint64(runs) == here | COPY


@kernel
def contents_of_anchors(tokens, offsets, anchors, words, prefixes, out):
    """Hash all tokens of the runs of each anchor.

    Args:
        tokens: uint64[tokens] of all documents.
        offsets: int64[documents + 1] into ``tokens``.
        anchors: First runs int32[anchors], and number of anchors of each document int32[documents].
        words: Tokens of a run.
        prefixes: uint64[tokens + 1], working memory.
        out: uint64[anchors] for the hashes, of 61 bits.
    """
    since, counts = anchors
    powers = np.empty(words + 1, dtype=np.uint64)
    powers[0] = np.uint64(1)
    for _ in range(words):
        powers[0] = times(powers[0], BASE)
    for i in range(words):
        powers[i + 1] = times(powers[i], BASE)
    anchor = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        first, last = anchor, anchor + counts[d]
        text = tokens[offsets[d] : offsets[d + 1]]
        _hash_contents(text, since[first:last], words, powers, prefixes, out[first:last])
        anchor = last


@inner
def _hash_contents(tokens, since, words, powers, prefixes, out):
    """Hash the tokens of the runs of the anchors of a document."""
    if since.shape[0] == 0:
        return
    prefix = prefixes[0] = np.uint64(0)
    for i in range(tokens.shape[0]):
        prefix = with_token(prefix, tokens[i])
        prefixes[i + 1] = prefix
    for anchor in range(since.shape[0]):
        begin, end = np.int64(since[anchor]), np.int64(tokens.shape[0]) - words + 1
        if anchor + 1 < since.shape[0]:
            end = np.int64(since[anchor + 1])
        gone = times(reduced(prefixes[begin]), powers[end - begin - 1])
        found = reduced(prefixes[end + words - 1] + PRIME - gone)
        out[anchor] = mix(found ^ np.uint64(end - begin) * TOKEN_LENGTH)
