"""From a table to its texts: which types count as text, UTF-8 checks, and the one text array."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.corpus.documents import Columns, Documents
from neardup.errors import ColumnError, EncodingError, FormatError

__all__ = ["REPLACE_HINT", "check_schema", "is_text", "missing_column", "to_documents"]

REPLACE_HINT = "use --encoding-errors replace, or convert the input to UTF-8"

_LISTED = 30  # column names in an error message; some inputs have thousands


def is_text(type: pa.DataType) -> bool:
    """Whether values of this Arrow type are strings, dictionary-encoded or not."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    return bool(
        pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type)
    )


def missing_column(name: str, column: str, there: list[str], where: str = "") -> ColumnError:
    """The error for a column that an input lacks, with those that it has."""
    shown = ", ".join(there[:_LISTED]) + (", ..." if len(there) > _LISTED else "")
    return ColumnError(
        f"{name}: no column {column!r}{where}; there {'is' if len(there) == 1 else 'are'} "
        f"{shown or 'none'}",
        "name the column that holds the text with --text, and that of the ids with --id",
    )


def check_schema(name: str, schema: pa.Schema, columns: Columns) -> None:
    """Refuse a table that lacks a column, has a name twice, or holds something else than text.

    Raises:
        ColumnError: As above; names the column, and its type where that is what is wrong.
    """
    names = list(schema.names)
    for column in columns.required:
        if column not in names:
            raise missing_column(name, column, names)
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ColumnError(f"{name}: two columns have the name {twice!r}", "rename one of them")
    for column in columns.text:
        type = schema.field(column).type
        if not is_text(type) and not pa.types.is_null(type):
            raise ColumnError(
                f"{name}: column {column!r} holds {type}, expected strings",
                "name another column with --text, or convert this one to strings",
            )


def to_documents(
    table: pa.Table,
    columns: Columns,
    where: Callable[[int], str],
    replaced: int = 0,
    origin: str = "",
) -> Documents:
    """Check the strings of a table and join its text columns.

    Args:
        table: Has all text columns, of text or null type.
        where: Names the place of row ``i`` of the table for messages.
        replaced: Documents that were repaired before, when the bytes were parsed.
        origin: The file, if it is one.

    Raises:
        EncodingError: A string column holds invalid UTF-8 and the columns are strict about it.
        FormatError: A string column is damaged otherwise (offsets out of range).
    """
    bad: set[int] = set()
    for i, field in enumerate(table.schema):
        if is_text(field.type) and not _is_valid(table.column(i)):
            fixed, rows = _repaired(table.column(i), columns, field.name, where)
            table = table.set_column(i, field, fixed)
            bad |= rows
    table = _without_views(table)
    return Documents(table, _joined(table, columns.text), replaced + len(bad), origin)


def _without_views(table: pa.Table) -> pa.Table:
    """The table with plain strings and bytes for views, which Arrow can't filter."""
    for i, field in enumerate(table.schema):
        type = _plain(field.type)
        if type != field.type:
            table = table.set_column(i, field.with_type(type), table.column(i).cast(type))
    return table


def _plain(type: pa.DataType) -> pa.DataType:
    t = pa.types
    if t.is_string_view(type):
        return pa.large_string()
    if t.is_binary_view(type):
        return pa.large_binary()
    if t.is_dictionary(type):
        return pa.dictionary(type.index_type, _plain(type.value_type), type.ordered)
    if t.is_list(type):
        return pa.list_(type.value_field.with_type(_plain(type.value_type)))
    if t.is_large_list(type):
        return pa.large_list(type.value_field.with_type(_plain(type.value_type)))
    if t.is_struct(type):
        fields = [type.field(i) for i in range(type.num_fields)]
        return pa.struct([field.with_type(_plain(field.type)) for field in fields])
    return type


def _is_valid(column: pa.ChunkedArray) -> bool:
    try:
        for chunk in column.chunks:
            # Arrow does not look into dictionaries when it validates the array that uses them.
            if pa.types.is_dictionary(chunk.type):
                chunk.dictionary.validate(full=True)
            chunk.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _repaired(
    column: pa.ChunkedArray, columns: Columns, name: str, where: Callable[[int], str]
) -> tuple[pa.ChunkedArray, set[int]]:
    """The column with invalid UTF-8 replaced, and the rows in which there was some."""
    try:
        raw = column.cast(pa.large_string()).cast(pa.large_binary())
        raw.validate(full=True)
    except pa.ArrowException as error:
        raise FormatError(f"{where(0)}: column {name!r} is damaged") from error
    values: list[str | None] = []
    rows: set[int] = set()
    for row, value in enumerate(_values(raw)):
        try:
            values.append(None if value is None else value.decode())
        except UnicodeDecodeError as error:
            if not columns.replaces:
                raise EncodingError(
                    f"{where(row)}: column {name!r} is not valid UTF-8 (byte {error.start + 1} "
                    "of the value)",
                    REPLACE_HINT,
                ) from error
            values.append(error.object.decode(errors="replace"))
            rows.add(row)
    fixed = pa.chunked_array([pa.array(values, pa.large_string())])
    return fixed.cast(column.type), rows


def _values(column: pa.ChunkedArray) -> Iterator[bytes | None]:
    for batch in column.chunks:
        for start in range(0, len(batch), 1024):
            yield from batch.slice(start, 1024).to_pylist()


def _joined(table: pa.Table, names: tuple[str, ...]) -> pa.Array:
    parts = [_dense(table.column(name)) for name in names]
    if len(parts) == 1:
        return parts[0]
    return pc.binary_join_element_wise(*parts, pa.scalar(" ", pa.large_string()))


def _dense(column: pa.ChunkedArray) -> pa.Array:
    """One large_string array without nulls; shares the bytes of a single plain string array."""
    column = column.cast(pa.large_string())
    if column.null_count:
        column = pc.fill_null(column, "")
    if column.num_chunks != 1:
        column = (
            pa.chunked_array([pa.concat_arrays(column.chunks)], pa.large_string())
            if (column.num_chunks)
            else pa.chunked_array([pa.array([], pa.large_string())])
        )
    array = column.chunk(0)
    _, offsets_buffer, data = array.buffers()
    if not len(array):
        return pa.array([], pa.large_string())
    # A slice keeps its parent's buffers; kernels want to start at 0, so only offsets are rebuilt.
    offsets = np.frombuffer(offsets_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    if array.offset or first:
        offsets = offsets - first
        data = data.slice(first, last - first)
    return pa.LargeStringArray.from_buffers(
        len(array), pa.py_buffer(offsets), data if data is not None else pa.py_buffer(b"")
    )
