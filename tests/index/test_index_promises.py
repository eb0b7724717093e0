"""What an index promises beside its answers: ids, duplicates, turns, and that it closes."""

from __future__ import annotations

import multiprocessing
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup
from common import Tune
from neardup.errors import ArgumentError, InputError, StoreError, UnknownIdError
from neardup.index.storing import merging

SPEC = neardup.Spec(shingle=neardup.ShingleSpec(n=2), threshold=0.6, num_bands=8, rows=2)


def texts_of(first: int, count: int) -> list[str]:
    return [f"a{i} b{i} c{i} d{i}" for i in range(first, first + count)]


@pytest.fixture
def small_segments(tune: Tune) -> None:
    tune(logged_documents=10)


# Ids.


def test_ids_that_the_index_gives_are_positions(small_segments: None) -> None:
    index = neardup.Index.create(spec=SPEC)
    for first in range(0, 100, 20):  # each becomes a segment, and four of them one
        assert index.add(texts_of(first, 20)) == 20
    assert index.ids().to_pylist() == list(range(100)) and index.stats()["segments"] > 0
    index.update(3, "another text of some words")
    assert index.add(["one more"]) == 1
    assert index.ids().to_pylist() == [*range(3), *range(4, 100), 3, 100]
    answers = index.add_if_new([texts_of(5, 1)[0], "new words here"])
    assert answers.column("id").to_pylist() == [101, 102]
    assert answers.column("kept").to_pylist() == [False, True]
    assert index.check() == []


# Duplicates.


def test_duplicates_of_a_removed_document_are_returned(tmp_path: Path) -> None:
    index = neardup.Index.create(tmp_path / "i", spec=SPEC)
    one, other = "a b c d e f", "x y z"
    table = index.add_if_new([one, one, other, one, other], ids=["r", "p", "s", "q", "t"])
    assert table.column("duplicate_of").to_pylist() == [None, "r", None, "r", "s"]
    index.close()
    with neardup.Index.open(tmp_path / "i") as index:
        assert index.stats()["duplicates"] == 3
        assert index.remove("q") == []  # it was a duplicate, and is none any more
        with pytest.raises(UnknownIdError):
            index.remove(["q"])
        assert index.remove(["r", "s"]) == ["p", "t"]
        assert len(index) == 0 and index.check() == []
        assert index.add_if_new("p", one).kept
        assert index.add_if_new("r", one).duplicate_of == "p"
        assert index.remove("p") == ["r"]


def test_a_duplicate_that_came_in_is_a_document() -> None:
    index = neardup.Index.create(spec=SPEC)
    index.add_if_new(["a b c d e f"] * 3, ids=[1, 2, 3])
    index.add(["a b c d e f"], ids=[2])  # whatever it is similar to
    assert index.remove(1) == [3]
    assert index.ids().to_pylist() == [2] and index.check() == []


def test_an_update_says_what_it_stands_next_to() -> None:
    a, near = "a b c d e f g h", "a b c d e f g x"
    for if_new in (False, True):
        index = neardup.Index.create(spec=SPEC)
        index.add_if_new([a, "p q r s", "p q r s"], ids=["a", "c", "d"])
        answer = index.update("c", near, if_new=if_new)
        assert (answer.kept, answer.duplicate_of) == (not if_new, "a")
        assert answer.similarity == 0.75 and answer.released == ["d"]
        assert index.query(a).column("id").to_pylist() == (["a"] if if_new else ["a", "c"])
        assert ("c" in index) != if_new
        # What is removed later releases what it is a duplicate of.
        assert index.remove("a") == (["c"] if if_new else [])
        answer = index.add_if_new("d", "p q r s")
        assert answer.kept and index.check() == []
    index.update("d", "k l m n", if_new=True)
    assert index.get("d") == "k l m n"


def test_duplicates_go_into_another_index() -> None:
    one, two = (neardup.Index.create(spec=SPEC) for _ in range(2))
    two.add_if_new(["a b c d"] * 2 + ["x y z"] * 2, ids=[1, 2, 3, 4])
    one.add(["x y z"], ids=[3])
    assert one.merge(two, on_conflict="skip") == 1
    assert one.remove([1, 3]) == [2]


def test_damage_to_what_was_noted_is_found(tmp_path: Path) -> None:
    index = neardup.Index.create(tmp_path / "i", spec=SPEC)
    index.add_if_new(["a b c d"] * 2, ids=["r", "p"])
    with index._core.writing():
        index._core.catalogue.execute("UPDATE duplicates SET id = 'q'")
    assert "duplicates is damaged" in index.check()[0]
    index.close()
    with neardup.Index.open(tmp_path / "i") as index, pytest.raises(StoreError, match="damaged"):
        index.remove("r")
    index = neardup.Index.create(spec=SPEC)
    with index._core.writing():
        index._core.duplicates.note([("p", "s")])
    assert "of documents that are not there" in index.check()[0]


# Turns.


def test_an_index_is_opened_while_another_process_writes(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    with neardup.Index.create(folder, spec=SPEC) as index:
        index.add(texts_of(0, 3), ids=range(3))
    left = folder / "segment-00000077"  # by a process that was killed
    left.write_bytes(b"")
    other = sqlite3.connect(folder / "index.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    begin = time.monotonic()
    with neardup.Index.open(folder, timeout=30) as index:
        assert index.is_duplicate(texts_of(1, 1)[0]) and time.monotonic() - begin < 10
        assert left.exists()  # it might be the segment that the other one writes
        other.execute("ROLLBACK")
        assert index.add(["more text"], ids=[9]) == 1
    neardup.Index.open(folder).close()
    assert not left.exists()


@pytest.mark.long
@pytest.mark.parametrize("busy", ["thread", "process"])
def test_a_merge_waits_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_segments: None, busy: str
) -> None:
    """Transactions longer than the timeout, with nearly no time between them."""
    folder = tmp_path / "i"
    index = neardup.Index.create(folder, spec=SPEC, durable="process", timeout=0.2)
    begun, go = threading.Event(), threading.Event()
    write = merging.write_file

    def held(path: Path, *args: Any) -> Any:
        if threading.current_thread().name == "neardup-merge":
            begun.set()
            assert go.wait(30)
        return write(path, *args)

    monkeypatch.setattr(merging, "write_file", held)
    for first in range(0, 80, 20):
        index.add(texts_of(first, 20), ids=range(first, first + 20))
    assert begun.wait(30) and index.stats()["segments"] == 4
    other = sqlite3.connect(folder / "index.sqlite", isolation_level=None)

    def transaction() -> None:
        if busy == "process":
            other.execute("BEGIN IMMEDIATE")
            time.sleep(0.5)
            other.execute("ROLLBACK")
            time.sleep(0.05)
        else:
            with index._core.writing():
                time.sleep(0.5)

    with index._core.writing():
        go.set()
        time.sleep(0.5)
    for _ in range(4):
        transaction()
    thread = index._merger._thread
    assert thread is None or not thread.is_alive()
    assert index.stats()["segments"] == 1 and index.check() == []


def test_to_close_does_not_wait_for_ever(tmp_path: Path, small_segments: None) -> None:
    index = neardup.Index.create(tmp_path / "i", spec=SPEC, durable="process", timeout=0.2)
    for first in range(0, 60, 20):
        index.add(texts_of(first, 20), ids=range(first, first + 20))
    other = sqlite3.connect(tmp_path / "i" / "index.sqlite", isolation_level=None)
    due = index._merger.after_insert

    def after_insert() -> None:
        other.execute("BEGIN IMMEDIATE")
        due()

    index._merger.after_insert = after_insert  # type: ignore[method-assign]
    index.add(texts_of(60, 20), ids=range(60, 80))
    closing = threading.Thread(target=index.close, daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()
    other.close()
    with neardup.Index.open(tmp_path / "i") as index:
        assert index.stats()["segments"] == 4 and index.check() == []


@pytest.mark.long
def test_a_merge_of_another_container_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_segments: None
) -> None:
    import psutil

    monkeypatch.setattr(psutil, "pid_exists", lambda pid: False)  # as in another name space
    folder = tmp_path / "i"
    index = neardup.Index.create(folder, spec=SPEC, durable="process")
    begun, go = threading.Event(), threading.Event()
    rename = merging.segment_path

    def held(path: Path, number: int) -> Path:
        if threading.current_thread().name == "neardup-merge" and not begun.is_set():
            begun.set()
            assert go.wait(30)
        return rename(path, number)

    monkeypatch.setattr(merging, "segment_path", held)
    for first in range(0, 80, 20):
        index.add(texts_of(first, 20), ids=range(first, first + 20))
    assert begun.wait(30)  # the partial file is there
    partial = [path for path in folder.iterdir() if path.name.startswith("merge")]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_opened, (folder,)) == 80
    assert all(path.exists() for path in partial) and partial
    go.set()
    index.close()
    with neardup.Index.open(folder) as index:
        assert index.stats()["segments"] == 1 and index.check() == []


def _opened(folder: Path) -> int:
    with neardup.Index.open(folder, timeout=0.1) as index:
        return len(index)


def test_a_partial_merge_that_was_killed_is_removed(tmp_path: Path) -> None:
    neardup.Index.create(tmp_path / "i", spec=SPEC).close()
    partial = tmp_path / "i" / "merge.partial"
    partial.write_bytes(b"half of it")
    neardup.Index.open(tmp_path / "i").close()
    assert not partial.exists()


def test_a_batch_against_an_index_leaves_it_between_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tune: Tune
) -> None:
    folder = tmp_path / "i"
    index = neardup.Index.create(folder, spec=SPEC, durable="process")
    index.add(texts_of(0, 40), ids=range(40))
    batch = [*texts_of(30, 20), *texts_of(100, 10), *texts_of(40, 20)]
    expected = neardup.against(batch, index).clusters
    tune(inserted_documents=10)
    sketched, number = index._core.sketched, iter(range(1000, 2000))
    free: list[bool] = []

    def between(*args: Any) -> Any:
        if sys._getframe(1).f_code.co_name == "_how_alike":  # within a slice: old texts
            return sketched(*args)
        other = sqlite3.connect(folder / "index.sqlite", isolation_level=None)
        busy = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        other.close()
        added = threading.Thread(  # of documents that the batch has, too
            target=lambda: index.add(texts_of(40, 20), ids=[next(number) for _ in range(20)])
        )
        added.start()
        added.join(10)
        free.append(not busy and not added.is_alive())
        return sketched(*args)

    monkeypatch.setattr(index._core, "sketched", between)
    assert neardup.against(batch, index).clusters.equals(expected)
    assert free == [True] * 5 and len(index) == 140


# Small calls.


@pytest.mark.parametrize("count", [1, 8])
def test_a_small_call_is_one_transaction_without_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    index = neardup.Index.create(tmp_path / "i", spec=SPEC)
    index.add_if_new([*texts_of(0, 9), "a b c d e f"], ids=range(10))
    done: list[str] = []
    core = index._core
    core.catalogue._connected().set_trace_callback(done.append)
    monkeypatch.setattr(core.verifier.pool, "submit", None)
    monkeypatch.setattr(core.verifier.pool, "_pool", None)
    texts = ["a b c d e f g", *texts_of(20, 5), "p q r s t", "p q r s t u"]
    if count == 1:
        answers = [index.add_if_new(100 + i, text) for i, text in enumerate(texts)]
        found = [(a.kept, a.duplicate_of) for a in answers]
    else:
        table = index.add_if_new(texts, ids=range(100, 108))
        columns = [table.column(name).to_pylist() for name in ("kept", "duplicate_of")]
        found = list(zip(*columns, strict=True))
    assert found == [(False, 9), *[(True, None)] * 6, (False, 106)]
    assert index.query("a b c d e f").column("id").to_pylist() == [9]
    calls = len(texts) // count
    began = [text for text in done if text.startswith("BEGIN")]
    assert began == [*["BEGIN IMMEDIATE"] * calls, "BEGIN"]
    assert done.count("COMMIT") == calls + 1


# What is refused.


@pytest.mark.parametrize("folder", [False, True])
def test_a_closed_index_raises(tmp_path: Path, folder: bool) -> None:
    path = tmp_path / "i" if folder else None
    index = neardup.Index.create(path, spec=SPEC)
    index.add(["a b c", "x y z"], ids=[1, 2])
    index.close()
    index.close()
    calls: list[Callable[[], object]] = [
        lambda: index.add(["p q"], ids=[3]),
        lambda: index.add_if_new(3, "p q"),
        lambda: index.add_if_new(["p q"], ids=[3]),
        lambda: index.query("a b c"),
        lambda: index.first_matches(["a b c"]),
        lambda: index.is_duplicate("a b c"),
        lambda: index.get(1),
        lambda: index.explain("a b c", 1),
        lambda: index.remove(1),
        lambda: index.update(1, "p q"),
        lambda: index.compact(),
        lambda: index.check(),
        lambda: index.stats(),
        lambda: index.ids(),
        lambda: index.spelled(["1"]),
        lambda: index.merge(neardup.Index.create(spec=SPEC)),
        lambda: neardup.Index.create(spec=SPEC).merge(index),
        lambda: neardup.against(["a b c"], index),
        lambda: len(index),
        lambda: 1 in index,
        lambda: index.__enter__(),
    ]
    for call in calls:
        with pytest.raises(StoreError, match="closed"):
            call()
    assert "closed" in repr(index) and index.spec == SPEC


def test_none_is_no_text() -> None:
    index = neardup.Index.create(spec=SPEC)
    index.add(["a b c"], ids=["k"])
    nothing: Any = None
    calls: list[Callable[[], object]] = [
        lambda: index.add_if_new("k", nothing),
        lambda: index.add_if_new(7, nothing),
        lambda: index.update("k", nothing),
        lambda: index.is_duplicate(nothing),
        lambda: index.explain(nothing, "k"),
        lambda: index.query(nothing),
        lambda: index.first_matches(nothing),
        lambda: index.add(nothing),
        lambda: index.add_if_new(nothing),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match="None"):
            call()
    assert index.get("k") == "a b c" and len(index) == 1
    for wrong in (b"bytes", 5, ["a"]):
        with pytest.raises(ArgumentError, match="text"):
            index.is_duplicate(wrong)  # type: ignore[arg-type]
    # In a batch, a null is an empty text, as it is for a run.
    other = neardup.Index.create(spec=SPEC)
    table = other.add_if_new(pa.table({"text": [None, "x y"]}))
    assert table.column("kept").to_pylist() == [True, True]


def test_what_is_no_index_is_not_merged(tmp_path: Path) -> None:
    index = neardup.Index.create(spec=SPEC)
    with neardup.Index.create(tmp_path / "i", spec=SPEC):
        for wrong in (tmp_path / "i", str(tmp_path / "i")):
            with pytest.raises(ArgumentError, match="expected an Index") as caught:
                index.merge(wrong)  # type: ignore[arg-type]
            assert "Index.open" in caught.value.hint
    with pytest.raises(ArgumentError, match="expected an Index"):
        index.merge(None)  # type: ignore[arg-type]


def test_messages_name_the_class() -> None:
    assert neardup.Index.__mro__ == (neardup.Index, object)
    index: Any = neardup.Index.create(spec=SPEC)
    for name in ("add", "add_if_new", "query", "update", "remove", "merge", "create"):
        with pytest.raises(TypeError, match=rf"^Index\.{name}\(\)"):
            getattr(index, name)(wrong=1)


def test_an_unknown_id_is_a_key_error() -> None:
    index = neardup.Index.create(spec=SPEC)
    with pytest.raises(KeyError) as caught:
        index.get("k")
    assert isinstance(caught.value, InputError) and "'k'" in str(caught.value)
