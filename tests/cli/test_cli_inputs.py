"""Each kind of input gives the same clusters through the command line."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from cli_process import NEARDUP

from common import Command, some_rows, write_lines

ROWS = some_rows()
TABLE = pa.Table.from_pylist(ROWS)
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def clusters(out: Path) -> list[int]:
    return pq.read_table(out / "clusters.parquet")["cluster"].to_pylist()


EXPECTED = [i - i % 3 if i % 3 == 0 else i - (i % 3 == 2) for i in range(len(ROWS))]


def csv_of(table: pa.Table, delimiter: str) -> bytes:
    sink = io.BytesIO()
    pacsv.write_csv(table, sink, pacsv.WriteOptions(delimiter=delimiter))
    return sink.getvalue()


def put(make: Callable[[], bytes]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(make()) and None


def zstd_file(raw: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(raw)

    return write


WRITERS: dict[str, Callable[[Path], None]] = {
    "a.jsonl": put(lambda: LINES),
    "a.ndjson": put(lambda: LINES),
    "a.jsonl.gz": put(lambda: gzip.compress(LINES)),
    "a.jsonl.zst": zstd_file(LINES),
    "a.csv": put(lambda: csv_of(TABLE, ",")),
    "a.csv.gz": put(lambda: gzip.compress(csv_of(TABLE, ","))),
    "a.tsv": put(lambda: csv_of(TABLE, "\t")),
    "a.tsv.zst": zstd_file(csv_of(TABLE, "\t")),
    "a.parquet": lambda path: pq.write_table(TABLE, path, row_group_size=7),
    "a.arrow": lambda path: feather.write_feather(TABLE, path, chunksize=7),
}


@pytest.mark.parametrize("name", WRITERS)
def test_files(name: str, tmp_path: Path, command: Command) -> None:
    WRITERS[name](tmp_path / name)
    answer = command("dedup", tmp_path / name, "-o", tmp_path / "out", "--id", "id")
    assert answer.code == 0, answer.err
    assert clusters(tmp_path / "out") == EXPECTED
    table = pq.read_table(tmp_path / "out" / "clusters.parquet")
    assert table["doc_id"].to_pylist() == [row["id"] for row in ROWS]
    kept_by = [f"n{i - 1}" if i % 3 == 2 else None for i in range(len(ROWS))]
    assert table["kept_by"].to_pylist() == kept_by
    clean = pq.read_table(tmp_path / "out" / "clean.parquet")
    assert clean.to_pylist() == [row for i, row in enumerate(ROWS) if i % 3 != 2]


def test_folder_of_texts(tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    names = [f"{'deep/' if i % 2 else ''}{i:02}.txt" for i in range(len(ROWS))]
    for name, row in zip(names, ROWS, strict=True):
        (folder / name).write_text(row["text"])
    assert command("dedup", folder, "-o", tmp_path / "out").code == 0
    table = pq.read_table(tmp_path / "out" / "clusters.parquet")
    assert table["doc_id"].to_pylist() == sorted(names)
    repeats = {names[i]: names[i - 1] for i in range(2, len(ROWS), 3)}
    for row in table.to_pylist():
        met = {row["doc_id"], repeats.get(row["doc_id"])}
        assert row["kept_by"] in (None, *met, *[k for k, v in repeats.items() if v in met])
    assert table["kept_by"].null_count == len(ROWS) - len(repeats)
    clean = pq.read_table(tmp_path / "out" / "clean.parquet")
    assert clean.column_names == ["path", "text"]


def test_several_files_folders_and_patterns(tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(3):
        write_lines(folder / f"{i}.jsonl", ROWS[10 * i : 10 * i + 10])
    pq.write_table(TABLE.slice(10, 10), tmp_path / "1.parquet")
    for k, inputs in enumerate(
        [
            [folder],
            [folder / "*.jsonl"],
            [folder / "[01].jsonl", folder / "2.jsonl"],
            [folder / "0.jsonl", tmp_path / "1.parquet", folder / "2.jsonl"],
        ]
    ):
        answer = command("dedup", *inputs, "-o", tmp_path / f"out{k}")
        assert answer.code == 0, answer.err
        assert clusters(tmp_path / f"out{k}") == EXPECTED


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_standard_input(kind: str, tmp_path: Path) -> None:
    WRITERS[f"a.{kind}"](tmp_path / "in")
    options = [] if kind == "jsonl" else ["--input-format", kind]
    with (tmp_path / "in").open("rb") as stdin:
        done = subprocess.run(
            [*NEARDUP, "dedup", "-", "-o", tmp_path / "out", "--id", "id", *options],
            stdin=stdin,
            capture_output=True,
        )
    assert done.returncode == 0, done.stderr
    assert clusters(tmp_path / "out") == EXPECTED


def test_input_format_for_any_ending(tmp_path: Path, command: Command) -> None:
    (tmp_path / "notes.dat").write_bytes(LINES)
    args = ["dedup", tmp_path / "notes.dat", "-o", tmp_path / "out", "--input-format", "jsonl"]
    assert command(*args).code == 0
    assert clusters(tmp_path / "out") == EXPECTED


def test_text_columns_are_joined(tmp_path: Path, command: Command) -> None:
    rows: list[dict[str, Any]] = [
        {"head": "one two three", "body": "four five six seven"},
        {"head": "one two three four", "body": "five six seven"},
        {"head": None, "body": "one two three four five six seven"},
        {"head": "one two three", "body": "something else is said in here"},
    ]
    path = write_lines(tmp_path / "a.jsonl", rows)
    assert command("dedup", path, "--text", "head,body", "-o", tmp_path / "out").code == 0
    assert clusters(tmp_path / "out") == [0, 0, 0, 3]
    clean = pq.read_table(tmp_path / "out" / "clean.parquet")
    assert clean.to_pylist() == [rows[0], rows[3]]


@pytest.mark.parametrize(
    ("type", "same"),
    [
        (pa.int32(), pa.int32()),
        (pa.uint64(), pa.uint64()),
        (pa.float64(), pa.float64()),
        (pa.string(), pa.string()),
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.timestamp("us"), pa.timestamp("us")),
        (pa.date32(), pa.date32()),
        (pa.decimal128(9, 2), pa.decimal128(9, 2)),
        (pa.binary(), pa.large_binary()),
        (pa.binary(8), pa.binary(8)),
    ],
    ids=str,
)
def test_ids_of_any_type(
    type: pa.DataType, same: pa.DataType, tmp_path: Path, command: Command
) -> None:
    numbers = pa.array(range(len(ROWS)), pa.int32())
    if pa.types.is_binary(type) or pa.types.is_fixed_size_binary(type):
        ids = pa.array([f"{i:08}".encode() for i in range(len(ROWS))], type)
    elif pa.types.is_dictionary(type):
        ids = numbers.cast(pa.string()).dictionary_encode()
    elif pa.types.is_timestamp(type):
        ids = numbers.cast(pa.int64()).cast(type)
    elif pa.types.is_decimal(type):
        ids = numbers.cast(pa.decimal128(12, 2)).cast(type)
    else:
        ids = numbers.cast(type)
    table = TABLE.set_column(0, "id", ids)
    feather.write_feather(table, tmp_path / "a.arrow")
    out = tmp_path / "out"
    answer = command("dedup", tmp_path / "a.arrow", "-o", out, "--id", "id")
    assert answer.code == 0, answer.err
    found = pq.read_table(out / "clusters.parquet")
    assert found.schema.field("doc_id").type == same
    assert found.schema.field("kept_by").type == same
    assert found["doc_id"].to_pylist() == ids.to_pylist()
    edges = pq.read_table(out / "edges.parquet")
    assert edges["doc_id_b"].to_pylist() == [ids[i].as_py() for i in edges["doc_b"].to_pylist()]
