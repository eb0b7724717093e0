"""Data that is in memory or comes from another library: frames, datasets, lists of strings.

None of the libraries is imported; objects are known by what they can do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from neardup.corpus.columnar import TableChunk, bytes_of, cut_batches
from neardup.corpus.documents import Chunk, Columns, Corpus, OneShot, Spread
from neardup.corpus.spread import spread_rows, spread_strings
from neardup.corpus.texts import REPLACE_HINT, check_schema
from neardup.errors import EncodingError, InputError

__all__ = ["FrameCorpus"]

_ROWS = 1000  # of a Hugging Face dataset at a time; small batches are put together afterwards
_LONE = re.compile("[\ud800-\udfff]")
_SCHEMA = pa.schema([("text", pa.large_string())])  # of a list of strings
_ACCEPTED = (
    "give a pyarrow Table, RecordBatchReader or Dataset, a pandas or Polars DataFrame, a Hugging "
    "Face Dataset, or strings"
)


class FrameCorpus(Corpus):
    """A corpus from an object instead of files; record numbers in messages count from 1.

    Args:
        source: See `neardup.corpus.open_frame`.

    Raises:
        InputError: An object of another kind.
        ColumnError: A column is not there or of another type, where that shows at once.
    """

    def __init__(self, source: object, columns: Columns, chunk_bytes: int) -> None:
        self.total_bytes = (
            bytes_of(source) if isinstance(source, pa.Table | pa.RecordBatch) else None
        )
        # Frames and lists; not readers, streams and what only looks as if it were a list.
        self.rereadable = hasattr(source, "scanner") or (
            hasattr(source, "__len__") and hasattr(source, "__getitem__")
        )
        self.id_column = columns.id
        self.inputs = []
        self._columns = columns
        self._chunk_bytes = chunk_bytes
        self._source: Any = source
        self._name, self._open = _opener(source, columns, chunk_bytes)

    def chunks(self) -> Iterator[Chunk]:
        try:
            yield from self._open()
        except pa.ArrowException as error:
            # The message of Arrow quotes values; ours must not.
            raise InputError(
                f"{self._name}: can't be converted to Arrow ({type(error).__name__})",
                "give every column one type; of a Series give the list of its strings",
            ) from error
        except UnicodeEncodeError as error:  # strings of Python objects, which Arrow can't take
            raise EncodingError(
                f"{self._name}: a string has half a surrogate pair, which is no character",
                "replace it in the frame; --encoding-errors comes too late for it",
            ) from error

    def spread(self, blocks: int, block_bytes: int) -> Spread | None:
        """Of tables and lists of strings; others may have to be converted as a whole for it, so
        that of them only the number of rows is told.
        """
        source, columns = self._source, self._columns
        if isinstance(source, pa.Table | pa.RecordBatch):
            table = source if isinstance(source, pa.Table) else pa.Table.from_batches([source])
            size = self.total_bytes or 0
            return spread_rows(table, self._name, columns, blocks, block_bytes, size)
        if isinstance(source, list | tuple):
            size = self._chunk_bytes
            return spread_strings(
                source, lambda some: _strings(some, columns, size), blocks, block_bytes
            )
        if not self.rereadable:
            return None
        return Spread([], False, False, len(source) if hasattr(source, "__len__") else None)


def _opener(
    source: Any, columns: Columns, chunk_bytes: int
) -> tuple[str, Callable[[], Iterator[Chunk]]]:
    def batches(name: str, open: Callable[[], Iterable[Any]]) -> Any:
        return name, lambda: cut_batches(open(), name, columns, chunk_bytes)

    if isinstance(source, str | bytes):
        raise InputError("a single string is no frame", "for a file use open_files")
    if isinstance(source, pa.RecordBatchReader):
        once = OneShot("the reader")
        check_schema("the reader", source.schema, columns)
        return batches("the reader", lambda: _once(once, source))
    if isinstance(source, pa.Table | pa.RecordBatch):
        table = source if isinstance(source, pa.Table) else pa.Table.from_batches([source])
        check_schema("the table", table.schema, columns)
        return batches("the table", lambda: [table.slice(0, 0), *table.to_batches()])
    if hasattr(source, "scanner") and hasattr(source, "schema"):
        check_schema("the dataset", source.schema, columns)
        return batches("the dataset", source.to_batches)
    if hasattr(source, "with_format") and hasattr(source, "iter"):
        return batches("the dataset", lambda: source.with_format("arrow").iter(_ROWS))
    if hasattr(source, "__arrow_c_stream__"):
        return batches("the frame", lambda: _stream(source, columns))
    if isinstance(source, Mapping):
        raise InputError(
            f"a mapping ({type(source).__name__}) is no frame",
            "take one of its values, such as the split 'train' of a DatasetDict",
        )
    if isinstance(source, Iterable):
        if isinstance(source, Iterator):
            once = OneShot("the iterator")
            return "the iterator", lambda: _strings(_once(once, source), columns, chunk_bytes)
        return "the list", lambda: _strings(source, columns, chunk_bytes)
    raise InputError(f"can't read documents from {type(source).__name__}", _ACCEPTED)


def _once(guard: OneShot, source: Iterable[Any]) -> Iterable[Any]:
    guard.take()
    return source


def _stream(source: Any, columns: Columns) -> Iterator[pa.RecordBatch]:
    reader = pa.RecordBatchReader.from_stream(source)
    check_schema("the frame", reader.schema, columns)  # a frame without rows has no batch
    return iter(reader)


def _strings(source: Iterable[Any], columns: Columns, chunk_bytes: int) -> Iterator[Chunk]:
    check_schema("the list", _SCHEMA, columns)
    held: list[str | None] = []
    size = first = replaced = 0
    for number, value in enumerate(source, 1):
        text, bad = _checked(value, number, columns)
        held.append(text)
        size += len(text or "")
        replaced += bad
        if size >= chunk_bytes:
            yield _chunk_of(held, size, first, columns, replaced)
            first += len(held)
            held, size, replaced = [], 0, 0
    if held:
        yield _chunk_of(held, size, first, columns, replaced)


def _chunk_of(
    texts: list[str | None], size: int, first: int, columns: Columns, replaced: int
) -> Chunk:
    return TableChunk(_table_of(texts), size, first, "the list", columns, replaced)


def _table_of(texts: list[str | None]) -> pa.Table:
    return pa.table([pa.array(texts, pa.large_string())], schema=_SCHEMA)


def _checked(value: Any, number: int, columns: Columns) -> tuple[str | None, bool]:
    """A string that Arrow takes, and whether something in it was replaced."""
    if value is not None and not isinstance(value, str):
        raise InputError(
            f"the list: record {number} is {type(value).__name__}, not a string", _ACCEPTED
        )
    if value is None or value.isascii():  # by far the most; the flag is kept by Python
        return value, False
    if _LONE.search(value) is None:
        return value, False
    if not columns.replaces:
        raise EncodingError(
            f"the list: record {number} has half a surrogate pair, which is no character",
            REPLACE_HINT,
        )
    return _LONE.sub("\ufffd", value), True
