"""Plain text files: one document a file, with the columns ``path`` and ``text``."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.arrays import strings_of
from neardup.errors import EncodingError, SpecError
from neardup.io.columns import REPLACE_HINT, append_columns, check_schema
from neardup.io.formats.arrow_tables import TablePartition
from neardup.io.formats.large_records import RecordLimit
from neardup.io.source import Added, Cached, Columns, Layout, Rows, SourceFile, TextFiles, changed
from neardup.io.streams import bom_size, fits, read_all

PATH_COLUMN = "path"

_SCHEMA = pa.schema([(PATH_COLUMN, pa.large_string()), ("text", pa.large_string())])
_FILES = 4096  # in a partition, for folders of very small files


@dataclass
class TextPartition(TablePartition):
    """Several files; ``file`` is the first, and ``start`` counts the bytes of all before it."""

    files: Sequence[SourceFile]

    def decoded(self, names: Sequence[str] | None) -> pa.Table:
        texts = []
        limit = RecordLimit(self.columns.max_document, self.columns.skip_large)
        for file in self.files:
            raw = read_all(file, limit)
            texts.append(raw[bom_size(file.path, raw) :])
            try:
                if not self.columns.replaces:
                    texts[-1].decode()
            except UnicodeDecodeError as error:
                raise EncodingError(
                    f"{file.path}: not valid UTF-8 (byte {error.start + 1})", REPLACE_HINT
                ) from error
        paths = [os.fsencode(file.name) for file in self.files]
        return pa.Table.from_arrays([strings_of(paths), strings_of(texts)], schema=_SCHEMA)

    def schema(self) -> pa.Schema:
        return _SCHEMA

    def record(self, row: int) -> str:
        return self.files[row].path

    def texts(self, rows: np.ndarray, count: int) -> pa.LargeStringArray:
        return self._chosen(rows, count).read().text

    def records(
        self, rows: Rows, count: int, added: Added = None, cached: Cached = None
    ) -> TextFiles:
        if added is not None:
            raise SpecError("plain texts have no fields, and fields are to be added")
        files = self._chosen(rows, count).files
        contents = [read_all(replace(file, compression=None)) for file in files]
        return TextFiles([file.name for file in files], contents)

    def table(self, rows: Rows, count: int, added: Added = None, cached: Cached = None) -> pa.Table:
        found = self._chosen(rows, count).read(None).columns
        return append_columns(self.name, found, added)

    def _chosen(self, rows: Rows, count: int) -> "TextPartition":
        if count != len(self.files):
            raise changed("the input")
        return self if rows is None else replace(self, files=[self.files[row] for row in rows])


def cut(
    index: int, files: Sequence[SourceFile], columns: Columns, partition_bytes: int
) -> Iterator[TextPartition]:
    """Partitions of complete files, several small ones together; ``index`` is that of the first."""
    check_schema("plain text files", _SCHEMA, columns)
    # A pipe gives its bytes once, compressed ones as they come.
    files = [
        replace(file, content=read_all(replace(file, compression=None)))
        if file.size is None
        else file
        for file in files
    ]
    first = size = start = 0
    for end, file in enumerate(files, 1):
        size += file.size or 0
        fit = not columns.skip_large or fits(file, columns.max_document)
        # Those of a partition follow each other in the input.
        if not fit or size >= partition_bytes or end - first == _FILES or end == len(files):
            batch = files[first : end if fit else end - 1]
            name, out = "plain texts", int(not fit)
            yield TextPartition(index + first, start, size, 0, name, columns, batch, left_out=out)
            first, start, size = end, start + size, 0


def layout(file: SourceFile, columns: Columns) -> Layout:
    """How the files are written: as they are, compressed ones too."""
    return Layout("text", file.compression, b"", _SCHEMA, columns.text)
