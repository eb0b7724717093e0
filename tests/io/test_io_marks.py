"""Byte order marks of UTF-8 in the middle of a file, as ``cat`` leaves them."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from io_samples import opened, texts_of

import neardup
from common import Command

MARK = "\ufeff"
TEXTS = ["one two three", 'quoted, "text"\nof two lines', "\ufeff a mark in the text", "four"]


def lines_of(texts: list[str]) -> str:
    return "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts))


def csv_of(texts: list[str]) -> str:
    quoted = ('"' + text.replace('"', '""') + '"' for text in texts)
    return "".join(f"{text},{i}\r\n" for i, text in enumerate(quoted))


@pytest.mark.parametrize("size", [64, 1 << 20])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.csv.gz"])
def test_records_after_a_mark_are_good(tmp_path: Path, name: str, size: int) -> None:
    parts = [TEXTS, [], TEXTS[::-1], TEXTS[:1]]
    if "csv" in name:
        text = (
            f"{MARK}text,id\n" + "".join(f"{MARK}{csv_of(part)}" for part in parts) + f"\n{MARK}\n"
        )
    else:
        text = "".join(f"{MARK}{lines_of(part)}" for part in parts) + f"{MARK} \n {MARK}"
    raw = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    expected = [text for part in parts for text in part]
    assert texts_of(opened(tmp_path / name, size)) == expected
    run = neardup.dedup(tmp_path / name, out=tmp_path / "out")
    assert run.keep_mask.sum() == 4
    # The records of the clean corpus have the bytes that they had, without marks between them.
    clean = next((tmp_path / "out/clean").iterdir()).read_bytes()
    clean = gzip.decompress(clean) if name.endswith(".gz") else clean
    head = f"{MARK}text,id\n" if "csv" in name else ""
    assert clean.decode() == head + (csv_of if "csv" in name else lines_of)(TEXTS)
    assert texts_of(opened(tmp_path / "out/clean", size)) == TEXTS


def test_a_header_after_two_marks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{MARK}{MARK}\ntext,id\na b,1\n", encoding="utf-8")
    assert texts_of(opened(tmp_path / "a.csv")) == ["a b"]


def test_a_large_record_after_a_mark_is_left_out(tmp_path: Path) -> None:
    large = '"' + "x,\n" * 3000 + '"'
    text = f"text,id\na,1\n{MARK}{large},2\n{MARK}b,3\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    for size in (64, 1 << 16):
        source = opened(tmp_path / "a.csv", size, max_document=100, skip_large=True)
        assert texts_of(source) == ["a", "b"]


def test_a_stream_answers_lines_after_a_mark(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("index", "create", tmp_path / "index").code == 0
    text = lines_of(["one two three four five six"])
    given = io.TextIOWrapper(io.BytesIO((MARK + text + MARK + text).encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", given)
    done = command("stream", "--index", tmp_path / "index")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["kept"] for row in rows] == [True, True] and MARK not in done.out
