"""Arrow values as JSON text, and one schema for tables whose columns differ."""

import base64
import datetime
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import PAD, is_text, nulls_if_empty, without_nan
from neardup.errors import EncodingError, FormatError
from neardup.io.columns import REPLACE_HINT, Column, called, string_scalar

#: Rows as bytes, uint8[] with PAD, and their ends, int64[rows + 1], 0 first.
Joined: TypeAlias = tuple[np.ndarray, np.ndarray]

_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


def common_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """One schema for the values of tables of all these schemas, see `conform`.

    Columns come in the order in which they first appear. Types become a wider one, such as floats
    for integers and floats; columns without a common type become strings.
    """
    fields: dict[str, pa.Field[Any]] = {}
    for schema in schemas:
        for field in schema:
            known = fields.setdefault(field.name, field)
            if known.equals(field):
                continue
            try:
                both = [pa.schema([known]), pa.schema([field])]
                common = pa.unify_schemas(both, promote_options="permissive").field(0)
            except (pa.ArrowTypeError, pa.ArrowInvalid):
                common = pa.field(field.name, pa.large_string())
            fields[field.name] = common
    return pa.schema(list(fields.values()))


def joined_tables(
    tables: Sequence[pa.Table], empty: Callable[[], pa.Schema], name: str = "the input"
) -> pa.Table:
    """Join the tables of partitions in one schema; without any, that of ``empty``."""
    if not tables:
        return empty().empty_table()
    schema = common_schema(table.schema for table in tables)
    if any(_differ(table.schema, schema) for table in tables):
        tables = [_without_empty(table, schema) for table in tables]
        schema = common_schema(table.schema for table in tables)
    return pa.concat_tables([conform(table, schema, name) for table in tables])


def _differ(one: pa.Schema, common: pa.Schema) -> bool:
    """Return whether a column has become strings that it has not."""
    return any(is_text(common.field(f.name).type) and not is_text(f.type) for f in one)


def _without_empty(table: pa.Table, common: pa.Schema) -> pa.Table:
    """Return a table with no type for columns without a value, where others have strings."""
    for number, field in enumerate(table.schema):
        if is_text(common.field(field.name).type) and not is_text(field.type):
            column = nulls_if_empty(table.column(number))
            table = table.set_column(number, field.name, column)
    return table


def conform(table: pa.Table, schema: pa.Schema, name: str) -> pa.Table:
    """The table with the columns and types of a schema; columns that it lacks are null.

    Nested values become JSON text where the schema has strings.
    """
    if table.schema.equals(schema, check_metadata=True):
        return table
    columns = []
    for number, field in enumerate(schema):
        index = table.schema.get_field_index(field.name)
        values: Column = table.column(index) if index >= 0 else pa.nulls(table.num_rows, field.type)
        try:
            if is_text(field.type) and pa.types.is_floating(values.type):
                values = without_nan(values)
            if is_text(field.type) and pa.types.is_nested(values.type):
                values = json_texts(values, null=None)
            columns.append(values if values.type == field.type else values.cast(field.type))
        except pa.ArrowException as error:
            said = called(field.name, number)
            raise FormatError(
                f"{name}: {said} is {values.type} here and {field.type} elsewhere, "
                "and a value does not fit both",
                "give the column the same type in all records",
            ) from error
    return pa.Table.from_arrays(columns, schema=schema)


def joined_list(value: Any) -> str:
    """Return the text of a value, or of several in a list.

    >>> joined_list(["a", "b"])
    'a; b'
    """
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def nested(value: Any) -> Any:
    """Return the list or object that a text spells; any other value as it is.

    >>> nested("[1]"), nested("[a"), nested("1")
    ([1], '[a', '1')
    """
    if isinstance(value, str) and value[:1] in ("[", "{"):
        with suppress(ValueError):
            return json.loads(value)
    return value


def joined_rows(columns: Sequence[Any], before: Sequence[str], end: str) -> Joined:
    """Rows of strings without nulls, with ``before[k]`` before each value of a column."""
    if not columns or not len(columns[0]):
        return np.zeros(PAD, np.uint8), np.zeros(1, np.int64)
    values = [value for pair in zip(before, columns, strict=True) for value in pair]
    rows = concatenated(*values, end)
    if isinstance(rows, pa.ChunkedArray):
        rows = rows.chunk(0) if rows.num_chunks == 1 else pa.concat_arrays(rows.chunks)
    ends = np.frombuffer(rows.buffers()[1], np.int64)[: len(rows) + 1]
    out = np.zeros(int(ends[-1]) + PAD, np.uint8)
    out[: int(ends[-1])] = np.frombuffer(rows.buffers()[2] or b"", np.uint8)[: int(ends[-1])]
    return out, ends


def concatenated(*values: Any) -> Column:
    """Strings put together for each row, from columns and strings; null where one is null."""
    import pyarrow.compute as pc

    every = [string_scalar(v) if isinstance(v, str) else v for v in (*values, "")]
    return cast(Any, pc.binary_join_element_wise)(*every)


def json_rows(table: pa.Table, begin: str, end: str) -> Joined:
    """The rows of a table as members of JSON objects; ``begin`` is before the first one."""
    columns = [json_texts(column) for column in table.columns]
    names = [f"{',' if i else begin}{_to_json(n)}:" for i, n in enumerate(table.column_names)]
    return joined_rows(columns, names, end)


def json_texts(column: Column, null: str | None = "null") -> Column:
    """Each value of a column as JSON text, ``large_string``; null as ``null``."""
    import pyarrow.compute as _pc

    pc, type = cast(Any, _pc), column.type
    if pa.types.is_boolean(type) or pa.types.is_integer(type):
        text = column.cast(pa.large_string())
    elif pa.types.is_float32(type) or pa.types.is_float64(type):
        text = pc.if_else(pc.is_finite(column), column, pa.nulls(1, type)[0])
        # An integral float would come back as an integer.
        text = pc.replace_substring_regex(text.cast(pa.large_string()), r"^(-?\d+)$", r"\1.0")
    elif is_text(type):
        text = column.cast(pa.large_string())
        for plain, escaped in _ESCAPES:
            text = pc.replace_substring(text, plain, escaped)
        text = concatenated('"', text, '"')
        if pc.any(pc.match_substring_regex(text, "[\x00-\x1f]")).as_py():
            text = _by_python(column)
    else:
        text = _by_python(column)
    return text if null is None else pc.fill_null(text, string_scalar(null))


def _by_python(column: Column) -> pa.LargeStringArray:
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        # Python's datetime ends at microseconds; Arrow's text keeps all digits.
        column = column.cast(pa.string())
    try:
        texts = [None if value is None else _to_json(value) for value in column.to_pylist()]
    except UnicodeDecodeError as error:
        raise EncodingError(
            "a string in a nested value is not valid UTF-8", REPLACE_HINT
        ) from error
    return pa.array(texts, pa.large_string())


def _to_json(value: Any) -> str:
    """One value as JSON in one line; floats that are not finite become null."""
    try:
        return _JSON.encode(value)
    except ValueError:
        text = json.dumps(value, default=_other)
        return _JSON.encode(json.loads(text, parse_constant=lambda _: None))


def _other(value: Any) -> Any:
    """Convert other values for JSON: times to ISO 8601, bytes to base64, else Python's text."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_other)
