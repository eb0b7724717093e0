"""One or two files of records: ids, and the values of the fields as strings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from neardup.linkage.fields import LinkSpec
from neardup.options.how_read import OpenInput, how_given, how_read
from neardup.options.input_tables import open_table, read_counted
from neardup.options.option_groups import Reading
from neardup.results.results import rows_as_ids
from neardup.state.run_state import RunState
from neardup.threads import Pool


@contextmanager
def naming_frame(name: str) -> Iterator[None]:
    """Have errors about a frame call it by another name."""
    try:
        yield
    except NeardupError as error:
        error.message = re.sub(r"^the (frame|table|dataset|list):", f"{name}:", error.message)
        raise


#: Names of columns that say from which source a record is.
_ORIGINS = ("source", "dataset", "database", "file", "origin", "catalogue", "catalog")
#: A column of a table whose types are not known before it is read.
Column = Any


@dataclass(frozen=True)
class Records:
    """The records of one file, or those of two, one after the other.

    Attributes:
        names: Of the one or two sources, for messages.
        ids: Ids of the records of each source.
        columns: large_string[records] for each field, in the order of the fields.
        first: Records of the first source.
        id: Column of the ids; None for positions.
        origin: Of one file: a column that seems to say from which of two sources a record is, and
            bool[records], whether it is from the second one; None where there is none.
        private_ids: Whether no message or page may have an id.
        skipped: Records that were left out.
        notes: Remarks from reading the files, a sentence each.
        placeholders: Numbers of fields and hashes of values that are taken for missing ones.
    """

    names: tuple[str, ...]
    ids: tuple[Column, ...]
    columns: tuple[pa.LargeStringArray, ...]
    first: int
    id: str | None = None
    origin: tuple[str, np.ndarray] | None = None
    private_ids: bool = False
    skipped: Skipped = NONE_SKIPPED
    notes: tuple[str, ...] = ()
    placeholders: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return sum(len(ids) for ids in self.ids)

    @property
    def public_ids(self) -> tuple[Any, ...]:
        """Names of the records of each source on pages and in messages: ids, or ``row 17``."""
        if not self.private_ids:
            return self.ids
        return tuple(rows_as_ids(len(ids)).combine_chunks() for ids in self.ids)


class RecordSource(NamedTuple):
    """One or two files, or frames.

    Attributes:
        a: See `neardup.io.opening.open_source`.
        b: The second one; None for duplicates within the first.
        reading: How they are read.
        opened: They, open; none as long as they are not.
    """

    a: Any
    b: Any = None
    reading: Reading = Reading()
    opened: tuple[OpenInput, ...] = ()

    @property
    def given(self) -> list[Any]:
        """The one or two."""
        return [self.a] if self.b is None else [self.a, self.b]

    def open(self, fields: Sequence[str] = (), state: RunState | None = None) -> RecordSource:
        """Open them, which must have ``fields``; pipes are copied into the state of a run."""
        opened, reading = list[OpenInput](), self.reading
        for number, one in enumerate(self.given):
            folder = None if state is None else state.scratch_folder(f"inputs-{number}")
            how = how_given(one, how_read(reading))
            needed = dict.fromkeys((*fields, *([reading.id] if fields and reading.id else [])))
            which = f"the {'second' if number else 'first'} table"
            with naming_frame(which if self.b is not None else "the table"):
                opened.append(OpenInput(open_table(one, reading, list(needed), folder), how))
        return self._replace(opened=tuple(opened))


def read_records(
    given: RecordSource, spec: LinkSpec, pool: Pool, check: Callable[[int, int], object]
) -> Records:
    """Read one or two files, or frames.

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
    given = given if given.opened else given.open(spec.names)
    b, reading = given.b, given.reading
    id = reading.id
    names, tables, skipped, notes = [], [], [], list[str]()
    read = [0, 0]
    total = sum(opened.source.total_bytes or 0 for opened in given.opened)
    with pool.stage("read records", total or None, "bytes") as advance:

        def count(table: pa.Table, size: int) -> None:
            fields = [name for name in spec.names if table.column_names.count(name) == 1]
            read[0] += table.num_rows
            read[1] += sum(table.column(name).nbytes for name in fields)
            check(read[0], read[1])
            advance(size)

        for which, source, opened in zip(
            ("first", "second"), given.given, given.opened, strict=False
        ):
            is_file = isinstance(source, str | os.PathLike)
            of_two = f"the {which} table" if b is not None else "the table"
            name = str(source) if is_file else of_two
            names.append(name)
            table, left_out = read_counted(opened.source, name, count)
            skipped.append(left_out)
            notes += input_notes(left_out, opened.source.files)
            tables.append(_checked(table, name, id, spec, reading.encoding_errors))
        sizes = [table.num_rows for table in tables]
        if sum(sizes) > 2**31 - 2:
            raise InputError(f"{sum(sizes):,} records; expected at most {2**31 - 2:,}")
        ids = tuple(_ids(table, name, id) for table, name in zip(tables, names, strict=True))
        columns = tuple(
            pa.concat_arrays([_strings(table.column(field)) for table in tables])
            for field in spec.names
        )
    origin = _origin(tables[0], spec) if b is None else None
    private = reading.private_ids
    about = id, origin, private, Skipped.total(skipped), tuple(notes)
    return Records(tuple(names), ids, columns, sizes[0], *about)


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


def _needed(id: str | None, spec: LinkSpec) -> list[str]:
    return [*spec.names, *([] if id is None else [id])]


def _checked(
    table: pa.Table, name: str, id: str | None, spec: LinkSpec, encoding_errors: str
) -> pa.Table:
    if not table.num_rows and not table.num_columns:
        empty: Any = pa.array([], pa.large_string())
        return pa.table(dict.fromkeys(_needed(id, spec), empty))
    for column in _needed(id, spec):
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
