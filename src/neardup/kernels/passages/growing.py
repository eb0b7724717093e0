"""Repeated runs to passages."""

import numpy as np

from neardup.kernels.bits import TOKEN_LENGTH, mix
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import NONE, TOKEN
from neardup.kernels.searching import first_above

_HIGH = np.uint64(32)


@inner
def _is_common(table, row, boilerplate):
    return boilerplate > 0 and table[row, 1] >> _HIGH >= boilerplate


@inner
def _end(table, row):
    """Return the position behind the runs of a segment."""
    return table[row, 0] + (table[row, 1] & TOKEN)


@inner
def _last_not_above(positions, position):
    """Return the last row whose position is not above one; -1 where none is."""
    return first_above(positions, np.int64(0), np.int64(positions.shape[0]), position) - 1


@inner
def _reach(table, at, row, end, start, source, boilerplate):
    """Return how many runs, from that at ``start`` on, are repeated and stand so at a source.

    ``row`` is the segment with the run at ``start``, ``at`` the last one up to the source.
    """
    reach = np.uint64(0)
    common = _is_common(table, row, boilerplate)
    total = table.shape[0]
    while table[row, 4] != NONE and _is_common(table, row, boilerplate) == common:
        here, there = start + reach, source + reach
        if at + 1 < total and table[at + 1, 0] == there:
            at += 1
        first = there  # a run that is in no segment is the first one, or no other equals it
        behind = table[at + 1, 0] if at + 1 < total else NONE
        if at >= 0 and there < _end(table, at):
            first, behind = table[at, 2] + (there - table[at, 0]), _end(table, at)
        if table[row, 2] + (here - table[row, 0]) != first:
            break
        step = min(_end(table, row) - here, behind - there)
        reach += step
        if here + step == _end(table, row):
            row += 1
            if row >= end or table[row, 0] != start + reach:
                break
    return reach


@kernel
def grow(table, begin, end, rule, boilerplate, out):
    """Join the repeated runs of some documents to passages, as many as there is space for.

    Args:
        table: uint64[segments, 5], rows of segments, ascending, none of which can be joined to the
            one before; see `neardup.kernels.passages.run_segments`. Those that are the first may be
            left out.
        begin: The run to begin with: its segment, and its position, or 0 for that of the segment.
        end: Segment after the last one that is looked at; documents are complete.
        rule: Which source: 0 the one that reaches furthest, 1 the latest, 2 the first.
        boilerplate: A run in so many documents or more is boilerplate; 0 for none.
        out: uint64[passages, 6] for position, number of runs, source, origin, documents, and a hash
            of the text of boilerplate, else 0.

    Returns:
        Number of passages, and where to continue: segment, ``end`` if all is done, and position.
    """
    count = np.int64(0)
    positions = table[:, 0]
    row, start = np.int64(begin[0]), np.uint64(begin[1])
    while row < end and count < out.shape[0]:
        start = max(start, table[row, 0])
        if table[row, 4] == NONE:
            row += 1
            continue
        step = start - table[row, 0]
        source = table[row, 3 if rule == 2 else 4] + step
        at = _last_not_above(positions, source)
        reach = _reach(table, at, row, end, start, source, boilerplate)
        if rule == 0:
            other = table[row, 3] + step
            if other != source:
                at = _last_not_above(positions, other)
                further = _reach(table, at, row, end, start, other, boilerplate)
                if further > reach:
                    source, reach = other, further
            while True:
                source, grown = _furthest(
                    table, positions, row, end, start, source, reach, boilerplate
                )
                if grown == reach:
                    break
                reach = grown
        out[count, 0], out[count, 1] = start, reach
        out[count, 2], out[count, 3] = source, table[row, 3] + step
        common = _is_common(table, row, boilerplate)
        # Positions are small numbers, and the hash of 0 is 0.
        least, text = table[row, 1] >> _HIGH, mix(reach * TOKEN_LENGTH) if common else np.uint64(0)
        stop = start + reach
        while True:
            least = min(least, table[row, 1] >> _HIGH)
            behind = _end(table, row)
            if common:
                for k in range(start - table[row, 0], min(behind, stop) - table[row, 0]):
                    text = mix(text ^ (table[row, 2] + np.uint64(k)))
            start = min(stop, behind)
            if start == behind:
                row += 1
            if start == stop:
                break
        out[count, 4], out[count, 5] = least, text
        count += 1
    return count, row, start


@inner
def _furthest(table, positions, row, end, start, source, reach, boilerplate):
    """Return (source, reach) after the sources of the run just behind a passage were tried."""
    best, longest, behind = source, reach, start + reach
    k = row
    while k < end and _end(table, k) <= behind:
        k += 1
    if k >= end or table[k, 0] > behind or table[k, 4] == NONE:
        return best, longest
    if _is_common(table, k, boilerplate) != _is_common(table, row, boilerplate):
        return best, longest
    for which in range(2):
        there = table[k, 4 - which] + (behind - table[k, 0])
        if there & TOKEN < reach:
            continue
        there -= reach
        at = _last_not_above(positions, there)
        found = _reach(table, at, row, end, start, there, boilerplate)
        if found > longest or (found == longest and found > reach and there > best):
            best, longest = there, found
    return best, longest


@kernel
def share_words(passages, starts, tokens, words, boilerplate, gained, copied, common):
    """Count the words of each document that are copied, each for one passage.

    A word belongs to boilerplate if it is in one, else to the passage that starts first.

    Args:
        passages: uint64[passages, 6] as `grow` writes them.
        starts: int64[documents + 1] into ``passages``.
        tokens: int32[documents], the number of tokens of each.
        words: Tokens of a run.
        boilerplate: A run in so many documents or more is boilerplate; 0 for none.
        gained: int32[passages] for the words that a passage has.
        copied: int32[documents] for the copied words, without boilerplate.
        common: int32[documents] for the words of boilerplate.
    """
    longest = np.int64(0)
    for d in range(starts.shape[0] - 1):
        longest = max(longest, np.int64(tokens[d]))
        if boilerplate == 0:  # passages of one kind: each has the words behind those before it
            copied[d] = common[d] = end = 0
            for k in range(starts[d], starts[d + 1]):
                first = np.int64(passages[k, 0] & TOKEN)
                last = first + np.int64(passages[k, 1]) + words - 1
                gained[k] = max(np.int64(0), last - max(first, end))
                copied[d] += gained[k]
                end = max(end, last)
    if boilerplate == 0:
        return
    taken = np.zeros(longest, dtype=np.bool_)
    for d in range(starts.shape[0] - 1):
        taken[: tokens[d]] = False
        copied[d] = common[d] = 0
        for kind in range(2):
            for k in range(starts[d], starts[d + 1]):
                is_common = boilerplate > 0 and np.int64(passages[k, 4]) >= boilerplate
                if is_common != (kind == 0):
                    continue
                first = np.int64(passages[k, 0] & TOKEN)
                count = 0
                for i in range(first, first + np.int64(passages[k, 1]) + words - 1):
                    count += not taken[i]
                    taken[i] = True
                gained[k] = count
                if kind == 0:
                    common[d] += count
                else:
                    copied[d] += count
