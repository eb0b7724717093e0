"""``neardup recluster`` on the command line."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pyarrow.parquet as pq

from common import Command, some_rows, write_lines
from neardup.deduplication.clock import process_start


def test_recluster(tmp_path: Path, command: Command) -> None:
    source = write_lines(tmp_path / "in.jsonl", some_rows())
    run, out = tmp_path / "run", tmp_path / "out"
    done = command("dedup", source, "-o", run, "--id", "id", "--pairs", "all")
    assert done.code == 0
    age = time.monotonic() - process_start()
    answer = command("recluster", run, "-o", out, "--threshold", "0.75", "--keep", "first")
    assert answer.code == 0, answer.err
    assert "kept 20 " in " ".join(answer.err.split()) and str(out) in answer.err
    record = json.loads((out / "run.json").read_text())
    assert (record["spec"]["threshold"], record["spec"]["pairs"]) == (0.75, "all")
    assert sum(record["seconds"].values()) > age - 0.1  # from the start of the process
    assert record["recluster"] == {"run": str(run), "used": "input"}
    assert pq.read_table(out / "edges.parquet").num_rows == 10
    assert len(list((out / "clean").iterdir())) == 1
    told = command("recluster", run, "-o", tmp_path / "told", "--json")
    assert json.loads(told.out)["counts"]["kept"] == 30 - json.loads(told.out)["counts"]["removed"]
    assert command("recluster", run, "-o", out).code == 1  # it exists
    quiet = command(
        "recluster", run, "-o", out, "--overwrite", "--quiet", "--no-clean", "--cluster", "bounded",
        "--tree-threshold", "0.2", "--memory", "2GB", "--threads", "1",
    )  # fmt: skip
    assert (quiet.code, quiet.err, quiet.out) == (0, "", "")
    record = json.loads((out / "run.json").read_text())
    assert record["recluster"]["used"] == "input" and record["spec"]["tree_threshold"] == 0.2
    assert not (out / "clean").exists()


def test_errors(tmp_path: Path, command: Command) -> None:
    source = write_lines(tmp_path / "in.jsonl", some_rows())
    run, out = tmp_path / "run", tmp_path / "out"
    assert command("dedup", source, "-o", run, "--quiet").code == 0
    for arguments, code, says in (
        (("--tree-threshold", "0.5"), 2, "a tree threshold is for bounded and disjoint-sets"),
        (("--threshold", "0"), 2, "threshold is 0.0"),
        (("--keep", "max:nothing"), 1, "no column 'nothing'"),
    ):
        done = command("recluster", run, "-o", out, *arguments)
        assert done.code == code and says in done.error
    assert command("recluster", run, "-o", run / "sub").code == 2
    nothing = command("recluster", tmp_path / "no", "-o", out)
    assert nothing.code == 1 and "no such folder" in nothing.error
    (run / "run.json").write_text("{")
    assert "damaged" in command("recluster", run, "-o", out).error
    assert not out.exists()
