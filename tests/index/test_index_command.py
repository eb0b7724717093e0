"""``neardup index`` and ``neardup stream``."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import neardup
from common import SECRET, Command, some_rows


class _Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.fixture
def made(command: Command, tmp_path: Path) -> Path:
    assert command("index", "create", tmp_path / "i", "--threshold", 0.8).code == 0
    return tmp_path / "i"


def streamed(
    command: Command, monkeypatch: pytest.MonkeyPatch, made: Path, data: bytes, *more: str
) -> Any:
    monkeypatch.setattr("sys.stdin", _Input(data))
    return command("stream", "--index", made, *more)


def test_a_stream_is_answered_line_by_line(
    command: Command, monkeypatch: pytest.MonkeyPatch, made: Path, notes: Path
) -> None:
    rows = some_rows()
    run = neardup.dedup(notes, id="id", threshold=0.8)
    expected = {row["doc_id"]: row for row in run.clusters.to_pylist()}
    for more in ([], ["--line-buffered"], []):  # the second and third time nothing is added
        answer = streamed(command, monkeypatch, made, notes.read_bytes(), *more)
        assert (answer.code, answer.err) == (0, "")
        found = [json.loads(line) for line in answer.out.splitlines()]
        assert [{key: row[key] for key in rows[0]} for row in found] == rows
        for row in found:
            for name in ("kept", "duplicate_of", "similarity"):
                assert row[name] == expected[row["id"]][name]
    checked = command("index", "check", made)
    assert (checked.code, checked.out) == (0, "no errors, 20 documents\n")
    stats = json.loads(command("index", "stats", made, "--json").out)
    assert stats["documents"] == 20


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f'{{"text": "{SECRET}"', "line 2 is not valid JSON"),
        ('{"a": ' + "[" * 100_000, "line 2 is not valid JSON"),
        (f'["{SECRET}"]', "line 2 is not an object"),
        (f'{{"text": "{SECRET}"}}', "line 2 has no field 'id'"),
        (f'{{"id": 1.5, "text": "{SECRET}"}}', "line 2: the id is neither"),
        (f'{{"id": "x", "text": ["{SECRET}"]}}', "line 2: a text is not a string"),
        (f'{{"id": "x", "text": "{SECRET}", "kept": 1}}', "has a field 'kept' already"),
        ('{"id": 7, "text": "another kind"}', "kind"),
        (f'{{"id": "n0", "text": "{SECRET}"}}', "another text"),
    ],
)
def test_bad_lines(
    command: Command, monkeypatch: pytest.MonkeyPatch, made: Path, line: str, said: str
) -> None:
    data = json.dumps({"id": "n0", "text": "one two"}).encode() + b"\n" + line.encode() + b"\n"
    answer = streamed(command, monkeypatch, made, data, "--line-buffered")
    assert answer.code == 1 and said in answer.error
    assert len(neardup.Index.open(made, readonly=True)) == 1


def test_the_commands(command: Command, made: Path, notes: Path, tmp_path: Path) -> None:
    assert "added 30" in command("index", "add", made, notes, "--id", "id").err
    assert "has a document" in command("index", "add", made, notes, "--id", "id").error
    again = command("index", "add", made, notes, "--id", "id", "--on-conflict", "skip")
    assert "added 0" in again.err
    answer = command("index", "query", made, notes, "--id", "id", "--top", 1)
    found = [json.loads(line) for line in answer.out.splitlines()]
    assert [row["query"] for row in found] == [f"n{i}" for i in range(30)]
    assert all(row["similarity"] == 1.0 for row in found)
    answer = command("index", "query", made, notes, "--threshold", 0.5)
    assert answer.code == 2 and "bands were chosen for" in answer.error
    assert "removed 2" in command("index", "remove", made, "n0", "n1").err
    assert "n0" in command("index", "remove", made, "n0").error
    command("index", "create", tmp_path / "j", "--threshold", 0.8)
    assert "added 28" in command("index", "merge", tmp_path / "j", made).err
    assert command("index", "compact", tmp_path / "j", "--purge").code == 0
    assert "documents        28" in command("index", "stats", tmp_path / "j").out
    segment = next((tmp_path / "j").glob("segment-*"))
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    answer = command("index", "check", tmp_path / "j")
    assert answer.code == 1 and "damaged" in answer.out and "damaged" in answer.error
    assert command("index", "stats", tmp_path / "none").code == 1


def test_an_index_of_a_run(command: Command, notes: Path, tmp_path: Path) -> None:
    command("dedup", notes, "-o", tmp_path / "out", "--id", "id", "--quiet")
    answer = command("index", "create", tmp_path / "i", "--from-run", tmp_path / "out")
    assert "added 20" in answer.err


@pytest.mark.long
def test_a_stream_that_is_killed_continues(made: Path, notes: Path) -> None:
    """Each line is answered before the next is sent; the rest after a kill."""
    args = [sys.executable, "-m", "neardup", "stream", "--index", str(made), "--line-buffered"]
    lines = notes.read_bytes().splitlines(keepends=True)
    found = []
    with subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        for line in lines[:7]:
            process.stdin.write(line)
            process.stdin.flush()
            found.append(process.stdout.readline())
        process.stdin.write(lines[7])
        process.stdin.flush()
        time.sleep(0.01)
        process.kill()
    done = subprocess.run(args, input=b"".join(lines), capture_output=True, check=True)
    assert done.stdout.splitlines(keepends=True)[:7] == found
    with neardup.Index.open(made) as index:
        assert len(index) == 20 and index.check() == []


def test_the_page_of_an_index(command: Command, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    with neardup.Index.create(tmp_path / "my.index", threshold=0.8) as index:
        index.add(["a secret text of some words", "another one"], ids=["<i>", "b"])
        index.compact()
        index.remove("b")
    page = tmp_path / "page.html"
    assert command("report", tmp_path / "my.index", "-o", page).code == 0
    text = page.read_text()
    assert oct(page.stat().st_mode)[-3:] == "600"
    recall = neardup.candidate_probability(0.8, index.recipe.num_bands, index.recipe.rows)
    for shown in ("Index my.index", "has 1 document.", f"{100 * recall:.1f}\xa0%", "1 segment;"):
        assert shown in text
    assert "1 removed document" in text and "secret" not in text and "<script" not in text
    assert "exists" in command("report", tmp_path / "my.index", "-o", page).error
    inside = tmp_path / "my.index" / "index.sqlite"
    assert (
        "is an input" in command("report", tmp_path / "my.index", "-o", inside, "--overwrite").error
    )
    answer = command("report", tmp_path / "my.index", "-o", page, "--overwrite", "--by", "a")
    assert answer.code == 2 and "does not apply to an index" in answer.error
    with neardup.Index.create(
        tmp_path / "all.index", spec=neardup.Spec(method="allpairs")
    ) as index:
        index.add(["a b"])
    args = ["report", tmp_path / "all.index", "-o", page, "--overwrite", "--title", "A & B"]
    assert command(*args).code == 0
    assert "every document is compared" in page.read_text() and "A &amp; B" in page.read_text()
