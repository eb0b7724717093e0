"""The designs of the paper in SQLite; those in Cassandra are in `test_state_cassandra`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from design_rows import DESIGNS, rows_in

from experiments.designs import check_design
from experiments.row_stores import SqliteRows
from experiments.stores import Store, opened
from neardup.errors import StoreError
from neardup.state import Header
from neardup.state.sqlite_store import RunStore


@pytest.mark.parametrize(
    ("design", "scheme"), [("Design 1", "sqlite-rows"), ("Design 2", "sqlite")]
)
def test_rows_in_sqlite(design: str, scheme: str, tmp_path: Path) -> None:
    assert rows_in(f"{scheme}:{tmp_path / 'keys'}") == DESIGNS[design]


def test_tables_of_the_paper(tmp_path: Path) -> None:
    """Keys of 4 documents in 4 bands, as the rows of Design 1 and of Design 2: tables 1 to 4."""
    keys = np.arange(11, 27, dtype=np.uint64).reshape(4, 4)  # a line for each document
    parts = {0: keys[:2], 1: keys[2:]}
    for scheme in ("sqlite-rows", "sqlite"):
        with opened(f"{scheme}:{tmp_path / scheme}", "tables") as store:
            assert isinstance(store, RunStore)
            store.create(Header("tables", 4))
            for number, part in parts.items():
                store.put(number, np.ascontiguousarray(part.T), b"")
            if scheme == "sqlite-rows":
                rows = store._database.rows("SELECT band, partition, document, key FROM key_rows")
                cells = {(2 * part + at, band): key for band, part, at, key in rows}
                assert len(rows) == 16
                assert cells == {(d, b): int(keys[d, b]) for d in range(4) for b in range(4)}
            else:
                rows = store._database.rows("SELECT size FROM bands WHERE space = 'keys'")
                assert [size for (size,) in rows] == [2 * 8] * 8
            read = [np.concatenate([part for _, part in store.band(b)]) for b in range(4)]
            assert np.array_equal(np.stack(read, axis=1), keys)


def test_a_store_without_its_design_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite-rows:{tmp_path / 'keys'}"
    check_design(Store("Design 1, SQLite", url), url)
    check_design(Store("in memory", "memory"), "memory")
    other = f"sqlite:{tmp_path / 'other'}"
    with pytest.raises(StoreError, match="Design 1, SQLite: 24 keys are in 8 rows, not in 24"):
        check_design(Store("Design 1, SQLite", other), other)
    monkeypatch.setattr(SqliteRows, "_band", lambda *_: iter([]))
    with pytest.raises(StoreError, match="missing or damaged"):
        check_design(Store("Design 1, SQLite", url), url)
