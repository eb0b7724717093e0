"""``neardup evaluate`` on the command line; what it computes is tested with the function."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import neardup
from bench.notes import SynthSpec, write
from common import Command, some_rows, write_lines
from neardup.inspect.evaluate import evaluate
from neardup.results.results import open_results


@pytest.fixture
def run(tmp_path: Path, command: Command) -> Path:
    """All pairs of 30 notes, of which every third is similar to the one before it."""
    path = write_lines(tmp_path / "notes.jsonl", some_rows())
    done = command("dedup", path, "-o", tmp_path / "out", "--id", "id", "--pairs", "all", "--quiet")
    assert done.code == 0
    return tmp_path / "out"


def truth(folder: Path, pairs: int = 10) -> Path:
    path = folder / "truth.csv"
    rows = "".join(f"n{3 * k + 2},n{3 * k + 1}\n" for k in range(pairs))
    path.write_text("id_a,id_b\n" + rows)
    return path


def evaluated(command: Command, *arguments: Any) -> dict[str, Any]:
    done = command("evaluate", *arguments, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_as_the_function(run: Path, command: Command, tmp_path: Path) -> None:
    path = truth(tmp_path, 8)
    found = evaluated(command, run, "--truth", path)
    assert found == evaluate(open_results(run), path)
    assert found["edges"]["precision"] == 0.8 and found["removed"]["recall"] == 1
    options = ("--columns", "id_a,id_b", "--kind", "links", "--only-named", "--missing", "skip")
    named = evaluated(command, run, "--truth", path, *options)
    assert named["truth"]["kind"] == "links" and named["edges"]["precision"] == 1
    shown = command("evaluate", run, "--truth", path).out
    for line in (
        "truth       8 pairs; it names 16 of 30 documents",
        "removed documents         10             8     80.0 %   100 %  88.9 %",
        "The best F1, 88.9 %, is at 0.7, the threshold of the run",
    ):
        assert line in shown


def test_judgements_of_a_report(run: Path, command: Command, tmp_path: Path) -> None:
    path = tmp_path / "review.csv"
    path.write_text("id_a,id_b,duplicate\nn1,n2,true\nn4,n5,false\nn0,n9,false\n")
    assert "precision   50.0 %" in command("evaluate", run, "--truth", path).out
    assert evaluated(command, run, "--truth", path)["judged"]["pairs"] == 3


def test_synthetic_notes(tmp_path: Path, command: Command) -> None:
    """The ground truth of `neardup synth` is taken as it is; a run agrees with itself."""
    write(SynthSpec(400, families=()), tmp_path / "notes.jsonl")
    out = tmp_path / "out"
    assert command("dedup", tmp_path / "notes.jsonl", "-o", out, "--id", "id", "--quiet").code == 0
    found = evaluated(command, out, "--truth", tmp_path / "notes.truth.parquet")
    assert found["truth"]["kind"] == "links" and found["edges"] is None
    assert found["removed"]["precision"] == 1
    assert found["clusters"]["pairwise"]["recall"] > 0.3
    same = evaluated(command, out, "--truth", out / "clusters.parquet")
    assert same["clusters"]["b_cubed"]["f1"] == same["clusters"]["pairwise"]["f1"] == 1
    assert pq.read_table(out / "clusters.parquet").num_rows == 400


def test_what_is_refused(run: Path, command: Command, tmp_path: Path) -> None:
    path = truth(tmp_path)
    assert "no finished run" in command("evaluate", tmp_path, "--truth", path).error
    assert "no such file" in command("evaluate", run, "--truth", tmp_path / "no.csv").error
    path.write_text("id_a,id_b\nn1,nobody\n")
    done = command("evaluate", run, "--truth", path)
    assert done.code == 1 and "--missing skip" in done.err
    done = command("evaluate", run, "--truth", path, "--columns", "a")
    assert done.code == 2 and done.error == "error: --columns names 1; expected two"


def test_python_says_the_same(run: Path, tmp_path: Path) -> None:
    path = truth(tmp_path)
    assert neardup.open(run).evaluate(path) == evaluate(open_results(run), path)
