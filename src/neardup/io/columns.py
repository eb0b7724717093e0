"""Which columns count as text and as ids, UTF-8 checks, and the one text array."""

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import (
    first_value,
    is_binary,
    is_text,
    large_strings,
    strings_of,
    strings_of_bytes,
)
from neardup.errors import ColumnError, EncodingError, FormatError, spelled
from neardup.io.formats.column_paths import Shape, shape_of, text_below, type_at, why_missing
from neardup.io.formats.large_records import RecordLimit, too_large
from neardup.io.source import Columns, Documents
from neardup.sketch.baskets import EXPECTED, basket_texts, is_basket_type

#: A column; pyarrow's stubs want the type of its values, which is not known before it is read.
Column = Any

REPLACE_HINT = "use `encoding_errors`='replace', or convert the input to UTF-8"

_LISTED = 30  # column names in a message; some inputs have thousands
_SHORT = 40  # characters of a name that is shown
_NAME = re.compile(r"[^\W\d][\w.\-]{0,39}")
_TEXT_HINT = "name the columns with the text with `text`, that of the ids with `id`"
_ITEMS_HINT = "lists of items are for neardup dedup and indexes, with `shingle`='item'"
_LISTS_HINT = "take Parquet, Arrow, JSON lines or a frame, or another `shingle`"
_ID_HINT = "name another column with `id`, or leave it out to use positions as ids"


def shown(name: str, index: int, code: bool = False) -> str:
    """A column for messages: its name, or its number where that may be text of a document.

    With ``code`` names are those of a frame, which code has chosen: short ones are shown as is.

    >>> shown("note_id", 0), shown("Patient was seen today", 1)
    ('note_id', 'column 2')
    """
    if code and len(name) <= _SHORT and name.isprintable():
        return repr(name)
    return name if _NAME.fullmatch(name) else f"column {index + 1}"


def called(name: str, index: int, chosen: Sequence[str] = ()) -> str:
    """The same for messages about one column; those that the user chose are called by their names.

    >>> called("note_id", 0), called("seen today", 1), called("seen today", 1, ["seen today"])
    ("column 'note_id'", 'column 2', "column 'seen today'")
    """
    plain = name in chosen or _NAME.fullmatch(name)
    return f"column {name!r}" if plain else f"column {index + 1}"


def missing_column(
    name: str,
    column: str,
    there: Sequence[str],
    where: str = "",
    hint: str = "",
    code: bool = False,
) -> ColumnError:
    """The error for a column that an input lacks, with those that it has; ``code``: see `shown`."""
    listed = [shown(n, i, code) for i, n in enumerate(there[:_LISTED])]
    visible = [n for i, n in enumerate(there) if not shown(n, i, code).startswith("column ")]
    near = difflib.get_close_matches(column, visible, n=1)
    hint = f"did you mean {near[0]!r}? Else {hint}" if near else hint
    listed = listed or ["none"]
    listed += ["..."] if len(there) > _LISTED else []
    verb = "is" if len(there) == 1 else "are"
    what = f"no column {spelled(column)}{where}; there {verb} {', '.join(listed)}"
    return ColumnError(f"{name}: {what}", hint)


def missing_path(
    name: str,
    path: str,
    shape: dict[str, Shape],
    columns: Columns,
    where: str = "",
    code: bool = False,
) -> ColumnError:
    """The error for a path that leads nowhere, in an input whose columns have these shapes."""
    found, is_named = why_missing(shape, path), path in columns.text
    if not found.where:
        return missing_column(name, path, list(shape), where, hint_for(path, columns), code)
    what, hint = found.what, ""
    if not what:
        members = [n.removeprefix(f"{found.where}.") for n in found.names]
        visible = [n for i, n in enumerate(members[:_LISTED]) if shown(n, i) == n]
        listed = [*map(repr, visible), *(["..."] if len(visible) < len(members) else [])]
        what = f"has {', '.join(listed) or 'nothing'}"
        near = difflib.get_close_matches(path.rpartition(".")[2], visible, n=1)
        likely = f"{found.where}.{near[0]}" if near else found.path if is_named else ""
        hint = f"did you mean {likely!r}?" if likely else hint_for(path, columns)
    elif found.path:
        hint = f"`text`={found.path!r}" if is_named else "name a column without lists"
    else:
        hint = hint_for(path, columns)
    return ColumnError(f"{name}: no column {spelled(path)}{where}: {found.where!r} {what}", hint)


def text_hint(shape: Shape, name: str) -> str:
    """The remedy for a text that has values of a shape; empty where there is no text in it."""
    below = text_below(shape, name)
    return f"`text`={below!r}" if below else ""


def hint_for(column: str, columns: Columns) -> str:
    is_named = column in columns.text or column == columns.id
    return _TEXT_HINT if is_named else "name a column that every file has"


def check_schema(name: str, schema: pa.Schema, columns: Columns, code: bool = False) -> None:
    names = list(schema.names)
    for column in columns.required:
        if type_at(schema, column) is None:
            shape = {field.name: shape_of(field.type) for field in schema}
            raise missing_path(name, column, shape, columns, code=code)
    if len(set(names)) < len(names):
        index = next(i for i, column in enumerate(names) if column in names[:i])
        what = shown(names[index], index)
        what = repr(what) if what == names[index] else f"the name of {what}"
        raise ColumnError(f"{name}: {what} is the name of two columns", "rename one of them")
    for column in columns.required:
        type = type_at(schema, column)
        # Of records, which have no texts, a list without a value is no list.
        is_checked = bool(columns.text) or column not in names
        if is_checked and column not in columns.text and pa.types.is_nested(type):
            is_id = column == columns.id
            what = "an id" if is_id else "compared"
            raise ColumnError(
                f"{name}: column {column!r} has the type {type}, which can't be {what}",
                _ID_HINT if is_id else "name a column of strings, numbers or dates",
            )


def check_new(name: str, names: Sequence[str], added: Sequence[str]) -> None:
    for column in added:
        if column in names:
            raise ColumnError(
                f"{name}: there is a column {column!r} already, which would be added",
                "rename it in the input",
            )


def append_columns(name: str, table: pa.Table, added: pa.Table | None) -> pa.Table:
    if added is not None:
        check_new(name, table.column_names, added.column_names)
        for field, column in zip(added.schema, added.columns, strict=True):
            table = table.append_column(field, column)
    return table


def documents_of(
    table: pa.Table, columns: Columns, asked: Sequence[str], where: Callable[[int], str]
) -> Documents:
    """Check the strings of a table, join its text columns and return those ``asked`` for.

    ``where`` names the position of a row for messages.
    """
    bad = np.zeros(table.num_rows, np.bool_)
    for name in dict.fromkeys((*columns.text, *asked)):
        column = table.column(name)
        if name in columns.text and is_binary(column.type):
            column = strings_of_bytes(column)
            table = table.set_column(table.schema.get_field_index(name), name, column)
        if columns.items and name in columns.text and not is_valid(column):
            raise _wrong_item(column, f"column {name!r}", where)
        if is_text(column.type) and not is_valid(column):
            array, rows = repaired(column, f"column {name!r}", columns.replaces, where)
            bad[rows] = True
            fixed = array if pa.types.is_dictionary(column.type) else array.cast(column.type)
            table = table.set_column(table.schema.get_field_index(name), name, fixed)
    texts = text_columns(table, columns, where)
    text = texts[0] if texts else strings_of([b""] * table.num_rows)
    if len(texts) > 1:
        import pyarrow.compute as pc

        between = string_scalar("" if columns.items else " ")
        text = cast(Any, pc.binary_join_element_wise)(*texts, between)
    offsets = string_offsets(text)
    if int(offsets[-1]) > columns.max_document:
        large = np.diff(offsets) > columns.max_document
        if large.any():
            limit = RecordLimit(columns.max_document, columns.skip_large)
            raise too_large(where(int(np.argmax(large))), "text", limit)
    # Several are joined by a space, which is no text.
    least = 0 if columns.items else max(0, len(texts) - 1)
    missing = int((np.diff(offsets) == least).sum())
    single = (
        len(texts) == 1
        and not columns.items
        and not bad.any()
        and not table.column(columns.text[0]).null_count
    )
    unchanged = columns.text[0] if single else None
    return Documents(text, table.select(list(asked)), int(bad.sum()), unchanged, missing=missing)


def text_columns(
    table: pa.Table, columns: Columns, where: Callable[[int], str]
) -> list[pa.LargeStringArray]:
    """Return the texts of each text column; columns of all types may have none, as null or NaN.

    Raises:
        ColumnError: A column has a value that is no string, or with ``items`` no list of items.
    """
    return [_text_column(table.column(name), name, columns, where) for name in columns.text]


def _text_column(
    column: Column, name: str, columns: Columns, where: Callable[[int], str]
) -> pa.LargeStringArray:
    type = column.type
    if not (is_basket_type(type) if columns.items else is_text(type)):
        row = first_value(column)
        if row is not None:
            expected = EXPECTED if columns.items else "strings"
            hint = "name another column with `text`, or convert this one to strings"
            if columns.items or is_basket_type(type):
                hint = _LISTS_HINT if columns.items else _ITEMS_HINT
            elif pa.types.is_nested(type):
                hint = text_hint(shape_of(type), name) or hint
            what = f"column {name!r} has the type {type}, expected {expected}"
            raise ColumnError(f"{where(row)}: {what}", hint)
        column = pa.chunked_array([pa.nulls(len(column))])
    return dense_strings(column)


def _wrong_item(column: Column, said: str, where: Callable[[int], str]) -> EncodingError:
    import pyarrow.compute as _pc

    pc = cast(Any, _pc)
    rows = range(len(column))
    row = next((i for i in rows if not is_valid(pc.list_flatten(column.slice(i, 1)))), 0)
    what = f"{where(row)}: an item of {said} is not valid UTF-8"
    return EncodingError(what, "convert the input to UTF-8")


def is_valid(column: Column) -> bool:
    try:
        for chunk in column.chunks:
            # Arrow does not look into dictionaries when it validates the array that uses them.
            if pa.types.is_dictionary(chunk.type):
                chunk.dictionary.validate(full=True)
            chunk.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def repaired(
    column: Column, said: str, replaces: bool, where: Callable[[int], str]
) -> tuple[pa.LargeStringArray, list[int]]:
    """Strings with U+FFFD for invalid UTF-8, and the rows that had any.

    ``said`` names the column in messages.
    """
    try:
        raw = column.cast(pa.large_string()).cast(pa.large_binary())
        raw.validate(full=True)
    except pa.ArrowException as error:
        raise FormatError(f"{where(0)}: {said} is damaged") from error
    values: list[str | None] = []
    rows: list[int] = []
    for row, value in enumerate(raw.to_pylist()):
        try:
            values.append(None if value is None else value.decode())
        except UnicodeDecodeError as error:
            if not replaces:
                raise EncodingError(
                    f"{where(row)}: {said} is not valid UTF-8 (byte {error.start + 1} "
                    "of the value)",
                    REPLACE_HINT,
                ) from error
            values.append(error.object.decode(errors="replace"))
            rows.append(row)
    return pa.array(values, pa.large_string()), rows


def dense_strings(column: Column) -> pa.LargeStringArray:
    """One array without nulls, of baskets too; shares the bytes of a single plain string array."""
    if is_basket_type(column.type):
        return basket_texts(column)
    column = column.cast(pa.large_string())
    if column.null_count:
        import pyarrow.compute as pc

        column = pc.fill_null(column, string_scalar(""))
    if not len(column):
        return large_strings(np.zeros(1, np.int64), pa.py_buffer(b""))
    array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    data = array.buffers()[2] or pa.py_buffer(b"")
    # A slice keeps its parent's buffers; kernels want to start at 0, so only offsets are rebuilt.
    offsets = string_offsets(array)
    first, last = int(offsets[0]), int(offsets[-1])
    if array.offset or first:
        offsets, data = offsets - first, data.slice(first, last - first)
    return large_strings(offsets, data)


def string_offsets(array: pa.LargeStringArray) -> np.ndarray:
    """int64[n + 1]: where the strings begin and end in their bytes."""
    ends: Any = array.buffers()[1]
    offsets: np.ndarray = np.frombuffer(ends, np.int64)
    return offsets[array.offset : array.offset + len(array) + 1]


def with_replacement(texts: pa.LargeStringArray) -> int:
    """Return how many texts, decoded from another encoding, have a character that replaces bytes.

    (One that was there before counts as well.)
    """
    import pyarrow.compute as pc

    return int(cast(Any, pc.match_substring)(texts, "\ufffd").true_count)


def string_scalar(value: str) -> Any:
    """A string as Arrow's compute functions take it; `pyarrow.scalar` imports pandas."""
    return strings_of([value.encode()])[0]


def strings_schema(names: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, pa.large_string()) for name in names])


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with plain strings and bytes for views, which Arrow can't always take from."""
    # Names are decoded here; readers of files refuse those that are not UTF-8.
    types = zip(schema, schema.names, strict=True)
    fields = [field.with_name(name).with_type(_plain(field.type)) for field, name in types]
    return pa.schema(fields, cast(Any, schema.metadata))


def views_of(schema: pa.Schema) -> pa.Schema | None:
    """Return a schema that has views, which `plain_schema` has not; None for others."""
    return None if schema.equals(plain_schema(schema)) else schema


def plain_types(table: pa.Table) -> pa.Table:
    schema = plain_schema(table.schema)
    return table if schema.equals(table.schema) else table.cast(schema)


def _plain(type: Any) -> Any:
    if str(type) in ("string_view", "binary_view"):
        return pa.large_string() if str(type) == "string_view" else pa.large_binary()
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        made = pa.list_ if pa.types.is_list(type) else pa.large_list
        return made(type.value_field.with_type(_plain(type.value_type)))
    if pa.types.is_struct(type):
        fields = [type.field(i) for i in range(type.num_fields)]
        return pa.struct([field.with_type(_plain(field.type)) for field in fields])
    return type
