"""``neardup.dedup`` takes what people hold their texts in, and says what is wrong with the rest."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import neardup
from common import SECRET, some_rows, write_lines
from neardup.errors import (
    ColumnError,
    DependencyError,
    DuplicateIdError,
    InputError,
    InputNotFoundError,
    NeardupError,
    OutputError,
    SpecError,
)
from neardup.run.events import Event
from neardup.spec import Spec

ROWS = some_rows()
TABLE = pa.Table.from_pylist(ROWS)
EXPECTED = [i - (i % 3 == 2) for i in range(len(ROWS))]


def a_path(folder: Path) -> Any:
    return write_lines(folder / "a.jsonl", ROWS)


def a_name(folder: Path) -> Any:
    return str(a_path(folder))


def a_pattern(folder: Path) -> Any:
    return str(a_path(folder).with_name("*.jsonl"))


def a_folder(folder: Path) -> Any:
    return a_path(folder).parent


def paths(folder: Path) -> Any:
    return [write_lines(folder / f"{i}.jsonl", ROWS[10 * i : 10 * i + 10]) for i in range(3)]


def a_table(folder: Path) -> Any:
    return TABLE


def a_batch(folder: Path) -> Any:
    return TABLE.to_batches()[0]


def a_reader(folder: Path) -> Any:
    return pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(7))


def a_dataset(folder: Path) -> Any:
    (folder / "parts").mkdir()
    for i in range(3):
        pq.write_table(TABLE.slice(10 * i, 10), folder / "parts" / f"{i}.parquet")
    return ds.dataset(folder / "parts")


def pandas_frame(folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


def polars_frame(folder: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS)


def hugging_face(folder: Path) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(ROWS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "source",
    [
        a_path,
        a_name,
        a_pattern,
        a_folder,
        paths,
        a_table,
        a_batch,
        a_reader,
        a_dataset,
        pandas_frame,
        polars_frame,
        hugging_face,
    ],
)
def test_sources(source: Callable[[Path], Any], tmp_path: Path) -> None:
    result = neardup.dedup(source(tmp_path), id="id")
    assert result.clusters["cluster"].to_pylist() == EXPECTED
    assert result.clusters["doc_id"].to_pylist() == [row["id"] for row in ROWS]
    assert len(result.edges) == 10
    assert result.clean().to_pylist() == [row for i, row in enumerate(ROWS) if i % 3 != 2]
    result.write(tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "clean.parquet").to_pylist() == (
        result.clean().to_pylist()
    )


def test_a_list_of_strings() -> None:
    result = neardup.dedup([row["text"] for row in ROWS])
    assert result.clusters["cluster"].to_pylist() == EXPECTED
    assert result.clusters["doc_id"].to_pylist() == list(range(len(ROWS)))
    assert result.clean().column_names == ["text"]
    assert result.summary["counts"]["removed"] == 10


def test_summary_is_what_run_json_holds(tmp_path: Path) -> None:
    result = neardup.dedup(TABLE, id="id", spec=Spec(keep="longest"))
    written = result.write(tmp_path / "out", format="csv")
    assert json.loads((tmp_path / "out" / "run.json").read_text()) == written
    assert result.summary["counts"] == written["counts"]
    assert result.summary["spec"]["keep"] == "longest"


def test_written_twice(tmp_path: Path) -> None:
    result = neardup.dedup(TABLE)
    result.write(tmp_path / "one")
    result.write(tmp_path / "two")
    for name in ("clusters.parquet", "edges.parquet", "clean.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    with pytest.raises(OutputError, match="exists"):
        result.write(tmp_path / "two")


def test_text_columns() -> None:
    table = pa.table({"a": ["one two three", "one two"], "b": ["four five", "three four five"]})
    assert neardup.dedup(table, text=["a", "b"]).clusters["cluster"].to_pylist() == [0, 0]
    assert neardup.dedup(table, text="a").clusters["cluster"].to_pylist() == [0, 1]


def test_events() -> None:
    events: list[Event] = []
    neardup.dedup(TABLE, on_event=events.append)
    stages = [e.stage for e in events if e.finished and not e.note]
    assert stages[-1] == "keep" and "read and sign" in stages
    for stage in set(stages):
        done = [e.done for e in events if e.stage == stage]
        assert done == sorted(done)


def test_a_frame_with_an_index_leaves_no_false_one(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    frame.to_parquet(tmp_path / "a.parquet")
    neardup.dedup(tmp_path / "a.parquet").write(tmp_path / "out")
    clean = pandas.read_parquet(tmp_path / "out" / "clean.parquet")
    assert list(clean.index) == list(range(20))
    assert list(clean.columns) == list(frame.columns)


def test_a_polars_frame_with_views_and_categories(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "text": [row["text"] for row in ROWS],
            "tags": [["a", "b"], None, []] * 10,
            "kind": polars.Series(["x", "y", None] * 10, dtype=polars.Categorical),
            "raw": [b"\xff", b"", None] * 10,
            "pair": [{"a": "x", "b": 1}] * 30,
        }
    )
    result = neardup.dedup(frame)
    expected = [row for i, row in enumerate(frame.to_dicts()) if i % 3 != 2]
    assert result.clean().to_pylist() == expected
    for format in ("parquet", "jsonl", "csv"):
        result.write(tmp_path / format, format=format)
    assert pq.read_table(tmp_path / "parquet" / "clean.parquet").to_pylist() == expected


@pytest.mark.parametrize(
    ("source", "options", "error", "says"),
    [
        ("nope.jsonl", {}, InputNotFoundError, "nope.jsonl: no such file"),
        (TABLE, {"text": "body"}, ColumnError, "no column 'body'; there are id, text"),
        (TABLE, {"text": "number"}, ColumnError, "'number' holds int64"),
        (TABLE, {"id": "body"}, ColumnError, "no column 'body'"),
        (TABLE, {"threads": 0}, SpecError, "threads is 0"),
        (TABLE, {"input_format": "csv"}, SpecError, "files only"),
        (TABLE, {"encoding_errors": "skip"}, SpecError, "encoding_errors is 'skip'"),
        (pa.table({"text": [SECRET] * 2}), {"id": "text"}, DuplicateIdError, "record 2"),
        (pa.table({"id": [1, 1], "text": "ab"}), {"id": "id"}, DuplicateIdError, "the id 1 "),
        ([], {}, InputError, "no input"),
        (TABLE.slice(0, 0), {}, InputError, "no documents"),
        (7, {}, InputError, "int"),
        ([SECRET, 7], {}, InputError, "record 2 is int"),
        ({"text": [SECRET]}, {}, InputError, "mapping"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_what_is_refused(
    source: Any, options: dict[str, Any], error: type[NeardupError], says: str
) -> None:
    if isinstance(source, pa.Table) and source.column_names == ["id", "text"]:
        source = pa.table({"id": [1, 1], "text": ["a", "b"]})
    with pytest.raises(error) as caught:
        neardup.dedup(source, **options)
    assert says in str(caught.value)
    assert SECRET not in f"{caught.value} {caught.value.hint}"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.hint) == (error, str(caught.value), caught.value.hint)


@pytest.mark.parametrize("setting", [{"format": "xml"}, {"compression": "rar"}], ids=str)
def test_output_that_is_refused(setting: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"'(xml|rar)'"):
        neardup.dedup(TABLE).write(tmp_path / "out", **setting)
    assert not (tmp_path / "out").exists()


def test_errors_are_what_a_caller_would_catch() -> None:
    assert issubclass(SpecError, ValueError)
    assert issubclass(InputError, ValueError)
    assert issubclass(InputNotFoundError, FileNotFoundError)
    assert issubclass(ColumnError, KeyError)
    assert issubclass(OutputError, OSError)
    assert issubclass(DependencyError, ImportError)
    assert str(ColumnError("as it is")) == "as it is"  # a KeyError would put quotes around it


@pytest.mark.parametrize("every", [False, True])
def test_edges_of_exact_duplicates(every: bool) -> None:
    one = " ".join(f"w{i}" for i in range(40))
    two = one + " x"
    texts = [one, two, one.upper(), "other", two, one + "!"]
    result = neardup.dedup(texts, spec=Spec(pairs="all" if every else "collapsed"))
    table = result.edges
    found = {(e["doc_a"], e["doc_b"]): e["similarity"] for e in table.to_pylist()}
    assert len(found) == len(table)
    near = pytest.approx(36 / 37)
    if not every:
        assert found == {(0, 1): near, (0, 2): 1.0, (0, 5): 1.0, (1, 4): 1.0}
        return
    ones, twos = [0, 2, 5], [1, 4]
    expected = {(min(a, b), max(a, b)): near for a in ones for b in twos}
    expected |= {(0, 2): 1.0, (0, 5): 1.0, (2, 5): 1.0, (1, 4): 1.0}
    assert found == expected
