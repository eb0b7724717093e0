"""Partitions that are rows of Arrow tables, and Arrow IPC files by record batches."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.errors import FormatError, InputError, NeardupError
from neardup.io.columns import (
    Column,
    append_columns,
    check_schema,
    documents_of,
    plain_schema,
    plain_types,
    string_offsets,
    strings_schema,
    text_columns,
    views_of,
)
from neardup.io.formats.column_paths import select
from neardup.io.formats.large_records import RecordLimit
from neardup.io.remote import is_remote
from neardup.io.remote_errors import failed, is_of_transfer
from neardup.io.source import (
    Added,
    Cached,
    Columns,
    Documents,
    Layout,
    Partition,
    Records,
    Rows,
    Skipped,
    SourceFile,
    changed,
    unreadable,
)
from neardup.io.streams import open_at, read_all

Batches: TypeAlias = Iterable[pa.RecordBatch | pa.Table]

#: Errors of Arrow for malformed bytes.
DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)

#: What Arrow says about something that it can't do; often that is an OSError like any other.
_NOT_DONE = re.compile(
    r"not (yet |currently |been )*(implemented|supported)|unsupported|doesn't support|not built|"
    r"unknown (encoding|compression|codec|page|logical)|crypt",
    re.IGNORECASE,
)
_ENCRYPTION = re.compile("crypt", re.IGNORECASE)
_CODEC = re.compile(r"(?i:(LZO|LZ4|ZSTD|BROTLI|SNAPPY|GZIP|BZ2).*|compression|codec)")
#: Of such messages, those without names or values of the file.
_PLAIN_DETAIL = re.compile(r"Not yet implemented: [\w ]{1,99}|Unknown encoding type[\w ]*")

_BYTES = {"string": pa.binary(), "large_string": pa.large_binary()}
_MAGIC = b"ARROW1"  # of a file; a stream has none


@dataclass
class TablePartition(Partition):
    """Rows of a table; ``first`` is the number of the first one, ``name`` is for messages."""

    file: int
    start: int
    size: int
    first: int
    name: str
    columns: Columns
    # Documents that were left out or repaired when the input was cut.
    left_out: Skipped = field(default=Skipped(), kw_only=True)
    replaced: int = field(default=0, kw_only=True)

    @abstractmethod
    def decoded(self, names: Sequence[str] | None) -> pa.Table:
        """Columns of the rows, with plain strings for views: those of paths, more, or all."""

    def load(self, names: Sequence[str] | None) -> pa.Table:
        """The same without the rows that are left out for their size."""
        table, _, _ = self._fitting(names)
        return table

    def _fitting(self, names: Sequence[str] | None) -> tuple[pa.Table, Rows, int]:
        """Rows of which no text is too large, which these are, and how many were left out."""
        if not self.columns.skip_large:
            table = self.decoded(names)
            return table if names is None else select(table, names), None, 0
        texts = self.columns.text
        table = self.decoded(None if names is None else list(dict.fromkeys((*names, *texts))))
        sizes = np.full(table.num_rows, len(texts) - 1)
        for text in text_columns(select(table, texts), self.columns, self.record):
            sizes += np.diff(string_offsets(text))
        rows = np.flatnonzero(sizes <= self.columns.max_document)
        skipped = table.num_rows - len(rows)
        table = table if names is None else select(table, names)
        return table.take(array_of(rows)) if skipped else table, rows, skipped

    def record(self, row: int) -> str:
        return f"{self.name}: record {self.first + row + 1}"

    def _where(self, rows: Rows) -> Callable[[int], str]:
        return lambda row: self.record(row if rows is None else int(rows[row]))

    def parsed(self, columns: tuple[str, ...] | None) -> Documents:
        asked = tuple(self.schema().names) if columns is None else columns
        table, rows, skipped = self._fitting(list(dict.fromkeys((*self.columns.text, *asked))))
        found = documents_of(table, self.columns, asked, self._where(rows))
        every = Skipped.total([self.left_out, Skipped(skipped)])
        return replace(found, skipped=every, replaced=found.replaced + self.replaced)

    def texts(self, rows: np.ndarray, count: int) -> pa.LargeStringArray:
        table = self._taken(self.load(self.columns.text), rows, count)
        return documents_of(table, self.columns, (), self._where(rows)).text

    def records(
        self, rows: Rows, count: int, added: Added = None, cached: Cached = None
    ) -> Records:
        return append_columns(self.name, self._kept(rows, count, cached), added)

    def table(self, rows: Rows, count: int, added: Added = None, cached: Cached = None) -> pa.Table:
        found = self._kept(rows, count, cached)
        names = found.column_names
        every = select(found, list(dict.fromkeys((*names, *self.columns.text))))
        checked = documents_of(every, self.columns, names, self._where(rows))
        return append_columns(self.name, checked.columns, added)

    def _kept(self, rows: Rows, count: int, cached: Cached) -> pa.Table:
        schema, there = self.schema(), self._there(cached)
        missing = [name for name in schema.names if name not in there]
        if missing or not there:
            loaded = self.load(missing if there else None)
            if loaded.num_rows != count:
                raise changed(self.name)
            there.update(zip(loaded.column_names, loaded.columns, strict=True))
        table = pa.Table.from_arrays([there[name] for name in schema.names], schema=schema)
        return self._taken(table, rows, count)

    def _there(self, cached: Cached) -> dict[str, Column]:
        """Return the columns that are cached, as the schema has them."""
        # Repaired texts are read again: the answer must not depend on the cache.
        if cached is None or cached.replaced:
            return {}
        schema, text = self.schema(), cached.unchanged
        pairs = zip(cached.columns.schema, cached.columns.columns, strict=True)
        types = dict(zip(schema.names, schema.types, strict=True))
        there = {f.name: c for f, c in pairs if f.type == types.get(f.name)}
        if text in types and types[text] in (pa.string(), pa.large_string()):
            there[text] = pa.chunked_array([cached.text]).cast(types[text])
        return there

    def _taken(self, table: pa.Table, rows: Rows, count: int) -> pa.Table:
        if table.num_rows != count:
            raise changed(self.name)
        if rows is None or len(rows) == count:
            return table
        return table.take(array_of(rows))


@dataclass
class MemoryPartition(TablePartition):
    rows: pa.Table

    def decoded(self, names: Sequence[str] | None) -> pa.Table:
        return self.rows

    def schema(self) -> pa.Schema:
        return self.rows.schema


def bytes_of(table: pa.Table | pa.RecordBatch) -> int:
    """Bytes of the rows in memory; with string views, older Arrow knows complete buffers only."""
    try:
        return int(table.nbytes)
    except pa.ArrowException:
        return int(table.get_total_buffer_size())


def cut_batches(
    batches: Batches, index: int, name: str, columns: Columns, partition_bytes: int
) -> Iterator[MemoryPartition]:
    """Batches, each of which is checked, sliced or put together to partitions."""
    start = first = size = 0
    parts: list[pa.Table] = []

    def gathered() -> MemoryPartition:
        table = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
        return MemoryPartition(index, start, size, first, name, columns, table)

    schema = None
    for batch in batches:
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        is_new = schema is None or not table.schema.equals(schema)
        if is_new:
            check_schema(name, table.schema, columns)
            schema = table.schema
        table = plain_types(table)
        total = bytes_of(table)
        # A document costs memory even where its text is short.
        step = max(1, table.num_rows * partition_bytes // max(1, total, 64 * table.num_rows))
        for row in range(0, table.num_rows, step):
            if parts and (is_new or size >= partition_bytes or step < table.num_rows):
                yield gathered()
                start, first, size, parts = start + size, first + sum(map(len, parts)), 0, []
            is_new = False
            parts.append(table.slice(row, step))
            # Differences of running shares, which add up to the batch.
            end = min(row + step, table.num_rows)
            size += total * end // table.num_rows - total * row // table.num_rows
    if parts:
        yield gathered()


def damaged(name: str, format: str, error: BaseException) -> NeardupError:
    """The error for bytes that Arrow refuses, or for a file that the system does not give out."""
    if is_remote(name) and is_of_transfer(error):
        return failed(name, error)
    # Arrow gives no number for errors inside the file, the system does for the file.
    if isinstance(error, OSError) and error.errno:
        return unreadable(name, error)
    said = str(error)
    if isinstance(error, pa.ArrowNotImplementedError) or _NOT_DONE.search(said):
        return _not_read(name, format, said)
    return FormatError(
        f"{name}: not {format}, or cut off or damaged", "fetch the file again, or check its ending"
    )


def _not_read(name: str, format: str, said: str) -> FormatError:
    """The error for a file that may be good, but has what Arrow can't do."""
    reader = f"Arrow {pa.__version__}"
    if _ENCRYPTION.search(said):
        return FormatError(f"{name}: encrypted {format}, which is not read", "decrypt it first")
    again = "write it again with another program"
    if found := _CODEC.search(said):
        codec = found[1] or "a codec"
        what = f"{format} compressed by {codec}, which {reader} can't read"
        return FormatError(f"{name}: {what}", f"{again}, or with another codec, such as zstd")
    what = f"{format} with an encoding or a type that {reader} can't read"
    detail = said.strip().removesuffix(".")
    what += f": {detail}" if _PLAIN_DETAIL.fullmatch(detail) else ""
    hint = f"{again}, or with another version or encoding; or try a newer pyarrow"
    return FormatError(f"{name}: {what}", hint)


def check_arrays(array: Any, in_column: bool = True) -> None:
    """Raise ArrowInvalid where an offset or an index leads out of the buffers of an array.

    Strings of a column that are not UTF-8 are left to `documents_of`.
    """
    type = array.type
    if in_column and str(type) in _BYTES:
        array.view(_BYTES[str(type)]).validate(full=True)
    elif pa.types.is_dictionary(type):
        check_arrays(array.dictionary, in_column)
        array.indices.validate(full=True)
        pa.DictionaryArray.from_arrays(array.indices, pa.nulls(len(array.dictionary)))
    else:
        array.validate(full=True)
        if pa.types.is_struct(type) or pa.types.is_union(type):
            for i in range(type.num_fields):
                check_arrays(array.field(i), False)
        elif pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_map(type):
            check_arrays(array.values, False)
        elif isinstance(array, pa.ExtensionArray):
            check_arrays(array.storage, in_column)


def _batches(opened: Any) -> Iterator[pa.RecordBatch]:
    is_file = isinstance(opened, pa.RecordBatchFileReader)
    for batch in map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened:
        for array in batch.columns:
            check_arrays(array)
        yield batch


def member_limit(file: SourceFile, columns: Columns) -> RecordLimit | None:
    """Return the limit on the size of a table that is read at once since it is in an archive."""
    return None if file.archive is None else RecordLimit(columns.max_document, None)


@contextmanager
def _opened(file: SourceFile, columns: Columns) -> Iterator[Any]:
    try:
        limit = member_limit(file, columns)
        source: Any = open_at(file) if file.is_seekable else pa.BufferReader(read_all(file, limit))
        is_file = source.read(len(_MAGIC)) == _MAGIC
        source.seek(0)
        with pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source) as opened:
            yield opened
    except InputError:  # one of them is an OSError as well
        raise
    except (*DAMAGE, IndexError) as error:
        raise damaged(file.path, "Arrow IPC", error) from error


def cut(
    index: int, file: SourceFile, columns: Columns, partition_bytes: int
) -> Iterator[TablePartition]:
    if file.size == 0:
        return
    with _opened(file, columns) as opened:
        check_schema(file.path, opened.schema, columns)
        batches = _batches(opened)
        yield from in_file(file, cut_batches(batches, index, file.path, columns, partition_bytes))


def in_file(file: SourceFile, parts: Iterable[MemoryPartition]) -> Iterator[MemoryPartition]:
    """Yield partitions with sizes that add up to the file's, instead of those in memory."""
    left, last = file.size or 0, None
    for part in parts:
        if last is not None:
            yield last
        if file.size is not None:
            part.start, part.size = file.size - left, min(part.size, left)
        left, last = left - part.size, part
    if last is not None:
        last.size += max(0, left)
        yield last


def layout(file: SourceFile, columns: Columns) -> Layout:
    schema, views = strings_schema(columns.required), None
    if file.size != 0:
        with _opened(file, columns) as opened:
            schema, views = plain_schema(opened.schema), views_of(opened.schema)
    return Layout("arrow", "lz4", b"", schema, columns.text, views=views)
