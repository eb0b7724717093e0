"""The designs of the paper in SQLite; those in Cassandra are in `test_state_cassandra`."""

from __future__ import annotations

from pathlib import Path

import pytest
from design_rows import DESIGNS, rows_in

from experiments.designs import check_design
from experiments.row_stores import SqliteRows
from experiments.stores import Store
from neardup.errors import StoreError


@pytest.mark.parametrize(
    ("design", "scheme"), [("Design 1", "sqlite-rows"), ("Design 2", "sqlite")]
)
def test_rows_in_sqlite(design: str, scheme: str, tmp_path: Path) -> None:
    assert rows_in(f"{scheme}:{tmp_path / 'keys'}") == DESIGNS[design]


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
