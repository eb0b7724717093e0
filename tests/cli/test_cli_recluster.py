"""``neardup recluster`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from common import Command, some_rows, write_lines


def test_recluster(tmp_path: Path, command: Command) -> None:
    source = write_lines(tmp_path / "in.jsonl", some_rows())
    run, out = tmp_path / "run", tmp_path / "out"
    done = command("dedup", source, "-o", run, "--id", "id", "--pairs", "all")
    assert done.code == 0
    answer = command(
        "recluster", run, "-o", out, "--edge-threshold", "0.75", "--cluster", "star",
        "--format", "jsonl",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert "made again from the input: shingle sets" in answer.err
    assert (out / "clean.jsonl").exists()
    record = json.loads((out / "run.json").read_text())
    assert record["spec"]["cluster"] == "star"
    assert record["spec"]["edge_threshold"] == 0.75
    assert pq.read_table(out / "edges.parquet").num_rows == 10
    assert command("recluster", run, "-o", out).code == 1  # it exists
    quiet = command("recluster", run, "-o", out, "--overwrite", "--quiet")
    assert (quiet.code, quiet.err, quiet.out) == (0, "", "")


def test_errors(tmp_path: Path, command: Command) -> None:
    source = write_lines(tmp_path / "in.jsonl", some_rows())
    run, out = tmp_path / "run", tmp_path / "out"
    assert command("dedup", source, "-o", run).code == 0
    low = command("recluster", run, "-o", out, "--edge-threshold", "0.5")
    assert low.code == 2
    assert "below that of the run, 0.7" in low.error
    nothing = command("recluster", tmp_path / "no", "-o", out)
    assert nothing.code == 1
    assert "no finished run" in nothing.error
    (run / "run.json").write_text("{")
    assert "damaged" in command("recluster", run, "-o", out).error
    assert not out.exists()
