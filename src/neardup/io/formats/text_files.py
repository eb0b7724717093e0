"""Plain text files: one document a file, with the columns ``path`` and ``text``."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.arrays import strings_of
from neardup.errors import EncodingError, FormatError, SpecError
from neardup.io.columns import append_columns, check_schema, with_replacement
from neardup.io.formats.arrow_tables import TablePartition
from neardup.io.formats.large_records import RecordLimit
from neardup.io.source import (
    Added,
    BadRecord,
    Cached,
    Columns,
    Documents,
    Layout,
    Rows,
    Skipped,
    SourceFile,
    TextFiles,
    changed,
)
from neardup.io.streams import as_it_is, fits, read_all, read_head
from neardup.io.unpacking.decompressed import compressed
from neardup.io.unpacking.encodings import encoding_of
from neardup.io.unpacking.first_bytes import HEAD, MARKS, first_not_utf8, text_start

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
            texts.append(raw[text_start(file.path, raw[:HEAD]) :])
            if not self.columns.replaces and (error := first_not_utf8(file.path, texts[-1])):
                raise error
        paths = [os.fsencode(file.name) for file in self.files]
        return pa.Table.from_arrays([strings_of(paths), strings_of(texts)], schema=_SCHEMA)

    def parsed(self, columns: tuple[str, ...] | None) -> Documents:
        found = super().parsed(columns)
        if not self.columns.replaces or not self.files[0].encoding:
            return found
        return replace(found, replaced=found.replaced + with_replacement(found.text))

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
        contents = [as_it_is(file) for file in files]
        return TextFiles([file.name for file in files], contents)

    def table(self, rows: Rows, count: int, added: Added = None, cached: Cached = None) -> pa.Table:
        found = self._chosen(rows, count).read(None).columns
        return append_columns(self.name, found, added)

    def _chosen(self, rows: Rows, count: int) -> "TextPartition":
        if count != len(self.files):
            raise changed("the input")
        return self if rows is None else replace(self, files=[self.files[row] for row in rows])


def as_before(text: str, before: bytes, file: SourceFile) -> bytes:
    """Return a changed text as bytes, encoded and compressed as the file that it was in."""
    head = read_head(replace(file, content=before))
    encoding = encoding_of(file.path, head, file.encoding)
    mark = next((mark for mark, of in MARKS if of == encoding and head.startswith(mark)), b"")
    return bytes(compressed(mark + text.encode(encoding, "replace"), file.compression))


def cut(
    index: int, files: Sequence[SourceFile], columns: Columns, partition_bytes: int
) -> Iterator[TextPartition]:
    """Partitions of complete files, several small ones together; ``index`` is that of the first."""
    check_schema("plain text files", _SCHEMA, columns)
    # A pipe gives its bytes once, compressed ones as they come.
    files = [replace(file, content=as_it_is(file)) if file.size is None else file for file in files]
    first = size = start = 0
    for end, file in enumerate(files, 1):
        size += file.size or 0
        out = _left_out(index + end - 1, file, columns)
        fit = out is None
        # Those of a partition follow each other in the input.
        if not fit or size >= partition_bytes or end - first == _FILES or end == len(files):
            batch = files[first : end if fit else end - 1]
            about = index + first, start, size, 0, "plain texts", columns, batch
            yield TextPartition(*about, left_out=out or Skipped())
            first, start, size = end, start + size, 0


def _left_out(number: int, file: SourceFile, columns: Columns) -> Skipped | None:
    """Return why a file is left out, which is read for it; None where it is not."""
    if columns.skip_large and not fits(file, columns.max_document):
        return Skipped(1)
    if columns.skip_bad:
        one = TextPartition(number, 0, 0, 0, "", columns, [file])
        try:
            one.decoded(None)
        except (FormatError, EncodingError) as error:
            what = error.message.removeprefix(f"{file.path}: ")
            return Skipped(0, 1, (BadRecord(number, 0, 0, what),))
    return None


def layout(file: SourceFile, columns: Columns) -> Layout:
    """How the files are written: as they are, compressed ones too."""
    return Layout("text", file.compression, b"", _SCHEMA, columns.text)
