"""What a damaged database has lost is never answered as new, as unknown, or as removed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import Tune
from neardup.errors import InputNotFoundError, StoreError
from neardup.synth.persons import PersonSpec, persons

SPEC = neardup.Spec(shingle=neardup.ShingleSpec(n=2), threshold=0.6, num_bands=8, rows=2)
FIELDS = ["given_name", "surname", "birth:digits", "postcode"]
TEXTS = [f"a{i} b{i} c{i} d{i}" for i in range(60)]
READS: dict[str, Callable[[neardup.Index], Any]] = {
    "get": lambda index: index.get(7),
    "contains": lambda index: 7 in index,
    "query": lambda index: index.query(TEXTS[7]),
    "ids": lambda index: index.ids(),
    "buckets": lambda index: list(index.buckets(1)),
    "add_if_new": lambda index: index.add_if_new(7, TEXTS[7]),
    "another id": lambda index: index.add_if_new(700, TEXTS[7]),
    "add": lambda index: index.add([TEXTS[7]], ids=[7], on_conflict="skip"),
    "remove": lambda index: index.remove(7),
    "update": lambda index: index.update(7, "other words are here"),
    "merge": lambda index: neardup.Index.create(spec=SPEC).merge(index),
}


@pytest.fixture(params=[True, False], ids=["segment", "log"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, tune: Tune) -> Path:
    if request.param:
        tune(logged_documents=20)
    with neardup.Index.create(tmp_path / "i", spec=SPEC) as index:
        index.add_if_new(TEXTS, ids=range(60))
        index.add_if_new(TEXTS[:5], ids=range(100, 105))
        index.remove([30, 31])
    return tmp_path / "i"


def change(folder: Path, *statements: str, name: str = "index.sqlite") -> None:
    with closing(sqlite3.connect(folder / name)) as database, database:
        for statement in statements:
            database.execute(statement)


@pytest.mark.parametrize("name", READS)
def test_a_lost_document_is_damage(folder: Path, name: str) -> None:
    change(folder, "DELETE FROM documents WHERE doc = 7")
    with (
        neardup.Index.open(folder) as index,
        pytest.raises(
            StoreError, match=r"index\.sqlite: its list of documents is damaged"
        ) as found,
    ):
        READS[name](index)
    assert "restore the index" in found.value.hint


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM log WHERE doc = 59", "its log is damaged"),
        ("DELETE FROM segments", "its list of segments is damaged"),
        ("DELETE FROM state", "its state is damaged"),
        ("UPDATE documents SET body = x'00' WHERE doc = 7", "document number 7 is damaged"),
    ],
)
def test_other_rows_that_are_lost_are_damage(folder: Path, statement: str, message: str) -> None:
    before = (folder / "index.sqlite").read_bytes()
    change(folder, statement)
    if (folder / "index.sqlite").read_bytes() == before:
        return  # it has no such row
    with pytest.raises(StoreError, match=message), neardup.Index.open(folder) as index:
        index.query(TEXTS)


def test_a_removed_document_needs_proof(folder: Path) -> None:
    with neardup.Index.open(folder) as index:
        assert index.query([TEXTS[30]]).num_rows == 0 and index.check() == []
        assert index.add_if_new(30, TEXTS[30]).kept
        assert index.stats()["removed"] == 2
    for statement in ("DELETE FROM removed WHERE doc = 30", "UPDATE removed SET doc = 40"):
        copy = shutil.copytree(folder, folder.parent / statement[:6])
        change(copy, "DELETE FROM removed WHERE doc = 31", statement)
        with neardup.Index.open(copy) as index:
            with pytest.raises(StoreError, match="its list of documents is damaged"):
                index.query([TEXTS[30]])
            with pytest.raises(StoreError, match="its list of removed documents is damaged"):
                index.compact()
            assert "removed documents is damaged" in index.check()[-1]
    with neardup.Index.open(folder) as index:
        index.compact()
        assert index.stats()["removed"] == 0 and index.check() == []
        assert index.query([TEXTS[31]]).num_rows == 0


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM duplicates WHERE id = 101",
        "UPDATE duplicates SET duplicate_of = 9 WHERE id = 101",
        "UPDATE duplicates SET checksum = 9 WHERE id = 101",
    ],
)
def test_duplicates_that_are_lost_are_damage(folder: Path, statement: str) -> None:
    with neardup.Index.open(folder) as index:
        assert index.stats()["duplicates"] == 5
    change(folder, statement)
    for call in (lambda i: i.remove(1), lambda i: i.remove(101), lambda i: i.update(1, "x y z")):
        with (
            neardup.Index.open(folder) as index,
            pytest.raises(StoreError, match="its list of duplicates is damaged"),
        ):
            call(index)


def test_sums_follow_all_changes(folder: Path) -> None:
    with neardup.Index.open(folder) as index:
        index.add_if_new(TEXTS[:3], ids=[100, 301, 302])  # 100 is noted again
        assert sorted(index.remove(1)) == [101, 301]
        index.update(2, TEXTS[30])
        index.add([TEXTS[31]], ids=[3], on_conflict="replace")
        assert index.check() == []
        with neardup.Index.create(folder.parent / "other", spec=SPEC) as other:
            other.merge(index)
            assert other.check() == [] and other.stats()["duplicates"] > 0
        index.compact(purge=True)
    with neardup.Index.open(folder) as index:
        assert index.check() == [] and len(index.ids()) == len(index)
        assert [index.get(id_) for id_ in (2, 3)] == [TEXTS[30], TEXTS[31]]


def test_a_database_that_is_gone_is_damage(folder: Path) -> None:
    (folder / "index.sqlite").unlink()
    with pytest.raises(StoreError, match=r"index\.sqlite is missing"):
        neardup.Index.open(folder)
    with pytest.raises(InputNotFoundError, match="there is no index"):
        neardup.Index.open(folder.parent / "nothing")


def test_records_that_are_lost_are_damage(tmp_path: Path) -> None:
    people = persons(PersonSpec(120, 0))
    neardup.link(
        people.slice(0, 100), id="id", fields=["given_name", "surname", "birth:digits", "postcode"]
    ).index(tmp_path / "whole").close()
    with neardup.RecordIndex.open(tmp_path / "whole") as index:
        neardup.link(people.slice(100, 10), against=index)
    ids = people["id"].to_pylist()
    calls: dict[str, Callable[[neardup.RecordIndex], Any]] = {
        "DELETE FROM documents WHERE doc = 3": lambda index: index.clusters,
        "DELETE FROM documents WHERE doc = 4": lambda index: index.explain(ids[4], ids[5]),
        "DELETE FROM documents WHERE doc = 104": lambda index: index.explain(ids[4], ids[102]),
        "DELETE FROM batches": lambda index: index.explain(ids[4], ids[102]),
        "DELETE FROM sizes": lambda index: index.remove(ids[4]),
        "UPDATE sizes SET size = size + 1": lambda index: index.remove(ids[5]),
        "UPDATE learnt SET name = 'models' WHERE name = 'model'": (
            lambda index: neardup.link(people.slice(110), against=index)
        ),
    }
    for number, (statement, call) in enumerate(calls.items()):
        folder = shutil.copytree(tmp_path / "whole", tmp_path / str(number))
        change(folder, statement, name="records.sqlite")
        with (
            neardup.RecordIndex.open(folder) as index,
            pytest.raises(StoreError, match="is damaged"),
        ):
            call(index)
    (folder / "records.sqlite").unlink()
    with pytest.raises(StoreError, match=r"records\.sqlite is missing"):
        neardup.RecordIndex.open(folder)
