"""Byte scans for the corpus room: where CSV records end, and how deep JSON nests.

All of them take bytes as ``uint8[n]``, release the GIL, and go over the bytes once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.bits import load8, trailing_zeros

__all__ = [
    "CUT_LINE",
    "CUT_RECORDS",
    "MODE",
    "QUOTED",
    "QUOTE_LINE",
    "cut_records",
    "find_record",
    "json_bounds",
    "json_depth",
    "new_state",
]

# Modes of the scan. Quoting starts at the start of a field only; after the closing quote a field
# goes on as if it were plain, as Arrow's parser does it.
RECORD, FIELD, PLAIN, QUOTED, QUOTE, RETURN = 0, 1, 2, 3, 4, 5

# Places in the state: mode, line now, records ended, line where the last quote opened, and line
# and records at the last cut.
MODE, LINE, RECORDS, QUOTE_LINE, CUT_LINE, CUT_RECORDS = 0, 1, 2, 3, 4, 5

_LF, _CR, _QUOTE = 10, 13, 34

# For eight bytes at a time.
_BLOCK = 128  # words; at most 255, since bytes count them
_ZERO, _SEVEN, _EIGHT, _TOP = np.uint64(0), np.uint64(7), np.uint64(8), np.uint64(48)
_HIGH, _LAST = np.uint64(0x80), np.uint64(56)
_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)
_CASE = np.uint64(0x2020202020202020)
_BRACES = np.uint64(0x7B7B7B7B7B7B7B7B)
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
_EVEN = np.uint64(0x00FF00FF00FF00FF)
_ONES = np.uint64(0x0001000100010001)


def new_state() -> np.ndarray:
    """State at the start of a file: line 1, nothing read; ``int64[6]``."""
    return np.array([RECORD, 1, 0, 0, 1, 0], np.int64)


@njit(cache=True, nogil=True)
def cut_records(data: np.ndarray, state: np.ndarray, delimiter: int, limit: int) -> int:
    """End of the last record that ends in ``data``, at most ``limit`` records on; 0 if none does.

    ``state`` carries the scan over to the next block. A blank line is no record.
    """
    mode, line, records = state[MODE], state[LINE], state[RECORDS]
    stop = records + limit
    cut = 0
    n = data.size
    i = 0
    while i < n:
        # Most bytes of texts are inside quotes or in plain fields; two tight loops pass them.
        if mode == QUOTED:
            while i < n and data[i] != _QUOTE:
                line += data[i] == _LF
                i += 1
            if i < n:
                mode = QUOTE
                i += 1
            continue
        if mode == PLAIN:
            while i < n and data[i] > _CR and data[i] != delimiter:
                i += 1
            if i == n:
                break
        c = data[i]
        i += 1
        if mode == QUOTE:
            if c == _QUOTE:
                mode = QUOTED
                continue
            mode = PLAIN
        elif mode == RETURN:
            mode = RECORD
            if c == _LF:  # the second half of a line end that has been counted
                cut = i
                continue
        if c in (_LF, _CR):
            if mode != RECORD:
                records += 1
            line += 1
            mode = RETURN if c == _CR else RECORD
            cut = i
            state[CUT_LINE] = line
            state[CUT_RECORDS] = records
            if records == stop:
                break
        elif c == delimiter:
            mode = FIELD
        elif c == _QUOTE and mode in (RECORD, FIELD):
            mode = QUOTED
            state[QUOTE_LINE] = line
        else:
            mode = PLAIN
    state[MODE], state[LINE], state[RECORDS] = mode, line, records
    return cut


@njit(cache=True, nogil=True)
def find_record(data: np.ndarray, delimiter: int, fields: int, index: int) -> tuple[int, int]:
    """The first record that has another number of fields than ``fields`` or is number ``index``.

    Returns:
        Lines before the record's first, and the number of its fields; (-1, 0) if there is none.
    """
    mode, line, start, count, record = RECORD, 0, 0, 1, 0
    n = data.size
    for i in range(n + 1):
        # The end of the data ends a last record without a newline.
        c = data[i] if i < n else np.uint8(_LF)
        if mode == QUOTED and i < n:
            if c == _QUOTE:
                mode = QUOTE
            elif c == _LF:
                line += 1
            continue
        if mode == QUOTE:
            if c == _QUOTE:
                mode = QUOTED
                continue
            mode = PLAIN
        elif mode == RETURN:
            mode = RECORD
            if c == _LF:
                start = line
                continue
        if c in (_LF, _CR):
            if mode != RECORD:
                if count != fields or record == index:
                    return start, count
                record += 1
            line += 1
            start = line
            count = 1
            mode = RETURN if c == _CR else RECORD
        elif c == delimiter:
            count += 1
            mode = FIELD
        elif c == _QUOTE and mode in (RECORD, FIELD):
            mode = QUOTED
        else:
            mode = PLAIN
    return -1, 0


@njit(cache=True, nogil=True)
def json_bounds(words: np.ndarray, tail: np.ndarray) -> tuple[int, int, int]:
    """Upper bound of the depth of nesting in any line, newlines, and lines that start with {.

    The bound counts opening brackets per KiB, inside strings too, and starts over at blocks with
    a newline. Eight bytes at a time and without branches, so that it runs many times faster than
    `json_depth`: most chunks need no more than the bound. A line that starts with [ counts too.

    Args:
        words: The bytes up to the last multiple of 8, as ``uint64[n // 8]``, little-endian.
        tail: The rest, ``uint8[n % 8]``.
    """
    most = np.int64(0)
    running = np.int64(0)
    newlines = np.int64(0)
    starts = np.int64(0)
    ended = _HIGH  # whether the byte before the word is a newline, at the word's first byte
    for begin in range(0, words.size, _BLOCK):
        brackets = _ZERO
        ends = _ZERO
        firsts = _ZERO
        # Each byte of a sum counts for one byte of the words: at most _BLOCK, which fits.
        for i in range(begin, min(words.size, begin + _BLOCK)):
            word = words[i]
            part = (word | _CASE) ^ _BRACES  # zero for { and for [, which differ in one bit
            bracket = ~(((part & _LOW) + _LOW) | part | _LOW)
            part = word ^ _NEWLINES
            end = ~(((part & _LOW) + _LOW) | part | _LOW)
            brackets += bracket >> _SEVEN
            ends += end >> _SEVEN
            firsts += (((end << _EIGHT) | ended) & bracket) >> _SEVEN
            ended = end >> _LAST
        opening = _sum_of_bytes(brackets)
        ending = _sum_of_bytes(ends)
        starts += _sum_of_bytes(firsts)
        running += opening
        most = max(most, running)
        if ending:
            newlines += ending
            running = opening
    after = ended != _ZERO
    for c in tail:
        bracket_here = (c | 32) == 123
        running += bracket_here
        starts += bracket_here and after
        after = c == _LF
        newlines += after
    return int(max(most, running)), int(newlines), int(starts)


@njit(cache=True, nogil=True)
def _sum_of_bytes(word: np.uint64) -> np.int64:
    pairs = (word & _EVEN) + ((word >> _EIGHT) & _EVEN)
    return np.int64((pairs * _ONES) >> _TOP)


@njit(cache=True, nogil=True)
def json_depth(data: np.ndarray) -> int:
    """Depth of nesting in JSON lines: brackets open at once in a line, outside strings."""
    most = 0
    depth = 0
    quoted = False
    escaped = False
    for i in range(data.size):
        c = data[i]
        if c == _LF:
            depth = 0
            quoted = False
            escaped = False
        elif quoted:
            if escaped:
                escaped = False
            elif c == 92:
                escaped = True
            elif c == _QUOTE:
                quoted = False
        elif c == _QUOTE:
            quoted = True
        elif c == 123 or c == 91:
            depth += 1
            most = max(most, depth)
        elif c == 125 or c == 93:
            depth -= 1
    return most


@njit(cache=True, nogil=True)
def select_lines(data, rows, out):
    """Copy some lines.

    Args:
        data: uint8[n].
        rows: int64[], ascending: lines to copy.
        out: uint8[n + 1], out: these lines; each ends with a newline.

    Returns:
        (lines in ``data``, bytes in ``out``).
    """
    size = data.shape[0]
    line = 0
    next_row = 0
    filled = 0
    i = 0
    ones = np.uint64(0x0101010101010101)
    highs = np.uint64(0x8080808080808080)
    newlines = np.uint64(0x0A0A0A0A0A0A0A0A)
    while i < size:
        start = i
        while True:
            if i + 8 <= size:
                w = load8(data, i) ^ newlines
                zeros = (w - ones) & ~w & highs
                if zeros == 0:
                    i += 8
                    continue
                i += np.int64(trailing_zeros(zeros) >> np.uint64(3))
                break
            if i >= size or data[i] == 10:
                break
            i += 1
        if next_row < rows.shape[0] and rows[next_row] == line:
            for j in range(start, i):
                out[filled + j - start] = data[j]
            filled += i - start
            out[filled] = 10
            filled += 1
            next_row += 1
        line += 1
        i += 1
    return line, filled
