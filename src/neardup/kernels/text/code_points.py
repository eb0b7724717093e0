"""Text to characters: UTF-8 bytes in, one code point for each character out."""

import numpy as np

from neardup.kernels.compiling import inner, kernel
from neardup.kernels.text.canonical import (
    CAREFUL,
    CODE,
    IGNORED,
    KIND,
    OUT,
    PENDING,
    SOFT_HYPHEN,
    SPACE,
    WORD,
    behind_line_end,
    decode,
    enter,
    kind_at,
    settle,
)

#: Forms of `characters`.
AS_WRITTEN, CANONICAL, SINGLE_SPACES = range(3)


@inner
def _careful_characters(data, i, last, alphabet, form, marks, tokens, count):
    """Do the same as `characters` for one text, from byte to byte; return the number of tokens."""
    page, kind, delta, _, _, _ = alphabet
    none = np.int64(0)
    starter, size, loose = np.int64(-1), none, none  # those pending, see `enter`
    first, space = count, False
    while i <= last:
        code, width, what, low = 0, 1, SPACE, 0  # the end is like white space
        if i < last:
            code, width = decode(data, i)
            at = np.int64(page[code >> 8]) << 8 | code & 255
            what = np.int64(kind[at])
            low = code + np.int64(delta[at])
        i += width
        group = what & KIND
        if group == IGNORED:
            if code == SOFT_HYPHEN:
                behind = behind_line_end(data, i, last)
                if 0 <= behind < last and kind_at(data, behind, alphabet) == WORD:
                    i = behind
            continue
        gap = i > last or (form == SINGLE_SPACES and group == SPACE)
        if gap or not what & PENDING:  # the pending ones are complete
            if loose:
                starter, size = settle(starter, size, alphabet, marks)
            if starter >= 0:
                tokens[count] = np.uint64(starter)
                count += 1
            for k in range(size):
                tokens[count] = np.uint64(marks[k] & CODE)
                count += 1
            starter, size, loose = np.int64(-1), none, none
        if not gap and space and count > first:
            tokens[count] = np.uint64(32)
            count += 1
        space = gap
        if what & PENDING and not gap:
            pending, out = enter(code, what, (starter, size, loose), alphabet, marks)
            starter, size, loose = pending
            for k in range(OUT, OUT + out):
                tokens[count] = np.uint64(marks[k])
                count += 1
        elif not gap:
            starter = low
    return count


@kernel
def characters(data, offsets, alphabet, form, marks, tokens, token_offsets):
    """Give the code points of each document as tokens, in lower case; return their number.

    ``form`` is `AS_WRITTEN`, `CANONICAL` (composed, without characters that are not compared), or
    `SINGLE_SPACES`: the same, runs of white space become one space, and those at the ends go. Two
    tokens for each byte are always enough.

    Args:
        data: uint8[]: texts, concatenated.
        offsets: int64[documents + 1]: where each text begins.
        alphabet: `Alphabet`.
        form: int: one of the three.
        marks: int64[MEMORY]: working memory.
        tokens: uint64[2 * bytes]: gets the tokens.
        token_offsets: int64[documents + 1]: gets where those of each document begin.
    """
    page, kind, delta, _, _, _ = alphabet
    count = np.int64(0)
    token_offsets[0] = 0
    for d in range(offsets.shape[0] - 1):
        first = count
        i = offsets[d]
        end = offsets[d + 1]
        space = False
        while i < end:
            code, size = decode(data, i)
            i += size
            at = np.int64(page[code >> 8]) << 8 | code & 255
            what = np.int64(kind[at])
            if form != AS_WRITTEN:
                if what >= CAREFUL:
                    count = _careful_characters(
                        data, offsets[d], end, alphabet, form, marks, tokens, first
                    )
                    break
                if what == SPACE and form == SINGLE_SPACES:
                    space = count > first
                    continue
            if space:
                tokens[count] = np.uint64(32)
                count += 1
                space = False
            low = code + np.int64(delta[at])
            tokens[count] = np.uint64(low)
            count += 1
            if code == 0x130 and low != code:  # the one letter that lowers to two
                tokens[count] = np.uint64(0x307)
                count += 1
        token_offsets[d + 1] = count
    return count
