"""A large row group of Parquet is decoded once a pass, however many files are written of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from common import Tune
from neardup.io.formats import parquet

ROWS = 3000


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> Counter[Any]:
    """Rows that were decoded in slices, of which there are many, by their columns."""
    tune(smallest_partition=1000, packed_bytes=100, waiting_slices=8)
    found: Counter[Any] = Counter()
    slices = parquet._Cursor._decoded

    def counted(cursor: Any) -> Any:
        for each in slices(cursor):
            found[cursor.of[1]] += each.num_rows
            yield each

    monkeypatch.setattr(parquet._Cursor, "_decoded", counted)
    return found


def clean_of(rows: pa.Table, folder: Path, threads: int) -> pa.Table:
    pq.write_table(rows, folder / "a.parquet")
    neardup.dedup(folder / "a.parquet", id="id", out=folder / "out", threads=threads)
    names = sorted((folder / "out/clean").iterdir())
    assert len(names) > 2
    return pa.concat_tables([pq.read_table(name) for name in names])


def notes() -> pa.Table:
    texts = [" ".join(f"w{n * k}" for k in range(12)) for n in range(ROWS)]
    texts[1::3] = texts[::3]
    return pa.table({"id": range(ROWS), "text": texts})


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_slices_are_decoded_once_in_each_pass(
    threads: int,
    tmp_path: Path,
    decoded: Counter[Any],
    tune: Tune,
    kernels: None,
) -> None:
    """Files that were written at once would want slices far from each other, again and again."""
    tune(cached_share=0)
    kept = clean_of(notes(), tmp_path, threads)["id"].to_pylist()
    assert kept == [n for n in range(ROWS) if n % 3 != 1]
    # The first pass, the sets, and the files.
    assert decoded.total() == 3 * ROWS


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 3])
def test_small_columns_beside_cached_texts_are_decoded_at_once(
    threads: int,
    tmp_path: Path,
    decoded: Counter[Any],
    tune: Tune,
    kernels: None,
) -> None:
    """So files can be written at once; columns that are not small are decoded in order."""
    kinds = [None if n % 7 == 0 else f"kind {n % 5}" for n in range(ROWS)]
    sizes: list[Any] = [[n, n + 1] if n % 4 else [] for n in range(ROWS)]
    places: list[Any] = [{"a": n, "b": str(n)} for n in range(ROWS)]
    views = pa.array(kinds, pa.large_string())
    category = pa.array(kinds).dictionary_encode()
    rows = notes().append_column("kind", pa.array(kinds)).append_column("sizes", pa.array(sizes))
    rows = rows.append_column("place", pa.array(places)).append_column("large", views)
    rows = rows.append_column("category", category)
    expected = rows.take(pa.array([n for n in range(ROWS) if n % 3 != 1]))
    (tmp_path / "small").mkdir()
    assert clean_of(rows, tmp_path / "small", threads).to_pylist() == expected.to_pylist()
    others = tuple(rows.column_names[2:])
    assert decoded["text", "id"] == ROWS and not decoded[others]
    (tmp_path / "large").mkdir()
    tune(small_columns=1000)
    assert clean_of(rows, tmp_path / "large", threads).to_pylist() == expected.to_pylist()
    assert decoded["text", "id"] == 2 * ROWS and decoded[others] == ROWS
