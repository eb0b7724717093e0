"""Every kind of bad input: one clear line, exit code 1 or 2, and an output that is not touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bad_files import FILES, Make

from common import Command, files_of, some_rows, write_lines


def setting(*options: Any, says: str) -> Make:
    return lambda d: ([write_lines(d / "a.jsonl", some_rows()), *options], 2, [says])


CASES = FILES | {
    "edge-above-1": setting("--edge-threshold", 1.5, says="edge threshold is 1.5; expected"),
    "edge-0": setting("--edge-threshold", 0, says="edge threshold is 0.0; expected"),
    "edge-nan": setting("--edge-threshold", "nan", says="edge threshold is nan; expected"),
    "edge-word": setting("--edge-threshold", "high", says="'--edge-threshold'"),
    "tree-negative": setting("--tree-threshold", -0.1, says="tree threshold is -0.1; expected"),
    "tree-above-edge": setting(
        "--edge-threshold", 0.5, "--tree-threshold", 0.6, says="0.6 is above the edge threshold 0.5"
    ),
    "edge-below-preset-tree": setting("--edge-threshold", 0.3, says="below the preset's tree"),
    "recall-1": setting("--recall", 1, says="recall is 1.0; expected"),
    "bands-alone": setting("--bands", 9, says="bands and rows must be given together"),
    "rows-alone": setting("--rows", 9, says="bands and rows must be given together"),
    "bands-0": setting("--bands", 0, "--rows", 1, says="bands is 0; expected"),
    "too-many-hashes": setting("--bands", 4096, "--rows", 64, says="at most 8192"),
    "bands-and-recall": setting("--bands", 9, "--rows", 3, "--recall", 0.9, says="exclude each"),
    "shingle": setting("--shingle", "words:5", says="expected word:N or char:N"),
    "shingle-0": setting("--shingle", "word:0", says="shingle length is 0"),
    "stem": setting("--stem", "klingon", says="no stemmer for 'klingon'"),
    "stem-char": setting("--shingle", "char:3", "--stem", "english", says="unit is char"),
    "raw-word": setting("--raw", says="raw needs the unit char"),
    "keep": setting("--keep", "best", says="keep is 'best'; expected first"),
    "keep-nothing": setting("--keep", "max:", says="keep is 'max:'; expected first"),
    "seed": setting("--seed", -1, says="seed is -1"),
    "threads": setting("--threads", 0, says="--threads"),
    "text-twice": setting("--text", "text,text", says="twice"),
    "option": setting("--nonsense", says="--nonsense"),
    "preset": setting("--preset", "legal", says="--preset"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("there", [False, True], ids=["new", "overwrite"])
def test_bad_input(name: str, there: bool, tmp_path: Path, command: Command) -> None:
    args, code, said = CASES[name](tmp_path)
    out = tmp_path / "deep" / "out"
    if there:
        out.mkdir(parents=True)
        (out / "clusters.parquet").write_bytes(b"of an earlier run")
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
        "folder": lambda p: p.mkdir(),
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
    assert answer.code == 1 and "is not a folder that can be written to" in answer.error
    answer = command("dedup", notes, "-o", tmp_path / ("x" * 300))
    assert answer.code == 1 and "name too long" in answer.error


def test_an_input_is_never_replaced(tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name, format in (("clean.jsonl", "jsonl"), ("clean.jsonl", "parquet")):
        path = write_lines(out / name, some_rows())
        before = files_of(out)
        answer = command("dedup", path, "-o", out, "--overwrite", "--format", format)
        assert answer.code == 1 and "is an input" in answer.error
        assert files_of(out) == before
