"""The first bytes of texts, and those that texts after one another have in common."""

import numpy as np

from neardup.kernels.bits import load8, trailing_zeros
from neardup.kernels.compiling import inner, kernel

_SPACE = np.uint8(32)


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
def common_beginnings(data, offsets, least, sizes):
    """Find groups of texts that begin with the same bytes, each with those that follow it.

    Args:
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into ``data``.
        least: Bytes that a group has in common, at least.
        sizes: int64[documents] for the bytes in front of a space that a text has in common with the
            first one of its group, which has the negative number; 0 for a text without a group.

    Returns:
        Bytes that are in a text before, in the same group.
    """
    total = np.int64(0)
    first = common = np.int64(0)
    documents = offsets.shape[0] - 1
    for d in range(1, documents + 1):
        if d < documents:
            most = common if d > first + 1 else offsets[d] - offsets[first]
            equal = _equal_bytes(data, offsets[first], offsets[d], offsets[d + 1], most)
            # A group is not shortened to little for the sake of one text that has less in common.
            if equal >= least and (d == first + 1 or 2 * equal >= common):
                common = equal
                continue
        size = np.int64(0)
        if d > first + 1:
            size = common - 1
            while size > 0 and data[offsets[first] + size] != _SPACE:
                size -= 1
        sizes[first] = -size
        sizes[first + 1 : d] = size
        total += size * (d - first - 1)
        first, common = d, np.int64(0)
    return total


@inner
def _equal_bytes(data, one, other, end, most):
    """Return how many bytes are equal from two bytes on, up to an end, and at most so many."""
    most = min(most, end - other)
    size = np.int64(0)
    while size + 8 <= most:
        different = load8(data, one + size) ^ load8(data, other + size)
        if different:
            return size + np.int64(trailing_zeros(different) >> np.uint64(3))
        size += 8
    while size < most and data[one + size] == data[other + size]:
        size += 1
    return size


@kernel
def divide_beginnings(offsets, sizes, parts, common, firsts):
    """Divide the first text of each group behind the common bytes; return the number of parts.

    Args:
        offsets: int64[documents + 1]: where texts begin.
        sizes: int64[documents], as `common_beginnings` finds them.
        parts: int64[2 * documents + 1] for where parts begin, and the end.
        common: int64[2 * documents] for the parts, as `neardup.kernels.tokens.words` takes it.
        firsts: int64[documents + 1] for the first part of each text, and the number of parts.
    """
    part = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        firsts[d], parts[part], common[part] = part, offsets[d], sizes[d]
        part += 1
        if sizes[d] < 0:
            parts[part], common[part] = offsets[d] - sizes[d], 0
            part += 1
    firsts[-1], parts[part] = part, offsets[-1]
    return part


@kernel
def join_beginnings(firsts, sizes, found, token_offsets, shared):
    """Count the tokens of texts by those of their parts.

    Args:
        firsts: int64[documents + 1], as `divide_beginnings` fills it.
        sizes: int64[documents], as `common_beginnings` finds them.
        found: int64[parts + 1]: where the tokens of each part begin.
        token_offsets: int64[documents + 1] for where the tokens of each text begin.
        shared: int32[documents] for the first tokens that are those of the last text before that
            has 0 here.
    """
    size = np.int64(0)
    for d in range(sizes.shape[0]):
        part = firsts[d]
        token_offsets[d] = found[part]
        if sizes[d] < 0:
            size = found[part + 1] - found[part]
        shared[d] = size if sizes[d] > 0 else 0
    token_offsets[-1] = found[-1]
