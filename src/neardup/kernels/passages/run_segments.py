"""Segments of repeated runs: as words of files, as rows, and joined to longer ones.

Runs of a segment are at consecutive positions, and so are their sources. It has the position of its
first run, and the number of its runs; the first position of an equal run, the first earlier and the
latest earlier one, `NONE` without one; and how many documents have an equal run, all of them alike.

As a *row*: position, runs plus documents << 32, first, first earlier and latest earlier position.
As *words*: the same three, the position plus `OTHER` if the latest earlier one differs from the
first, the first plus `OTHER` if the first earlier one differs from it; then those that differ.
"""

import numpy as np

from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import COPY, NONE, TOKEN, document_of

#: Added to positions, as described above.
OTHER = COPY
_HIGH = np.uint64(32)


@inner
def _size(segments, i):
    """Return the words of a segment."""
    _, _, first, origin, latest, _ = segments
    return 3 + np.int64(latest[i] != first[i]) + np.int64(origin[i] != first[i])


@kernel
def pack_segments(segments, share, ends, out):
    """Write segments in the order of ranges of documents; leave out those that are the first.

    Args:
        segments: Position uint64[n], runs uint32[n]; first, first earlier and latest earlier
            position, uint64[n]; documents uint32[n].
        share: Documents of a range.
        ends: int64[ranges + 1] for where the words of each range begin, and the end.
        out: uint64[] for the words; of nothing to get only ``ends``.
    """
    position, runs, first, origin, latest, documents = segments
    if out.shape[0] == 0:
        ends[:] = 0
        for i in range(position.shape[0]):
            if first[i] != position[i]:
                ends[document_of(position[i]) // share + 1] += _size(segments, i)
        for k in range(ends.shape[0] - 1):
            ends[k + 1] += ends[k]
        return
    fill = ends.copy()
    for i in range(position.shape[0]):
        if first[i] == position[i]:
            continue
        k = document_of(position[i]) // share
        at = fill[k]
        out[at], out[at + 2] = position[i], first[i]
        out[at + 1] = np.uint64(runs[i]) | np.uint64(documents[i]) << _HIGH
        if latest[i] != first[i]:
            out[at] |= OTHER
            out[at + 3] = latest[i]
        fill[k] += _size(segments, i)
        if origin[i] != first[i]:
            out[at + 2] |= OTHER
            out[fill[k] - 1] = origin[i]


@kernel
def unpack_segments(words, rows):
    """Read the words of segments; return how many there are.

    Args:
        words: uint64[], as `pack_segments` writes them.
        rows: uint64[segments, 5]; of nothing to get only the number.
    """
    counting = rows.shape[0] == 0
    at = count = np.int64(0)
    while at < words.shape[0]:
        later, earlier = words[at] & OTHER != 0, words[at + 2] & OTHER != 0
        if not counting:
            first = words[at + 2] & ~OTHER
            rows[count, 0], rows[count, 1] = words[at] & ~OTHER, words[at + 1]
            rows[count, 2] = first
            rows[count, 3] = words[at + 3 + np.int64(later)] if earlier else first
            rows[count, 4] = words[at + 3] if later else first
        at += 3 + np.int64(later) + np.int64(earlier)
        count += 1
    return count


@kernel
def are_ascending(rows):
    """Whether rows ascend by their first column, each once.

    Args:
        rows: uint64[n, columns].
    """
    at = np.int64(1)
    while at < rows.shape[0] and rows[at, 0] > rows[at - 1, 0]:
        at += 1
    return at >= rows.shape[0]


@kernel
def join_segments(rows):
    """Join segments that continue one another, in place; return how many are left.

    Args:
        rows: uint64[n, 5], ascending.
    """
    last = np.int64(-1)
    for i in range(rows.shape[0]):
        if last >= 0 and _continues(rows, i, last):
            rows[last, 1] += rows[i, 1] & TOKEN
            continue
        last += 1
        for k in range(5):
            rows[last, k] = rows[i, k]
    return last + 1


@inner
def _continues(rows, i, last):
    """Whether a row continues another one."""
    step = rows[last, 1] & TOKEN
    if rows[i, 0] != rows[last, 0] + step or rows[i, 2] != rows[last, 2] + step:
        return False
    if rows[i, 1] >> _HIGH != rows[last, 1] >> _HIGH:
        return False
    if rows[i, 4] == NONE or rows[last, 4] == NONE:
        return rows[i, 4] == rows[last, 4]
    return rows[i, 4] == rows[last, 4] + step and rows[i, 3] == rows[last, 3] + step
