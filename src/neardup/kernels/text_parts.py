"""The first bytes of texts, and a part that many of them have."""

import numpy as np

from neardup.kernels.bits import TOKEN_MULTIPLIER, load8, prefetch
from neardup.kernels.compiling import inner, kernel

_SPACE = np.uint8(32)
#: Bytes of a part, the first ones, of which any 8 are looked for; slots for these, a power of 2.
_ENTERED, SLOTS = 4096, 8192
#: Positions in these at which a text that has the part is looked at, or more.
_LOOKS = 4
#: Bytes behind a text that the processor is asked for meanwhile.
_AHEAD = 4096
#: Bytes that are compared together.
_STEP = 64
_BITS = int(SLOTS).bit_length() - 1


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


@inner
def _slot(eight):
    """Return the first slot for 8 bytes."""
    return np.int64(eight * TOKEN_MULTIPLIER >> np.uint64(64 - _BITS))


@kernel
def enter_part(part, slots):
    """Note where any 8 bytes of a part are first.

    Args:
        part: uint8[], 8 bytes or more.
        slots: int16[SLOTS] for their positions; -1 is a free one.
    """
    slots[:] = -1
    for i in range(min(np.int64(part.shape[0]), _ENTERED) - 7):
        eight = load8(part, i)
        slot = _slot(eight)
        while slots[slot] >= 0 and load8(part, np.int64(slots[slot])) != eight:
            slot = (slot + 1) & (SLOTS - 1)
        if slots[slot] < 0:
            slots[slot] = i


@kernel
def find_part(data, offsets, part, slots, at):
    """Find a part in each text, between white space; return how many texts have it.

    White space is any byte up to that of a space, or an end of the text. The part is looked for at
    the begin of a text, at its end, and by 8 bytes at some positions. One with the same 8 bytes in
    it many times may not be found.

    Args:
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into ``data``.
        part: uint8[], 8 bytes or more.
        slots: int16[SLOTS], as `enter_part` fills it.
        at: int64[documents] for the bytes of each text in front of the part; -1 without it.
    """
    size = np.int64(part.shape[0])
    step = max(np.int64(1), (min(size, _ENTERED) - 7) // _LOOKS)
    count = np.int64(0)
    asked = offsets[0]
    for d in range(offsets.shape[0] - 1):
        first, end = offsets[d], offsets[d + 1]
        # Only some bytes of a text are read: the processor would not fetch the next ones itself.
        while asked < min(end + _AHEAD, offsets[-1]):
            prefetch(data, asked)
            asked += _STEP
        last = end - size
        at[d] = -1
        if last < first:
            continue
        found = np.int64(-1)
        if _is_part(data, first, end, first, part):
            found = first
        elif _is_part(data, first, end, last, part):
            found = last
        i = first + step
        while found < 0 and i <= end - 8:
            begin = _likely_begin(data, i, part, slots)
            if first < begin < last and _is_part(data, first, end, begin, part):
                found = begin
            i += step
        if found >= 0:
            at[d] = found - first
            count += 1
    return count


@inner
def _likely_begin(data, at, part, slots):
    """Return where a part begins that has 8 bytes of a text; -1 if it does not have them."""
    eight = load8(data, at)
    slot = _slot(eight)
    while slots[slot] >= 0 and load8(part, np.int64(slots[slot])) != eight:
        slot = (slot + 1) & (SLOTS - 1)
    return at - np.int64(slots[slot]) if slots[slot] >= 0 else np.int64(-1)


@inner
def _is_part(data, first, end, begin, part):
    """Whether a text, from ``first`` to ``end``, has a part at some byte, between white space."""
    size = np.int64(part.shape[0])
    stop = begin + size
    if (begin > first and data[begin - 1] > _SPACE) or (stop < end and data[stop] > _SPACE):
        return False
    if load8(data, begin) != load8(part, np.int64(0)):
        return False
    i = np.int64(0)
    while i + _STEP <= size:
        differ = np.uint64(0)
        for k in range(0, _STEP, 8):
            differ |= load8(data, begin + i + k) ^ load8(part, i + k)
        if differ != 0:
            return False
        i += _STEP
    while i + 8 <= size:
        if load8(data, begin + i) != load8(part, i):
            return False
        i += 8
    return load8(data, stop - 8) == load8(part, size - 8)


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
