"""The first bytes of texts, and a part that many of them have."""

import numpy as np

from neardup.kernels.bits import load8
from neardup.kernels.compiling import inner, kernel

_SPACE = np.uint8(32)
#: Positions in a text at which a part is compared to the end: texts may be of zeros.
_TRIES = 8
#: Bytes that are looked at together.
_STEP = 64


@kernel
def copy_beginnings(data, offsets, sizes, out, ends, complete):
    """Copy the first bytes of each text, up to a space: no word is cut.

    Args:
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into ``data``.
        sizes: int64[documents], bytes of each to copy at least, and then up to the next space, or
            all that it has.
        out: uint8[], with space for all texts.
        ends: int64[documents + 1] for the offsets into ``out``.
        complete: bool[documents] for whether it is the complete text.
    """
    filled = np.int64(0)
    ends[0] = 0
    for d in range(offsets.shape[0] - 1):
        first, last = offsets[d], offsets[d + 1]
        stop = min(last, first + sizes[d])
        while stop < last and data[stop] != _SPACE:
            stop += 1
        complete[d] = stop == last
        source, target = data[first:stop], out[filled : filled + stop - first]
        for i in range(source.shape[0]):
            target[i] = source[i]
        filled += stop - first
        ends[d + 1] = filled


@kernel
def find_part(data, offsets, part, at):
    """Find a part in each text, between white space; return how many texts have it.

    White space is any byte up to that of a space, or an end of the text. The part is looked for at
    the begin of a text, at its end, and then from left to right. Where it almost occurs many times,
    it may not be found.

    Args:
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into ``data``.
        part: uint8[], 8 bytes or more.
        at: int64[documents] for the bytes of each text in front of the part; -1 without it.
    """
    size = np.int64(part.shape[0])
    count = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        first, end = offsets[d], offsets[d + 1]
        last = end - size
        at[d] = -1
        if last < first:
            continue
        found = np.int64(-1)
        if _is_part(data, first, end, first, part):
            found = first
        elif _is_part(data, first, end, last, part):
            found = last
        tries, i = _TRIES, first
        while found < 0 and tries > 0:
            i = _next(data, i, last, part)
            if i > last:
                break
            if _is_part(data, first, end, i, part):
                found = i
            tries -= 1
            i += 1
        if found >= 0:
            at[d] = found - first
            count += 1
    return count


@inner
def _next(data, at, last, part):
    """Return the first byte from one on where 8 are those of a part; one behind the last if none.

    Steps of many bytes, of which two are compared: a template behind 165 words is found in a third
    of the time.
    """
    start = load8(part, np.int64(0))
    while at + _STEP <= last:
        maybe = np.uint8(0)
        one, other = data[at : at + _STEP], data[at + 7 : at + 7 + _STEP]
        for i in range(_STEP):
            maybe |= (one[i] == part[0]) & (other[i] == part[7])
        if maybe:
            for i in range(at, at + _STEP):
                if load8(data, i) == start:
                    return i
        at += _STEP
    while at <= last and load8(data, at) != start:
        at += 1
    return at


@inner
def _is_part(data, first, end, begin, part):
    """Whether a text, from ``first`` to ``end``, has a part at some byte, between white space."""
    stop = begin + part.shape[0]
    if (begin > first and data[begin - 1] > _SPACE) or (stop < end and data[stop] > _SPACE):
        return False
    last = np.int64(part.shape[0]) - 8
    for i in range(0, last, 8):
        if load8(data, begin + i) != load8(part, np.int64(i)):
            return False
    return load8(data, begin + last) == load8(part, last)


@kernel
def divide_texts(offsets, at, size, sections, common, firsts):
    """Divide texts in front of a part that they have; return the number of sections.

    The first text that has it is divided behind it as well.

    Args:
        offsets: int64[documents + 1]: where texts begin.
        at: int64[documents], as `find_part` fills it.
        size: Bytes of the part.
        sections: int64[2 * documents + 2] for where sections begin, and the end.
        common: int64[2 * documents + 1] for them, as `neardup.kernels.tokens.words` takes it.
        firsts: int64[documents + 1] for the first section of each text, and the number of all.
    """
    count = np.int64(0)
    is_first = True
    for d in range(offsets.shape[0] - 1):
        firsts[d], sections[count], common[count] = count, offsets[d], 0
        if at[d] > 0:
            count += 1
            sections[count] = offsets[d] + at[d]
        if at[d] >= 0:
            common[count] = -size if is_first else size
            if is_first:
                count += 1
                sections[count], common[count] = offsets[d] + at[d] + size, 0
            is_first = False
        count += 1
    firsts[-1], sections[count] = count, offsets[-1]
    return count


@kernel
def join_texts(firsts, at, found, token_offsets, shared):
    """Count the tokens of texts by those of their sections.

    Args:
        firsts: int64[documents + 1], as `divide_texts` fills it.
        at: int64[documents], as `find_part` fills it.
        found: int64[sections + 1]: where the tokens of each section begin.
        token_offsets: int64[documents + 1] for where the tokens of each text begin.
        shared: int32[documents, 2] for the first token of the part, and the number of its tokens,
            which is negative in the first text that has it; zeros for a text without it.
    """
    size = np.int64(-1)
    for d in range(at.shape[0]):
        section = firsts[d]
        token_offsets[d] = found[section]
        shared[d, 0] = shared[d, 1] = 0
        if at[d] < 0:
            continue
        of = section + 1 if at[d] > 0 else section
        shared[d, 0] = found[of] - found[section]
        if size < 0:
            size = found[of + 1] - found[of]
            shared[d, 1] = -size
        else:
            shared[d, 1] = size
    token_offsets[-1] = found[-1]
