"""Parquet by row groups: small ones together, large ones in slices that are decoded in order."""

import re
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.arrays import numbers
from neardup.errors import InputError
from neardup.io.columns import check_schema, plain_schema, plain_types, strings_schema
from neardup.io.formats.arrow_tables import (
    DAMAGE,
    TablePartition,
    bytes_of,
    check_arrays,
    damaged,
    member_limit,
)
from neardup.io.formats.column_paths import LIST
from neardup.io.formats.large_records import RecordLimit
from neardup.io.source import Cached, Columns, Layout, SourceFile, changed
from neardup.io.streams import open_at, read_all
from neardup.tuning import TUNING

_BUFFER = 1 << 16  # bytes read at a time, for each column, of a file that is not small
#: Of a small file, a column is read at once: with a buffer, a damaged page takes the 2 GB that it
#: claims to have.
_SMALL = 32 << 20
_ROW_BYTES = 64  # that a document costs at least, however short its text
_LOOKED_AT = 64  # columns whose real size is determined
_LOOK_ROWS = 512
_MOST_ROWS = 1 << 16  # whose indices are read at once
_INDEX_BYTES = 4  # of an index into a dictionary
_CURSORS = 3  # row groups that are decoded at a time, at most
_STRINGS = ("string", "large_string", "binary", "large_binary")
#: Encodings of strings that Arrow does not decode into a dictionary. In the second, a value has
#: only the bytes by which it differs from the one before it.
_DELTA = {"DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"}
_DIFFERENCES = "DELTA_BYTE_ARRAY"
_MEASURED_ROWS = 64  # decoded at a time, where nothing says how long they are
_INDICES = 1 << 22  # into a dictionary, read at a time
#: Arrow has dictionaries only of strings with offsets of 32 bits.
_NO_DICTIONARIES: dict[str, Any] = {"binary_type": pa.large_binary()}
_CODECS = {"SNAPPY": "snappy", "GZIP": "gzip", "BROTLI": "brotli", "LZ4": "lz4", "LZ4_RAW": "lz4"}

#: Columns that are decoded; None for all.
Names = tuple[str, ...] | None


class _ParquetFile:
    """A Parquet file and its metadata; shared by its partitions, picklable."""

    def __init__(self, file: SourceFile, limit: RecordLimit | None) -> None:
        self.file, self._limit = file, limit
        # A pipe that was not copied, or in an archive: Parquet is read from its end.
        self._content = None if file.is_seekable else pa.py_buffer(read_all(file, limit))
        self.size = len(self._content) if self._content is not None else file.size or 0
        self._metadata: pq.FileMetaData | None = None
        #: Whether no column is read with a dictionary, whatever its type.
        self.plain = False
        try:
            with self.opened() as opened:
                self.metadata = self._metadata = opened.metadata
                found: pa.Schema = opened.schema_arrow
            self.schema = plain_schema(found)
            if self._has_delta_dictionary():
                with self.opened() as opened:
                    self.schema = plain_schema(opened.schema_arrow)
            self.views = None if found.equals(self.schema) else found
        except (*DAMAGE, IndexError) as error:
            raise damaged(file.path, "Parquet", error) from error
        self._lock = threading.Lock()
        self._cursors: list[_Cursor] = []  # the one that was used last comes last
        self._small: dict[tuple[int, tuple[str, ...]], bool] = {}
        self._complete: dict[tuple[int, tuple[str, ...]], pa.Table] = {}

    def __reduce__(self) -> "tuple[type[_ParquetFile], tuple[SourceFile, RecordLimit | None]]":
        return _ParquetFile, (self.file, self._limit)

    def opened(self, dictionary: Sequence[str] = ()) -> pq.ParquetFile:
        """Open the file once more: a reader must not be shared by threads."""
        source: Any = (
            pa.BufferReader(self._content) if self._content is not None else self.file.local_path
        )
        # With `pre_buffer`, all columns of a row group are in memory, compressed, before one of
        # them is decoded; at a URL it saves thousands of small requests.
        is_remote = self.file.is_remote and self._content is None
        return pq.ParquetFile(
            open_at(self.file) if is_remote else source,
            metadata=self._metadata,
            pre_buffer=is_remote,
            buffer_size=0 if is_remote or self.size <= _SMALL else _BUFFER,
            read_dictionary=list(dictionary) or None,
            **(_NO_DICTIONARIES if self.plain else {}),
        )

    def _has_delta_dictionary(self) -> bool:
        """Set ``plain`` where Arrow can't decode a column into the dictionary that its type is."""
        types = zip(self.schema.names, self.schema.types, strict=True)
        names = tuple(name for name, type in types if "dictionary" in str(type))
        if names:
            self.plain = True
            with self.opened() as reader:
                for number in range(self.metadata.num_row_groups):
                    _look(reader, number, names)
            groups = range(self.metadata.num_row_groups)
            chunks = (chunk for group in groups for chunk in self._chunks(group, names))
            self.plain = any(_DELTA & {*chunk.encodings} for chunk in chunks)
        return self.plain

    def physical(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of the file for some columns, which are leaves for a path."""
        found = dict[str, None]()
        for name in names:
            if name in self.schema.names:
                found[name] = None
                continue
            # A writer names the levels of a list in one or two words.
            pattern = re.escape(name).replace(re.escape(LIST), r"(?:\.[^.]+){1,2}?")
            leaf = re.compile(rf"{pattern}(\.|$)")
            found |= dict.fromkeys(path for path in _paths(self.metadata) if leaf.match(path))
        return tuple(found)

    def kind(self, name: str) -> str:
        """Return the type of a column; nothing of a leaf within one."""
        return str(self.schema.field(name).type) if name in self.schema.names else ""

    def groups(self, groups: range, names: Names) -> pa.Table:
        with self.opened() as opened:
            return opened.read_row_groups(list(groups), cast(Any, names), use_threads=False)

    def slice(self, group: int, step: int, number: int, names: Names) -> pa.Table:
        """Decode rows of a large row group; cheap where slices are asked for about in order.

        Threads may need slices far from each other: each takes the nearest cursor before its slice.
        """
        with self._lock:
            found = [c for c in self._cursors if c.of == (group, names) and c.reaches(number)]
            cursor = max(found, key=lambda c: c.next, default=None)
            if cursor is None:
                cursor = _Cursor(self, group, step, names)
            else:
                self._cursors.remove(cursor)
            self._cursors.append(cursor)
            del self._cursors[:-_CURSORS]
        return cursor.take(number)

    def is_small(self, group: int, names: tuple[str, ...]) -> bool:
        """Return whether columns of a row group are so small that they are decoded at once."""
        with self._lock:
            if (group, names) not in self._small:
                try:
                    size = self._encoded(group, names)
                except DAMAGE:  # whoever decodes it reports it
                    size = TUNING.small_columns + 1
                self._small[group, names] = size <= TUNING.small_columns
            return self._small[group, names]

    def _encoded(self, group: int, names: tuple[str, ...]) -> int:
        """Bytes of columns, with indices into a dictionary for each; more where that is unknown."""
        with self.opened() as opened:
            _look(opened, group, names)
        parts = self._chunks(group, names)
        if any(_is_longer(part, self.plain) for part in parts):
            return TUNING.small_columns + 1
        sizes = sum(part.total_uncompressed_size for part in parts)
        return sizes + _INDEX_BYTES * self.metadata.row_group(group).num_rows * len(parts)

    def _chunks(self, group: int, names: tuple[str, ...]) -> list[pq.ColumnChunkMetaData]:
        """Return the notes about columns of a row group that were looked at, see `_look`."""
        about, paths = self.metadata.row_group(group), _paths(self.metadata)
        return [about.column(i) for i, path in enumerate(paths) if _is_in(path, names)]

    def columns(self, group: int, names: tuple[str, ...]) -> pa.Table:
        """Return small columns of a row group; strings with a dictionary, which bounds them."""
        with self._lock:
            found = self._complete.pop((group, names), None)
            if found is None:
                chunks = self._chunks(group, names)
                delta = {e.path_in_schema for e in chunks if _DELTA & {*e.encodings}}
                of_strings = [n for n in names if self.kind(n) in _STRINGS]
                strings = [name for name in of_strings if name not in delta]
                with self.opened(strings) as opened:
                    found = opened.read_row_group(group, list(names), use_threads=False)
                for name in of_strings:
                    for chunk in found.column(name).chunks:
                        check_arrays(chunk)
            self._complete[group, names] = found
            while len(self._complete) > _CURSORS:
                del self._complete[next(iter(self._complete))]
            return found


def _is_in(path: str, names: tuple[str, ...]) -> bool:
    return any(path == name or path.startswith(f"{name}.") for name in names)


def _is_longer(chunk: pq.ColumnChunkMetaData, plain: bool) -> bool:
    """Return whether values are longer than noted, and no dictionary says by how much."""
    encodings = {*chunk.encodings}
    is_plain = plain or bool(encodings & _DELTA)
    return _DIFFERENCES in encodings or (is_plain and chunk.has_dictionary_page)


def _plain_strings(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table whose strings have no dictionary where the schema has none."""
    for i, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        kind = schema.field(name).type
        if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind):
            every: list[Any] = column.chunks
            chunks = [chunk.dictionary_decode().cast(kind) for chunk in every]
            table = table.set_column(i, name, pa.chunked_array(chunks, kind))
    return table


class _Cursor:
    """Slices of one row group, which is decoded from its start to its end, once if all goes well.

    Threads that come too early decode the slices before theirs for the others.
    """

    def __init__(self, file: _ParquetFile, group: int, step: int, names: Names) -> None:
        self._file, self._group, self._step, self._names = file, group, step, names
        self.of = group, names
        self._lock = threading.Lock()
        self._stash: dict[int, pa.Table] = {}
        self.next, self._slices = 0, self._decoded()

    def reaches(self, number: int) -> bool:
        """Return whether a slice is still to come, or waits."""
        return number >= self.next or number in self._stash

    def take(self, number: int) -> pa.Table:
        """Return a slice; one that was released or already returned is decoded again."""
        with self._lock:
            if number not in self._stash and number < self.next:
                self.next, self._slices = 0, self._decoded()
            while number not in self._stash:
                found = next(self._slices, None)
                if found is None:
                    raise changed(self._file.file.path)
                self._stash[self.next] = found
                self.next += 1
                if len(self._stash) > TUNING.waiting_slices:
                    self._stash.pop(min(self._stash))
            return self._stash.pop(number)

    def _decoded(self) -> Iterator[pa.Table]:
        left = self._file.metadata.row_group(self._group).num_rows
        names: Any = self._names
        batches: list[pa.RecordBatch] = []
        with self._file.opened() as opened:
            for batch in opened.iter_batches(
                self._step, row_groups=[self._group], columns=names, use_threads=False
            ):
                # Arrow ends a batch early where a dictionary ends.
                batches.append(batch)
                while left and sum(map(len, batches)) >= min(self._step, left):
                    table = pa.Table.from_batches(batches)
                    yield table.slice(0, self._step)
                    left -= min(self._step, left)
                    batches = table.slice(self._step).to_batches()


@dataclass
class _ParquetPartition(TablePartition):
    """Complete row groups, or a slice of one: ``step`` rows, as the ``number``-th of them."""

    opened: _ParquetFile
    groups: range
    step: int = 0
    number: int = 0

    def decoded(self, names: Sequence[str] | None) -> pa.Table:
        columns = None if names is None else self.opened.physical(names)
        try:
            if columns is not None and self._at_once(columns):
                part = self.opened.columns(self.groups.start, columns)
                table = _plain_strings(
                    part.slice(self.step * self.number, self.step), self.opened.schema
                )
            elif self.step:
                table = self.opened.slice(self.groups.start, self.step, self.number, columns)
            else:
                table = self.opened.groups(self.groups, columns)
            for column in table.columns:
                if "dictionary" in str(column.type):  # Arrow takes the indices as they are
                    for chunk in column.chunks:
                        check_arrays(chunk)
        except InputError:  # one of them is an OSError as well
            raise
        except DAMAGE as error:
            raise damaged(self.name, "Parquet", error) from error
        return plain_types(table)

    def schema(self) -> pa.Schema:
        return self.opened.schema

    def sequence(self, cached: Cached = None) -> Hashable:
        there = self._there(cached)
        missing = tuple(name for name in self.schema().names if name not in there)
        return None if not self.step or self._at_once(missing) else (self.file, self.groups.start)

    def _at_once(self, names: tuple[str, ...]) -> bool:
        """Return whether these columns of its row group are decoded at once, and are no texts."""
        if not self.step or set(names) & {*self.opened.physical(self.columns.text)}:
            return False
        return self.opened.is_small(self.groups.start, names)


def cut(
    index: int, file: SourceFile, columns: Columns, partition_bytes: int
) -> Iterator[TablePartition]:
    if file.size == 0:
        return
    opened = _ParquetFile(file, member_limit(file, columns))
    check_schema(file.path, opened.schema, columns)
    start = first = done = 0
    groups = [opened.metadata.row_group(i) for i in range(opened.metadata.num_row_groups)]
    total = max(1, sum(group.total_byte_size for group in groups))
    for together, size in _together(
        _decoded_sizes(opened, columns, partition_bytes), partition_bytes
    ):
        rows = sum(groups[i].num_rows for i in together)
        before, done = done, done + sum(groups[i].total_byte_size for i in together)
        if not rows:
            continue
        is_large = size > TUNING.sliced_partitions * partition_bytes
        step = max(1, rows * partition_bytes // size) if is_large else rows
        for number in range(-(-rows // step)):
            share = (before + (done - before) * min(1, (number + 1) * step / rows)) / total
            end = opened.size if share == 1 else int(opened.size * share)
            yield _ParquetPartition(
                index, start, end - start, first, file.path, columns, opened, together,
                step if step < rows else 0, number,
            )  # fmt: skip
            start = end
            first += min(step, rows - number * step)


def _together(sizes: Iterator[int], most: int) -> Iterator[tuple[range, int]]:
    """Row groups that are decoded at once, and their size: at most ``most`` bytes, or one."""
    first = end = total = 0
    for size in sizes:
        if end > first and total + size > most:
            yield range(first, end), total
            first, total = end, 0
        end, total = end + 1, total + size
    if end > first:
        yield range(first, end), total


def _decoded_sizes(opened: _ParquetFile, columns: Columns, partition_bytes: int) -> Iterator[int]:
    """Bytes of each row group in memory, about.

    Of a column with a dictionary, the size that the file notes is that of the encoded values: a
    file of 40 kB can contain 500 MB of text. Its indices are read for the size of the values.
    """
    about, schema = opened.metadata, opened.schema
    strings = [n for n in schema.names if "." not in n and _kind(schema.field(n).type) in _STRINGS]
    if len(strings) > _LOOKED_AT:
        strings = [name for name in strings if name in columns.required]
    leaves = _leaves(about)
    strings = [name for name in strings if name in leaves]
    nested = [n for n in opened.physical(columns.text) if n in leaves and n not in schema.names]
    try:
        with opened.opened(strings) as reader:
            for number in range(about.num_row_groups):
                group = about.row_group(number)
                size = max(group.total_byte_size, _ROW_BYTES * group.num_rows)
                seen = _first_row(opened, reader, number, strings)
                for name in strings:
                    chunk = group.column(leaves[name])
                    if _is_longer(chunk, opened.plain):
                        size += _measured_bytes(opened, number, name)
                    elif chunk.has_dictionary_page:
                        first = seen and seen.column(seen.schema.names.index(name))
                        size += _repeated_bytes(reader, number, name, first, size, partition_bytes)
                if nested:
                    _look(reader, number, nested)
                for name in nested:
                    if group.column(leaves[name]).has_dictionary_page:
                        size += _measured_bytes(opened, number, name)
                yield size
    except (*DAMAGE, IndexError) as error:
        raise damaged(opened.file.path, "Parquet", error) from error


def _kind(type: Any) -> str:
    return str(type.value_type if pa.types.is_dictionary(type) else type)


def _first_row(
    opened: _ParquetFile, reader: pq.ParquetFile, group: int, names: Sequence[str]
) -> pa.RecordBatch | None:
    """Return the first row of a row group, with dictionaries unless a column has none for Arrow."""
    try:
        return _look(reader, group, names)
    except DAMAGE:
        with opened.opened() as plain:
            _look(plain, group, names)
    leaves, about = _leaves(reader.metadata), reader.metadata.row_group(group)
    others = [n for n in names if not _DELTA & {*about.column(leaves[n]).encodings}]
    return _look(reader, group, others)


def _measured_bytes(opened: _ParquetFile, group: int, name: str) -> int:
    """Bytes of the values of a column, which are decoded a few at a time."""
    with opened.opened() as reader:
        batches = reader.iter_batches(
            _MEASURED_ROWS, row_groups=[group], columns=[name], use_threads=False
        )
        return sum(map(bytes_of, batches))


def _paths(about: pq.FileMetaData) -> list[str]:
    return [about.schema.column(i).path for i in range(about.num_columns)]


def _leaves(about: pq.FileMetaData) -> dict[str, int]:
    return {path: i for i, path in enumerate(_paths(about))}


def _look(reader: pq.ParquetFile, group: int, names: Sequence[str]) -> pa.RecordBatch | None:
    """Return the first row of a row group; refuse columns whose metadata contradict one another.

    To ask for these notes without a reader would end the process.
    """
    batches = reader.iter_batches(1, row_groups=[group], columns=list(names), use_threads=False)
    return next(batches, None)


def _lengths(strings: Any) -> np.ndarray:
    """Return int[n]: the bytes of each of some strings that are no slice."""
    size = np.int64 if "large" in str(strings.type) else np.int32
    return np.diff(np.frombuffer(strings.buffers()[1], size)[: len(strings) + 1])


def _repeated_bytes(
    reader: pq.ParquetFile,
    group: int,
    name: str,
    first: Any,
    size: int,
    partition_bytes: int,
) -> int:
    """Bytes of the values that are indices into the dictionary of a column.

    Where no value would make a partition too large if all rows had it, their mean counts; where
    the row group is decoded at once even if all rows had the longest, that counts. Else the
    indices are read.

    Args:
        reader: Of the file; gives strings with their dictionary.
        group: The row group.
        name: The column.
        first: Its first row; None without rows.
        size: Bytes of the row group by its notes.
        partition_bytes: Bytes of a partition, about.
    """
    if first is None or not pa.types.is_dictionary(first.type) or not len(first.dictionary):
        return 0
    rows = reader.metadata.row_group(group).num_rows
    known = len(first.dictionary)
    lengths = _lengths(first.dictionary)
    if lengths.max() <= partition_bytes // max(1, rows):
        return int(lengths.mean() * rows)
    most = int(lengths.max()) * rows
    if size + most <= TUNING.sliced_partitions * partition_bytes:
        return most

    def columns(size: int) -> Iterator[Any]:
        for batch in reader.iter_batches(
            size, row_groups=[group], columns=[name], use_threads=False
        ):
            yield batch.column(0)

    def total(size: int, most: int) -> tuple[int, bool, bool]:
        """Return the bytes of the indices of so many rows, if values follow, and if all count."""
        found = seen = 0
        for column in columns(size):
            if not pa.types.is_dictionary(column.type):
                return found, True, False
            if not np.array_equal(_lengths(column.dictionary)[:known], lengths):
                return found, True, False
            indices = numbers(column.indices.drop_null())
            found += int(lengths[indices[indices < known]].sum())
            if len(column.dictionary) != known:
                # From here on values are no indices, and their size is the encoded one.
                return found, True, True
            seen += len(column)
            if seen >= most:
                break
        return found, False, True

    # Each batch copies the dictionary; where values are no indices, it has all their bytes. Where
    # values hardly repeat, the dictionary ends after about as many rows as it has values.
    if 2 * known < rows:
        found, ended, is_all = total(max(_LOOK_ROWS, known // 4), 2 * known)
        if ended and is_all:
            return found
    chunk = reader.metadata.row_group(group).column(_leaves(reader.metadata)[name])
    if chunk.total_uncompressed_size - int(lengths.sum()) <= TUNING.looked_up_bytes:
        # Few values, if any, are no indices.
        found, _, is_all = total(min(rows, _INDICES), rows)
        if is_all:
            return found
    about = TUNING.looked_up_bytes // max(1, int(lengths.mean()))
    found, _, is_all = total(max(_LOOK_ROWS, min(about, _MOST_ROWS)), rows)
    return found if is_all else total(max(_LOOK_ROWS, known // 4), rows)[0]


def layout(file: SourceFile, columns: Columns) -> Layout:
    """How the rows of a file are written: with its schema, metadata and codec."""
    if file.size == 0:
        return Layout("parquet", "zstd", b"", strings_schema(columns.required), columns.text)
    opened = _ParquetFile(file, member_limit(file, columns))
    codec, about, name = "", opened.metadata, (*columns.text, "")[0]
    if about.num_row_groups and name in (leaves := _leaves(about)):
        try:
            with opened.opened() as reader:
                _look(reader, 0, [name])
        except DAMAGE as error:
            raise damaged(file.path, "Parquet", error) from error
        codec = about.row_group(0).column(leaves[name]).compression
    compression = _CODECS.get(codec, "zstd")
    return Layout("parquet", compression, b"", opened.schema, columns.text, views=opened.views)
