"""Folders and names: partitions, markers, odd endings; delimiters; compressions of outputs."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_samples import ROWS, TEXTS, lines, made, opened, rows_of, texts_of

import neardup
from common import Command, files_of, some_rows, write_lines
from neardup.errors import FormatError, SpecError
from neardup.io.hive import hive_values
from neardup.io.outputs import check_output
from neardup.io.paths import find_files

YEARS = {"year=2020/lang=de": 3, "year=2021/lang=en%20gb": 4, "year=1999/lang=fr": 5}


def partitioned(folder: Path, kind: str) -> Path:
    """Rows in folders that are values of two columns."""
    for number, (name, count) in enumerate(YEARS.items()):
        rows = [{"id": 10 * number + i, "text": f"common words {i}"} for i in range(count)]
        path = folder / name
        path.mkdir(parents=True)
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), path / "a.parquet")
        else:
            write_lines(path / "a.jsonl", rows)
    (folder / "_SUCCESS").touch()
    (folder / "_common_metadata").touch()
    return folder


def test_values_of_folders() -> None:
    assert hive_values("a=1/b=x%2Fy/c.jsonl") == {"a": "1", "b": "x/y"}
    assert hive_values("a=__HIVE_DEFAULT_PARTITION__/c.jsonl") == {"a": None}
    assert hive_values("plain/=x/a=b.jsonl") == {}


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_partition_columns(tmp_path: Path, kind: str, command: Command) -> None:
    """They can be kept or ordered by, and are not written: the folders are."""
    source = opened(partitioned(tmp_path / "in", kind), extra=("year", "lang"))
    rows = rows_of(pickle.loads(pickle.dumps(source)), ("lang", "id", "year"))
    assert {(row["year"], row["lang"]) for row in rows} == {
        ("2020", "de"),
        ("2021", "en gb"),
        ("1999", "fr"),
    }
    assert [part.schema().names for part in source.partitions()] == [["id", "text"]] * 3
    out = tmp_path / "out"
    args = ("--keep", "max:year", "--order-by", "year", "--id", "id", "--shingle", "word:3")
    assert command("dedup", tmp_path / "in", "-o", out, *args).code == 0
    run = neardup.open(out)
    kept = run.clusters.filter(run.clusters["kept"])
    # The newest of each text: 2021 has the first four, and only 1999 has the fifth.
    assert kept["doc_id"].to_pylist() == [24, 10, 11, 12, 13]
    names = [f"{folder}/a.{kind}" for folder in YEARS]
    assert sorted(p.relative_to(out / "clean").as_posix() for p in out.rglob(f"a.{kind}")) == (
        sorted(names)
    )
    assert kept["file"].to_pylist() == [names[2]] + [names[1]] * 4
    assert kept["row"].to_pylist() == [4, 0, 1, 2, 3]
    assert run.clean().num_rows == 5


def test_file_and_row_lead_to_every_document(tmp_path: Path) -> None:
    """Of several files, partitions of each, and another order of the documents."""
    rows = [{"id": i, "text": f"{i} {'x' * 900}", "n": -i % 7} for i in range(4000)]
    files: dict[str, list[dict[str, Any]]] = {"a/x.jsonl": rows[:2500], "b/x.jsonl": rows[2500:]}
    for name, some in files.items():
        (tmp_path / name).parent.mkdir()
        write_lines(tmp_path / name, some)
    for options in ({}, {"order_by": "n"}):
        table = neardup.dedup(tmp_path, id="id", **options).clusters
        for row in random.Random(1).sample(table.to_pylist(), 200):
            assert files[row["file"]][row["row"]]["id"] == row["doc_id"]
    texts = tmp_path / "texts"
    texts.mkdir()
    for i in range(9):
        (texts / f"{i}.txt").write_text(f"text {i}")
    table = neardup.dedup(texts).clusters
    assert table["file"].to_pylist() == table["doc_id"].to_pylist()
    assert table["row"].to_pylist() == [0] * 9


def test_endings_mean_the_same_by_name_and_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    for name in ("1.msg", "2", "3.txt"):
        (folder / name).write_text(f"text of {name}")
    by_name = [folder / name for name in ("1.msg", "2", "3.txt")]
    for given in ([folder], [folder / "*"], by_name):
        found = find_files(given, None)
        assert [(file.name, file.format) for file in found] == [
            ("1.msg", "text"),
            ("2", "text"),
            ("3.txt", "text"),
        ]
    (tmp_path / "one").mkdir()
    (tmp_path / "one/1.msg").write_text("text")
    for path in (tmp_path / "one", tmp_path / "one/1.msg"):
        with pytest.raises(FormatError, match=r"unknown ending '\.msg'"):
            find_files([path], None)
    write_lines(folder / "4.jsonl", [{"text": "x"}])
    for given in ([folder], [*by_name, folder / "4.jsonl"]):
        with pytest.raises(FormatError, match="unknown ending"):
            find_files(given, None)


@pytest.mark.parametrize("delimiter", [";", "|", "\t", "\\t"])
def test_delimiters(tmp_path: Path, delimiter: str, command: Command) -> None:
    path = tmp_path / "a.csv"
    character = "\t" if delimiter == "\\t" else delimiter
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "text", "score"], delimiter=character)
        writer.writeheader()
        writer.writerows(ROWS)
    out = tmp_path / "out"
    args = ("--delimiter", delimiter, "--id", "id", "--annotate", "--shingle", "char:3")
    assert command("dedup", path, "-o", out, *args).code == 0
    with (out / "clean/part-00000.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file, delimiter=character))
    assert [row["text"] for row in found] == TEXTS
    assert found[1].keys() >= {"id", "score", "kept", "cluster_size"}
    run = neardup.open(out)
    assert run.clean().num_rows == run.summary["counts"]["kept"]
    assert run.recluster(threshold=0.9).clusters.num_rows == len(TEXTS)


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "é"])
def test_bad_delimiters(tmp_path: Path, delimiter: str) -> None:
    path = made(tmp_path, "a.csv")
    with pytest.raises(SpecError, match="expected one ASCII character"):
        neardup.dedup(path, delimiter=delimiter)
    with pytest.raises(SpecError, match="no input is CSV"):
        neardup.dedup(made(tmp_path, "a.jsonl"), delimiter=";")
    with pytest.raises(SpecError, match="for files only"):
        neardup.dedup(["text"], delimiter=";")


@pytest.mark.parametrize(
    ("name", "compression", "expected"),
    [
        ("a.jsonl", "gzip", "a.jsonl.gz"),
        ("a.jsonl.gz", None, "a.jsonl.gz"),
        ("a.jsonl.gz", "none", "a.jsonl"),
        ("a.jsonl.gz", "zstd", "a.jsonl.zst"),
        ("a.csv", "zstd", "a.csv.zst"),
        ("a.parquet", "snappy", "a.parquet"),
        ("a.parquet", "none", "a.parquet"),
        ("file.feather", "none", "file.arrow"),
    ],
)
def test_compressions(tmp_path: Path, name: str, compression: str | None, expected: str) -> None:
    """Of two inputs, which give their names to the outputs."""
    for folder in ("a", "b"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        made(tmp_path / "in" / folder, name)
    out = tmp_path / "out"
    run = neardup.dedup(tmp_path / "in", out=out, shingle="char:3", compression=compression)
    assert files_of(out / "clean").keys() == {f"a/{expected}", f"b/{expected}"}
    path = out / "clean/a" / expected
    found = [text for part in "ab" for text in texts_of(opened(out / "clean" / part / expected))]
    assert found == run.clean()["text"].to_pylist()
    if expected.endswith(".gz"):
        assert json.loads(gzip.decompress(path.read_bytes()).splitlines()[0])["text"] == TEXTS[0]
    if expected.endswith(".parquet"):
        codec = pq.read_metadata(path).row_group(0).column(0).compression
        assert codec == {"snappy": "SNAPPY", "none": "UNCOMPRESSED"}[str(compression)]


@pytest.mark.parametrize(
    ("name", "format", "compression", "says"),
    [
        ("a.jsonl", None, "snappy", "jsonl has gzip, zstd, bz2, xz, none"),
        ("a.jsonl", "csv", "lz4", "csv has gzip, zstd, bz2, xz, none"),
        ("a.parquet", "arrow", "gzip", "arrow has lz4, zstd, none"),
        ("a.txt", None, "gzip", "plain texts stay as they are"),
    ],
)
def test_compression_that_does_not_apply(
    tmp_path: Path, name: str, format: str | None, compression: str, says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"a text") if name == "a.txt" else made(tmp_path, name)
    with pytest.raises(SpecError, match=f"`compression` is '{compression}'") as caught:
        check_output(opened(path), format, compression=compression)
    assert caught.value.hint == says


@pytest.mark.parametrize("ids", ["int", "string", "bytes"])
def test_tables_as_csv(tmp_path: Path, ids: str) -> None:
    """They have the values of those in Parquet, which are next to them, and no formulas."""
    rows = some_rows()
    for i, row in enumerate(rows):
        row["id"] = {"int": -i, "string": f'-0{i}, "x"' if i else "", "bytes": b"b%d" % i}[ids]
    table = pa.Table.from_pylist(rows)
    options: dict[str, Any] = {"id": "id", "pairs": "all", "order_by": "number"}
    run = neardup.dedup(table, out=tmp_path / "out", tables="csv", **options)
    names = ("clusters", "edges", "order")
    files = {f"{name}.{ending}" for name in names for ending in ("csv", "parquet")}
    assert {path.name for path in (tmp_path / "out").iterdir() if path.is_file()} - files == {
        "run.json"
    }
    assert run.clusters.equals(neardup.dedup(table, **options).clusters)
    for name in names:
        with (tmp_path / "out" / f"{name}.csv").open(newline="") as file:
            found = list(csv.reader(file))
        expected = pq.read_table(tmp_path / "out" / f"{name}.parquet")
        assert found[0] == expected.column_names and len(found) == len(expected) + 1
        k = 1 if name == "clusters" else 2
        if name != "order":
            given = [row[k] for row in found[1:]]
            values = expected.column(k).to_pylist()
            if ids == "bytes":
                values = [value.decode() for value in values]
            sign = "'" if ids == "string" else ""
            assert given == [f"{sign}{value}" if value != "" else "" for value in values]


def test_tables_that_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines())
    with pytest.raises(SpecError, match="expected 'parquet' or 'csv'"):
        neardup.dedup(path, out=tmp_path / "out", tables="xlsx")
    assert texts_of(opened(path)) == TEXTS


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv", "jsonl.gz"])
def test_a_field_of_the_records_wins_over_the_folder(tmp_path: Path, kind: str) -> None:
    """Of a column that is the name of a folder as well; a file without it has the folder's."""
    for name, row in (
        ("date=2026-01-01", {"id": "a", "date": "2030-01-01", "text": "one two three"}),
        ("date=2026-01-02", {"id": "b", "date": "2000-01-01", "text": "one two three"}),
        ("date=2028-01-01", {"id": "c", "text": "one two three"}),
    ):
        path = tmp_path / name / f"x.{kind}"
        path.parent.mkdir()
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist([row]), path)
        elif kind == "csv":
            path.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
        elif kind == "jsonl":
            write_lines(path, [row])
        else:
            path.write_bytes(gzip.compress(json.dumps(row).encode()))
    source = opened(tmp_path, extra=("date",))
    assert [row["date"] for row in rows_of(source, ("date",))] == [
        "2030-01-01",
        "2000-01-01",
        "2028-01-01",
    ]
    found = neardup.dedup(tmp_path, id="id", keep="max:date", shingle="word:2").clusters
    assert found.filter(found["kept"])["doc_id"].to_pylist() == ["a"]


def test_a_stray_file_in_a_folder(tmp_path: Path) -> None:
    """The hint is a pattern that leaves it out."""
    (tmp_path / "a.b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "one"}\n'))
    (tmp_path / "readme.md").write_text("about these")
    with pytest.raises(FormatError, match=r"ending '\.md'") as caught:
        find_files([tmp_path], None)
    assert "pattern, such as '**/*.jsonl.gz'" in caught.value.hint


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_compressed_data_by_another_name(tmp_path: Path, kind: str) -> None:
    data = gzip.compress(b"{}") if kind == "gzip" else b"\x28\xb5\x2f\xfd12"
    for name in ("a.jsonl", "a.csv"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FormatError, match=f"this is {kind} data"):
            texts_of(opened(tmp_path / name))
