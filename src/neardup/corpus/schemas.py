"""One schema for all chunks, and each chunk's table brought into it without loss.

Chunks are typed one by one, so that they may differ. What a chunk knows about a column beyond its
Arrow type stands in the field's metadata:

* ``neardup.json``: the strings are JSON texts, since the values have no common type;
* ``neardup.narrow``: a CSV column; its strings are exactly values of the types listed;
* ``neardup.wide``: integers that a float would round.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from neardup.corpus.jsontext import json_fragments
from neardup.corpus.texts import is_text
from neardup.errors import FormatError

__all__ = ["JSON_FIELD", "WIDE_FIELD", "conform", "is_json", "narrow_field", "unify"]

_JSON, _NARROW, _WIDE = b"neardup.json", b"neardup.narrow", b"neardup.wide"
JSON_FIELD = {_JSON: b"1"}
WIDE_FIELD = {_WIDE: b"1"}

# In order of choice. Floats have two spellings, Arrow's ("1") and Python's ("1.0"); a column
# must keep to one of them.
_NARROW_TYPES = {
    "int64": pa.int64(),
    "arrow-float": pa.float64(),
    "python-float": pa.float64(),
    "bool": pa.bool_(),
}
_EMPTY = "empty"


def narrow_field(fits: Iterable[str]) -> dict[bytes, bytes]:
    """Metadata of a CSV column whose strings fit the types named; ``empty`` fits all."""
    return {_NARROW: ",".join(sorted(fits)).encode()}


def is_json(field: pa.Field) -> bool:
    """Whether the strings of a column are JSON texts."""
    return _has(field, _JSON)


def _has(field: pa.Field, mark: bytes) -> bool:
    return bool(field.metadata) and mark in field.metadata


def unify(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """One schema that holds the values of all these schemas.

    Columns come in the order in which they first appear. Integers and floats become floats, null
    becomes anything, structs get the fields of all; what has no common type becomes JSON text.
    Metadata of the schemas is kept where all of them agree.
    """
    fields: dict[str, list[pa.Field]] = {}
    metadata: list[dict[bytes, bytes] | None] = []
    for schema in schemas:
        metadata.append(schema.metadata)
        for field in schema:
            known = fields.setdefault(field.name, [])
            if not any(field.equals(other, check_metadata=True) for other in known):
                known.append(field)
    agreed = metadata[0] if metadata and all(m == metadata[0] for m in metadata) else None
    return pa.schema([_unified(name, found) for name, found in fields.items()], agreed)


def _unified(name: str, fields: list[pa.Field]) -> pa.Field:
    json_text = pa.field(name, pa.large_string(), metadata=JSON_FIELD)
    if any(is_json(field) for field in fields):
        return json_text
    narrow = [field for field in fields if _has(field, _NARROW)]
    types = [field.type for field in fields if not _has(field, _NARROW)]
    wide = any(_has(field, _WIDE) for field in fields)
    if narrow:
        type = _merged_all([_narrowed(narrow), *types], wide)
        # A CSV column has its raw strings to fall back on.
        type = type or _merged_all([pa.string(), *types], wide)
    else:
        type = _merged_all(types, wide)
    return json_text if type is None else pa.field(name, type, metadata=_kept(fields))


def _kept(fields: list[pa.Field]) -> dict[bytes, bytes] | None:
    """Metadata of the fields where all agree, without our own marks."""
    first = fields[0].metadata
    if not first or any(field.metadata != first for field in fields):
        return None
    return {k: v for k, v in first.items() if k not in (_NARROW, _WIDE)} or None


def _narrowed(fields: list[pa.Field]) -> pa.DataType:
    fits = [set(field.metadata[_NARROW].decode().split(",")) for field in fields]
    told = [fit for fit in fits if _EMPTY not in fit]
    if told:
        common = set.intersection(*told)
        for name, type in _NARROW_TYPES.items():
            if name in common:
                return type
    return pa.string()


def _merged_all(types: list[pa.DataType], wide: bool) -> pa.DataType | None:
    def step(one: pa.DataType | None, other: pa.DataType) -> pa.DataType | None:
        return None if one is None else _merged(one, other, wide)

    return reduce(step, types)


def _merged(one: pa.DataType, other: pa.DataType, wide: bool) -> pa.DataType | None:
    """The smallest type that holds both without loss; None where there is none."""
    t = pa.types
    if one == other or t.is_null(other):
        return one
    if t.is_null(one):
        return other
    if is_text(one) and is_text(other):
        return pa.large_string()
    if _is_binary(one) and _is_binary(other):
        return pa.large_binary()
    if t.is_integer(one) and t.is_integer(other):
        return _merged_integers(one, other)
    if _is_number(one) and _is_number(other):
        return None if wide else pa.float64()
    if t.is_timestamp(one) and t.is_timestamp(other) and one.tz == other.tz:
        units = ("s", "ms", "us", "ns")
        return pa.timestamp(max(one.unit, other.unit, key=units.index), one.tz)
    if _is_list(one) and _is_list(other):
        inner = _merged(one.value_type, other.value_type, wide)
        large = t.is_large_list(one) or t.is_large_list(other)
        return inner and (pa.large_list(inner) if large else pa.list_(inner))
    if t.is_struct(one) and t.is_struct(other):
        return _merged_structs(one, other, wide)
    return None


def _is_binary(type: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_binary(type) or t.is_large_binary(type) or t.is_binary_view(type))


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type))


def _is_list(type: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_list(type) or t.is_large_list(type) or t.is_fixed_size_list(type))


def _merged_integers(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if pa.types.is_signed_integer(one) == pa.types.is_signed_integer(other):
        return max(one, other, key=lambda type: type.bit_width)
    return None if pa.uint64() in (one, other) else pa.int64()


def _merged_structs(one: pa.DataType, other: pa.DataType, wide: bool) -> pa.DataType | None:
    fields = {one.field(i).name: one.field(i).type for i in range(one.num_fields)}
    for i in range(other.num_fields):
        name, type = other.field(i).name, other.field(i).type
        merged = _merged(fields[name], type, wide) if name in fields else type
        if merged is None:
            return None
        fields[name] = merged
    return pa.struct(list(fields.items()))


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the columns and types of a schema that `unify` made.

    Columns that the table lacks are null. In a CSV column that got another type than string, the
    empty field is null.

    Raises:
        FormatError: A value does not fit the type, such as an integer that a float would round.
    """
    if table.schema.equals(schema, check_metadata=True):
        return table
    there = {name: i for i, name in enumerate(table.column_names)}
    columns = []
    for field in schema:
        if field.name not in there:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        own = table.schema.field(there[field.name])
        try:
            columns.append(_cast(table.column(there[field.name]), own, field))
        except pa.ArrowException as error:
            raise FormatError(
                f"column {field.name!r} is {own.type} in a part of the input and {field.type} in "
                "another, and a value does not fit both",
                "give the column the same type in all files",
            ) from error
    if not columns:  # without columns a table does not know its rows
        return table.select([])
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(column: pa.ChunkedArray, own: pa.Field, target: pa.Field) -> pa.ChunkedArray:
    if is_json(target) and not is_json(own):
        texts = [None if t == "null" else t for t in json_fragments(column)]
        return pa.chunked_array([pa.array(texts, target.type)])
    if _has(own, _NARROW) and not is_text(target.type):
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
        if column.null_count == len(column):
            return pa.chunked_array([pa.nulls(len(column), target.type)])
        column = column.cast(_narrowed([own]))
    return column if column.type == target.type else column.cast(target.type)
