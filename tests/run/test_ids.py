"""Ids that are no texts, and stores that a run leaves as they were."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import neardup
from neardup.errors import DuplicateIdError, StoreError
from neardup.stores import Header, open_store


@pytest.mark.parametrize("type", [pa.binary(), pa.large_binary(), pa.binary(2)])
def test_ids_may_be_any_bytes(type: pa.DataType) -> None:
    ids = pa.array([b"\xff\xfe", b"\xff\x00", b"\xff\xfe"], type)
    table = pa.table({"text": ["a", "b", "c"], "id": ids})
    with pytest.raises(DuplicateIdError, match="record 3"):
        neardup.dedup(table, id="id")
    assert len(neardup.dedup(table[:2], id="id").clusters) == 2


def test_a_failed_run_leaves_nothing_in_a_store(tmp_path: Path) -> None:
    """What is wrong with the input is mended, and then it is another input."""
    notes, store = tmp_path / "notes.jsonl", tmp_path / "bands.sqlite"
    notes.write_text('{"id":1,"text":"a b"}\n{"id":1,"text":"c d"}\n')
    storage = neardup.Storage(store=f"sqlite:{store}")
    with pytest.raises(DuplicateIdError):
        neardup.dedup_files([notes], tmp_path / "out", id="id", storage=storage)
    assert not (tmp_path / "out").exists()
    notes.write_text('{"id":1,"text":"a b"}\n{"id":2,"text":"c d"}\n')
    neardup.dedup_files([notes], tmp_path / "out", id="id", storage=storage)


def test_the_run_of_another_stays(tmp_path: Path) -> None:
    notes, path = tmp_path / "notes.jsonl", tmp_path / "bands.sqlite"
    notes.write_text('{"text":"a b"}\n')
    with open_store(f"sqlite:{path}") as store:
        store.create(Header("of another", 1, {"run": "another"}))
    storage = neardup.Storage(store=f"sqlite:{path}")
    with pytest.raises(StoreError, match="holds a run already"):
        neardup.dedup_files([notes], tmp_path / "out", storage=storage)
    with open_store(f"sqlite:{path}") as store:
        assert store.open().digest == "of another"
