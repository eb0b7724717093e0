"""Texts of single documents by position, without going through the source to get there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.corpus.csvtables import records_of
from neardup.corpus.documents import Chunk, Columns
from neardup.corpus.inputs import InputFile, unreadable
from neardup.corpus.jsonlines import lines_of
from neardup.corpus.pages import column_rows
from neardup.corpus.plaintexts import texts_of_files
from neardup.corpus.texts import to_documents
from neardup.errors import FormatError

__all__ = ["fetch_texts"]

_LINES = {"jsonl", "csv", "tsv"}
_ARROW_FILE = b"ARROW1"


def fetch_texts(
    files: Sequence[InputFile],
    columns: Columns,
    docs: np.ndarray,
    ends: np.ndarray,
    sizes: np.ndarray,
) -> list[str] | None:
    """Return the texts of some documents.

    Args:
        files: Of the corpus, in order.
        columns: As the corpus was opened.
        docs: int64[], ascending: positions.
        ends: int64[chunks]: position after the last document of each chunk of the corpus.
        sizes: int64[chunks]: bytes of the source that each chunk stands for.

    Returns:
        The texts; None where the source has to be gone through: what is compressed as a whole, or
        where chunks can't be found by their sizes.

    Raises:
        InputError: The source can't be read, or has not as many documents.
    """
    if any(file.size is None or file.spool is not None or file.compression for file in files):
        return None
    formats = {file.format for file in files}
    if formats == {"text"}:
        _check(len(files), ends)
        chunks = texts_of_files([files[doc] for doc in docs.tolist()], columns)
        return [text for chunk in chunks for text in _texts(chunk.read().text)]
    if formats == {"parquet"}:
        return _by_rows(files, columns, docs, ends, _parquet_rows)
    if formats == {"arrow"}:
        if not all(_has_index(file) for file in files):
            return None
        return _by_rows(files, columns, docs, ends, _arrow_rows)
    if formats <= _LINES:
        return _by_chunks(files, columns, docs, ends, sizes)
    return None


def _has_index(file: InputFile) -> bool:
    """Whether an Arrow IPC file is one, and not a stream."""
    with open(file.source, "rb") as source:  # noqa: PTH123 - a plain string
        return source.read(len(_ARROW_FILE)) in (b"", _ARROW_FILE)


def _check(documents: int, ends: np.ndarray) -> None:
    if documents != (int(ends[-1]) if len(ends) else 0):
        raise FormatError("the input has changed", "start again once it is complete")


def _texts(array: Any) -> list[str]:
    texts: list[str] = array.to_pylist()
    return texts


def _by_chunks(
    files: Sequence[InputFile],
    columns: Columns,
    docs: np.ndarray,
    ends: np.ndarray,
    sizes: np.ndarray,
) -> list[str] | None:
    """Enter plain files where the chunks lie; their sizes add up to those of the files."""
    chunk_ends = np.cumsum(sizes)
    file_ends = np.cumsum([file.size or 0 for file in files])
    if len(sizes) != len(ends) or not np.isin(file_ends, np.append(chunk_ends, 0)).all():
        return None
    found: list[str] = []
    numbers = np.searchsorted(ends, docs, side="right")
    for number in np.unique(numbers).tolist():
        size, end = int(sizes[number]), int(chunk_ends[number])
        place = int(np.searchsorted(file_ends, end - size, side="right"))
        file = files[place]
        start = end - size - int(file_ends[place] - (file.size or 0))
        enter = lines_of if file.format == "jsonl" else records_of
        chunks: list[Chunk] = list(enter(file, columns, [(start, start + size)]))
        first = int(ends[number - 1]) if number else 0
        rows, count = docs[numbers == number] - first, int(ends[number]) - first
        for chunk in chunks:
            found += _texts(chunk.read_again(rows, count).text)
    return found


def _by_rows(
    files: Sequence[InputFile],
    columns: Columns,
    docs: np.ndarray,
    ends: np.ndarray,
    rows_of: Callable[[InputFile, Columns, np.ndarray], tuple[list[Any], int]],
) -> list[str]:
    """Go by the numbers of rows that files say they have."""
    found: list[str] = []
    first = 0
    for file in files:
        if not file.size:
            continue
        try:
            tables, count = rows_of(file, columns, docs[docs >= first] - first)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise unreadable(file.path, error) from error
            raise FormatError(f"{file.path}: damaged", "fetch the file again") from error
        where = partial(_name_of, file)
        for table in tables:
            found += _texts(to_documents(table, columns, where).text)
        first += count
    _check(first, ends)
    return found


def _name_of(file: InputFile, _: int) -> str:
    return file.path


def _parquet_rows(file: InputFile, columns: Columns, rows: np.ndarray) -> tuple[list[Any], int]:
    """Those of some rows that a Parquet file has, as tables; and how many rows it has."""
    tables = []
    with pq.ParquetFile(file.source, pre_buffer=False) as opened:
        about = opened.metadata
        first = 0
        for group in range(about.num_row_groups if len(rows) else 0):
            last = first + about.row_group(group).num_rows
            mine = rows[(rows >= first) & (rows < last)] - first
            if len(mine):
                texts = (column_rows(file.source, opened, group, n, mine) for n in columns.text)
                tables.append(pa.table(dict(zip(columns.text, texts, strict=True))))
            first = last
        return tables, int(about.num_rows)


def _arrow_rows(file: InputFile, columns: Columns, rows: np.ndarray) -> tuple[list[Any], int]:
    """The same of an Arrow IPC file; only the columns and batches that are needed are unpacked."""
    tables = []
    with pa.memory_map(file.source) as source:
        schema = pa.ipc.open_file(source).schema
        texts = [schema.get_field_index(name) for name in columns.text]
        # To know how many rows a batch has, its narrowest column is unpacked.
        counter = min(range(len(schema)), key=lambda i: (i in texts, _width(schema.field(i).type)))
        counts = _fields(source, [counter])
        batches = _fields(source, texts)
        first = 0
        for number in range(counts.num_record_batches):
            last = first + counts.get_batch(number).num_rows
            mine = rows[(rows >= first) & (rows < last)] - first
            if len(mine):
                batch = batches.get_batch(number)
                tables.append(pa.Table.from_batches([batch]).select(columns.text).take(mine))
            first = last
        return tables, first


def _fields(source: Any, fields: list[int]) -> Any:
    return pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=fields))


def _width(type: pa.DataType) -> int:
    """Bits of a value; a lot for values of no fixed width."""
    try:
        return int(type.bit_width)
    except ValueError:
        return 1 << 10
