"""Large and lopsided inputs: they work, or are refused in one line; each within seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from common import Command

MILLION = 1_000_000


def counts_of(out: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((out / "run.json").read_text())["counts"]
    return found


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("equal") / "equal.jsonl"
    path.write_bytes(b'{"text":"the same nine words in each of these notes"}\n' * MILLION)
    return path


@pytest.mark.parametrize("name, size", [("a.jsonl", 100), ("a.parquet", 30), ("a.txt", 30)])
def test_a_document_larger_than_chunks(
    name: str, size: int, tmp_path: Path, command: Command
) -> None:
    """Of so many MiB, where a chunk is of 8."""
    text = " ".join(f"word{i % 99_991} of" for i in range(90_000 * size))[: size << 20]
    assert len(text) > 0.9 * (size << 20)
    path = tmp_path / name
    if name == "a.txt":
        (tmp_path / "texts").mkdir()
        path = tmp_path / "texts"
        for i in range(2):
            (path / f"{i}.txt").write_text(text)
        (path / "2.txt").write_text("short")
    elif name == "a.jsonl":
        path.write_text(f'{{"text":"{text}"}}\n{{"text":"short"}}\n{{"text":"{text} "}}\n')
    else:
        pq.write_table(pa.table({"text": [text, "short", text + " "]}), path)
    answer = command("dedup", path, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    counts = counts_of(tmp_path / "out")
    assert (counts["documents"], counts["kept"], counts["exact_duplicates"]) == (3, 2, 1)


def test_a_million_documents_of_one_word(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "words.csv"
    path.write_text("id,text\n" + "".join(f"{i},w{i % 999_999}\n" for i in range(MILLION)))
    answer = command("dedup", path, "-o", tmp_path / "out", "--id", "id")
    assert answer.code == 0, answer.err
    counts = counts_of(tmp_path / "out")
    assert (counts["documents"], counts["short"], counts["removed"]) == (MILLION, MILLION, 1)
    found = pq.read_table(tmp_path / "out" / "edges.parquet").to_pylist()
    assert [(row["doc_id_a"], row["doc_id_b"]) for row in found] == [(0, MILLION - 1)]


def test_a_million_equal_documents(equal: Path, tmp_path: Path, command: Command) -> None:
    answer = command("dedup", equal, "-o", tmp_path / "out", "--format", "jsonl")
    assert answer.code == 0, answer.err
    counts = counts_of(tmp_path / "out")
    assert (counts["documents"], counts["kept"], counts["clusters"]) == (MILLION, 1, 1)
    assert counts["edges"] == counts["exact_duplicates"] == MILLION - 1
    assert len((tmp_path / "out" / "clean.jsonl").read_text().splitlines()) == 1


def test_all_pairs_of_a_million_equal_documents(
    equal: Path, tmp_path: Path, command: Command
) -> None:
    answer = command("dedup", equal, "-o", tmp_path / "out", "--pairs", "all", "--quiet")
    assert answer.code == 1
    assert "499,999,500,000 edges" in answer.error
    assert "--pairs collapsed" in answer.err
    assert not (tmp_path / "out").exists()


def test_all_pairs_of_some_equal_documents(tmp_path: Path, command: Command) -> None:
    texts = [f"this note has number {i % 3} and then some words more {i % 3}" for i in range(300)]
    feather.write_feather(pa.table({"text": texts}), tmp_path / "a.arrow")
    args = ["dedup", tmp_path / "a.arrow", "-o", tmp_path / "out", "--pairs", "all"]
    assert command(*args, "--edge-threshold", 0.9).code == 0
    edges = pq.read_table(tmp_path / "out" / "edges.parquet")
    found = list(zip(edges["doc_a"].to_pylist(), edges["doc_b"].to_pylist(), strict=True))
    expected = [(a, b) for a in range(300) for b in range(a + 1, 300) if (b - a) % 3 == 0]
    assert found == expected
    assert set(edges["similarity"].to_pylist()) == {1.0}


def test_a_million_empty_documents(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b'{"text":" ... "}\n{"text":null}\n' * (MILLION // 2))
    answer = command("dedup", path, "-o", tmp_path / "out", "--quiet")
    assert answer.code == 0, answer.err
    counts = counts_of(tmp_path / "out")
    assert counts["empty"] == counts["kept"] == counts["clusters"] == MILLION
