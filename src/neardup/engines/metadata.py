"""Per-document metadata: what is kept of each document besides its band keys.

That of a partition goes into the store as bytes, next to the keys, so that it can be read again
whatever happens to the process. `Corpus` is the metadata of all partitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of, numbers
from neardup.engines.memory import Scratch
from neardup.errors import ColumnError, StoreError
from neardup.io.source import Documents, Partition
from neardup.sketch.sketcher import BITMAP_WORDS, Sketches
from neardup.sketch.texts import text_buffers
from neardup.stages.batches import binary_of, words

_ABOUT = b"neardup"
_LENGTH = "neardup.length"


class PartitionMetadata(NamedTuple):
    """What is kept of a partition.

    Attributes:
        file: Number of its file; -1 where there are no files.
        start: Bytes of the file before it.
        size: Bytes of the source that it stands for.
        text: Bytes of its texts.
        replaced: Documents whose text was not UTF-8 and was repaired.
        schema: Schema of all columns, as bytes; empty where nobody asked for it.
        hashes: uint64[n, 2]: of the token sequences.
        tokens: int32[n]: number of tokens.
        shingles: int32[n]: number of shingles, repetitions included.
        bitmaps: uint64[n, 4]: see `neardup.sketch.sketcher.Sketches`.
        lengths: int32[n]: characters of text; empty unless the longest is kept.
        columns: The columns that the run itself needs: ids, and what decides what is kept.
    """

    file: int
    start: int
    size: int
    text: int
    replaced: int
    schema: bytes
    hashes: np.ndarray
    tokens: np.ndarray
    shingles: np.ndarray
    bitmaps: np.ndarray
    lengths: np.ndarray
    columns: pa.Table

    @property
    def documents(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Needs:
    """What a run needs of each partition.

    Attributes:
        columns: Columns besides the text.
        measure: Whether to count the characters of each text.
        schema: Whether to find the types of all columns, for another format.
    """

    columns: tuple[str, ...] = ()
    measure: bool = False
    schema: bool = False


def about_partition(
    partition: Partition, documents: Documents, sketches: Sketches, needs: Needs
) -> PartitionMetadata:
    """Return what is kept of a partition.

    Args:
        partition: The partition.
        documents: What was read of it.
        sketches: What was made of that.
        needs: What the run needs.
    """
    lengths = np.empty(0, dtype=np.int32)
    if needs.measure:
        lengths = numbers(pc.utf8_length(documents.text), np.int32)
    there = [name for name in needs.columns if name in documents.columns.column_names]
    return PartitionMetadata(
        file=partition.file,
        start=partition.start,
        size=partition.size,
        text=int(text_buffers(documents.text)[1][-1]),
        replaced=documents.replaced,
        schema=partition.schema().serialize().to_pybytes() if needs.schema else b"",
        hashes=sketches.hashes,
        tokens=sketches.tokens,
        shingles=sketches.shingles,
        bitmaps=sketches.bitmaps,
        lengths=lengths,
        columns=documents.columns.select(there).combine_chunks(),
    )


def pack(found: PartitionMetadata) -> bytes:
    """Return the metadata of a partition as bytes: one Arrow IPC stream."""
    columns: dict[str, Any] = {
        "neardup.hash": binary_of(found.hashes),
        "neardup.tokens": array_of(found.tokens),
        "neardup.shingles": array_of(found.shingles),
        "neardup.bitmap": binary_of(found.bitmaps),
    }
    if len(found.lengths):
        columns[_LENGTH] = array_of(found.lengths)
    about = {name: getattr(found, name) for name in ("file", "start", "size", "text", "replaced")}
    columns.update({name: found.columns[name] for name in found.columns.column_names})
    table = pa.table(columns)
    metadata = {_ABOUT: json.dumps(about).encode(), b"schema": found.schema}
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata(metadata)) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def unpack(data: bytes, where: str) -> PartitionMetadata:
    """Return what `pack` packed.

    Args:
        data: The bytes.
        where: For messages.

    Raises:
        StoreError: They are something else.
    """
    try:
        table = pa.ipc.open_stream(data).read_all().combine_chunks()
        metadata = table.schema.metadata or {}
        about: dict[str, int] = json.loads(metadata[_ABOUT])
        own = [name for name in table.column_names if not name.startswith("neardup.")]

        def column(name: str) -> Any:
            found: Any = table.column(name)
            return found.chunk(0) if found.num_chunks else pa.array([], found.type)

        lengths = _LENGTH in table.column_names
        return PartitionMetadata(
            **about,
            schema=metadata[b"schema"],
            hashes=words(column("neardup.hash")),
            tokens=numbers(column("neardup.tokens")),
            shingles=numbers(column("neardup.shingles")),
            bitmaps=words(column("neardup.bitmap")),
            lengths=numbers(column(_LENGTH)) if lengths else np.empty(0, np.int32),
            columns=table.select(own),
        )
    except (KeyError, ValueError, TypeError, OSError, pa.ArrowException) as error:
        raise StoreError(f"{where}: the metadata of a partition is damaged") from error


class Corpus(NamedTuple):
    """The metadata of all documents, by position in the input.

    Attributes:
        hashes: uint64[documents, 2].
        tokens: int32[documents].
        shingles: int32[documents].
        bitmaps: uint64[documents, 4].
        lengths: int32[documents]; empty unless the longest is kept.
        columns: The columns that the run itself needs.
        ends: int64[partitions]: documents up to the end of each partition.
        places: (file, start, size) of each partition.
        text: Bytes of all texts.
        schemas: Distinct schemas of all columns, in order of appearance; none where nobody asked.
        replaced: Documents whose text was repaired.
    """

    hashes: np.ndarray
    tokens: np.ndarray
    shingles: np.ndarray
    bitmaps: np.ndarray
    lengths: np.ndarray
    columns: pa.Table
    ends: np.ndarray
    places: list[tuple[int, int, int]]
    text: int
    schemas: list[pa.Schema]
    replaced: int

    @property
    def documents(self) -> int:
        return len(self.tokens)

    def limits(self, partition: int) -> tuple[int, int]:
        """Return (first position, position after the last) of the documents of a partition."""
        return int(self.ends[partition - 1]) if partition else 0, int(self.ends[partition])

    def place(self, position: int) -> tuple[int, int]:
        """Return (file, row in it) of a document."""
        partition = int(np.searchsorted(self.ends, position, side="right"))
        file = self.places[partition][0]
        first = partition
        while first and self.places[first - 1][0] == file:
            first -= 1
        return file, position - self.limits(first)[0]


def gather(parts: Iterable[PartitionMetadata], documents: int, scratch: Scratch) -> Corpus:
    """Put the metadata of all partitions one behind the other.

    Args:
        parts: In order.
        documents: Of all partitions.
        scratch: Where arrays go.

    Raises:
        ColumnError: A column has no type that fits all partitions.
        StoreError: There are more or fewer documents.
    """
    hashes = scratch.empty((documents, 2), np.uint64)
    tokens = scratch.empty(documents, np.int32)
    shingles = scratch.empty(documents, np.int32)
    bitmaps = scratch.empty((documents, BITMAP_WORDS), np.uint64)
    lengths = np.empty(0, np.int32)
    ends: list[int] = []
    places: list[tuple[int, int, int]] = []
    schemas: dict[bytes, pa.Schema] = {}
    tables: list[pa.Table] = []
    replaced = text = at = measured = 0
    for part in parts:
        end = at + part.documents
        if end > documents:
            raise StoreError("the store has more documents than it says")
        hashes[at:end], tokens[at:end] = part.hashes, part.tokens
        shingles[at:end], bitmaps[at:end] = part.shingles, part.bitmaps
        if len(part.lengths):
            if not len(lengths):
                lengths = scratch.zeros(documents, np.int32)
            lengths[at:end] = part.lengths
            measured += len(part.lengths)
        if part.schema and part.schema not in schemas:
            schemas[part.schema] = pa.ipc.read_schema(pa.py_buffer(part.schema))
        tables.append(part.columns)
        ends.append(end)
        places.append((part.file, part.start, part.size))
        replaced += part.replaced
        text += part.text
        at = end
    if at != documents:
        raise StoreError("the store has fewer documents than it says")
    return Corpus(
        hashes,
        tokens,
        shingles,
        bitmaps,
        lengths if measured == documents else lengths[:0],  # of some shards only
        _joined(tables),
        np.array(ends, dtype=np.int64),
        places,
        text,
        list(schemas.values()),
        replaced,
    )


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Join the tables of all partitions; each column in a type that fits all of them."""
    if not tables:
        return pa.table({})
    try:
        return pa.concat_tables(tables)
    except pa.ArrowInvalid:
        pass
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    columns: dict[str, Any] = {}
    for name in names:
        kinds = [t.schema.field(name).type for t in tables if name in t.column_names]
        kind: Any = _common_type(name, kinds)
        chunks: Any = [
            chunk
            for t in tables
            for chunk in (
                t.column(name).cast(kind).chunks
                if name in t.column_names
                else [pa.nulls(t.num_rows, kind)]
            )
        ]
        columns[name] = pa.chunked_array(chunks, kind)
    return pa.table(columns)


def _common_type(name: str, kinds: list[pa.DataType]) -> pa.DataType:
    schemas = [pa.schema([pa.field(name, kind)]) for kind in kinds]
    try:
        unified: Any = pa.unify_schemas(schemas, promote_options="permissive").field(0)
        return cast(pa.DataType, unified.type)
    except pa.ArrowException:
        pass
    # Numbers and strings in one column: all of them as strings.
    simple = pa.types
    if all(simple.is_integer(k) or simple.is_large_string(k) or simple.is_null(k) for k in kinds):
        return pa.large_string()
    raise ColumnError(
        f"column {name!r} has no type that fits all of the input: "
        + ", ".join(sorted({str(kind) for kind in kinds})),
        "convert the column to one type",
    )
