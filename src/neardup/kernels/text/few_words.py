"""Texts of few words: one token where there is none, and a bound of the number of tokens."""

import numpy as np

from neardup.kernels.bits import TOKEN_MULTIPLIER, mix
from neardup.kernels.compiling import kernel
from neardup.kernels.text.canonical import (
    IGNORED,
    KIND,
    OUT,
    SOLO,
    SPACE,
    WORD,
    decode,
    enter,
)
from neardup.kernels.text.tokens import finish, push_code

#: Selectors of the form of an emoji, which are no difference; others that are not seen are one.
_FORMS = (0xFE0E, 0xFE0F)
_WITHOUT_WORDS = np.uint64(0x5851F42D4C957F2D)


@kernel
def at_most(tokens, offsets, most):
    """Make one token of those from the last one on, in place, of documents that have more.

    Such a document is compared for equality only. Returns the number of tokens.

    Args:
        tokens: uint64[n]: tokens.
        offsets: int64[documents + 1]: where those of each document begin; gets where they do then.
        most: int: tokens of a document, at least 1.
    """
    count = first = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        size = offsets[d + 1] - first
        for k in range(first, first + min(size, most)):
            tokens[count + k - first] = tokens[k]
        if size > most:
            rest = np.uint64(size)
            for k in range(first + most - 1, first + size):
                rest = mix(rest * TOKEN_MULTIPLIER ^ tokens[k])
            tokens[count + most - 1] = rest
        first += size
        count += min(size, most)
        offsets[d + 1] = count
    return count


@kernel
def without_tokens(data, offsets, alphabet, sizes):
    """Set the sizes of texts without words to zero: they have no tokens but signs.

    Args:
        data: uint8[]: texts, concatenated.
        offsets: int64[documents + 1]: where each text begins.
        alphabet: `Alphabet`.
        sizes: int64[documents]: number of tokens of each text.
    """
    for d in range(offsets.shape[0] - 1):
        i, last, there = offsets[d], offsets[d + 1], False
        while i < last and not there:
            code, size = decode(data, i)
            what = alphabet.kind[np.int64(alphabet.page[code >> 8]) << 8 | code & 255] & KIND
            there = what in (WORD, SOLO)
            i += size
        if not there:
            sizes[d] = 0


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
                what = np.int64(alphabet.kind[np.int64(alphabet.page[code >> 8]) << 8 | code & 255])
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
