"""Every kind of bad input: one clear line, exit code 1 or 2, and an output that is not touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_files import FILES, Make

from common import Command, files_of, some_rows, write_lines

KINDS = {".jsonl": "jsonl", ".json": "jsonl", ".parquet": "parquet"}
BOUNDED = ("--cluster", "bounded", "--tree-threshold")


def setting(*options: Any, says: str) -> Make:
    return lambda d: ([write_lines(d / "a.jsonl", some_rows()), *options], 2, [says])


CASES = FILES | {
    "threshold-above-1": setting("--threshold", 1.5, says="threshold is 1.5; expected"),
    "threshold-0": setting("--threshold", 0, says="threshold is 0.0; expected"),
    "threshold-nan": setting("--threshold", "nan", says="threshold is nan; expected"),
    "threshold-word": setting("--threshold", "high", says="'--threshold'"),
    "old-name": setting("--edge-threshold", 0.8, says="'--edge-threshold'"),
    "tree-alone": setting("--tree-threshold", 0.3, says="is for bounded and disjoint-sets"),
    "tree-negative": setting(*BOUNDED, -0.1, says="tree threshold is -0.1; expected"),
    "tree-above": setting("--threshold", 0.5, *BOUNDED, 0.6, says="0.6 is above the threshold 0.5"),
    "recall-1": setting("--recall", 1, says="recall is 1.0; expected"),
    "bands-alone": setting("--bands", 9, says="bands and rows must be given together"),
    "rows-alone": setting("--rows", 9, says="bands and rows must be given together"),
    "bands-0": setting("--bands", 0, "--rows", 1, says="bands is 0; expected"),
    "too-many-hashes": setting("--bands", 4096, "--rows", 64, says="at most 8192"),
    "bands-and-recall": setting("--bands", 9, "--rows", 3, "--recall", 0.9, says="exclude each"),
    "documents": setting("--documents", 0, says="documents is 0; expected"),
    "max-bucket": setting("--max-bucket", 0, says="--max-bucket is 0; expected an integer"),
    "shingle": setting("--shingle", "words:5", says="expected word:N, char:N or item"),
    "shingle-0": setting("--shingle", "word:0", says="shingle length is 0"),
    "stem": setting("--stem", "klingon", says="no stemmer 'klingon'"),
    "stem-char": setting("--shingle", "char:3", "--stem", "english", says="stem requires words"),
    "raw-word": setting("--raw", says="raw requires characters"),
    "keep": setting("--keep", "best", says="keep is 'best'; expected first"),
    "keep-nothing": setting("--keep", "max:", says="keep is 'max:'; expected first"),
    "seed": setting("--seed", -1, says="seed is -1"),
    "threads": setting("--threads", 0, says="--threads"),
    "memory-word": setting("--memory", "much", says="'much'"),
    "memory-0": setting("--memory", 0, says="--memory"),
    "memory-too-little": setting("--memory", "50MB", says="--memory is 50 MB"),
    "store": setting("--store", "redis://here", says="redis"),
    "store-no-file": setting("--store", "sqlite:", says="sqlite:"),
    "run-without-a-store": setting("--run", "r", says="a named run needs a store"),
    "text-twice": setting("--text", "text,text", says="twice"),
    "option": setting("--nonsense", says="--nonsense"),
    "preset": setting("--preset", "legal", says="--preset"),
    "format": setting("--format", "xml", says="--format"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("there", [False, True], ids=["new", "overwrite"])
def test_bad_input(name: str, there: bool, tmp_path: Path, command: Command) -> None:
    args, code, said = CASES[name](tmp_path)
    out = tmp_path / "deep" / "out"
    if there:
        out.mkdir(parents=True)
        (out / "clusters.parquet").write_bytes(b"of an earlier run")
        files = {"run.json": None, "clusters.parquet": None}
        (out / "run.json").write_text(json.dumps({"command": "dedup", "files": files}))
        (out / "mine.txt").write_bytes(b"of the user")
        args = [*args, "--overwrite"]
    before = files_of(tmp_path)
    answer = command("dedup", *args, "-o", out)
    assert answer.error
    assert answer.code == code, answer.err
    assert answer.out == ""
    for part in said:
        assert part in answer.err
    assert files_of(tmp_path) == before
    assert out.exists() == there and (tmp_path / "deep").exists() == there


def test_out_exists(notes: Path, tmp_path: Path, command: Command) -> None:
    for name, make in {
        "folder": lambda p: (p.mkdir(), (p / "thesis.txt").write_text("mine")),
        "file": lambda p: p.write_text("mine"),
        "link": lambda p: p.symlink_to(tmp_path / "nowhere"),
    }.items():
        out = tmp_path / name
        make(out)
        answer = command("dedup", notes, "-o", out)
        assert answer.code == 1
        assert f"{out} exists" in answer.error
    assert (tmp_path / "file").read_text() == "mine"
    answer = command("dedup", notes, "-o", tmp_path / "file", "--overwrite")
    assert answer.code == 1 and "is not a folder" in answer.error
    answer = command("dedup", notes, "-o", tmp_path / "file" / "out")
    assert answer.code == 1 and "is not a folder that can be written" in answer.error
    answer = command("dedup", notes, "-o", tmp_path / ("x" * 300))
    assert answer.code == 1 and "name too long" in answer.error


@pytest.mark.parametrize("name", ["clean/notes.jsonl", "clusters.parquet"])
def test_an_input_is_never_replaced(name: str, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    path = out / name
    path.parent.mkdir(parents=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(some_rows()), path)
    else:
        write_lines(path, some_rows())
    files = {"run.json": None, "clusters.parquet": None, "clean": ["notes.jsonl"]}
    (out / "run.json").write_text(json.dumps({"command": "dedup", "files": files}))
    before = files_of(out)
    answer = command("dedup", path, "-o", out, "--overwrite", "--input-format", KINDS[path.suffix])
    assert answer.code == 1 and "is an input" in answer.error
    assert files_of(out) == before


def test_resume_with_another_keep_order(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    args = ("dedup", notes, "-o", out, "--keep-run")
    assert command(*args).code == 0
    before = files_of(out)
    for more, says in (
        (["--keep", "longest"], "keep"),
        (["--order-by", "date"], "order_by"),
        (["--threshold", "0.8"], "threshold"),
    ):
        answer = command(*args, "--resume", "--quiet", *more)
        assert answer.code == 1 and says in answer.error and "--overwrite" in answer.err
        assert files_of(out) == before


def test_commands_and_options_that_are_nearly_right(command: Command) -> None:
    for given, meant in (
        (["dedupe"], "did you mean neardup dedup?"),
        (["merge"], "did you mean neardup index merge?"),
        (["cluster"], "did you mean neardup recluster?"),
        (["dups"], "did you mean neardup dedup?"),
        (["servee"], "did you mean neardup serve?"),
        (["xyz"], "known are audit, blocks, compare"),
        (["index", "search"], "did you mean neardup index query?"),
        (["index", "dedup"], "did you mean neardup dedup?"),
        (["index", "xyz"], "known are add, backup, check"),
    ):
        answer = command(*given)
        assert answer.code == 2 and meant in answer.error
        assert ("did you mean" in meant) == ("did you mean" in answer.error)
    answer = command("dedup", "a.jsonl", "-o", "out", "--treshold", "0.8")
    assert answer.code == 2 and "--threshold" in answer.error
