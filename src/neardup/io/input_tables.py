"""Inputs that are read as one table: ground truth, and records that are linked."""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from neardup.io.formats.arrow_tables import TablePartition
from neardup.io.formats.byte_partitions import BytePartition
from neardup.io.formats.csv_tables import CsvPartition, check_delimiter
from neardup.io.formats.json_text import common_schema, joined_tables
from neardup.io.opening import Reading, open_source
from neardup.io.source import Columns
from neardup.memory_plan import parse_size

#: How a file is read of which nothing is known but its name.
PLAIN = Reading()


def read_parts(path: str, names: list[str]) -> Iterator[pa.Table]:
    """Yield some columns of a file of Parquet or Arrow, some rows at a time."""
    for partition in open_source(path, Columns(())).partitions():
        assert isinstance(partition, TablePartition)
        yield partition.load(tuple(names))


def read_table(
    source: object,
    name: str,
    how: Reading = PLAIN,
    needed: Sequence[str] | None = (),
    check: Callable[[pa.Table], None] | None = None,
) -> pa.Table:
    """Read all columns of an input, see `open_source`; those of CSV are strings.

    ``name`` is that of the source, for messages; the columns of ``how`` are ignored. ``needed`` are
    columns without which CSV with one column only seems to have another delimiter; None for any
    two. ``check`` is called with each part that was read, and may refuse to go on.
    """
    tables = []
    limit = parse_size(how.max_document, "max_document")
    columns = Columns((), None, how.encoding_errors, max_document=limit)
    opened = open_source(source, columns, how.input_format, how.delimiter)
    for partition in opened.partitions():
        if isinstance(partition, BytePartition):
            rows = len(partition.bounds(partition.raw()))
            tables.append(partition.table(None, rows))
            if isinstance(partition, CsvPartition):
                check_delimiter(opened.files[partition.file], tables[-1].column_names, needed)
        elif isinstance(partition, TablePartition):
            tables.append(partition.load(None))
        if check is not None:
            check(tables[-1])
    # Without rows there are no partitions, but most formats have columns.
    schemas = (opened.layout(file).schema for file in range(len(opened.files)))
    return joined_tables(tables, lambda: common_schema(filter(None, schemas)), name)
