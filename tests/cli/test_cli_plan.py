"""``neardup plan`` on the command line: JSON, and inputs that can't be used."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from common import Command, write_lines
from neardup.cli.showing import show_events
from neardup.deduplication.clock import Event


def test_json(command: Command, notes: Path, tmp_path: Path) -> None:
    """All that is printed; nothing is written."""
    answer = command("plan", notes, "--id", "id", "--json")
    assert answer.code == 0 and not answer.lines
    plan = json.loads(answer.out)
    assert (plan["documents"], plan["exact"], plan["sample"]) == (30, True, "all")
    assert plan["tokens"]["median"] == 40
    # Every third text differs from the one before it in its last word: 35 of 37 shingles.
    assert plan["near_duplicates"]["share"] == plan["compared"]["share"] / 2 == 1 / 3
    assert plan["predicted_recall"] >= 0.99 and plan["warnings"] == []
    assert [p.name for p in tmp_path.iterdir()] == [notes.name]
    text = command("plan", notes, "--threshold", "0.8", "--memory", "9GB", "--threads", "1").out
    for line in ("documents   30 of ", "9 GB may be used; one thread needs"):
        assert line in text


def test_options_are_named(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the arguments of Python, in warnings and in what is said during a run."""
    texts = [" ".join(f"w{k}x{i}" for k in range(16)) for i in range(20)]
    rows = [{"text": f"{text} more{k}"} for text in texts for k in range(2)]
    asked = ("plan", write_lines(tmp_path / "short.jsonl", rows), "--shingle", "word:8")
    assert "--shingle word:2 would find it" in " ".join(command(*asked).out.split())
    (warning,) = json.loads(command(*asked, "--json").out)["warnings"]
    assert "--shingle word:2 would find it" in warning["text"]
    with show_events(True) as listener:
        assert listener is not None
        listener(Event("resolve", note="`max_bucket` limits that"))
    assert "neardup: --max-bucket limits that\n" in capsys.readouterr().err


BAD = {
    "missing": (None, "no such file"),
    "no text column": ('{"body": "x"}\n', "no column 'text'; there is body"),
    "not JSON": ("zebrafinch\n", "line 1"),
    "not text": ('{"text": 5}\n', "'text'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_inputs(case: str, command: Command, tmp_path: Path) -> None:
    content, says = BAD[case]
    path = tmp_path / "bad.jsonl"
    if content is not None:
        path.write_text(content)
    answer = command("plan", path)
    assert answer.code == 1 and says in answer.error and path.name in answer.error
    assert answer.out == "" and "hint: " in answer.err


def test_no_documents_in_a_table(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n")
    (tmp_path / "b.jsonl").write_text("\n\n")
    for name in ("a.csv", "b.jsonl"):
        for more in ([], ["--passages", 10]):
            answer = command("plan", tmp_path / name, *more)
            assert answer.code == 0 and "the input has no documents" in answer.out, answer.err
        plan = json.loads(command("plan", tmp_path / name, "--json").out)
        assert plan["documents"] == plan["sampled"] == plan["disk"] == 0 and plan["num_bands"]


def test_an_empty_text(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n')
    plan = json.loads(command("plan", tmp_path / "a.jsonl", "--json").out)
    assert plan["documents"] == plan["empty"] == 1
    assert plan["near_duplicates"]["share"] == 0


def test_check_lists_all_that_is_wrong(command: Command, tmp_path: Path) -> None:
    """Of all files: every line that a run would refuse, with its number."""
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [json.dumps({"id": number, "text": f"secret {number}"}) for number in range(300)]
    lines[7], lines[8], lines[299] = "{secret", '{"text": 5}', "[1]"
    (folder / "a.jsonl").write_text("\n".join(lines))
    packed = gzip.compress("\n".join([*lines[:9], *lines[:9]]).encode())
    (folder / "b.jsonl.gz").write_bytes(packed)
    (folder / "c.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (folder / "d.csv").write_bytes(b"id,text\n1,a\n2\n3,c,d\n4,\xff\n5,ok\n")
    (folder / "e.parquet").write_bytes(b"PAR1")
    (folder / "f.csv").write_text("id,body\n1,a\n")
    found = command("plan", folder, "--check", "--id", "id")
    assert found.code == 1 and "secret" not in found.out
    places = [line.removeprefix(f"{folder}/").split(": ")[0] for line in found.out.splitlines()]
    assert places == ["a.jsonl"] * 3 + ["b.jsonl.gz"] * 4 + ["c.jsonl.gz"] + ["d.csv"] * 3 + [
        "e.parquet",
        "f.csv",
    ]
    numbers = re.findall(r"line (\d+)", found.out)
    assert numbers == ["8", "9", "300", "8", "9", "17", "18", "3", "4", "5"]
    assert command("plan", folder / "a.jsonl", "--check", "--json").code == 1
    (folder / "a.jsonl").write_text("\n".join([*lines[:7], *lines[9:299]]))
    good = command("plan", folder / "a.jsonl", "--check", "--json")
    assert good.code == 0 and json.loads(good.out) == {"documents": 297, "problems": []}
