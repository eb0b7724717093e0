"""The notes of ``neardup synth``: what they are derived from, formats, refusals."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import neardup
from common import Command
from neardup.errors import OutputError, SpecError
from neardup.synth import NoteSpec, write
from neardup.synth.demo_notes import CHANGED, VOCABULARY
from neardup.synth.paper_shape import cluster_sizes

SPEC = NoteSpec(300, seed=3)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in io.StringIO(path.read_text(encoding="utf-8"))]


def test_both_formats_hold_the_same_notes(tmp_path: Path) -> None:
    written = write(SPEC, tmp_path / "a.jsonl")
    write(SPEC, tmp_path / "b.parquet", tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "b.parquet").to_pylist() == read_lines(tmp_path / "a.jsonl")
    assert pq.read_table(tmp_path / "c.parquet").equals(pq.read_table(written.truth))
    assert written.bytes == written.output.stat().st_size
    assert len(list(tmp_path.iterdir())) == 4


def test_the_truth_is_true(tmp_path: Path) -> None:
    write(SPEC, tmp_path / "notes.jsonl")
    notes = read_lines(tmp_path / "notes.jsonl")
    rows = pq.read_table(tmp_path / "notes.truth.parquet").to_pylist()
    assert Counter(row["kind"] for row in rows) == SPEC.counts
    assert len({note["text"] for note in notes}) >= 270 - 10  # near ones may be unchanged
    for row, note in zip(rows, notes, strict=True):
        assert row["id"] == note["id"] == f"note-{row['doc']:07}"
        assert 45 <= len(note["text"].split()) <= 900
        if row["kind"] == "original":
            assert row["source"] is row["source_id"] is row["changed"] is None
            continue
        source = notes[row["source"]]
        assert rows[row["source"]]["kind"] == "original" and source["id"] == row["source_id"]
        if row["kind"] == "exact":
            assert note["text"] == source["text"] and row["changed"] is None
        else:
            assert 0 <= row["changed"] <= CHANGED + 0.01
            one, two = Counter(note["text"].split()), Counter(source["text"].split())
            assert (two - one).total() <= row["changed"] * two.total() * 1.1 + 1


def test_duplicates_are_found_and_nothing_else(tmp_path: Path) -> None:
    write(NoteSpec(1000), tmp_path / "notes.jsonl")
    run = neardup.dedup(tmp_path / "notes.jsonl", id="id", progress=False)
    found = run.evaluate(tmp_path / "notes.truth.parquet")
    assert found["removed"]["precision"] == 1
    assert found["removed"]["recall"] > 0.5


def test_words_differ() -> None:
    assert len({word.lower() for word in VOCABULARY}) == len(VOCABULARY) > 900


def test_another_seed_is_another_corpus(tmp_path: Path) -> None:
    for seed in (0, 1):
        write(NoteSpec(10, seed), tmp_path / f"{seed}.jsonl")
    one, two = (read_lines(tmp_path / f"{seed}.jsonl") for seed in (0, 1))
    assert not {note["text"] for note in one} & {note["text"] for note in two}


@pytest.mark.parametrize(
    "fields",
    [{"documents": 0}, {"seed": -1}, {"near": -0.1}, {"near": 0.6, "exact": 0.4}, {"exact": 1.1}],
)
def test_impossible_notes(fields: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        NoteSpec(**{"documents": 10, **fields})


def test_the_shape_of_the_paper_scales() -> None:
    sizes, equal = cluster_sizes(10_000_000)
    assert (len(sizes), sizes.max(), sizes.min()) == (13_233, 9_849, 57)
    assert (np.count_nonzero(equal > 1), equal.max()) == (6_160, 2_540)
    assert abs((sizes * (sizes - 1) // 2).sum() - 341_000_000) < 1_000_000
    sizes, equal = cluster_sizes(100_000)
    assert (len(sizes), sizes[0], np.count_nonzero(equal > 1), equal[0]) == (132, 98, 62, 25)
    assert cluster_sizes(10)[0].size == 0


def test_the_clusters_of_the_paper_are_found(tmp_path: Path) -> None:
    spec = NoteSpec(5000, shape="paper")
    write(spec, tmp_path / "notes.jsonl")
    rows = pq.read_table(tmp_path / "notes.truth.parquet").to_pylist()
    sizes, equal = cluster_sizes(5000)
    copies = Counter(row["source"] for row in rows if row["kind"] != "original")
    same = Counter(row["source"] for row in rows if row["kind"] == "exact")
    assert sorted(copies.values(), reverse=True) == (sizes - 1).tolist()
    assert sorted(same.values(), reverse=True) == [n - 1 for n in equal.tolist() if n > 1]
    assert Counter(row["kind"] for row in rows) == spec.counts
    run = neardup.dedup(tmp_path / "notes.jsonl", id="id", preset="clinical", progress=False)
    counts = run.summary["counts"]
    assert counts["clusters_of_two_or_more"] == len(sizes)
    assert counts["largest_cluster"] == sizes[0]


@pytest.mark.parametrize("fields", [{"shape": "papr"}, {"shape": "paper", "near": 0.3}])
def test_impossible_shapes(fields: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=r"shape"):
        NoteSpec(**{"documents": 10, **fields})


@pytest.mark.parametrize("existing", ["notes.jsonl", "notes.truth.parquet"])
def test_nothing_is_overwritten_unasked(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write(SPEC, tmp_path / "notes.jsonl")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_the_command(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "notes.jsonl"
    arguments = ["synth", "-n", "300", "--seed", "3", "--exact", "0.2", "-o", path]
    done = command(*arguments)
    assert (done.code, done.out) == (0, "")
    assert "300 notes (180 original, 60 near, 60 exact)" in done.err
    assert "exists" in command(*arguments).error
    first = path.read_bytes()
    quiet = command(*arguments, "--overwrite", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert path.read_bytes() == first


@pytest.mark.parametrize("option", ["--near=x", "-n=ten"])
def test_the_command_refuses_what_is_no_number(
    tmp_path: Path, command: Command, option: str
) -> None:
    assert command("synth", "-n", "10", "-o", tmp_path / "n.jsonl", option).code == 2
    assert list(tmp_path.iterdir()) == []
