"""What is wrong with a run folder, or no longer as it was, is refused and named, or made anew."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from killing import Work, least, outputs, steps, wait_for

from common import tries

#: Stage, and how much of it is done when a run is killed.
MOMENTS = {"sketched": 4, "sets": 4, "answered": 0, "clean": 0}


def killed(work: Work, out: Path, stage: str, *more: str) -> None:
    """Leave the folder of a run that was killed when a stage was about half done."""
    process = work.start(out, *more, trace=True, slow=0.005)
    wait_for(process, lambda: len(process.done(stage)) > MOMENTS[stage])
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def memory(few: Work) -> tuple[str, ...]:
    """Settings with which sets go to a file."""
    return ("--memory", least(few, "--threads", "2"), "--threads", "2")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused_or_same(work: Work, out: Path, *more: str) -> bool:
    """Resume after damage: refused in one line that names the file, or as if there were none."""
    ended = work.run(out, *more, "--resume")
    if ended.code == 0:
        work.same(out)
        return False
    assert ended.code == 1, ended.err
    assert str(out / ".run") in ended.error
    assert "start again with --overwrite" in ended.error
    return True


@pytest.mark.long
@pytest.mark.parametrize("stage", ["sketched", "sets", "clean"])
def test_a_byte_is_damaged_in_each_file(
    stage: str, few: Work, memory: tuple[str, ...], tmp_path: Path
) -> None:
    """At some seeded places of the run's own file, and at one of each of the others."""
    base, out = tmp_path / "base", tmp_path / "out"
    killed(few, base, stage, *memory)
    chance, refused = random.Random(stage), 0
    paths = [p.relative_to(base) for p in (base / ".run").rglob("*") if p.is_file()]
    assert len(paths) > (2 if stage == "clean" else 1)
    for path in paths:
        data = (base / path).read_bytes()
        filled = [place for place, byte in enumerate(data) if byte]
        most = tries(4, 10) if path.name == "run.sqlite" else 1
        for place in chance.sample(filled, min(most, len(filled))):
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(base, out)
            with (out / path).open("r+b") as file:
                file.seek(place)
                file.write(bytes([data[place] ^ 0x10]))
            refused += refused_or_same(few, out, *memory)
    assert refused > 0


@pytest.mark.parametrize("harm", ["cut", "emptied", "removed", "of another run"])
@pytest.mark.parametrize("name", ["run.sqlite", "outputs.scratch/clusters.parquet"])
def test_a_file_is_cut_or_gone_or_foreign(
    name: str, harm: str, few: Work, memory: tuple[str, ...], tmp_path: Path
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    runs: list[tuple[Path, tuple[str, ...]]] = [(out, ())]
    if harm == "of another run":
        runs.append((other, ("--seed", "5", "--keep", "longest")))
    for folder, more in runs:
        if name.startswith("outputs"):
            process = few.start(folder, *memory, *more, trace=True, slow=0.005)
            wait_for(process, lambda p=process: ["written", "0"] in p.done("put"))
            process.kill()
            process.wait()
        else:
            killed(few, folder, "sets", *memory, *more)
    path = out / ".run" / name
    if harm == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif harm == "emptied":
        os.truncate(path, 0)
    elif harm == "removed":
        path.unlink()
    else:
        shutil.copy(other / ".run" / name, path)
    if (name, harm) in (("run.sqlite", "emptied"), ("run.sqlite", "removed")):
        few.run(out, *memory, "--resume").check()  # there is no run, then
        few.same(out)
        return
    if (name, harm) == ("run.sqlite", "of another run"):
        said = few.run(out, *memory, "--resume").check(1).error
        assert "other settings or inputs" in said and "seed" in said and "keep" in said
        return
    assert refused_or_same(few, out, *memory) == (name == "run.sqlite")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "not a database": lambda path: overwritten(path),
    "a database of another program": lambda path: (path.unlink(), foreign(path)),
}


def overwritten(path: Path) -> None:
    for log in path.parent.glob(f"{path.name}-*"):  # SQLite would mend it from there
        log.unlink()
    path.write_bytes(b"something else" * 1000)


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.execute("PRAGMA application_id = 7")


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_run_that_is_none(kind: str, few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed(few, out, "sketched")
    DAMAGES[kind](out / ".run" / "run.sqlite")
    before = tree(out)
    said = few.run(out, "--resume").check(1).error
    assert "run.sqlite" in said and "--resume" not in said
    assert tree(out) == before
    few.run(out, "--overwrite").check()
    few.same(out)


CHANGES = {
    "threshold": ["--threshold", "0.8"],
    "seed": ["--seed", "5"],
    "keep": ["--keep", "longest"],
    "order_by": ["--order-by", "quality"],
    "max_bucket": ["--max-bucket", "100"],
    "cluster": ["--cluster", "components"],
    "pairs": ["--pairs", "all"],
    "unit": ["--shingle", "char:5"],
    "store": ["--store", "sqlite:{}"],
    "output.format": ["--format", "csv"],
    "output.annotate": ["--annotate"],
    "output.clean": ["--no-clean"],
    "encoding_errors": ["--encoding-errors", "replace"],
    "max_document": ["--max-document", "1MB"],
    "skip_large": ["--skip-large"],
    "text": ["--text", "text,kind"],
}


@pytest.mark.long
def test_other_settings(few: Work, tmp_path: Path) -> None:
    """Also another keep order: what is kept would depend on the moment of the interruption."""
    out = tmp_path / "out"
    killed(few, out, "answered")
    # SQLite rolls back a transaction that was cut off as soon as anyone opens the file.
    few.run(out, "--resume", *CHANGES["seed"]).check(1)
    before = tree(out)

    def unchanged() -> bool:
        # Another store asks for the name that the run would have there, before it is refused.
        return {k: v for k, v in tree(out).items() if k != ".run/owner"} == before

    for named, change in CHANGES.items():
        change = [word.format(tmp_path / "keys") for word in change]
        said = few.run(out, "--resume", *change).check(1).error
        assert "this run has other settings or inputs" in said and named in said, said
        assert unchanged()
        assert not (tmp_path / "keys").exists()
    said = few.run(out).check(1).error
    assert "interrupted" in said and "--resume" in said and "--overwrite" in said
    assert unchanged()
    few.run(out, "--resume", "--threads", 1, "--memory", "3GB").check()
    few.same(out)


@pytest.mark.parametrize("stage", ["sketched", "answered"])
def test_another_input(stage: str, few: Work, tmp_path: Path) -> None:
    out, notes = tmp_path / "out", tmp_path / "notes.jsonl"
    shutil.copy(few.notes, notes)
    mine = Work(few.forge, few.folder, notes, few.known)
    killed(mine, out, stage)
    # SQLite rolls back a transaction that was cut off as soon as anyone opens the file.
    mine.run(out, "--resume", *CHANGES["seed"]).check(1)
    before, whole, times = tree(out), notes.read_bytes(), notes.stat()

    def refused(what: str) -> None:
        said = mine.run(out, "--resume").check(1).error
        assert what in said, said
        assert tree(out) == before

    os.utime(notes, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    refused("inputs")
    notes.write_bytes(whole + b'{"id": "new", "text": "one more"}\n')
    refused("inputs")
    # The same size and time, and another letter in many texts of one tenth.
    tenth = len(whole) // 10
    middle = whole[5 * tenth : 6 * tenth].replace(b"a ", b"o ")
    notes.write_bytes(whole[: 5 * tenth] + middle + whole[6 * tenth :])
    assert notes.stat().st_size == times.st_size
    os.utime(notes, ns=(times.st_atime_ns, times.st_mtime_ns))
    refused(f"inputs: {notes} has changed")
    notes.unlink()
    refused("no such file")
    notes.write_bytes(whole)
    os.utime(notes, ns=(times.st_atime_ns, times.st_mtime_ns))
    said = mine.forge.run(*mine.args(out, "--resume"), few.notes).check(1).error
    assert "inputs" in said
    mine.run(out, "--resume").check()
    mine.same(out)


def test_the_input_changes_while_it_is_read(few: Work, tmp_path: Path) -> None:
    out, notes = tmp_path / "out", tmp_path / "notes.jsonl"
    shutil.copy(few.notes, notes)
    mine = Work(few.forge, few.folder, notes)
    process = mine.start(out, trace=True, slow=0.05)
    wait_for(process, lambda: len(process.done("sketched")) > 2)
    with notes.open("a") as file:
        file.write('{"id": "new", "text": "one more"}\n')
    said = process.wait().check(1).error
    assert f"{notes} has changed while it was read" in said
    assert outputs(out) == {}


def test_the_copy_of_a_pipe_is_damaged(few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    args = ["dedup", "-", "-o", out, "--id", "id"]
    process = few.forge.start(*args, stdin=few.notes, slow=0.005, trace=True)
    wait_for(process, lambda: len(process.done("sketched")) > 3)
    process.kill()
    process.wait()
    (copy,) = (out / ".run").glob("*/input-0")
    assert copy.stat().st_mode & 0o777 == 0o600
    data = bytearray(copy.read_bytes())
    place = data.index(b'"text"') + 20
    data[place] = ord("Q") if data[place] != ord("Q") else ord("R")
    copy.write_bytes(data)
    assert "other settings or inputs" in few.forge.run(*args, "--resume").check(1).error


@pytest.mark.long
def test_an_output_is_damaged_before_it_is_renamed(several: Work, tmp_path: Path) -> None:
    """It is written again, whatever it is; the others are not."""
    base = tmp_path / "base"
    process = several.start(base, "--pairs", "all", trace=True, slow=0.005)
    wait_for(process, lambda: ["written", "0"] in process.done("put"))
    process.kill()
    process.wait()
    for name in ("clean/3.parquet", "clusters.parquet", "edges.parquet", "run.json"):
        for harm in ("changed", "gone"):
            out = tmp_path / f"{harm} {name.replace('/', ' ')}"
            shutil.copytree(base, out)
            path = out / ".run" / "outputs.scratch" / name
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
            if harm == "gone":
                path.unlink()
            resumed = several.start(out, "--pairs", "all", "--resume", trace=True)
            resumed.wait().check()
            several.same(out, "--pairs", "all")
            assert resumed.done("sketched") == []
            cleaned = [words[0] for words in resumed.done("clean")]
            assert cleaned == (["3.parquet"] if "clean" in name else [])


def test_overwrite_begins_anew(few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed(few, out, "answered", "--threshold", "0.8")
    few.run(out, "--overwrite").check()
    few.same(out)


@pytest.mark.long
def test_another_process_is_at_work(work: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = work.start(out, slow=0.01, trace=True)
    wait_for(first, lambda: len(first.done("sketched")) > 1)
    for more in ("--resume", "--overwrite"):
        assert "another neardup process uses" in work.run(out, more).check(1).error
    first.wait().check()
    work.same(out)


def test_the_run_folder_is_private_and_says_what_it_must(
    few: Work, memory: tuple[str, ...], tmp_path: Path
) -> None:
    from neardup.state.database import sampled_checksum
    from neardup.state.run_state import RunState

    out = tmp_path / "out"
    old = os.umask(0)
    try:
        killed(few, out, "sets", *memory)
    finally:
        os.umask(old)
    for path in [out / ".run", *(out / ".run").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    with RunState.open(out / ".run") as state:
        held = state.manifest
    status = few.notes.stat()
    ((*found, checksum),) = held["inputs"]  # type: ignore[misc]
    assert found == [str(few.notes), status.st_size, status.st_mtime_ns]
    assert checksum == sampled_checksum(few.notes)
    assert {"neardup", "given", "text", "id", "spec", "output", "store", "recipe"} <= set(held)
    assert outputs(out) == {}
    assert steps(out)["sketched"] == set(range(len(steps(out)["sketched"])))
