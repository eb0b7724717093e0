"""Inner loops of the note generator: positions in, UTF-8 bytes out.

A note is a pure function of (setting, position): every draw comes from SplitMix64 (Steele, Lea and
Flood 2014, figure 13) started from a key of (seed, stream, position). A near-duplicate or a copy
therefore makes the words of its source again, and nothing about other notes is kept in memory.

On the way a note is a row of *codes*, one int64 for each word between white space:

    bits  0-19  payload: rank of a word, number of a heading, or what a number is made from
    bits 20-22  class: word, heading, integer, decimal, pressure, date
    bits 23-27  capital, comma, full stop, line break, paragraph break

Layout rides on the words, so an edit changes the words it is meant to change and no others.
All arithmetic on draws is uint64 by explicit casts, since Numba makes float64 of uint64 with int64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = [
    "BOILERPLATE",
    "EXACT",
    "FAMILY",
    "NEAR",
    "ORIGINAL",
    "SLOTS",
    "WORD_BYTES",
    "Setting",
    "Tables",
    "alias_table",
    "family_firsts",
    "plan_range",
    "write_columns",
    "write_lines",
    "write_texts",
]

# No division here has a zero below, so NumPy's rules spare the checks.
_jit = njit(cache=True, nogil=True, error_model="numpy")

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]
Whole = Any  # int64 in a kernel; to a type checker a mix of int and np.int64

ORIGINAL, NEAR, EXACT, FAMILY = 0, 1, 2, 3

#: Row length of a word matrix: up to 15 bytes of UTF-8, and the number of bytes in the last cell.
WORD_BYTES = 16

BOILERPLATE, SLOTS = 200, 20
_BLOCK = BOILERPLATE // SLOTS + 1  # words of a template for each of its slots, the slot included
_TEMPLATE = np.int64(BOILERPLATE + SLOTS)

_WORD, _HEADING, _INTEGER, _DECIMAL, _PRESSURE, _DATE = 0, 1, 2, 3, 4, 5
_PAYLOAD = (1 << 20) - 1
_CLASS_SHIFT = 20
_CAPITAL, _COMMA, _STOP, _LINE, _PARAGRAPH = 1 << 23, 1 << 24, 1 << 25, 1 << 26, 1 << 27
_LAYOUT = _CAPITAL | _COMMA | _STOP | _LINE | _PARAGRAPH

# How many different payloads each number class has; rendering is one-to-one on them.
_INTEGERS, _DECIMALS, _PRESSURES, _DATES = 500, 1000, 100 * 60, 12 * 28 * 20

# Streams keep the draws for different purposes apart. As NumPy scalars they are not literals to
# Numba, which would compile a copy of each function for each literal.
_LENGTH_STREAM, _TEXT_STREAM, _SOURCE_STREAM = np.uint64(1), np.uint64(2), np.uint64(3)
_SHARE_STREAM, _EDIT_STREAM, _TEMPLATE_STREAM = np.uint64(4), np.uint64(5), np.uint64(6)
_SLOT_STREAM, _VALUE_STREAM, _COLUMN_STREAM = np.uint64(7), np.uint64(8), np.uint64(9)
_PERMUTATION_STREAM = np.uint64(10)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_U27, _U30, _U31, _U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_LOW32U = np.uint64(0xFFFFFFFF)
_LOW32 = 0xFFFFFFFF
_ROUNDS = 6
_TRIES = 4096


class Setting(NamedTuple):
    """Numbers that a note depends on; see ``SynthSpec`` for their meaning.

    The permutation works on ``left_bits + right_bits`` bits, the fewest that hold
    ``documents - 1`` positions.
    """

    seed: np.uint64
    documents: int
    id_width: int
    near: int
    exact: int
    changed_low: float
    changed_high: float
    words_low: int
    words_high: int
    left_bits: int
    right_bits: int


class Tables(NamedTuple):
    """Arrays that a note depends on.

    Attributes:
        words, headings, kinds: uint8 (count, 16), see ``WORD_BYTES``.
        word_share, word_alias: uint32 (words,), alias table of the vocabulary.
        value_share, value_alias: uint32 (values,), alias table of the values of a slot.
        family_bounds: int64 (families + 1,), sums of the family sizes before each, from 0.
    """

    words: U8
    headings: U8
    kinds: U8
    word_share: npt.NDArray[np.uint32]
    word_alias: npt.NDArray[np.uint32]
    value_share: npt.NDArray[np.uint32]
    value_alias: npt.NDArray[np.uint32]
    family_bounds: I64


# --- draws ---------------------------------------------------------------------------------------


@_jit
def _mix(z: Any) -> Any:
    z = (z ^ (z >> _U30)) * _MIX1
    z = (z ^ (z >> _U27)) * _MIX2
    return z ^ (z >> _U31)


@_jit
def _key(seed: Any, stream: Any, index: int) -> Any:
    """Start of the sequence for one purpose and one position: uint64."""
    outer = _mix(seed + stream * _GOLDEN)
    return _mix(outer ^ _mix(np.uint64(index) + _GOLDEN))


@_jit
def _below(draw: Any, bound: int) -> Whole:
    """Whole number in [0, bound) from the upper 32 bits of a draw; bound < 2**31."""
    return (np.int64(draw >> _U32) * bound) >> 32


@_jit
def _pick(draw: Any, share: Any, alias: Any) -> Whole:
    """Rank from an alias table (Walker 1977): the upper 32 bits give the cell and the coin."""
    product = np.int64(draw >> _U32) * np.int64(share.size)
    cell = product >> 32
    if (product & _LOW32) < np.int64(share[cell]):
        return cell
    return np.int64(alias[cell])


@_jit
def alias_table(scaled: npt.NDArray[np.float64], share: Any, alias: Any) -> None:
    """Fill an alias table (Vose 1991), in O(size).

    Args:
        scaled: float64 (size,), the weights, positive and of mean 1; used up.
        share: uint32 (size,), out: the chance that a cell gives its own rank, times 2**32.
        alias: uint32 (size,), out: the rank that a cell gives otherwise.
    """
    size = scaled.size
    small = np.empty(size, np.int64)
    large = np.empty(size, np.int64)
    smalls = larges = 0
    for rank in range(size):
        share[rank] = np.uint32(_LOW32)
        alias[rank] = np.uint32(rank)
        if scaled[rank] < 1.0:
            small[smalls] = rank
            smalls += 1
        else:
            large[larges] = rank
            larges += 1
    while smalls and larges:
        smalls -= 1
        low = small[smalls]
        high = large[larges - 1]
        share[low] = np.uint32(min(scaled[low] * 4294967296.0, 4294967295.0))
        alias[low] = np.uint32(high)
        scaled[high] -= 1.0 - scaled[low]
        if scaled[high] < 1.0:
            larges -= 1
            small[smalls] = high
            smalls += 1


# --- who is made from whom -----------------------------------------------------------------------


@_jit
def _half_round(turn: int, half: int, seed: Any, bits: int) -> Whole:
    """The round function of the permutation: ``bits`` bits from the other half."""
    draw = _mix(_key(seed, _PERMUTATION_STREAM, turn) ^ np.uint64(half))
    return np.int64(draw >> _U32) & ((1 << bits) - 1)


@_jit
def _rank_of(position: int, s: Any) -> Whole:
    """Pseudo-random permutation of [0, documents - 1).

    An alternating Feistel network over the next power of two, walked until it is back in range
    (Black and Rogaway 2002, methods 2 and 3): expected number of walks below 2, no memory.
    """
    size = s.documents - 1
    x = position
    while True:
        left, right = x >> s.right_bits, x & ((1 << s.right_bits) - 1)
        for turn in range(_ROUNDS):
            if turn & 1:
                left ^= _half_round(turn, right, s.seed, s.left_bits)
            else:
                right ^= _half_round(turn, left, s.seed, s.right_bits)
        x = (left << s.right_bits) | right
        if x < size:
            return x


@_jit
def _position_of(rank: int, s: Any) -> Whole:
    """The inverse of ``_rank_of``: the rounds in reverse, each being its own inverse."""
    size = s.documents - 1
    x = rank
    while True:
        left, right = x >> s.right_bits, x & ((1 << s.right_bits) - 1)
        for back in range(_ROUNDS):
            turn = _ROUNDS - 1 - back
            if turn & 1:
                left ^= _half_round(turn, right, s.seed, s.left_bits)
            else:
                right ^= _half_round(turn, left, s.seed, s.right_bits)
        x = (left << s.right_bits) | right
        if x < size:
            return x


@_jit
def _role(doc: int, s: Any, t: Any) -> Any:
    """(role, family) of a position; family is -1 where there is none.

    Ranks are shared out in order: families, near-duplicates, exact copies, originals. Every number
    is met exactly, and the permutation spreads them. Position 0 stays outside: always original.
    """
    if doc == 0:
        return ORIGINAL, -1
    rank = _rank_of(doc - 1, s)
    bounds = t.family_bounds
    if rank < bounds[-1]:
        return FAMILY, np.searchsorted(bounds, rank, side="right") - 1
    rank -= bounds[-1]
    if rank < s.near:
        return NEAR, -1
    if rank < s.near + s.exact:
        return EXACT, -1
    return ORIGINAL, -1


@_jit
def _source(doc: int, s: Any, t: Any) -> Whole:
    """An earlier original, each equally likely; position 0 where none is met in 4096 draws."""
    state = _key(s.seed, _SOURCE_STREAM, doc)
    for _ in range(_TRIES):
        state += _GOLDEN
        candidate = _below(_mix(state), doc)
        if _role(candidate, s, t)[0] == ORIGINAL:
            return candidate
    return 0


@_jit
def _length(doc: int, s: Any) -> Whole:
    """Words of an original: Beta(2, 4) over the range, so its mean is at a third of it.

    The second smallest of five uniform draws has that distribution.
    """
    state = _key(s.seed, _LENGTH_STREAM, doc)
    first = second = np.int64(1) << 32
    for _ in range(5):
        state += _GOLDEN
        draw = np.int64(_mix(state) >> _U32)
        if draw < first:
            first, second = draw, first
        elif draw < second:
            second = draw
    return s.words_low + ((second * (s.words_high - s.words_low + 1)) >> 32)


@_jit
def _edits(doc: int, length: int, s: Any) -> Whole:
    """How many of the ``length`` words of its source a near-duplicate changes.

    The share is uniform over the range asked for; rounding never leaves the range where a whole
    number of words lies in it.
    """
    unit = np.int64(_key(s.seed, _SHARE_STREAM, doc) >> _U32) / 4294967296.0
    share = s.changed_low + (s.changed_high - s.changed_low) * unit
    least = np.int64(np.ceil(s.changed_low * length - 1e-9))
    most = np.int64(np.floor(s.changed_high * length + 1e-9))
    return min(max(np.int64(np.floor(share * length + 0.5)), least), most)


@_jit
def plan_range(
    start: int, stop: int, s: Any, t: Any, roles: Any, sources: Any, families: Any, changed: Any
) -> None:
    """Say what each position of [start, stop) is, without making any text; about 0.2 us each.

    Args:
        start, stop: Positions.
        s, t: ``Setting`` and ``Tables``.
        roles: int8 (count,), out: ``ORIGINAL``, ``NEAR``, ``EXACT`` or ``FAMILY``.
        sources: int64 (count,), out: position of the source, or -1.
        families: int32 (count,), out: number of the family, or -1.
        changed: float64 (count,), out: words changed / words of the source, or NaN.
    """
    for doc in range(start, stop):
        i = doc - start
        role, family = _role(doc, s, t)
        roles[i] = role
        families[i] = family
        sources[i] = -1
        changed[i] = np.nan
        if role in (NEAR, EXACT):
            sources[i] = _source(doc, s, t)
        if role == NEAR:
            length = _length(sources[i], s)
            changed[i] = _edits(doc, length, s) / length


@_jit
def family_firsts(s: Any, t: Any, firsts: Any) -> None:
    """Find the lowest position of each family.

    Args:
        s, t: ``Setting`` and ``Tables``.
        firsts: int64 (families,), out.
    """
    for family in range(firsts.size):
        lowest = s.documents
        for rank in range(t.family_bounds[family], t.family_bounds[family + 1]):
            lowest = min(lowest, _position_of(rank, s) + 1)
        firsts[family] = lowest


# --- words of a note -----------------------------------------------------------------------------


@_jit
def _word(draw: Any, t: Any) -> Whole:
    """One word or number without layout; about 3 in 100 are numbers."""
    low = np.int64(draw & _LOW32U)
    chance, payload = low & 1023, low >> 10
    if chance >= 30:
        return _pick(draw, t.word_share, t.word_alias)
    if chance < 12:
        return (_INTEGER << _CLASS_SHIFT) | payload % _INTEGERS
    if chance < 20:
        return (_DECIMAL << _CLASS_SHIFT) | payload % _DECIMALS
    if chance < 26:
        return (_PRESSURE << _CLASS_SHIFT) | payload % _PRESSURES
    return (_DATE << _CLASS_SHIFT) | payload % _DATES


@_jit
def _compose(codes: Any, length: int, key: Any, t: Any) -> None:
    """Fill ``codes[:length]`` with sections of sentences."""
    state = key
    sentences: Whole = 0  # left in this section, the current one included
    left = 0  # words left in this sentence
    capital = 0
    for i in range(length):
        state += _GOLDEN
        draw = _mix(state)
        if left == 0:
            state += _GOLDEN
            shape = _mix(state)
            left = 5 + _below(shape, 13)
            capital = _CAPITAL
            if sentences == 0:
                sentences = 2 + np.int64(shape & np.uint64(3))
                if i < length - 2:  # a heading with nothing below it would look odd
                    heading = _below(draw, t.headings.shape[0])
                    codes[i] = (_HEADING << _CLASS_SHIFT) | heading
                    if (draw & np.uint64(1)) != np.uint64(0):
                        codes[i] |= _LINE
                    continue
        code = _word(draw, t) | capital
        capital = 0
        left -= 1
        if left == 0 or i == length - 1:
            left = 0
            sentences -= 1
            code |= _STOP
            if sentences == 0:
                code |= _PARAGRAPH
            elif (draw & np.uint64(0xC000000)) == np.uint64(0):
                code |= _LINE
        elif (draw & np.uint64(0xF0000000)) == np.uint64(0):
            code |= _COMMA
        codes[i] = code


@_jit
def _other(code: int, draw: Any, t: Any) -> Whole:
    """Another word, heading or number of the same class, with the same layout."""
    old = code & _PAYLOAD
    rest = code - old
    which = (code >> _CLASS_SHIFT) & 7
    if which == _WORD:
        new = _pick(draw, t.word_share, t.word_alias)
        while new == old:
            draw = _mix(draw + _GOLDEN)
            new = _pick(draw, t.word_share, t.word_alias)
        return rest | new
    if which == _HEADING:
        count = np.int64(t.headings.shape[0])
    elif which == _INTEGER:
        count = np.int64(_INTEGERS)
    elif which == _DECIMAL:
        count = np.int64(_DECIMALS)
    elif which == _PRESSURE:
        count = np.int64(_PRESSURES)
    else:
        count = np.int64(_DATES)
    return rest | ((old + 1 + _below(draw, count - 1)) % count)


@_jit
def _revise(source: Any, length: int, edits: int, key: Any, s: Any, t: Any, codes: Any) -> Whole:
    """Copy ``source[:length]`` with exactly ``edits`` words changed; returns the new length.

    Places are drawn without replacement (Knuth, TAOCP 2, 3.4.2, algorithm S). Of ten edits about
    one deletes the word, one puts a new word before it, and eight replace it. Words that carry
    layout are only ever replaced, and the number of words stays in the range asked for.
    """
    state = key
    size = length
    count = 0
    for i in range(length):
        code = source[i]
        if edits > 0:
            state += _GOLDEN
            if _below(_mix(state), length - i) < edits:
                edits -= 1
                state += _GOLDEN
                draw = _mix(state)
                how = np.int64(draw & _LOW32U) % 10
                plain = code <= _PAYLOAD
                if how == 0 and plain and size > s.words_low:
                    size -= 1
                    continue
                if how == 1 and plain and size < s.words_high:
                    size += 1
                    codes[count] = _pick(draw, t.word_share, t.word_alias)
                    count += 1
                else:
                    code = _other(code, draw, t)
        codes[count] = code
        count += 1
    return count


@_jit
def _fill_template(doc: int, family: int, s: Any, t: Any, codes: Any) -> Whole:
    """Words of a family's member: its boilerplate, and in each slot one of the slot's values.

    One slot in every 11 words. A slot's values are neighbours in the vocabulary, hence distinct;
    rank r of them has weight 1/r.
    """
    _compose(codes, _TEMPLATE, _key(s.seed, _TEMPLATE_STREAM, family), t)
    slot_state = _key(s.seed, _SLOT_STREAM, family)
    value_state = _key(s.seed, _VALUE_STREAM, doc)
    vocabulary = np.int64(t.words.shape[0])
    for slot in range(SLOTS):
        slot_state += _GOLDEN
        draw = _mix(slot_state)
        place = slot * _BLOCK + _below(draw, _BLOCK - 1)
        if (codes[place] >> _CLASS_SHIFT) & 7 == _HEADING:
            place += 1  # no two headings follow each other, and the block has one word more
        first_value = ((np.int64(draw & _LOW32U)) * vocabulary) >> 32
        value_state += _GOLDEN
        rank = _pick(_mix(value_state), t.value_share, t.value_alias)
        codes[place] = (codes[place] & _LAYOUT) | ((first_value + rank) % vocabulary)
    return _TEMPLATE


@_jit
def _fill(doc: int, s: Any, t: Any, codes: Any, spare: Any) -> Whole:
    """Fill ``codes`` with the words of a position; returns how many."""
    role, family = _role(doc, s, t)
    if role == FAMILY:
        return _fill_template(doc, family, s, t, codes)
    source = doc
    if role != ORIGINAL:
        source = _source(doc, s, t)
    length = _length(source, s)
    key = _key(s.seed, _TEXT_STREAM, source)
    if role == NEAR:
        _compose(spare, length, key, t)
        edits = _edits(doc, length, s)
        return _revise(spare, length, edits, _key(s.seed, _EDIT_STREAM, doc), s, t, codes)
    _compose(codes, length, key, t)
    return length


# --- bytes ---------------------------------------------------------------------------------------


@_jit
def _put_word(out: Any, p: int, matrix: Any, row: int) -> Whole:
    for i in range(WORD_BYTES):  # a fixed number is one vector move; the next word overwrites
        out[p + i] = matrix[row, i]
    return p + np.int64(matrix[row, WORD_BYTES - 1])


@_jit
def _put_digits(out: Any, p: int, value: int, width: int) -> Whole:
    for i in range(width - 1, -1, -1):
        out[p + i] = 48 + value % 10
        value //= 10
    return p + width


@_jit
def _put_integer(out: Any, p: int, value: int) -> Whole:
    width = 1
    power = 10
    while power <= value:
        width += 1
        power *= 10
    return _put_digits(out, p, value, width)


@_jit
def _put_number(out: Any, p: int, which: int, payload: int) -> Whole:
    if which == _INTEGER:
        return _put_integer(out, p, payload + 1)
    if which == _DECIMAL:
        p = _put_integer(out, p, payload // 10)
        out[p] = 46  # .
        return _put_digits(out, p + 1, payload % 10, 1)
    if which == _PRESSURE:
        p = _put_integer(out, p, 90 + payload // 60)
        out[p] = 47  # /
        return _put_integer(out, p + 1, 50 + payload % 60)
    p = _put_digits(out, p, 1 + payload % 12, 2)
    out[p] = 47
    p = _put_digits(out, p + 1, 1 + payload // 12 % 28, 2)
    out[p] = 47
    return _put_digits(out, p + 1, 2005 + payload // 336, 4)


@_jit
def _put_break(out: Any, p: int, escaped: bool) -> Whole:
    if escaped:
        out[p] = 92  # backslash
        out[p + 1] = 110  # n
        return p + 2
    out[p] = 10
    return p + 1


@_jit
def _put_text(out: Any, p: int, codes: Any, count: int, t: Any, escaped: bool) -> Whole:
    """Write words with one blank, line break or paragraph break between them.

    ``escaped`` writes a line break as JSON does; texts hold nothing else that JSON escapes.
    """
    for i in range(count):
        code = codes[i]
        payload = code & _PAYLOAD
        which = (code >> _CLASS_SHIFT) & 7
        begin = p
        if which == _WORD:
            p = _put_word(out, p, t.words, payload)
            if code & _CAPITAL and 97 <= out[begin] <= 122:
                out[begin] -= 32
        elif which == _HEADING:
            p = _put_word(out, p, t.headings, payload)
        else:
            p = _put_number(out, p, which, payload)
        if code & _STOP:
            out[p] = 46
            p += 1
        elif code & _COMMA:
            out[p] = 44
            p += 1
        if i == count - 1:
            break
        if code & _PARAGRAPH:
            p = _put_break(out, _put_break(out, p, escaped), escaped)
        elif code & _LINE:
            p = _put_break(out, p, escaped)
        else:
            out[p] = 32
            p += 1
    return p


@_jit
def _put_id(out: Any, p: int, doc: int, width: int) -> Whole:
    out[p] = 110
    out[p + 1] = 111
    out[p + 2] = 116
    out[p + 3] = 101
    out[p + 4] = 45  # "note-"
    return _put_digits(out, p + 5, doc, width)


@_jit
def _columns(doc: int, s: Any, t: Any) -> Any:
    """(date, kind, quality): day number below 16 * 12 * 28, row of kinds, thousandths."""
    state = _key(s.seed, _COLUMN_STREAM, doc) + _GOLDEN
    draw = _mix(state)
    date = _below(draw, 16 * 336)
    kind = ((np.int64(draw & _LOW32U)) * np.int64(t.kinds.shape[0])) >> 32
    return date, kind, _below(_mix(state + _GOLDEN), 1001)


@_jit
def _put_date(out: Any, p: int, date: int) -> Whole:
    p = _put_digits(out, p, 2008 + date // 336, 4)
    out[p] = 45
    p = _put_digits(out, p + 1, 1 + date // 28 % 12, 2)
    out[p] = 45
    return _put_digits(out, p + 1, 1 + date % 28, 2)


@_jit
def write_texts(start: int, stop: int, s: Any, t: Any, out: Any, offsets: Any) -> None:
    """Write the texts of [start, stop) one after another.

    Args:
        start, stop: Positions.
        s, t: ``Setting`` and ``Tables``.
        out: uint8, large enough (20 bytes for every word that there may be).
        offsets: int32 (count + 1,), out: text i is ``out[offsets[i]:offsets[i + 1]]``.
    """
    codes = np.empty(max(s.words_high, _TEMPLATE), np.int64)
    spare = np.empty_like(codes)
    p = 0
    offsets[0] = 0
    for doc in range(start, stop):
        count = _fill(doc, s, t, codes, spare)
        p = _put_text(out, p, codes, count, t, False)
        offsets[doc - start + 1] = p


@_jit
def write_columns(
    start: int, stop: int, s: Any, t: Any, ids: Any, dates: Any, kinds: Any, quality: Any
) -> None:
    """Write the columns of [start, stop) other than the text.

    Args:
        start, stop: Positions.
        s, t: ``Setting`` and ``Tables``.
        ids: uint8 (count * (5 + id_width),), out: ids one after another.
        dates: uint8 (count * 10,), out: ISO dates one after another.
        kinds: int8 (count,), out: rows of ``t.kinds``.
        quality: float64 (count,), out: thousandths in [0, 1].
    """
    width = s.id_width
    for doc in range(start, stop):
        i = doc - start
        date, kind, thousandths = _columns(doc, s, t)
        _put_id(ids, i * (5 + width), doc, width)
        _put_date(dates, i * 10, date)
        kinds[i] = kind
        quality[i] = thousandths / 1000.0


@_jit
def _put_literal(out: Any, p: int, literal: Any) -> Whole:
    for i in range(literal.size):
        out[p + i] = literal[i]
    return p + literal.size


@_jit
def write_lines(start: int, stop: int, s: Any, t: Any, parts: Any, out: Any) -> Whole:
    """Write the documents of [start, stop) as JSON lines; returns the number of bytes.

    Args:
        start, stop: Positions.
        s, t: ``Setting`` and ``Tables``.
        parts: Tuple of six uint8 arrays, what stands before, between and after the five values.
        out: uint8, large enough (20 bytes for every word that there may be, 256 for each line).
    """
    codes = np.empty(max(s.words_high, _TEMPLATE), np.int64)
    spare = np.empty_like(codes)
    p = 0
    for doc in range(start, stop):
        date, kind, thousandths = _columns(doc, s, t)
        p = _put_id(out, _put_literal(out, p, parts[0]), doc, s.id_width)
        p = _put_literal(out, p, parts[1])
        p = _put_text(out, p, codes, _fill(doc, s, t, codes, spare), t, True)
        p = _put_date(out, _put_literal(out, p, parts[2]), date)
        p = _put_word(out, _put_literal(out, p, parts[3]), t.kinds, kind)
        p = _put_literal(out, p, parts[4])
        out[p] = 48 + thousandths // 1000
        out[p + 1] = 46
        p = _put_digits(out, p + 2, thousandths % 1000, 3)
        p = _put_literal(out, p, parts[5])
    return p
