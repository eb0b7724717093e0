"""Shards and frames without a text, whatever the type of their column."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import neardup
from neardup.errors import ColumnError, InputError

NAN = float("nan")
TEXTS = [f"the quick brown fox jumps over the lazy dog number {i % 3}" for i in range(6)]
NOTHING: dict[str, Any] = {
    "null": pa.nulls(3),
    "nan": pa.array([NAN, None, NAN]),
    "half": pa.array([np.float16(NAN), np.float16(NAN), None], pa.float16()),
    "integers": pa.nulls(3, pa.int32()),
    "lists": pa.nulls(3, pa.list_(pa.string())),
    "dictionary": pa.nulls(3, pa.dictionary(pa.int32(), pa.string())),
}
FORMATS = ["parquet", "arrow", "jsonl", "csv"]


def _shards(folder: Path, format: str, texts: dict[str, Any]) -> Path:
    """Files with the columns id, text and more, the last of which is like the text."""
    folder.mkdir(exist_ok=True)
    for name, array in texts.items():
        more = pa.array(["x"] * len(array)) if name == "a" else array
        rows = {"id": [f"{name}{i}" for i in range(len(array))], "text": array, "more": more}
        table, path = pa.table(rows), folder / f"{name}.{format}"
        if format == "parquet":
            pq.write_table(table, path)
        elif format == "arrow":
            feather.write_feather(table, path)
        elif format == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        else:
            nothing = (None, NAN)
            lines = ["id,text,more"]
            for row in table.to_pylist():
                values = ["" if v in nothing or v != v else str(v) for v in row.values()]
                lines.append(",".join(values))
            path.write_text("\n".join(lines) + "\n")
    return folder


def _index(path: Path) -> dict[str, Any]:
    with neardup.Index.create() as index:
        return {"counts": {"added": index.add([path], id="id")}}


COMMANDS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "dedup": lambda path: neardup.dedup(path, id="id", keep="max:more").summary,
    "passages": lambda path: neardup.passages(path, id="id", words=4, within="more").summary,
    "decontaminate": lambda path: neardup.decontaminate(path, {"text": TEXTS[:1]}).summary,
    "test": lambda path: neardup.decontaminate({"text": TEXTS[:1]}, path).summary,
    "against": lambda path: neardup.against(path, {"text": TEXTS[:1]}).summary,
    "old": lambda path: neardup.against({"text": TEXTS[:1]}, path).summary,
    "index": _index,
}
#: Documents with a text and without one, and what is the same for all formats.
NOTED = {"dedup", "passages", "decontaminate", "test", "against", "old"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_shard_without_texts(tmp_path: Path, command: str) -> None:
    """Beside others, with the same counts and note in each format and type."""
    do, found = COMMANDS[command], []
    for format in FORMATS:
        for kind in NOTHING if format in ("parquet", "arrow") else ("null", "nan"):
            if kind == "lists" and command in ("dedup", "passages"):
                continue  # the other column is compared
            texts = {"a": pa.array(TEXTS), "b": NOTHING[kind]}
            folder = _shards(tmp_path / f"{format}-{kind}", format, texts)
            summary = do(folder)
            notes = summary.get("notes", [])
            if command in NOTED:
                assert notes[0] == f"{folder / 'b'}.{format}: none of its 3 documents has a text"
            found.append((summary["counts"], notes[1:]))
    assert found[1:] == found[:-1]
    if command == "dedup":
        assert found[0][0]["documents"] == 9 and found[0][0]["empty"] == 3


@pytest.mark.parametrize("command", COMMANDS)
def test_all_shards_without_texts(tmp_path: Path, command: str) -> None:
    for format in FORMATS:
        texts = {"b": NOTHING["nan"], "c": NOTHING["null"]}
        summary = COMMANDS[command](_shards(tmp_path / format, format, texts))
        if command in NOTED:
            assert summary["notes"][0].startswith("none of the 6 documents")


@pytest.mark.parametrize("format", FORMATS)
def test_a_number_among_them_is_an_error(tmp_path: Path, format: str) -> None:
    texts = {"a": pa.array(TEXTS), "b": pa.array([NAN, None, 2.5])}
    folder = _shards(tmp_path / "shards", format, texts)
    if format == "csv":  # which has no numbers
        assert neardup.dedup(folder).summary["counts"]["empty"] == 2
        return
    where = "line 3: column 'text' is a number" if format == "jsonl" else "record 3: column 'text'"
    for command, do in COMMANDS.items():
        with pytest.raises(ColumnError, match=where) as caught:
            do(folder)
        assert f"b.{format}" in str(caught.value), command
    with pytest.raises(ColumnError, match=where):
        neardup.plan(folder)


def test_plan_warns(tmp_path: Path) -> None:
    texts = {"a": pa.array(TEXTS), "b": NOTHING["nan"]}
    plan = neardup.plan(_shards(tmp_path / "shards", "parquet", texts))
    assert next((w.kind, w.value) for w in plan.warnings) == ("empty", 3 / 9)


def test_fields_of_records(tmp_path: Path) -> None:
    found = []
    for format in FORMATS:
        for kind in NOTHING if format in ("parquet", "arrow") else ("null", "nan"):
            texts = {"a": pa.array(TEXTS), "b": NOTHING[kind]}
            folder = _shards(tmp_path / f"{format}-{kind}", format, texts)
            run = neardup.link(folder, fields=["text", "more"], id="id")
            assert run.notes[0] == "3 of 9 records have no value in any field"
            found.append(run.pairs.to_pylist())
    assert found[0] and found[1:] == found[:-1]


def test_numbers_and_strings_of_several_shards_have_no_nan(tmp_path: Path) -> None:
    texts = {"a": pa.array(TEXTS), "b": pa.array([NAN, None, 2.5])}
    folder = _shards(tmp_path / "shards", "parquet", texts)
    run = neardup.link(folder, fields=["text"], id="id")
    assert run.notes[0] == "2 of 9 records have no value in any field"


def test_several_text_columns_and_large_ones(tmp_path: Path) -> None:
    table = pa.table({"a": [NAN, NAN], "b": ["one two", None]})
    counts = neardup.dedup(table, text=["a", "b"]).summary["counts"]
    assert counts["documents"] == 2 and counts["empty"] == 1
    pq.write_table(pa.table({"text": [NAN, NAN]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": ["x" * 99, "y"]}), tmp_path / "b.parquet")
    run = neardup.dedup(tmp_path, skip_large=True, max_document=50)
    assert run.summary["counts"]["documents"] == 3 and run.summary["counts"]["skipped"] == 1


def test_many_shards_have_one_more_note(tmp_path: Path) -> None:
    texts = dict.fromkeys("bcdefg", NOTHING["null"]) | {"a": pa.array(TEXTS)}
    notes = neardup.dedup(_shards(tmp_path / "shards", "jsonl", texts)).summary["notes"]
    assert len(notes) == 4 and notes[-1] == "3 more files without any text"


def _frames() -> dict[str, Any]:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    return {
        "objects": pandas.DataFrame({"text": [None, None]}, dtype=object),
        "objects of NaN": pandas.DataFrame({"text": [NAN, NAN]}, dtype=object),
        "floats": pandas.DataFrame({"text": [NAN, NAN]}),
        "integers": pandas.DataFrame({"text": pandas.array([None, None], "Int64")}),
        "times": pandas.DataFrame({"text": [pandas.NaT, pandas.NaT]}),
        "series": pandas.Series([NAN, NAN]),
        "polars": polars.DataFrame({"text": [None, None]}),
        "polars floats": polars.DataFrame({"text": [NAN, NAN]}),
        "lazy": polars.LazyFrame({"text": [None, None]}),
        "array": pa.array([NAN, NAN]),
        "table": pa.table({"text": pa.nulls(2)}),
        "list": [None, NAN],
        "dict": {"text": [None, NAN]},
    }


def test_frames_without_texts() -> None:
    for name, frame in _frames().items():
        run = neardup.dedup(frame)
        counts = run.summary["counts"]
        assert (counts["documents"], counts["empty"]) == (2, 2), name
        assert run.summary["notes"] == ["none of the 2 documents has a text"], name
        with neardup.Index.create() as index:
            assert index.add(frame) == 2, name


def test_frames_with_some_texts() -> None:
    pandas = pytest.importorskip("pandas")
    values = ["one two", NAN, None]
    for frame in (
        {"text": values},
        {"text": np.array(values, dtype=object)},
        values,
        pandas.DataFrame({"text": [*values, pandas.NA]}, dtype=object).head(3),
    ):
        counts = neardup.dedup(frame).summary["counts"]
        assert (counts["documents"], counts["empty"]) == (3, 2)


def test_frames_with_numbers_are_refused_with_the_row() -> None:
    for frame, where in (
        ({"text": [NAN, 2.5]}, "record 2: column 'text' has the type double"),
        ({"text": ["SECRET", NAN, 2.5]}, "record 3: column 'text' has values of several types"),
        (pa.table({"text": [None, 1]}), "record 2: column 'text' has the type int64"),
        (["SECRET", NAN, 2.5], "record 3 is float"),
    ):
        with pytest.raises(InputError, match=where) as caught:
            neardup.dedup(frame)
        assert "SECRET" not in str(caught.value)
    with neardup.Index.create() as index, pytest.raises(InputError, match="text 2"):
        index.add(pa.array([NAN, 2.5]))


def test_baskets_without_items() -> None:
    for column in (pa.nulls(2), pa.array([NAN, NAN]), pa.nulls(2, pa.int64())):
        assert neardup.dedup(pa.table({"text": column}), shingle="item").summary["notes"]
    with pytest.raises(ColumnError, match=r"record 2: .* expected lists of strings"):
        neardup.dedup(pa.table({"text": [NAN, 2.0]}), shingle="item")


def test_columns_without_values_beside_others(tmp_path: Path) -> None:
    """Columns of the order, of types that have nothing in common."""
    values = [pa.array(["b", "a"]), pa.array([NAN, NAN]), pa.nulls(2), pa.nulls(2, pa.int8())]
    for number, more in enumerate(values):
        table = pa.table({"text": ["one two three", f"{number} four five"], "more": more})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    run = neardup.dedup(tmp_path, keep="min:more")
    assert run.keep_mask.tolist() == [True, True, False, True, False, True, False, True]
