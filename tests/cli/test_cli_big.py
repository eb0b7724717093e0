"""Large and lopsided inputs: they work, or are refused in one line; each within seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from common import Command

MANY = 300_000


def counts_of(out: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((out / "run.json").read_text())["counts"]
    return found


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("equal") / "equal.jsonl"
    path.write_bytes(b'{"text":"the same nine words in each of these notes"}\n' * MANY)
    return path


@pytest.mark.long
@pytest.mark.parametrize("name, size", [("a.jsonl", 40), ("a.parquet", 20), ("texts", 20)])
def test_a_document_larger_than_partitions(
    name: str, size: int, tmp_path: Path, command: Command
) -> None:
    """Of so many MiB, where a partition is of 8."""
    words = "".join(f"word{i} of " for i in range(99_991))
    text = (words * size)[: size << 20].rstrip()
    assert len(text) > 0.9 * (size << 20)
    path = tmp_path / name
    if name == "texts":
        path.mkdir()
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
    assert (counts["documents"], counts["kept"], counts["equal_tokens"]) == (3, 2, 1)


def test_many_documents_of_one_word(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "words.csv"
    path.write_text("id,text\n" + "".join(f"{i},w{i % (MANY - 1)}\n" for i in range(MANY)))
    answer = command("dedup", path, "-o", tmp_path / "out", "--id", "id", "--no-clean")
    assert answer.code == 0, answer.err
    counts = counts_of(tmp_path / "out")
    assert (counts["documents"], counts["short"], counts["removed"]) == (MANY, MANY, 1)
    table = pq.read_table(tmp_path / "out" / "clusters.parquet")
    removed = table.filter(pa.compute.invert(table["kept"]))
    assert removed.select(["doc_id", "duplicate_of"]).to_pylist() == [
        {"doc_id": str(MANY - 1), "duplicate_of": "0"}
    ]


def test_many_equal_documents(equal: Path, tmp_path: Path, command: Command) -> None:
    answer = command("dedup", equal, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    counts = counts_of(tmp_path / "out")
    assert (counts["documents"], counts["kept"], counts["clusters"]) == (MANY, 1, 1)
    assert counts["equal_tokens"] == counts["removed"] == MANY - 1
    (clean,) = (tmp_path / "out" / "clean").iterdir()
    assert len(clean.read_text().splitlines()) == 1


def test_all_pairs_of_many_equal_documents(equal: Path, tmp_path: Path, command: Command) -> None:
    """They are more than anybody can use."""
    answer = command("dedup", equal, "-o", tmp_path / "out", "--pairs", "all", "--quiet")
    assert answer.code == 1
    assert f"{MANY * (MANY - 1) // 2:,}" in answer.error
    assert "pairs" in answer.err.partition("hint: ")[2]
    assert not (tmp_path / "out").exists()


def test_all_pairs_of_some_equal_documents(tmp_path: Path, command: Command) -> None:
    texts = [f"this note has number {i % 3} and then some words more {i % 3}" for i in range(300)]
    feather.write_feather(pa.table({"text": texts}), tmp_path / "a.arrow")
    args = ["dedup", tmp_path / "a.arrow", "-o", tmp_path / "out", "--pairs", "all"]
    assert command(*args, "--threshold", 0.9).code == 0
    edges = pq.read_table(tmp_path / "out" / "edges.parquet")
    found = list(zip(edges["doc_a"].to_pylist(), edges["doc_b"].to_pylist(), strict=True))
    expected = [(a, b) for a in range(300) for b in range(a + 1, 300) if (b - a) % 3 == 0]
    assert found == expected
    assert set(edges["similarity"].to_pylist()) == {1.0}


def test_many_empty_documents(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b'{"text":" \\t "}\n{"text":null}\n' * (MANY // 2))
    answer = command("dedup", path, "-o", tmp_path / "out", "--quiet", "--no-clean")
    assert answer.code == 0, answer.err
    counts = counts_of(tmp_path / "out")
    assert counts["empty"] == counts["kept"] == counts["clusters"] == MANY
