"""The bytes of a note: codes to UTF-8, for columns and for JSON lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.kernels.hashing import mix
from neardup.kernels.synth.draws import COLUMN_STREAM, GOLDEN, LOW32U, Whole, below, draw_key, jit
from neardup.kernels.synth.setting import WORD_BYTES
from neardup.kernels.synth.words import (
    CAPITAL,
    CLASS_SHIFT,
    COMMA,
    DECIMAL,
    HEADING,
    INTEGER,
    LINE,
    PARAGRAPH,
    PAYLOAD,
    PRESSURE,
    STOP,
    TEMPLATE,
    WORD,
    fill,
)

__all__ = ["write_columns", "write_lines", "write_texts"]


@jit
def _put_word(out: Any, p: int, matrix: Any, row: int) -> Whole:
    for i in range(WORD_BYTES):  # a fixed number is one vector move; the next word overwrites
        out[p + i] = matrix[row, i]
    return p + np.int64(matrix[row, WORD_BYTES - 1])


@jit
def _put_digits(out: Any, p: int, value: int, width: int) -> Whole:
    for i in range(width - 1, -1, -1):
        out[p + i] = 48 + value % 10
        value //= 10
    return p + width


@jit
def _put_integer(out: Any, p: int, value: int) -> Whole:
    width = 1
    power = 10
    while power <= value:
        width += 1
        power *= 10
    return _put_digits(out, p, value, width)


@jit
def _put_number(out: Any, p: int, which: int, payload: int) -> Whole:
    if which == INTEGER:
        return _put_integer(out, p, payload + 1)
    if which == DECIMAL:
        p = _put_integer(out, p, payload // 10)
        out[p] = 46  # .
        return _put_digits(out, p + 1, payload % 10, 1)
    if which == PRESSURE:
        p = _put_integer(out, p, 90 + payload // 60)
        out[p] = 47  # /
        return _put_integer(out, p + 1, 50 + payload % 60)
    p = _put_digits(out, p, 1 + payload % 12, 2)
    out[p] = 47
    p = _put_digits(out, p + 1, 1 + payload // 12 % 28, 2)
    out[p] = 47
    return _put_digits(out, p + 1, 2005 + payload // 336, 4)


@jit
def _put_break(out: Any, p: int, escaped: bool) -> Whole:
    if escaped:
        out[p] = 92  # backslash
        out[p + 1] = 110  # n
        return p + 2
    out[p] = 10
    return p + 1


@jit
def _put_text(out: Any, p: int, codes: Any, count: int, t: Any, escaped: bool) -> Whole:
    """Write words with one blank, line break or paragraph break between them.

    ``escaped`` writes a line break as JSON does; texts hold nothing else that JSON escapes.
    """
    for i in range(count):
        code = codes[i]
        payload = code & PAYLOAD
        which = (code >> CLASS_SHIFT) & 7
        begin = p
        if which == WORD:
            p = _put_word(out, p, t.words, payload)
            if code & CAPITAL and 97 <= out[begin] <= 122:
                out[begin] -= 32
        elif which == HEADING:
            p = _put_word(out, p, t.headings, payload)
        else:
            p = _put_number(out, p, which, payload)
        if code & STOP:
            out[p] = 46
            p += 1
        elif code & COMMA:
            out[p] = 44
            p += 1
        if i == count - 1:
            break
        if code & PARAGRAPH:
            p = _put_break(out, _put_break(out, p, escaped), escaped)
        elif code & LINE:
            p = _put_break(out, p, escaped)
        else:
            out[p] = 32
            p += 1
    return p


@jit
def _put_id(out: Any, p: int, doc: int, width: int) -> Whole:
    out[p] = 110
    out[p + 1] = 111
    out[p + 2] = 116
    out[p + 3] = 101
    out[p + 4] = 45  # "note-"
    return _put_digits(out, p + 5, doc, width)


@jit
def _columns(doc: int, s: Any, t: Any) -> Any:
    """(date, kind, quality): day number below 16 * 12 * 28, row of kinds, thousandths."""
    state = draw_key(s.seed, COLUMN_STREAM, doc) + GOLDEN
    draw = mix(state)
    date = below(draw, 16 * 336)
    kind = ((np.int64(draw & LOW32U)) * np.int64(t.kinds.shape[0])) >> 32
    return date, kind, below(mix(state + GOLDEN), 1001)


@jit
def _put_date(out: Any, p: int, date: int) -> Whole:
    p = _put_digits(out, p, 2008 + date // 336, 4)
    out[p] = 45
    p = _put_digits(out, p + 1, 1 + date // 28 % 12, 2)
    out[p] = 45
    return _put_digits(out, p + 1, 1 + date % 28, 2)


@jit
def write_texts(start: int, stop: int, s: Any, t: Any, out: Any, offsets: Any) -> None:
    """Write the texts of [start, stop) one after another.

    Args:
        start, stop: Positions.
        s, t: ``Setting`` and ``Tables``.
        out: uint8, large enough (20 bytes for every word that there may be).
        offsets: int32 (count + 1,), out: text i is ``out[offsets[i]:offsets[i + 1]]``.
    """
    codes = np.empty(max(s.words_high, TEMPLATE), np.int64)
    spare = np.empty_like(codes)
    p = 0
    offsets[0] = 0
    for doc in range(start, stop):
        count = fill(doc, s, t, codes, spare)
        p = _put_text(out, p, codes, count, t, False)
        offsets[doc - start + 1] = p


@jit
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


@jit
def _put_literal(out: Any, p: int, literal: Any) -> Whole:
    for i in range(literal.size):
        out[p + i] = literal[i]
    return p + literal.size


@jit
def write_lines(start: int, stop: int, s: Any, t: Any, parts: Any, out: Any) -> Whole:
    """Write the documents of [start, stop) as JSON lines; returns the number of bytes.

    Args:
        start, stop: Positions.
        s, t: ``Setting`` and ``Tables``.
        parts: Tuple of six uint8 arrays, what stands before, between and after the five values.
        out: uint8, large enough (20 bytes for every word that there may be, 256 for each line).
    """
    codes = np.empty(max(s.words_high, TEMPLATE), np.int64)
    spare = np.empty_like(codes)
    p = 0
    for doc in range(start, stop):
        date, kind, thousandths = _columns(doc, s, t)
        p = _put_id(out, _put_literal(out, p, parts[0]), doc, s.id_width)
        p = _put_literal(out, p, parts[1])
        p = _put_text(out, p, codes, fill(doc, s, t, codes, spare), t, True)
        p = _put_date(out, _put_literal(out, p, parts[2]), date)
        p = _put_word(out, _put_literal(out, p, parts[3]), t.kinds, kind)
        p = _put_literal(out, p, parts[4])
        out[p] = 48 + thousandths // 1000
        out[p + 1] = 46
        p = _put_digits(out, p + 2, thousandths % 1000, 3)
        p = _put_literal(out, p, parts[5])
    return p
