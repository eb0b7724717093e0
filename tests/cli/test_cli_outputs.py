"""What is in OUT: names, columns, types, the record of the run, and what is replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from common import Command, files_of, some_rows, write_lines
from neardup.spec import CLUSTERINGS, WITHOUT_EDGES, Spec

ROWS = some_rows()
KEPT = [row for i, row in enumerate(ROWS) if i % 3 != 2]
SIMILARITY = pytest.approx(35 / 37)  # 36 shingles each, the last one differs


def test_tables(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out, "--id", "id", "--pairs", "all").code == 0
    assert sorted(files_of(out)) == [
        "clean/part-00000.jsonl",
        "clusters.parquet",
        "edges.parquet",
        "run.json",
    ]
    clusters = pq.read_table(out / "clusters.parquet")
    assert clusters.schema == pa.schema(
        [
            pa.field("doc", pa.int64(), nullable=False),
            pa.field("doc_id", pa.large_string(), nullable=False),
            pa.field("cluster", pa.int64(), nullable=False),
            pa.field("kept", pa.bool_(), nullable=False),
            ("duplicate_of", pa.large_string()),
            ("similarity", pa.float64()),
            ("how", pa.large_string()),
            pa.field("file", pa.large_string(), nullable=False),
            pa.field("row", pa.int64(), nullable=False),
        ]
    )
    removed = {f"n{i}": f"n{i - 1}" for i in range(2, len(ROWS), 3)}
    for i, row in enumerate(clusters.to_pylist()):
        of = removed.get(f"n{i}")
        expected = {"doc": i, "doc_id": f"n{i}", "cluster": i - (of is not None)}
        expected |= {"kept": of is None, "duplicate_of": of, "similarity": of and SIMILARITY}
        expected |= {"how": of and "near", "file": "notes.jsonl", "row": i}
        assert row == expected
    edges = pq.read_table(out / "edges.parquet")
    assert edges.schema == pa.schema(
        [
            pa.field("doc_a", pa.int64(), nullable=False),
            pa.field("doc_b", pa.int64(), nullable=False),
            pa.field("id_a", pa.large_string(), nullable=False),
            pa.field("id_b", pa.large_string(), nullable=False),
            pa.field("similarity", pa.float64(), nullable=False),
        ]
    )
    listed = [(row["id_a"], row["id_b"], row["similarity"]) for row in edges.to_pylist()]
    assert listed == [(a, b, SIMILARITY) for b, a in removed.items()]
    lines = (out / "clean" / "part-00000.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == KEPT


def test_positions_without_an_id(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out).code == 0
    clusters = pq.read_table(out / "clusters.parquet")
    assert clusters["doc_id"].type == clusters["duplicate_of"].type == pa.int64()
    assert clusters["doc_id"].to_pylist() == clusters["doc"].to_pylist()


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(range(30), pa.uint64()),
        pa.array([f"{i:08}".encode() for i in range(30)], pa.binary(8)),
        pa.array([f"x{i}" for i in range(30)]).dictionary_encode(),
    ],
    ids=lambda ids: str(ids.type),
)
def test_ids_keep_their_values(ids: pa.Array, tmp_path: Path, command: Command) -> None:
    table = pa.Table.from_pylist(ROWS).set_column(0, "id", ids)
    feather.write_feather(table, tmp_path / "a.arrow")
    args = ["--id", "id", "--pairs", "all"]
    assert command("dedup", tmp_path / "a.arrow", "-o", tmp_path / "out", *args).code == 0
    found = pq.read_table(tmp_path / "out" / "clusters.parquet")
    assert found["doc_id"].to_pylist() == ids.to_pylist()
    assert found["duplicate_of"].drop_null().to_pylist() == ids.to_pylist()[1::3]
    edges = pq.read_table(tmp_path / "out" / "edges.parquet")
    assert edges["id_b"].to_pylist() == ids.to_pylist()[2::3]


def test_record(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out, "--pairs", "all").code == 0
    record = json.loads((out / "run.json").read_text())
    spec = Spec(pairs="all")
    assert Spec.from_dict(record["spec"]) == spec
    assert {"num_bands", "rows", "scheme", "shingle"} <= set(record["recipe"])
    assert {"neardup", "python", "numpy", "numba", "pyarrow"} <= set(record["versions"])
    expected = {
        "documents": 30,
        "empty": 0,
        "short": 0,
        "equal_tokens": 0,
        "shingles": 30 * 36,
        "edges": 10,
        "clusters": 20,
        "clusters_of_two_or_more": 10,
        "largest_cluster": 2,
        "kept": 20,
        "removed": 10,
        "not_compared": 0,
    }
    assert {name: record["counts"].get(name) for name in expected} == expected
    assert record["counts"]["candidates"] >= record["counts"]["pairs_compared"] >= 10
    assert {"read and sketch", "buckets", "write tables"} <= set(record["seconds"])
    assert all(seconds >= 0 for seconds in record["seconds"].values())
    assert record["bytes"]["read and sketch"] == notes.stat().st_size
    assert record["bytes"]["text"] == sum(len(row["text"]) for row in ROWS)
    assert record["peak_memory"] > 1e6


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


def test_order_by(notes: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    done = command("dedup", notes, "-o", out, "--order-by", "date", "--id", "id")
    assert done.code == 0 and done.lines[-1].endswith(", order.parquet, run.json")
    rows = pq.read_table(out / "clusters.parquet").to_pylist()
    by_date = sorted(ROWS, key=lambda row: row["date"])
    assert [row["doc_id"] for row in rows] == [row["id"] for row in by_date]
    assert "position" not in rows[0]
    order = pq.read_table(out / "order.parquet")
    assert order.schema == pa.schema(
        [pa.field(name, pa.int64(), nullable=False) for name in ("doc", "position")]
    )
    assert order.column("doc").to_pylist() == list(range(len(ROWS)))
    places = order.column("position").to_pylist()
    assert [ROWS[place]["id"] for place in places] == [row["id"] for row in by_date]
    assert command("dedup", notes, "-o", out, "--overwrite").code == 0
    assert not (out / "order.parquet").exists()


@pytest.mark.long
@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv", "parquet", "arrow"])
def test_formats_replace_each_other(
    format: str, notes: Path, tmp_path: Path, command: Command
) -> None:
    """What an earlier run wrote in another format is gone."""
    out = tmp_path / "out"
    assert command("dedup", notes, "-o", out).code == 0
    args = ["dedup", notes, "-o", out, "--format", format, "--overwrite", "--annotate"]
    assert command(*args).code == 0
    assert [p.name for p in (out / "clean").iterdir()] == [f"part-00000.{format}"]
    assert command("dedup", out / "clean", "-o", tmp_path / "again", "--no-clean").code == 0
    again = pq.read_table(tmp_path / "again" / "clusters.parquet").drop_columns(["file"])
    found = pq.read_table(out / "clusters.parquet").drop_columns(["file"])
    assert again.equals(found)  # all documents, in order


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
    args = "--preset clinical --threshold 0.8 --bands 20 --rows 4 --seed 7 --pairs all"
    args += " --cluster bounded --tree-threshold 0.3 --scheme oph32 --keep longest"
    args += " --keep-case --nfkc --strip-accents --join-hyphens --bag --documents 1000000"
    assert (
        command(
            "dedup", notes, "-o", out, "--max-bucket", 50, "--order-by", "date", *args.split()
        ).code
        == 0
    )
    spec = json.loads((out / "run.json").read_text())["spec"]
    flags = dict.fromkeys(("keep_case", "nfkc", "strip_accents", "join_hyphens", "bag"), True)
    assert spec.pop("shingle") == {
        **flags,
        "unit": "word",
        "n": 8,
        "stem": "english",
        "raw": False,
        "alphanumeric": False,
        "hash_bytes": 8,
        "ignore": [],
        "stop_passages": [],
        "signs": "short",
    }
    assert spec == {
        "scheme": "oph32/1",
        "seed": 7,
        "threshold": 0.8,
        "recall": 0.99,
        "num_bands": 20,
        "rows": 4,
        "documents": 1_000_000,
        "method": "lsh",
        "pairs": "all",
        "cluster": "bounded",
        "tree_threshold": 0.3,
        "keep": "longest",
        "order_by": "date",
        "within": None,
        "boilerplate": 0,
        "max_bucket": 50,
        "only_same": False,
    }


def test_characters_have_no_stems(notes: Path, tmp_path: Path, command: Command) -> None:
    args = ["--preset", "clinical", "--shingle", "char:9", "--raw", "--stem", "none"]
    for k, words in enumerate((args, args[:5])):
        out = tmp_path / str(k)
        assert command("dedup", notes, "-o", out, *words, "--no-clean").code == 0
        shingle = json.loads((out / "run.json").read_text())["spec"]["shingle"]
        assert (shingle["unit"], shingle["n"], shingle["stem"]) == ("char", 9, None)


# Disjoint sets are made from buckets.
@pytest.mark.parametrize(
    ("method", "cluster"),
    [
        *(("lsh", cluster) for cluster in CLUSTERINGS),
        *(("allpairs", cluster) for cluster in CLUSTERINGS if cluster != "disjoint-sets"),
    ],
)
def test_methods_and_clusterings(
    method: str, cluster: str, notes: Path, tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "out"
    args: list[Any] = ["dedup", notes, "-o", out, "--method", method, "--cluster", cluster]
    answer = command(*args)
    assert answer.code == 0, answer.err
    assert (out / "edges.parquet").exists() == (cluster not in WITHOUT_EDGES)
    found = pq.read_table(out / "clusters.parquet")
    assert found["cluster"].to_pylist() == [i - (i % 3 == 2) for i in range(len(ROWS))]


def test_a_limit_of_buckets_is_counted(tmp_path: Path, command: Command) -> None:
    words = [f"w{i}" for i in range(30)]
    texts = [" ".join([*words, *(f"x{i}y{j}" for j in range(20))]) for i in range(40)]
    path = write_lines(tmp_path / "a.jsonl", [{"text": text} for text in texts])
    args = ["dedup", path, "-o", tmp_path / "out", "--threshold", "0.5", "--max-bucket", 5]
    answer = command(*args)
    assert answer.code == 0, answer.err
    counts = json.loads((tmp_path / "out" / "run.json").read_text())["counts"]
    assert counts["kept"] == 40 and counts["not_compared"] > 0
    assert "not compared" in answer.err
