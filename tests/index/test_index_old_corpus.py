"""Files and frames as an old corpus, and documents of the batch that stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
import parity_corpus as corpus
from neardup.errors import ColumnError, InputNotFoundError, SpecError
from neardup.spec import Spec


@pytest.mark.parametrize("keep", corpus.KEEPS)
def test_a_corpus_is_sketched_first(keep: str) -> None:
    """All of its documents stay, its own duplicates too."""
    rows = corpus.table("int")
    half = rows.num_rows // 2
    old, batch = rows.slice(0, half), rows.slice(half)
    found = neardup.dedup(batch, id="id", against=old, keep=keep)
    assert corpus.found(found.clusters) == corpus.expected(batch, keep, old)
    assert found.summary["counts"]["old_documents"] == half


def test_settings_are_those_of_the_call() -> None:
    old, batch = ["a b c d e f 1.2.2020"], ["a b c d e f 3.4.2021", "a b c d x f", "a b c d x f"]
    given = {"against": old, "ignore": r"\d\.\d\.\d{4}", "shingle": "word:1", "threshold": 0.9}
    found = neardup.dedup(batch, **given)
    assert found.keep_mask.tolist() == [False, True, False]
    found = neardup.dedup(batch, **{**given, "threshold": 0.7})
    assert found.keep_mask.tolist() == [False, False, False]
    spec = Spec(threshold=0.9).replace(shingle="word:1")
    assert neardup.dedup(batch, against=old, spec=spec).keep_mask.tolist() == [True, True, False]


@pytest.mark.parametrize("kind", ["corpus", "run", "index"])
def test_only_what_is_similar_to_the_old_corpus_is_removed(kind: str) -> None:
    rows = corpus.table("int")
    half = rows.num_rows // 2
    old, batch = rows.slice(0, half), rows.slice(half)
    against: Any = old
    stays = old
    if kind != "corpus":
        against = neardup.dedup(old, id="id")
        stays = old.filter(pa.array(against.keep_mask.tolist()))
    if kind == "index":
        against = neardup.Index.from_run(against)
    found = neardup.dedup(batch, id="id", against=against, old_only=True)
    alone = neardup.dedup(batch, id="id", against=against)
    in_old = alone.clusters.column("in_old").to_pylist()
    assert found.keep_mask.tolist() == [not inside for inside in in_old]
    rows_of_old = [
        (row["doc_id"], row["duplicate_of"], row["similarity"])
        for row in alone.clusters.to_pylist()
        if row["in_old"]
    ]
    matches = found.matches.to_pylist()
    first = {row["doc_id"]: row for row in reversed(matches)}
    assert rows_of_old == [
        (doc, first[doc]["old_id"], first[doc]["similarity"]) for doc, _, _ in rows_of_old
    ]
    both = neardup.dedup(pa.concat_tables([stays, batch]), id="id", pairs="all")
    ids = set(stays.column("id").to_pylist())
    edges = {
        frozenset((row["id_a"], row["id_b"]))
        for row in both.edges.to_pylist()
        if (row["id_a"] in ids) != (row["id_b"] in ids)
    }
    assert {frozenset((row["doc_id"], row["old_id"])) for row in matches} >= edges
    counts = found.summary["counts"]
    assert counts["similar_within"] == 0 and counts["matches"] == len(matches)
    assert counts["old_documents_found"] == len({row["old_id"] for row in matches})
    with pytest.raises(SpecError, match="there are no matches"):
        _ = alone.matches


def test_the_command(tmp_path: Path, command: Any) -> None:
    body = "one two three four five six seven eight"
    old = [{"key": f"o{i}", "body": text} for i, text in enumerate([body, f"{body} nine", "x y"])]
    new = [{"id": f"n{i}", "text": text} for i, text in enumerate([body, "y z", "y z"])]
    for name, rows in (("old", old), ("new", new)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    given = ("dedup", tmp_path / "new.jsonl", "--against", tmp_path / "old.jsonl", "--id", "id")
    answer = command(*given, "-o", tmp_path / "out")
    assert answer.code == 1 and "--old-text" in answer.err and "--old-id" in answer.err
    names = ("--old-text", "body", "--old-id", "key")
    answer = command(*given, *names, "-o", tmp_path / "out", "--old-only", "--threshold", 0.75)
    assert answer.code == 0, answer.err
    run = neardup.open(tmp_path / "out")
    assert run.keep_mask.tolist() == [False, True, True] and run.spec.threshold == 0.75
    rows = pq.read_table(tmp_path / "out" / "matches.parquet").to_pylist()
    found = [(row["doc_id"], row["old_id"], row["similarity"]) for row in rows]
    assert found == [("n0", "o0", 1.0), ("n0", "o1", 0.8)]
    assert run.matches.to_pylist() == rows
    assert "2 of 3 old documents" in answer.err
    answer = command(*given, *names, "-o", tmp_path / "both")
    assert neardup.open(tmp_path / "both").keep_mask.tolist() == [False, True, False]
    assert not (tmp_path / "both" / "matches.parquet").exists()
    # Of an index or a run, the settings hold.
    against = (
        "dedup",
        tmp_path / "new.jsonl",
        "--against",
        tmp_path / "both",
        "-o",
        tmp_path / "x",
    )
    for option, value in (("--threshold", 0.8), ("--old-text", "body"), ("--ignore", "a")):
        answer = command(*against, option, value)
        assert answer.code == 2 and f"{option} does not go with this --against" in answer.err
    answer = command("dedup", tmp_path / "new.jsonl", "-o", tmp_path / "x", "--old-only")
    assert answer.code == 2 and "--old-only needs an old corpus" in answer.err


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="need an old corpus"):
        neardup.dedup(["a"], old_only=True)
    with pytest.raises(SpecError, match="`old_text` does not apply"):
        neardup.dedup(["a"], against=neardup.dedup(["b"]), old_text="t")
    with pytest.raises(InputNotFoundError) as missing:
        neardup.dedup(["a"], against=tmp_path / "nothing")
    assert "the folder of an index, the output of neardup dedup, or files" in missing.value.hint
    with pytest.raises(ColumnError) as column:
        neardup.dedup(["a"], against=pa.table({"q": ["a"]}))
    assert "`old_text`" in column.value.hint
    with pytest.raises(SpecError, match="`cluster` does not apply"):
        neardup.dedup(["a"], against=["b"], cluster="components")
