"""What goes wrong around an index: power failures, forks, threads, errors after a commit."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import shutil
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup
from common import Command, Tune
from neardup.compat.datasketch import MinHash, MinHashLSH
from neardup.errors import (
    DuplicateIdError,
    InputError,
    InputNotFoundError,
    RecipeError,
    SpecError,
    StoreError,
)
from neardup.index.storing import location
from neardup.index.storing.index_check import require_last_commit
from neardup.state.output_folder import output_folder

SPEC = neardup.Spec(shingle=neardup.ShingleSpec(n=2), threshold=0.6, num_bands=8, rows=2)


def texts_of(first: int, count: int) -> list[str]:
    return [f"a{i} b{i} c{i} d{i}" for i in range(first, first + count)]


@pytest.fixture
def small_segments(tune: Tune) -> None:
    tune(logged_documents=20)


@pytest.mark.parametrize("durable", ["power", "process"])
def test_a_merge_survives_a_power_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: Any, small_segments: None
) -> None:
    folder = tmp_path / "index"
    index = neardup.Index.create(folder, spec=SPEC, durable=durable)
    for first in (0, 30):
        index.add(texts_of(first, 30), ids=range(first, first + 30))
    index._merger.stop()
    done: list[str] = []
    fsync, replace, unlink = os.fsync, Path.replace, Path.unlink

    def spied_fsync(handle: int) -> None:
        place_ = Path(f"/proc/self/fd/{handle}").readlink().name
        done.append(f"sync {place_}")
        fsync(handle)

    def spied_replace(self: Path, target: Path) -> Path:
        done.append("rename")
        return replace(self, target)

    def spied_unlink(self: Path, missing_ok: bool = False) -> None:
        if self.name.startswith("segment-"):
            done.append("unlink")
        unlink(self, missing_ok)

    monkeypatch.setattr(os, "fsync", spied_fsync)
    monkeypatch.setattr(Path, "replace", spied_replace)
    monkeypatch.setattr(Path, "unlink", spied_unlink)
    index._core.catalogue._connected().set_trace_callback(
        lambda text: done.append("commit") if text == "COMMIT" else None
    )
    index.compact()
    renamed = done.index("rename")
    committed = done.index("commit", renamed)
    assert "sync index" in done[renamed:committed]
    assert "sync index.sqlite-wal" in done[committed : done.index("unlink")]
    assert len(index) == 60 and index.check() == []


def test_a_child_can_ask_for_a_batch(tmp_path: Path) -> None:
    index = neardup.Index.create(tmp_path / "index", spec=SPEC, durable="process")
    texts = texts_of(0, 1500)
    index.add(texts, ids=range(1500))  # threads are running now
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        code = 1
        try:
            code = int(index.query(texts).num_rows != 1500)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def hashed(words: list[str], seed: int = 1) -> MinHash:
    made = MinHash(seed=seed)
    made.update_batch([word.encode() for word in words])
    return made


def test_sets_stay_after_a_segment_is_written(tmp_path: Path, small_segments: None) -> None:
    config = {"type": "sqlite", "path": tmp_path / "sets"}
    sets = MinHashLSH(threshold=0.8, storage_config=config)
    made = {key: hashed([f"{key}-{i}" for i in range(5)]) for key in range(50)}
    for key, minhash in made.items():
        sets.insert(key, minhash)
    assert all(key in sets.query(minhash) for key, minhash in made.items())
    other = MinHashLSH(threshold=0.8)
    other.merge(sets)
    assert all(key in other.query(minhash) for key, minhash in made.items())
    stored = sets._sets._index
    assert stored.stats()["segments"] > 0 and stored.check() == []


def test_an_error_of_a_nested_transaction_forgets(small_segments: None) -> None:
    index = neardup.Index.create(spec=SPEC)
    with index._core.writing():
        index.add(texts_of(0, 30))
        index._core.forget()
    assert index.is_duplicate(texts_of(3, 1)[0])


@pytest.mark.parametrize("verified", [False, True])
def test_the_seed_of_sets_is_kept(tmp_path: Path, verified: bool) -> None:
    words = [str(i) for i in range(50)]
    config = {"type": "sqlite", "path": tmp_path / "sets"}
    sets = MinHashLSH(threshold=0.8, storage_config=config, verified=verified)
    sets.insert("k", hashed(words, 7))
    opened = MinHashLSH(threshold=0.8, storage_config=config, verified=verified)
    merged = MinHashLSH(threshold=0.8, verified=verified)
    merged.merge(sets)
    for found in (sets, opened, merged, *(pickle.loads(pickle.dumps(s)) for s in (sets, merged))):
        assert found.query(hashed(words, 7)) == ["k"]
        for call in (found.query, lambda m, f=found: f.insert("l", m)):
            with pytest.raises(SpecError, match="seed"):
                call(hashed(words, 8))
        assert len(found.keys) == 1
    other = MinHashLSH(threshold=0.8, verified=verified)
    other.insert("k", hashed(words, 8))
    with pytest.raises(SpecError, match="seed"):
        merged.merge(other)


def test_ids_that_the_index_gives_are_used_once() -> None:
    index = neardup.Index.create(shingle="word:2")
    found = index.add_if_new(["a b c d", "a b c d", "x y z w"]).column("id").to_pylist()
    found += index.add_if_new(["x y z w"]).column("id").to_pylist()
    found += index.add_if_new(["k l m n", "o p q r"]).column("id").to_pylist()
    assert len(set(found)) == 6
    assert index.ids().to_pylist() == [found[0], found[2], found[4], found[5]]


def test_what_fails_after_a_commit_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tune: Tune
) -> None:
    tune(logged_documents=3)
    folder = tmp_path / "index"
    index = neardup.Index.create(folder, spec=SPEC, timeout=0.1)
    other = sqlite3.connect(folder / "index.sqlite", isolation_level=None)
    due = index._merger.after_insert

    def after_insert() -> None:
        other.execute("BEGIN IMMEDIATE")  # between the two transactions
        due()
        other.execute("ROLLBACK")

    monkeypatch.setattr(index._merger, "after_insert", after_insert)
    assert index.add(texts_of(0, 4), ids=range(4)) == 4
    assert index.add_if_new(4, texts_of(4, 1)[0]).kept
    assert len(index) == 5 and index.check() == []


def test_a_recipe_must_agree() -> None:
    recipe = neardup.Index.create(shingle="word:3", threshold=0.8).recipe
    index = neardup.Index.create(recipe=recipe, threshold=0.8)
    assert index.spec.shingle == recipe.shingle
    with pytest.raises(RecipeError, match="shingle"):
        neardup.Index.create(recipe=recipe, shingle="word:1")
    with pytest.raises(RecipeError, match=r"threshold 0\.2"):
        neardup.Index.create(recipe=recipe, threshold=0.2)
    assert neardup.Index.create(recipe=recipe, threshold=0.2, recall=0.0001).spec.threshold == 0.2


def test_the_recipe_of_a_run_is_public() -> None:
    run = neardup.dedup(texts_of(0, 3), threshold=0.8)
    index = neardup.Index.create(recipe=run.recipe, threshold=0.8)
    assert index.recipe == run.recipe


def test_a_reader_without_permission_is_not_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "index"
    with neardup.Index.create(folder, spec=SPEC) as index:
        index.add(texts_of(0, 3), ids=range(3))

    def access(path: Path, mode: int) -> bool:
        return False

    with monkeypatch.context() as patch:
        patch.setattr(os, "access", access)
        with pytest.raises(StoreError, match="can't read"):
            neardup.Index.open(folder, readonly=True)
    index = neardup.Index.open(folder)
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", access)
        index.add(texts_of(3, 1), ids=[3])  # a writer has it open
        with neardup.Index.open(folder, readonly=True) as reader:
            index.add(texts_of(4, 1), ids=[4])
            assert len(reader) == 5
    index.close()
    monkeypatch.setattr(os, "access", access)
    with monkeypatch.context() as patch:
        patch.setattr("neardup.index.storing.catalogue.is_writable_disk", lambda path: False)
        assert len(neardup.Index.open(folder, readonly=True)) == 5


def test_indexes_can_be_merged_both_ways_at_once() -> None:
    pair = [neardup.Index.create(spec=SPEC) for _ in range(2)]
    for number, index in enumerate(pair):
        index.add(texts_of(100 * number, 50), ids=range(100 * number, 100 * number + 50))
    first, second = threading.Barrier(2), pair

    def merge(a: int) -> None:
        first.wait()
        for _ in range(5):
            second[a].merge(second[1 - a], on_conflict="skip")

    threads = [threading.Thread(target=merge, args=(a,), daemon=True) for a in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert [len(index) for index in pair] == [100, 100]


def test_a_thread_that_waits_to_write_gives_up() -> None:
    index = neardup.Index.create(spec=SPEC, timeout=0.1)
    caught: list[Exception] = []

    def add() -> None:
        try:
            index.add(["a b c"], ids=[1])
        except StoreError as error:
            caught.append(error)

    with index._core.writing():
        thread = threading.Thread(target=add, daemon=True)
        thread.start()
        thread.join(10)
    assert "another thread" in str(caught[0]) and len(index) == 0


def test_ids_of_numpy_and_messages_about_ids() -> None:
    index = neardup.Index.create(spec=SPEC)
    assert index.add_if_new(np.int64(3), "a b c").id == 3
    assert index.remove(np.int64(3)) == []
    with pytest.raises(InputError) as caught:
        index.add(["x y"], ids=[["a secret text"]])
    assert "secret" not in str(caught.value) and "list" in str(caught.value)


def test_the_last_mount_at_a_place_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    class Mount:
        def __init__(self, fstype: str) -> None:
            self.mountpoint, self.fstype = "/", fstype

    monkeypatch.setattr(psutil, "disk_partitions", lambda all: [Mount("autofs"), Mount("nfs4")])
    assert location.file_system_of(Path("/anything")) == "nfs4"
    for name in ("9p", "virtiofs", "vboxsf", "fuse.juicefs", "fuse.blobfuse2"):
        assert location._REMOTE.fullmatch(name), name


def test_an_index_of_a_run_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = neardup.dedup(texts_of(0, 3), threshold=0.8)
    folder = tmp_path / "index"
    with monkeypatch.context() as patch:
        patch.setattr(neardup.Index, "_insert", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            neardup.Index.from_run(run, folder)
    assert list(tmp_path.iterdir()) == []
    with neardup.Index.from_run(run, folder) as index:
        assert len(index) == 3 and index.path == folder
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize("at", [3, 10_002])  # in a batch, and in the next one
@pytest.mark.parametrize("conflict", ["error", "replace", "skip"])
def test_an_id_that_is_given_twice(at: int, conflict: Any) -> None:
    index = neardup.Index.create(spec=SPEC, store_text=False)
    texts, ids = ["", *texts_of(0, 2), *[""] * at], list(range(at + 3))
    ids[at] = 1
    texts[at] = "p q r s"
    if conflict == "error":
        with pytest.raises(DuplicateIdError):
            index.add(texts, ids=ids, on_conflict=conflict)
        return
    assert index.add(texts, ids=ids, on_conflict=conflict) == at + 2 + (conflict == "replace")
    assert index.is_duplicate("p q r s") == (conflict == "replace")
    assert len(index) == at + 2


def test_good_lines_before_a_bad_one_are_answered(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command("index", "create", tmp_path / "i")
    data = b'{"id": 1, "text": "a b"}\n{"id": 2, "text": "c d"}\nbad\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    answer = command("stream", "--index", tmp_path / "i")
    assert answer.code == 1 and "line 3" in answer.error
    assert [json.loads(line)["id"] for line in answer.out.splitlines()] == [1, 2]
    assert len(neardup.Index.open(tmp_path / "i")) == 2


@pytest.mark.parametrize(
    "args",
    [
        ["index", "create", "OUT", "--from-run", "RUN", "--threshold", "0.3"],
        ["index", "create", "OUT", "--from-run", "RUN", "--shingle", "char:9"],
        ["dedup", "NOTES", "-o", "OUT", "--against", "RUN", "--threshold", "0.8"],
        ["dedup", "NOTES", "-o", "OUT", "--against", "RUN", "--keep", "longest"],
        [
            "decontaminate",
            "NOTES",
            "-o",
            "OUT",
            "--against",
            "NOTES",
            "--passage=5",
            "--by=similarity",
        ],
    ],
)
def test_options_without_effect_are_refused(
    command: Command, notes: Path, tmp_path: Path, args: list[Any]
) -> None:
    places = {"OUT": tmp_path / "out", "RUN": tmp_path / "run", "NOTES": notes}
    if args[0] == "dedup":
        assert command("dedup", notes, "-o", places["RUN"]).code == 0
    answer = command(*(places.get(name, name) for name in args))
    assert answer.code == 2 and "leave" in answer.err
    assert not (tmp_path / "out").exists()


def test_an_input_that_is_missing_is_no_output_error(tmp_path: Path) -> None:
    with pytest.raises(InputNotFoundError), output_folder(tmp_path / "out", False, ()):
        raise InputNotFoundError("there is no such file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_family_is_looked_up_by_a_few_rows(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> None:
    shared = " ".join(f"t{i}" for i in range(12))
    family = [f"{shared} v{i} w{i} x{i}" for i in range(300)]
    index = neardup.Index.create(spec=SPEC)
    index.add(family[:150], ids=range(150))
    expected = index.query(family)
    first = index.first_matches(family)
    tune(looked_up_rows=64, looked_up_candidates=400)
    sizes: list[int] = []
    look_up = index._core.snapshot.candidates

    def counted(*asked: Any) -> Any:
        found = look_up(*asked)
        sizes.append(len(found.row))
        return found

    monkeypatch.setattr(index._core.snapshot, "candidates", counted)
    assert index.query(family).equals(expected) and expected.num_rows > 20_000
    assert max(sizes) <= 600 and sum(sizes) >= expected.num_rows
    assert index.first_matches(family).equals(first)
    assert index.add_if_new(family, ids=range(300)).column("kept").to_pylist() == (
        [True] * 150 + [False] * 150
    )


@pytest.mark.parametrize("durable", ["power", "process"])
def test_a_damaged_log_is_found_and_an_unfinished_one_is_none(
    tmp_path: Path, durable: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = neardup.Index.create(tmp_path / "a", shingle="word:2", durable=durable)
    for number in range(9):
        index.add_if_new(number, f"text {number} has {number**2} words, or {number**3}")
    shutil.copytree(tmp_path / "a", tmp_path / "c", ignore=shutil.ignore_patterns("*-shm"))
    index.close()
    database, log = (tmp_path / "c" / name for name in ("index.sqlite", "index.sqlite-wal"))
    good = log.read_bytes()
    draw = random.Random(3)
    for at in [*draw.sample(range(len(good)), 60), *range(32), len(good) - 1]:
        bad = bytearray(good)
        bad[at] ^= 1 << draw.randrange(8)
        log.write_bytes(bad)
        with pytest.raises(StoreError, match="committed last are lost"):
            require_last_commit(database)
    for end in [*draw.sample(range(len(good)), 60), 0, 31, 32]:
        log.write_bytes(good[:end])
        with pytest.raises(StoreError, match="committed last are lost"):
            require_last_commit(database)
    for more in (good[32:], b"unfinished", b""):  # a process that was killed
        log.write_bytes(good + more)
        require_last_commit(database)
    # The system was restarted: what need not survive that may be lost.
    log.write_bytes(good[: len(good) // 2])
    monkeypatch.setattr(location, "_this_boot", lambda: b"boot")
    if durable == "process":
        require_last_commit(database)
    else:
        with pytest.raises(StoreError, match="committed last are lost"):
            require_last_commit(database)


def test_an_index_with_a_damaged_log_is_not_written_to(tmp_path: Path) -> None:
    index = neardup.Index.create(tmp_path / "a", shingle="word:2")
    for number in range(9):
        index.add_if_new(number, f"text {number} has {number**2} words, or {number**3}")
    shutil.copytree(tmp_path / "a", tmp_path / "b", ignore=shutil.ignore_patterns("*-shm"))
    log = tmp_path / "b" / "index.sqlite-wal"
    bad = bytearray(log.read_bytes())
    bad[len(bad) // 2] ^= 4
    log.write_bytes(bad)
    for readonly in (True, False):
        with pytest.raises(StoreError, match=r"index\.sqlite is damaged") as refused:
            neardup.Index.open(tmp_path / "b", readonly=readonly)
        assert str(tmp_path / "b" / "committed") in refused.value.hint
    (tmp_path / "b" / "committed").unlink()
    with neardup.Index.open(tmp_path / "b", readonly=True) as left:
        assert 0 < len(left) < 9 and left.check() == []
        new = neardup.Index.create(tmp_path / "c", shingle="word:2")
        assert new.merge(left) == len(left)
    assert log.read_bytes() == bad  # readers leave what can be looked into


def test_the_last_transaction_is_not_lost_without_a_word(tmp_path: Path) -> None:
    """SQLite takes it for one that was not finished."""
    index = neardup.Index.create(tmp_path / "a", shingle="word:2")
    for number in range(4):
        index.add_if_new(number, f"text {number} has {number**2} words, or {number**3}")
    note = tmp_path / "a" / "committed"
    assert oct(note.stat().st_mode)[-3:] == "600"
    shutil.copytree(tmp_path / "a", tmp_path / "b", ignore=shutil.ignore_patterns("*-shm"))
    shutil.copytree(tmp_path / "b", tmp_path / "c")
    log = tmp_path / "b" / "index.sqlite-wal"
    bad = bytearray(log.read_bytes())
    bad[-50] ^= 4
    log.write_bytes(bad)
    for readonly in (True, False):
        with pytest.raises(StoreError, match="committed last are lost"):
            neardup.Index.open(tmp_path / "b", readonly=readonly)
    with neardup.Index.open(tmp_path / "c", durable="process") as whole:
        assert whole.add(["more"], ids=[9]) == 1 and whole.check() == []
    with neardup.Index.open(tmp_path / "c") as whole:
        assert len(whole) == 5 and whole.check() == []
        (tmp_path / "c" / "committed").write_bytes(bytes(12)[:-1] + b"x")
        assert "committed is damaged" in whole.check()[0]


def family(count: int) -> list[str]:
    """Texts with a frame, which are candidates of one another and not similar enough."""
    draw = random.Random(1)
    frame = " ".join(f"frame{i}" for i in range(12))
    return [
        f"{frame} {' '.join(f'w{draw.randrange(900)}' for _ in range(9))}" for _ in range(count)
    ]


def test_bitmaps_that_are_remembered_change_no_answer(tune: Tune) -> None:
    texts = family(40)
    texts += [text.replace("frame3", "other") for text in texts[::3]]
    expected = neardup.Index.create(spec=SPEC)
    expected.add(texts, ids=range(len(texts)))
    found = expected.query(texts)
    assert found.num_rows > len(texts)
    assert expected.query(texts).equals(found)  # now all of them are known
    assert expected.query(texts, threshold=0.9).num_rows == len(texts)
    tune(known_bitmaps=7)
    small = neardup.Index.create(spec=SPEC)
    small.add(texts, ids=range(len(texts)))
    for _ in range(2):
        assert small.query(texts).equals(found)
        for number, text in enumerate(texts[:9]):
            own = found.filter(found.column("query").to_numpy() == number)
            assert small.query(text).drop_columns("query").equals(own.drop_columns("query"))
    small.remove([0, 3])
    gone = ~np.isin(found.column("id").to_numpy(), [0, 3])
    assert small.query(texts).equals(found.filter(gone))


def test_what_was_given_up_is_not_remembered(tune: Tune) -> None:
    tune(inserted_documents=2)
    index = neardup.Index.create(spec=SPEC)
    index.add(["x y z"], ids=[99])
    one, two, other, last = texts_of(0, 4)
    with pytest.raises(DuplicateIdError):
        index.add_if_new([one, two, one, two, last], ids=[1, 2, 3, 4, 99])
    assert index.add([other, last], ids=[1, 2]) == 2  # their numbers are used again
    assert index.is_duplicate(other) and index.query(last).column("id").to_pylist() == [2]
    assert not index.is_duplicate(one)


@pytest.mark.parametrize("column", ["generation", "greatest", "ids", "sums", "checksum"])
@pytest.mark.parametrize("value", ["NULL", "7", "x'00'"])
def test_a_state_of_other_values_is_damaged(column: str, value: str, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    neardup.Index.create(folder, spec=SPEC).close()
    database = sqlite3.connect(folder / "index.sqlite", isolation_level=None)
    database.execute(f"UPDATE state SET {column} = {value}")
    database.close()
    for readonly in (True, False):
        with pytest.raises(StoreError, match="its state is damaged"):
            neardup.Index.open(folder, readonly=readonly)
