"""Which files a clean corpus has, what is in them, and what happens when they can't be written."""

from __future__ import annotations

import csv
import datetime
import errno
import gzip
import io
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_samples import FILES, FRAMES, ROWS, frame, made, opened, zst

from common import Tune
from neardup.errors import ColumnError, FormatError, OutputError, SpecError
from neardup.file_formats import WRITTEN
from neardup.io import writers
from neardup.io.formats.json_text import common_schema
from neardup.io.outputs import check_output, plan_outputs
from neardup.io.source import Layout, Source
from neardup.io.writers import open_writer

KEEP = 3  # every third document is left out


def kept(count: int, first: int) -> np.ndarray:
    return np.flatnonzero((np.arange(first, first + count) % KEEP) != 1)


def clean(
    source: Source,
    out: Path,
    format: str | None = None,
    added: Callable[[np.ndarray], pa.Table] | None = None,
) -> list[str]:
    """Write a clean corpus as an engine does; return the names of its files."""
    out.mkdir()
    parts = list(source.partitions())
    counts = [len(part.read().text) for part in parts]
    firsts = np.cumsum([0, *counts])
    fields = None if added is None else added(np.arange(1)).schema
    check_output(source, format, fields)
    schema = common_schema(part.schema() for part in parts) if format and parts else None
    planned = plan_outputs(source, [(p.file, p.start) for p in parts], format, fields, schema)
    for output in pickle.loads(pickle.dumps(planned)):
        path = out / output.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_writer(path, output.layout) as writer:
            for number in range(output.first, output.end):
                rows = kept(counts[number], int(firsts[number]))
                more = None if added is None else added(rows + firsts[number])
                part = parts[number]
                take = part.table if output.converted else part.records
                writer.write(writer.prepare(take(rows, counts[number], more)))
    return [output.name for output in planned]


EXPECTED = [row for i, row in enumerate(ROWS) if i % KEEP != 1]


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, by other readers than ours where there are some."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw = gzip.decompress(raw)
    if path.suffix == ".zst":
        raw = pa.CompressedInputStream(pa.BufferReader(raw), "zstd").read()
    kind = next(s for s in path.suffixes if s[1:] in WRITTEN or s == ".feather")
    if kind == ".jsonl":
        return [json.loads(line) for line in raw.splitlines()]
    if kind in (".csv", ".tsv"):
        text = io.StringIO(raw.decode(), newline="")
        return list(csv.DictReader(text, dialect="excel-tab" if kind == ".tsv" else "excel"))
    if kind == ".parquet":
        return pq.read_table(path).to_pylist()
    return pa.ipc.open_file(path).read_all().to_pylist()


def as_strings(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{name: str(value) for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("size", [1000, 8 << 20])
@pytest.mark.parametrize("name", FILES)
def test_the_format_of_the_input(tmp_path: Path, name: str, size: int) -> None:
    path = made(tmp_path, name)
    (out,) = clean(opened(path, size), tmp_path / "clean")
    suffixes = "".join(path.suffixes).replace(".feather", ".arrow")
    assert out == f"part-00000{suffixes}"
    rows = read(tmp_path / "clean" / out)
    assert rows == (as_strings(EXPECTED) if name.startswith(("a.csv", "a.tsv")) else EXPECTED)
    assert (tmp_path / "clean" / out).stat().st_mode & 0o777 == 0o600
    if suffixes in (".jsonl", ".csv"):  # the records' own bytes
        lines = path.read_bytes().splitlines(keepends=True)
        if suffixes == ".jsonl":
            expected = b"".join(line for i, line in enumerate(lines) if i % KEEP != 1)
            assert (tmp_path / "clean" / out).read_bytes() == expected


@pytest.mark.parametrize("kind", [k for k in FRAMES if k not in ("sliced", "list", "iterator")])
def test_frames_become_parquet(tmp_path: Path, kind: str) -> None:
    assert clean(opened(frame(kind), 1000), tmp_path / "clean") == ["part-00000.parquet"]
    assert pq.read_table(tmp_path / "clean").to_pylist() == EXPECTED


@pytest.mark.parametrize("format", WRITTEN)
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "file.feather", "table", "list"])
def test_another_format(tmp_path: Path, name: str, format: str) -> None:
    source = opened(made(tmp_path, name) if name in FILES else frame(name), 1000)
    (out,) = clean(source, tmp_path / "clean", format)
    assert out == f"part-00000.{format}"
    rows = read(tmp_path / "clean" / out)
    expected: list[Any] = EXPECTED
    if name == "list":
        expected = [{"text": row["text"]} for row in EXPECTED]
    if name == "a.csv" or format in ("csv", "tsv"):
        expected = as_strings(expected)
    assert rows == expected


def test_mixed_types_become_strings(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "text": f"t{i}" * 20,
            "m": [1, "one", None, {"é": [1.5]}, 2.5, True][i % 6],
            "late": i if i > 30 else None,
        }
        for i in range(60)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (out,) = clean(opened(path, 300), tmp_path / "clean", "parquet")
    found = read(tmp_path / "clean" / out)
    for row in found:
        if row["m"] and row["m"].startswith("{"):
            row["m"] = json.loads(row["m"])
    expected = [row for i, row in enumerate(rows) if i % KEEP != 1]
    for row in expected:
        if isinstance(row["m"], int | float):
            row["m"] = json.dumps(row["m"])
    assert found == expected


def test_several_files_keep_their_names(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    (data / "a.jsonl").write_bytes(b'{"text":"a"}\n{"text":"b"}\n{"text":"c"}\n')
    (data / "deep/b.csv.gz").write_bytes(gzip.compress(b"id,text\r\n1,x\r\n"))
    (data / "empty.jsonl").touch()
    (data / "none.tsv").write_bytes(b"text\tid\n")
    (data / "z.jsonl.zst").write_bytes(zst(b'{"text":"z","n":1}\n'))
    schema = pa.schema([("text", pa.string()), ("n", pa.int16())], {"made": "by hand"})
    pq.write_table(schema.empty_table(), data / "none.parquet", compression="snappy")
    source = opened(data)
    names = clean(source, tmp_path / "clean")
    assert names == [file.name for file in source.files]
    read_back = {name: (tmp_path / "clean" / name).read_bytes() for name in names}
    assert read_back["a.jsonl"] == b'{"text":"a"}\n{"text":"c"}\n'
    assert gzip.decompress(read_back["deep/b.csv.gz"]) == b"id,text\r\n1,x\r\n"
    assert read_back["empty.jsonl"] == b"" and read_back["none.tsv"] == b"text\tid\n"
    assert pq.read_schema(tmp_path / "clean/none.parquet").equals(schema, check_metadata=True)
    assert read(tmp_path / "clean/z.jsonl.zst") == []  # the document was left out
    names = clean(source, tmp_path / "other", "parquet")
    assert names == ["a.parquet", "deep/b.parquet", "empty.parquet", "none.parquet",
                     "none-2.parquet", "z.parquet"]  # fmt: skip
    tables = [pq.read_table(tmp_path / "other" / name) for name in names]
    assert [table.num_rows for table in tables] == [2, 1, 0, 0, 0, 0]
    assert all(table.schema.equals(tables[0].schema) for table in (*tables[1:3], tables[5]))


def test_one_large_file_becomes_parts(tmp_path: Path, tune: Tune) -> None:
    tune(output_bytes=3000)
    path = made(tmp_path, "a.jsonl")
    names = {}
    for size in (100, 1000):
        found = clean(opened(path, size), tmp_path / f"clean{size}")
        names[size] = found
        assert found == [f"part-{i:05}.jsonl" for i in range(len(found))] and len(found) > 5
        rows = [row for name in found for row in read(tmp_path / f"clean{size}" / name)]
        assert rows == EXPECTED
    assert abs(len(names[100]) - len(names[1000])) <= 1


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl.zst", "a.jsonl"])
def test_what_threads_compress_has_some_parts(tmp_path: Path, tune: Tune, name: str) -> None:
    tune(packed_bytes=100)
    found = clean(opened(made(tmp_path, name), 100), tmp_path / "clean")
    assert len(found) == 1 if name == "a.jsonl" else 2 <= len(found) <= 4
    assert [row for part in found for row in read(tmp_path / "clean" / part)] == EXPECTED


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip", "none"])
def test_parquet_keeps_schema_metadata_and_codec(tmp_path: Path, codec: str) -> None:
    fields = [
        pa.field("id", pa.int32(), nullable=False, metadata={"unit": "one"}),
        pa.field("text", pa.string()),
        pa.field("l", pa.list_(pa.struct([("x", pa.timestamp("us", "UTC"))]))),
        pa.field("d", pa.dictionary(pa.int8(), pa.string())),
        pa.field("dec", pa.decimal128(10, 2)),
    ]
    schema = pa.schema(fields, {"pandas": "{}", "k": "v"})
    when = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    rows = [
        {"id": i, "text": "x" * i, "l": [{"x": when}], "d": "ab"[i % 2], "dec": None}
        for i in range(9)
    ]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema), path, compression=codec)
    clean(opened(path), tmp_path / "clean")
    back = pq.ParquetFile(tmp_path / "clean/part-00000.parquet")
    assert back.schema_arrow.equals(pq.read_schema(path), check_metadata=True)
    assert back.schema_arrow.metadata[b"k"] == b"v"
    assert back.read().to_pylist() == [row for i, row in enumerate(rows) if i % KEEP != 1]
    about = back.metadata.row_group(0)
    assert {about.column(i).compression for i in range(5)} == {
        codec.upper() if codec != "none" else "ZSTD"
    }
    assert not about.column(1).has_dictionary_page and about.column(3).has_dictionary_page


def found_columns(docs: np.ndarray) -> pa.Table:
    """What an engine adds to each record."""
    return pa.table(
        {
            "cluster": pa.array(docs, pa.int64()),
            "kept": pa.array(docs % 2 == 0),
            "duplicate_of": pa.array([None if d % 2 == 0 else f'n"{d}' for d in docs], pa.string()),
            "similarity": pa.array([None if d % 2 == 0 else 0.75 for d in docs], pa.float64()),
        }
    )


@pytest.mark.parametrize("format", [None, "parquet", "jsonl", "csv"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "table"])
def test_added_columns(tmp_path: Path, name: str, format: str | None) -> None:
    source = opened(made(tmp_path, name) if name in FILES else frame(name), 1000)
    (out,) = clean(source, tmp_path / "clean", format, found_columns)
    rows = read(tmp_path / "clean" / out)
    docs = np.array([i for i in range(len(ROWS)) if i % KEEP != 1])
    expected = [a | b for a, b in zip(EXPECTED, found_columns(docs).to_pylist(), strict=True)]
    if out.endswith(".csv"):
        for row in expected:
            row["kept"] = str(row["kept"]).lower()
        expected = [{k: "" if v is None else str(v) for k, v in row.items()} for row in expected]
    elif name == "a.csv":
        expected = [row | {"id": str(row["id"]), "score": str(row["score"])} for row in expected]
    assert rows == expected


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "table"])
def test_added_columns_that_are_there_already(tmp_path: Path, name: str) -> None:
    source = opened(made(tmp_path, name) if name in FILES else frame(name))
    with pytest.raises(ColumnError, match="there is a column 'score' already"):
        check_output(source, None, pa.schema([("new", pa.int64()), ("score", pa.int64())]))


def test_plain_texts_are_copied(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    for i in range(9):
        (data / f"{'deep/' * (i % 2)}{i}.txt").write_bytes(b"\xef\xbb\xbftext %d\r\n" % i)
    (data / "x.txt.gz").write_bytes(gzip.compress(b"packed"))
    source = opened(data)
    assert clean(source, tmp_path / "clean") == [""]
    files = {f.name: f for f in source.files}
    names = [name for i, name in enumerate(files) if i % KEEP != 1]
    for name in files:
        path = tmp_path / "clean" / name
        assert path.exists() == (name in names)
        assert not path.exists() or path.read_bytes() == (data / name).read_bytes()
    (out,) = clean(source, tmp_path / "table", "jsonl")
    assert [row["path"] for row in read(tmp_path / "table" / out)] == names
    with pytest.raises(SpecError, match="plain texts have no fields"):
        check_output(source, None, pa.schema([("cluster", pa.int64())]))


def test_types_that_a_format_does_not_have() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    months = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    runs = pa.RunEndEncodedArray.from_arrays([1], ["x"])
    for column in (union, months, runs):
        source = opened(pa.table({"text": ["a"], "odd": column}))
        with pytest.raises(FormatError, match=r"column 'odd' has the type .* can't be written as"):
            check_output(source, None)
    check_output(opened(pa.table({"text": ["a"], "odd": [[{"x": 1}]]})), "csv")
    with pytest.raises(SpecError, match="no output format 'xml'"):
        check_output(opened(["a"]), "xml")


def test_values_that_json_has_no_form_for(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["a"],
            "100%": pa.array([float("nan")]),
            "t": pa.array([datetime.datetime(2020, 1, 2, 3)]),
            "ns": pa.array([1], pa.timestamp("ns")),
            "bin": [b"\xff"],
            "l": [[float("inf"), 1.0]],
            "u": pa.array([2**64 - 1], pa.uint64()),
        }
    )
    with open_writer(tmp_path / "o.jsonl", Layout("jsonl")) as writer:
        writer.write(writer.prepare(table))
    assert json.loads((tmp_path / "o.jsonl").read_text()) == {
        "text": "a",
        "100%": None,
        "t": "2020-01-02T03:00:00",
        "ns": "1970-01-01 00:00:00.000000001",
        "bin": "/w==",
        "l": [None, 1.0],
        "u": 2**64 - 1,
    }


def test_a_null_text_in_one_column_of_csv_is_not_lost(tmp_path: Path) -> None:
    source = opened(pa.table({"text": ["a", None, "", "b"]}))
    (part,) = source.partitions()
    (output,) = plan_outputs(source, [(-1, 0)], "csv")
    with open_writer(tmp_path / "o.csv", output.layout) as writer:
        writer.write(writer.prepare(part.table(None, 4)))
    assert (tmp_path / "o.csv").read_bytes() == b'text\na\n""\n""\nb\n'


LAYOUTS = [
    Layout("jsonl"),
    Layout("jsonl", "gzip"),
    Layout("jsonl", "zstd"),
    Layout("csv", header=b"text\n", schema=pa.schema([("text", pa.string())])),
    Layout("parquet", "zstd", schema=pa.schema([("text", pa.string())])),
    Layout("arrow", "lz4", schema=pa.schema([("text", pa.string())])),
]
every = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda x: f"{x.format}-{x.compression}")


def test_small_tables_are_gathered_into_row_groups(tmp_path: Path) -> None:
    table = pa.table({"text": ["x" * 1000] * 1000})
    layout = Layout("parquet", "zstd", schema=table.schema)
    with open_writer(tmp_path / "o", layout) as writer:
        for _ in range(40):
            writer.write(writer.prepare(table))
    found = pq.ParquetFile(tmp_path / "o").metadata
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == [34_000, 6_000]


@every
def test_the_disk_is_full(layout: Layout) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full, which takes the place of a full disk")
    table = pa.table({"text": [str(os.urandom(5000)) for _ in range(200)]})
    with pytest.raises(OutputError, match="no space left") as caught:  # noqa: SIM117
        with open_writer(Path("/dev/full"), layout) as writer:
            for _ in range(3):
                writer.write(writer.prepare(table))
    assert "free some space" in caught.value.hint
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOSPC


@every
def test_no_folder_and_errors_of_the_caller(tmp_path: Path, layout: Layout) -> None:
    with pytest.raises(OutputError, match="no such file") as caught:
        open_writer(tmp_path / "none" / "o", layout)
    assert "folder exists" in caught.value.hint
    with pytest.raises(KeyError), open_writer(tmp_path / "o", layout):
        raise KeyError("the caller's")
    assert (tmp_path / "o").exists()


@every
def test_what_is_written_is_synced(
    tmp_path: Path, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(writers.os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size))
    with open_writer(tmp_path / "o", layout) as writer:
        writer.write(writer.prepare(pa.table({"text": ["a"]})))
    writer.close()
    assert synced == [(tmp_path / "o").stat().st_size]


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_records_without_a_schema_are_not_dropped(tmp_path: Path, format: str) -> None:
    with open_writer(tmp_path / "o", Layout(format)) as writer, pytest.raises(AssertionError):
        writer.prepare(pa.table({"text": ["a"]}))
