"""Copied passages of single texts, against documents that are at hand."""

import numpy as np

from neardup.kernels.bits import TOKEN_LENGTH, mix
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.hashing import BASE, PRIME, reduced, times
from neardup.kernels.passages.positions import NONE, TOKEN


@kernel
def run_keys(tokens, offsets, words, keys):
    """Hash each run of each document: a polynomial modulo 2**61 - 1, mixed.

    Args:
        tokens: uint64[tokens] of all documents.
        offsets: int64[documents + 1] into ``tokens``.
        words: Tokens of a run.
        keys: uint64[tokens] for the hash of the run that begins at each; others are left as is.
    """
    top = np.uint64(1)
    for _ in range(words):
        top = times(top, BASE)
    salt = np.uint64(words) * TOKEN_LENGTH
    for d in range(offsets.shape[0] - 1):
        first, last = offsets[d], offsets[d + 1]
        h = np.uint64(0)
        for i in range(first, last):
            h = reduced(times(h, BASE) + reduced(tokens[i]))
            if i - first >= words:
                h = reduced(h + PRIME - times(reduced(tokens[i - words]), top))
            if i - first + 1 >= words:
                keys[i - words + 1] = mix(h ^ salt)


@kernel
def runs_of_marked(offsets, numbers, anchors, words, keys, out):
    """List the hashes of the runs of marked anchors; return how many there are.

    Args:
        offsets: int64[documents + 1] into the tokens.
        numbers: int64[documents], one for each document.
        anchors: First runs int32[anchors], number of them in each document int32[documents], and
            bool[anchors], which are marked.
        words: Tokens of a run.
        keys: uint64[tokens] as `run_keys` fills it.
        out: uint64[tokens] and int64[tokens], for the hash and the number of each.
    """
    since, counts, marked = anchors
    count = anchor = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        last = anchor + counts[d]
        while anchor < last:
            end = offsets[d + 1] - offsets[d] - words + 1
            if anchor + 1 < last:
                end = np.int64(since[anchor + 1])
            if marked[anchor]:
                for i in range(since[anchor], end):
                    out[0][count], out[1][count] = keys[offsets[d] + i], numbers[d]
                    count += 1
            anchor += 1
    return count


@inner
def _equal(a, i, b, j, words):
    k = np.int64(0)
    while k < words and a[i + k] == b[j + k]:
        k += 1
    return k == words


@inner
def _slot(table, keys, key, tokens, others, at, words, follows):
    """Return the slot of a run that equals that at ``others[at]``, or of none.

    ``follows`` is the run that equals the one before ``at``, plus 1, or -1: of the run there only
    the last token is left to compare. With ``words`` of 0 only the keys are.
    """
    mask = np.uint64(table.shape[0] - 1)
    slot = key & mask
    while table[slot] >= 0:
        run = np.int64(table[slot])
        if keys[run] == key:
            if run == follows:
                if tokens[run + words - 1] == others[at + words - 1]:
                    return slot
            elif _equal(tokens, run, others, at, words):
                return slot
        slot = (slot + np.uint64(1)) & mask
    return slot


@inner
def _first_runs(tokens, keys, words, same):
    """Return a table with the first of equal runs; ``same`` gets the first one that equals each."""
    size = 16
    while size < 2 * same.shape[0]:
        size *= 2
    table = np.full(size, -1, np.int32)
    follows = np.int64(-1)
    for i in range(same.shape[0]):
        slot = _slot(table, keys, keys[i], tokens, tokens, i, words, follows)
        if table[slot] < 0:
            table[slot] = i
        same[i] = table[slot]
        follows = np.int64(same[i]) + 1
    return table


@kernel
def positions_of_runs(texts, which, words, stored, pairs, out):
    """Find the first and the latest earlier position of each run of some texts.

    A position in a document is its row << 32 | token. Behind all documents comes the text itself,
    as one more row: there a run is earlier if it does not overlap.

    Args:
        texts: Tokens uint64[tokens], where each text begins int64[texts + 1], and the keys of the
            runs uint64[tokens], see `run_keys`.
        which: The texts that are looked at: the first, and the one after the last.
        words: Tokens of a run.
        stored: Documents, as ``texts``.
        pairs: Where those of each text begin int64[texts + 1], and int32[pairs]: the documents that
            it is compared with, ascending.
        out: For the run that begins at each token the first earlier position uint64[tokens], the
            latest one uint64[tokens], and how many of the documents have it int64[tokens]. Without
            an earlier position: `NONE`.
    """
    for d in range(which[0], which[1]):
        first, last = texts[1][d], texts[1][d + 1]
        if last - first < words:
            out[0][first:last], out[1][first:last] = NONE, NONE
            continue
        end = last - words + 1
        out[0][end:last], out[1][end:last] = NONE, NONE
        asked = texts[0][first:last], texts[2][first:last]
        of = out[0][first:end], out[1][first:end], out[2][first:end]
        _positions(asked, words, stored, pairs[1][pairs[0][d] : pairs[0][d + 1]], of)


@inner
def _positions(asked, words, stored, rows, out):
    tokens, keys = asked
    others, begins, other_keys = stored
    origin, latest, holders = out
    runs = tokens.shape[0] - words + 1
    itself = np.uint64(begins.shape[0] - 1) << np.uint64(32)
    same = np.empty(runs, np.int32)
    table = _first_runs(tokens, keys, words, same)
    for i in range(runs):
        origin[i] = latest[i] = NONE
        holders[i] = 0
    for row in rows:
        first, last = begins[row], begins[row + 1] - words + 1
        here = np.uint64(row) << np.uint64(32)
        follows = np.int64(-1)
        for j in range(first, last):
            run = table[_slot(table, keys, other_keys[j], tokens, others, j, words, follows)]
            follows = np.int64(-1)
            if run >= 0:
                if latest[run] == NONE or latest[run] < here:
                    holders[run] += 1
                latest[run] = here | np.uint64(j - first)
                if origin[run] == NONE:
                    origin[run] = latest[run]
                follows = np.int64(run) + 1
    # Positions in the text itself: of equal runs each one is followed by the next.
    next_ = np.full(runs, -1, np.int32)
    newest, back = np.full(runs, -1, np.int32), np.full(runs, -1, np.int32)
    for i in range(runs):
        run = same[i]
        if newest[run] >= 0:
            next_[newest[run]] = i
        newest[run] = i
        while True:
            after = np.int32(run) if back[run] < 0 else next_[back[run]]
            if after < 0 or after + words > i:
                break
            back[run] = after
        if run != i:  # those of the first one are in documents
            origin[i], latest[i], holders[i] = origin[run], latest[run], holders[run]
        if back[run] >= 0:
            latest[i] = itself | np.uint64(back[run])
            if origin[i] == NONE:
                origin[i] = itself | np.uint64(run)


@inner
def _reach(tokens, start, words, stored, position):
    """Return how many runs, from ``start`` on, stand so at another position."""
    others, begins, _ = stored
    row, token = np.int64(position >> np.uint64(32)), np.int64(position & TOKEN)
    itself = row == begins.shape[0] - 1
    i = start
    if itself:
        while i < tokens.shape[0] and tokens[i] == tokens[token + i - start]:
            i += 1
    else:
        at, end = begins[row] + token - start, begins[row + 1]
        while i < tokens.shape[0] and at + i < end and tokens[i] == others[at + i]:
            i += 1
    return max(np.int64(0), i - start - words + 1)


@kernel
def grow_copied(texts, which, words, stored, positions, out):
    """Join the repeated runs of some texts to passages; return how many there are.

    Args:
        texts: As for `positions_of_runs`: tokens, begins, and keys.
        which: The texts that are looked at: the first, and the one after the last.
        words: Tokens of a run.
        stored: Documents, as ``texts``.
        positions: As `positions_of_runs` fills them.
        out: uint64[runs, 6] for the text of each passage, its first token, its tokens, its source,
            its origin, and the smallest number of documents that have one of its runs.
    """
    count = np.int64(0)
    for d in range(which[0], which[1]):
        first, last = texts[1][d], texts[1][d + 1]
        runs = last - first - words + 1
        tokens = texts[0][first:last]
        origin, latest = positions[0][first:last], positions[1][first:last]
        holders = positions[2][first:last]
        start = np.int64(0)
        while start < runs:
            if latest[start] == NONE:
                start += 1
                continue
            source, reach = _source(tokens, start, words, stored, origin, latest)
            least = holders[start]
            for i in range(start, start + reach):
                least = min(least, holders[i])
            out[count, 0], out[count, 1] = np.uint64(d), np.uint64(start)
            out[count, 2], out[count, 3] = np.uint64(reach + words - 1), source
            out[count, 4], out[count, 5] = origin[start], np.uint64(least)
            count += 1
            start += reach
    return count


@inner
def _source(tokens, start, words, stored, origin, latest):
    """Return the source of the passage that begins with a run, and how many runs it has."""
    runs = tokens.shape[0] - words + 1
    source = latest[start]
    reach = _reach(tokens, start, words, stored, source)
    if origin[start] != source:
        further = _reach(tokens, start, words, stored, origin[start])
        if further > reach:
            source, reach = origin[start], further
    while start + reach < runs and latest[start + reach] != NONE:
        best, longest = source, reach
        for which in range(2):
            there = latest[start + reach] if which == 0 else origin[start + reach]
            if there & TOKEN < np.uint64(reach):
                continue
            there -= np.uint64(reach)
            found = _reach(tokens, start, words, stored, there)
            if found > longest or (found == longest and found > reach and there > best):
                best, longest = there, found
        if longest == reach:
            break
        source, reach = best, longest
    return source, reach


@kernel
def longest_shared(texts, others, pairs, words, out):
    """Find the longest run of tokens that two texts share, however long, of each of some pairs.

    Of equally long ones it is the first in the first text, and where it is first in the other. A
    longer run begins where a shared one begins: most lengths are tried in a small part of a text.

    Args:
        texts: Tokens uint64[tokens], and where each text begins int64[texts + 1].
        others: The same of the others.
        pairs: int64[pairs, 2]: a text, and one of the others.
        words: Tokens that are tried first.
        out: int64[pairs, 3] for the tokens of the run, and where it begins in both; 0 for none.
    """
    for k in range(pairs.shape[0]):
        d, e = pairs[k, 0], pairs[k, 1]
        a = texts[0][texts[1][d] : texts[1][d + 1]]
        b = others[0][others[1][e] : others[1][e + 1]]
        size, first, there = _longest(a, b, np.int64(words), False)
        if not _equal(a, first, b, there, size):  # different runs have equal hashes: hardly ever
            size, first, there = _longest(a, b, np.int64(words), True)
        out[k, 0], out[k, 1], out[k, 2] = size, first, there


@inner
def _longest(a, b, words, sure):
    """Return a row of `longest_shared`; hashes decide, or else tokens are compared: ``sure``."""
    # A run of ``low`` tokens is shared and none of ``high``; begins are in a range.
    low, high = np.int64(0), np.int64(min(a.shape[0], b.shape[0]) + 1)
    begin, end = np.int64(0), np.int64(a.shape[0])
    size, step, known = min(words, high - 1), np.int64(1), np.int64(0)
    first = there = np.int64(0)
    failed = False
    while high - low > 1:
        one, last, other, longest = _shared_runs(a, begin, end, b, size, sure)
        if one >= 0:
            low = longest
            begin, end = one, last + 1
            if longest == size:
                first, there, known = one, other, size
        else:
            high, failed = size, True
        size = (low + high) >> 1 if failed else min(low + step, high - 1)
        step *= 2
    if known != low:
        first, _, there, _ = _shared_runs(a, begin, end, b, low, sure)
    return low, first, there


@inner
def _shared_runs(a, begin, end, b, words, sure):
    """Look for the runs of ``a`` that begin in a range, and that ``b`` has.

    Returns:
        The first and the last of them, where the first is first in ``b``, and the tokens of the
        longest row of such runs that is seen to be in both; -1 for none.
    """
    nothing = np.int64(-1)
    count = min(end, a.shape[0] - words + 1) - begin
    if count <= 0:
        return nothing, nothing, nothing, nothing
    compared = words if sure else np.int64(0)
    keys = np.empty(b.shape[0], np.uint64)
    run_keys(b, np.array([0, b.shape[0]]), words, keys)
    table = _first_runs(b, keys, compared, np.empty(b.shape[0] - words + 1, np.int32))
    part = a[begin : begin + count + words - 1]
    asked = np.empty(part.shape[0], np.uint64)
    run_keys(part, np.array([0, part.shape[0]]), words, asked)
    first = last = there = longest = follows = nothing
    row = np.int64(0)
    for i in range(count):
        run = np.int64(table[_slot(table, keys, asked[i], b, part, i, compared, follows)])
        if run < 0:
            follows = nothing
            continue
        row = row + 1 if run == follows else np.int64(1)
        follows = run + 1
        if first < 0:
            first, there = begin + i, run
        last = begin + i
        longest = max(longest, row + words - 1)
    return first, last, there, longest
