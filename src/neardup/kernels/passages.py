"""Runs of words that occur earlier: anchors that rule out, hashes that decide, passages that grow.

A *run* is ``words`` consecutive tokens. A *position* is ``document << 32 | token``: positions are
ordered as documents in keep order, then as tokens. See ``docs/method.md``, "Passages".
"""

import numpy as np
from numba import njit

from neardup.kernels.bits import TOKEN_LENGTH, TOKEN_MULTIPLIER, mix

#: No position.
NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_OTHER = np.uint64(0xD6E8FEB86659FD93)
_PRIME = np.uint64((1 << 61) - 1)
_BASE = np.uint64(0x0A3B1C9D7E5F2468)
_LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def window_anchors(tokens, offsets, gram, window, keys, since, counts):
    """Select the anchors of each document; return how many there are.

    The anchor of a run is the leftmost of its ``window`` grams of ``gram`` tokens with the smallest
    hash: a function of the tokens of the run alone, so that equal runs have equal anchors. A run
    has ``gram + window - 1`` tokens; shorter documents have no anchor.

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
    longest = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    hashes = np.empty(longest, dtype=np.uint64)
    count = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        first = offsets[d]
        grams = offsets[d + 1] - first - gram + 1
        before = count
        if grams >= window:
            h = np.uint64(0)
            for i in range(gram):
                h = h * TOKEN_MULTIPLIER + tokens[first + i]
            hashes[0] = mix(h)
            for i in range(1, grams):
                gone = tokens[first + i - 1] * top
                h = h * TOKEN_MULTIPLIER + (tokens[first + i + gram - 1] - gone)
                hashes[i] = mix(h)
            best = np.int64(-1)
            smallest = np.uint64(0)
            for end in range(window - 1, grams):
                start = end - window + 1
                chosen = best
                if best < start:
                    chosen, smallest = start, hashes[start]
                    for i in range(start + 1, end + 1):
                        if hashes[i] < smallest:
                            chosen, smallest = i, hashes[i]
                elif hashes[end] < smallest:
                    chosen, smallest = end, hashes[end]
                if chosen != best:
                    best = chosen
                    keys[count], since[count] = mix(smallest), start
                    count += 1
        counts[d] = count - before
    return count


@njit(cache=True, nogil=True)
def mark(bits, anchors):
    """Set the bits of some anchors.

    Args:
        bits: uint8[]: a bit for each anchor.
        anchors: int64[]: numbers of anchors.
    """
    for anchor in anchors:
        bits[anchor >> 3] |= np.uint8(1 << (anchor & 7))


@njit(cache=True, nogil=True)
def _times(a, b):
    """Return the product of two numbers below 2**61 - 1, modulo that prime."""
    thirty_two, twenty_nine = np.uint64(32), np.uint64(29)
    a_high, a_low = a >> thirty_two, a & _LOW
    b_high, b_low = b >> thirty_two, b & _LOW
    middle = a_high * b_low + a_low * b_high  # below 2**62
    low = a_low * b_low
    # 2**64 is 8 and 2**61 is 1 modulo the prime.
    total = (a_high * b_high) * np.uint64(8)
    total = (total & _PRIME) + (total >> np.uint64(61))
    total += (middle >> twenty_nine) + ((middle << thirty_two) & _PRIME)
    total += (low & _PRIME) + (low >> np.uint64(61))
    total = (total & _PRIME) + (total >> np.uint64(61))
    return total - _PRIME if total >= _PRIME else total


@njit(cache=True, nogil=True)
def _reduced(token):
    token = (token & _PRIME) + (token >> np.uint64(61))
    return token - _PRIME if token >= _PRIME else token


@njit(cache=True, nogil=True)
def runs_of_anchors(tokens, offsets, numbers, anchors, words, high, low, position, key):
    """Hash the runs of anchors that are marked; return how many there are.

    Args:
        tokens: uint64[tokens] of all documents.
        offsets: int64[documents + 1] into ``tokens``.
        numbers: int64[documents], in keep order.
        anchors: Keys uint64[anchors], first runs int32[anchors], number of them in each document
            int32[documents], and bool[anchors], which are marked.
        words: Tokens of a run.
        high: uint64[runs] for the first 64 bits of the hash: a polynomial modulo 2**61 - 1, mixed.
        low: uint64[runs] for the other 64: a polynomial modulo 2**64 with another base, mixed.
        position: uint64[runs] for the position of each run.
        key: uint64[runs] for the key of its anchor, so that equal runs have equal keys.
    """
    keys, since, counts, marked = anchors
    power, top = np.uint64(1), np.uint64(1)
    for _ in range(words):
        power *= _OTHER
        top = _times(top, _BASE)
    salt = np.uint64(words) * TOKEN_LENGTH
    count = np.int64(0)
    anchor = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        start = offsets[d]
        document = np.uint64(numbers[d]) << np.uint64(32)
        done = np.int64(-2)  # the run whose hashes are a and b
        a, b = np.uint64(0), np.uint64(0)
        last = anchor + counts[d]
        while anchor < last:
            end = offsets[d + 1] - start - words + 1
            if anchor + 1 < last:
                end = np.int64(since[anchor + 1])
            if marked[anchor]:
                for i in range(np.int64(since[anchor]), end):
                    if done == i - 1:
                        gone, new = tokens[start + i - 1], tokens[start + i + words - 1]
                        b = b * _OTHER + (new - gone * power)
                        a = _reduced(_times(a, _BASE) + _reduced(new))
                        a = _reduced(a + _PRIME - _times(_reduced(gone), top))
                    else:
                        a, b = np.uint64(0), np.uint64(0)
                        for j in range(start + i, start + i + words):
                            b = b * _OTHER + tokens[j]
                            a = _reduced(_times(a, _BASE) + _reduced(tokens[j]))
                    done = i
                    high[count], low[count] = mix(a ^ salt), mix(b ^ salt)
                    position[count] = document | np.uint64(i)
                    key[count] = keys[anchor]
                    count += 1
            anchor += 1
    return count


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _document(position):
    return np.int64(position >> np.uint64(32))


@njit(cache=True, nogil=True)
def _is_earlier(source, position, words):
    """Whether a run at an earlier position is the source of a later one: does not overlap it."""
    if _document(source) < _document(position):
        return True
    return (source & _LOW) + np.uint64(words) <= (position & _LOW)


@njit(cache=True, nogil=True)
def sources_of_runs(rows, starts, low, position, words, groups, found):
    """Find the earlier positions of each run, and how many documents have it.

    Args:
        rows: int32[], rows of equal ``high`` hashes, each list in ascending order of position;
            those whose ``low`` hash differs are taken apart, in place.
        starts: int32[lists + 1] into ``rows``.
        low: uint64[n], the second half of the hash of each row.
        position: uint64[n], ascending.
        words: Tokens of a run.
        groups: Group of each document int32[documents], -1 for none; whether sources are in
            other groups (else in the same one); documents from which on groups don't count for a
            run; working memory int64[3, groups] of -1. Without groups: no documents.
        found: Four arrays: uint64[n] for the first position of an equal run, `NONE` where there is
            no other; uint64[n] for the first earlier position, and for the latest one, `NONE` where
            there is none; uint32[n] for the number of documents with an equal run.
    """
    for part in range(starts.shape[0] - 1):
        begin, end = np.int64(starts[part]), np.int64(starts[part + 1])
        while begin < end:
            stop = _equal(rows, begin, end, low)
            if stop - begin > 1:
                _sources(rows, begin, stop, position, words, found)
                if groups[0].shape[0] > 0 and found[3][rows[begin]] < groups[2]:
                    _sources_in_groups(rows, begin, stop, position, words, groups, found)
            begin = stop


@njit(cache=True, nogil=True)
def _equal(rows, begin, end, low):
    """Bring the rows with the same ``low`` hash as the first to the front; return their end."""
    value = low[rows[begin]]
    stop = begin + 1
    while stop < end and low[rows[stop]] == value:
        stop += 1
    for i in range(stop + 1, end):  # two halves of a hash that differ: hardly ever
        row = rows[i]
        if low[row] == value:
            for j in range(i, stop, -1):
                rows[j] = rows[j - 1]
            rows[stop] = row
            stop += 1
    return stop


@njit(cache=True, nogil=True)
def _sources(rows, begin, end, position, words, found):
    first, origin, latest, documents = found
    start = position[rows[begin]]
    count = np.uint32(0)
    before = np.int64(-1)
    back = begin  # the first row that may overlap the one at hand
    for i in range(begin, end):
        row = rows[i]
        here = position[row]
        if _document(here) != before:
            before = _document(here)
            count += np.uint32(1)
        while back < i and _is_earlier(position[rows[back]], here, words):
            back += 1
        first[row] = start
        origin[row] = start if back > begin else NONE
        latest[row] = position[rows[back - 1]] if back > begin else NONE
    for i in range(begin, end):
        documents[rows[i]] = count


@njit(cache=True, nogil=True)
def _sources_in_groups(rows, begin, end, position, words, groups, found):
    """Find origins and latest sources again, among the documents of the same or other groups."""
    group, others, _, table = groups
    _, origin, latest, _ = found
    # Of other groups: the first and the last row so far, and those of a second group.
    ends = np.full((2, 2), -1, dtype=np.int64)
    of = np.full((2, 2), -1, dtype=np.int64)
    i = begin
    while i < end:
        document = _document(position[rows[i]])
        value = group[document]
        stop = i + 1
        while stop < end and _document(position[rows[stop]]) == document:
            stop += 1
        back = i
        for k in range(i, stop):
            row = rows[k]
            here = position[row]
            a = b = np.int64(-1)
            if others and value >= 0:
                a = ends[0, 0] if of[0, 0] != value else ends[0, 1]
                b = ends[1, 0] if of[1, 0] != value else ends[1, 1]
            elif value >= 0:
                while back < k and _is_earlier(position[rows[back]], here, words):
                    back += 1
                if table[0, value] == begin:
                    a, b = table[1, value], table[2, value]
                elif back > i:
                    a = i
                b = back - 1 if back > i else b
            origin[row] = position[rows[a]] if a >= 0 else NONE
            latest[row] = position[rows[b]] if b >= 0 else NONE
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


@njit(cache=True, nogil=True)
def join_segments(segments):
    """Join segments of runs that continue one another, in place; return how many are left.

    Runs of a segment are at consecutive positions, and so are their sources; as many documents have
    each.

    Args:
        segments: Position of the first run uint64[n], ascending; number of runs uint32[n]; first
            position of an equal run, first earlier and latest earlier position of the first run,
            uint64[n], see `sources_of_runs`; documents uint32[n].
    """
    position, runs, first, origin, latest, documents = segments
    last = np.int64(-1)
    for i in range(position.shape[0]):
        if last >= 0:
            step = np.uint64(runs[last])
            repeated = latest[i] != NONE
            if (
                position[i] == position[last] + step
                and first[i] == first[last] + step
                and documents[i] == documents[last]
                and repeated == (latest[last] != NONE)
                and (
                    not repeated
                    or (latest[i] == latest[last] + step and origin[i] == origin[last] + step)
                )
            ):
                runs[last] += runs[i]
                continue
        last += 1
        position[last], runs[last], first[last] = position[i], runs[i], first[i]
        origin[last], latest[last], documents[last] = origin[i], latest[i], documents[i]
    return last + 1


@njit(cache=True, nogil=True)
def _segment_of(position, runs, wanted):
    """Return the segment that has the run at a position; -1 where none has."""
    low, high = np.int64(0), np.int64(position.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if position[middle] <= wanted:
            low = middle + 1
        else:
            high = middle
    if low > 0 and wanted < position[low - 1] + np.uint64(runs[low - 1]):
        return low - 1
    return np.int64(-1)


@njit(cache=True, nogil=True)
def _is_common(documents, row, boilerplate):
    return boilerplate > 0 and documents[row] >= boilerplate


@njit(cache=True, nogil=True)
def _reach(table, row, end, start, source, boilerplate):
    """Return how many runs, from that at ``start`` on, are repeated and stand so at a source.

    ``row`` is the segment with the run at ``start``.
    """
    position, runs, first, _, latest, documents = table
    reach = np.uint64(0)
    at = _segment_of(position, runs, source)
    if at < 0:
        return reach
    common = _is_common(documents, row, boilerplate)
    total = position.shape[0]
    while latest[row] != NONE and _is_common(documents, row, boilerplate) == common:
        here, there = start + reach - position[row], source + reach - position[at]
        if first[row] + here != first[at] + there:
            break
        step = min(np.uint64(runs[row]) - here, np.uint64(runs[at]) - there)
        reach += step
        if here + step == np.uint64(runs[row]):
            row += 1
            if row >= end or position[row] != start + reach:
                break
        if there + step == np.uint64(runs[at]):
            at += 1
            if at >= total or position[at] != source + reach:
                break
    return reach


@njit(cache=True, nogil=True)
def grow(table, begin, end, rule, boilerplate, out):
    """Join the repeated runs of some documents to passages, as many as there is space for.

    Args:
        table: Segments of runs, see `join_segments`; none can be joined to the one before.
        begin: The run to begin with: its segment, and its position, or 0 for that of the segment.
        end: Segment after the last one that is looked at; documents are complete.
        rule: Which source: 0 the one that reaches furthest, 1 the latest, 2 the first.
        boilerplate: Documents from which on a run is boilerplate; 0 for never.
        out: uint64[passages, 6] for position, number of runs, source, origin, documents, and a hash
            of the text of boilerplate, else 0.

    Returns:
        Number of passages, and where to continue: segment, ``end`` if all is done, and position.
    """
    position, runs, first, origin, latest, documents = table
    count = np.int64(0)
    row, start = np.int64(begin[0]), np.uint64(begin[1])
    while row < end and count < out.shape[0]:
        start = max(start, position[row])
        if latest[row] == NONE:
            row += 1
            continue
        inside = start - position[row]
        source = (origin[row] if rule == 2 else latest[row]) + inside
        reach = _reach(table, row, end, start, source, boilerplate)
        if rule == 0:
            other = origin[row] + inside
            if other != source:
                further = _reach(table, row, end, start, other, boilerplate)
                if further > reach:
                    source, reach = other, further
            while True:
                source, grown = _furthest(table, row, end, start, source, reach, boilerplate)
                if grown == reach:
                    break
                reach = grown
        out[count, 0], out[count, 1] = start, reach
        out[count, 2], out[count, 3] = source, origin[row] + inside
        least, text = documents[row], np.uint64(0)
        common = _is_common(documents, row, boilerplate)
        stop = start + reach
        while True:
            least = min(least, documents[row])
            size = np.uint64(runs[row])
            if common:
                for k in range(start - position[row], min(size, stop - position[row])):
                    text = mix(text ^ (first[row] + np.uint64(k)))
            start = min(stop, position[row] + size)
            if start == position[row] + size:
                row += 1
            if start == stop:
                break
        out[count, 4], out[count, 5] = np.uint64(least), text
        count += 1
    return count, row, start


@njit(cache=True, nogil=True)
def _furthest(table, row, end, start, source, reach, boilerplate):
    """Return (source, reach) after the sources of the run just behind a passage were tried."""
    position, runs, _, origin, latest, documents = table
    best, longest, behind = source, reach, start + reach
    k = row
    while k < end and position[k] + np.uint64(runs[k]) <= behind:
        k += 1
    if k >= end or position[k] > behind or latest[k] == NONE:
        return best, longest
    if _is_common(documents, k, boilerplate) != _is_common(documents, row, boilerplate):
        return best, longest
    for which in range(2):
        there = (latest[k] if which == 0 else origin[k]) + (behind - position[k])
        if there & _LOW < reach:
            continue
        there -= reach
        found = _reach(table, row, end, start, there, boilerplate)
        if found > longest or (found == longest and found > reach and there > best):
            best, longest = there, found
    return best, longest


@njit(cache=True, nogil=True)
def share_words(passages, starts, tokens, words, boilerplate, gained, copied, common):
    """Count the words of each document that are copied, each for one passage.

    A word belongs to boilerplate if it is in one, else to the passage that starts first.

    Args:
        passages: uint64[passages, 6] as `grow` writes them.
        starts: int64[documents + 1] into ``passages``.
        tokens: int32[documents], the number of tokens of each.
        words: Tokens of a run.
        boilerplate: Documents from which on a run is boilerplate; 0 for never.
        gained: int32[passages] for the words that a passage has.
        copied: int32[documents] for the copied words, without boilerplate.
        common: int32[documents] for the words of boilerplate.
    """
    longest = np.int64(0)
    for d in range(starts.shape[0] - 1):
        longest = max(longest, np.int64(tokens[d]))
    taken = np.zeros(longest, dtype=np.bool_)
    for d in range(starts.shape[0] - 1):
        taken[: tokens[d]] = False
        copied[d] = common[d] = 0
        for kind in range(2):
            for k in range(starts[d], starts[d + 1]):
                is_common = boilerplate > 0 and np.int64(passages[k, 4]) >= boilerplate
                if is_common != (kind == 0):
                    continue
                first = np.int64(passages[k, 0] & _LOW)
                count = 0
                for i in range(first, first + np.int64(passages[k, 1]) + words - 1):
                    count += not taken[i]
                    taken[i] = True
                gained[k] = count
                if kind == 0:
                    common[d] += count
                else:
                    copied[d] += count


@njit(cache=True, nogil=True)
def character_offsets(data, offsets, spans, token_offsets, rows, ends, out):
    """Find where tokens begin and end in their texts, in code points.

    Args:
        data: uint8[], valid UTF-8.
        offsets: int64[documents + 1] into ``data``.
        spans: First byte of each token and the byte after its last one, int64[tokens] each.
        token_offsets: int64[documents + 1] into ``spans``.
        rows: int64[asked], document of each end that is asked for, ascending.
        ends: int64[asked], ascending within a document: twice the token, plus 1 for its end.
        out: int64[asked] for the code points before that end in the text.
    """
    before = np.int64(-1)
    at = characters = np.int64(0)
    for i in range(rows.shape[0]):
        d = rows[i]
        if d != before:
            before, at, characters = d, offsets[d], np.int64(0)
        token = token_offsets[d] + (ends[i] >> 1)
        byte = spans[1][token] if ends[i] & 1 else spans[0][token]
        while at < byte:
            characters += np.int64((data[at] & 0xC0) != 0x80)
            at += 1
        out[i] = characters


@njit(cache=True, nogil=True)
def bridge(passages, sources, gap, numbers):
    """Number passages that are joined over a few changed words; return the changed words.

    Args:
        passages: uint64[passages, 2], position and words, ascending.
        sources: uint64[passages], position of the source.
        gap: Words between two passages at most, in the document and in the source.
        numbers: int64[passages] for the number of the joined ones, from 0; -1 for a passage alone.

    Returns:
        int64[passages]: changed words before each passage.
    """
    changed = np.zeros(passages.shape[0], dtype=np.int64)
    number = np.int64(-1)
    for i in range(passages.shape[0]):
        numbers[i] = -1
        if i == 0 or _document(passages[i, 0]) != _document(passages[i - 1, 0]):
            continue
        if _document(sources[i]) != _document(sources[i - 1]) or sources[i] < sources[i - 1]:
            continue
        words = np.int64(passages[i - 1, 1])
        here = np.int64(passages[i, 0] - passages[i - 1, 0]) - words
        there = np.int64(sources[i] - sources[i - 1]) - words
        if here > gap or there > gap:
            continue
        if numbers[i - 1] < 0:
            number += 1
            numbers[i - 1] = number
        numbers[i] = number
        changed[i] = max(np.int64(0), here)
    return changed


@njit(cache=True, nogil=True)
def last_sources(passages, words, source, cuts, cut_words, dropped, lost, needed):
    """Follow the sources of cut words to a word that is not cut, and see whether it is left out.

    A word is cut if it is in one of the rows ``cuts``. Its source is that of the passage that
    starts first among those that cover it.

    Args:
        passages: uint64[passages], first word of each: document << 32 | word, ascending.
        words: int64[passages].
        source: uint64[passages]: position of the source of the first word.
        cuts: uint64[rows], first word of each row that is cut, ascending, without overlap.
        cut_words: int64[rows].
        dropped: bool[documents] that are left out.
        lost: int64[documents] for the words of each that are cut and stand nowhere any more.
        needed: bool[documents] to mark those left out that have the only occurrence of cut words.
    """
    for r in range(cuts.shape[0]):
        d = np.int64(cuts[r] >> np.uint64(32))
        if dropped[d]:
            continue
        for i in range(cut_words[r]):
            at = cuts[r] + np.uint64(i)
            while True:
                row = np.searchsorted(cuts, at, side="right") - 1
                if row < 0 or at >= cuts[row] + np.uint64(cut_words[row]):
                    break
                k = np.searchsorted(passages, at, side="right") - 1
                # Passages overlap: the first that covers the word.
                while k > 0 and passages[k - 1] + np.uint64(words[k - 1]) > at:
                    k -= 1
                at = source[k] + (at - passages[k])
            last = np.int64(at >> np.uint64(32))
            if dropped[last]:
                lost[d] += 1
                needed[last] = True
