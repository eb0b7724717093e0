"""Anchors of runs: an anchor that no other one equals rules out its runs."""

import numpy as np

from neardup.kernels.bits import TOKEN_MULTIPLIER, mix
from neardup.kernels.compiling import inner, kernel

#: A row has the number of an anchor, and at `COUNT` how many more follow that equal it, at most
#: `MOST`.
NUMBER, COUNT, MOST = np.int64((1 << 40) - 1), np.int64(40), np.int64((1 << 21) - 1)
#: Marks of rows with a key that others have, at `MARK`: each run of the anchor has a hash; or all
#: together have one, if others have the same tokens; or one of these, the leader, has both.
RUNS, TOGETHER, LEADER, MARK = np.int64(1), np.int64(2), np.int64(3), np.int64(61)
#: Rows with the same key whose tokens are compared, each with all others. Hashes of 61 bits don't
#: suffice for all pairs of a large corpus: of more rows, only the most frequent tokens are looked
#: for.
COMPARED = np.int64(64)


@kernel
def window_anchors(tokens, offsets, gram, window, keys, since, counts):
    """Select the anchors of each document; return how many there are.

    The anchor of a run is the leftmost of its ``window`` grams of ``gram`` tokens with the smallest
    hash. It depends only on the tokens of the run: equal runs have equal anchors. A run has
    ``gram + window - 1`` tokens; shorter documents have no anchor.

    Args:
        tokens: uint64[tokens] of all documents.
        offsets: int64[documents + 1] into ``tokens``.
        gram: Tokens of a gram.
        window: Grams of a run.
        keys: uint64[tokens] for the hash of each anchor.
        since: int32[tokens] for the first run that has it; the runs up to the next one's have it.
        counts: int32[documents] for the number of anchors.
    """
    top = np.uint64(1)
    for _ in range(gram):
        top *= TOKEN_MULTIPLIER
    size = np.int64(1)
    while size < window:
        size *= 2
    hashes = np.empty(size, dtype=np.uint64)  # of the last grams
    count = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        before = count
        text = tokens[offsets[d] : offsets[d + 1]]
        count = _select(text, (gram, window, top), hashes, (keys, since), count)
        counts[d] = count - before
    return count


@inner
def _select(tokens, grams, hashes, out, count):
    """Select the anchors of a document, behind ``count`` others; return how many there are then."""
    gram, window, top = grams
    keys, since = out
    ring = hashes.shape[0] - 1
    count_of_grams = np.int64(tokens.shape[0]) - gram + 1
    if count_of_grams < window:
        return count
    h = np.uint64(0)
    for i in range(gram):
        h = h * TOKEN_MULTIPLIER + tokens[i]
    hashes[0] = mix(h)
    best, smallest = np.int64(-1), np.uint64(0)
    for end in range(count_of_grams):
        if end > 0:
            gone = tokens[end - 1] * top
            h = h * TOKEN_MULTIPLIER + (tokens[end + gram - 1] - gone)
            hashes[end & ring] = mix(h)
        start = end - window + 1
        if start < 0:
            continue
        chosen = best
        if best < start:
            chosen, smallest = start, hashes[start & ring]
            for i in range(start + 1, end + 1):
                if hashes[i & ring] < smallest:
                    chosen, smallest = i, hashes[i & ring]
        elif hashes[end & ring] < smallest:
            chosen, smallest = end, hashes[end & ring]
        if chosen != best:
            best = chosen
            keys[count], since[count] = mix(smallest), start
            count += 1
    return count


@kernel
def join_anchors(keys, contents, first, out):
    """Turn anchors to rows; from the third equal one on, one is counted in the row before it.

    So a document of zeros is two rows.

    Args:
        keys: uint64[anchors], consecutive ones.
        contents: uint64[anchors], a hash of all tokens of each.
        first: Number of the first one.
        out: Keys uint64[anchors], rows int64[anchors], see `NUMBER`, and contents uint64[anchors].

    Returns:
        Number of rows.
    """
    to_keys, rows, to_contents = out
    count = np.int64(0)
    for i in range(keys.shape[0]):
        key, content = keys[i], contents[i]
        is_equal = count > 1 and to_keys[count - 2] == to_keys[count - 1] == key
        if is_equal and to_contents[count - 1] == content and rows[count - 1] >> COUNT < MOST:
            rows[count - 1] += np.int64(1) << COUNT
            continue
        to_keys[count], rows[count], to_contents[count] = key, first + i, content
        count += 1
    return count


@kernel
def equal_contents(members, starts, contents, rows, found):
    """Mark the rows to read again, of those with equal keys.

    Where all have equal tokens, they are `TOGETHER`. Else one of those with
    equal tokens is the `LEADER`, the first in the input, and the others are `TOGETHER`; rows whose
    tokens no other one has get `RUNS`.

    Args:
        members: int32[], rows with equal keys, each list in a row.
        starts: int32[lists + 1] into ``members``.
        contents: uint64[n], a hash of all tokens of each.
        rows: int64[n], see `NUMBER`.
        found: int64[n] for these, plus their mark << `MARK`.

    Returns:
        Number of rows.
    """
    count = np.int64(0)
    values = np.empty(COMPARED, dtype=np.uint64)
    for part in range(starts.shape[0] - 1):
        begin, end = np.int64(starts[part]), np.int64(starts[part + 1])
        alike, content = True, contents[members[begin]]
        first = count
        for i in range(begin, end):
            row, value = rows[members[i]], contents[members[i]]
            alike = alike and value == content
            if count - first < COMPARED:
                values[count - first] = value
            found[count] = row
            count += 1
        if alike:
            for i in range(first, count):
                found[i] |= TOGETHER << MARK
        elif count - first <= COMPARED:
            _lead_each(values, found[first:count])
        else:
            _lead_most(contents, members[begin:end], found[first:count])
    return count


@inner
def _lead_each(values, rows):
    """Mark rows by their contents, each compared with the others."""
    for i in range(rows.shape[0]):
        if rows[i] >> MARK:
            continue
        leader, others = i, np.int64(0)
        for k in range(i + 1, rows.shape[0]):
            if values[k] == values[i]:
                others += 1
                leader = k if rows[k] & NUMBER < rows[leader] & NUMBER else leader
        _lead(rows, values, values[i], i, leader if others > 0 else np.int64(-1))


@inner
def _lead(rows, values, value, first, leader):
    """Mark the rows of a value, from the first one on; without a leader there is a single one."""
    if leader < 0 and rows[first] >> COUNT & MOST == 0:
        rows[first] |= RUNS << MARK
        return
    for k in range(first, rows.shape[0]):
        if values[k] == value:
            rows[k] |= (LEADER if k == leader or leader < 0 else TOGETHER) << MARK


@inner
def _lead_most(contents, members, found):
    """Mark rows, of which those with the most frequent contents have a leader."""
    # The one that more than a half has, if there is one.
    value, votes = np.uint64(0), np.int64(0)
    for row in members:
        if votes == 0:
            value = contents[row]
        votes += 1 if contents[row] == value else -1
    leader = np.int64(-1)
    for at in range(members.shape[0]):
        is_one = contents[members[at]] == value
        found[at] |= (TOGETHER if is_one else RUNS) << MARK
        if is_one and (leader < 0 or found[at] & NUMBER < found[leader] & NUMBER):
            leader = at
    if leader >= 0:
        found[leader] |= LEADER << MARK


@kernel
def mark(bits, rows):
    """Set the marks of some anchors; return how many there are.

    Args:
        bits: uint8[]: two bits for each anchor.
        rows: int64[]: as `equal_contents` marks them.
    """
    total = np.int64(0)
    for row in rows:
        bit, value = 2 * (row & NUMBER), row >> MARK
        count = row >> COUNT & MOST
        for _ in range(count + 1):
            bits[bit >> 3] |= np.uint8(value << (bit & 7))
            bit += 2
            value = min(value, TOGETHER)  # a leader leads the others as well
        total += count + 1
    return total


@kernel
def read_marks(bits, first, found):
    """Read the marks of consecutive anchors.

    Args:
        bits: uint8[], as `mark` sets them.
        first: Number of the first anchor.
        found: uint8[anchors] for the marks.
    """
    for i in range(found.shape[0]):
        bit = 2 * (first + i)
        found[i] = bits[bit >> 3] >> (bit & 7) & 3


@kernel
def divide(keys, parts, order, ends):
    """Sort rows into parts by their keys, stably.

    Args:
        keys: uint64[n], which fill their range evenly.
        parts: Number of parts.
        order: int64[n] for the rows of part 0, then those of part 1, and so on.
        ends: int64[parts + 1] for where each part begins, and the end.
    """
    ends[:] = 0
    parts = np.uint64(parts)
    for key in keys:
        ends[np.int64(key % parts) + 1] += 1
    for part in range(ends.shape[0] - 1):
        ends[part + 1] += ends[part]
    fill = ends.copy()
    for row in range(keys.shape[0]):
        part = np.int64(keys[row] % parts)
        order[fill[part]] = row
        fill[part] += 1


@kernel
def with_anchors(keys, counts, known, found):
    """Mark the documents that have one of some anchors.

    Args:
        keys: uint64[anchors] of all documents.
        counts: int32[documents], the number of anchors of each.
        known: Those that are looked for: uint64[] in ascending order, each once; where those with
            the same leading bits begin int32[2**k + 1]; and the shift that gives these bits.
        found: bool[documents], is filled.
    """
    values, heads, shift = known
    first = np.int64(0)
    for d in range(counts.shape[0]):
        found[d] = False
        last = first + counts[d]
        for i in range(first, last):
            head = np.int64(keys[i] >> shift)
            at, end = heads[head], heads[head + 1]
            while at < end and values[at] < keys[i]:
                at += 1
            if at < end and values[at] == keys[i]:
                found[d] = True
                break
        first = last
