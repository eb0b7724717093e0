"""Stretches of documents that stand in one before: templates, by the first pass over the texts.

They are looked for among some hundred kB of tokens, *fragments* of earlier documents whose anchors
were seen twice. Others are left to the second pass.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiling import inner, kernel
from neardup.kernels.passages.anchoring import COUNT, DONE, MOST, NUMBER, gram_key
from neardup.kernels.passages.positions import TOKEN

_ONE = np.uint64(1)
#: More than the runs of a document.
_FAR = np.int64(1 << 40)
#: Tokens that are compared together.
_STEP = 8
#: Tokens next to a stretch that many documents have, with all others of a gram in it.
_FEW = 2


class Known(NamedTuple):
    """Keys of recent anchors, and fragments of documents; made by `no_known`.

    Attributes:
        keys: uint64[slots], slots a power of 2; the lowest bit for those in fragments.
        slots: int32[slots, 3]: of these, the first token of the anchor among those of the
            fragments, its fragment, and its number among their anchors.
        tokens: uint64[]: of the fragments.
        fragments: int64[fragments, 5]: first token and end among these; document and token there;
            first of its anchors.
        anchor_keys: uint64[, 2]: of the fragments, and a hash of all tokens of each.
        anchors: int64[, 3]: number, first token among those of fragments, 1 if it is marked.
        filled: int64[3]: tokens, fragments and anchors so far.
        near: uint64[slots], slots a power of 2: keys of anchors near stretches. They are few, and
            many are equal: of those with a word or two that stand next to a template. All threads
            may share them.
    """

    keys: np.ndarray
    slots: np.ndarray
    tokens: np.ndarray
    fragments: np.ndarray
    anchor_keys: np.ndarray
    anchors: np.ndarray
    filled: np.ndarray
    near: np.ndarray


def no_known(slots: int, tokens: int, near: np.ndarray) -> Known:
    """Return nothing known, with so many slots, a power of 2, and space for so many tokens."""
    return Known(
        np.zeros(slots, np.uint64),
        np.empty((slots, 3), np.int32),
        np.empty(tokens, np.uint64),
        np.empty((max(1, tokens // 16), 5), np.int64),
        np.empty((max(1, tokens // 4), 2), np.uint64),
        np.empty((max(1, tokens // 4), 3), np.int64),
        np.zeros(3, np.int64),
        near,
    )


@kernel
def match_known(tokens, offsets, anchors, begin, size_of, known, space, out):
    """Find the stretches of some documents that are known, and say what becomes of each anchor.

    An anchor of which all runs are in stretches is left out. Of a document with stretches, anchors
    whose key was seen, and those that are in a stretch with some of their runs, have equal ones:
    the runs that are in no stretch are listed, and those of a short gap between two stretches. So
    are those of an anchor near a stretch whose key was seen near another one, or that has a token
    or two next to the stretch and no others: many documents have it. To list a run that no other
    one equals costs its row, no more. All others are left to the second pass.

    Args:
        tokens: uint64[tokens] of all documents.
        offsets: int64[documents + 1] into ``tokens``.
        anchors: Keys uint64[anchors], first runs int32[anchors], number of them in each document
            int32[documents], and a hash of all tokens of each uint64[anchors].
        begin: Numbers of the first document and of its first anchor.
        size_of: Tokens of a run, and of a gram, see `window_anchors`.
        known: Known so far; documents are added.
        space: Working memory: int32[anchors], int32[anchors] and bool[anchors].
        out: Keys uint64[], rows int64[], see `DONE`, and hashes of all tokens uint64[] of the
            anchors that are kept, space for those of the fragments too; keys uint64[], first runs
            int32[], counts int32[documents] and uint8[] of anchors in the form of
            `neardup.kernels.passages.hashing.runs_of_anchors`, of which those are marked that are
            listed; stretches uint64[, 7]: position, position in the fragment, runs, and four that
            stay. A document with n anchors has n stretches and lists 2 n anchors at most; one for
            which there may not be enough space is left to the second pass.

    Returns:
        Rows that are kept, those that are listed or between them, and stretches.
    """
    keys, since, counts, contents = anchors
    words, _ = size_of
    kept_out = out[:3]
    list_keys, list_since, list_counts, listed, stretches = out[3:]
    # One by one: references are counted for each array of a tuple that is passed on.
    known_keys, slots, stored, fragments, of_fragments, known_anchors, filled, near = known
    mask = np.uint64(known_keys.shape[0] - 1)
    # Runs of each anchor that are in no stretch; whether its key was seen.
    low, high, hit = space
    kept = entries = found = anchor = np.int64(0)
    for d in range(offsets.shape[0] - 1):
        start, size = offsets[d], offsets[d + 1] - offsets[d]
        first, last = anchor, anchor + counts[d]
        total = size - words + 1
        before, until = found, np.int64(0)
        fits = found + counts[d] <= stretches.shape[0]
        fits = fits and entries + 2 * counts[d] <= list_keys.shape[0]
        any_hit = is_new = False
        for a in range(first, last):
            low[a] = since[a]
            high[a] = since[a + 1] if a + 1 < last else total
            hit[a] = False
            if high[a] <= until:
                low[a] = high[a]
                continue
            slot = np.int64(keys[a] >> _ONE & mask)
            hit[a] = (known_keys[slot] | _ONE) == (keys[a] | _ONE)
            any_hit |= hit[a]
            is_new |= hit[a] and not known_keys[slot] & _ONE
            if not fits or not hit[a] or low[a] < until or not known_keys[slot] & _ONE:
                continue
            # How far the document is equal to a fragment around the anchor, if all its runs are.
            at, fragment = np.int64(slots[slot, 0]), np.int64(slots[slot, 1])
            here = start + low[a]
            most = min(size - low[a], fragments[fragment, 1] - at)
            length = _equal(tokens, here, stored, at, most)
            if length < high[a] - low[a] + words - 1:
                continue
            most = min(low[a] - until, at - fragments[fragment, 0])
            back = np.int64(0)
            while back < most and tokens[here - back - 1] == stored[at - back - 1]:
                back += 1
            first_run, runs = at - back, length + back - words + 1
            stop = filled[2]
            if fragment + 1 < filled[1]:
                stop = fragments[fragment + 1, 4]
            of = fragments[fragment, 4], np.int64(slots[slot, 2]), stop
            kept = _keep_fragments(
                of_fragments, known_anchors, of, first_run, runs, *kept_out, kept
            )
            there = fragments[fragment, 3] + first_run - fragments[fragment, 0]
            stretches[found, 0] = (begin[0] + d) << 32 | (low[a] - back)
            stretches[found, 1] = fragments[fragment, 2] << 32 | there
            stretches[found, 2] = runs
            until = low[a] - back + runs
            found += 1
        s = before
        entry = entries
        lists = found > before
        # Ends of the stretch before, the one at hand, and the limits of the runs far from both.
        behind, (ahead, end) = -_FAR, _limits(stretches, s, found)
        low_limit, high_limit = _free(behind, ahead, words)
        for a in range(first, last):
            row = keys[a], begin[1] + a, contents[a]
            if not any_hit:
                kept = _keep(row, kept_out, kept)
                continue
            if low[a] == high[a]:
                continue
            left, right = low[a], high[a]
            if end <= left:
                while end <= left:
                    s += 1
                    behind, (ahead, end) = end, _limits(stretches, s, found)
                low_limit, high_limit = _free(behind, ahead, words)
            if not hit[a] and left >= low_limit and right <= high_limit:
                kept = _keep(row, kept_out, kept)
                continue
            for k in range(s, min(s + 2, found)):
                one, other = _limits(stretches, k, found)
                if one <= low[a]:
                    low[a] = min(right, other)
                elif one < right:
                    high[a] = one
            if low[a] >= high[a]:
                continue
            hit[a] |= low[a] > left or high[a] < right
            # A word that differs, in a template: others have it as well.
            hit[a] |= ahead - behind <= 2 * words
            # A gram of half as many words may have some of the template, and a word next to it.
            if lists and not hit[a] and min(low[a] - behind, ahead - high[a]) < words // 2:
                slot = np.int64(keys[a] & np.uint64(near.shape[0] - 1))
                hit[a] = near[slot] == keys[a]
                near[slot] = keys[a]
                if not hit[a]:
                    runs_of = keys[a], left, right
                    hit[a] = _is_next(tokens[start : start + size], runs_of, behind, ahead, size_of)
            if hit[a] and lists:
                row = keys[a], begin[1] + a + DONE, contents[a]
                if (
                    entries > entry
                    and not listed[entries - 1]
                    and list_since[entries - 1] == low[a]
                ):
                    entries -= 1
                list_keys[entries], list_since[entries] = keys[a], low[a]
                listed[entries] = True
                entries += 1
                if high[a] < total:
                    list_keys[entries], list_since[entries] = keys[a], high[a]
                    listed[entries] = False
                    entries += 1
            kept = _keep(row, kept_out, kept)
        list_counts[d] = entries - entry
        if is_new:
            of = (start, begin[0] + d, begin[1], lists)
            _add_fragments(
                tokens, of, (keys, since, contents, low, high, hit), first, last, words, known
            )
        for a in range(first, last):
            if low[a] == high[a]:
                continue
            slot = np.int64(keys[a] >> _ONE & mask)
            if not known_keys[slot] & _ONE:
                known_keys[slot] = keys[a] & ~_ONE
        anchor = last
    return kept, entries, found


@inner
def _keep(row, out, kept):
    """Keep an anchor; from the third equal one on it is counted for the row before.

    So a document of zeros is two rows.
    """
    keys, rows, contents = out
    if kept > 1 and keys[kept - 1] == keys[kept - 2] == row[0] and contents[kept - 1] == row[2]:
        count = rows[kept - 1] >> COUNT & MOST
        is_next = (rows[kept - 1] & NUMBER) + count + 1 == row[1]
        if is_next and count < MOST and rows[kept - 1] < DONE:
            rows[kept - 1] += np.int64(1) << COUNT
            return kept
    keys[kept], rows[kept], contents[kept] = row
    return kept + 1


@inner
def _limits(stretches, s, count):
    """Return the first run of a stretch, and the one behind; far behind all runs if there is none.

    ``count`` is the number of stretches.
    """
    if s >= count:
        return _FAR, _FAR
    first = np.int64(stretches[s, 0] & TOKEN)
    return first, first + np.int64(stretches[s, 2])


@inner
def _free(behind, ahead, words):
    """Return limits of the runs between two stretches that are near none of them; none if all are.

    ``behind`` is the end of the one, ``ahead`` the begin of the other.
    """
    if ahead - behind <= 2 * words:
        return _FAR, -_FAR
    return behind + words // 2, ahead - words // 2


@inner
def _is_next(tokens, anchor, behind, ahead, size_of):
    """Whether an anchor is a gram with a token or two next to a stretch, and all others in it.

    Args:
        tokens: uint64[tokens] of the document.
        anchor: Key, the first of its runs, and the one behind.
        behind: End of the stretch before it.
        ahead: Begin of the next one.
        size_of: Tokens of a run, and of a gram.
    """
    key, low, high = anchor
    words, gram = size_of
    first, last = high - 1, low + words - gram  # it is in all of these runs
    for more in range(1, _FEW + 1):
        at = behind + words - 1 + more - gram
        if first <= at <= last and gram_key(tokens, at, gram) == key:
            return True
        at = ahead - more
        if first <= at <= last and gram_key(tokens, at, gram) == key:
            return True
    return False


@inner
def _equal(one, begin, other, other_begin, most):
    """Return how many tokens from some on are equal, at most so many."""
    at, there, length = np.uint64(begin), np.uint64(other_begin), np.uint64(0)
    step, most = np.uint64(_STEP), np.uint64(most)
    while length + step <= most:
        differ = np.uint64(0)
        for i in range(_STEP):
            k = length + np.uint64(i)
            differ |= one[at + k] ^ other[there + k]
        if differ != 0:
            break
        length += step
    while length < most and one[at + length] == other[there + length]:
        length += np.uint64(1)
    return np.int64(length)


@inner
def _keep_fragments(of_fragments, anchors, limits, begin, runs, keys, rows, contents, kept):
    """Keep each anchor that has some runs of a fragment once more: it is not the only one.

    Those are left out of which the runs are listed, and those that were kept so before. ``limits``
    are the first anchor of the fragment, one that has some of the runs, and the one behind all.
    """
    first, a, last = limits
    while a > first and anchors[a, 1] > begin:
        a -= 1
    while a < last and anchors[a, 1] < begin + runs:
        if anchors[a, 2] == 0:
            anchors[a, 2] = 1
            row = of_fragments[a, 0], anchors[a, 0], of_fragments[a, 1]
            kept = _keep(row, (keys, rows, contents), kept)
        a += 1
    return kept


@inner
def _add_fragments(tokens, of, anchors, first, last, words, known):
    """Add the parts of a document with keys that were seen once, and the anchors next to these."""
    start, document, number, lists = of
    keys, since, contents, low, high, hit = anchors
    mask = np.uint64(known.keys.shape[0] - 1)
    a = first
    while a < last:
        end = a
        while end < last and (end == a or low[end] == high[end - 1]) and low[end] < high[end]:
            new = False
            for k in range(max(a, end - 1), min(end + 2, last)):
                slot = np.int64(keys[k] >> _ONE & mask)
                joined = low[k] < high[k] and (k <= end or low[k] == high[k - 1])
                new |= joined and known.keys[slot] == keys[k] & ~_ONE
            if not new:
                break
            end += 1
        if end == a:
            a += 1
            continue
        filled, fragment, row = known.filled[0], known.filled[1], known.filled[2]
        size = high[end - 1] - low[a] + words - 1
        if (
            filled + size > known.tokens.shape[0]
            or fragment == known.fragments.shape[0]
            or row + end - a > known.anchors.shape[0]
        ):
            break
        known.tokens[filled : filled + size] = tokens[start + low[a] : start + low[a] + size]
        known.fragments[fragment, 0], known.fragments[fragment, 1] = filled, filled + size
        known.fragments[fragment, 2], known.fragments[fragment, 3] = document, low[a]
        known.fragments[fragment, 4] = row
        for k in range(a, end):
            known.anchor_keys[row, 0], known.anchor_keys[row, 1] = keys[k], contents[k]
            known.anchors[row, 0] = number + k
            known.anchors[row, 1] = filled + low[k] - low[a]
            known.anchors[row, 2] = hit[k] and lists
            row += 1
        known.filled[0], known.filled[1], known.filled[2] = filled + size, fragment + 1, row
        a = end
    # Slots last: an anchor that is new makes those on both sides of it part of a fragment.
    for fragment in range(known.filled[1] - 1, -1, -1):
        if known.fragments[fragment, 2] != document:
            break
        stop = known.filled[2]
        if fragment + 1 < known.filled[1]:
            stop = known.fragments[fragment + 1, 4]
        for row in range(known.fragments[fragment, 4], stop):
            a = known.anchors[row, 0] - number
            slot = np.int64(keys[a] >> _ONE & mask)
            if low[a] == since[a] and not known.keys[slot] & _ONE:
                known.keys[slot] = keys[a] | _ONE
                known.slots[slot, 0], known.slots[slot, 1] = known.anchors[row, 1], fragment
                known.slots[slot, 2] = row
