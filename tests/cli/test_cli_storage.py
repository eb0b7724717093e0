"""Where things are kept, how much memory there is and how many threads: the bytes are the same."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.json
import pytest
from cli_process import NEARDUP

from common import Command, files_of
from neardup.synth import SynthSpec, write

PARTS = ("--id", "id", "--part-size", "256KB")


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("storage") / "notes.jsonl"
    write(SynthSpec(documents=4_000, words=(20, 120)), path)
    return path


def outputs(out: Path) -> dict[str, Any]:
    """What was written; of ``run.json`` what must not depend on how."""
    found: dict[str, Any] = dict(files_of(out))
    record = json.loads(found.pop("run.json"))
    return {**found, "counts": record["counts"], "bands": record["bands"]}


@pytest.fixture
def plain(command: Command, notes: Path, tmp_path: Path) -> dict[str, Any]:
    assert command("dedup", notes, "-o", tmp_path / "plain", *PARTS).code == 0
    return outputs(tmp_path / "plain")


SETTINGS: dict[str, list[str]] = {
    "auto": ["--store", "auto"],
    "memory": ["--store", "memory"],
    "sqlite": ["--store", "sqlite"],
    "sqlite, design 1": ["--store", "sqlite", "--design", "1"],
    "sqlite:PATH": ["--store", "sqlite:{}/bands"],
    "sqlite:PATH, design 1": ["--store", "sqlite:{}/bands", "--design", "1"],
    "one thread": ["--threads", "1"],
    "three threads": ["--threads", "3", "--store", "sqlite"],
    "least memory": ["--memory", "LEAST"],
    "least memory, held": ["--memory", "LEAST", "--store", "memory"],
    "some memory": ["--memory", "1.2GB"],
    "much memory": ["--memory", "100GB", "--threads", "2"],
    "large parts": ["--part-size", "1MB"],
    "one part": ["--part-size", "1GB"],
}


def least(command: Command, *args: Any) -> str:
    """The least memory that the plan accepts."""
    said = command("plan", *args, "--memory", "1TB").out
    number, unit = said.partition("the least is ")[2].split()[:2]
    scale = {"MB": 1, "GB": 1000}[unit]
    return f"{int(float(number) * scale + max(1, 0.06 * scale))}MB"  # it is rounded


def test_settings(command: Command, notes: Path, plain: dict[str, Any], tmp_path: Path) -> None:
    for name, words in SETTINGS.items():
        settings = [word.format(tmp_path) for word in words]
        if "LEAST" in settings:
            settings[1] = least(command, notes, "--id", "id")
        out = tmp_path / name.replace(":", " ")
        done = command("dedup", notes, "-o", out, *PARTS, *settings)
        assert done.code == 0, done.err
        assert outputs(out) == plain, name
        assert not (out / ".run").exists() and not list(tmp_path.glob("bands*"))


def test_pipes(notes: Path, plain: dict[str, Any], tmp_path: Path) -> None:
    """Standard input, and a named pipe."""
    out = tmp_path / "stdin"
    with notes.open("rb") as file:
        subprocess.run(
            [*NEARDUP, "dedup", "-", "-o", str(out), *PARTS, "--quiet"], stdin=file, check=True
        )
    assert outputs(out) == plain
    pipe, out = tmp_path / "notes.jsonl", tmp_path / "fifo"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(notes.read_bytes()))
    writer.start()
    subprocess.run([*NEARDUP, "dedup", str(pipe), "-o", str(out), *PARTS, "--quiet"], check=True)
    writer.join()
    assert outputs(out) == plain


def test_compressed(command: Command, notes: Path, plain: dict[str, Any], tmp_path: Path) -> None:
    packed = tmp_path / "notes.jsonl.gz"
    with notes.open("rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    assert command("dedup", packed, "-o", tmp_path / "gz", *PARTS, "--store", "sqlite").code == 0
    assert outputs(tmp_path / "gz") == plain


def test_csv(command: Command, notes: Path, plain: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    pyarrow.csv.write_csv(pyarrow.json.read_json(notes), path)
    found = []
    for store in ("memory", "sqlite"):
        out = tmp_path / store
        assert command("dedup", path, "-o", out, *PARTS, "--store", store).code == 0
        found.append(outputs(out))
    assert found[0] == found[1]
    assert found[0]["counts"]["kept"] == plain["counts"]["kept"]


def test_plan(command: Command, notes: Path, tmp_path: Path) -> None:
    """It prints, and does nothing."""
    out = tmp_path / "out"
    first = command("plan", notes, "--id", "id", "--memory", "4GB")
    second = command("dedup", notes, "-o", out, "--id", "id", "--memory", "4GB", "--plan")
    assert first.code == second.code == 0
    # Time is measured, and memory is what there is at that moment.
    first_told, second_told = (
        [x for x in done.out.splitlines() if not x.startswith("peak") and not x.endswith(" s")]
        for done in (first, second)
    )
    assert first_told == second_told and not first.err and not second.err
    for word in ("documents", "memory", "store", "disk", "passes", "bands", "outputs"):
        assert word in first.out
    assert "4 GB may be used" in first.out
    assert list(tmp_path.iterdir()) == []


def test_plan_of_too_little(command: Command, notes: Path, tmp_path: Path) -> None:
    done = command("plan", notes, "--memory", "50MB")
    assert "refused" in done.out and "give more --memory" in done.out
    done = command("dedup", notes, "-o", tmp_path / "out", "--memory", "50MB")
    assert done.code == 2
    assert "--memory is 50" in done.error and "at least" in done.error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (["--memory", "much"], "'much'"),
        (["--memory", "0"], "memory"),
        (["--part-size", "4XB"], "4XB"),
        (["--store", "redis://here"], "redis"),
        (["--store", "sqlite:"], "sqlite"),
        (["--design", "3"], "design"),
        (["--threads", "0"], "threads"),
        (["--run", "r"], "'r'"),
        (["--store", "memory", "--run", "r"], "sqlite:PATH"),
    ],
)
def test_settings_that_are_wrong(
    settings: list[str], named: str, command: Command, notes: Path, tmp_path: Path
) -> None:
    done = command("dedup", notes, "-o", tmp_path / "out", *settings)
    assert done.code in (1, 2)
    assert named in done.err and done.error
    assert list(tmp_path.iterdir()) == []


def test_a_store_can_not_be_made(command: Command, notes: Path, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'nowhere' / 'bands'}"
    done = command("dedup", notes, "-o", tmp_path / "out", "--store", store)
    assert done.code == 1 and "nowhere" in done.error
    assert list(tmp_path.iterdir()) == []
