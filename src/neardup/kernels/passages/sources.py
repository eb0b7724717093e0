"""The earlier positions of repeated runs."""

import numpy as np

from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import NONE, document_of, is_earlier


@kernel
def sources_of_runs(rows, copies, chains, words, groups, space, found):
    """Find the earlier positions of runs, and how many documents have them.

    Args:
        rows: Positions uint64[n], how many runs each row is of int32[n], and the first row of those
            that are copied together with each int32[n], -1 for none.
        copies: First copy of each such row int64[n + 1], and positions of the copies of these rows
            uint64[]. Without copies: nothing.
        chains: Members int32[] and ends int64[groups + 1] of groups of equal runs, the following
            group of each int32[groups], and bool[groups], which follow another: `follow_groups`.
        words: Tokens of a run.
        groups: Group of each document int32[documents], -1 for none; whether sources are in
            other groups (else in the same one); documents from which on groups don't count for a
            run; working memory int64[3, groups] of -1. Without groups: no documents.
        space: uint64[], as many as there are rows in ``found``: working memory.
        found: Six arrays of segments: one for the runs of a chain of groups at each of their
            positions; see `neardup.kernels.passages.run_segments`.
    """
    position, sizes, copied = rows
    firsts, offsets = copies
    members, ends, following, later = chains
    count = np.int64(0)
    for group in range(following.shape[0]):
        if later[group]:
            continue
        begin = count
        for i in range(ends[group], ends[group + 1]):
            row = members[i]
            found[0][count] = position[row]
            count += 1
            of = copied[row]
            if of >= 0:
                step = position[row] - position[of]
                for k in range(firsts[of], firsts[of + 1]):
                    found[0][count] = offsets[k] + step
                    count += 1
        runs, other = np.uint32(0), np.int64(group)
        while other >= 0:
            runs += np.uint32(sizes[members[ends[other]]])
            other = np.int64(following[other])
        sources_of_positions(begin, count, runs, words, groups, space, found)


@kernel
def sources_of_positions(begin, end, runs, words, groups, space, found):
    """Find the sources of runs that are equal, in some rows of a table of segments.

    Args:
        begin: First row.
        end: Row after the last one.
        runs: uint32, runs of each segment.
        words: Tokens of a run.
        groups: As `sources_of_runs` takes them.
        space: Likewise.
        found: Six arrays; the positions are there, in any order.
    """
    sort_stretches(found[0], begin, end, space)
    _sources(begin, end, runs, words, found)
    if groups[0].shape[0] > 0 and found[5][begin] < groups[2]:
        _sources_in_groups(begin, end, words, groups, found)


@kernel
def sort_stretches(values, begin, end, buffer):
    """Sort values that are a few ascending stretches, by merging these.

    Args:
        values: uint64[].
        begin: First row.
        end: Row after the last one.
        buffer: Of the type of the values, as many as there are: working memory.
    """
    while True:
        at = begin
        while at < end:
            middle = _ascending(values, at, end)
            if middle == end:
                break
            stop = _ascending(values, middle, end)
            size = middle - at
            for i in range(size):
                buffer[i] = values[at + i]
            i = np.int64(0)
            while i < size:
                if middle < stop and values[middle] < buffer[i]:
                    values[at] = values[middle]
                    middle += 1
                else:
                    values[at] = buffer[i]
                    i += 1
                at += 1
            at = stop
        if at == begin:
            return


@inner
def _ascending(values, begin, end):
    """Return the end of the ascending values from ``begin`` on."""
    begin += 1
    while begin < end and values[begin - 1] < values[begin]:
        begin += 1
    return begin


@inner
def _sources(begin, end, runs, words, found):
    position, lengths, first, origin, latest, documents = found
    start = position[begin]
    count = np.uint32(0)
    before = np.int64(-1)
    back = begin  # the first that may overlap the one at hand
    for i in range(begin, end):
        here = position[i]
        if document_of(here) != before:
            before = document_of(here)
            count += np.uint32(1)
        while back < i and is_earlier(position[back], here, words):
            back += 1
        lengths[i], first[i] = runs, start
        origin[i] = start if back > begin else NONE
        latest[i] = position[back - 1] if back > begin else NONE
    for i in range(begin, end):
        documents[i] = count


@inner
def _sources_in_groups(begin, end, words, groups, found):
    """Find origins and latest sources again, among the documents of the same or other groups."""
    group, others, _, table = groups
    position, _, _, origin, latest, _ = found
    # Of other groups: the first and the last one so far, and those of a second group.
    ends = np.full((2, 2), -1, dtype=np.int64)
    of = np.full((2, 2), -1, dtype=np.int64)
    i = begin
    while i < end:
        document = document_of(position[i])
        value = group[document]
        stop = i + 1
        while stop < end and document_of(position[stop]) == document:
            stop += 1
        back = i
        for k in range(i, stop):
            a = b = np.int64(-1)
            if others and value >= 0:
                a = ends[0, 0] if of[0, 0] != value else ends[0, 1]
                b = ends[1, 0] if of[1, 0] != value else ends[1, 1]
            elif value >= 0:
                while back < k and is_earlier(position[back], position[k], words):
                    back += 1
                if table[0, value] == begin:
                    a, b = table[1, value], table[2, value]
                elif back > i:
                    a = i
                b = back - 1 if back > i else b
            origin[k] = position[a] if a >= 0 else NONE
            latest[k] = position[b] if b >= 0 else NONE
        if value >= 0 and not others:
            if table[0, value] != begin:
                table[0, value], table[1, value] = begin, i
            table[2, value] = stop - 1
        elif value >= 0:
            if of[0, 0] == -1 or (of[0, 0] != value and of[0, 1] == -1):
                which = 0 if of[0, 0] == -1 else 1
                ends[0, which], of[0, which] = i, value
            if of[1, 0] != value:
                ends[1, 1], of[1, 1] = ends[1, 0], of[1, 0]
            ends[1, 0], of[1, 0] = stop - 1, value
        i = stop
