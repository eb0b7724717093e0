"""The first bytes of texts."""

import numpy as np

from neardup.kernels.compiling import kernel

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
