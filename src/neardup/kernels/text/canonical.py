"""Code points in canonical composition (NFC) and lower case; the tables of all characters.

A character is *stable* if it stays in NFC whatever is next to it, but for the order of marks. Only
the others, and rows of marks, are decomposed and composed again.
"""

import functools
from importlib import resources
from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import TOKEN_MULTIPLIER
from neardup.kernels.compiling import inner

SEPARATOR, WORD, MARK, SOLO, SPACE, IGNORED = range(6)
#: Of a kind: the kind itself, and flags: of all but stable separators, letters and white space; of
#: those that are not stable; and of those among these that have a decomposition.
KIND, CAREFUL, UNSTABLE, APART = 7, 8, 16, 32
#: The combining class is in the bits from `CLASS` on; with a flag: characters that are pending.
CLASS, PENDING = 8, UNSTABLE | 0xFF00
SOFT_HYPHEN = 0xAD

# Working memory: marks after a letter, the parts of a character, and code points that are put out.
MOST, _PARTS, _STACK, OUT = 64, 72, 80, 88
#: Its size: pending characters are put out twice at most.
MEMORY = OUT + 2 * (_PARTS + 1)
#: Of a code point, besides its kind; and the hyphen, a sign only before a digit.
SIGN, DIGIT = 1, 2
MINUS = 0x2D
#: A mark has its combining class above the code point.
CODE, ABOVE = (1 << 21) - 1, 32


class Alphabet(NamedTuple):
    """Kinds and lower case of each code point, in two stages: ``page[code >> 8]`` is a row.

    The tables of compositions have 2**k slots, 0 where free. The first one has ``code << 42 | first
    << 21 | second``, one step of a decomposition, without second where there is one code point; the
    other ``first << 42 | second << 21 | code``.
    """

    page: np.ndarray  # uint16[4352]
    kind: np.ndarray  # uint16[pages * 256]: see `KIND`
    delta: np.ndarray  # int32[pages * 256]: added to get the lower case; 0 where case is kept
    decomposed: np.ndarray  # int64[4096]
    composed: np.ndarray  # int64[2048]
    sign: np.ndarray  # uint8[pages * 256]: `SIGN`, `DIGIT` or 0; empty where signs are no tokens


@functools.cache
def alphabet(keep_case: bool, signs: bool = False) -> Alphabet:
    """Return the tables, read from ``unicode.npz``; in those of signs each sign is `SOLO`."""
    with (
        resources.files("neardup.kernels.text").joinpath("unicode.npz").open("rb") as file,
        np.load(file) as tables,
    ):
        found = Alphabet(*(tables[name].reshape(-1) for name in Alphabet._fields))
    if signs:
        found.sign[(int(found.page[0]) << 8) + MINUS] = SIGN
        found.kind[found.sign == SIGN] |= SOLO  # separators until then
    else:
        found = found._replace(sign=found.sign[:0])
    return found._replace(delta=np.zeros_like(found.delta)) if keep_case else found


@inner
def decode(data, i):
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


@inner
def _value(table, key, bits):
    """Return the value of a key, of so many bits; 0 if it is not there."""
    key = np.int64(key)
    last = np.uint64(table.shape[0] - 1)
    at = np.uint64(key) * TOKEN_MULTIPLIER >> np.uint64(40) & last
    while table[at] != 0 and table[at] >> bits != key:
        at = (at + np.uint64(1)) & last
    return table[at] & ((np.int64(1) << bits) - 1)


@inner
def composition(first, second, composed):
    """Return the code point that two of them are composed to; 0 for none."""
    if 0x1100 <= first <= 0x1112 and 0x1161 <= second <= 0x1175:
        return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
    if 0xAC00 <= first <= 0xD7A3 and 0x11A8 <= second <= 0x11C2:
        return first + second - 0x11A7 if (first - 0xAC00) % 28 == 0 else np.int64(0)
    return _value(composed, first << 21 | second, 21)


@inner
def _part(code, alphabet):
    """Return the lower case of a code point, with its combining class above it."""
    at = np.int64(alphabet.page[code >> 8]) << 8 | code & 255
    above = np.int64(alphabet.kind[at] >> CLASS) << ABOVE
    return above | code + np.int64(alphabet.delta[at])


@inner
def _decompose(code, alphabet, marks):
    """Put the parts of a character's decomposition from `_PARTS` on; return how many."""
    others = np.int64(0)
    step = _value(alphabet.decomposed, code, 42)
    while step != 0:
        if step & CODE:
            marks[_STACK + others] = step & CODE
            others += 1
        code = step >> 21
        step = _value(alphabet.decomposed, code, 42)
    marks[_PARTS] = _part(code, alphabet)
    for k in range(others):
        marks[_PARTS + 1 + k] = _part(marks[_STACK + others - 1 - k], alphabet)
    return others + 1


@inner
def settle(starter, size, alphabet, marks):
    """Put the marks after a letter in order, and compose; return both."""
    # A letter is composed already: the marks in it take part.
    step = _value(alphabet.decomposed, starter, 42) if starter >= 0xC0 else np.int64(0)
    while step & CODE and _part(step & CODE, alphabet) >> ABOVE:
        for k in range(size, 0, -1):
            marks[k] = marks[k - 1]
        marks[0] = _part(step & CODE, alphabet)
        size += 1
        starter = step >> 21
        step = _value(alphabet.decomposed, starter, 42)
    for k in range(1, size):
        mark, at = marks[k], k
        while at > 0 and marks[at - 1] >> ABOVE > mark >> ABOVE:
            marks[at] = marks[at - 1]
            at -= 1
        marks[at] = mark
    kept = last = np.int64(0)
    for k in range(size):
        mark = marks[k]
        both = np.int64(0)
        if starter >= 0 and mark >> ABOVE > last:
            both = composition(starter, mark & CODE, alphabet.composed)
        if both:
            starter = both
        else:
            marks[kept] = mark
            kept += 1
            last = mark >> ABOVE
    return starter, kept


@inner
def _put_out(pending, alphabet, marks, out):
    """Put out the pending characters, after so many code points; return how many there are then.

    ``pending`` is a letter, -1 for none, the number of marks after it, and 1 if these are not in
    order or may be composed, else 0. Code points are in ``marks`` from `OUT` on.
    """
    starter, size, loose = pending
    if loose:
        starter, size = settle(starter, size, alphabet, marks)
    if starter >= 0:
        marks[OUT + out] = starter
        out += 1
    for k in range(size):
        marks[OUT + out + k] = marks[k] & CODE
    return out + size


@inner
def enter(code, kind, pending, alphabet, marks):
    """Take one more character, of any kind; return (pending then, code points put out)."""
    starter, size, loose = pending
    stable = kind & UNSTABLE == 0
    out = np.int64(0)
    parts = np.int64(1)
    if kind & APART:
        parts = _decompose(code, alphabet, marks)
    else:
        marks[_PARTS] = _part(code, alphabet)
    for k in range(parts):
        part = marks[_PARTS + k]
        if part >> ABOVE:
            if size == MOST:
                out = _put_out((starter, size, loose), alphabet, marks, out)
                starter, size, loose = np.int64(-1), np.int64(0), np.int64(0)
            if not stable or (size > 0 and marks[size - 1] >> ABOVE > part >> ABOVE):
                loose = np.int64(1)
            marks[size] = part
            size += 1
            continue
        if loose:
            starter, size = settle(starter, size, alphabet, marks)
            loose = np.int64(0)
        both = np.int64(0)
        if not stable and size == 0 and starter >= 0:
            both = composition(starter, part, alphabet.composed)
        if both:
            starter = both
        else:
            out = _put_out((starter, size, loose), alphabet, marks, out)
            starter, size = part, np.int64(0)
    return (starter, size, loose), out


@inner
def behind_line_end(data, at, last):
    """Return the byte behind one line end, with the spaces and tabs around it; -1 without one."""
    while at < last and (data[at] == 32 or data[at] == 9):
        at += 1
    if at == last or (data[at] != 10 and data[at] != 13):
        return np.int64(-1)
    at += 2 if data[at] == 13 and at + 1 < last and data[at + 1] == 10 else 1
    while at < last and (data[at] == 32 or data[at] == 9):
        at += 1
    return at


@inner
def kind_at(data, at, alphabet):
    """Return the kind of the character at a byte, without flags."""
    code, _ = decode(data, at)
    return np.int64(alphabet.kind[np.int64(alphabet.page[code >> 8]) << 8 | code & 255]) & KIND
