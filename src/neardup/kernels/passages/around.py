"""Characters of the first and the last token of stretches, and of some tokens next to them.

A passage often has a word or two more than a template: the next words are the same by chance.
"""

import numpy as np

from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import document_of

#: Tokens before the first one and behind the last one; a byte for each in an uint64.
AROUND = 8
_BYTE, _LOW = np.uint64(255), np.uint64(0xFFFFFFFF)


@inner
def _characters(data, begin, end):
    """Count the code points that begin in some bytes."""
    count = np.int64(0)
    for byte in data[begin:end]:  # an index would have to be checked for its sign
        count += np.int64((byte & 0xC0) != 0x80)
    return count


@kernel
def characters_around(data, offsets, spans, token_offsets, begin, words, stretches):
    """Count the code points before the tokens at both ends of stretches.

    Args:
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into ``data``.
        spans: First byte of each token and the byte after its last one, int64[tokens] each.
        token_offsets: int64[documents + 1] into ``spans``.
        begin: Number of the first document.
        words: Tokens of a run.
        stretches: uint64[n, 6]: position, anything, and runs, ascending. Filled in are: code points
            before the first token << 32 | those before the end of the last one; how many more each
            of the tokens behind has, the next one in the lowest byte; and those before, likewise.
            A byte is 0 where there is no token, or it has 256 or more, and so are those beyond it.
    """
    before = np.int64(-1)
    at = characters = np.int64(0)
    for i in range(stretches.shape[0]):
        d = document_of(stretches[i, 0]) - begin
        first = np.int64(stretches[i, 0] & _LOW)
        last = first + np.int64(stretches[i, 2]) + words - 2
        if d != before:
            before, at, characters = d, offsets[d], np.int64(0)
        base, end = token_offsets[d], token_offsets[d + 1]
        byte = spans[0][base + first]
        characters += _characters(data, at, byte)
        at = byte
        stop = spans[1][base + last]
        stretches[i, 3] = np.uint64(characters) << np.uint64(32)
        stretches[i, 3] |= np.uint64(characters + _characters(data, at, stop))
        stretches[i, 4] = stretches[i, 5] = np.uint64(0)
        for k in range(min(AROUND, end - base - last - 1)):
            byte = spans[1][base + last + 1 + k]
            size = _characters(data, stop, byte)
            if size > 255:
                break
            stretches[i, 4] |= np.uint64(size) << np.uint64(8 * k)
            stop = byte
        stop = at
        for k in range(min(AROUND, first)):
            byte = spans[0][base + first - 1 - k]
            size = _characters(data, byte, stop)
            if size > 255:
                break
            stretches[i, 5] |= np.uint64(size) << np.uint64(8 * k)
            stop = byte


@kernel
def known_characters(keys, stretches, words, out, unknown):
    """Look characters up; return how many are not known.

    Args:
        keys: uint64[asked], ascending, see `neardup.copies.offsets.key_of`.
        stretches: uint64[n, 6], ascending: position, anything, runs, and what `characters_around`
            fills; all bits of the first of these are set where nothing is known.
        words: Tokens of a run.
        out: int64[asked] for the code points.
        unknown: int64[asked] for the rows of those that are not known.
    """
    count = first = np.int64(0)
    one, eight = np.uint64(1), np.uint64(8)
    for row in range(keys.shape[0]):
        position, is_end = keys[row] >> one, keys[row] & one
        d = document_of(position)
        while first < stretches.shape[0] and document_of(stretches[first, 0]) < d:
            first += 1
        i = first
        found = False
        while not found and i < stretches.shape[0] and document_of(stretches[i, 0]) == d:
            characters = stretches[i, 3]
            start = stretches[i, 0]
            away, near, at = start - position, stretches[i, 5], characters >> np.uint64(32)
            if is_end:
                away = position - (start + stretches[i, 2] + np.uint64(words - 2))
                near, at = stretches[i, 4], characters & _LOW
            i += 1
            if away > np.uint64(AROUND) or characters == ~np.uint64(0):
                continue
            found = True
            for k in range(away):
                size = near >> (eight * np.uint64(k)) & _BYTE
                found = found and size > 0
                at = at + size if is_end else at - size
            out[row] = np.int64(at)
        if not found:
            unknown[count] = row
            count += 1
    return count
