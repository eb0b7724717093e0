"""Records with another text: only the text changes, all other bytes and columns stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.deduplication.reading import PartitionRows
from neardup.errors import SpecError
from neardup.file_formats import FORMATS
from neardup.io.formats.column_paths import LIST, steps_to
from neardup.io.formats.csv_tables import in_records
from neardup.io.formats.jsonl import strings_in
from neardup.io.formats.text_files import as_before
from neardup.io.source import Records, Source, TextFiles

#: Halves of surrogate pairs, which are no characters.
_HALF = re.compile("[\ud800-\udfff]")


def check_changer(source: Source, format: str | None) -> None:
    """Refuse an input whose records can't be changed; ``format`` is that of the output."""
    if len(source.columns.text) != 1:
        raise SpecError(
            f"the text is in {len(source.columns.text)} columns, and it can't be cut in several",
            "name one column with `text`, or leave `cut` out",
        )
    schema, (name,) = source.schema(), source.columns.text
    if LIST in name and (schema is None or name not in schema.names):
        raise SpecError(
            f"the text {name!r} is in lists, and it can't be cut in several values",
            "name one column with `text`, or leave `cut` out",
        )
    if source.format == "mixed":
        raise SpecError(
            "the input has files of several formats, which can't be cut together",
            "cut the files of each format by themselves",
        )
    if format is None and source.format in FORMATS and FORMATS[source.format].has_entries:
        raise SpecError(
            f"{source.format} records are written as they are, and can't be cut",
            "write another format, such as `format`='jsonl'",
        )


#: Texts of the records of a selection that are asked for, by their rows in it.
TextsOf = Callable[[list[int]], list[str]]


def changer(
    source: Source,
    read: Callable[[PartitionRows, np.ndarray], list[str]],
    changed: Callable[[PartitionRows, TextsOf], Mapping[int, str]],
) -> Callable[[PartitionRows, Records], Records]:
    """Return what puts new texts into records.

    Args:
        source: The input, with one column of text.
        read: Reads texts again by their rows, int64[], where the records don't show them.
        changed: Gives the new texts of some documents, by their numbers among these; only of those
            that change.
    """
    files = {file.name: file for file in source.files} if source.format == "text" else {}
    (name,) = source.columns.text

    def change(selected: PartitionRows, records: Records) -> Records:
        if source.format == "jsonl" and isinstance(records, memoryview):
            lines = _Lines(records, name)
            rows = changed(selected, lines.texts)
            return lines.changed(rows) if rows else records
        rows = changed(selected, lambda rows: read(selected, np.array(rows, np.int64)))
        if not rows:
            return records
        if isinstance(records, pa.Table):
            return _in_table(records, name, rows)
        if isinstance(records, TextFiles):
            contents = list(records.contents)
            for row, text in rows.items():
                contents[row] = as_before(text, contents[row], files[records.names[row]])
            return TextFiles(records.names, contents)
        if source.format == "lines":
            return memoryview(_in_lines(bytes(records), rows))
        return memoryview(in_records(source.layout(0), name, bytes(records), rows))

    return change


def _in_table(table: pa.Table, path: str, rows: Mapping[int, str]) -> pa.Table:
    number, *members = steps_to(table.schema, path)
    column: Any = pa.concat_arrays(table.column(number).chunks)
    field = table.schema.field(number)
    return table.set_column(number, field, _in_column(column, members, rows))


def _in_column(column: Any, members: Sequence[int], rows: Mapping[int, str]) -> Any:
    kind = column.type
    if members:
        fields = [kind.field(i) for i in range(kind.num_fields)]
        children = [column.field(i) for i in range(kind.num_fields)]
        children[members[0]] = _in_column(children[members[0]], members[1:], rows)
        return pa.StructArray.from_arrays(children, fields=fields, mask=column.is_null())
    mask = np.zeros(len(column), np.bool_)
    mask[list(rows)] = True
    values = pa.array([rows[row] for row in sorted(rows)], pa.large_string())
    new: Any = pc.replace_with_mask(column.cast(pa.large_string()), array_of(mask), values)
    if pa.types.is_dictionary(kind):
        new = new.cast(kind.value_type).dictionary_encode()
    return new.cast(kind)


class _Lines:
    """Records of JSON lines.

    Args:
        records: Their bytes.
        name: The field of the text.
    """

    def __init__(self, records: memoryview, name: str) -> None:
        self._records, self._name = records, name
        # Of each row, the first byte of its text and the one behind.
        self._strings: dict[int, tuple[int, int]] = {}

    def texts(self, rows: list[int]) -> list[str]:
        if not rows:
            return []
        found = strings_in(self._records, self._name, np.array(rows, np.int64))
        spans: list[tuple[int, int]] = list(map(tuple, found.tolist()))
        self._strings = dict(zip(rows, spans, strict=True))
        return [text_of(bytes(self._records[start:end])) for start, end in spans]

    def changed(self, rows: Mapping[int, str]) -> memoryview:
        """Return the records with new texts."""
        kept: list[bytes | memoryview] = []
        done = 0
        for row in sorted(rows):
            start, end = self._strings[row]
            kept += [self._records[done : start - 1], encode_basestring(rows[row]).encode()]
            done = end + 1
        return memoryview(b"".join([*kept, self._records[done:]]))


def text_of(raw: bytes) -> str:
    r"""Return the text of a JSON string without its quotes.

    >>> text_of(rb'one\ttwo \ud83d\ude00 \ud83d')
    'one\ttwo \U0001f600 \ufffd'
    """
    text = raw.decode("utf-8", "replace")
    if b"\\" not in raw:
        return text
    text = scanstring(text + '"', 0)[0]
    return _HALF.sub("\ufffd", text) if b"\\u" in raw else text


def _in_lines(data: bytes, rows: Mapping[int, str]) -> bytes:
    lines = data.split(b"\n")
    for row, text in rows.items():
        lines[row] = text.encode() + b"\r" * lines[row].endswith(b"\r")
    return b"\n".join(lines)
