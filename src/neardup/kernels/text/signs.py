"""Signs of ASCII between the words of a text: where they are. Others are words by their kind."""

import numpy as np

from neardup.kernels.bits import trailing_zeros, within
from neardup.kernels.compiling import inner
from neardup.kernels.text.canonical import (
    DIGIT,
    IGNORED,
    KIND,
    MARK,
    MINUS,
    SIGN,
    SOLO,
    WORD,
    decode,
)


def _bytes(first, count):
    """Return bytes, the first and how many, as `within` takes them."""
    return np.uint8(first), np.uint8(count)


_HYPHEN, _DIGITS, _HIGH = _bytes(MINUS, 1), _bytes(ord("0"), 10), _bytes(128, 128)
#: Signs of ASCII, ``#$%&+-<=>@``.
_ASCII = _bytes(ord("#"), 4), _bytes(ord("+"), 1), _HYPHEN, _bytes(ord("<"), 3), _bytes(ord("@"), 1)


@inner
def _at(code, page):
    return np.int64(page[code >> 8]) << 8 | code & 255


@inner
def _is_minus(data, i, bounds, alphabet):
    """Return whether a hyphen is before a digit, and not behind a letter or digit."""
    first, last = bounds
    page, kind, _, _, _, sign = alphabet
    if i + 1 == last:
        return False
    code, _ = decode(data, i + 1)
    if sign[_at(code, page)] != DIGIT:
        return False
    what = np.int64(IGNORED)
    while what in (IGNORED, MARK) and i > first:
        i -= 1
        while data[i] & 0xC0 == 0x80:
            i -= 1
        code, _ = decode(data, i)
        what = np.int64(kind[_at(code, page)]) & KIND
    return sign[_at(code, page)] == SIGN or what not in (WORD, SOLO)


@inner
def ascii_signs(data, at):
    """Return two bits for each of 64 bytes: whether it is a sign of ASCII, and whether to look.

    The latter is true of signs that may be none, hyphens, and of those that may be before a byte
    above 127.
    """
    found, one = np.uint64(0), np.uint64(1)
    for first, count in _ASCII:
        found |= within(data, at, first, count)
    hyphens, digits = within(data, at, *_HYPHEN), within(data, at, *_DIGITS)
    beyond = one << np.uint64(63)  # the last one, whose next byte is not seen
    before_high = within(data, at, *_HIGH) >> one | beyond
    found &= ~hyphens | digits >> one | before_high
    return found, found & (hyphens | before_high)


@inner
def true_signs(data, at, bounds, alphabet, found, doubtful):
    """Divide the signs of 64 bytes into those by themselves, and those of the run behind them.

    A mark may follow where that begins with a byte above 127.
    """
    one, in_run = np.uint64(1), np.uint64(0)
    while doubtful != 0:
        bit = doubtful & (~doubtful + one)
        doubtful ^= bit
        i = at + np.int64(trailing_zeros(bit))
        if data[i] == MINUS and not _is_minus(data, i, bounds, alphabet):
            found ^= bit
        elif i + 1 < bounds[1] and data[i + 1] > 127:
            found ^= bit
            in_run |= bit
    return found, in_run
