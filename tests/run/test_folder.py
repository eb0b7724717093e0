"""What is wrong with a run folder, or no longer as it was, is refused and named."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from killing import Work, outputs, steps, wait_for

#: Stage and item at which the run was killed.
MOMENTS = {"sign": 4, "band": 3, "sets": 4, "cluster": 3}


def killed(work: Work, out: Path, stage: str, *more: str, slow: float = 0.004) -> None:
    """Leave the folder of a run that was killed when a stage was about half done."""
    process = work.start(out, *more, slow=slow)
    assert wait_for(process, lambda: MOMENTS[stage] in steps(out).get(stage, ()))
    process.kill()
    process.wait()


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused_or_same(work: Work, out: Path, path: Path, *more: str) -> bool:
    """Resume after damage: refused in one line that names something, or as if there were none."""
    ended = work.run(out, *more, "--resume")
    assert "Traceback" not in ended.err and "unexpected" not in ended.err, (path, ended.err)
    if ended.code == 0:
        work.same(out)
        return False
    assert ended.code == 1, (path, ended.err)
    said = ended.error
    named = (path.name, "store", "part", "band", "bands.sqlite", "manifest")
    assert any(word in said for word in named), (path, said)
    return True


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("stage", ["sign", "sets", "cluster"])
def test_a_byte_is_damaged_in_each_file(store: str, stage: str, few: Work, tmp_path: Path) -> None:
    base, out = tmp_path / "base", tmp_path / "out"
    killed(few, base, stage, "--store", store)
    run, refused = base / ".run", set()
    paths = sorted(p.relative_to(base) for p in run.rglob("*") if p.is_file() and p.stat().st_size)
    # Of files of a kind, the first and the last.
    kinds: dict[tuple[Path, str], list[Path]] = {}
    for path in paths:
        kinds.setdefault((path.parent, path.suffix), []).append(path)
    for found in kinds.values():
        for path in dict.fromkeys((found[0], found[-1])):
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(base, out)
            data = bytearray((out / path).read_bytes())
            data[len(data) * 2 // 3] ^= 0x10
            (out / path).write_bytes(data)
            if refused_or_same(few, out, path, "--store", store):
                refused.add(path.suffix or path.name)
    # Once all bands are grouped, their keys are not read any more.
    read = {"sign": {".part"} if store == "memory" else set()}.get(stage, {".npz", "values"})
    assert refused >= {".json", *read}


@pytest.mark.parametrize("harm", ["cut", "emptied", "removed", "of another run"])
@pytest.mark.parametrize("name", ["store/bands-00000001.part", "band/000001.npz", "sets/values"])
def test_a_file_is_cut_or_gone_or_foreign(name: str, harm: str, few: Work, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    killed(few, out, "cluster", "--store", "memory")
    path = out / ".run" / name
    if harm == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif harm == "emptied":
        os.truncate(path, 0)
    elif harm == "removed":
        path.unlink()
    else:
        killed(few, other, "cluster", "--store", "memory", "--seed", "5", "--keep", "longest")
        shutil.copy(other / ".run" / name, path)
    assert refused_or_same(few, out, path, "--store", "memory")


def seal(body: bytes) -> bytes:
    return b"neardup manifest %08x\n" % zlib.crc32(body) + body


MANIFESTS: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "foreign": lambda data: b'{"manifest_version": 3, "name": "something else"}\n',
    "no seal": lambda data: data.partition(b"\n")[2],
    "other format": lambda data: seal(
        data.partition(b"\n")[2].replace(b'"format": 1', b'"format": 99')
    ),
    "list": lambda data: seal(b"[]"),
}


@pytest.mark.parametrize("kind", MANIFESTS)
def test_another_manifest(kind: str, few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed(few, out, "sign")
    path = out / ".run" / "manifest.json"
    path.write_bytes(MANIFESTS[kind](path.read_bytes()))
    before = tree(out)
    said = few.run(out, "--resume").check(1).error
    assert "manifest.json" in said and "--overwrite" in said
    assert ("format 99" in said) == (kind == "other format")
    assert tree(out) == before
    few.run(out, "--overwrite").check()
    few.same(out)


def test_half_of_a_manifest_beside_the_whole_one(few: Work, tmp_path: Path) -> None:
    """That one is being written when a run is killed; the one before it still counts."""
    out = tmp_path / "out"
    killed(few, out, "sign")
    (out / ".run" / "manifest.json.partial").write_bytes(b"neardup manifest 0000")
    few.run(out, "--resume").check()
    few.same(out)


def test_a_manifest_of_another_run(few: Work, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    killed(few, out, "sets", "--store", "memory")
    killed(few, other, "sets", "--store", "memory", "--edge-threshold", "0.8")
    shutil.copy(other / ".run" / "manifest.json", out / ".run" / "manifest.json")
    said = few.run(out, "--store", "memory", "--resume").check(1).error
    assert "edge_threshold was 0.8 and is 0.7" in said
    said = few.run(out, "--store", "memory", "--edge-threshold", "0.8", "--resume").check(1).error
    assert str(out) in said


CHANGES = {
    "edge_threshold": ["--edge-threshold", "0.8"],
    "seed": ["--seed", "5"],
    "keep": ["--keep", "longest"],
    "unit": ["--shingle", "char:5"],
    "store was": ["--store", "sqlite"],
    "design": ["--design", "1"],
    "format": ["--format", "jsonl"],
    "compression": ["--compression", "lz4"],
    "chunk_bytes": ["--part-size", "300KB"],
    "encoding_errors": ["--encoding-errors", "replace"],
}


def test_other_settings(few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed(few, out, "sign")
    before = tree(out)
    for named, change in CHANGES.items():
        said = few.run(out, "--resume", *change).check(1).error
        assert "can't resume" in said and named in said, said
        assert tree(out) == before
    said = few.run(out).check(1).error
    assert "interrupted" in said and "--resume" in said and "--overwrite" in said
    assert tree(out) == before
    few.run(out, "--resume", "--threads", 1, "--memory", "3GB").check()
    few.same(out)


@pytest.mark.parametrize("stage", ["sign", "cluster"])
def test_another_input(stage: str, few: Work, tmp_path: Path) -> None:
    out, notes = tmp_path / "out", tmp_path / "notes.jsonl"
    shutil.copy(few.notes, notes)
    mine = Work(few.forge, few.folder, notes, few.known)
    killed(mine, out, stage)
    before, whole, times = tree(out), notes.read_bytes(), notes.stat()

    def refused(what: str) -> None:
        said = mine.run(out, "--resume").check(1).error
        assert str(notes) in said and what in said, said
        assert tree(out) == before

    os.utime(notes, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    refused("has changed since")
    notes.write_bytes(whole + b'{"id": "new", "text": "one more"}\n')
    refused("has changed since")
    notes.unlink()
    refused("no such file")
    notes.write_bytes(whole)
    os.utime(notes, ns=(times.st_atime_ns, times.st_mtime_ns))
    said = mine.forge.run(*mine.args(out, "--resume"), few.notes).check(1).error
    assert "there were 1 input files and are 2" in said
    mine.run(out, "--resume").check()
    mine.same(out)


def test_the_copy_of_a_pipe_is_damaged(few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    args = ["dedup", "-", "-o", out, "--id", "id", "--part-size", "256KB"]
    process = few.forge.start(*args, stdin=few.notes, slow=0.004)
    wait_for(process, lambda: 2 in steps(out).get("sign", ()))
    process.kill()
    process.wait()
    copy = out / ".run" / "input-0"
    data = bytearray(copy.read_bytes())
    place = data.index(b'"text"') + 20
    data[place] = ord("Q") if data[place] != ord("Q") else ord("R")
    copy.write_bytes(data)
    assert "has changed since" in few.forge.run(*args, "--resume").check(1).error


def test_an_output_is_damaged_before_it_is_renamed(few: Work, tmp_path: Path) -> None:
    whole = few.start(tmp_path / "whole", trace=True)
    whole.wait().check()
    made = [words for words in whole.done() if words[0] == "call"]
    moment = next(
        i for i, (_, name, path) in enumerate(made) if name == "replace" and ".clean." in path
    )
    for name in ("clean", "clusters", "edges"):
        out = tmp_path / name
        few.run(out, crash=moment)
        path = out / ".run" / "outputs" / f".{name}.parquet.partial"
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        assert refused_or_same(few, out, path)


def test_overwrite_begins_anew(few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed(few, out, "cluster", "--store", "sqlite", "--edge-threshold", "0.8")
    few.run(out, "--overwrite").check()
    few.same(out)
    assert not (out / ".run").exists()


def test_another_process_is_at_work(work: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = work.start(out, slow=0.01)
    wait_for(first, lambda: 1 in steps(out).get("sign", ()))
    for more in ("--resume", "--overwrite"):
        assert "another run is at work" in work.run(out, more).check(1).error
    first.wait().check()
    work.same(out)


def test_the_store_of_another_run_stays(few: Work, tmp_path: Path) -> None:
    """Also where a run that names it is killed at once, and resumed."""
    store = f"sqlite:{tmp_path / 'bands'}"
    named = ["--store", store, "--run", "r", "--part-size", "256KB"]
    few.forge.run("sign", few.notes, "--id", "id", *named).check()
    out = tmp_path / "out"
    assert "holds a run already" in few.run(out, "--store", store).check(1).error
    assert not out.exists()
    for moment in range(1, 20):
        few.run(out, "--store", store, "--overwrite", crash=moment)
        if (out / ".run" / "manifest.json").exists():
            break
    assert "begun otherwise" in few.run(out, "--store", store, "--resume").check(1).error
    few.forge.run("dedup", *named, "-o", tmp_path / "signed").check()
    few.same(tmp_path / "signed")


def test_the_manifest_says_what_it_must(few: Work, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed(few, out, "cluster", "--store", "sqlite")
    seal_, _, body = (out / ".run" / "manifest.json").read_bytes().partition(b"\n")
    assert seal_ == b"neardup manifest %08x" % zlib.crc32(body)
    held = json.loads(body)
    status = few.notes.stat()
    assert held["manifest"]["inputs"] == [[str(few.notes), status.st_size, status.st_mtime_ns]]
    assert len(held["manifest"]["digest"]) == 64
    assert set(held["steps"]) >= {"sign", "signed", "band", "sets", "cluster"}
    for stage in ("band", "sets", "cluster"):
        for item, about in held["steps"][stage].items():
            data = (out / ".run" / stage / f"{int(item):06}.npz").read_bytes()
            assert zlib.crc32(data) == about["checksum"] and len(data) == about["bytes"]
    assert outputs(out) == {}
