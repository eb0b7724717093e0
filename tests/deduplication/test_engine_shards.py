"""Several processes sketch shares of a corpus into one store; one continues from there."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from killing import Process, Work, outputs, wait_for

import neardup
from common import Tune, write_lines
from neardup import Spec
from neardup.deduplication import local
from neardup.errors import SpecError, StoreError
from neardup.state import STORES, open_store
from neardup.state.sqlite_store import SqliteStore


def sketch(work: Work, store: str, shard: str, *more: Any, **options: Any) -> Process:
    return work.forge.start(
        "sketch", work.notes, "--id", "id", "--store", store, "--run", "r", "--shard", shard,
        *more, **options,
    )  # fmt: skip


def dedup(work: Work, store: str, out: Path, *more: Any) -> list[Any]:
    return work.args(out, "--store", store, "--run", "r", *more)


@pytest.mark.long
def test_four_at_once(work: Work, tmp_path: Path) -> None:
    store, out = f"sqlite:{tmp_path / 'keys'}", tmp_path / "out"
    under_way = [sketch(work, store, f"{i}/4") for i in range(1, 5)]
    ended = [process.wait().check() for process in under_way]
    parts = [int(e.err.split(" documents in ")[1].split()[0]) for e in ended]
    assert sum(parts) == int(ended[0].err.split(" of ")[1].split()[0])
    assert max(parts) - min(parts) <= 1
    resumed = work.forge.start(*dedup(work, store, out), trace=True)
    resumed.wait().check()
    assert resumed.done("sketched") == []
    work.same(out)
    assert entries(tmp_path / "keys") == 0


def entries(path: Path) -> int:
    """How many partitions are in a store; 0 where there is none, or an empty one."""
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        assert tables <= {"bands", "bands_data"}
        if not tables:
            return 0
        text = "SELECT count(*) FROM bands WHERE space = 'partition'"
        return int(connection.execute(text).fetchone()[0])


@pytest.mark.long
def test_a_missing_shard_is_named(few: Work, tmp_path: Path) -> None:
    store, out = f"sqlite:{tmp_path / 'keys'}", tmp_path / "out"
    continued = dedup(few, store, out)
    assert "has no run" in few.forge.run(*continued).check(1).error
    for shard in ("1/4", "4/4", "2/4"):
        sketch(few, store, shard).wait().check()
        said = few.forge.run(*continued).check(1).error
        assert ("3/4" in said) and (shard not in said.partition("\n")[0]), said
        assert not out.exists()
        if shard == "1/4":
            assert "shards 2/4, 3/4 and 4/4 are missing" in said and "sketch them" in said
    assert "2/4" not in said and "shard 3/4 is missing" in said
    assert "shard is 1/3, and " in sketch(few, store, "1/3").wait().check(1).error
    sketch(few, store, "3/4").wait().check()
    few.forge.run(*continued).check()
    few.same(out)


def test_a_sketcher_is_killed(few: Work, tmp_path: Path) -> None:
    store, out = f"sqlite:{tmp_path / 'keys'}", tmp_path / "out"
    first, second = (sketch(few, store, f"{i}/2", slow=0.03, trace=True) for i in (1, 2))
    wait_for(first, lambda: len(first.done("sketched")) >= 3)
    first.kill()
    first.wait()
    second.wait().check()
    assert "shard 1/2 is missing" in few.forge.run(*dedup(few, store, out)).check(1).error
    with open_store(store) as keys:
        keys.open()
        there = set(keys.partitions())
    again = sketch(few, store, "1/2", trace=True)
    again.wait().check()
    made = again.numbers("sketched")
    assert set(made) & there == set() and all(number % 2 == 0 for number in made)
    few.forge.run(*dedup(few, store, out)).check()
    few.same(out)


def test_ctrl_c_of_a_sketcher(work: Work, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'keys'}"
    process = sketch(work, store, "1/1", trace=True, slow=0.01)
    wait_for(process, lambda: len(process.done("sketched")) > 3)
    process.kill(signal.SIGINT)
    ended = process.wait().check(130)
    assert ended.seconds < 10
    assert ended.err.splitlines()[-1].startswith("interrupted")
    sketch(work, store, "1/1").wait().check()
    work.forge.run(*dedup(work, store, tmp_path / "out")).check()
    work.same(tmp_path / "out")


@pytest.mark.long
def test_ctrl_c_of_a_run_that_continues(work: Work, tmp_path: Path) -> None:
    store, out = f"sqlite:{tmp_path / 'keys'}", tmp_path / "out"
    sketch(work, store, "1/1").wait().check()
    process = work.forge.start(*dedup(work, store, out), trace=True)
    wait_for(process, lambda: len(process.done("sets")) > 3)
    process.kill(signal.SIGINT)
    assert "--resume" in process.wait().check(130).err.splitlines()[-1]
    resumed = work.forge.start(*dedup(work, store, out, "--resume"), trace=True)
    resumed.wait().check()
    assert resumed.done("sketched") == []
    work.same(out)


def test_a_shard_that_is_done_is_not_done_again(few: Work, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'keys'}"
    sketch(few, store, "2/2").wait().check()
    again = sketch(few, store, "2/2", trace=True)
    assert again.wait().check().code == 0
    assert again.done("sketched") == []


@pytest.mark.long
def test_other_settings_are_refused(few: Work, tmp_path: Path) -> None:
    store, out = f"sqlite:{tmp_path / 'keys'}", tmp_path / "out"
    sketch(few, store, "1/2").wait().check()
    for named, more in {
        "seed": ["--seed", "1"],
        "n ": ["--shingle", "word:3"],
        "num_bands": ["--bands", "7", "--rows", "2"],
        "encoding_errors": ["--encoding-errors", "replace"],
    }.items():
        said = sketch(few, store, "2/2", *more).wait().check(1).error
        assert named in said, said
    sketch(few, store, "2/2").wait().check()
    # The threshold decides nothing about keys: it may be another one than that of the sketches.
    few.forge.run(*dedup(few, store, out, "--threshold", "0.8", "--keep-run")).check()
    other = tmp_path / "other"
    bands = ("--bands", str(neardup.open(out).summary["recipe"]["num_bands"]), "--rows")
    rows = str(neardup.open(out).summary["recipe"]["rows"])
    few.run(other, "--threshold", "0.8", *bands, rows).check()
    assert outputs(out) == outputs(other)


def test_another_recipe_than_that_of_the_sketches_is_refused(few: Work, tmp_path: Path) -> None:
    store, out = f"sqlite:{tmp_path / 'keys'}", tmp_path / "out"
    sketch(few, store, "1/1").wait().check()
    for more, names in (
        (["--shingle", "char:3", "--seed", "9"], ["unit", "shingle.n was 5 and is 3", "seed"]),
        (["--bands", "7", "--rows", "2"], ["num_bands", "is 7"]),
        (["--method", "allpairs"], ["allpairs"]),
    ):
        said = few.forge.run(*dedup(few, store, out, *more)).check(1).error
        assert all(name in said for name in names), said
        assert not out.exists()
    few.forge.run(*dedup(few, store, out)).check()
    few.same(out)


@pytest.mark.parametrize("setting", [{"keep": "longest"}, {"keep": "max:id"}, {"order_by": "id"}])
def test_what_was_not_sketched_decides_nothing(setting: dict[str, str], tmp_path: Path) -> None:
    rows = [{"id": i, "text": "a b c d e" + " f" * i} for i in range(4)]
    notes = write_lines(tmp_path / "notes.jsonl", rows)
    store, out = f"sqlite:{tmp_path / 'keys'}", tmp_path / "out"
    neardup.sketch_corpus(notes, store=store, run="r")
    with pytest.raises(StoreError, match="the sketches have no values") as caught:
        neardup.dedup(notes, store=store, run="r", out=out, **setting)
    ((name, value),) = setting.items()
    assert caught.value.hint == f"sketch again with {name}={value!r}, as another `run`"
    assert not out.exists()


def test_lengths_of_one_shard_only_are_none(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(2):
        write_lines(notes / f"{number}.jsonl", [{"text": f"a b {number}"}])
    store = f"sqlite:{tmp_path / 'keys'}"
    for shard, keep in (("1/2", "longest"), ("2/2", "first")):
        neardup.sketch_corpus(notes, store=store, run="r", shard=shard, keep=keep)
    with pytest.raises(StoreError, match="'longest'"):
        neardup.dedup(notes, store=store, run="r", out=tmp_path / "out", keep="longest")


def test_another_run_in_the_same_file_stays(few: Work, tmp_path: Path) -> None:
    """A run without a name neither uses nor removes what somebody has sketched there."""
    path, out = tmp_path / "keys", tmp_path / "out"
    store = f"sqlite:{path}"
    sketch(few, store, "1/1").wait().check()
    before = entries(path)
    for more in ([], ["--overwrite"]):
        said = few.run(out, "--store", store, *more).check(1).error
        assert "has the run 'r'" in said
        assert not out.exists() and entries(path) == before
    other = few.args(tmp_path / "x", "--store", store, "--run", "other")
    assert 'run was "r" and is "other"' in few.forge.run(*other).check(1).error
    # Neither does one that was killed before it came to the store.
    crashed = few.start(out, "--store", store, trace=True, crash=12)
    crashed.wait()
    moment = 12
    while not any(stage for stage in crashed.done("call") if stage[0] == "commit"):
        moment += 1
        crashed = few.start(out, "--store", store, "--overwrite", trace=True, crash=moment)
        crashed.wait()
    for _ in range(2):
        assert few.run(out, "--store", store, "--resume").code == 1
    assert entries(path) == before
    few.forge.run(*dedup(few, store, tmp_path / "end")).check()
    few.same(tmp_path / "end")


def test_what_an_earlier_run_of_the_output_left_makes_room(few: Work, tmp_path: Path) -> None:
    path, out = tmp_path / "keys", tmp_path / "out"
    store = f"sqlite:{path}"
    process = few.start(out, "--store", store, "--seed", "3", trace=True)
    wait_for(process, lambda: len(process.done("sketched")) > 4)
    process.kill()
    process.wait()
    few.run(out, "--store", store, "--overwrite").check()
    few.same(out)
    assert entries(path) == 0


class FolderStore(SqliteStore):
    """A store of several runs, each in a file of its own."""

    def __init__(self, url: str, run: str) -> None:
        super().__init__(f"sqlite:{url.partition(':')[2]}/{run}")


@pytest.mark.parametrize("kind", ["sqlite", "folder"])
def test_two_containers_have_one_output_path(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One does not remove what the other has in a store that both reach, and resumes its own."""
    monkeypatch.setitem(STORES, "folder", f"{__name__}:FolderStore")
    rows = [{"id": n, "text": f"a b c d e f g h {n // 2}"} for n in range(40)]
    notes = write_lines(tmp_path / "notes.jsonl", rows)
    keys, out, mine, other = (tmp_path / name for name in ("keys", "out", "mine", "other"))
    if kind == "folder":
        keys.mkdir()
    store = f"{kind}:{keys}"
    settings: dict[str, Any] = {"out": out, "store": store, "spec": Spec(num_bands=10, rows=2)}

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(local, "BandKeys", crash)
        with pytest.raises(KeyboardInterrupt):
            neardup.dedup(notes, **settings)
        out.rename(mine)  # the other container has its own, empty one
        if kind == "sqlite":  # which has one run
            with pytest.raises(StoreError, match="has a run already"):
                neardup.dedup(notes, **settings)
        else:
            with pytest.raises(KeyboardInterrupt):
                neardup.dedup(notes, **settings)
            assert len({path.name[:38] for path in keys.iterdir()}) == 2
            out.rename(other)
    mine.rename(out)
    expected = neardup.dedup(notes, spec=settings["spec"])
    assert neardup.dedup(notes, resume=True, **settings).clusters.equals(expected.clusters)
    if kind == "folder":
        shutil.rmtree(out)
        other.rename(out)
        found = neardup.dedup(notes, overwrite=True, **settings)
        assert found.clusters.equals(expected.clusters)
        assert [entries(path) for path in keys.glob("dedup-*[0-9a-f]")] == [0, 0]
        assert not list(out.rglob("owner"))
    else:
        assert entries(keys) == 0


def test_a_failed_run_leaves_nothing_in_a_store(tmp_path: Path) -> None:
    """What is wrong with the input is mended, and then it is another input."""
    notes, store = tmp_path / "notes.jsonl", f"sqlite:{tmp_path / 'keys'}"
    notes.write_text('{"id":1,"text":"a b"}\n{"id":1,"text":"c d"}\n')
    with pytest.raises(neardup.NeardupError, match="unique"):
        neardup.dedup(notes, out=tmp_path / "out", id="id", store=store)
    assert not (tmp_path / "out").exists()
    notes.write_text('{"id":1,"text":"a b"}\n{"id":2,"text":"c d"}\n')
    run = neardup.dedup(notes, out=tmp_path / "out", id="id", store=store)
    assert len(run) == 2 and entries(tmp_path / "keys") == 0


@pytest.mark.parametrize("shard", ["0/4", "5/4", "3", "a/b", "1/0", "-1/4", "1/4/2"])
def test_no_such_shard(shard: str, few: Work, tmp_path: Path) -> None:
    said = sketch(few, f"sqlite:{tmp_path / 'keys'}", shard).wait().check(2).error
    assert shard in said
    assert not (tmp_path / "keys").exists()


def test_sketching_needs_a_store_and_a_name(few: Work, tmp_path: Path) -> None:
    said = few.forge.run("sketch", few.notes, "--run", "r").check(2).error
    assert "--store" in said or "several processes" in said
    store = f"sqlite:{tmp_path / 'keys'}"
    assert "--run" in few.forge.run("sketch", few.notes, "--store", store).check(2).error
    with pytest.raises(SpecError, match="a store that several processes can reach"):
        neardup.sketch_corpus(few.notes, store="memory", run="r")


def test_from_python(few: Work, tmp_path: Path, tune: Tune) -> None:
    """Two shards in this process; the counts are those of the corpus."""
    tune(smallest_partition=1 << 16)
    store = f"sqlite:{tmp_path / 'keys'}"
    shards = ("1/2", "2/2")
    made = [
        neardup.sketch_corpus(few.notes, store=store, run="r", shard=shard, id="id")
        for shard in shards
    ]
    assert made[0]["of"] == made[1]["of"] == made[0]["partitions"] + made[1]["partitions"] > 4
    assert made[0]["documents"] + made[1]["documents"] == 1500
    run = neardup.dedup(few.notes, store=store, run="r", id="id", out=tmp_path / "out")
    assert len(run) == 1500
    few.same(tmp_path / "out")


def test_recipes_of_different_files_make_the_same_keys(few: Work, tmp_path: Path) -> None:
    """What two runs sketched can be compared where their recipes are equal."""
    half = tmp_path / "half.jsonl"
    lines = few.notes.read_bytes().splitlines(keepends=True)
    half.write_bytes(b"".join(lines[700:]))
    found = {}
    for name, path in (("whole", few.notes), ("half", half)):
        store = f"sqlite:{tmp_path / name}"
        neardup.sketch_corpus(path, store=store, run="r", id="id")
        with open_store(store) as keys:
            digest = keys.open().digest
            bands = [[part for _, part in keys.band(band)] for band in range(11)]
        found[name] = digest, [b"".join(p.tobytes() for p in parts) for parts in bands]
    assert found["whole"][0] == found["half"][0]
    for whole, part in zip(found["whole"][1], found["half"][1], strict=True):
        assert whole[700 * 8 :] == part


def test_a_store_that_can_not_be_cleared_is_noted(
    few: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: None
) -> None:
    """The results are there; the same call with ``resume`` removes the keys."""
    store, out, events = tmp_path / "keys", tmp_path / "out", list[Any]()
    given: dict[str, Any] = {"id": "id", "out": out, "store": f"sqlite:{store}"}

    def refused(self: Any) -> None:
        raise StoreError("the store is busy")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "_drop", refused)
        patch.setattr(
            "neardup.deduplication.clock.Clock.emit", lambda self, event: events.append(event)
        )
        neardup.dedup(few.notes, progress=False, **given)
    assert "the store is busy; resume=True removes them" in events[-1].note
    assert entries(store) > 0 and (out / "run.json").exists() and (out / ".run").exists()
    neardup.dedup(few.notes, progress=False, resume=True, **given)
    assert entries(store) == 0 and not (out / ".run").exists()
