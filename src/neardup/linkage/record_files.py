"""Files of records: ids, and the values of the fields as strings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import (
    array_of,
    is_binary,
    is_text,
    nulls_if_empty,
    numbers,
    strings_of_bytes,
    without_nan,
)
from neardup.errors import ColumnError, DuplicateIdError, InputError, NeardupError
from neardup.io.columns import is_valid, repaired, string_scalar
from neardup.io.source import NONE_SKIPPED, Skipped
from neardup.io.streams import input_notes
from neardup.linkage.columns.field_columns import ColumnMap, letters, maps_of, open_fields, parts
from neardup.linkage.columns.presets import cleaner
from neardup.linkage.fields import Field, LinkSpec
from neardup.options.how_read import OpenInput, how_given, how_read
from neardup.options.input_tables import read_counted
from neardup.options.option_groups import Reading
from neardup.results.results import rows_as_ids
from neardup.state.run_state import RunState
from neardup.threads import Pool


@contextmanager
def naming_frame(name: str) -> Iterator[None]:
    """Have errors about a file call it by its name, and those about its columns name `map`."""
    try:
        yield
    except NeardupError as error:
        error.message = re.sub(r"^the (frame|table|dataset|list):", f"{name}:", error.message)
        if isinstance(error, ColumnError) and not error.hint.count("`map`"):
            error.hint = "name another column, or that of this file with `map`"
        raise


#: Names of columns that say from which source a record is.
_ORIGINS = ("source", "dataset", "database", "file", "origin", "catalogue", "catalog")
#: A column of a table whose types are not known before it is read.
Column = Any


@dataclass(frozen=True)
class Records:
    """The records of some files, one after the other.

    Attributes:
        names: Of the files, for messages.
        ids: Ids of the records; of two files whose pairs are across them, those of each. Of
            several files, ids that are in two of them are ``FILE:ID``, with the letters of the
            file, as are positions.
        columns: large_string[records] for each field, in the order of the fields.
        sizes: Records of each file.
        across: Whether pairs are across the files only.
        id: Column of the ids; None for positions.
        origin: Of one file: a column that seems to say from which of two sources a record is, and
            bool[records], whether it is from the second one; None where there is none.
        private_ids: Whether no message or page may have an id.
        skipped: Records that were left out.
        notes: Remarks from reading the files, a sentence each.
        placeholders: Numbers of fields and hashes of values that are taken for missing ones.
        read: Columns that the fields are in each file; empty where it has none.
        opened: The sources, to be read again; none of records of an index, or of a folder.
    """

    names: tuple[str, ...]
    ids: tuple[Column, ...]
    columns: tuple[pa.LargeStringArray, ...]
    sizes: tuple[int, ...]
    across: bool = False
    id: str | None = None
    origin: tuple[str, np.ndarray] | None = None
    private_ids: bool = False
    skipped: Skipped = NONE_SKIPPED
    notes: tuple[str, ...] = ()
    placeholders: tuple[tuple[int, int], ...] = ()
    read: tuple[tuple[str, ...], ...] = ()
    opened: tuple[OpenInput, ...] = ()

    def __len__(self) -> int:
        return sum(self.sizes)

    @property
    def file(self) -> np.ndarray:
        """int32[records]: the file of each."""
        return np.repeat(np.arange(len(self.sizes), dtype=np.int32), self.sizes)

    @property
    def apart(self) -> np.ndarray | None:
        """The same where pairs are across the files only; else None."""
        return self.file if self.across else None

    @property
    def public_ids(self) -> tuple[Any, ...]:
        """Names of the records of each source on pages and in messages: ids, or ``row 17``."""
        if not self.private_ids:
            return self.ids
        rows = [rows_as_ids(size).combine_chunks() for size in self.sizes]
        return tuple(rows) if len(self.ids) > 1 else (_joined_ids(rows),)

    @cached_property
    def marked_ids(self) -> Column:
        """Names by which records are marked: each is there once, whatever pairs are looked for."""
        return _joined_ids(self.public_ids)


class RecordSource(NamedTuple):
    """Files or frames of records.

    Attributes:
        given: One or more, see `neardup.io.opening.open_source`.
        reading: How they are read.
        map: Which columns fields are in some of them, see `neardup.linkage.columns.field_columns`.
        opened: They, open; none as long as they are not.
        columns: Columns that the fields are in each; empty for a field that it has not.
        ids: Column of the ids in each; None for positions.
    """

    given: tuple[Any, ...]
    reading: Reading = Reading()
    map: ColumnMap = None
    opened: tuple[OpenInput, ...] = ()
    columns: tuple[tuple[str, ...], ...] = ()
    ids: tuple[str | None, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of them in messages."""
        return [
            str(one)
            if isinstance(one, str | os.PathLike)
            else f"the {_ordinal(number)} table"
            if len(self.given) > 1
            else "the table"
            for number, one in enumerate(self.given)
        ]

    def open(
        self, fields: Sequence[Field] = (), state: RunState | None = None, optional: bool = False
    ) -> RecordSource:
        """Open them, which must have the fields; pipes are copied into the state of a run.

        With ``optional`` each must have one of the fields.
        """
        opened, columns, ids = list[OpenInput](), list[tuple[str, ...]](), list[str | None]()
        id_ = self.reading.id
        known = [*(field.name for field in fields), *([id_] if fields and id_ else [])]
        maps = maps_of(self.map, self.given, known)
        for number, (one, name) in enumerate(zip(self.given, self.names, strict=True)):
            folder = None if state is None else state.scratch_folder(f"inputs-{number}")
            ids.append(maps[number].get(id_, id_) if id_ else None)
            reading = how_read(replace(self.reading, id=ids[-1]))
            if len(self.given) > 1:
                reading = reading.of_another(one)
            with naming_frame(name):
                source, found = open_fields(one, reading, fields, maps[number], optional, folder)
            opened.append(OpenInput(source, how_given(one, reading)))
            columns.append(found)
        return self._replace(opened=tuple(opened), columns=tuple(columns), ids=tuple(ids))


def _ordinal(number: int) -> str:
    known = ("first", "second", "third")
    return known[number] if number < len(known) else f"{number + 1}th"


def read_records(
    given: RecordSource, spec: LinkSpec, pool: Pool, check: Callable[[int, int], object]
) -> Records:
    """Read files, or frames.

    Those without records and without columns have empty ones.

    Args:
        given: The files or tables.
        spec: Whose fields are read.
        pool: Times the stage.
        check: Refuses a number of records, with so many bytes of fields, while they are read.

    Raises:
        ColumnError: A column is missing, or has lists or objects.
        DuplicateIdError: Two records of a file have the same id.
        InputError: A file can't be read.
    """
    given = given if given.opened else given.open(spec.fields)
    reading, names = given.reading, given.names
    columns: list[list[pa.LargeStringArray]] = [[] for _ in spec.fields]
    ids, sizes, origin = list[Column](), list[int](), None
    skipped, notes = list[Skipped](), list[str]()
    read = [0, 0]
    total = sum(opened.source.total_bytes or 0 for opened in given.opened)
    with pool.stage("read records", total or None, "bytes") as advance:
        every_file = zip(names, given.opened, given.columns, given.ids, strict=True)
        for name, opened, of_file, id_ in every_file:
            there = [name for column in of_file if column for name in parts(column)]

            def count(table: pa.Table, size: int, there: list[str] = there) -> None:
                fields = [column for column in there if table.column_names.count(column) == 1]
                read[0] += table.num_rows
                read[1] += sum(table.column(column).nbytes for column in fields)
                check(read[0], read[1])
                advance(size)

            table, left_out = read_counted(opened.source, name, count)
            skipped.append(left_out)
            notes += input_notes(left_out, opened.source.files)
            table = _checked(table, name, id_, there, reading.encoding_errors)
            ids.append(_ids(table, name, id_))
            sizes.append(table.num_rows)
            for values, field, column in zip(columns, spec.fields, of_file, strict=True):
                values.append(_values(table, column, spec.preset, field.name))
            if len(names) == 1:
                origin = _origin(table, spec)
        if sum(sizes) > 2**31 - 2:
            raise InputError(f"{sum(sizes):,} records; expected at most {2**31 - 2:,}")
    across = len(sizes) > 1 and bool(spec.across_files_only)
    of_files = tuple(ids) if across and len(ids) == 2 else (_joined_ids(ids),)
    every = tuple(map(pa.concat_arrays, columns))
    return Records(
        tuple(names),
        of_files,
        every,
        tuple(sizes),
        across,
        reading.id,
        origin,
        reading.private_ids,
        Skipped.total(skipped),
        tuple(notes),
        read=given.columns,
        opened=given.opened,
    )


def _values(table: pa.Table, column: str, preset: str | None, field: str) -> pa.LargeStringArray:
    """Return the values of a field, which has no column, one, or several that are one value."""
    if not column:
        return _strings(pa.nulls(table.num_rows, pa.large_string()))
    several = [_strings(table.column(name)) for name in parts(column)]
    found = several[0]
    if len(several) > 1:
        joined = ["-".join(filter(None, row)) for row in zip(*map(_texts, several), strict=True)]
        found = pa.array(joined, pa.large_string())
    clean = cleaner(preset, field)
    if clean is None:
        return found
    return _strings(pa.array(map(clean, _texts(found)), pa.large_string(), size=len(found)))


def _texts(values: pa.LargeStringArray) -> list[str]:
    found: list[Any] = values.to_pylist()
    return found


def _joined_ids(ids: Sequence[Column]) -> Column:
    """Return the ids of several files as one column in which each is there once."""
    if len(ids) == 1:
        return ids[0]
    same = all(part.type == ids[0].type for part in ids)
    joined: Any = pa.concat_arrays(
        [part.cast(ids[0].type if same else pa.large_string()) for part in ids]
    )
    if pc.count_distinct(joined, mode="all").as_py() == len(joined):
        return joined
    named: list[Any] = [
        pc.binary_join_element_wise(string_scalar(f"{letter}:"), _strings(part), string_scalar(""))
        for letter, part in zip(letters(len(ids)), ids, strict=True)
    ]
    return pa.concat_arrays(named)


def _origin(table: pa.Table, spec: LinkSpec) -> tuple[str, np.ndarray] | None:
    """Return the column that has the names of two sources, see `Records`."""
    for name in table.column_names:
        if name.lower() in _ORIGINS and name not in spec.names:
            column: Column = table.column(name)
            values: Any = pc.unique(column.drop_null())
            if not pa.types.is_nested(column.type) and len(values) == 2:
                second: Any = pc.fill_null(pc.equal(column, values[1]), False)
                return name, second.to_numpy().astype(np.bool_)
    return None


def _checked(
    table: pa.Table, name: str, id: str | None, fields: list[str], encoding_errors: str
) -> pa.Table:
    needed = [*dict.fromkeys([*fields, *([] if id is None else [id])])]
    if not table.num_rows and not table.num_columns:
        empty: Any = pa.array([], pa.large_string())
        return pa.table(dict.fromkeys(needed, empty))
    for column in needed:
        values = nulls_if_empty(table.column(column))
        if column != id and is_binary(values.type):
            values = strings_of_bytes(values)
        table = table.set_column(table.column_names.index(column), column, values)
        kind = values.type
        if pa.types.is_nested(kind):
            raise ColumnError(
                f"{name}: column {column!r} has {kind}, which can't be compared",
                "convert it to strings",
            )
        if is_text(kind) and not is_valid(values):  # of Parquet and Arrow, which do not check
            replaces, said = encoding_errors == "replace", f"column {column!r}"
            fixed, _ = repaired(values, said, replaces, lambda row: f"{name}: record {row + 1}")
            table = table.set_column(table.column_names.index(column), column, fixed)
    return table


def _ids(table: pa.Table, name: str, id: str | None) -> Column:
    if id is None:
        return array_of(np.arange(table.num_rows))
    column: Column = table.column(id)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    ids = column.combine_chunks()
    if ids.null_count:
        row = int(np.argmax(np.asarray(ids.is_null().to_numpy(zero_copy_only=False)))) + 1
        raise InputError(f"{name}: record {row} has no id in {id!r}", "each record needs an id")
    first: Any = pc.index_in(ids, value_set=ids)
    earlier = numbers(first)
    doubled = np.flatnonzero(earlier != np.arange(len(ids)))
    if len(doubled):
        raise DuplicateIdError(
            f"{name}: records {earlier[doubled[0]] + 1} and {doubled[0] + 1} have the same {id!r}, "
            f"as {len(doubled):,} of {len(ids):,} records have that of an earlier one",
            "name a column whose values are unique with `id`, or leave it out for positions",
        )
    return ids


def _strings(column: Column) -> pa.LargeStringArray:
    """Return values as strings; integers without a point, null where there is none."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        # As a frame has integers once one of them is missing.
        column = without_nan(column)
        integers = pc.all(pc.equal(pc.floor(column), column)).as_py()
        if integers is not False and (pc.max(pc.abs(column)).as_py() or 0) < 2**53:
            column = column.cast(pa.int64())
    if pa.types.is_timestamp(column.type):
        # As a frame has dates.
        days = column.cast(pa.date32(), safe=False)
        if pc.all(pc.equal(days.cast(column.type), column)).as_py() is not False:
            column = days
    strings = column.cast(pa.large_string())
    if isinstance(strings, pa.ChunkedArray):
        strings = strings.combine_chunks()
    found: pa.LargeStringArray = pc.fill_null(strings, string_scalar(""))
    return found
