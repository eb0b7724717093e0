"""Runs whose copies are stretches: chains of equal runs first, then all of their positions.

A *chain* is consecutive runs that the same positions have, each one further. Positions in stretches
of documents (see `neardup.kernels.passages.known`) are left out of it: they are copies of those of
a fragment, and are added at the end for all runs of a chain at once.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.positions import NONE, document_of
from neardup.kernels.passages.sources import sort_stretches, sources_of_positions
from neardup.kernels.searching import first_above, first_not_below

#: Stretches whose intervals are kept, a power of 2.
_RECENT = 256


class Fragments(NamedTuple):
    """Intervals of runs that the same stretches are copies of, and these."""

    bounds: np.ndarray  # uint64[intervals + 1]: position of the first run of each, ascending
    ends: np.ndarray  # int64[intervals + 1]: copies of each begin here
    copies: np.ndarray  # uint64[]: positions of the copies of its first run
    of: np.ndarray  # bool[documents]: has an interval with copies


@kernel
def fill_fragments(stretches, bounds, ends, copies, of):
    """Enter the copies of each interval; see `Fragments`.

    Args:
        stretches: uint64[n, 3]: position, position in the fragment, and runs.
        bounds: uint64[intervals + 1], ascending: all of the first and last runs, where they begin.
        ends: int64[intervals + 1], is filled.
        copies: uint64[]; nothing to get only the size.
        of: bool[documents] of False.

    Returns:
        Number of copies.
    """
    ends[:] = 0
    total = np.int64(0)
    every = np.int64(bounds.shape[0])
    # Intervals of stretches: those of many documents are copies of the same runs.
    recent = np.full((_RECENT, 2), NONE, dtype=np.uint64)
    intervals = np.empty((_RECENT, 2), dtype=np.int64)
    for fill in range(2):
        if fill == 1 and copies.shape[0] == 0:
            break
        for i in range(stretches.shape[0]):
            start, runs = stretches[i, 1], stretches[i, 2]
            slot = np.int64((start ^ runs << np.uint64(3)) & np.uint64(_RECENT - 1))
            if start != recent[slot, 0] or runs != recent[slot, 1]:
                low = first_not_below(bounds, np.int64(0), every, start)
                intervals[slot, 0] = low
                intervals[slot, 1] = first_not_below(bounds, low, every, start + runs)
                recent[slot, 0], recent[slot, 1] = start, runs
            low, high = intervals[slot]
            for k in range(low, high):
                if fill == 0:
                    ends[k + 1] += 1
                    total += 1
                else:
                    copies[ends[k]] = stretches[i, 0] + (bounds[k] - start)
                    ends[k] += 1
            of[document_of(start)] = True
        if fill == 0:
            for k in range(ends.shape[0] - 1):
                ends[k + 1] += ends[k]
    if copies.shape[0] > 0:
        for k in range(ends.shape[0] - 1, 0, -1):
            ends[k] = ends[k - 1]
        ends[0] = 0
    return total


@inner
def _interval(fragments, position):
    """Return the last interval that begins at a position or before; -1 for none."""
    bounds = fragments.bounds
    return first_above(bounds, np.int64(0), np.int64(bounds.shape[0]), position) - 1


@inner
def _has_copies(fragments, position, runs):
    """Whether some of consecutive runs have copies."""
    if not fragments.of[document_of(position)]:
        return False
    k = max(np.int64(0), _interval(fragments, position))
    while k + 1 < fragments.bounds.shape[0] and fragments.bounds[k] < position + runs:
        if fragments.bounds[k + 1] > position and fragments.ends[k + 1] > fragments.ends[k]:
            return True
        k += 1
    return False


@kernel
def with_copies(rows, copied, fragments, found):
    """Mark rows of which copies are in stretches; return how many there are.

    Args:
        rows: Positions uint64[n], how many runs each row is of int32[n], and the first row of those
            that are copied together with each int32[n], -1 for none.
        copied: First copy of each such row int64[n + 1], and positions of these uint64[].
        fragments: Copies of intervals.
        found: int32[n] for 0 where there are some, and -1 where there is none.
    """
    position, sizes, of_row = rows
    firsts, offsets = copied
    total = np.int64(0)
    for row in range(position.shape[0]):
        runs = np.uint64(sizes[row])
        there = _has_copies(fragments, position[row], runs)
        of = of_row[row]
        if of >= 0:
            step = position[row] - position[of]
            for k in range(firsts[of], firsts[of + 1]):
                there = there or _has_copies(fragments, offsets[k] + step, runs)
        found[row] = 0 if there else -1
        total += there
    return total


@kernel
def take_chains(rows, copied, chains, taken, space, out):
    """Take out the chains with copies in stretches; return how many rows they have.

    Args:
        rows: As `with_copies` takes them.
        copied: Likewise.
        chains: As `neardup.kernels.passages.sources.sources_of_runs` takes them; those that are
            taken out count as following another.
        taken: int32[n], the rows as `with_copies` marks them.
        space: uint64[], as many as there are rows in ``out``: working memory.
        out: First position of the chain uint64[], position uint64[], and number of runs uint64[],
            of each of its positions; ascending within a chain. Nothing to get only the number.
    """
    position, sizes, of_row = rows
    firsts, offsets = copied
    members, ends, following, later = chains
    count = np.int64(0)
    for group in range(following.shape[0]):
        if later[group]:
            continue
        runs = np.uint64(0)
        other = np.int64(group)
        take = False
        while other >= 0:
            runs += np.uint64(sizes[members[ends[other]]])
            for i in range(ends[other], ends[other + 1]):
                take = take or taken[members[i]] >= 0
            other = np.int64(following[other])
        if not take:
            continue
        begin = count
        for i in range(ends[group], ends[group + 1]):
            row = members[i]
            of = of_row[row]
            if out[0].shape[0] == 0:
                count += 1
                if of >= 0:
                    count += firsts[of + 1] - firsts[of]
                continue
            out[1][count] = position[row]
            count += 1
            if of >= 0:
                step = position[row] - position[of]
                for k in range(firsts[of], firsts[of + 1]):
                    out[1][count] = offsets[k] + step
                    count += 1
        if out[0].shape[0] > 0:
            sort_stretches(out[1], begin, count, space)
            for i in range(begin, count):
                out[0][i], out[2][i] = out[1][begin], runs
            later[group] = True
    return count


@kernel
def join_chains(first, position, runs):
    """Join chains that continue one another, in place; return how many rows are left.

    Args:
        first: uint64[n], see `take_chains`, ascending.
        position: uint64[n].
        runs: uint64[n].
    """
    filled = begin = before = np.int64(0)  # rows of the last chain that is kept: before to filled
    while begin < first.shape[0]:
        end = begin
        while end < first.shape[0] and first[end] == first[begin]:
            end += 1
        joined = filled > before and filled - before == end - begin
        if joined:
            step = np.uint64(runs[before])
            for i in range(end - begin):
                joined = joined and position[begin + i] == position[before + i] + step
        if joined:
            for i in range(before, filled):
                runs[i] += runs[begin]
        else:
            before = filled
            for i in range(begin, end):
                first[filled], position[filled], runs[filled] = first[i], position[i], runs[i]
                filled += 1
        begin = end
    return filled


@inner
def _cuts(position, begin, end, runs, fragments, cuts):
    """Fill in where copies of a chain change, ascending, each once, from 0 to its runs."""
    count = np.int64(2)
    cuts[0], cuts[1] = np.uint64(0), runs
    for i in range(begin, end):
        if not fragments.of[document_of(position[i])]:
            continue
        k = _interval(fragments, position[i]) + 1
        while k < fragments.bounds.shape[0] and fragments.bounds[k] < position[i] + runs:
            if count == cuts.shape[0]:
                more = np.empty(2 * count, dtype=np.uint64)
                more[:count] = cuts
                cuts = more
            cuts[count] = fragments.bounds[k] - position[i]
            count += 1
            k += 1
    cuts[:count].sort()
    kept = np.int64(1)
    for k in range(1, count):
        if cuts[k] != cuts[kept - 1]:
            cuts[kept] = cuts[k]
            kept += 1
    return cuts[:kept]


@inner
def _chain_end(first, begin):
    """Return the row behind a chain that begins at a row."""
    end = begin + 1
    while end < first.shape[0] and first[end] == first[begin]:
        end += 1
    return end


@inner
def _copies(fragments, position):
    """Return which copies of a fragment a run has: the first, and the one behind the last."""
    if not fragments.of[document_of(position)]:
        return np.int64(0), np.int64(0)
    k = _interval(fragments, position)
    if k < 0 or k + 1 >= fragments.bounds.shape[0]:
        return np.int64(0), np.int64(0)
    return fragments.ends[k], fragments.ends[k + 1]


@kernel
def count_expanded(chains, fragments, at, most):
    """Count the segments that `expand_chains` makes of the next chains, or of parts of these.

    Args:
        chains: First position uint64[n], position uint64[n], and runs uint64[n]; see `take_chains`.
        fragments: Copies of intervals.
        at: Row of a chain, and which of its parts is the next: its copies change between them.
        most: Segments; more only if a single part has more.

    Returns:
        Number of segments, and where the next ones begin: row, as many as there are rows at the
        end, and part.
    """
    first, position, runs = chains
    begin, part = np.int64(at[0]), np.int64(at[1])
    total = np.int64(0)
    buffer = np.empty(64, dtype=np.uint64)
    while begin < first.shape[0]:
        end = _chain_end(first, begin)
        cuts = _cuts(position, begin, end, runs[begin], fragments, buffer)
        while part < cuts.shape[0] - 1:
            size = end - begin
            for i in range(begin, end):
                low, high = _copies(fragments, position[i] + cuts[part])
                size += high - low
            if total > 0 and total + size > most:
                return total, begin, part
            total += size
            part += 1
        begin, part = end, np.int64(0)
    return total, begin, part


@kernel
def expand_chains(chains, fragments, at, words, groups, space, found):
    """Add the copies of chains, and find their sources.

    Args:
        chains: First position uint64[n], position uint64[n], and runs uint64[n]; see `take_chains`.
        fragments: Copies of intervals.
        at: Where to begin, see `count_expanded`.
        words: Tokens of a run.
        groups: As `neardup.kernels.passages.sources.sources_of_runs` takes them.
        space: Likewise.
        found: Six arrays of segments likewise, as long as `count_expanded` says.
    """
    first, position, runs = chains
    begin, part = np.int64(at[0]), np.int64(at[1])
    count = np.int64(0)
    buffer = np.empty(64, dtype=np.uint64)
    while count < found[0].shape[0]:
        end = _chain_end(first, begin)
        cuts = _cuts(position, begin, end, runs[begin], fragments, buffer)
        while part < cuts.shape[0] - 1 and count < found[0].shape[0]:
            before = count
            for i in range(begin, end):
                here = position[i] + cuts[part]
                found[0][count] = here
                count += 1
                low, high = _copies(fragments, here)
                if low == high:
                    continue
                step = here - fragments.bounds[_interval(fragments, here)]
                for j in range(low, high):
                    found[0][count] = fragments.copies[j] + step
                    count += 1
            length = np.uint32(cuts[part + 1] - cuts[part])
            sources_of_positions(before, count, length, words, groups, space, found)
            part += 1
        begin, part = end, np.int64(0)


@kernel
def renumber(columns, numbers):
    """Replace documents by their numbers in positions of runs and of copies, in place.

    Args:
        columns: As `neardup.kernels.passages.hashing.runs_of_anchors` fills them, but the keys.
        numbers: int64[documents].
    """
    high, _, position = columns
    token, thirty_two = np.uint64(0xFFFFFFFF), np.uint64(32)
    copy = np.uint64(1 << 31)
    for row in range(position.shape[0]):
        if position[row] & copy:
            of = np.uint64(numbers[document_of(high[row])])
            high[row] = of << thirty_two | high[row] & token
        of = np.uint64(numbers[document_of(position[row])])
        position[row] = of << thirty_two | position[row] & token
