"""Blocks of documents from places spread over a source, without going through all of it.

The source is cut into blocks of equal size, and one block is drawn from each of as many equal
stretches as are wanted. What is counted in blocks drawn so says how much there is of it in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.corpus.columnar import count_rows, cut_batches, draw_arrow, draw_parquet
from neardup.corpus.documents import Chunk, Columns, Spread
from neardup.corpus.inputs import InputFile
from neardup.corpus.jsonlines import lines_of
from neardup.corpus.plaintexts import texts_of_files

__all__ = ["Cutter", "draw", "spread_files", "spread_rows", "spread_strings"]

Cutter = Callable[[InputFile, Columns, int], Iterator[Chunk]]

#: Drawn blocks do not depend on anything but the source.
_SEED = 20170117
#: Bytes that are decompressed at a time, of files that can be read from their begin only.
_STREAM_CHUNK = 1 << 20
#: From so many files on, their beginnings count as places all over the source.
_MANY_FILES = 16
#: Parquet files whose footers are read to know the number of rows.
_FOOTERS = 64


def draw(total: int, wanted: int) -> np.ndarray:
    """Return int64[]: some of ``total`` blocks, one of each of as many equal stretches, ascending.

    >>> draw(5, 9)
    array([0, 1, 2, 3, 4])
    """
    if wanted >= total:
        return np.arange(total, dtype=np.int64)
    ends = np.arange(wanted + 1, dtype=np.int64) * total // wanted
    return np.random.default_rng(_SEED).integers(ends[:-1], ends[1:])


def spread_files(
    files: Sequence[InputFile],
    columns: Columns,
    cutters: dict[str, Cutter],
    blocks: int,
    block_bytes: int,
) -> Spread:
    """Draw blocks of about ``block_bytes`` from files whose sizes are known.

    Raises:
        InputError: A file can't be read.
    """
    if files[0].format == "text":
        return _spread_texts(files, columns, blocks, block_bytes)
    counts = np.array([-(-(file.size or 0) // block_bytes) for file in files], dtype=np.int64)
    ends = np.cumsum(counts)
    chosen = draw(int(ends[-1]), blocks)
    whole = len(chosen) == ends[-1]
    owners = np.searchsorted(ends, chosen, side="right")
    chunks: list[Chunk] = []
    begun = 0
    everywhere = True
    for owner in np.unique(owners):
        file = files[owner]
        mine = chosen[owners == owner] - (ends[owner] - counts[owner])
        if whole:
            chunks += cutters[file.format](file, columns, max(block_bytes, _STREAM_CHUNK))
        elif file.format == "jsonl" and not file.compression:
            ranges = ((int(k) * block_bytes, int(k + 1) * block_bytes) for k in mine)
            chunks += lines_of(file, columns, ranges)
        elif file.format == "parquet":
            found, reached = draw_parquet(file, columns, int(counts[owner]), len(mine))
            chunks += found
            everywhere = everywhere and reached
        elif file.format == "arrow" and (
            batches := draw_arrow(file, columns, len(mine), block_bytes)
        ):
            chunks += batches
        else:
            begun += 1
            chunks += _begin_of(file, columns, cutters[file.format], len(mine) * block_bytes)
    if 0 < begun < _MANY_FILES:
        everywhere = False
    return Spread(chunks, whole, everywhere or whole, _rows_of(files))


def spread_rows(
    table: pa.Table, name: str, columns: Columns, blocks: int, block_bytes: int, size: int
) -> Spread:
    """Draw blocks of rows from a table in memory.

    Args:
        size: Bytes of the table.
    """
    total = min(max(1, -(-size // block_bytes)), max(1, table.num_rows))
    chosen = draw(total, blocks)
    chunks: list[Chunk] = []
    for k in chosen:
        low, high = (int(i) * table.num_rows // total for i in (k, k + 1))
        part = table.slice(low, high - low)
        chunks += cut_batches([part], name, columns, size + 1, low)
    return Spread(chunks, len(chosen) == total, True, table.num_rows)


def spread_strings(
    strings: Sequence[Any],
    cut: Callable[[Sequence[Any]], Iterable[Chunk]],
    blocks: int,
    block_bytes: int,
) -> Spread:
    """Draw blocks from a list of strings.

    Args:
        cut: Makes chunks of some of them.
    """
    some = [strings[int(i)] for i in draw(len(strings), 1000)]
    size = max(1.0, sum(len(s) for s in some if isinstance(s, str)) / max(1, len(some)))
    rows = max(1, int(block_bytes / size))
    total = -(-len(strings) // rows)
    chosen = draw(total, blocks)
    chunks = [chunk for k in chosen for chunk in cut(strings[int(k) * rows : int(k + 1) * rows])]
    return Spread(chunks, len(chosen) == total, True, len(strings))


def _begin_of(file: InputFile, columns: Columns, cut: Cutter, size: int) -> Iterator[Chunk]:
    done = 0
    for chunk in cut(file, columns, _STREAM_CHUNK):
        yield chunk
        done += chunk.size
        if done >= size:
            return


def _spread_texts(
    files: Sequence[InputFile], columns: Columns, blocks: int, block_bytes: int
) -> Spread:
    begins = np.cumsum([0, *(file.size or 0 for file in files)])
    total = max(1, int(-(-begins[-1] // block_bytes)))
    chosen = draw(total, blocks)
    chunks: list[Chunk] = []
    for k in chosen:
        low, high = np.searchsorted(begins[:-1], [k * block_bytes, (k + 1) * block_bytes])
        if k == total - 1:
            high = len(files)  # empty ones at the end
        chunks += texts_of_files(files[low:high], columns)
    return Spread(chunks, len(chosen) == total, True, len(files))


def _rows_of(files: Sequence[InputFile]) -> int | None:
    if len(files) > _FOOTERS or any(file.format != "parquet" for file in files):
        return None
    return sum(count_rows(file) for file in files)
