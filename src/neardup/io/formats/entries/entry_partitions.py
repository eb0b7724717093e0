"""Partitions of files of entries: found in the bytes, read by their syntax, copied as they are."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import DependencyError, EncodingError, FormatError
from neardup.io.columns import Column, check_new, check_schema, strings_schema
from neardup.io.formats.byte_partitions import Bad, BytePartition, Fields, concatenated_bytes
from neardup.io.formats.entries.entry_syntax import FoundEntry, Syntax
from neardup.io.formats.json_text import Joined, joined_list
from neardup.io.formats.large_records import RecordLimit
from neardup.io.source import Columns, Layout, Rows, SourceFile
from neardup.io.streams import Extent, Raw, cut_stream
from neardup.io.unpacking.first_bytes import HEAD, text_start
from neardup.kernels.scanning import ABSENT, PLAIN
from neardup.tuning import TUNING

#: The modules of the formats.
_MODULES = {"ris": "ris", "nbib": "ris", "bibtex": "bibtex", "endnote": "endnote", "vcard": "vcard"}
_HEAD = 4096  # bytes of a file that are checked
_BAD_HINT = "`skip_bad`=True leaves such records out and counts them"
#: It says how the file was encoded, and may be followed by another one.
_DECLARATION = re.compile(rb"^\s*<\?xml .*?\?>")


class EntryPartition(BytePartition):
    def __init__(
        self,
        index: int,
        file: SourceFile,
        columns: Columns,
        extent: Extent,
        skip: int,
        read: tuple[Syntax, bytes],
    ) -> None:
        super().__init__(index, file, columns, extent, skip)
        self._syntax, self._context = read

    def found(self, raw: Raw) -> np.ndarray:
        return _bounds_of(self._entries(raw))

    def _entries(self, raw: Raw) -> list[FoundEntry]:
        found = list(self._syntax.entries(_bytes(raw)))
        if self._columns.skip_bad:
            bad = {start for start, _ in self._spans or ()}
            return [entry for entry in found if not entry.wrong and entry.start not in bad]
        wrong = next((entry for entry in found if entry.wrong), None)
        if wrong is not None:
            raise FormatError(f"{self.position(wrong.start)}: {wrong.wrong}", _BAD_HINT)
        return found

    def malformed(self, raw: Raw) -> Iterator[Bad]:
        for entry in self._syntax.entries(_bytes(raw)):
            if entry.wrong:
                yield entry.start, entry.end, entry.wrong

    def without(self, raw: Raw, spans: Sequence[tuple[int, int]]) -> Raw:
        # `_entries` leaves them out: blank lines would become a part of the entry before them.
        return raw

    def _not_utf8(self, at: int) -> EncodingError:
        # Values have bytes of their own, and those of vCard may be quoted.
        raw = self.raw()
        try:
            _bytes(raw).decode()
        except UnicodeDecodeError as error:
            return super()._not_utf8(error.start)
        wrong = next(entry for entry in self._entries(raw) if self._is_damaged(entry))
        what = "a value is not of the encoding that it names"
        return EncodingError(f"{self.position(wrong.start)}: {what}", _BAD_HINT)

    def _is_damaged(self, entry: FoundEntry) -> bool:
        values = self._syntax.values(entry.content, self._context)
        every = "".join(self._syntax.value(values, name) for name in self._syntax.columns)
        return not every.isascii() and any("\udc80" <= c <= "\udcff" for c in every)

    def fields(
        self, raw: Raw, names: Sequence[str], rows: Rows, count: int | None, exact: bool
    ) -> Fields:
        entries = self._entries(raw)
        if (fitting := self.fitting(raw, _bounds_of(entries))) is not None:
            entries = [entries[row] for row in fitting]
        self.check(len(entries), count)
        chosen = entries if rows is None else [entries[row] for row in rows]
        syntax = self._syntax
        every = [syntax.values(entry.content, self._context) for entry in chosen]
        found = [syntax.value(values, name) for name in names for values in every]
        data, ends = concatenated_bytes([value.encode(errors="surrogateescape") for value in found])
        spans = np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int32)
        kinds = np.where(spans[:, 0] < spans[:, 1], PLAIN, ABSENT).astype(np.uint8)
        shape = len(names), len(chosen)
        spans, kinds = spans.reshape(*shape, 2), kinds.reshape(shape)
        return Fields(Raw(data, int(ends[-1])), spans, kinds, len(chosen))

    def names(self, raw: Raw, rows: Rows) -> list[str]:
        return list(self._syntax.columns)

    def schema(self) -> pa.Schema:
        return strings_schema(self._syntax.columns)

    def insertions(self, raw: Raw, bounds: np.ndarray, added: pa.Table) -> Joined:
        check_new(self._file.path, self._syntax.columns, added.column_names)
        line_end = "\r\n" if b"\r\n" in raw.data[: min(raw.size, 4096)].tobytes() else "\n"
        columns = [column.cast(pa.large_string()) for column in added.columns]
        rows = pa.Table.from_arrays(columns, added.column_names).to_pylist()
        given = ({name: value for name, value in row.items() if value is not None} for row in rows)
        return concatenated_bytes(
            [self._syntax.added(values, line_end).encode() if values else b"" for values in given]
        )

    def changed(
        self, record: bytes, values: Mapping[str, Any], renamed: Mapping[str, str]
    ) -> bytes:
        texts = {name: joined_list(value) for name, value in values.items()}
        if texts.keys().isdisjoint(self._syntax.columns):
            entry = next(iter(self._syntax.entries(record)))
            line_end = "\r\n" if b"\r\n" in record else "\n"
            new = self._syntax.added(texts, line_end).encode(errors="surrogateescape")
            changed = record[: entry.insert] + new + record[entry.insert :]
        else:
            changed = self._syntax.changed(record, texts)
        return changed if changed.endswith((b"\n", b"\r")) else changed + b"\n"

    def _lossless_column(self, reader: Any, k: int, name: str) -> Column:
        return reader.strings(k, name)


def entry_rows(table: pa.Table, format: str) -> bytes:
    """Return the rows of a table as entries; values without a column of the format are notes."""
    syntax = _syntax_of(format, "the output")
    found = []
    for row in table.to_pylist():
        there = {name: joined_list(value) for name, value in row.items() if value is not None}
        found.append(syntax.new({name: value for name, value in there.items() if value}))
    return b"".join(found)


def _bytes(raw: Raw) -> bytes:
    return raw.data[: raw.size].tobytes()


def _bounds_of(entries: Sequence[FoundEntry]) -> np.ndarray:
    return np.array([entry[:3] for entry in entries], np.int32).reshape(-1, 3)


def cut(
    index: int, file: SourceFile, columns: Columns, partition_bytes: int
) -> Iterator[EntryPartition]:
    """Cut a file into partitions of complete entries; one of other text is refused."""
    syntax = _syntax_of(file.format, file.path)
    check_schema(file.path, strings_schema(syntax.columns), columns)
    skip, context, seen, blank = 0, b"", False, True

    def last_end(raw: Raw, final: bool, position: int, line: int | None) -> int:
        nonlocal skip, context, seen, blank
        data = _bytes(raw)
        skip = 0 if position else text_start(file.path, data[:HEAD])
        data = data[skip:]
        head = _DECLARATION.sub(b"", data[:_HEAD]) if file.encoding else data[:_HEAD]
        wrong = "" if position or not data.strip() else syntax.check(head)
        end = len(data) if final else syntax.complete(data)
        if end:
            context += syntax.context(data[:end])
            seen, blank = seen or bool(syntax.mark.search(data)), blank and not data.strip()
        if final and not seen and not blank:
            wrong = wrong or syntax.no_mark
        if wrong:
            raise FormatError(f"{file.path}: {wrong}", "name its format with `input_format`")
        return skip + end if end else 0

    limit = RecordLimit(columns.max_document, None)
    for extent in cut_stream(file, partition_bytes, last_end, limit):
        yield EntryPartition(index, file, columns, extent, skip, (syntax, context))


def layout(file: SourceFile, columns: Columns) -> Layout:
    """How the entries of a file are written: as they are, behind all that they need."""
    syntax = _syntax_of(file.format, file.path)
    parts = (_bytes(part.raw()) for part in cut(0, file, columns, TUNING.partition_bytes))
    header, footer = syntax.frame(parts)
    schema = strings_schema(syntax.columns)
    return Layout(file.format, file.compression, header, schema, columns.text, footer=footer)


def _syntax_of(format: str, name: str) -> Syntax:
    try:
        found: Syntax = import_module(f"{__package__}.{_MODULES[format]}").SYNTAX[format]
    except ImportError as error:
        what = f"{name} needs neardup[citations]"
        raise DependencyError(what, "pip install 'neardup[citations]'") from error
    return found
