"""Byte scans for `neardup.io`: lines and members of JSON lines, records and fields of CSV.

Every buffer, input or output, has `PAD` bytes more than its data, since bytes are looked at 32 at
a time; those behind an input are 0, which stops every scan. Positions are int32: a buffer is
smaller than 2 GiB. The kernels find spans; nothing is copied before `gather_values` and
`copy_records`.
"""

import numpy as np

from neardup.arrays import PAD
from neardup.kernels.bits import copy32, mask32, trailing_zeros
from neardup.kernels.compiling import inner, kernel

#: Kinds of values. ESCAPED: a JSON string with a backslash; DOUBLED: a CSV field with "", or an
#: escape, in it.
ABSENT, NULL, PLAIN, ESCAPED, DOUBLED, INTEGER, NUMBER, BOOLEAN, ARRAY, OBJECT = range(10)

#: Errors of a JSON line or a CSV record; 0 is none.
MALFORMED, REPEATED, DEEP, UNKNOWN, RAGGED, OPEN_QUOTE, AFTER_QUOTE = 1, 2, 3, 4, 5, 6, 7

#: States of a scan of JSON, by the next token.
_VALUE, _FIRST_VALUE, _KEY, _FIRST_KEY, _AFTER = 0, 1, 2, 3, 4

_TAB, _LF, _CR, _SPACE, _QUOTE, _COMMA = 9, 10, 13, 32, 34, 44
_COLON, _BACKSLASH, _U = 58, 92, 117
_OPEN_BRACKET, _CLOSE_BRACKET, _OPEN_BRACE, _CLOSE_BRACE = 91, 93, 123, 125
NO_ESCAPE = _QUOTE  # of a CSV file without one
_MARK_SIZE = 3  # bytes of a byte order mark in UTF-8

# The same for `mask32`, whose arguments are bytes.
_B_NONE, _B_LF, _B_CR, _B_SPACE = np.uint8(0), np.uint8(_LF), np.uint8(_CR), np.uint8(_SPACE)
_B_QUOTE, _B_BACKSLASH = np.uint8(_QUOTE), np.uint8(_BACKSLASH)


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the meaning of bytes in JSON: white space, escapes, hex digits, numbers, words.

    Returns bool[256] white space within a line; uint8[256] the meaning of a byte after a
    backslash, 0 for none; int8[256] value as a digit, -1 for none; uint8[states, 256] the automaton
    of numbers and words, 0 is its start and its end; uint8[states] the token that ends in a state.
    """
    space = np.zeros(256, np.bool_)
    space[[_TAB, _CR, _SPACE]] = True
    escapes = np.zeros(256, np.uint8)
    escapes[list(b'"\\/bfnrt')] = list(b'"\\/\b\f\n\r\t')
    hexadecimal = np.full(256, -1, np.int8)
    for digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
        hexadecimal[list(digits)] = range(16)
    minus, zero, integer, point, fraction, exponent, sign, power = range(1, 9)
    moves = np.zeros((64, 256), np.uint8)
    ends = np.zeros(64, np.uint8)
    ends[[zero, integer]] = INTEGER
    ends[[fraction, power]] = NUMBER
    nine, ten = list(b"123456789"), list(b"0123456789")
    for state in (0, minus):
        moves[state, nine] = integer
        moves[state, ord("0")] = zero
    moves[0, ord("-")] = minus
    moves[integer, ten] = integer
    moves[[zero, integer], ord(".")] = point
    for state in (point, fraction):
        moves[state, ten] = fraction
    for state in (zero, integer, fraction):
        moves[state, list(b"eE")] = exponent
    moves[exponent, list(b"+-")] = sign
    for state in (exponent, sign, power):
        moves[state, ten] = power
    states = power
    words = b"null", b"true", b"false", b"NaN", b"Infinity"
    for word, kind in zip(words, (NULL, BOOLEAN, BOOLEAN, NUMBER, NUMBER), strict=True):
        state = 0
        for letter in word:
            states += 1
            moves[state, letter] = states
            state = states
        ends[state] = kind
    moves[minus, ord("I")] = moves[0, ord("I")]
    return space, escapes, hexadecimal, moves, ends


_IS_SPACE, _ESCAPES, _HEX, _NEXT, _SCALARS = _tables()


@inner
def _is_mark(data, i):
    """Whether a byte order mark of UTF-8 is at a position."""
    return data[i] == 0xEF and data[i + 1] == 0xBB and data[i + 2] == 0xBF


@kernel
def json_lines(data, size, lines):
    """Find the lines of JSON lines, those of only spaces left out; return their number.

    ``lines``, int32[most, 3], gets the start, the last byte that is no space, and the end of each
    line. The end is after the newline, which the last line may lack. Byte order marks before a
    line, as in files that were put together, count as spaces. Where there are more than
    ``most`` lines, -1 is returned; there are ``size // 2 + 1`` at most.

    Args:
        data: uint8[size + PAD]: bytes.
        size: int: how many of them count.
        lines: int32[most, 3]: gets the lines.
    """
    count = 0
    start = 0
    i = 0
    while start < size:
        # The end of the line, or of the data.
        end = size
        while i < size:
            found = mask32(data, i, _B_LF, _B_LF, _B_LF, _B_NONE)
            if found:
                at = i + np.int64(trailing_zeros(found))
                if at < size:
                    end = at + 1
                break
            i += 32
        i = end
        first, last = start, end - 1
        while first <= last:
            if _IS_SPACE[data[first]] or data[first] == _LF:
                first += 1
            elif _is_mark(data, first):
                first += _MARK_SIZE
            else:
                break
        while last >= first and (_IS_SPACE[data[last]] or data[last] == _LF):
            last -= 1
        if first <= last:
            if count == lines.shape[0]:
                return -1
            lines[count, 0], lines[count, 1], lines[count, 2] = first, last, end
            count += 1
        start = end
    return count


@kernel
def json_fields(data, lines, keys, key_ends, every, values, kinds, stack, name):
    """Check JSON lines byte by byte and find some of their values.

    A line must be one object. All that Python's parser takes is taken, NaN and Infinity too.
    ``keys`` has the UTF-8 of the names of the wanted members, which end at ``key_ends``, 0 first;
    ``every`` is whether to stop at another name. ``values``, int32[k, count, 2], gets the start
    and end of each value, without quotes; ``kinds``, uint8[k, count], its kind. ``stack`` has a
    byte for each level of nesting allowed, and one; ``name`` 6 for each of the longest wanted
    name, and PAD.

    Returns (number of the first line that is refused, or ``count``; why; start and end of a
    member's name that is not wanted).

    Args:
        data: uint8[]: bytes.
        lines: int32[count, 3]: see `json_lines`.
        keys: uint8[]: names.
        key_ends: int64[k + 1]: where they end.
        every: bool: stop at another name.
        values: int32[k, count, 2]: gets the values.
        kinds: uint8[k, count]: gets their kinds.
        stack: uint8[levels + 1]: working memory.
        name: uint8[]: working memory.
    """
    for r in range(lines.shape[0]):
        i = np.int64(lines[r, 0])
        end = np.int64(lines[r, 1]) + 1
        for k in range(kinds.shape[0]):
            kinds[k, r] = ABSENT
            values[k, r, 0] = values[k, r, 1] = i
        if data[i] != _OPEN_BRACE:
            return r, MALFORMED, i, i
        i += 1
        stack[1] = _CLOSE_BRACE
        depth = 1
        field = -1  # the wanted member of which the value comes next, or is open
        state = _FIRST_KEY
        while depth:
            while _IS_SPACE[data[i]]:
                i += 1
            if i >= end:
                return r, MALFORMED, i, i
            c = data[i]
            start = i
            if state == _AFTER:
                i += 1
                if c == _COMMA:
                    state = _KEY if stack[depth] == _CLOSE_BRACE else _VALUE
                    continue
                if c != stack[depth]:
                    return r, MALFORMED, i, i
                depth -= 1
                kind = ABSENT
            elif c == _QUOTE:
                # A key or a string: all the same until its end.
                kind = PLAIN
                start += 1
                i = start
                while True:
                    found = mask32(data, i, _B_QUOTE, _B_BACKSLASH, _B_QUOTE, _B_SPACE)
                    if not found:
                        i += 32
                        continue
                    i += np.int64(trailing_zeros(found))
                    if data[i] == _QUOTE:
                        break
                    if data[i] != _BACKSLASH:  # a control character, or the end of the data
                        return r, MALFORMED, i, i
                    kind = ESCAPED
                    if _ESCAPES[data[i + 1]]:
                        i += 2
                    elif data[i + 1] == _U and _code(data, i) >= 0:
                        i += 6
                    else:
                        return r, MALFORMED, i, i
                i += 1
            elif c in (_OPEN_BRACE, _OPEN_BRACKET):
                kind = OBJECT if c == _OPEN_BRACE else ARRAY
                i += 1
            elif c == stack[depth] and state in (_FIRST_KEY, _FIRST_VALUE):
                depth -= 1
                i += 1
                kind = ABSENT
            else:
                step = _NEXT[0, c]
                scalar = 0
                while step:
                    scalar = step
                    i += 1
                    step = _NEXT[scalar, data[i]]
                kind = _SCALARS[scalar]
                if kind == ABSENT:
                    return r, MALFORMED, i, i

            if kind == ABSENT:  # an array or an object has ended
                if depth == 1 and field >= 0:
                    values[field, r, 1] = i
                    field = -1
                state = _AFTER
            elif state in (_KEY, _FIRST_KEY):
                if kind != PLAIN and kind != ESCAPED:
                    return r, MALFORMED, i, i
                if depth == 1:
                    field = _match(data, start, i - 1, kind == ESCAPED, keys, key_ends, name)
                    if field < 0 and every:
                        return r, UNKNOWN, start, i - 1
                    if field >= 0 and kinds[field, r] != ABSENT:
                        return r, REPEATED, i, i
                while _IS_SPACE[data[i]]:
                    i += 1
                if data[i] != _COLON:
                    return r, MALFORMED, i, i
                i += 1
                state = _VALUE
            else:
                nested = kind in (OBJECT, ARRAY)
                if depth == 1 and field >= 0:
                    kinds[field, r] = kind
                    values[field, r, 0], values[field, r, 1] = start, i - (kind in (PLAIN, ESCAPED))
                    if not nested:
                        field = -1
                state = _AFTER
                if nested:
                    depth += 1
                    if depth == stack.size:
                        return r, DEEP, i, i
                    stack[depth] = c + 2
                    state = _FIRST_KEY if kind == OBJECT else _FIRST_VALUE
        if i != end:
            return r, MALFORMED, i, i
    return lines.shape[0], 0, 0, 0


@inner
def _match(data, start, stop, escaped, keys, key_ends, name):
    """The number of the wanted member of that name; -1 for others."""
    if escaped:
        if stop - start > name.size - PAD:
            return -1
        stop, _ = _unescape(data, start, stop, name, np.int64(0))
        start = np.int64(0)
        data = name
    for k in range(key_ends.size - 1):
        first = key_ends[k]
        if key_ends[k + 1] - first == stop - start:
            j = start
            while j < stop and keys[first + j - start] == data[j]:
                j += 1
            if j == stop:
                return k
    return -1


@inner
def _code(data, i):
    """The number of an escape, a ``u`` and four hexadecimal digits; negative where it is none."""
    code = np.int64(0)
    for j in range(i + 2, i + 6):
        code = code << 4 | np.int64(_HEX[data[j]])
    return code


@inner
def _unescape(data, start, stop, out, to):
    """Copy a JSON string without escapes; return (end, if a lone surrogate became U+FFFD)."""
    i = start
    lone = False
    while i < stop:
        found = mask32(data, i, _B_BACKSLASH, _B_BACKSLASH, _B_BACKSLASH, _B_NONE)
        copy32(data, i, out, to)
        if not found:
            i += 32
            to += 32
            continue
        step = np.int64(trailing_zeros(found))
        i += step
        to += step
        if i >= stop:
            break
        if _ESCAPES[data[i + 1]]:
            out[to] = _ESCAPES[data[i + 1]]
            to += 1
            i += 2
            continue
        code = _code(data, i)
        i += 6
        if code >> 10 == 0x36:  # the first half of a pair
            low = np.int64(0)
            if i + 6 <= stop and data[i] == _BACKSLASH and data[i + 1] == _U:
                low = _code(data, i)
            if low >> 10 == 0x37:
                code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF)
                i += 6
        if code >> 11 == 0x1B:
            code = np.int64(0xFFFD)
            lone = True
        if code < 0x80:
            out[to] = code
            to += 1
            continue
        # The last byte of UTF-8 is written first: from it on they are all of one form.
        size = 2 + (code >= 0x800) + (code >= 0x10000)
        for j in range(size - 1, 0, -1):
            out[to + j] = 0x80 | (code & 0x3F)
            code >>= 6
        out[to] = (0xF00 >> size) & 0xFF | code
        to += size
    return to - (i - stop), lone  # the last 32 bytes may have been copied beyond the end


@inner
def _copy(data, start, stop, out, to):
    i = start
    while i < stop:
        copy32(data, i, out, to + i - start)
        i += 32
    return to + stop - start


@kernel
def gather_values(data, values, kinds, columns, escape, out, offsets, lone):
    """Copy values, concatenated, without escapes; those of several columns with a space.

    ``columns`` says which of the ``k`` of `json_fields` or `csv_records`, in which order. ``out``
    has capacity for all values, spaces, and PAD; ``lone`` is whether a lone surrogate was replaced.

    Args:
        data: uint8[]: bytes.
        values: int32[k, count or more, 2]: see `json_fields`.
        kinds: uint8[k, count or more]: see `json_fields`.
        columns: int64[c]: rows of both.
        escape: int: see `csv_records`.
        out: uint8[]: gets the values.
        offsets: int64[count + 1]: gets where they begin.
        lone: uint8[count]: gets whether a lone surrogate was replaced.
    """
    to = np.int64(0)
    offsets[0] = 0
    for r in range(offsets.size - 1):
        lone[r] = False
        for c in range(columns.size):
            if c:
                out[to] = _SPACE
                to += 1
            k = columns[c]
            kind = kinds[k, r]
            start, stop = np.int64(values[k, r, 0]), np.int64(values[k, r, 1])
            if kind == ESCAPED:
                to, bad = _unescape(data, start, stop, out, to)
                lone[r] |= bad
            elif kind == DOUBLED:
                i = start
                while i < stop:
                    if data[i] == escape and escape != _QUOTE and i + 1 < stop:
                        i += data[i + 1] == _QUOTE or data[i + 1] == escape
                        out[to] = data[i]
                        i += 1
                    else:
                        out[to] = data[i]
                        i += 2 if data[i] == _QUOTE else 1
                    to += 1
            elif kind != ABSENT and kind != NULL:
                to = _copy(data, start, stop, out, to)
        offsets[r + 1] = to


@kernel
def csv_records(data, size, delimiter, escape, final, row_of, expected, lines, values, kinds):
    """Find the records of CSV and some of their fields. A blank line is no record.

    Byte order marks before a record, as in files that were put together, are no part of it.
    Quoting starts at the start of a field only. ``final`` is whether the end of the data is the end
    of the file. ``row_of`` has, for each field, the row of ``values`` for it; -1 for none. Each
    record must have as many fields as ``expected``; with 0 that does not matter, nor do
    bytes after a closing quote. ``lines``, int32[size // 2 + 1, 3], gets the start, the end without
    the line end, and the end of records; ``values`` and ``kinds`` (ABSENT where empty, PLAIN or
    DOUBLED) are as in `json_fields`.

    Returns (records, the error of the one after them, position where the scan stopped, fields
    of the wrong one).

    Args:
        data: uint8[size + PAD]: bytes.
        size: int: how many of them count.
        delimiter: int: a byte.
        escape: int: a byte, behind which a quote or this byte is text in quotes; a quote for none.
        final: bool: the end of the data is the end of the file.
        row_of: int64[fields]: rows of ``values``.
        expected: int: fields of a record.
        lines: int32[size // 2 + 1, 3]: gets the records.
        values: int32[k, size // 2 + 1, 2]: gets the fields.
        kinds: uint8[k, size // 2 + 1]: gets their kinds.
    """
    i = np.int64(0)
    count = 0
    while i < size:
        if data[i] == _LF or data[i] == _CR:
            i += 1
            continue
        if _is_mark(data, i):
            i += _MARK_SIZE
            continue
        begin = i
        fields = 0
        while True:
            start = i
            kind = PLAIN
            plain = data[i] != _QUOTE or i >= size
            if not plain:
                i += 1
                start = i
                while i < size:
                    found = mask32(data, i, _B_QUOTE, escape, escape, _B_NONE)
                    if not found:
                        i += 32
                        continue
                    i += np.int64(trailing_zeros(found))
                    if data[i] != _QUOTE and i < size:
                        if data[i + 1] == _QUOTE or data[i + 1] == escape:
                            kind = DOUBLED
                            i += 1
                        i += 1
                        continue
                    if data[i + 1] != _QUOTE or i + 1 >= size:
                        break
                    kind = DOUBLED
                    i += 2
                if i >= size:
                    if final:
                        return count, OPEN_QUOTE, start - 1, fields
                    return count, 0, begin, fields
                stop = i
                i += 1
                c = data[i]
                if i < size and c != delimiter and c != _LF and c != _CR:
                    if expected:
                        return count, AFTER_QUOTE, begin, fields
                    plain = True
                    start -= 1
            if plain:
                while True:
                    found = mask32(data, i, delimiter, _B_LF, _B_CR, _B_NONE)
                    if found:
                        i += np.int64(trailing_zeros(found))
                        break
                    i += 32
                    if i >= size:
                        break
                i = min(i, size)
                stop = i
                kind = PLAIN if start < stop else ABSENT
            if fields < row_of.size and row_of[fields] >= 0:
                k = row_of[fields]
                values[k, count, 0], values[k, count, 1], kinds[k, count] = start, stop, kind
            fields += 1
            if i < size and data[i] == delimiter:
                i += 1
                continue
            break
        if not final and (i == size or (i + 1 == size and data[i] == _CR)):
            return count, 0, begin, fields
        if expected and fields != expected:
            return count, RAGGED, begin, fields
        lines[count, 0], lines[count, 1] = begin, i
        if i < size:
            i += 2 if data[i] == _CR and data[i + 1] == _LF and i + 1 < size else 1
        lines[count, 2] = i
        count += 1
    return count, 0, i, 0


@kernel
def copy_records(data, records, extra, ends, out):
    """Copy records; each ends with a line end, the last one too. Returns the bytes in ``out``.

    ``records``, int32[count, 3], has the start, the position of the insertion, and the end of each;
    ``extra`` has all insertions, concatenated, which end at ``ends``, 0 first; empty where
    there is none. ``out`` has capacity for one byte more, and PAD.

    Args:
        data: uint8[]: bytes.
        records: int32[count, 3]: records.
        extra: uint8[]: bytes that are put in.
        ends: int64[count + 1]: where they end; int64[0] for none.
        out: uint8[]: gets the records.
    """
    to = np.int64(0)
    count = records.shape[0]
    r = 0
    while r < count:
        start = np.int64(records[r, 0])
        if ends.size:
            middle = np.int64(records[r, 1])
            to = _copy(data, start, middle, out, to)
            to = _copy(extra, ends[r], ends[r + 1], out, to)
            start = middle
        stop = np.int64(records[r, 2])
        r += 1
        # Neighbours are copied at once.
        while not ends.size and r < count and records[r, 0] == stop:
            stop = np.int64(records[r, 2])
            r += 1
        to = _copy(data, start, stop, out, to)
    if to and out[to - 1] != _LF and out[to - 1] != _CR:
        out[to] = _LF
        to += 1
    return to
