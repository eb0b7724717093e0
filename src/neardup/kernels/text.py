"""Text to tokens: UTF-8 bytes in, one 64-bit hash for each word or character out."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from neardup.kernels.bits import load8, trailing_zeros
from neardup.kernels.hashing import TOKEN_LENGTH, TOKEN_MULTIPLIER, mix

__all__ = ["Alphabet", "alphabet", "characters", "words"]

SEPARATOR, WORD, MARK, SOLO, SPACE = range(5)


class Alphabet(NamedTuple):
    """What the tokeniser knows of each code point, in two stages: ``page[code >> 8]`` names a row.

    Attributes:
        page: uint16[4352].
        kind: uint8[pages * 256]: separator, word, mark, solo (a token by itself) or white space.
        delta: int32[pages * 256]: what is added to a code point to get its lower case; all zero
            where case is kept.
        ascii: uint8[256]: for a byte below 128 its lower case if it may be in a word, else 0;
            255 for the rest.
    """

    page: np.ndarray
    kind: np.ndarray
    delta: np.ndarray
    ascii: np.ndarray


@functools.cache
def alphabet(keep_case: bool) -> Alphabet:
    """Return the tables, read from ``unicode.npz``."""
    with (
        resources.files("neardup.kernels").joinpath("unicode.npz").open("rb") as file,
        np.load(file) as tables,
    ):
        page, kind, delta = (tables[name] for name in ("page", "kind", "delta"))
    kind, delta = kind.reshape(-1), delta.reshape(-1)
    if keep_case:
        delta = np.zeros_like(delta)
    ascii = np.full(256, 255, dtype=np.uint8)
    first = int(page[0]) << 8
    codes = np.arange(128) + delta[first : first + 128]
    ascii[:128] = np.where(kind[first : first + 128] == WORD, codes, 0)
    return Alphabet(page, kind, delta, ascii)


@functools.cache
def unicode_version() -> str:
    """Return the version of Unicode that the tables were made from."""
    with (
        resources.files("neardup.kernels").joinpath("unicode.npz").open("rb") as file,
        np.load(file) as tables,
    ):
        return str(tables["version"])


@njit(cache=True, nogil=True)
def _decode(data, i):
    """Return (code point, bytes) of the valid UTF-8 sequence at ``i``."""
    b = np.int64(data[i])
    if b < 0x80:
        return b, 1
    if b < 0xE0:
        return (b & 0x1F) << 6 | np.int64(data[i + 1]) & 0x3F, 2
    if b < 0xF0:
        return (b & 0x0F) << 12 | (np.int64(data[i + 1]) & 0x3F) << 6 | np.int64(
            data[i + 2]
        ) & 0x3F, 3
    return (b & 0x07) << 18 | (np.int64(data[i + 1]) & 0x3F) << 12 | (
        np.int64(data[i + 2]) & 0x3F
    ) << 6 | np.int64(data[i + 3]) & 0x3F, 4


@njit(cache=True, nogil=True)
def _absorb(state, w):
    """Take eight bytes at once into the state of a token's hash."""
    state = (state ^ w) * TOKEN_MULTIPLIER
    return state ^ state >> np.uint64(32)


@njit(cache=True, nogil=True)
def _push(state, w, length, byte):
    """Take one more byte into the running hash (state, pending bytes, number of bytes)."""
    w |= np.uint64(byte) << np.uint64((length & 7) << 3)
    length += 1
    if length & 7 == 0:
        state = _absorb(state, w)
        w = np.uint64(0)
    return state, w, length


@njit(cache=True, nogil=True)
def _push_code(state, w, length, code):
    """Take the UTF-8 bytes of a code point into the running hash."""
    if code < 0x80:
        return _push(state, w, length, code)
    if code < 0x800:
        state, w, length = _push(state, w, length, 0xC0 | code >> 6)
    else:
        if code < 0x10000:
            state, w, length = _push(state, w, length, 0xE0 | code >> 12)
        else:
            state, w, length = _push(state, w, length, 0xF0 | code >> 18)
            state, w, length = _push(state, w, length, 0x80 | code >> 12 & 0x3F)
        state, w, length = _push(state, w, length, 0x80 | code >> 6 & 0x3F)
    return _push(state, w, length, 0x80 | code & 0x3F)


@njit(cache=True, nogil=True)
def _finish(state, w, length):
    return mix(state ^ w ^ np.uint64(length) * TOKEN_LENGTH)


@njit(cache=True, nogil=True)
def _mixed_run(data, first, last, page, kind, delta, tokens, spans, want_spans, count):
    """Hash the tokens of a run of bytes that holds some above 127, one code point at a time."""
    zero = np.uint64(0)
    state, w, length = zero, zero, 0
    solo = False  # the token at hand is a character of a script without spaces
    start = first
    i = first
    while i <= last:
        code, size, what, low = 0, 1, SEPARATOR, 0  # the end is a separator too
        if i < last:
            code, size = _decode(data, i)
            at = np.int64(page[code >> 8]) << 8 | code & 255
            what = np.int64(kind[at])
            low = code + np.int64(delta[at])
        gap = what in (SEPARATOR, SPACE)
        if length and (gap or what == SOLO or (solo and what == WORD)):
            tokens[count] = _finish(state, w, length)
            if want_spans:
                spans[count, 0], spans[count, 1] = start, i
            count += 1
            state, w, length, solo = zero, zero, 0, False
        if not gap:
            if length == 0:
                start = i
                solo = what == SOLO
            state, w, length = _push_code(state, w, length, low)
            if code == 0x130 and low != code:  # the one letter that lowers to two
                state, w, length = _push_code(state, w, length, 0x307)
        i += size
    return count


@njit(cache=True, nogil=True)
def words(data, offsets, page, kind, delta, ascii, scratch, tokens, token_offsets, spans):
    """Hash the words of each document.

    Args:
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into ``data``.
        page, kind, delta, ascii: See `Alphabet`.
        scratch: uint8[at least the longest document + 16].
        tokens: uint64[], out; room for one token a byte of ``data`` is always enough.
        token_offsets: int64[documents + 1], out.
        spans: int64[tokens, 2], out: first and last byte (exclusive) of each token; skipped if it
            has no rows.

    Returns:
        Number of tokens.
    """
    count = np.int64(0)
    want_spans = spans.shape[0] > 0
    token_offsets[0] = 0
    ones = np.uint64(0x0101010101010101)
    highs = np.uint64(0x8080808080808080)
    for d in range(offsets.shape[0] - 1):
        base = offsets[d]
        size = offsets[d + 1] - base
        # Each byte becomes its lower case, 0 if it separates, 255 if it is not ASCII; then eight
        # of them are looked at at once.
        for i in range(size):
            scratch[i] = ascii[data[base + i]]
        for i in range(size, size + 16):
            scratch[i] = 0
        i = 0
        while i < size:
            if scratch[i] == 0:
                i += 1
                continue
            start = i
            state = np.uint64(0)
            while True:
                w = load8(scratch, i)
                zeros = (w - ones) & ~w & highs  # exact up to the first zero byte
                if zeros:
                    bits = trailing_zeros(zeros) - np.uint64(7)
                    w &= (np.uint64(1) << bits) - np.uint64(1)
                    i += np.int64(bits >> np.uint64(3))
                if w & highs:
                    i = -1
                    break
                if zeros:
                    tokens[count] = _finish(state, w, i - start)
                    break
                state = _absorb(state, w)
                i += 8
            if i >= 0:
                if want_spans:
                    spans[count, 0], spans[count, 1] = base + start, base + i
                count += 1
            else:
                i = start
                while scratch[i] != 0:
                    i += 1
                count = _mixed_run(
                    data,
                    base + start,
                    base + i,
                    page,
                    kind,
                    delta,
                    tokens,
                    spans,
                    want_spans,
                    count,
                )
        token_offsets[d + 1] = count
    return count


@njit(cache=True, nogil=True)
def characters(data, offsets, page, kind, delta, raw, tokens, token_offsets):
    """Give the code points of each document as tokens, in lower case and with single blanks.

    Args:
        data, offsets, page, kind, delta: As for `words`.
        raw: Keep white space as it is; else runs become one blank, and those at the ends go.
        tokens: uint64[], out; two a byte of ``data`` are always enough.
        token_offsets: int64[documents + 1], out.

    Returns:
        Number of tokens.
    """
    count = 0
    token_offsets[0] = 0
    for d in range(offsets.shape[0] - 1):
        first = count
        i = offsets[d]
        end = offsets[d + 1]
        blank = False
        while i < end:
            code, size = _decode(data, i)
            i += size
            at = np.int64(page[code >> 8]) << 8 | code & 255
            if not raw and kind[at] == SPACE:
                blank = count > first
                continue
            if blank:
                tokens[count] = np.uint64(32)
                count += 1
                blank = False
            low = code + np.int64(delta[at])
            tokens[count] = np.uint64(low)
            count += 1
            if code == 0x130 and low != code:
                tokens[count] = np.uint64(0x307)
                count += 1
        token_offsets[d + 1] = count
    return count


def tables(keep_case: bool) -> tuple[Any, Any, Any, Any]:
    """Return the alphabet's arrays in the order in which the kernels take them."""
    return tuple(alphabet(keep_case))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def hash_tokens(data, offsets, out):
    """Hash whole strings as `words` hashes a token, for tokens that were changed (stemmed).

    Args:
        data, offsets: As for `words`.
        out: uint64[strings], out.
    """
    for d in range(offsets.shape[0] - 1):
        state, w, length = np.uint64(0), np.uint64(0), 0
        for i in range(offsets[d], offsets[d + 1]):
            state, w, length = _push(state, w, length, data[i])
        out[d] = _finish(state, w, length)


@njit(cache=True, nogil=True)
def replace_known(tokens, keys, values, out, missing):
    """Replace each token by what a table of replacements holds for it.

    Args:
        tokens: uint64[].
        keys, values: uint64[power of two]: open-addressing table; 0 is a free slot.
        out: uint64[len(tokens)], out; may be ``tokens``.
        missing: int64[len(tokens)], out: positions of tokens that the table lacks; these stay.

    Returns:
        Number of positions in ``missing``.
    """
    mask = np.uint64(keys.shape[0] - 1)
    count = 0
    for i in range(tokens.shape[0]):
        token = tokens[i]
        at = token & mask
        while keys[at] != 0 and keys[at] != token:
            at = (at + np.uint64(1)) & mask
        if keys[at] == token:
            out[i] = values[at]
        else:
            out[i] = token
            missing[count] = i
            count += 1
    return count


@njit(cache=True, nogil=True)
def add_replacements(tokens, replacements, keys, values):
    """Add tokens and their replacements to a table that has room for them."""
    mask = np.uint64(keys.shape[0] - 1)
    for i in range(tokens.shape[0]):
        at = tokens[i] & mask
        while keys[at] != 0 and keys[at] != tokens[i]:
            at = (at + np.uint64(1)) & mask
        keys[at], values[at] = tokens[i], replacements[i]
