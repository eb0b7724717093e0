"""What is known of each document once it is signed, and where it is kept till it is needed.

A chunk becomes `ChunkFacts`. Those of a part go into the store as bytes, beside the keys, so that
every part can be found again whatever happens to the process. `Facts` are those of all parts.
"""

from __future__ import annotations

import base64
import io
import json
import mmap
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.core.space import Space
from neardup.corpus import conform, unify
from neardup.errors import StoreError
from neardup.run.folder import disk_errors

__all__ = ["ChunkFacts", "Column", "Facts", "gather", "pack", "unpack"]

_HASHES = ("sequence_hashes", "byte_hashes")
_COUNTS = ("tokens", "shingles", "lengths", "characters")


@dataclass(slots=True)
class ChunkFacts:
    """What is kept of a chunk.

    Attributes:
        size: Bytes of the source that it stands for.
        schema: Of its columns.
        columns: Those columns that the run itself needs: ids, and what is kept by.
        replaced: Documents whose text was not UTF-8 and was repaired.
        origin: The file, for messages; empty where there is none.
        sequence_hashes: uint64[documents, 2], of the tokens.
        byte_hashes: uint64[documents], of the text as it was.
        tokens: int32[documents], number of tokens.
        shingles: int32[documents], number of shingles, repetitions included.
        lengths: int32[documents], bytes of text.
        characters: int32[documents], characters of text; empty unless the longest is kept.
    """

    size: int
    schema: Any
    columns: Any
    replaced: int
    origin: str
    sequence_hashes: np.ndarray
    byte_hashes: np.ndarray
    tokens: np.ndarray
    shingles: np.ndarray
    lengths: np.ndarray
    characters: np.ndarray

    @property
    def documents(self) -> int:
        return len(self.tokens)


def pack(chunks: Sequence[ChunkFacts]) -> bytes:
    """Return the facts of a part as bytes."""
    schemas: dict[bytes, int] = {}
    about = [
        {
            "documents": c.documents,
            "size": c.size,
            "replaced": c.replaced,
            "origin": c.origin,
            "schema": schemas.setdefault(c.schema.serialize().to_pybytes(), len(schemas)),
        }
        for c in chunks
    ]
    head = {"chunks": about, "schemas": [base64.b64encode(s).decode() for s in schemas]}
    arrays = {
        name: np.concatenate([getattr(c, name) for c in chunks]) for name in (*_HASHES, *_COUNTS)
    }
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    for i, chunk in enumerate(chunks):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, chunk.columns.schema) as stream:
            stream.write_table(chunk.columns)
        arrays[f"columns{i}"] = np.frombuffer(sink.getvalue(), dtype=np.uint8)
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **arrays)
    return out.getvalue()


def unpack(data: bytes, where: str) -> list[ChunkFacts]:
    """Return what `pack` packed.

    Args:
        data: The bytes.
        where: For messages.

    Raises:
        StoreError: They are something else.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            head = json.loads(arrays["head"].tobytes())
            schemas = [
                pa.ipc.read_schema(pa.py_buffer(base64.b64decode(s))) for s in head["schemas"]
            ]
            whole = {name: arrays[name] for name in (*_HASHES, *_COUNTS)}
            chunks = []
            first = 0
            for i, about in enumerate(head["chunks"]):
                last = first + about["documents"]
                chunks.append(
                    ChunkFacts(
                        size=about["size"],
                        schema=schemas[about["schema"]],
                        columns=pa.ipc.open_stream(pa.py_buffer(arrays[f"columns{i}"])).read_all(),
                        replaced=about["replaced"],
                        origin=about["origin"],
                        **{name: array[first:last] for name, array in whole.items()},
                    )
                )
                first = last
            return chunks
    except (KeyError, ValueError, OSError, pa.ArrowException) as error:
        raise StoreError(f"{where}: what it holds of the documents is damaged") from error


@dataclass(slots=True)
class Column:
    """A column of all documents, chunk by chunk, in memory or in a mapped file."""

    type: Any
    chunks: list[Any]
    starts: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.starts = np.cumsum([0, *(len(c) for c in self.chunks)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, positions: np.ndarray) -> Any:
        """Return the values at some positions, as one Arrow array.

        Args:
            positions: int[], in any order; -1 gives null.
        """
        # Chunk by chunk: Arrow would join all chunks of strings first.
        order = np.argsort(positions, kind="stable")
        ordered = positions[order]
        nulls = int(np.searchsorted(ordered, 0))
        parts = [pa.nulls(nulls, self.type)]
        ends = np.searchsorted(ordered, self.starts[1:])
        low = nulls
        for chunk, start, high in zip(self.chunks, self.starts, ends.tolist(), strict=False):
            if high > low:
                parts.append(chunk.take(pa.array(ordered[low:high] - start)))
            low = high
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_arrays(parts).take(pa.array(back))

    def slice(self, first: int, last: int) -> Any:
        """Return a run of values as one Arrow array."""
        low = int(np.searchsorted(self.starts, first, side="right")) - 1
        parts = [pa.nulls(0, self.type)]
        while low < len(self.chunks) and self.starts[low] < last:
            start = int(self.starts[low])
            parts.append(self.chunks[low][max(0, first - start) : last - start])
            low += 1
        return pa.concat_arrays(parts)


@dataclass(slots=True)
class Facts:
    """The facts of all documents, by position. Arrays may lie in mapped files.

    Attributes:
        documents: How many.
        sequence_hashes, byte_hashes, tokens, shingles, lengths, characters: As in `ChunkFacts`.
        ends: int64[chunks]: where the documents of each chunk end.
        sizes: int64[chunks]: bytes of the source that each chunk stands for.
        schemas: Distinct schemas of the chunks, in order of appearance.
        origins: The file of each chunk.
        columns: By name; those of `ChunkFacts.columns`.
        replaced: Documents whose text was repaired.
    """

    documents: int
    sequence_hashes: np.ndarray
    byte_hashes: np.ndarray
    tokens: np.ndarray
    shingles: np.ndarray
    lengths: np.ndarray
    characters: np.ndarray
    ends: np.ndarray
    sizes: np.ndarray
    schemas: list[Any]
    origins: list[str]
    columns: dict[str, Column]
    replaced: int

    @property
    def size(self) -> int:
        """Bytes of the source."""
        return int(self.sizes.sum())

    def forget_hashes(self) -> None:
        """Give up the hashes, once equal documents are known."""
        self.sequence_hashes = np.empty((0, 2), dtype=np.uint64)
        self.byte_hashes = np.empty(0, dtype=np.uint64)

    def chunk_rows(self, chunk: int) -> tuple[int, int]:
        """Return (first position, position after the last) of the documents of a chunk."""
        return int(self.ends[chunk - 1]) if chunk else 0, int(self.ends[chunk])

    def place(self, doc: int) -> tuple[str, str]:
        """Return the file of a document and its number in it, as messages name them."""
        chunk = int(np.searchsorted(self.ends, doc, side="right"))
        origin = self.origins[chunk]
        first = chunk
        while first > 0 and self.origins[first - 1] == origin:
            first -= 1
        number = doc - self.chunk_rows(first)[0] + 1
        return (f"{origin}: ", f"record {number}") if origin else ("", f"document {number}")


def gather(
    parts: Iterable[bytes], documents: int, where: str, space: Space, folder: Path | None
) -> Facts:
    """Put the facts of all parts one behind the other.

    Args:
        parts: As packed, in order; one is held at a time.
        documents: Of all parts.
        where: The store, for messages.
        space: Where arrays go.
        folder: Where columns go that are too large for memory; None for the system's folder.

    Raises:
        StoreError: The facts are damaged.
    """
    arrays = {
        "sequence_hashes": space.empty((documents, 2), np.uint64),
        "byte_hashes": space.empty(documents, np.uint64),
        **{name: space.empty(documents, np.int32) for name in _COUNTS[:-1]},
    }
    # Only where the longest is kept there is anything in it.
    characters: np.ndarray | None = None
    ends: list[int] = []
    sizes: list[int] = []
    origins: list[str] = []
    # Schemas and columns in order of appearance, each once.
    schemas: dict[bytes, Any] = {}
    replaced = at = 0
    spill = _Spill(space, folder)
    for data in parts:
        for chunk in unpack(data, where):
            end = at + chunk.documents
            if end > documents:
                raise StoreError(f"{where}: has more documents than it says")
            for name, array in arrays.items():
                array[at:end] = getattr(chunk, name)
            if len(chunk.characters):
                if characters is None:
                    characters = space.empty(documents, np.int32)
                characters[at:end] = chunk.characters
            at = end
            ends.append(end)
            origins.append(chunk.origin)
            schemas.setdefault(chunk.schema.serialize().to_pybytes(), chunk.schema)
            spill.keep(chunk.columns)
            replaced += chunk.replaced
            sizes.append(chunk.size)
    if at != documents:
        raise StoreError(f"{where}: has fewer documents than it says")
    return Facts(
        documents,
        **arrays,
        characters=np.empty(0, np.int32) if characters is None else characters,
        ends=np.array(ends, dtype=np.int64),
        sizes=np.array(sizes, dtype=np.int64),
        schemas=list(schemas.values()),
        origins=origins,
        columns=_columns(spill.tables()),
        replaced=replaced,
    )


def _columns(tables: list[Any]) -> dict[str, Column]:
    """Join tables of a few columns, chunk by chunk, each column in one type."""
    names = dict.fromkeys(name for t in tables for name in t.column_names)
    found = {}
    for name in names:
        type = unify(t.select([name]).schema for t in tables if name in t.column_names).field(name)
        schema = pa.schema([type])
        found[name] = Column(
            type.type,
            [
                _one_array(conform(t.select([name]), schema).column(0))
                if name in t.column_names
                else pa.nulls(t.num_rows, type.type)
                for t in tables
            ],
        )
    return found


def _one_array(column: Any) -> Any:
    return (
        column.chunk(0)
        if column.num_chunks == 1
        else pa.concat_arrays([pa.nulls(0, column.type), *column.chunks])
    )


class _Spill:
    """Tables in memory while there is room, then in a file that is mapped at the end.

    Args:
        space: Which says how much room there is.
        folder: Where the file goes.
    """

    def __init__(self, space: Space, folder: Path | None) -> None:
        self._space = space
        self._folder = folder or Path(tempfile.gettempdir())
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._tables: list[Any] = []  # a table, or where it begins in the file

    def keep(self, table: Any) -> None:
        if self._space.claim(table.nbytes):
            self._tables.append(table)
            return
        with disk_errors(self._folder):
            self._write(table)

    def _write(self, table: Any) -> None:
        self._tables.append(self._file.tell())
        with pa.ipc.new_stream(pa.PythonFile(self._file, "w"), table.schema) as stream:
            stream.write_table(table)

    def tables(self) -> list[Any]:
        with disk_errors(self._folder):
            self._file.flush()
        with self._file as file:
            if not file.tell():
                return self._tables
            whole = pa.py_buffer(mmap.mmap(file.fileno(), 0))
            return [
                pa.ipc.open_stream(whole.slice(t)).read_all() if isinstance(t, int) else t
                for t in self._tables
            ]
