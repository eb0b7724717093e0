"""Signs as tokens between the words of a text, and texts without words as one token."""

import functools
from importlib import resources

import numpy as np

from neardup.kernels.bits import LANES, TOKEN_MULTIPLIER, mix, sign_bytes, trailing_zeros
from neardup.kernels.compiling import inner, kernel, part
from neardup.kernels.text.canonical import (
    APART,
    IGNORED,
    KIND,
    MARK,
    OUT,
    SEPARATOR,
    SPACE,
    _value,
    composition,
    decode,
    enter,
)
from neardup.kernels.text.tokens import finish, push_code

#: Of a code point, besides its kind.
NONE, SIGN, DIGIT = range(3)
_MINUS = 0x2D
_OTHERS = (0x2B, _MINUS, 0x40)
#: Selectors of the form of an emoji, which are no difference; others that are not seen are one.
_FORMS = (0xFE0E, 0xFE0F)
_WITHOUT_WORDS = np.uint64(0x5851F42D4C957F2D)


@functools.cache
def sign_table() -> np.ndarray:
    """Return `NONE`, `SIGN` or `DIGIT` for each code point, uint8[pages * 256], see `Alphabet`."""
    with (
        resources.files("neardup.kernels.text").joinpath("unicode.npz").open("rb") as file,
        np.load(file) as tables,
    ):
        found: np.ndarray = tables["sign"]
    return found.reshape(-1)


@inner
def _at(code, page):
    return np.int64(page[code >> 8]) << 8 | code & 255


@inner
def _is_minus(data, i, first, last, page, kind, sign):
    """Return whether a hyphen is before a digit, and not behind a letter or digit."""
    if i + 1 == last:
        return False
    code, _ = decode(data, i + 1)
    if sign[_at(code, page)] != DIGIT:
        return False
    what = np.int64(IGNORED)
    while what == IGNORED and i > first:
        i -= 1
        while data[i] & 0xC0 == 0x80:
            i -= 1
        code, _ = decode(data, i)
        what = np.int64(kind[_at(code, page)]) & KIND
    return what in (SEPARATOR, SPACE, IGNORED)


@part
def _marked(data, i, last, code, page, kind, decomposed, composed):
    """Return the first character of the canonical form of a sign and the marks from a byte on."""
    if kind[_at(code, page)] & APART:
        code = _value(decomposed, code, 42) >> 21
    while i < last:
        mark, size = decode(data, i)
        if np.int64(kind[_at(mark, page)]) & KIND != MARK:
            break
        both = composition(code, mark, composed)
        code = both if both else code
        i += size
    return code


@inner
def _candidates(data, at, last):
    """Return a bit for each of 64 bytes at which a sign may begin, see `sign_bytes`."""
    one, found = np.uint64(1), np.uint64(0)
    if at + LANES + 2 <= data.shape[0]:
        found = sign_bytes(data, at)
        if last - at < LANES:
            found &= (one << np.uint64(last - at)) - one
        return found
    for k in range(last - at):  # no byte behind the texts is read
        byte = data[at + k]
        if byte > 0xC1 or 0x23 <= byte <= 0x26 or 0x3C <= byte <= 0x3E or byte in _OTHERS:
            found |= one << np.uint64(k)
    return found


@kernel
def with_signs(data, offsets, alphabet, sign, tokens, token_offsets, spans, most, out, out_offsets):
    """Put a token for each sign between the words of each document; return the number of tokens.

    A sign has the token of a word of this one character, in canonical form. ``-`` is one before a
    digit, and not behind a letter or digit. Where a document has more than ``most`` tokens, those
    from the last one on become one: such a document is compared for equality only.

    Args:
        data: uint8[]: texts, concatenated.
        offsets: int64[documents + 1]: where each text begins.
        alphabet: `Alphabet`.
        sign: uint8[pages * 256]: see `sign_table`.
        tokens: uint64[n]: of the words.
        token_offsets: int64[documents + 1]: where those of each document begin.
        spans: `Spans` of the words, with bytes.
        most: int: tokens of a document; 0 for any number.
        out: uint64[bytes + 1]: gets the tokens.
        out_offsets: int64[documents + 1]: gets where those of each document begin.
    """
    page, kind, _, decomposed, composed = alphabet
    limits, base = spans.bytes, spans.first
    zero, one, none = np.uint64(0), np.uint64(1), np.int64(0)
    count = none
    out_offsets[0] = 0
    for d in range(offsets.shape[0] - 1):
        first, last, begin = offsets[d], offsets[d + 1], count
        word, words = token_offsets[d], token_offsets[d + 1]
        for at in range(first, last, LANES):
            found = _candidates(data, at, last)
            while found != 0:
                i = at + np.int64(trailing_zeros(found))
                found &= found - one
                code, size = decode(data, i)
                if code == _MINUS:
                    if not _is_minus(data, i, first, last, page, kind, sign):
                        continue
                elif code > 127 and sign[_at(code, page)] != SIGN:
                    continue
                while word < words and np.int64(limits[2 * word]) + base < i:
                    out[count] = tokens[word]
                    word += 1
                    count += 1
                if code > 127 or (i + 1 < last and data[i + 1] > 127):
                    code = _marked(data, i + size, last, code, page, kind, decomposed, composed)
                state, w, length = push_code(zero, zero, none, code)
                out[count] = finish(state, w, length)
                count += 1
        for k in range(word, words):
            out[count] = tokens[k]
            count += 1
        if most and count - begin > most:
            rest = np.uint64(count - begin)
            for k in range(begin + most - 1, count):
                rest = mix(rest * TOKEN_MULTIPLIER ^ out[k])
            count = begin + most
            out[count - 1] = rest
        out_offsets[d + 1] = count
    return count


@kernel
def without_words(data, offsets, alphabet, marks, tokens):
    """Give each text as one token: all its characters in canonical form, but white space.

    It is no token of a word. Selectors of the form of an emoji are left out; other characters that
    are not compared in words are compared here. A text of nothing else has the token 0.

    Args:
        data: uint8[]: texts, concatenated.
        offsets: int64[documents + 1]: where each text begins.
        alphabet: `Alphabet`.
        marks: int64[MEMORY]: working memory.
        tokens: uint64[documents]: gets the tokens.
    """
    zero, none = np.uint64(0), np.int64(0)
    for d in range(offsets.shape[0] - 1):
        state, w, length = zero, zero, none
        pending = np.int64(-1), none, none
        there = False
        i, last = offsets[d], offsets[d + 1]
        while i <= last:
            code, size, what = np.int64(32), 1, np.int64(SPACE)  # the end is like white space
            if i < last:
                code, size = decode(data, i)
                what = np.int64(alphabet.kind[_at(code, alphabet.page)])
            i += size
            if code in _FORMS:
                continue
            pending, out = enter(code, what, pending, alphabet, marks)
            for k in range(OUT, OUT + out):
                state, w, length = push_code(state, w, length, marks[k])
            if what & KIND == SPACE:
                pending = np.int64(-1), none, none
            elif what & KIND != IGNORED:
                there = True
        tokens[d] = mix(finish(state, w, length) ^ _WITHOUT_WORDS) if there else zero


@kernel
def replace_rows(values, offsets, rows, other, other_offsets, out, out_offsets):
    """Copy rows of values, some of them replaced by others.

    Args:
        values: uint64[]: rows, concatenated.
        offsets: int64[n + 1]: where each begins.
        rows: int64[m]: those that are replaced, ascending.
        other: uint64[]: what replaces them, concatenated.
        other_offsets: int64[m + 1]: where each of these begins.
        out: uint64[]: gets all rows.
        out_offsets: int64[n + 1]: gets where each begins.
    """
    count, row = np.int64(0), np.int64(0)
    out_offsets[0] = 0
    for m in range(rows.shape[0] + 1):
        stop = rows[m] if m < rows.shape[0] else offsets.shape[0] - 1
        shift = count - offsets[row]
        for k in range(offsets[row], offsets[stop]):
            out[k + shift] = values[k]
        for k in range(row, stop):
            out_offsets[k + 1] = offsets[k + 1] + shift
        count += offsets[stop] - offsets[row]
        if m < rows.shape[0]:
            for k in range(other_offsets[m], other_offsets[m + 1]):
                out[count] = other[k]
                count += 1
            out_offsets[stop + 1] = count
        row = stop + 1
