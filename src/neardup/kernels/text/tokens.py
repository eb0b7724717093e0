"""Text to tokens: UTF-8 bytes in, one 64-bit hash for each word out."""

from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import (
    LANES,
    TOKEN_LENGTH,
    TOKEN_MULTIPLIER,
    classify,
    load8,
    mix,
    popcount,
    trailing_zeros,
)
from neardup.kernels.compiling import inner, kernel, part
from neardup.kernels.text.canonical import (
    ABOVE,
    APART,
    CAREFUL,
    CLASS,
    CODE,
    IGNORED,
    KIND,
    MARK,
    MOST,
    OUT,
    PENDING,
    SEPARATOR,
    SOFT_HYPHEN,
    SOLO,
    SPACE,
    UNSTABLE,
    WORD,
    behind_line_end,
    composition,
    decode,
    enter,
    kind_at,
    settle,
)
from neardup.kernels.text.signs import ascii_signs, true_signs

#: Runs without marks and the like, in a row, after which the quick way is tried again.
_PLAIN = 8


class Spans(NamedTuple):
    """Where the words of some texts are: two numbers for each, its begin and its end.

    Either array is empty where it is not asked for. Of other units nothing is known. The texts have
    less than 4 GiB together.
    """

    bytes: np.ndarray  # uint32[2 * tokens], from the first text on
    characters: np.ndarray  # uint32[2 * tokens]: code points from the first text on
    begins: np.ndarray  # int64[documents + 1]: code points before each text, and all
    first: int  # byte at which the first text begins


class WordBuffers(NamedTuple):
    """Working memory of `words`, for texts of ``size`` bytes in all; reused from call to call.

    A run is a longest stretch of bytes that may be in a word, or a sign. There are at most
    ``most = (size + documents) // 2 + 1``, and with signs ``size``. All of them may be longer.
    """

    lowered: np.ndarray  # uint8[size + 2 * LANES]: the texts, and more, as `classify` makes them
    edges: np.ndarray  # int32[2 * most + LANES]: where runs begin and end, by turns
    runs: np.ndarray  # int32[documents + 1]: edges before each document
    hashes: np.ndarray  # uint64[most]: hash of each run
    rest: np.ndarray  # uint64[most]: last bytes of each run
    length: np.ndarray  # uint8[most]: bytes of each run (mod 256)
    other: np.ndarray  # int32[most + 1]: runs that are long or not ASCII
    rest_of_text: np.ndarray  # uint8[LANES]: bytes at the end of the last text
    marks: np.ndarray  # int64[MEMORY]: see `neardup.kernels.text.canonical`


@inner
def _absorb(state, w):
    """Take eight bytes at once into the state of a token's hash."""
    state = (state ^ w) * TOKEN_MULTIPLIER
    return state ^ state >> np.uint64(32)


@inner
def _push(state, w, length, byte):
    """Take one more byte into the running hash (state, pending bytes, number of bytes)."""
    w |= np.uint64(byte) << np.uint64((length & 7) << 3)
    length += 1
    if length & 7 == 0:
        state = _absorb(state, w)
        w = np.uint64(0)
    return state, w, length


@inner
def push_code(state, w, length, code):
    """Take the UTF-8 bytes of a code point into the running hash, all of them at once."""
    if code < 0x80:
        bytes, size = code, 1
    elif code < 0x800:
        bytes, size = 0x80C0 | code >> 6 | (code & 0x3F) << 8, 2
    elif code < 0x10000:
        bytes, size = 0x8080E0 | code >> 12 | (code >> 6 & 0x3F) << 8 | (code & 0x3F) << 16, 3
    else:
        bytes, size = 0x808080F0 | code >> 18 | (code >> 12 & 0x3F) << 8, 4
        bytes |= (code >> 6 & 0x3F) << 16 | (code & 0x3F) << 24
    used = length & 7
    w |= np.uint64(bytes) << np.uint64(used << 3)
    length += size
    if used + size >= 8:
        state = _absorb(state, w)
        w = np.uint64(bytes) >> np.uint64((8 - used) << 3)
    return state, w, length


@inner
def finish(state, w, length):
    return mix(state ^ w ^ np.uint64(length) * TOKEN_LENGTH)


@inner
def _note(spans, limit, byte, inner_bytes):
    """Note a byte at which a token begins or ends; at so many before it no code point begins."""
    if spans.bytes.shape[0] > 0:
        spans.bytes[limit] = byte
    if spans.characters.shape[0] > 0:
        spans.characters[limit] = byte - inner_bytes


@part
def _mixed_run(data, first, last, alphabet, tokens, spans, counts):
    """Hash the tokens of a run of bytes with some above 127, one code point at a time.

    ``counts`` are tokens so far, and bytes at which no code point begins; returns both, and whether
    all is done: a run with marks and the like is one for `_careful_runs`.
    """
    page, kind, delta, _, _, _ = alphabet
    count, inner_bytes = counts
    # A function is compiled again for a literal.
    zero, none = np.uint64(0), np.int64(0)
    state, w, length = zero, zero, none
    solo = False  # the token at hand is a character of a script without spaces
    done = True
    i = first
    while i <= last:
        code, size, what, low = 0, 1, SEPARATOR, 0  # the end is a separator too
        if i < last:
            code, size = decode(data, i)
            at = np.int64(page[code >> 8]) << 8 | code & 255
            what = np.int64(kind[at])
            low = code + np.int64(delta[at])
        if what >= CAREFUL:
            done = False
            break
        gap = what in (SEPARATOR, SPACE)
        if length and (gap or what == SOLO or (solo and what == WORD)):
            tokens[count] = finish(state, w, length)
            _note(spans, 2 * count + 1, i - spans.first, inner_bytes)
            count += 1
            state, w, length, solo = zero, zero, none, False
        if not gap:
            if length == 0:
                _note(spans, 2 * count, i - spans.first, inner_bytes)
                solo = what == SOLO
            state, w, length = push_code(state, w, length, low)
        i += size
        inner_bytes += size - 1
    return count, inner_bytes, done


@inner
def _careful_runs(data, runs, alphabet, buffers, tokens, spans, counts):
    """Hash the tokens of a run with marks or characters that are not compared.

    At a soft hyphen before a line end the next run belongs to the same word. A call takes the runs
    behind it too that are long or not ASCII, until there are some without such characters.

    Args:
        data: uint8[]: texts.
        runs: position of the run in ``other`` of the buffers, length of that, number behind the
            last run of the text, and byte of ``data`` at which the edges of runs begin.
        alphabet: `Alphabet`.
        buffers: of `WordBuffers` ``edges``, ``other`` and ``marks``.
        tokens: uint64[]: gets the tokens.
        spans: `Spans`.
        counts: as those of `_mixed_run`.

    Returns:
        The counts, the last run that was taken, and the position in ``other`` behind that.
    """
    page, kind, delta, _, composed, _ = alphabet
    edges, other, marks = buffers
    found, others, end, base = runs
    run = np.int64(other[found])
    found += 1
    count, inner_bytes = counts
    zero, none = np.uint64(0), np.int64(0)
    state, w, length = zero, zero, none
    starter, size, loose = np.int64(-1), none, none  # those pending, see `enter`
    begun = solo = False
    hyphen = np.int64(-1)  # the byte behind the last soft hyphen
    plain = none  # runs without such characters since the last one with some
    i, last = base + np.int64(edges[2 * run]), base + np.int64(edges[2 * run + 1])
    while i <= last:
        code, width, what, low = 0, 1, SEPARATOR, 0
        if i < last:
            code, width = decode(data, i)
            at = np.int64(page[code >> 8]) << 8 | code & 255
            what = np.int64(kind[at])
            low = code + np.int64(delta[at])
        elif hyphen == last and run + 1 < end and not solo:
            begin = base + np.int64(edges[2 * run + 2])
            behind = behind_line_end(data, last, begin)
            if behind == begin and kind_at(data, begin, alphabet) == WORD:
                run += 1
                found += found < others and other[found] == run
                i, last = begin, base + np.int64(edges[2 * run + 1])
                continue
        group = what & KIND
        if what >= CAREFUL:
            plain = -1
        if group == IGNORED:
            if code == SOFT_HYPHEN:
                hyphen = i + width
        elif begun or group != MARK:
            gap = group in (SEPARATOR, SPACE)
            ends = begun and (gap or group == SOLO or (solo and group == WORD))
            if ends or not (gap or what & PENDING):  # the pending ones are complete
                if loose:
                    starter, size = settle(starter, size, alphabet, marks)
                if starter >= 0:
                    state, w, length = push_code(state, w, length, starter)
                for k in range(size):
                    state, w, length = push_code(state, w, length, marks[k] & CODE)
                starter, size, loose = np.int64(-1), none, none
            if ends:
                tokens[count] = finish(state, w, length)
                _note(spans, 2 * count + 1, i - spans.first, inner_bytes)
                count += 1
                state, w, length, begun, solo = zero, zero, none, False, False
            if not gap:
                if not begun:
                    _note(spans, 2 * count, i - spans.first, inner_bytes)
                    begun, solo = True, group == SOLO
                if not what & PENDING:
                    starter = low
                elif what >> CLASS and not what & APART and size < MOST:
                    mark = what >> CLASS << ABOVE | low
                    loose |= what & UNSTABLE | (size > 0 and marks[size - 1] > mark | CODE)
                    marks[size] = mark
                    size += 1
                else:
                    both = none
                    if size == 0 and starter >= 0 and not what & APART:
                        both = composition(starter, low, composed)
                    if both:
                        starter = both
                    else:
                        pending, out = enter(code, what, (starter, size, loose), alphabet, marks)
                        starter, size, loose = pending
                        for k in range(OUT, OUT + out):
                            state, w, length = push_code(state, w, length, marks[k])
        i += width
        inner_bytes += width - 1
        more = i > last and plain < _PLAIN and run + 1 < end and found < others
        if more and other[found] == run + 1:
            run += 1
            found += 1
            plain += 1
            i, last = base + np.int64(edges[2 * run]), base + np.int64(edges[2 * run + 1])
    return count, inner_bytes, run, found


@inner
def _put_edges(changes, begins, ends, to, edges, count):
    """Put where runs and signs begin and end, at a byte up to two of them; return the count."""
    one, last = np.uint64(1), np.uint64(LANES - 1)
    every = changes | begins | ends
    twice = changes & begins | changes & ends | begins & ends
    k = count
    count += np.int64(popcount(every) + popcount(twice))
    while k < count:
        for _ in range(8):  # see `_find_runs`
            at = trailing_zeros(every)
            edges[k] = edges[k + 1] = to + np.int64(at)
            k += 1 + np.int64(twice >> (at & last) & one)
            every &= every - one
    return count


@part
def _find_runs(data, offsets, alphabet, lower, buffers):
    """Find the runs of bytes that may be in a word, and signs, 64 bytes at a time.

    All documents are gone through before the first token is read: a read of a few bytes that were
    just written as part of 64 would have to wait for them.
    """
    lowered, edges, runs, rest = buffers.lowered, buffers.edges, buffers.runs, buffers.rest_of_text
    one, zero = np.uint64(1), np.uint64(0)
    signs = alphabet.sign.shape[0] > 0
    count = np.int64(0)
    runs[0] = 0
    for d in range(offsets.shape[0] - 1):
        first, last = offsets[d], offsets[d + 1]
        carry = sign_carry = zero
        # One step beyond the end closes a run that reaches the end.
        for at in range(first, last + 1, LANES):
            to = at - offsets[0]
            of_text = zero - one
            if last - at < LANES:  # bytes behind the text are written again by the next one
                of_text = (one << np.uint64(last - at)) - one
            begins = doubtful = zero
            if at + LANES <= data.shape[0]:
                in_run = classify(data, at, lowered, to, lower)
                if signs:
                    begins, doubtful = ascii_signs(data, at)
            else:
                for i in range(LANES):
                    rest[i] = data[at + i] if at + i < last else 0
                in_run = classify(rest, 0, lowered, to, lower)
                if signs:
                    begins, doubtful = ascii_signs(rest, 0)
            in_run &= of_text
            begins &= of_text
            if doubtful & of_text != 0:
                begins, before = true_signs(
                    data, at, (first, last), alphabet, begins, doubtful & of_text
                )
                in_run |= before
            changes = in_run ^ (in_run << one | carry)
            carry = in_run >> np.uint64(LANES - 1)
            if begins | sign_carry != 0:
                ends = begins << one | sign_carry
                sign_carry = begins >> np.uint64(LANES - 1)
                count = _put_edges(changes, begins, ends, to, edges, count)
                continue
            many = np.int64(popcount(changes))
            k = 0
            while k < many:
                # Eight at a time without looking whether there are as many: no branch to guess.
                for j in range(8):
                    edges[count + k + j] = to + np.int64(trailing_zeros(changes))
                    changes &= changes - one
                k += 8
            count += many
        runs[d + 1] = count


@part
def _hash_short(lowered, edges, count, hashes, rest, length, other):
    """Hash the runs of less than 16 ASCII bytes, as nearly all words are; return how many are not.

    Two reads of eight bytes, and no branch that depends on the length. The hashing proper is in a
    loop of its own, in which the compiler does several runs at once. ``count`` is of edges. The
    hash of ``other`` runs has no meaning yet.
    """
    one, three, zero = np.uint64(1), np.uint64(3), np.uint64(0)
    highs = np.uint64(0x8080808080808080)
    others = np.int64(0)
    runs = count >> 1
    for k in range(runs):
        first = np.int64(edges[2 * k])
        size = np.int64(edges[2 * k + 1]) - first
        low, high = load8(lowered, first), load8(lowered, first + 8)
        long = zero - np.uint64(size >= 8)
        w = (high & long) | (low & ~long)
        w &= (one << (np.uint64(size & 7) << three)) - one
        hashes[k] = low & long
        rest[k] = w
        length[k] = size
        other[others] = k
        others += np.int64(size >= 16) | np.int64(((low & long) | w) & highs != 0)
    for k in range(runs):
        long = zero - np.uint64(length[k] >= 8)
        hashes[k] = finish(_absorb(zero, hashes[k]) & long, rest[k], np.int64(length[k]))
    return others


@inner
def _long_word(lowered, first, last):
    """Return (hash of a run of bytes, whether all are ASCII; else the hash has no meaning)."""
    one, three = np.uint64(1), np.uint64(3)
    state, seen, i = np.uint64(0), np.uint64(0), first
    while i + 8 <= last:
        w = load8(lowered, i)
        seen |= w
        state = _absorb(state, w)
        i += 8
    w = load8(lowered, i) & ((one << (np.uint64(last - i) << three)) - one)
    return finish(state, w, last - first), (seen | w) & np.uint64(0x8080808080808080) == 0


@inner
def _shift(source, more, target):
    """Copy values, with something added."""
    for k in range(source.shape[0]):
        target[k] = source[k] + more


@kernel
def words(data, offsets, alphabet, lower, buffers, tokens, token_offsets, spans):
    """Hash the words of each document, and signs where they are asked for; return the number.

    ``data`` is valid UTF-8. ``lower`` is 32 to turn capitals into small letters, 0 to keep them, as
    the alphabet does. ``tokens`` has capacity for ``most``, see `WordBuffers`. A sign is a
    word by itself, with the marks that follow it; ``-`` is one before a digit, and not behind a
    letter or digit.

    Args:
        data: uint8[]: texts, concatenated.
        offsets: int64[documents + 1]: where each text begins.
        alphabet: `Alphabet`; of signs where these are tokens.
        lower: int: 32 or 0.
        buffers: `WordBuffers`.
        tokens: uint64[most]: gets the tokens.
        token_offsets: int64[documents + 1]: gets where those of each document begin.
        spans: `Spans`, with space for ``most`` tokens or none.
    """
    _find_runs(data, offsets, alphabet, lower, buffers)
    lowered, edges, runs, hashes, rest, length, other, _, marks = buffers
    others = _hash_short(lowered, edges, runs[offsets.shape[0] - 1], hashes, rest, length, other)
    base = offsets[0]
    shift = base - spans.first
    count = run = found = np.int64(0)
    inner_bytes = np.int64(0)  # bytes at which no code point begins, so far
    token_offsets[0] = 0
    for d in range(offsets.shape[0] - 1):
        spans.begins[d] = offsets[d] - spans.first - inner_bytes
        end = np.int64(runs[d + 1]) >> 1
        while run < end:
            stop = end if found == others else min(end, np.int64(other[found]))
            for k in range(run, stop):
                tokens[count + k - run] = hashes[k]
            limits = edges[2 * run : 2 * stop]
            if spans.bytes.shape[0] > 0:
                _shift(limits, np.uint32(shift), spans.bytes[2 * count :])
            if spans.characters.shape[0] > 0:
                _shift(limits, np.uint32(shift - inner_bytes), spans.characters[2 * count :])
            count += stop - run
            run = stop
            if run == end:
                break
            first, last = np.int64(edges[2 * run]), np.int64(edges[2 * run + 1])
            token, ascii = _long_word(lowered, first, last)
            if ascii:
                tokens[count] = token
                _note(spans, 2 * count, shift + first, inner_bytes)
                _note(spans, 2 * count + 1, shift + last, inner_bytes)
                count += 1
            else:
                counts = count, inner_bytes
                count, inner_bytes, done = _mixed_run(
                    data, base + first, base + last, alphabet, tokens, spans, counts
                )
                if not done:
                    from_here = found, others, end, base
                    count, inner_bytes, run, found = _careful_runs(
                        data, from_here, alphabet, (edges, other, marks), tokens, spans, counts
                    )
                    run += 1
                    continue
            run += 1
            found += 1
        token_offsets[d + 1] = count
    spans.begins[-1] = offsets[-1] - spans.first - inner_bytes
    return count


@kernel
def hash_tokens(data, offsets, out):
    """Hash strings as `words` hashes a token: stems, items, ids, and complete texts.

    Args:
        data: uint8[]: strings, concatenated.
        offsets: int64[n + 1]: where each begins.
        out: uint64[n]: gets the hashes.
    """
    for d in range(offsets.shape[0] - 1):
        state, w, i, last = np.uint64(0), np.uint64(0), offsets[d], offsets[d + 1]
        while i + 8 <= last:
            state = _absorb(state, load8(data, i))
            i += 8
        for k in range(last - i):  # no byte behind the last one is read
            w |= np.uint64(data[i + k]) << np.uint64(k << 3)
        out[d] = finish(state, w, last - offsets[d])


@kernel
def replace_known(tokens, keys, values, out, missing):
    """Replace each token by its replacement in a table; ``out`` may be ``tokens``.

    ``keys`` are tokens in an open-addressing table of 2**k slots; 0 is a free one. ``missing`` gets
    the positions of tokens that the table lacks, which stay. Returns how many there are. Another
    thread may add to the table meanwhile: a replacement of 0 is not there yet.

    Args:
        tokens: uint64[n]: tokens.
        keys: uint64[2**k]: tokens of the table.
        values: uint64[2**k]: their replacements.
        out: uint64[n]: gets the tokens.
        missing: int64[n]: gets positions.
    """
    mask = np.uint64(keys.shape[0] - 1)
    count = 0
    for i in range(tokens.shape[0]):
        token = tokens[i]
        at = token & mask
        while keys[at] != 0 and keys[at] != token:
            at = (at + np.uint64(1)) & mask
        value = values[at] if keys[at] == token else np.uint64(0)
        if value != 0:
            out[i] = value
        else:
            out[i] = token
            missing[count] = i
            count += 1
    return count


@kernel
def add_replacements(tokens, replacements, keys, values):
    """Add tokens and their replacements to a table that has capacity for them.

    Other threads may read it meanwhile, but not add to it.

    Args:
        tokens: uint64[n]: tokens.
        replacements: uint64[n]: their replacements.
        keys: uint64[2**k]: tokens of the table.
        values: uint64[2**k]: their replacements.
    """
    mask = np.uint64(keys.shape[0] - 1)
    for i in range(tokens.shape[0]):
        at = tokens[i] & mask
        while keys[at] != 0 and keys[at] != tokens[i]:
            at = (at + np.uint64(1)) & mask
        values[at] = replacements[i]
        keys[at] = tokens[i]
