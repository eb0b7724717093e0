"""Inputs that are read as a whole: ground truth, and records that are linked."""

from __future__ import annotations

import pyarrow as pa

from neardup.io.formats.arrow_tables import TablePartition
from neardup.io.formats.byte_partitions import BytePartition
from neardup.io.formats.json_text import common_schema, conform
from neardup.io.opening import open_source
from neardup.io.source import Columns


class _NoText(Columns):
    """No text column."""

    def __post_init__(self) -> None:
        pass


def read_whole(source: object, name: str) -> pa.Table:
    """Read all columns of an input; those of CSV are strings.

    Args:
        source: See `neardup.io.opening.open_source`.
        name: Of the source, for messages.

    Raises:
        InputError: It can't be read; its subclasses say why.
    """
    tables = []
    for partition in open_source(source, _NoText(())).partitions():
        if isinstance(partition, BytePartition):
            rows = len(partition.bounds(partition.raw()))
            tables.append(partition.table(None, rows))
        elif isinstance(partition, TablePartition):
            tables.append(partition.load(None))
    if not tables:
        return pa.table({})
    schema = common_schema([table.schema for table in tables])
    return pa.concat_tables([conform(table, schema, name) for table in tables])
