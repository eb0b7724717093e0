"""Outputs at a URL, and runs that work in another folder than the output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from remote_servers import BUCKET, Store, object_store

import neardup
from common import Command, files_of, some_rows, write_lines
from neardup.errors import OutputError, SpecError
from neardup.output import publishing


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with object_store() as found:
        yield found


@pytest.fixture(autouse=True)
def no_folder_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing stays in the system's temporary folder, and nothing is made of a URL's name."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    monkeypatch.chdir(tmp_path)
    yield
    assert not [path.name for path in place.iterdir() if not path.name.startswith("kept")]
    assert not Path("s3:").exists()


def test_as_a_local_output(store: Store, notes: Path, tmp_path: Path, command: Command) -> None:
    """The same files, in a run from a bucket to a bucket; then others in their place."""
    url = store.put("in/notes.jsonl", notes.read_bytes())
    out = f"s3://{BUCKET}/same"
    args = ("--id", "id", "--pairs", "all")
    assert command("dedup", notes, "-o", "local", *args).code == 0
    assert command("dedup", url, "-o", f"{out}/", *args).code == 0
    found, expected = store.files("same"), files_of(tmp_path / "local")
    assert found.keys() == expected.keys()
    del found["run.json"], expected["run.json"]
    assert found == expected
    assert "exists" in command("dedup", url, "-o", out).error
    more = ("--overwrite", "--tables", "csv", "--format", "csv", "--compression", "gzip")
    assert command("dedup", url, "-o", out, *more).code == 0
    tables = ["clusters.csv", "clusters.parquet"]
    assert sorted(store.files("same")) == ["clean/part-00000.csv.gz", *tables, "run.json"]


@pytest.mark.long
def test_an_open_run_at_a_url(store: Store, notes: Path, tmp_path: Path) -> None:
    url = store.put("in/notes.jsonl", notes.read_bytes())
    local = neardup.dedup(notes, id="id")
    run = neardup.dedup(url, id="id", out=f"s3://{BUCKET}/opened")
    assert run.path is None and f"s3://{BUCKET}/opened" in repr(run)
    run = neardup.open(f"s3://{BUCKET}/opened")
    assert run.clusters.equals(local.clusters)
    assert run.clean().equals(local.clean())
    assert run.explain("n2").comparison == local.explain("n2").comparison
    again = run.recluster(f"s3://{BUCKET}/again", threshold=0.9, tables="csv")
    assert again.summary["counts"] == local.recluster(threshold=0.9).summary["counts"]
    saved = local.save(f"s3://{BUCKET}/saved")
    assert saved.clusters.equals(local.clusters)
    with pytest.raises(SpecError, match="is stored in s3://"):
        saved.save(tmp_path / "x")


def test_what_is_refused(store: Store, notes: Path) -> None:
    top = f"s3://{BUCKET}"
    url = store.put("mine/clean/notes.jsonl", notes.read_bytes())
    files = {"run.json": None, "clean": ["notes.jsonl"]}
    store.put("mine/run.json", json.dumps({"command": "dedup", "files": files}).encode())
    cases: dict[str, tuple[Any, dict[str, Any], str]] = {
        "web": (notes, {"out": "https://a.example/b"}, "https:// can only be read"),
        "bucket": (notes, {"out": "s3://none/b"}, "there is no such bucket"),
        "input": (url, {"out": f"{top}/mine", "overwrite": True}, "is an input and would be"),
        "there": (notes, {"out": f"{top}/mine"}, "exists"),
    }
    for source, options, says in cases.values():
        with pytest.raises(OutputError, match=says) as caught:
            neardup.dedup(source, **options)
        assert caught.value.hint and "\n" not in str(caught.value)
    with pytest.raises(SpecError, match="needs the folder in which"):
        neardup.dedup(notes, out=f"{top}/new", resume=True)
    with pytest.raises(SpecError, match="`work` needs an output folder"):
        neardup.dedup(notes, work="work")
    with pytest.raises(SpecError, match="`work` is for an output at a URL"):
        neardup.dedup(notes, out="out", work="work")
    assert store.files("mine").keys() == {"clean/notes.jsonl", "run.json"}
    assert not store.files("new")


def test_resume_after_a_failed_copy(
    store: Store, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without run.json there is no run; the same call with resume copies it, and does no more."""
    out = f"s3://{BUCKET}/failed"
    real = publishing.write_remote

    def fail(*arguments: Any) -> None:
        if any("clusters" in str(argument) for argument in arguments):
            raise OutputError("no space there", "free some")
        real(*arguments)

    def names() -> set[str]:
        return set(store.files("failed"))

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "write_remote", fail)
        with pytest.raises(OutputError, match="no space there"):
            neardup.dedup(notes, id="id", out=out, work=tmp_path / "work")
    assert "clean/part-00000.jsonl" in names() and "run.json" not in names()
    started = (tmp_path / "work/result/run.json").stat().st_mtime_ns
    seen: list[Any] = []
    run = neardup.dedup(
        notes, id="id", out=out, work=tmp_path / "work", resume=True, progress=seen.append
    )
    assert run.summary["counts"]["documents"] == 30 and started and not seen
    assert names() == {"clean/part-00000.jsonl", "clusters.parquet", "run.json"}
    assert not (tmp_path / "work/result").exists()
    again = neardup.dedup(notes, id="id", out=out, work=tmp_path / "work", resume=True)
    assert again.summary == run.summary


def test_a_finished_run_is_not_lost(
    store: Store, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody named a folder, what could not be copied stays, and the hint says where."""
    real = publishing.write_remote

    def fail(url: str, path: Path | bytes) -> None:
        if isinstance(path, Path):
            raise OutputError("no space there")
        real(url, path)

    monkeypatch.setattr(publishing, "write_remote", fail)
    with pytest.raises(OutputError) as caught:
        neardup.dedup(notes, out=f"s3://{BUCKET}/lost")
    place = next((tmp_path / "temporary").iterdir())
    assert f"the output is in {place / 'result'}" in caught.value.hint
    assert json.loads((place / "result/run.json").read_text())["counts"]["documents"] == 30
    assert not store.files("lost")
    place.rename(place.with_name("kept"))


def test_interrupted_without_a_folder(store: Store, tmp_path: Path) -> None:
    """What was begun goes, and the hint says how to be able to resume."""
    path = write_lines(tmp_path / "x.jsonl", some_rows())

    def stop(event: Any) -> None:
        if event.stage == "buckets":
            raise OutputError("no space left")

    with pytest.raises(OutputError) as caught:
        neardup.dedup(path, out=f"s3://{BUCKET}/begun", progress=stop)
    assert "with `work`" in caught.value.hint
    assert not store.files("begun")


@pytest.mark.long
def test_the_folder_of_a_killed_run_is_removed(
    store: Store, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next run, whatever that one is."""
    place = tmp_path / "temporary"
    monkeypatch.setenv("TMPDIR", str(place))
    program = "import os, sys, neardup\ndef end(event): os._exit(9)\n"
    program += "neardup.dedup(sys.argv[1], out=sys.argv[2], progress=end)"
    arguments = [str(notes), f"s3://{BUCKET}/killed"]
    killed = subprocess.run([sys.executable, "-c", program, *arguments], check=False, timeout=120)
    assert killed.returncode == 9 and list(place.glob("neardup-output-*/result"))
    neardup.dedup(notes, id="id", out=f"s3://{BUCKET}/after a kill")


def test_an_output_in_an_input_folder_is_refused(
    store: Store, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run would read it; nothing is made, and what is hidden is not read."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "x.jsonl").write_bytes(notes.read_bytes())
    store.put("inside/x.jsonl", notes.read_bytes())
    url = f"s3://{BUCKET}/inside"
    for source, out in (
        (folder, folder / "out"),
        (folder, folder),
        (Path(f"{folder}/**"), folder / "a/b"),
        (url, f"{url}/out"),
        ([Path("local"), Path(f"{url}/")], f"{url}/out"),
    ):
        with pytest.raises(OutputError, match=r"is in .*an input"):
            neardup.dedup(source, id="id", out=out, overwrite=True)
    with pytest.raises(OutputError, match=r"is in .*an input"):
        neardup.dedup(folder, id="id").save(folder / "out")
    with pytest.raises(OutputError, match=r"is in .*an input"):
        neardup.decontaminate(folder, ["one two"], out=folder / "out")
    assert [path.name for path in folder.iterdir()] == ["x.jsonl"]
    assert list(store.files("inside")) == ["x.jsonl"]
    neardup.dedup(folder, id="id", out=folder / ".out")
    neardup.dedup(url, id="id", out=f"{url}-out")
    monkeypatch.chdir(folder)
    neardup.dedup(Path("**/*.jsonl"), id="id", out=tmp_path / "elsewhere")
    with pytest.raises(OutputError, match=r"is in .*an input"):
        neardup.dedup(Path("**/*.jsonl"), id="id", out="out")


def test_an_old_corpus_at_a_url(
    store: Store, notes: Path, tmp_path: Path, command: Command
) -> None:
    """The output of a run, as other commands read it; what is made of it is a local folder."""
    old = f"s3://{BUCKET}/old"
    neardup.dedup(store.put("in/notes.jsonl", notes.read_bytes()), id="id", out=old)
    args = ("dedup", notes, "--id", "id", "--against")
    assert command(*args, old, "-o", "fresh").code == 0
    assert json.loads(Path("fresh/run.json").read_text())["counts"]["kept"] == 0
    assert "no file is there" in command(*args, f"{old}er", "-o", "none").error
    refused = command(*args, old, "-o", "other", "--annotate")
    assert refused.code == 2 and "--annotate does not go with --against" in refused.error


def test_commands_that_write_to_this_machine(notes: Path, command: Command) -> None:
    """Refused before anything is read."""
    url = f"s3://{BUCKET}/x"
    for args in (
        ("blocks", notes, "--fields", "text", "-o", f"{url}.csv"),
        ("index", "create", url),
        ("synth", "-n", "10", "-o", f"{url}.jsonl"),
        ("report", "none", "-o", f"{url}.html"),
    ):
        found = command(*args)
        assert found.code == 1 and url in found.error and "expected a local path" in found.error
    for args in (("dedup", notes, "-o", "-"), ("decontaminate", notes, "--against", notes, "-o-")):
        found = command(*args)
        assert found.code == 2 and "standard output" in found.error
    assert not Path("-").exists()


def test_two_runs_to_one_url(store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that began last writes; the other ends with an error, before its run.json."""
    out = f"s3://{BUCKET}/both"
    real = publishing.write_remote
    other: list[bool] = []

    def begin_another(url: str, content: Path | bytes) -> None:
        real(url, content)
        if "clusters" in url and not other:
            other.append(True)
            real(f"{out}/{publishing._MARK}", b"of another run")

    monkeypatch.setattr(publishing, "write_remote", begin_another)
    with pytest.raises(OutputError, match="another run"):
        neardup.dedup(notes, id="id", out=out, work="work")
    assert "run.json" not in store.files("both")
    assert store.files("both")[publishing._MARK] == b"of another run"
    neardup.dedup(notes, id="id", out=out, work="work", resume=True)
    assert {"run.json"} < store.files("both").keys() and publishing._MARK not in store.files("both")


@pytest.mark.long
def test_no_empty_folders_are_left(store: Store, notes: Path, command: Command) -> None:
    """Neither of partitions that became empty nor of a run that failed."""
    for day in (1, 2):
        store.put(f"days/day={day}/p.jsonl", notes.read_bytes().replace(b'"n', b'"%d' % day))
    out = f"s3://{BUCKET}/daily/out"
    assert command("dedup", f"s3://{BUCKET}/days", "-o", out, "--id", "id").code == 0
    assert command("dedup", notes, "-o", out, "--id", "id", "--overwrite").code == 0
    assert not [name for name in store.folders("daily") if "day=" in name]
    failed = f"s3://{BUCKET}/daily/failed"
    assert command("dedup", notes, "-o", failed, "--id", "nope").code == 1
    assert "failed" not in store.folders("daily")


def test_resume_of_what_is_complete(store: Store, notes: Path, command: Command) -> None:
    """With other settings one clear error; with the same nothing, and the work folder is empty."""
    args = ("dedup", notes, "-o", f"s3://{BUCKET}/complete", "--id", "id", "--work", "work")
    assert command(*args).code == 0
    other = command(*args, "--resume", "--threshold", "0.9")
    assert other.code == 1 and "is complete, with other settings" in other.error
    Path("work/result").mkdir()
    assert command(*args, "--resume").code == 0
    assert not Path("work/result").exists()


def test_recluster_below_an_input(store: Store, notes: Path, command: Command) -> None:
    store.put("below/in.jsonl", notes.read_bytes())
    top = f"s3://{BUCKET}/below"
    assert command("dedup", top, "-o", "run", "--id", "id").code == 0
    assert "is in s3://" in command("recluster", "run", "-o", f"{top}/out").error


def test_nothing_is_written_below_an_input(notes: Path, tmp_path: Path, command: Command) -> None:
    pytest.importorskip("jinja2")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "notes.jsonl").write_bytes(notes.read_bytes())
    assert command("dedup", "in", "-o", "run", "--id", "id").code == 0
    for arguments in (
        ("recluster", "run", "-o", "in/out"),
        ("report", "run", "-o", "in/page.html"),
        ("explain", "run", "n2", "--html", "in/page.html"),
        ("index", "create", "in/x.index", "--from-run", "run", "--quiet"),
    ):
        assert "which is an input" in command(*arguments).error, arguments
    assert [path.name for path in folder.iterdir()] == ["notes.jsonl"]
