"""Text files of which each line is a document: the column ``text``, and no ids."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from neardup.errors import SpecError
from neardup.io.columns import Column, check_schema, strings_schema
from neardup.io.formats.byte_partitions import BytePartition, FieldReader, Fields
from neardup.io.formats.json_text import Joined
from neardup.io.formats.jsonl import cut_file, lines_in
from neardup.io.source import Columns, Layout, Rows, SourceFile
from neardup.io.streams import Raw
from neardup.kernels.scanning import PLAIN

_TEXT = "text"
_SCHEMA = strings_schema([_TEXT])
_MARK = np.frombuffer(b"\xef\xbb\xbf", np.uint8)


class LinePartition(BytePartition):
    """Lines of a text file; one of white space only is no document."""

    def found(self, raw: Raw) -> np.ndarray:
        lines = lines_in(raw)
        # They begin behind the line end before them, not with their first letter.
        ends = np.append(-1, np.flatnonzero(raw.data[: raw.size] == 10))
        starts = ends[np.searchsorted(ends, lines[:, 0]) - 1] + 1
        marked = (raw.data[starts[:, None] + np.arange(len(_MARK))] == _MARK).all(axis=1)
        lines[:, 0] = starts + len(_MARK) * marked
        stops = lines[:, 2].copy()
        for byte in b"\n\r":
            stops -= (raw.data[stops - 1] == byte) & (stops > lines[:, 0])
        lines[:, 1] = stops
        return lines

    def fields(
        self, raw: Raw, names: Sequence[str], rows: Rows, count: int | None, exact: bool
    ) -> Fields:
        lines = self.bounds(raw, rows, count)
        values = np.ascontiguousarray(lines[None, :, :2])
        kinds = np.full((1, len(lines)), PLAIN, np.uint8)
        return Fields(raw, values[: len(names)], kinds[: len(names)], len(lines))

    def names(self, raw: Raw, rows: Rows) -> list[str]:
        return [_TEXT]

    def schema(self) -> pa.Schema:
        return _SCHEMA

    def insertions(self, raw: Raw, bounds: np.ndarray, added: pa.Table) -> Joined:
        raise SpecError("lines have no fields, and fields are to be added")

    def _lossless_column(self, reader: FieldReader, k: int, name: str) -> Column:
        return reader.strings(k, name, nulls=False)


def cut(
    index: int, file: SourceFile, columns: Columns, partition_bytes: int
) -> Iterator[LinePartition]:
    """Partitions of a text file, which has one column and no ids."""
    if columns.id is not None:
        raise SpecError("`id` is given, and lines have no ids", "leave it out: ids are positions")
    check_schema(file.path, _SCHEMA, columns)
    yield from cut_file(LinePartition, index, file, columns, partition_bytes)


def layout(file: SourceFile, columns: Columns) -> Layout:
    """How the lines are written: as they are."""
    return Layout("lines", file.compression, b"", _SCHEMA, columns.text)
