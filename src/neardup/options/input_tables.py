"""Inputs that are read as one table: ground truth, and records that are linked."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from neardup.io.formats.arrow_tables import TablePartition
from neardup.io.formats.byte_partitions import BytePartition
from neardup.io.formats.csv_tables import CsvPartition, check_delimiter
from neardup.io.formats.json_text import common_schema, joined_tables
from neardup.io.opening import open_source
from neardup.io.source import Columns, Source
from neardup.memory_plan import parse_size
from neardup.options.option_groups import Reading


class Counted(NamedTuple):
    """A table, and how many records were left out for their size."""

    table: pa.Table
    skipped: int


def read_table(
    source: object,
    name: str,
    how: Reading | None = None,
    needed: Sequence[str] | None = (),
) -> pa.Table:
    """Read all columns of an input, see `read_counted`."""
    return read_counted(open_table(source, how), name, needed).table


def open_table(source: object, how: Reading | None = None, folder: Path | None = None) -> Source:
    """Open an input of which all columns are read, see `open_source`.

    Args:
        source: The input.
        how: How files are read; its columns are ignored. None where a caller has no say in it.
        folder: Pipes are copied into it.
    """
    columns, asked = Columns(()), how or Reading()
    if how is not None:
        limit = parse_size(how.max_document, "max_document")
        columns = Columns(
            (),
            encoding_errors=how.encoding_errors,
            max_document=limit,
            skip_large=how.skip_large,
        )
    return open_source(source, columns, asked.input_format, asked.delimiter, copy_folder=folder)


def read_counted(
    opened: Source,
    name: str,
    needed: Sequence[str] | None = (),
    check: Callable[[pa.Table, int], None] | None = None,
) -> Counted:
    """Read all columns of an input that is open, see `open_table`; those of CSV are strings.

    Args:
        opened: The input.
        name: Its name, for messages.
        needed: Columns without which CSV with one column only seems to have another delimiter; None
            for any two.
        check: Called with each part that was read, and its bytes; it may refuse to go on.
    """
    tables, skipped = [], 0
    for partition in opened.partitions():
        if isinstance(partition, BytePartition):
            raw = partition.raw()
            rows = len(partition.bounds(raw))
            skipped += partition.left_out(raw, rows)
            tables.append(partition.table(None, rows))
            if isinstance(partition, CsvPartition):
                check_delimiter(opened.files[partition.file], tables[-1].column_names, needed)
        elif isinstance(partition, TablePartition):
            tables.append(partition.load(None))
        if check is not None:
            check(tables[-1], partition.size)
    # Without rows there are no partitions, but most formats have columns.
    schemas = (opened.layout(file).schema for file in range(len(opened.files)))
    return Counted(
        joined_tables(tables, lambda: common_schema(filter(None, schemas)), name), skipped
    )
