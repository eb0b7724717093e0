"""``kill -9`` at any moment, then ``--resume``: the same bytes, and nothing done twice."""

from __future__ import annotations

import bz2
import random
import shutil
import signal
import time
import zipfile
from pathlib import Path

import pytest
from killing import Ended, Process, Work, least, outputs, steps, wait_for

import neardup
from common import core, tries, write_lines
from neardup.errors import RecipeError

SEED = 20240611
#: Where keys go, what is compared, and whether sets go to a file.
KINDS = {
    "plain": [],
    "several": ["--format", "jsonl"],
    "pairs": ["--pairs", "all", "--cluster", "bounded", "--memory", "LEAST"],
    "sqlite": ["--store", "sqlite:{}", "--format", "parquet"],
    "mapped": ["--store", "sqlite:{}", "--memory", "LEAST"],
}
STAGES = ("begun", "sketched", "sets", "answered", "clean", "put")


@pytest.fixture(scope="module")
def of_kind(
    work: Work, several: Work, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Work, list[str]]]:
    """Corpus and settings of each kind; a corpus of several files for one of them."""
    found = {}
    for kind, words in KINDS.items():
        corpus, settings = (several if kind == "several" else work), list(words)
        if settings[-1:] == ["LEAST"]:
            settings = [*settings[:-2], "--threads", "2"]
            settings += ["--memory", least(corpus, *settings)]
        found[kind] = (corpus, settings)
    return found


def matters(settings: list[str]) -> tuple[str, ...]:
    """The settings that the bytes depend on."""
    places = range(0, len(settings), 2)
    pairs = [(settings[i], settings[i + 1]) for i in places]
    free = ("--store", "--memory", "--threads")
    return tuple(word for name, value in pairs if name not in free for word in (name, value))


def kill_at(process: Process, out: Path, stage: str, count: int, delay: float) -> None:
    """Kill a run a little after it has done so much of a stage, or after it has begun."""
    if stage == "begun":
        wait_for(process, lambda: (out / ".run").is_dir())
        time.sleep(4 * delay)  # it reads, and chooses bands, before there is a manifest
    else:
        wait_for(process, lambda: len(process.done(stage)) > count)
        time.sleep(delay)
    process.kill()
    process.wait()


@pytest.mark.parametrize("number", core(range(0, len(KINDS) * len(STAGES), tries(5, 1)), 0))
def test_killed(number: int, of_kind: dict[str, tuple[Work, list[str]]], tmp_path: Path) -> None:
    """Seeded moments of each kind and stage; every third time the resumed run is killed as well."""
    kind, stage = list(KINDS)[number // len(STAGES)], STAGES[number % len(STAGES)]
    chance = random.Random(SEED + number)
    work, words = of_kind[kind]
    store = tmp_path / "keys.sqlite"
    settings = [word.format(store) for word in words]
    count = chance.randrange({"sketched": 24, "sets": 24, "clean": 2, "put": 3}.get(stage, 1))
    out, delay = tmp_path / "out", chance.random() * 0.03
    kill_at(work.start(out, *settings, trace=True), out, stage, count, delay)
    if number % 3 == 0:
        again = work.start(out, *settings, "--resume")
        time.sleep(chance.random() * 0.6)
        again.kill()
        again.wait()
    before = all_steps(out, store, settings)
    resumed = work.start(out, *settings, "--resume", trace=True)
    ended = resumed.wait().check()
    work.same(out, *matters(settings))
    check_nothing_twice(resumed, before)
    # What several processes may share is left empty; it may have been there before.
    assert not store.exists() or store.stat().st_size < 200_000, ended.err


@pytest.mark.parametrize("kind", ["zip", "bz2", "cp1252"])
def test_killed_while_files_are_unpacked(kind: str, few: Work, tmp_path: Path) -> None:
    """Members of archives, streams without ranges, and texts that are decoded as they are read."""
    lines = few.notes.read_bytes().splitlines(keepends=True)
    settings, notes = list[str](), tmp_path / f"notes.jsonl.{kind}"
    if kind == "zip":
        notes = tmp_path / "notes.zip"
        with zipfile.ZipFile(notes, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(5):
                archive.writestr(f"of/{number}.jsonl", b"".join(lines[number::5]))
    elif kind == "bz2":
        notes.write_bytes(b"".join(bz2.compress(b"".join(lines[at::2])) for at in (0, 1)))
    else:
        notes, settings = tmp_path / "notes.jsonl", ["--encoding", "cp1252"]
        notes.write_bytes(b"".join(lines).decode().encode("cp1252", "replace"))
    work = Work(few.forge, tmp_path, notes)
    for number, (stage, count) in enumerate((("sketched", 2), ("sets", 1), ("answered", 0))):
        out = tmp_path / f"out{number}"
        kill_at(work.start(out, *settings, trace=True), out, stage, count, 0.0)
        resumed = work.start(out, *settings, "--resume")
        resumed.wait().check()
        work.same(out, *settings)


def all_steps(out: Path, store: Path, settings: list[str]) -> dict[str, set[int]]:
    """What is done; the partitions of a store of its own are there."""
    found = steps(out)
    if store.exists():
        from neardup.errors import NeardupError
        from neardup.state import open_store

        try:
            with open_store(f"sqlite:{store}") as keys:
                keys.open()
                found["sketched"] = set(keys.partitions())
        except NeardupError:
            found["sketched"] = set()
    return found


def check_nothing_twice(resumed: Process, before: dict[str, set[int]]) -> None:
    for stage in ("sketched", "sets"):
        made = resumed.numbers(stage)
        assert len(made) == len(set(made)), stage
    assert set(resumed.numbers("sketched")) & before.get("sketched", set()) == set()
    assert not (resumed.done("answered") and before.get("answer"))
    assert not (resumed.done("sets") and before.get("answer"))
    cleaned = {name for (name,) in resumed.done("clean")}
    written = [int(number) for stage, number in resumed.done("put") if stage == "clean"]
    assert len(cleaned) == len(written)
    assert set(written) & before.get("clean", set()) == set()
    assert not (cleaned and before.get("written"))


def calls(process: Process) -> list[tuple[str, str]]:
    return [(name, path) for name, path in process.done("call")]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["plain", "pairs over an old run"])
def test_killed_at_each_call_of_the_end(kind: str, few: Work, tmp_path: Path) -> None:
    """Renaming the outputs and clearing up are a few calls to the system: before each of them."""
    args = [] if kind == "plain" else ["--pairs", "all"]
    base, again = tmp_path / "base", tmp_path / "again"
    old: dict[str, bytes] = {}
    if kind != "plain":  # with other files, some of which the new run does not write
        few.run(base, "--seed", "5", "--cluster", "bounded", "--format", "csv").check()
        old = outputs(base)
    new, _ = few.undisturbed(*args)
    process = few.start(base, *args, "--overwrite", trace=True, slow=0.002)
    wait_for(process, lambda: ["written", "0"] in process.done("put"))
    process.kill()
    process.wait()
    assert outputs(base) == old
    shutil.copytree(base, again)
    whole = few.start(again, *args, "--resume", trace=True)
    whole.wait().check()
    few.same(again, *args)
    made = calls(whole)
    assert len(made) > 15
    for moment, call in list(enumerate(made))[:: tries(3, 1)]:
        out = tmp_path / f"out{moment}"
        shutil.copytree(base, out)
        assert few.run(out, *args, "--resume", crash=moment).code == -signal.SIGKILL
        # Of the old and of the new, never half of a file.
        for name, data in outputs(out).items():
            assert data in (old.get(name), new.get(name)), (call, name)
        resumed = few.start(out, *args, "--resume", trace=True)
        assert resumed.wait().code == 0, (call, resumed.wait().err)
        few.same(out, *args)
        assert resumed.done("sketched") == [] == resumed.done("answered"), call


@pytest.mark.long
def test_killed_at_calls_all_over(few: Work, tmp_path: Path) -> None:
    """Before seeded calls that change the disk."""
    whole = few.start(tmp_path / "whole", trace=True)
    whole.wait().check()
    chance = random.Random(SEED)
    for moment in chance.sample(range(len(calls(whole)) * 3 // 4), tries(4, 10)):
        out = tmp_path / f"out{moment}"
        few.run(out, crash=moment)
        few.run(out, "--resume").check()
        few.same(out)


def test_sets_of_a_killed_run_leave_no_file(work: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    memory = least(work, "--threads", "2")
    process = work.start(out, "--memory", memory, "--threads", 2, trace=True)
    wait_for(process, lambda: len(process.done("sets")) > 5)
    process.kill()
    process.wait()
    left = {path.name for path in (out / ".run").rglob("*")}
    assert left <= {"run.sqlite", "lock", "run.sqlite-journal", "inputs.scratch"}
    resumed = work.start(out, "--memory", "4GB", "--resume", trace=True)
    resumed.wait().check()
    assert resumed.done("sketched") == []
    assert len(resumed.numbers("sets")) > 20
    work.same(out)


@pytest.mark.long
def test_finished_files_of_the_clean_corpus_are_not_touched(several: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = several.start(out, "--threads", 1, trace=True, slow=0.1)
    wait_for(process, lambda: ["clean", "1"] in process.done("put"))
    time.sleep(0.05)  # the file is finished; what says so is committed a little later
    process.kill()
    process.wait()
    done = sorted(steps(out)["clean"])
    assert 0 < len(done) < 5
    folder = out / ".run" / "outputs.scratch" / "clean"
    times = {n: (folder / f"{n}.parquet").stat().st_mtime_ns for n in done}
    several.run(out, "--resume").check()
    assert {n: (out / "clean" / f"{n}.parquet").stat().st_mtime_ns for n in done} == times
    several.same(out)


def test_a_kept_run_is_quick_to_resume(work: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    work.run(out, "--keep-run").check()
    file = out / ".run" / "run.sqlite"
    before = file.read_bytes()
    resumed = work.start(out, "--keep-run", "--resume", trace=True)
    resumed.wait().check()
    for stage in ("sketched", "sets", "answered", "clean"):
        assert resumed.done(stage) == []
    assert file.read_bytes() == before
    work.run(out, "--resume").check()
    work.same(out)


def test_nothing_to_resume(few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few.run(out, "--resume").check()
    few.same(out)
    resumed = few.start(out, "--resume", trace=True)
    resumed.wait().check()
    assert resumed.done("sketched") == [] and resumed.done("clean") == []
    for change in (["--seed", 1], ["--format", "csv"], ["--keep", "longest"]):
        said = few.run(out, "--resume", *change).check(1).error
        assert f"{out} exists and is complete, with other settings or inputs" in said
    few.same(out)


PIPE = ("dedup", "-", "--id", "id")


def test_a_pipe_is_copied_once(few: Work, tmp_path: Path) -> None:
    """A resumed run does not need the pipe any more; another one must not get what it gave."""
    out = tmp_path / "out"
    process = few.forge.start(*PIPE, "-o", out, stdin=few.notes, trace=True)
    kill_at(process, out, "sketched", 3, 0)
    few.forge.run(*PIPE, "-o", out, "--resume").check()
    few.same(out)
    # Nobody knows whether the same would come out of it.
    assert "exists and is complete" in few.forge.run(*PIPE, "-o", out, "--resume").check(1).error


def test_another_pipe_takes_the_place_of_a_copy(few: Work, tmp_path: Path) -> None:
    """Killed after the pipe was copied and before there is a manifest, then begun anew."""
    out, other = tmp_path / "out", tmp_path / "other.jsonl"
    other.write_text('{"id": "a", "text": "one two three"}\n')
    for moment in range(3, 25):
        few.forge.run(*PIPE, "-o", out, "--overwrite", stdin=few.notes, crash=moment)
        if any((out / ".run").glob("*/input-0")):
            break
    assert "begun" not in steps(out)
    few.forge.run(*PIPE, "-o", out, "--overwrite", stdin=other).check()
    assert (out / "clusters.parquet").stat().st_size < 10_000


@pytest.mark.parametrize("stage", ["sketched", "sets", "clean"])
def test_ctrl_c(stage: str, work: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = work.start(out, trace=True, slow=0.005)
    wait_for(process, lambda: len(process.done(stage)) > 0)
    begin = time.monotonic()
    process.kill(signal.SIGINT)
    ended = process.wait()
    if ended.code == 0:  # it was about to end
        assert stage == "clean"
        return
    ended.check(130)
    assert time.monotonic() - begin < 5
    check_interrupted(ended)
    assert not (out / "run.json").exists()
    work.run(out, "--resume").check()
    work.same(out)


def check_interrupted(ended: Ended) -> None:
    assert ended.err.splitlines()[-1] == "interrupted; continue with the same command and --resume"


def test_terminated(few: Work, tmp_path: Path) -> None:
    """``kill`` without a number leaves what ``kill -9`` leaves."""
    out = tmp_path / "out"
    process = few.start(out, slow=0.01, trace=True)
    wait_for(process, lambda: len(process.done("sketched")) > 1)
    process.kill(signal.SIGTERM)
    assert process.wait().code == -signal.SIGTERM
    few.run(out, "--resume").check()
    few.same(out)


def test_other_versions_of_libraries_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They make other keys and shingles of the same texts."""
    notes = write_lines(tmp_path / "notes.jsonl", [{"text": f"a b c {i}"} for i in range(9)])
    whole, out = (tmp_path / name for name in ("whole", "out"))
    run = neardup.dedup(notes, out=whole, keep_run=True)
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stopped.setattr("neardup.deduplication.local.Comparing.run", interrupt)
        neardup.dedup(notes, out=out)
    monkeypatch.setattr("neardup.recipe.TOKENS", "next")
    says = "was made with tokens/2, and this run uses tokens/next\nhint: make it again"
    with pytest.raises(RecipeError, match=f"this run {says}"):
        neardup.dedup(notes, out=out, resume=True)
    for again in (None, tmp_path / "again"):
        with pytest.raises(RecipeError, match=says):
            run.recluster(cluster="components", out=again)


def interrupt(self: object) -> None:
    raise KeyboardInterrupt
