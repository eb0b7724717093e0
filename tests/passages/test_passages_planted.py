"""Planted truth: recall and precision of copied words are 1 exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import neardup
from common import Command


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from neardup.synth.copy_forward import CopySpec, write

    path = tmp_path_factory.mktemp("made") / "notes.jsonl"
    write(CopySpec(600, seed=3, edits=0.03), path)
    return path


def expected(path: Path, words: int, within: bool) -> dict[str, set[int]]:
    """The copied words of each note, by the ground truth."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    patient = {row["id"]: row["patient"] for row in rows}
    truth = pq.read_table(path.with_suffix(".truth.parquet")).to_pylist()
    templates: set[tuple[Any, ...]] = set()
    copied: dict[str, set[int]] = {row["id"]: set() for row in rows}
    for row in truth:
        own = set(range(row["first_word"], row["first_word"] + row["words"]))
        if row["kind"] == "template" and within:
            # Of the patient's own notes one has to have it already.
            key = (row["source_id"], row["source_first_word"])
            seen = {(patient[row["source_id"]], *key), *templates}
            is_copied = (patient[row["id"]], *key) in seen
            templates.add((patient[row["id"]], *key))
            if not is_copied:
                continue
        if row["words"] >= words:
            copied[row["id"]] |= own
    return copied


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("words", [5, 10, 25])
def test_recall_and_precision(made: Path, words: int, within: bool, kernels: None) -> None:
    run = neardup.passages(
        made,
        id="id",
        words=words,
        order_by="date",
        within="patient" if within else None,
        by="author",
        progress=False,
    )
    texts = {row["id"]: row["text"] for row in map(json.loads, made.read_text().splitlines())}
    found: dict[str, set[int]] = {id: set() for id in texts}
    for row in run.passages.to_pylist():
        first = texts[row["doc_id"]].count(" ", 0, row["start"])
        found[row["doc_id"]] |= set(range(first, first + row["words"]))
    wanted = expected(made, words, within)
    if words == 5:  # runs of five common words repeat by chance
        assert all(wanted[id] <= found[id] for id in texts)
        return
    assert found == wanted
    assert run.summary["counts"]["copied_words"] == sum(map(len, wanted.values())) > 10_000
    assert sum(row["copied_words"] for row in run.summary["by_year"]) == sum(
        map(len, wanted.values())
    )


def test_the_command(tmp_path: Path, command: Command) -> None:
    asked = ("synth", "-n", 50, "--kind", "copy-forward", "--edits", 0.1, "--templates", 0.5)
    done = command(*asked, "-o", tmp_path / "a.jsonl")
    assert done.code == 0 and "50 notes" in done.err
    command(*asked, "-o", tmp_path / "b.parquet")
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert pq.read_table(tmp_path / "b.parquet").to_pylist() == rows
    truth = pq.read_table(tmp_path / "a.truth.parquet").to_pylist()
    words = {row["id"]: row["text"].split(" ") for row in rows}
    assert {row["kind"] for row in truth} == {"copy", "template"}
    for row in truth:
        first, source = row["first_word"], row["source_first_word"]
        here = words[row["id"]][first : first + row["words"]]
        assert here == words[row["source_id"]][source : source + row["words"]]
    assert command(*asked[:-1], 2, "-o", tmp_path / "c.jsonl").error.startswith("error: templates")
