"""Inputs that are read as a whole: ground truth, and records that are linked."""

from typing import NamedTuple

import pyarrow as pa

from neardup.io.formats.arrow_tables import TablePartition
from neardup.io.formats.byte_partitions import BytePartition
from neardup.io.formats.json_text import common_schema, conform
from neardup.io.opening import open_source
from neardup.io.source import MAX_DOCUMENT, Columns


class _NoText(Columns):
    """No text column."""

    def __post_init__(self) -> None:
        Columns(encoding_errors=self.encoding_errors, max_document=self.max_document)


class Form(NamedTuple):
    """How files are read, see `neardup.io.opening.open_source`."""

    delimiter: str | None = None
    encoding_errors: str = "strict"
    max_document: int = MAX_DOCUMENT


_PLAIN = Form()


def read_whole(source: object, name: str, form: Form = _PLAIN) -> pa.Table:
    """Read all columns of an input, see `open_source`; those of CSV are strings.

    ``name`` is that of the source, for messages.
    """
    tables = []
    columns = _NoText((), None, form.encoding_errors, max_document=form.max_document)
    opened = open_source(source, columns, delimiter=form.delimiter)
    for partition in opened.partitions():
        if isinstance(partition, BytePartition):
            rows = len(partition.bounds(partition.raw()))
            tables.append(partition.table(None, rows))
        elif isinstance(partition, TablePartition):
            tables.append(partition.load(None))
    if not tables:
        # Without rows there are no partitions, but most formats have columns.
        schemas = (opened.layout(file).schema for file in range(len(opened.files)))
        return common_schema(filter(None, schemas)).empty_table()
    schema = common_schema([table.schema for table in tables])
    return pa.concat_tables([conform(table, schema, name) for table in tables])
