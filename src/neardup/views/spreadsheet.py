"""Tables as CSV that a person opens in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from neardup.values.json_values import plain_id

#: Characters that begin a formula in spreadsheets, which would be computed when a file is opened.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_rows(tables: Iterable[pa.Table]) -> Iterator[str]:
    """Yield the lines of tables with the same columns, after a header.

    A text that begins like a formula gets an apostrophe before it.
    """
    for number, table in enumerate(tables):
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\r\n")
        if not number:
            writer.writerow(table.column_names)
        columns = [map(_cell, column.to_pylist()) for column in table.columns]
        writer.writerows(zip(*columns, strict=True))
        yield written.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return None
    value = plain_id(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
