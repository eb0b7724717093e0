"""Parquet by row groups and Arrow IPC by record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.corpus.documents import Chunk, Columns, Documents
from neardup.corpus.inputs import InputFile, unreadable
from neardup.corpus.streams import read_all
from neardup.corpus.texts import check_schema, to_documents
from neardup.errors import FormatError, InputError

__all__ = [
    "TableChunk",
    "bytes_of",
    "count_rows",
    "cut_arrow",
    "cut_batches",
    "cut_parquet",
    "draw_arrow",
    "draw_parquet",
]

_LARGE_GROUP = 64 << 20  # row groups above are read batch by batch: two would fill the memory
_MANY_GROUPS = 8  # from so many on, the begins of row groups are places all over a file
_DECODED = 128 << 20  # of large row groups, to get at rows within them
_BUFFER = 1 << 16  # bytes read at a time, for each column
_ARROW_FILE = b"ARROW1"


@dataclass(frozen=True)
class TableChunk(Chunk):
    """Rows that Arrow holds already.

    Args:
        table: The rows.
        size: Bytes of the source.
        first: Number of the first row in the source, from 0.
        name: The source, for messages.
        replaced: Texts that were repaired before they became Arrow's.
    """

    table: pa.Table
    size: int
    first: int
    name: str
    columns: Columns
    replaced: int = 0

    def read(self) -> Documents:
        return to_documents(self.table, self.columns, self._where, self.replaced, self.name)

    def _where(self, row: int) -> str:
        return f"{self.name}: record {self.first + row + 1}"


def cut_batches(
    batches: Iterable[pa.RecordBatch | pa.Table],
    name: str,
    columns: Columns,
    chunk_bytes: int,
    first: int = 0,
) -> Iterator[TableChunk]:
    """Batches sliced or put together to chunks of about ``chunk_bytes``; sizes are Arrow's.

    Raises:
        ColumnError: A column is not there or of another type; looked for in every batch.
    """
    held: list[pa.Table] = []
    size = 0
    schema = None
    for batch in batches:
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        if schema is None or not table.schema.equals(schema):
            check_schema(name, table.schema, columns)
            if held:
                yield _gathered(held, size, first, name, columns)
                first, held, size = first + sum(map(len, held)), [], 0
            schema = table.schema
        if not table.num_rows:
            continue
        bytes_here = bytes_of(table)
        rows = max(1, min(table.num_rows, table.num_rows * chunk_bytes // max(1, bytes_here)))
        for start in range(0, table.num_rows, rows):
            part = table.slice(start, rows)
            held.append(part)
            # Differences of running shares, so that the shares add up to the whole.
            size += _share(bytes_here, start + len(part), table.num_rows)
            size -= _share(bytes_here, start, table.num_rows)
            if size >= chunk_bytes or rows < table.num_rows:
                yield _gathered(held, size, first, name, columns)
                first, held, size = first + sum(map(len, held)), [], 0
    if held:
        yield _gathered(held, size, first, name, columns)


def bytes_of(table: pa.Table | pa.RecordBatch) -> int:
    """Bytes of the rows in memory; with string views, older Arrow tells whole buffers only."""
    try:
        return int(table.nbytes)
    except pa.ArrowException:
        return int(table.get_total_buffer_size())


def _gathered(
    parts: list[pa.Table], size: int, first: int, name: str, columns: Columns
) -> TableChunk:
    table = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
    return TableChunk(table, size, first, name, columns)


def _share(total: int, rows: int, of: int) -> int:
    return total * rows // of


@dataclass(frozen=True)
class _ParquetChunk(Chunk):
    worth_holding = False
    source: Any  # a path, or a buffer of the whole file
    metadata: pq.FileMetaData
    groups: range
    size: int
    first: int
    name: str
    columns: Columns

    def read(self) -> Documents:
        try:
            # Each chunk opens the file anew: a reader is not safe to share between threads.
            with _parquet(self.source, self.metadata) as file:
                table = file.read_row_groups(list(self.groups), use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(self.name, "Parquet", error) from error
        return to_documents(table, self.columns, self._where, origin=self.name)

    def _where(self, row: int) -> str:
        return f"{self.name}: record {self.first + row + 1}"


def _parquet(source: Any, metadata: pq.FileMetaData | None = None) -> pq.ParquetFile:
    if isinstance(source, pa.Buffer):
        source = pa.BufferReader(source)
    # Without these, all columns of a row group lie in memory, compressed, before one is decoded.
    return pq.ParquetFile(source, metadata=metadata, pre_buffer=False, buffer_size=_BUFFER)


def _damaged(name: str, format: str, error: Exception) -> Exception:
    # Arrow gives no number for what is wrong inside the file, the system does for the file.
    if isinstance(error, OSError) and error.errno:
        return unreadable(name, error)
    return FormatError(
        f"{name}: not {format}, or cut off or damaged", "fetch the file again, or check its ending"
    )


def cut_parquet(file: InputFile, columns: Columns, chunk_bytes: int) -> Iterator[Chunk]:
    """Chunks of whole row groups, small ones together; very large groups in parts.

    Raises:
        ColumnError: A column is not there or of another type.
        FormatError: Not Parquet.
    """
    if file.size == 0:
        return
    source = _whole(file)
    total = file.size if file.size is not None else source.size
    try:
        with _parquet(source) as opened:
            metadata, schema = opened.metadata, opened.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file.path, "Parquet", error) from error
    check_schema(file.path, schema, columns)
    first = 0
    done = 0
    plain = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    whole = max(1, sum(plain))
    group = 0
    while group < len(plain):
        end, size = group + 1, plain[group]
        while end < len(plain) and size + plain[end] <= chunk_bytes:
            size += plain[end]
            end += 1
        rows = sum(metadata.row_group(i).num_rows for i in range(group, end))
        share = _share(total, done + size, whole) - _share(total, done, whole)
        if plain[group] > max(_LARGE_GROUP, 4 * chunk_bytes):
            yield from _split_group(
                file, source, metadata, group, share, first, columns, chunk_bytes
            )
        elif rows:
            yield _ParquetChunk(
                source, metadata, range(group, end), share, first, file.path, columns
            )
        first += rows
        done += size
        group = end


def _split_group(
    file: InputFile,
    source: Any,
    metadata: pq.FileMetaData,
    group: int,
    size: int,
    first: int,
    columns: Columns,
    chunk_bytes: int,
) -> Iterator[Chunk]:
    """One large row group, decoded once, as it is cut."""
    about = metadata.row_group(group)
    rows = max(1, about.num_rows * chunk_bytes // about.total_byte_size)
    seen = 0
    try:
        with _parquet(source, metadata) as opened:
            for batch in opened.iter_batches(rows, row_groups=[group], use_threads=False):
                after = seen + batch.num_rows
                share = _share(size, after, about.num_rows) - _share(size, seen, about.num_rows)
                table = pa.Table.from_batches([batch])
                yield TableChunk(table, share, first + seen, file.path, columns)
                seen = after
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file.path, "Parquet", error) from error


def count_rows(file: InputFile) -> int:
    """Return the rows of a Parquet file, by its footer.

    Raises:
        FormatError: Not Parquet.
    """
    if not file.size:
        return 0
    try:
        with _parquet(file.source) as opened:
            return int(opened.metadata.num_rows)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file.path, "Parquet", error) from error


def draw_parquet(
    file: InputFile, columns: Columns, total: int, wanted: int
) -> tuple[list[Chunk], bool]:
    """Draw blocks of rows from some row groups, of which only the begin is cheap to decode.

    Args:
        total: Blocks of equal size that make up the file.
        wanted: How many of them are drawn.

    Returns:
        (chunks, whether they come from all over the file).

    Raises:
        ColumnError: A column is not there or of another type.
        FormatError: Not Parquet.
    """
    chunks: list[Chunk] = []
    reached = covered = 0
    try:
        with _parquet(file.source) as opened:
            about = opened.metadata
            check_schema(file.path, opened.schema_arrow, columns)
            rows = max(1, -(-about.num_rows // total))
            size = (file.size or 0) * rows // max(1, about.num_rows)
            begins = np.cumsum([0, *(about.row_group(i).num_rows for i in _groups(about))])
            places = (np.arange(wanted) * 2 + 1) * begins[-1] // (2 * wanted)
            drawn = np.searchsorted(begins, places, side="right") - 1
            numbers, counts = np.unique(drawn[places < begins[-1]], return_counts=True)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                group = about.row_group(number)
                row_bytes = max(1, group.total_byte_size // max(1, group.num_rows))
                within = min(group.num_rows, _DECODED // len(numbers) // row_bytes)
                step = max(1, within // rows // count)
                reached += min(group.num_rows, step * rows * count)
                covered += group.num_rows
                batches = opened.iter_batches(rows, row_groups=[number], use_threads=False)
                for k, batch in zip(range(step * (count - 1) + 1), batches, strict=False):
                    if k % step == 0:
                        table = pa.Table.from_batches([batch])
                        first = int(begins[number]) + k * rows
                        share = size * len(table) // rows
                        chunks.append(TableChunk(table, share, first, file.path, columns))
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file.path, "Parquet", error) from error
    return chunks, len(numbers) >= _MANY_GROUPS or 2 * reached >= covered


def _groups(about: pq.FileMetaData) -> range:
    return range(about.num_row_groups)


def draw_arrow(file: InputFile, columns: Columns, wanted: int, block_bytes: int) -> list[Chunk]:
    """Draw blocks of rows from an Arrow IPC file; none from a stream, which has no index.

    Raises:
        ColumnError: A column is not there or of another type.
        FormatError: Not Arrow IPC.
    """
    chunks: list[Chunk] = []
    try:
        with pa.memory_map(file.source) as source:
            if source.read(len(_ARROW_FILE)) != _ARROW_FILE:
                return []
            opened = pa.ipc.open_file(source)
            check_schema(file.path, opened.schema, columns)
            total = opened.num_record_batches
            places = (np.arange(wanted) * 2 + 1) * total // (2 * wanted)
            numbers, counts = np.unique(places, return_counts=True)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                table = pa.Table.from_batches([opened.get_batch(number)])
                rows = max(1, len(table) * block_bytes // max(1, bytes_of(table)))
                rows = min(rows, max(1, len(table) // count))
                for k in range(min(count, len(table) // rows)):
                    first = k * len(table) // count
                    size = (file.size or 0) // total * rows // len(table)
                    part = table.slice(first, rows)
                    chunks.append(TableChunk(part, size, first, file.path, columns))
    except InputError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file.path, "Arrow IPC", error) from error
    return chunks


def _whole(file: InputFile) -> Any:
    """What Arrow opens: a path, or all bytes of a pipe, which can't be read from its end."""
    return file.source if file.size is not None else pa.py_buffer(read_all(file))


def cut_arrow(file: InputFile, columns: Columns, chunk_bytes: int) -> Iterator[Chunk]:
    """Chunks of an Arrow IPC file or stream, mapped into memory.

    Raises:
        ColumnError: A column is not there or of another type.
        FormatError: Not Arrow IPC.
    """
    if file.size == 0:
        return
    total = file.size
    try:
        if total is None:
            source = pa.BufferReader(read_all(file))
            total = source.size()
        else:
            source = pa.memory_map(file.source)
        with source:
            schema, batches = _arrow_batches(source)
            check_schema(file.path, schema, columns)
            done = 0
            for chunk in cut_batches(batches, file.path, columns, chunk_bytes):
                # Batches of a file lie one behind the other, so that sizes are about Arrow's own.
                size = min(chunk.size, total - done)
                done += size
                yield TableChunk(chunk.table, size, chunk.first, chunk.name, columns)
    except InputError:  # one of them is an OSError as well
        raise
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file.path, "Arrow IPC", error) from error


def _arrow_batches(source: pa.NativeFile) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    magic = source.read(len(_ARROW_FILE))
    source.seek(0)
    if magic != _ARROW_FILE:
        stream = pa.ipc.open_stream(source)
        return stream.schema, iter(stream)
    file = pa.ipc.open_file(source)
    return file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
