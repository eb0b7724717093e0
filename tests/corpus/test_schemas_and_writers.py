"""One schema for all chunks, and what is written is what is read back."""

from __future__ import annotations

import datetime
import errno
import json
from pathlib import Path

import pyarrow as pa
import pytest

from neardup.corpus import TableWriter, conform, open_corpus, unify
from neardup.errors import FormatError, OutputError, SpecError

from .conftest import WEIRD, table_of, texts_of

INT, F, S, L, N = pa.int64(), pa.float64(), pa.string(), pa.large_string(), pa.null()


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (INT, INT, INT),
        (INT, F, F),
        (N, INT, INT),
        (N, N, N),
        (S, L, L),
        (S, pa.dictionary(pa.int8(), S), L),
        (pa.string_view(), S, L),
        (pa.int8(), pa.int32(), pa.int32()),
        (pa.uint8(), pa.int32(), INT),
        (pa.uint64(), INT, "json"),
        (INT, S, "json"),
        (pa.bool_(), INT, "json"),
        (pa.list_(INT), pa.list_(F), pa.list_(F)),
        (pa.list_(N), pa.large_list(S), pa.large_list(S)),
        (pa.list_(INT), pa.list_(S), "json"),
        (pa.struct([("a", INT)]), pa.struct([("b", S)]), pa.struct([("a", INT), ("b", S)])),
        (pa.struct([("a", INT)]), pa.struct([("a", S)]), "json"),
        (pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("us")),
        (pa.timestamp("s"), pa.timestamp("s", "UTC"), "json"),
        (pa.date32(), pa.date32(), pa.date32()),
    ],
)
def test_unify(one: pa.DataType, other: pa.DataType, both: pa.DataType | str) -> None:
    for types in ((one, other), (other, one)):
        schema = unify(pa.schema([("c", type)]) for type in types)
        field = schema.field("c")
        if both == "json":
            assert field.type == L and field.metadata
            continue
        if pa.types.is_struct(both) and both.num_fields == 2:
            assert {field.type.field(i).name for i in range(2)} == {"a", "b"}
        else:
            assert field.type == both
        for type in types:  # empty and null columns of all types fit
            table = pa.table({"c": pa.nulls(2, type)})
            assert conform(table, schema).schema.equals(schema)


def test_conform_keeps_values_and_adds_columns() -> None:
    a = pa.table({"x": [1, 2], "s": [{"p": 1}, None]})
    b = pa.table({"y": ["t"], "s": [{"q": ["u"], "p": None}], "x": [0.5]})
    schema = unify([a.schema, b.schema])
    assert conform(a, schema).to_pylist() == [
        {"x": 1.0, "s": {"p": 1, "q": None}, "y": None},
        {"x": 2.0, "s": None, "y": None},
    ]
    assert conform(b, schema).to_pylist() == [{"x": 0.5, "s": {"p": None, "q": ["u"]}, "y": "t"}]


def test_conform_refuses_to_round() -> None:
    tables = [pa.table({"x": [2**53 + 1]}), pa.table({"x": [0.5]})]
    schema = unify(table.schema for table in tables)
    with pytest.raises(FormatError, match="column 'x'"):
        conform(tables[0], schema)


ROWS = [
    {
        "id": i,
        "text": text,
        "f": i / 3,
        "b": i % 2 == 0,
        "none": None,
        "l": [text, None],
        "s": {"k": text, "n": i},
    }
    for i, text in enumerate(WEIRD)
]


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_written_and_read_back(tmp_path: Path, format: str) -> None:
    table = pa.Table.from_pylist(ROWS)
    path = tmp_path / f"out.{format}"
    with TableWriter(path, table.schema, format) as writer:
        for start in range(0, len(ROWS), 5):
            writer.write(table.slice(start, 5))
    back = table_of(open_corpus(path))
    assert back.column_names == table.column_names
    rows = back.to_pylist()
    if format == "csv":  # nested values are JSON, and nothing tells null from ""
        for row in rows:
            row |= {"l": json.loads(row["l"]), "s": json.loads(row["s"]), "none": None}
    assert rows == ROWS
    assert texts_of(open_corpus(path)) == WEIRD


def test_values_that_json_has_no_form_for(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["a"],
            "100%": pa.array([float("nan")]),
            "t": pa.array([datetime.datetime(2020, 1, 2, 3)]),
            "ns": pa.array([1], pa.timestamp("ns")),
            "bin": [b"\xff"],
            "l": [[float("inf"), 1.0]],
        }
    )
    path = tmp_path / "o.jsonl"
    with TableWriter(path, table.schema, "jsonl") as writer:
        writer.write(table)
    assert json.loads(path.read_text()) == {
        "text": "a",
        "100%": None,
        "t": "2020-01-02T03:00:00",
        "ns": "1970-01-01 00:00:00.000000001",
        "bin": "/w==",
        "l": [None, 1.0],
    }


def test_json_text_survives_parquet(tmp_path: Path) -> None:
    source, middle, out = (tmp_path / name for name in ("a.jsonl", "b.parquet", "c.jsonl"))
    source.write_text('{"text":"a","m":1,"e":{}}\n{"text":"b","m":"x","e":{}}\n')
    for path, target in ((source, middle), (middle, out)):
        table = table_of(open_corpus(path))
        with TableWriter(target, table.schema, target.suffix[1:]) as writer:
            writer.write(table)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["m"] for row in rows] == [1, "x"]


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("rows", [0, 3])
def test_empty_and_unfinished(tmp_path: Path, format: str, rows: int) -> None:
    table = pa.table({"text": ["a"] * rows}, schema=pa.schema([("text", S)]))
    path = tmp_path / f"o.{format}"
    with TableWriter(path, table.schema, format) as writer:
        writer.write(table)
    assert texts_of(open_corpus(path)) == ["a"] * rows
    with pytest.raises(KeyError), TableWriter(path, table.schema, format):
        raise KeyError("the caller's")
    with pytest.raises(SpecError):
        TableWriter(path, table.schema, "xml")


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_the_disk_is_full(format: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    table = pa.table({"text": ["words " * 10_000] * 10})
    with pytest.raises(OutputError, match="no space left") as caught:  # noqa: SIM117
        with TableWriter("/dev/full", table.schema, format) as writer:
            writer.write(table)
    assert "free some space" in caught.value.hint
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOSPC


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_no_folder(tmp_path: Path, format: str) -> None:
    with pytest.raises(OutputError, match="no such file") as caught:
        TableWriter(tmp_path / "none" / "o", pa.schema([("text", S)]), format)
    assert "create the folder" in caught.value.hint
