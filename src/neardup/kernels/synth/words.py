"""The words of a note, as codes.

On the way a note is a row of *codes*, one int64 for each word between white space:

    bits  0-19  payload: rank of a word, number of a heading, or what a number is made from
    bits 20-22  class: word, heading, integer, decimal, pressure, date
    bits 23-27  capital, comma, full stop, line break, paragraph break

Layout rides on the words, so an edit changes the words it is meant to change and no others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.kernels.hashing import mix
from neardup.kernels.synth.draws import (
    EDIT_STREAM,
    GOLDEN,
    LOW32U,
    SLOT_STREAM,
    TEMPLATE_STREAM,
    TEXT_STREAM,
    VALUE_STREAM,
    Whole,
    below,
    draw_key,
    jit,
    pick,
)
from neardup.kernels.synth.roles import (
    FAMILY,
    NEAR,
    ORIGINAL,
    edits_of,
    length_of,
    role_of,
    source_of,
)

__all__ = [
    "BOILERPLATE",
    "CAPITAL",
    "CLASS_SHIFT",
    "COMMA",
    "DATE",
    "DECIMAL",
    "HEADING",
    "INTEGER",
    "LINE",
    "PARAGRAPH",
    "PAYLOAD",
    "PRESSURE",
    "SLOTS",
    "STOP",
    "TEMPLATE",
    "WORD",
    "fill",
]

BOILERPLATE, SLOTS = 200, 20
_BLOCK = BOILERPLATE // SLOTS + 1  # words of a template for each of its slots, the slot included
TEMPLATE = np.int64(BOILERPLATE + SLOTS)

WORD, HEADING, INTEGER, DECIMAL, PRESSURE, DATE = 0, 1, 2, 3, 4, 5
PAYLOAD = (1 << 20) - 1
CLASS_SHIFT = 20
CAPITAL, COMMA, STOP, LINE, PARAGRAPH = 1 << 23, 1 << 24, 1 << 25, 1 << 26, 1 << 27
_LAYOUT = CAPITAL | COMMA | STOP | LINE | PARAGRAPH

# How many different payloads each number class has; rendering is one-to-one on them.
_INTEGERS, _DECIMALS, _PRESSURES, _DATES = 500, 1000, 100 * 60, 12 * 28 * 20


@jit
def _word(draw: Any, t: Any) -> Whole:
    """One word or number without layout; about 3 in 100 are numbers."""
    low = np.int64(draw & LOW32U)
    chance, payload = low & 1023, low >> 10
    if chance >= 30:
        return pick(draw, t.word_share, t.word_alias)
    if chance < 12:
        return (INTEGER << CLASS_SHIFT) | payload % _INTEGERS
    if chance < 20:
        return (DECIMAL << CLASS_SHIFT) | payload % _DECIMALS
    if chance < 26:
        return (PRESSURE << CLASS_SHIFT) | payload % _PRESSURES
    return (DATE << CLASS_SHIFT) | payload % _DATES


@jit
def _compose(codes: Any, length: int, key: Any, t: Any) -> None:
    """Fill ``codes[:length]`` with sections of sentences."""
    state = key
    sentences: Whole = 0  # left in this section, the current one included
    left = 0  # words left in this sentence
    capital = 0
    for i in range(length):
        state += GOLDEN
        draw = mix(state)
        if left == 0:
            state += GOLDEN
            shape = mix(state)
            left = 5 + below(shape, 13)
            capital = CAPITAL
            if sentences == 0:
                sentences = 2 + np.int64(shape & np.uint64(3))
                if i < length - 2:  # a heading with nothing below it would look odd
                    heading = below(draw, t.headings.shape[0])
                    codes[i] = (HEADING << CLASS_SHIFT) | heading
                    if (draw & np.uint64(1)) != np.uint64(0):
                        codes[i] |= LINE
                    continue
        code = _word(draw, t) | capital
        capital = 0
        left -= 1
        if left == 0 or i == length - 1:
            left = 0
            sentences -= 1
            code |= STOP
            if sentences == 0:
                code |= PARAGRAPH
            elif (draw & np.uint64(0xC000000)) == np.uint64(0):
                code |= LINE
        elif (draw & np.uint64(0xF0000000)) == np.uint64(0):
            code |= COMMA
        codes[i] = code


@jit
def _other(code: int, draw: Any, t: Any) -> Whole:
    """Another word, heading or number of the same class, with the same layout."""
    old = code & PAYLOAD
    rest = code - old
    which = (code >> CLASS_SHIFT) & 7
    if which == WORD:
        new = pick(draw, t.word_share, t.word_alias)
        while new == old:
            draw = mix(draw + GOLDEN)
            new = pick(draw, t.word_share, t.word_alias)
        return rest | new
    if which == HEADING:
        count = np.int64(t.headings.shape[0])
    elif which == INTEGER:
        count = np.int64(_INTEGERS)
    elif which == DECIMAL:
        count = np.int64(_DECIMALS)
    elif which == PRESSURE:
        count = np.int64(_PRESSURES)
    else:
        count = np.int64(_DATES)
    return rest | ((old + 1 + below(draw, count - 1)) % count)


@jit
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
            state += GOLDEN
            if below(mix(state), length - i) < edits:
                edits -= 1
                state += GOLDEN
                draw = mix(state)
                how = np.int64(draw & LOW32U) % 10
                plain = code <= PAYLOAD
                if how == 0 and plain and size > s.words_low:
                    size -= 1
                    continue
                if how == 1 and plain and size < s.words_high:
                    size += 1
                    codes[count] = pick(draw, t.word_share, t.word_alias)
                    count += 1
                else:
                    code = _other(code, draw, t)
        codes[count] = code
        count += 1
    return count


@jit
def _fill_template(doc: int, family: int, s: Any, t: Any, codes: Any) -> Whole:
    """Words of a family's member: its boilerplate, and in each slot one of the slot's values.

    One slot in every 11 words. A slot's values are neighbours in the vocabulary, hence distinct;
    rank r of them has weight 1/r.
    """
    _compose(codes, TEMPLATE, draw_key(s.seed, TEMPLATE_STREAM, family), t)
    slot_state = draw_key(s.seed, SLOT_STREAM, family)
    value_state = draw_key(s.seed, VALUE_STREAM, doc)
    vocabulary = np.int64(t.words.shape[0])
    for slot in range(SLOTS):
        slot_state += GOLDEN
        draw = mix(slot_state)
        place = slot * _BLOCK + below(draw, _BLOCK - 1)
        if (codes[place] >> CLASS_SHIFT) & 7 == HEADING:
            place += 1  # no two headings follow each other, and the block has one word more
        first_value = ((np.int64(draw & LOW32U)) * vocabulary) >> 32
        value_state += GOLDEN
        rank = pick(mix(value_state), t.value_share, t.value_alias)
        codes[place] = (codes[place] & _LAYOUT) | ((first_value + rank) % vocabulary)
    return TEMPLATE


@jit
def fill(doc: int, s: Any, t: Any, codes: Any, spare: Any) -> Whole:
    """Fill ``codes`` with the words of a position; returns how many."""
    role, family = role_of(doc, s, t)
    if role == FAMILY:
        return _fill_template(doc, family, s, t, codes)
    source = doc
    if role != ORIGINAL:
        source = source_of(doc, s, t)
    length = length_of(source, s)
    key = draw_key(s.seed, TEXT_STREAM, source)
    if role == NEAR:
        _compose(spare, length, key, t)
        edits = edits_of(doc, length, s)
        return _revise(spare, length, edits, draw_key(s.seed, EDIT_STREAM, doc), s, t, codes)
    _compose(codes, length, key, t)
    return length
