"""A large row group of Parquet is decoded once a pass, however many files are written of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from neardup import memory_plan
from neardup.io import opening, outputs
from neardup.io.formats import parquet

ROWS = 3000


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_slices_are_decoded_once_in_each_pass(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: None
) -> None:
    """Files that were written at once would want slices far from each other, again and again."""
    monkeypatch.setattr(memory_plan, "_CACHE", 0)
    monkeypatch.setattr(opening, "_SMALLEST_PARTITION", 1000)
    monkeypatch.setattr(outputs, "_PACKED_BYTES", 100)
    monkeypatch.setattr(parquet, "_STASH", 8)
    decoded, slices = [], parquet._Cursor._decoded

    def counted(cursor: Any) -> Any:
        for each in slices(cursor):
            decoded.append(each.num_rows)
            yield each

    monkeypatch.setattr(parquet._Cursor, "_decoded", counted)
    texts = [" ".join(f"w{n * k}" for k in range(12)) for n in range(ROWS)]
    texts[1::3] = texts[::3]
    pq.write_table(pa.table({"id": range(ROWS), "text": texts}), tmp_path / "a.parquet")
    neardup.dedup(
        tmp_path / "a.parquet", id="id", out=tmp_path / "out", threads=threads, progress=False
    )
    names = sorted((tmp_path / "out/clean").iterdir())
    assert len(names) > 2
    kept = pa.concat_tables([pq.read_table(name) for name in names])["id"].to_pylist()
    assert kept == [n for n in range(ROWS) if n % 3 != 1]
    # The first pass, the sets, and the files.
    assert sum(decoded) == 3 * ROWS
