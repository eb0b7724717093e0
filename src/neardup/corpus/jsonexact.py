"""JSON lines by Python's parser: slow, but it names the line, and it loses nothing.

A column whose values have several types is kept as JSON text, marked by `JSON_FIELD`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from neardup.corpus.documents import Columns
from neardup.corpus.jsontext import to_json
from neardup.corpus.schemas import JSON_FIELD
from neardup.corpus.texts import REPLACE_HINT
from neardup.errors import ColumnError, EncodingError, FormatError

__all__ = ["MAX_DEPTH", "parse_exactly"]

MAX_DEPTH = 100  # levels of nesting that become an Arrow type; deeper values stay JSON text

_EXACT = 1 << 53
_LONE = re.compile("[\ud800-\udfff]")
_KINDS = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "an array",
    dict: "an object",
    str: "a string",
    type(None): "null",
}


class _MixedError(Exception):
    """No Arrow type holds all of a column's values without loss."""


def parse_exactly(raw: bytes, at: Callable[[int], str], columns: Columns) -> tuple[pa.Table, int]:
    """The objects of some lines as a table, and in how many invalid UTF-8 was replaced.

    Absent and null are the same. The last of two equal keys wins, as in Python.

    Args:
        raw: Whole lines; blank ones are skipped.
        at: Names the place of line ``i`` of them, from 0, for messages; costly, so asked late.

    Raises:
        FormatError: A line that is not one JSON object.
        EncodingError: Bytes that are not UTF-8, or an escaped half of a surrogate pair.
        ColumnError: A text that is not a string.
    """
    rows: list[dict[str, Any]] = []
    replaced = 0
    for line, text, repaired in _lines(raw, at, columns):
        row, lone = _without_lone(_object(text, at, line), text)
        if lone and not columns.replaces:
            raise EncodingError(
                f"{at(line)} escapes half a surrogate pair, which is no character",
                REPLACE_HINT,
            )
        for column in columns.text:
            if not isinstance(row.get(column), str | None):
                raise ColumnError(
                    f"{at(line)}: column {column!r} is {_KINDS[type(row[column])]}, "
                    "expected a string",
                    "name another column with --text, or convert this one to strings",
                )
        rows.append(row)
        replaced += repaired or lone
    names = dict.fromkeys(key for row in rows for key in row)
    names.update(dict.fromkeys(columns.text))
    large = len(raw) >= 1 << 31  # where the offsets of plain strings could overflow
    fields, arrays = [], []
    for key in names:
        field, array = _column(key, [row.get(key) for row in rows], key in columns.text, large)
        fields.append(field)
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields)), replaced


def _lines(
    raw: bytes, at: Callable[[int], str], columns: Columns
) -> Iterator[tuple[int, str, bool]]:
    for number, line in enumerate(raw.split(b"\n")):
        if not line.strip():
            continue
        try:
            yield number, line.decode(), False
        except UnicodeDecodeError as error:
            if not columns.replaces:
                raise EncodingError(
                    f"{at(number)} is not valid UTF-8 (byte {error.start + 1})",
                    REPLACE_HINT,
                ) from error
            yield number, line.decode(errors="replace"), True


def _object(text: str, at: Callable[[int], str], line: int) -> dict[str, Any]:
    hint = "every line must be one JSON object; correct or drop this line"
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{at(line)} is not valid JSON at character {error.pos + 1}: {error.msg}", hint
        ) from error
    except RecursionError as error:
        raise FormatError(f"{at(line)} nests too deep", hint) from error
    except ValueError as error:  # Python refuses to convert very long numbers
        raise FormatError(f"{at(line)} has a number of too many digits", hint) from error
    if not isinstance(value, dict):
        raise FormatError(f"{at(line)} is {_KINDS[type(value)]}, not an object", hint)
    return value


def _without_lone(value: dict[str, Any], text: str) -> tuple[dict[str, Any], bool]:
    """The object with U+FFFD for lone surrogates, and whether there were any."""
    if "\\ud" not in text and "\\uD" not in text:
        return value, False
    found = False

    def clean(part: Any) -> Any:
        nonlocal found
        if isinstance(part, str):
            cleaned, count = _LONE.subn("\ufffd", part)
            found = found or count > 0
            return cleaned
        if isinstance(part, list):
            return [clean(p) for p in part]
        if isinstance(part, dict):
            return {clean(k): clean(v) for k, v in part.items()}
        return part

    cleaned = clean(value)
    return cleaned, found


def _column(name: str, values: list[Any], is_text: bool, large: bool) -> tuple[pa.Field, pa.Array]:
    string = pa.large_string() if large else pa.string()
    try:
        type = string if is_text else _type_of(values, string, MAX_DEPTH)
        return pa.field(name, type), pa.array(values, type)
    except _MixedError:
        texts = [None if value is None else to_json(value) for value in values]
        return pa.field(name, pa.large_string(), metadata=JSON_FIELD), pa.array(
            texts, pa.large_string()
        )


def _type_of(values: list[Any], string: pa.DataType, depth: int) -> pa.DataType:
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pa.null()
    if kinds == {str}:
        return string
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {float}:
        return pa.float64()
    if kinds <= {int, float}:
        bound = _EXACT if float in kinds else (1 << 63) - 1
        if all(type(value) is not int or -bound <= value <= bound for value in values):
            return pa.float64() if float in kinds else pa.int64()
    elif depth and kinds == {list}:
        inner = [item for value in values if value is not None for item in value]
        return pa.list_(_type_of(inner, string, depth - 1))
    elif depth and kinds == {dict}:
        rows = [value for value in values if value is not None]
        keys = dict.fromkeys(key for row in rows for key in row)
        return pa.struct(
            [(key, _type_of([row.get(key) for row in rows], string, depth - 1)) for key in keys]
        )
    raise _MixedError
