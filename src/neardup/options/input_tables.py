"""Inputs that are read as one table: ground truth, and records that are linked."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from neardup.io.formats.json_text import common_schema, joined_tables
from neardup.io.source import Skipped, Source
from neardup.options.how_read import how_read
from neardup.options.option_groups import Reading


class Counted(NamedTuple):
    """A table, and the records that were left out."""

    table: pa.Table
    skipped: Skipped


def read_table(source: object, name: str, how: Reading | None = None) -> pa.Table:
    """Read all columns of an input, see `read_counted`."""
    return read_counted(open_table(source, how), name).table


def open_table(
    source: object,
    how: Reading | None = None,
    needed: Sequence[str] = (),
    folder: Path | None = None,
) -> Source:
    """Open an input of which all columns are read, see `open_source`.

    Args:
        source: The input.
        how: How files are read; its columns are ignored. None where a caller has no say in it.
        needed: Columns that it must have, or paths to them.
        folder: Pipes are copied into it.
    """
    return how_read(how or Reading()).open(source, tuple(needed), folder, texts=False)


def read_counted(
    opened: Source, name: str, check: Callable[[pa.Table, int], None] | None = None
) -> Counted:
    """Read all columns of an input that is open, see `open_table`; those of CSV are strings.

    Args:
        opened: The input.
        name: Its name, for messages.
        check: Called with each part that was read, and its bytes; it may refuse to go on.
    """
    tables, skipped = [], list[Skipped]()
    for partition in opened.partitions():
        found = partition.read(None)
        table = found.columns
        skipped.append(found.skipped)
        paths = [n for n in opened.columns.required if n not in table.column_names]
        more = partition.read(tuple(paths)).columns if paths else table
        for path in paths:
            table = table.append_column(path, more.column(path))
        tables.append(table)
        if check is not None:
            check(table, partition.size)
    # Without rows there are no partitions, but most formats have columns.
    schemas = (opened.layout(file).schema for file in range(len(opened.files)))
    return Counted(
        joined_tables(tables, lambda: common_schema(filter(None, schemas)), name),
        Skipped.total(skipped),
    )
