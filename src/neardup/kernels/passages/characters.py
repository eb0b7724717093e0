"""Characters of tokens in stretches, and next to them.

A passage often has a word or two more than a template: the next words are the same by chance. And
the words behind a template may stand in another document than those in front of it, with the last
words of the template: there a second passage begins.
"""

import numpy as np

from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import TOKEN, document_of

#: Tokens before the first one and behind the last one; a byte for each in an uint64.
AROUND = 8
#: Tokens before and behind the one at which a second passage begins; a byte for each in an uint32.
_NEAR = 2
_BYTE, _EIGHT, _HALF = np.uint64(255), np.uint64(8), np.uint64(32)


@inner
def _steps(limits, of, step, count):
    """Return how many code points there are from each of some tokens to the next, a byte each.

    Args:
        limits: uint32[2 * tokens], where tokens begin and end.
        of: Begin or end of the first token, by its number there.
        step: 2, or -2 for the tokens before it.
        count: Tokens, at most 8.
    """
    sizes = np.uint64(0)
    for k in range(count):
        size = abs(np.int64(limits[of + step]) - np.int64(limits[of]))
        if size > 255:
            break
        sizes |= np.uint64(size) << np.uint64(8 * k)
        of += step
    return sizes


@inner
def _walk(characters, sizes, steps, most, sign):
    """Return the code points before the token that is some steps away; -1 if it is not known."""
    if steps > np.uint64(most):  # also below 0
        return np.int64(-1)
    found = np.int64(characters)
    for k in range(steps):
        size = sizes >> (_EIGHT * np.uint64(k)) & _BYTE
        if not size:
            return np.int64(-1)
        found += sign * np.int64(size)
    return found


@kernel
def characters_around(limits, begins, token_offsets, begin, words, stretches):
    """Count the code points before some tokens of stretches.

    A byte for a token next to one of them is 0 where there is no token, or it is 256 or more code
    points away from the one before, and so are the bytes for those beyond it.

    Args:
        limits: uint32[2 * tokens]: code points at which tokens begin and end.
        begins: int64[documents + 1]: code points at which documents begin.
        token_offsets: int64[documents + 1] for the first token of each document.
        begin: Number of the first document.
        words: Tokens of a run, 2 or more.
        stretches: uint64[n, 7]: position, anything, and runs, ascending. Filled in are: code points
            before the first token << 32 | those before the end of the last one; how many more each
            of the `AROUND` tokens behind has, the next one in the lowest byte; and those before,
            likewise; code points before the token at which the first run behind the stretch
            begins << 32 | those of two tokens before it, and of two behind it in the lowest bytes.
    """
    for i in range(stretches.shape[0]):
        d = document_of(stretches[i, 0]) - begin
        base, end, before = token_offsets[d], token_offsets[d + 1], begins[d]
        first = base + np.int64(stretches[i, 0] & TOKEN)
        second = first + np.int64(stretches[i, 2])
        last = second + words - 2
        to_first, to_last = np.uint64(limits[2 * first] - before), limits[2 * last + 1] - before
        stretches[i, 3] = to_first << _HALF | np.uint64(to_last)
        stretches[i, 4] = _steps(limits, 2 * last + 1, 2, min(AROUND, end - last - 1))
        stretches[i, 5] = _steps(limits, 2 * first, -2, min(AROUND, first - base))
        near = _steps(limits, 2 * second, -2, min(_NEAR, second - base)) << np.uint64(16)
        near |= _steps(limits, 2 * second, 2, min(_NEAR, end - second - 1))
        stretches[i, 6] = np.uint64(limits[2 * second] - before) << _HALF | near


@kernel
def known_characters(keys, stretches, words, out, unknown):
    """Look characters up; return how many are not known.

    Args:
        keys: uint64[asked], ascending, see `neardup.copies.offsets.key_of`.
        stretches: uint64[n, 7], ascending: position, anything, runs, and what `characters_around`
            fills; all bits of the first of these are set where nothing is known.
        words: Tokens of a run.
        out: int64[asked] for the code points.
        unknown: int64[asked] for the rows of those that are not known.
    """
    count = first = np.int64(0)
    one, more = np.uint64(1), np.uint64(words - 2 + AROUND)
    for row in range(keys.shape[0]):
        position, is_end = keys[row] >> one, keys[row] & one
        # Only stretches that are near have it: a document may have very many.
        while first < stretches.shape[0]:
            if stretches[first, 0] + stretches[first, 2] + more >= position:
                break
            first += 1
        i = first
        found = np.int64(-1)
        while found < 0 and i < stretches.shape[0]:
            start, characters = stretches[i, 0], stretches[i, 3]
            if start > position + np.uint64(AROUND) or document_of(start) != document_of(position):
                break
            second, near = start + stretches[i, 2], stretches[i, 6]
            last = second + np.uint64(words - 2)
            if characters == ~np.uint64(0):
                pass
            elif is_end:
                found = _walk(characters & TOKEN, stretches[i, 4], position - last, AROUND, 1)
            else:
                found = _walk(characters >> _HALF, stretches[i, 5], start - position, AROUND, -1)
                to_second = near >> _HALF
                if found < 0:
                    found = _walk(to_second, near & np.uint64(0xFFFF), position - second, _NEAR, 1)
                if found < 0:
                    before = near >> np.uint64(16) & np.uint64(0xFFFF)
                    found = _walk(to_second, before, second - position, _NEAR, -1)
            i += 1
        out[row] = found
        if found < 0:
            unknown[count] = row
            count += 1
    return count
