"""``neardup plan`` on the command line: JSON, and inputs that can't be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from common import Command


def test_json(command: Command, notes: Path, tmp_path: Path) -> None:
    """All that is printed, and what ``run.json`` has too; nothing is written."""
    answer = command("plan", notes, "--id", "id", "--json")
    assert answer.code == 0 and not answer.lines
    plan = json.loads(answer.out)
    assert plan["documents"] == plan["predicted"]["documents"] == 30
    assert plan["lengths"]["tokens"]["median"] == 40
    assert sum(plan["similarities"]["pairs"]) == 30 * 29 / 2
    # Every third text differs from the one before it in its last word: 35 of 37 shingles.
    assert plan["edges"]["expected"] == 10 and plan["similarities"]["pairs"][18] == 10
    assert len(plan["candidates"]["by_band"]) == plan["num_bands"]
    curve = {at["similarity"]: at["probability"] for at in plan["curve"]}
    assert curve[0.7] == pytest.approx(plan["predicted_recall"]) and curve[1.0] == 1
    assert set(plan["predicted"]["seconds"]) >= {"read and sign", "band", "verify and cluster"}
    assert plan["predicted"]["memory"] > 0 and plan["predicted"]["disk"] > 0
    assert [p.name for p in tmp_path.iterdir()] == [notes.name]


BAD = {
    "missing": (None, "no such file"),
    "empty": ("", "holds no documents"),
    "blank": ("\n\n", "holds no documents"),
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
    assert "holds no documents" in command("plan", tmp_path / "a.csv").error


def test_an_empty_text(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n')
    answer = command("plan", tmp_path / "a.jsonl", "--json")
    plan = json.loads(answer.out)
    assert plan["documents"] == plan["predicted"]["kept"] == 1 and plan["empty"] == 1
    assert sum(plan["predicted"]["seconds"].values()) < 20  # nothing is timed on nothing
