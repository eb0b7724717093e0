"""What lies in OUT: names, columns, types, the record of the run, and what is replaced."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common import Command, files_of, some_rows, write_lines
from neardup.spec import CLUSTERINGS, Spec

ROWS = some_rows()


def test_tables(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out, "--id", "id").code == 0
    assert sorted(files_of(out)) == [
        "clean.parquet",
        "clusters.parquet",
        "edges.parquet",
        "run.json",
    ]
    clusters = pq.read_table(out / "clusters.parquet")
    assert clusters.schema == pa.schema(
        [
            ("doc", pa.int64()),
            ("doc_id", pa.string()),
            ("cluster", pa.int64()),
            ("kept", pa.bool_()),
            ("kept_by", pa.string()),
            ("similarity", pa.float64()),
        ]
    )
    assert clusters["doc"].to_pylist() == list(range(len(ROWS)))
    for row in clusters.to_pylist():
        assert row["kept"] == (row["kept_by"] is None) == (row["similarity"] is None)
        assert row["kept"] or row["similarity"] >= 0.7
    edges = pq.read_table(out / "edges.parquet")
    assert edges.schema == pa.schema(
        [
            ("doc_a", pa.int64()),
            ("doc_b", pa.int64()),
            ("doc_id_a", pa.string()),
            ("doc_id_b", pa.string()),
            ("similarity", pa.float64()),
        ]
    )
    assert len(edges) == len(ROWS) // 3
    for row in edges.to_pylist():
        assert row["doc_a"] < row["doc_b"]
        assert (row["doc_id_a"], row["doc_id_b"]) == (f"n{row['doc_a']}", f"n{row['doc_b']}")
        assert row["similarity"] == pytest.approx(35 / 37)  # 36 shingles each, the last one differs
    clean = pq.read_table(out / "clean.parquet")
    assert clean.to_pylist() == [row for i, row in enumerate(ROWS) if i % 3 != 2]


def test_positions_without_an_id(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out).code == 0
    clusters = pq.read_table(out / "clusters.parquet")
    assert clusters["doc_id"].type == clusters["kept_by"].type == pa.int64()
    assert clusters["doc_id"].to_pylist() == clusters["doc"].to_pylist()


def test_record(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out).code == 0
    record = json.loads((out / "run.json").read_text())
    assert record["digest"] == Spec().digest
    assert record["spec"] == Spec().as_dict()
    assert record["bands"]["predicted_recall"] >= 0.99
    assert {"num_bands", "rows"} <= set(record["bands"])
    assert {"neardup", "python", "numpy", "numba", "pyarrow"} <= set(record["versions"])
    counts = record["counts"]
    expected = {
        "documents": 30,
        "empty": 0,
        "short": 0,
        "exact_duplicates": 0,
        "shingles": 30 * 36,
        "edges": 10,
        "clusters": 20,
        "kept": 20,
        "removed": 10,
    }
    assert {name: counts[name] for name in expected} == expected
    assert counts["verified"] >= 10
    assert set(record["bucket_sizes"]) == {"2"}
    assert {"read and sign", "band", "verify and cluster", "write"} <= set(record["seconds"])
    assert all(seconds >= 0 for seconds in record["seconds"].values())
    assert record["bytes"]["read and sign"] == notes.stat().st_size
    sizes = {name: len(raw) for name, raw in files_of(out).items()}
    assert record["bytes"]["write"] == sum(sizes.values()) - sizes["run.json"]
    assert record["peak_memory"] > 1e6


def test_candidates_are_counted(notes: Path, tmp_path: Path, command: Command) -> None:
    assert command("dedup", notes, "-o", tmp_path / "out").code == 0
    counts = json.loads((tmp_path / "out" / "run.json").read_text())["counts"]
    assert counts["candidates"] >= 10


def test_keep(notes: Path, tmp_path: Path, command: Command) -> None:
    pairs = [(i - 1, i) for i in range(2, len(ROWS), 3)]
    for k, (how, best) in enumerate(
        {
            "first": lambda i: -i,
            "longest": lambda i: len(ROWS[i]["text"]),
            "max:quality": lambda i: ROWS[i]["quality"],
            "min:quality": lambda i: -ROWS[i]["quality"],
            "max:number": lambda i: ROWS[i]["number"],
            "min:date": lambda i: -int(ROWS[i]["date"][-2:]),
        }.items()
    ):
        out = tmp_path / f"out{k}"
        assert command("dedup", notes, "-o", out, "--keep", how).code == 0
        kept = pq.read_table(out / "clusters.parquet")["kept"].to_pylist()
        for pair in pairs:
            winner = max(pair, key=lambda i: (best(i), -i))
            assert [i for i in pair if kept[i]] == [winner], how


def test_formats(tmp_path: Path, command: Command) -> None:
    rows: list[dict[str, Any]] = [
        {**row, "text": row["text"] + '\n"quoted", 漢字 😀 \t;'} for row in ROWS
    ]
    notes = write_lines(tmp_path / "notes.jsonl", rows)
    expected = [row for i, row in enumerate(rows) if i % 3 != 2]
    out = tmp_path / "out"
    for format in ("jsonl", "csv", "parquet"):
        args = ["dedup", notes, "-o", out, "--format", format, "--overwrite"]
        assert command(*args).code == 0
        # A clean corpus of an earlier run in another format is gone.
        assert [p.name for p in out.glob("clean.*")] == [f"clean.{format}"]
        if format == "jsonl":
            lines = (out / "clean.jsonl").read_text(encoding="utf-8").splitlines()
            assert [json.loads(line) for line in lines] == expected
        elif format == "csv":
            with (out / "clean.csv").open(newline="", encoding="utf-8") as file:
                found = list(csv.DictReader(file))
            assert found == [{k: str(v) for k, v in row.items()} for row in expected]
        else:
            assert pq.read_table(out / "clean.parquet").to_pylist() == expected


@pytest.mark.parametrize("codec", ["none", "lz4", "snappy", "zstd"])
def test_compression(codec: str, notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out, "--compression", codec).code == 0
    column = pq.ParquetFile(out / "clean.parquet").metadata.row_group(0).column(1)
    assert column.compression == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
    assert len(pq.read_table(out / "clean.parquet")) == 20


def test_overwrite_leaves_what_is_not_ours(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out, "--cluster", "star").code == 0
    first = files_of(out)
    (out / "mine.txt").write_text("mine")
    assert command("dedup", notes, "-o", out).code == 1
    assert files_of(out) == {**first, "mine.txt": b"mine"}
    assert command("dedup", notes, "-o", out, "--overwrite", "--format", "csv").code == 0
    assert sorted(files_of(out)) == [
        "clean.csv",
        "clusters.parquet",
        "edges.parquet",
        "mine.txt",
        "run.json",
    ]
    assert files_of(out)["run.json"] != first["run.json"]


def test_quiet_and_summary(notes: Path, tmp_path: Path, command: Command) -> None:
    answer = command("dedup", notes, "-o", tmp_path / "a", "--quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    answer = command("dedup", notes, "-o", tmp_path / "b")
    assert answer.code == 0 and answer.out == ""
    words = {line.split()[0]: line for line in answer.lines if line}
    assert words["documents"].split()[1] == "30"
    assert words["removed"].split()[1] == "10"
    assert str(tmp_path / "b") in words["written"]
    assert "\x1b" not in answer.err and "\r" not in answer.err


def test_options_reach_the_spec(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    args = "--preset clinical --edge-threshold 0.8 --bands 20 --rows 4 --seed 7 --pairs all"
    args += " --cluster bounded-mst --second-round --scheme oph32"
    args += " --keep-case --nfkc --strip-accents --bag"
    assert command("dedup", notes, "-o", out, *args.split()).code == 0
    spec = json.loads((out / "run.json").read_text())["spec"]
    assert spec["shingle"] == {
        "unit": "word",
        "n": 8,
        "stem": "english",
        "keep_case": True,
        "nfkc": True,
        "strip_accents": True,
        "raw": False,
        "bag": True,
    }
    found = {k: v for k, v in spec.items() if k != "shingle"}
    assert found == {
        "scheme": "oph32/1",
        "seed": 7,
        "edge_threshold": 0.8,
        "tree_threshold": 0.4,
        "recall": 0.99,
        "num_bands": 20,
        "rows": 4,
        "method": "lsh",
        "pairs": "all",
        "cluster": "bounded-mst",
        "keep": "first",
        "second_round": True,
    }


@pytest.mark.parametrize("method", ["lsh", "allpairs"])
@pytest.mark.parametrize("cluster", CLUSTERINGS)
def test_methods_and_clusterings(
    method: str, cluster: str, notes: Path, tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "out"
    args = ["dedup", notes, "-o", out, "--method", method, "--cluster", cluster]
    answer = command(*args)
    assert answer.code == 0, answer.err
    assert len(pq.read_table(out / "edges.parquet")) == 10
