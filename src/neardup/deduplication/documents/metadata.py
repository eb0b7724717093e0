"""Per-document metadata: the values stored for each document besides its band keys."""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import (
    array_of,
    binary_of,
    buffer_of,
    is_text,
    nulls_if_empty,
    numbers,
    words,
)
from neardup.deduplication.job import Job
from neardup.errors import ColumnError, StoreError
from neardup.files.scratch import Scratch, Slabs
from neardup.io.formats.column_paths import type_at
from neardup.io.source import Documents, Partition, Skipped
from neardup.sketch.document_groups import groups_of
from neardup.sketch.sketcher import BITMAP_WORDS, Sketches
from neardup.sketch.texts import text_buffers

_ABOUT = b"neardup"
_CONTENT = "neardup.content"
_COLUMNS = ["neardup.hash", _CONTENT, "neardup.tokens", "neardup.shingles", "neardup.bitmap"]


class PartitionMetadata(NamedTuple):
    """Metadata of a partition; in the store as one Arrow IPC stream, next to the keys."""

    file: int  # number of its file; -1 where there are no files
    start: int  # bytes of the file before it
    size: int  # bytes of the source that it comes from
    text: int  # bytes of its texts
    replaced: int  # documents whose text was not UTF-8 and was repaired
    skipped: Skipped
    missing: int  # documents without text
    #: Of each document: the arrays of `Sketches` but the keys; its characters if the longest is
    #: kept; and the columns that the run itself needs, such as ids.
    table: pa.Table

    def pack(self) -> bytes:
        about = {name: getattr(self, name) for name in self._fields[:7]}
        schema = self.table.schema.with_metadata({_ABOUT: json.dumps(about).encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            stream.write_table(self.table)
        return sink.getvalue().to_pybytes()

    @classmethod
    def unpack(cls, data: bytes | memoryview, where: str) -> "PartitionMetadata":
        """Return the metadata that `pack` packed; StoreError, about ``where``, for other bytes."""
        try:
            table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
            table.select(_COLUMNS)
            about: dict[str, Any] = json.loads((table.schema.metadata or {})[_ABOUT])
            about["skipped"] = Skipped.of(about["skipped"])
            return cls(**about, table=table.replace_schema_metadata())
        except (KeyError, ValueError, TypeError, OSError, pa.ArrowException) as error:
            raise StoreError(f"{where}: the metadata of a partition is damaged") from error


def about_partition(
    job: Job, partition: Partition, documents: Documents, sketches: Sketches
) -> PartitionMetadata:
    columns: dict[str, Any] = {
        "neardup.hash": binary_of(sketches.hashes),
        _CONTENT: array_of(sketches.contents),
        "neardup.tokens": array_of(sketches.tokens),
        "neardup.shingles": array_of(sketches.shingles),
        "neardup.bitmap": binary_of(sketches.bitmaps),
    }
    for name in documents.columns.column_names:
        columns[name] = documents.columns.column(name)
    return PartitionMetadata(
        file=partition.file,
        start=partition.start,
        size=partition.size,
        text=int(text_buffers(documents.text)[1][-1]),
        replaced=documents.replaced,
        skipped=documents.skipped,
        missing=documents.missing,
        table=pa.table(columns).combine_chunks(),
    )


class CorpusMetadata(NamedTuple):
    """The metadata of all documents, by position in the input; see `Sketches`."""

    hashes: np.ndarray  # uint64[documents, 2]
    contents: np.ndarray  # uint64[documents]
    tokens: np.ndarray  # int32[documents]
    shingles: np.ndarray  # int32[documents]
    bitmaps: np.ndarray  # uint64[documents, 4]
    columns: pa.Table  # that the run itself needs, see `gather`; characters if the longest is kept
    ends: np.ndarray  # int64[partitions]: documents up to the end of each
    partitions: list[tuple[int, int, int]]  # (file, start, size) of each partition
    text: int  # bytes of all texts
    replaced: int  # documents whose text was repaired
    skipped: list[Skipped]  # of each partition
    missing: list[int]  # of each partition, documents without text
    old_columns: pa.Table | None = None  # columns of the documents of an old corpus

    @property
    def documents(self) -> int:
        return len(self.tokens)

    def groups(self, name: str, scratch: Scratch) -> np.ndarray:
        """Return uint64[documents]: the group of each by a column, see `groups_of`."""
        found, end = scratch.empty(self.documents, np.uint64), 0
        for table in (self.old_columns, self.columns):
            for chunk in [] if table is None else table.column(name).chunks:
                found[end : end + len(chunk)] = groups_of(chunk, name)
                end += len(chunk)
        return found

    def limits(self, partition: int) -> tuple[int, int]:
        """Return (first position, position after the last) of the documents of a partition."""
        return int(self.ends[partition - 1]) if partition else 0, int(self.ends[partition])

    def records_of(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the file of some documents, int32[], and their rows in it."""
        files = np.array([file for file, _, _ in self.partitions], dtype=np.int32)
        starts = np.append(0, self.ends)[np.searchsorted(files, files)]
        partitions = np.searchsorted(self.ends, positions, side="right")
        return files[partitions], positions - starts[partitions]


def gather(
    parts: Iterable[PartitionMetadata], documents: int, scratch: Scratch, old: int = 0
) -> CorpusMetadata:
    """Concatenate the metadata of all partitions, in their order.

    The first partitions may be those of an ``old`` corpus, so many, whose columns are other ones.

    Raises:
        StoreError: The store has more or fewer documents than it says.
    """
    slabs = Slabs(scratch.empty)
    hashes = scratch.empty((documents, 2), np.uint64)
    contents = scratch.empty(documents, np.uint64)
    tokens, shingles = (scratch.empty(documents, np.int32) for _ in range(2))
    bitmaps = scratch.empty((documents, BITMAP_WORDS), np.uint64)
    ends: list[int] = []
    about: list[PartitionMetadata] = []
    end = 0
    for part in parts:
        for batch in part.table.to_batches():
            at, end = end, end + len(batch)
            if end > documents:
                raise StoreError("the store has more documents than it says")
            hashes[at:end] = words(batch.column("neardup.hash"))
            contents[at:end] = numbers(batch.column(_CONTENT))
            tokens[at:end] = numbers(batch.column("neardup.tokens"))
            shingles[at:end] = numbers(batch.column("neardup.shingles"))
            bitmaps[at:end] = words(batch.column("neardup.bitmap"))
        ends.append(end)
        about.append(part._replace(table=_copied(part.table.drop(_COLUMNS), slabs)))
    if end != documents:
        raise StoreError("the store has fewer documents than it says")
    return CorpusMetadata(
        hashes,
        contents,
        tokens,
        shingles,
        bitmaps,
        joined([part.table for part in about[old:]]),
        np.array(ends, dtype=np.int64),
        [(part.file, part.start, part.size) for part in about],
        sum(part.text for part in about),
        sum(part.replaced for part in about),
        [part.skipped for part in about],
        [part.missing for part in about],
        joined([part.table for part in about[:old]]) if old else None,
    )


def no_rows(job: Job) -> pa.Table:
    """Return the columns that a run needs, of an input without documents, with known types."""
    schema = job.source.schema() or pa.schema([])
    types = {name: type_at(schema, name) or pa.null() for name in job.needed}
    columns: dict[str, Any] = {name: pa.nulls(0, kind) for name, kind in types.items()}
    return pa.table(columns)


def _copied(table: pa.Table, slabs: Slabs) -> pa.Table:
    """Return a copy: a table may be a few columns of a large buffer, which it would keep alive."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return pa.ipc.open_stream(buffer_of(slabs.copy(sink.getvalue()))).read_all()


def joined(tables: list[pa.Table]) -> pa.Table:
    """Join the tables of all partitions; each column in a type that fits all of them."""
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    columns: dict[str, Any] = {name: _joined_column(name, tables) for name in names}
    return pa.table(columns)


def _joined_column(name: str, tables: list[pa.Table]) -> "pa.ChunkedArray[Any]":
    def values(table: pa.Table) -> Any:
        return table[name] if name in table.column_names else pa.nulls(len(table))

    parts = [pa.table({name: values(table)}) for table in tables]
    with suppress(pa.ArrowException):
        return pa.concat_tables(parts, promote_options="permissive").column(0)
    # Files without a value may have any type: nulls of DuckDB are integers, NaN is a float.
    parts = [pa.table({name: nulls_if_empty(part.column(0))}) for part in parts]
    with suppress(pa.ArrowException):
        return pa.concat_tables(parts, promote_options="permissive").column(0)
    kinds = {part.schema.field(0).type for part in parts}
    # Numbers and strings in one column: all of them as strings.
    simple = pa.types
    if all(simple.is_integer(k) or is_text(k) or simple.is_null(k) for k in kinds):
        strings = pa.schema([pa.field(name, pa.large_string())])
        return pa.concat_tables([part.cast(strings) for part in parts]).column(0)
    raise ColumnError(
        f"column {name!r} has no type that fits all of the input: "
        + ", ".join(sorted(map(str, kinds))),
        "convert the column to one type",
    )
