"""Rows of a Parquet column, without decoding the row group that they are in.

A row group may hold a million texts, and Arrow decodes all of them to get at one. Pages say in
their heads how many values they hold; the page that has the row, and the dictionary if there is
one, are put behind each other as a Parquet file of their own, which Arrow reads.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.corpus.thrift import I64, LIST, STRUCT, Struct, read_struct, write_struct

__all__ = ["column_rows"]

#: Columns of a row group up to this size, in bytes, are decoded as they are.
_SMALL = 16 << 20
#: Rows beyond which that is done too: their pages would be most of the column.
_FEW = 32
#: Bytes of a footer beyond which taking it apart would cost more.
_LARGE_FOOTER = 4 << 20
_WINDOW = 1 << 12
_MAGIC = b"PAR1"
_DICTIONARY_PAGE = 2
# Fields of parquet.thrift.
_NUM_ROWS, _ROW_GROUPS = 3, 4  # FileMetaData
_COLUMNS, _ROWS = 1, 3  # RowGroup
_META_DATA = 3  # ColumnChunk
_VALUES, _PLAIN, _PACKED, _DATA_AT, _DICTIONARY_AT = 5, 6, 7, 9, 11  # ColumnMetaData
_KEPT = {1, 2, 3, 4, _VALUES, _PLAIN, _PACKED, _DATA_AT, _DICTIONARY_AT}
_PAGE_TYPE, _PAGE_PLAIN, _PAGE_PACKED = 1, 2, 3  # PageHeader
_DATA_HEADS = (5, 8)  # of the first and the second version; their field 1 counts the values


class _Page(NamedTuple):
    """Where a page lies, its head included.

    Args:
        at, size: Bytes of the file.
        plain: Bytes when it is decompressed, head included.
        values: How many it holds; of a dictionary, 0.
    """

    at: int
    size: int
    plain: int
    values: int


def column_rows(path: str, file: pq.ParquetFile, group: int, name: str, rows: np.ndarray) -> Any:
    """Return some values of a column of texts, as an Arrow array.

    Args:
        path: The file.
        file: The same, opened.
        group: Number of the row group.
        name: Of a column that is no list and not in a struct.
        rows: int64[], ascending: which rows of the row group.
    """
    about = file.metadata
    leaf = next(
        i
        for i in range(about.num_columns)
        if about.schema.column(i).path == name and about.schema.column(i).max_repetition_level == 0
    )
    column = about.row_group(group).column(leaf)
    large = column.total_uncompressed_size > _SMALL and about.serialized_size < _LARGE_FOOTER
    if large and len(rows) <= _FEW:
        try:
            return _by_pages(path, group, leaf, name, rows)
        except (IndexError, KeyError, ValueError, pa.ArrowException):
            pass  # written as no writer that is known does it; Arrow says whether it is damaged
    whole = file.read_row_group(group, columns=[name], use_threads=False).column(name)
    return _array(whole.take(rows))


def _by_pages(path: str, group: int, leaf: int, name: str, rows: np.ndarray) -> Any:
    with open(path, "rb") as source:  # noqa: PTH123 - a plain string
        footer = _footer(source)
        chosen = footer[_ROW_GROUPS][1][1][group]
        meta = chosen[_COLUMNS][1][1][leaf][_META_DATA][1]
        pages = _pages(source, meta)
        dictionary = [page for page in pages if not page.values]
        data = [page for page in pages if page.values]
        ends = np.cumsum([page.values for page in data])
        found = []
        for number in np.unique(np.searchsorted(ends, rows, side="right")):
            page = data[number]
            begin = int(ends[number]) - page.values
            mine = rows[(rows >= begin) & (rows < ends[number])] - begin
            parts = [*dictionary, page]
            raw = [_read(source, part.at, part.size) for part in parts]
            made = _file_of(footer, chosen, leaf, parts, raw)
            with pq.ParquetFile(pa.BufferReader(made)) as file:
                table = file.read(columns=[name], use_threads=False)
            found.append(_array(table.column(name).take(mine)))
    return pa.concat_arrays(found)


def _array(column: Any) -> Any:
    """One array without a dictionary, since those of two pages may differ."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)


def _footer(source: BinaryIO) -> Struct:
    end = source.seek(-8, os.SEEK_END)
    size, magic = np.frombuffer(source.read(4), "<u4")[0], source.read(4)
    if magic != _MAGIC:
        raise ValueError("not Parquet, or encrypted")
    return read_struct(_read(source, end - int(size), int(size)))[0]


def _pages(source: BinaryIO, meta: Struct) -> list[_Page]:
    """The pages of a column chunk, by their heads."""
    at = meta[_DATA_AT][1]
    if _DICTIONARY_AT in meta and 0 < meta[_DICTIONARY_AT][1] < at:
        at = meta[_DICTIONARY_AT][1]
    end = at + meta[_PACKED][1]
    pages = []
    while at < end:
        head, size = _head(source, at, end)
        kinds = [head[number][1] for number in _DATA_HEADS if number in head]
        whole = size + head[_PAGE_PACKED][1]
        values = kinds[0][1][1] if kinds else 0
        if kinds or head[_PAGE_TYPE][1] == _DICTIONARY_PAGE:
            pages.append(_Page(at, whole, size + head[_PAGE_PLAIN][1], values))
        at += whole
    return pages


def _head(source: BinaryIO, at: int, end: int) -> tuple[Struct, int]:
    """The head of a page, and its size."""
    window = _WINDOW
    while True:
        window = min(window, end - at)
        try:
            return read_struct(_read(source, at, window))
        except IndexError:
            if window == end - at:
                raise
            window *= 16


def _read(source: BinaryIO, at: int, size: int) -> bytes:
    source.seek(at)
    return source.read(size)


def _file_of(
    footer: Struct, group: Struct, leaf: int, pages: list[_Page], raw: list[bytes]
) -> bytes:
    """A Parquet file of some pages of one column; the other columns are named, but not there."""
    begins = np.cumsum([len(_MAGIC), *map(len, raw)]).tolist()
    values = pages[-1].values
    columns = list(group[_COLUMNS][1][1])
    meta = {k: v for k, v in columns[leaf][_META_DATA][1].items() if k in _KEPT}
    meta[_VALUES] = I64, values
    meta[_PLAIN] = I64, sum(page.plain for page in pages)
    meta[_PACKED] = I64, sum(map(len, raw))
    meta[_DATA_AT] = I64, begins[len(raw) - 1]
    meta.pop(_DICTIONARY_AT, None)
    if len(raw) > 1:
        meta[_DICTIONARY_AT] = I64, begins[0]
    columns[leaf] = {2: (I64, 0), _META_DATA: (STRUCT, meta)}
    small: Struct = {
        **{k: group[k] for k in group if k in (1, 2, _ROWS)},
        _COLUMNS: (LIST, (STRUCT, columns)),
        _ROWS: (I64, values),
    }
    about = write_struct(
        {**footer, _NUM_ROWS: (I64, values), _ROW_GROUPS: (LIST, (STRUCT, [small]))}
    )
    return b"".join([_MAGIC, *raw, about, len(about).to_bytes(4, "little"), _MAGIC])
