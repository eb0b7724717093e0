"""Texts that are odd but not wrong, and how errors are told: by one line, without any text."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_process import NEARDUP

from common import SECRET, Command


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "txt"])
def test_encoding_errors_replace(kind: str, tmp_path: Path, command: Command) -> None:
    path = tmp_path / f"a.{kind}"
    texts = [b"one fine text", b"caf\xe9 \xff au lait", b"caf\xe9 noir"]
    if kind == "jsonl":
        path.write_bytes(b"".join(b'{"text":"' + t + b'"}\n' for t in texts))
    elif kind == "csv":
        path.write_bytes(b"text\n" + b"\n".join(texts) + b"\n")
    elif kind == "parquet":
        pq.write_table(pa.table({"text": pa.array(texts).view(pa.string())}), path)
    else:
        path = tmp_path / "texts"
        path.mkdir()
        for i, text in enumerate(texts):
            (path / f"{i}.txt").write_bytes(text)
    out = tmp_path / "out"
    answer = command("dedup", path, "-o", out, "--encoding-errors", "replace")
    assert answer.code == 0, answer.err
    assert json.loads((out / "run.json").read_text())["counts"]["encoding_replaced"] == 2
    (line,) = [line for line in answer.lines if line.startswith("replaced")]
    assert line.split()[1] == "2"
    clean = pq.read_table(out / "clean.parquet")["text"].to_pylist()
    assert clean == [t.decode(errors="replace") for t in texts]


def test_null_and_odd_texts(tmp_path: Path, command: Command) -> None:
    texts = [
        None,
        "",
        "bell \x07 escape \x1b[31m and \x00 nul",
        "שלום עולם \u202e abc",
        "👩‍👩‍👧 😀 👍🏽",
        "e\u0301 a\u0308",
        "漢字かな交じり文です",
        "\u200b",
        "漢字かな交じり文です",
        None,
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    out = tmp_path / "out"
    answer = command("dedup", path, "-o", out, "--format", "jsonl")
    assert answer.code == 0, answer.err
    counts = json.loads((out / "run.json").read_text())["counts"]
    assert counts["documents"] == len(texts)
    assert counts["removed"] == counts["exact_duplicates"] == 1
    assert counts["empty"] >= 3
    rows = [json.loads(line) for line in (out / "clean.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == [*texts[:8], None]


def test_debug_shows_the_traceback(tmp_path: Path, command: Command) -> None:
    answer = command("dedup", tmp_path / "nope.jsonl", "-o", tmp_path / "out", "--debug")
    assert answer.code == 1
    assert answer.lines[0].startswith("Traceback ")
    assert any(line.startswith("error: ") for line in answer.lines)
    answer = command("dedup", tmp_path, "-o", tmp_path / "out", "--rows", "x", "--debug")
    assert answer.code == 2
    assert answer.lines[0].startswith("Traceback ")


@pytest.mark.parametrize(
    "raised",
    [
        ValueError(f"{SECRET} is odd"),
        pa.ArrowInvalid(f"can't parse {SECRET}"),
        OSError(5, SECRET),
        KeyError(SECRET),
        MemoryError(),
        RecursionError(),
    ],
    ids=repr,
)
def test_what_nobody_foresaw(
    raised: Exception, notes: Path, tmp_path: Path, command: Command, monkeypatch: Any
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise raised

    monkeypatch.setattr("neardup.run.files.run", fail)
    answer = command("dedup", notes, "-o", tmp_path / "out")
    assert answer.code == 1
    assert answer.error
    if not isinstance(raised, MemoryError):
        assert "--debug" in answer.err
    assert not (tmp_path / "out").exists()
    answer = command("dedup", notes, "-o", tmp_path / "out", "--debug")
    assert "Traceback" in answer.err


def test_usage(command: Command) -> None:
    for args in (["dedup"], []):
        answer = command(*args)
        assert answer.code in (0, 2)
        assert answer.err.startswith("Usage: ") or answer.out.startswith("Usage: ")
    for args in (["nothing"], ["dedup", "a"], ["dedup", "-o", "a"]):
        answer = command(*args)
        assert answer.code == 2
        assert "--help" in answer.lines[1]
        assert answer.error
    assert command("--version").code == 0
    assert command("--help").code == 0


def test_a_name_can_not_break_the_line(tmp_path: Path, command: Command) -> None:
    answer = command("dedup", tmp_path / "two\nlines\x1b[2J.jsonl", "-o", tmp_path / "out")
    assert answer.code == 1
    assert "two\\nlines\\x1b[2J.jsonl" in answer.error


def test_a_real_process(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "{SECRET}" oops\n')
    done = subprocess.run(
        [*NEARDUP, "dedup", path, "-o", tmp_path / "out"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "a.jsonl: line 1 is not valid JSON" in done.stderr
    assert len(done.stderr.splitlines()) <= 2 and SECRET not in done.stderr
