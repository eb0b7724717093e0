"""``neardup.dedup`` takes what people hold their texts in, and says what is wrong with the rest."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import neardup
from common import SECRET, files_of, some_rows, write_lines
from neardup.deduplication.clock import Event
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

ROWS = some_rows()
TABLE = pa.Table.from_pylist(ROWS)
TEXTS = [row["text"] for row in ROWS]
EXPECTED = [i - (i % 3 == 2) for i in range(len(ROWS))]
KEPT = [row for i, row in enumerate(ROWS) if i % 3 != 2]


def a_dataset(folder: Path) -> Any:
    (folder / "parts").mkdir()
    for i in range(3):
        pq.write_table(TABLE.slice(10 * i, 10), folder / "parts" / f"{i}.parquet")
    return ds.dataset(folder / "parts")


def hugging_face(folder: Path) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(ROWS)


def pandas_frame(folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


def polars_frame(folder: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "path": lambda folder: write_lines(folder / "a.jsonl", ROWS),
    "name": lambda folder: str(write_lines(folder / "a.jsonl", ROWS)),
    "pattern": lambda folder: str(write_lines(folder / "a.jsonl", ROWS).with_name("*.jsonl")),
    "folder": lambda folder: write_lines(folder / "a.jsonl", ROWS).parent,
    "paths": lambda folder: [
        write_lines(folder / f"{i}.jsonl", ROWS[10 * i : 10 * i + 10]) for i in range(3)
    ],
    "table": lambda folder: TABLE,
    "batch": lambda folder: TABLE.to_batches()[0],
    "dict": lambda folder: TABLE.to_pydict(),
    "dataset": a_dataset,
    "pandas": pandas_frame,
    "polars": polars_frame,
    "lazy polars": lambda folder: polars_frame(folder).lazy(),
    "hugging face": hugging_face,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
def test_sources(name: str, tmp_path: Path) -> None:
    run = neardup.dedup(SOURCES[name](tmp_path), id="id")
    assert run.clusters["cluster"].to_pylist() == run.labels.tolist() == EXPECTED
    assert run.clusters["doc_id"].to_pylist() == [row["id"] for row in ROWS]
    assert run.keep_mask.tolist() == [i % 3 != 2 for i in range(len(ROWS))]
    assert run.clean("arrow").to_pylist() == KEPT
    out = tmp_path.with_name(f"{tmp_path.name}-out")  # not in the folder that was read
    again = run.save(out, format="parquet")
    assert pq.read_table(out / "clean").to_pylist() == KEPT
    assert again.clusters.equals(run.clusters)


def test_a_reader_is_read_once(tmp_path: Path) -> None:
    reader = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(7))
    run = neardup.dedup(reader, id="id", out=tmp_path / "out")
    assert run.labels.tolist() == EXPECTED


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["list", "pandas", "polars"])
def test_texts_alone(kind: str) -> None:
    series = {
        "list": lambda: TEXTS,
        "pandas": lambda: pandas_frame(Path())["text"],
        "polars": lambda: polars_frame(Path())["text"],
    }
    run = neardup.dedup(series[kind]())
    assert run.labels.tolist() == EXPECTED
    assert run.clusters["doc_id"].to_pylist() == list(range(len(ROWS)))
    assert run.clean("arrow").column_names == ["text"]
    kept = [text for i, text in enumerate(TEXTS) if i % 3 != 2]
    assert list(run.clean()["text"].to_pylist() if kind == "list" else run.clean()) == kept


def test_what_a_run_has(tmp_path: Path) -> None:
    run = neardup.dedup(TABLE, id="id", keep="longest", threshold=0.8, recall=0.95)
    folder = run.save(tmp_path / "out", annotate=True)
    for each in (run, folder, pickle.loads(pickle.dumps(folder)), neardup.open(tmp_path / "out")):
        assert len(each) == 30 and "30 documents, 20 kept, 10 removed" in repr(each)
        assert (each.spec.keep, each.spec.threshold, each.spec.recall) == ("longest", 0.8, 0.95)
        assert len(each.kept) == 20 and len(each.removed) == 10
        assert set(each.kept.tolist()).isdisjoint(each.removed.tolist())
        pairs = each.duplicates.to_pylist()
        assert [row["doc_id"] for row in pairs] == each.removed.tolist()
        assert all(row["similarity"] >= 0.8 for row in pairs)
        assert {row["duplicate_of"] for row in pairs} <= set(each.kept.tolist())
        assert each.edges is None
    assert run.path is None and folder.path == tmp_path / "out"
    assert "in " + str(tmp_path / "out") in repr(folder)
    written = json.loads((tmp_path / "out" / "run.json").read_text())
    assert written == folder.summary and written["counts"] == run.summary["counts"]
    assert len(pq.read_table(tmp_path / "out" / "clean")) == 30
    with pytest.raises(SpecError, match="stored in"):
        folder.save(tmp_path / "other")


def test_saved_twice(tmp_path: Path) -> None:
    run = neardup.dedup(TABLE, pairs="all")
    for name in ("one", "two"):
        run.save(tmp_path / name)
    one, two = files_of(tmp_path / "one"), files_of(tmp_path / "two")
    assert one.keys() == two.keys() >= {"edges.parquet", "clean/part-00000.parquet"}
    assert all(one[name] == two[name] for name in one if name != "run.json")
    with pytest.raises(OutputError, match="exists"):
        run.save(tmp_path / "two")


@pytest.mark.parametrize("name", ["table", "dict", "path", "paths", "dataset", "pandas", "polars"])
def test_a_run_in_memory_is_picklable(name: str, tmp_path: Path) -> None:
    source = SOURCES[name](tmp_path)
    run = neardup.dedup(source, id="id", pairs="all", progress=lambda event: None)
    again = pickle.loads(pickle.dumps(run))
    assert again.clusters.equals(run.clusters) and again.edges.equals(run.edges)
    assert again.clean("arrow").to_pylist() == KEPT
    assert type(again.clean()) is type(run.clean())
    assert again.explain("n2", "n1").as_dict() == run.explain("n2", "n1").as_dict()
    assert again.save(tmp_path / "out").summary["counts"] == run.summary["counts"]


def test_text_columns() -> None:
    table = {"a": ["one two three", "one two"], "b": ["four five", "three four five"]}
    assert neardup.dedup(table, text=["a", "b"]).labels.tolist() == [0, 0]
    assert neardup.dedup(table, text="a").labels.tolist() == [0, 1]


def test_settings_in_a_spec_and_besides(tmp_path: Path) -> None:
    spec = neardup.preset("records").replace(max_bucket=7, seed=3)
    asked = neardup.dedup(TEXTS, spec=spec, threshold=0.9, shingle="word:3").spec
    assert (asked.max_bucket, asked.seed, asked.threshold, asked.shingle.n) == (7, 3, 0.9, 3)
    clinical = neardup.dedup(TEXTS, preset="clinical", shingle="char:9").spec.shingle
    assert (clinical.unit, clinical.stem) == ("char", None)


def test_plan_takes_what_dedup_takes() -> None:
    found = neardup.plan(TABLE, id="id", threshold=0.8, keep="max:quality", recall=0.9)
    assert found.documents == 30 and found.exact
    assert found.predicted_recall >= 0.9
    clinical = neardup.plan(TABLE, preset="clinical", shingle="word:3", memory="4GB", threads=1)
    assert clinical.memory == 4_000_000_000 and clinical.threads == 1
    with pytest.raises(ColumnError, match="stars"):
        neardup.plan(TABLE, keep="max:stars")
    with pytest.raises(TypeError, match="plan\\(\\) has no argument 'tresholds'"):
        neardup.plan(TABLE, tresholds=0.8)  # type: ignore[call-arg]


def test_events() -> None:
    events: list[Event] = []
    neardup.dedup(TABLE, progress=events.append)
    stages = [event.stage for event in events if event.finished and not event.note]
    assert "read and sketch" in stages and "resolve" in stages
    for stage in set(stages):
        done = [event.done for event in events if event.stage == stage]
        assert done == sorted(done)


def test_progress_is_quiet_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    for progress in ("auto", False, None):
        neardup.dedup(TABLE, progress=progress)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_frame_with_an_index_leaves_no_false_one(tmp_path: Path) -> None:
    frame = pandas_frame(tmp_path)
    frame.to_parquet(tmp_path / "a.parquet")
    neardup.dedup(tmp_path / "a.parquet", out=tmp_path / "out")
    clean = type(frame).from_records(pq.read_table(tmp_path / "out" / "clean").to_pylist())
    assert list(clean.columns) == list(frame.columns) and len(clean) == 20
    kept = frame[neardup.dedup(frame).keep_mask]
    assert kept["id"].tolist() == [row["id"] for row in KEPT]


def test_a_polars_frame_with_views_and_categories(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "text": TEXTS,
            "tags": [["a", "b"], None, []] * 10,
            "kind": polars.Series(["x", "y", None] * 10, dtype=polars.Categorical),
            "raw": [b"\xff", b"", None] * 10,
            "pair": [{"a": "x", "b": 1}] * 30,
        }
    )
    run = neardup.dedup(frame)
    expected = [row for i, row in enumerate(frame.to_dicts()) if i % 3 != 2]
    assert run.clean("arrow").to_pylist() == run.clean().to_dicts() == expected
    run.save(tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "clean").to_pylist() == expected


@pytest.mark.parametrize(
    ("source", "options", "error", "says"),
    [
        ("nope.jsonl", {}, InputNotFoundError, "nope.jsonl: no such file"),
        (TABLE, {"text": "body"}, ColumnError, "no column 'body'; there are id, text"),
        (TABLE, {"text": "number"}, ColumnError, "'number' has the type int64"),
        (TABLE, {"text": 3}, SpecError, "`text` is 3"),
        (TABLE, {"text": ["text", 3]}, SpecError, "`text` is of type list; expected the name"),
        (TABLE, {"id": "body"}, ColumnError, "no column 'body'"),
        (TABLE, {"id": 3}, SpecError, "`id` is 3"),
        (TABLE, {"keep": "max:stars"}, ColumnError, "no column 'stars'"),
        (TABLE, {"keep": 3}, SpecError, "`keep` is 3"),
        (TABLE, {"order_by": "stars"}, ColumnError, "no column 'stars'"),
        (TABLE, {"threshold": "0.8"}, SpecError, "`threshold` is '0.8'"),
        (TABLE, {"threshold": 0.8, "spec": 0.8}, SpecError, "`spec` is of type float"),
        (TABLE, {"spec": neardup.Spec(), "preset": "web"}, SpecError, "both given"),
        (TABLE, {"preset": "legal"}, SpecError, "no preset 'legal'"),
        (TABLE, {"shingle": 3}, SpecError, "`shingle` is 3"),
        (TABLE, {"threads": 0}, SpecError, "`threads` is 0"),
        (TABLE, {"threads": "2"}, SpecError, "`threads` is '2'"),
        (TABLE, {"memory": "much"}, SpecError, "'much'"),
        (TABLE, {"memory": 10_000_000}, SpecError, "`memory` is 10 MB"),
        (TABLE, {"store": 3}, SpecError, "`store` is 3"),
        (TABLE, {"run": "r"}, SpecError, "a named run needs a store"),
        (TABLE, {"resume": True}, SpecError, "needs an output folder"),
        (TABLE, {"input_format": "csv"}, SpecError, "input_format"),
        (TABLE, {"encoding_errors": "skip"}, SpecError, "`encoding_errors` is 'skip'"),
        (pa.table({"text": [SECRET] * 2}), {"id": "text"}, DuplicateIdError, "record 2"),
        ({"id": [1, 1], "text": ["a", "b"]}, {"id": "id"}, DuplicateIdError, "the id 1 "),
        (7, {}, InputError, "int"),
        ([SECRET, 7], {}, InputError, "int"),
        (None, {}, InputError, "None"),
    ],
)
def test_what_is_refused(
    source: Any, options: dict[str, Any], error: type[NeardupError], says: str
) -> None:
    with pytest.raises(error) as caught:
        neardup.dedup(source, **options)
    assert says in str(caught.value)
    told = f"{caught.value} {caught.value.hint}"
    assert SECRET not in told and "--" not in told
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    assert (str(again), again.hint) == (str(caught.value), caught.value.hint)


def test_names_of_files_are_no_texts(tmp_path: Path) -> None:
    names = [str(write_lines(tmp_path / f"{i}.jsonl", ROWS[:1])) for i in range(2)]
    with pytest.raises(InputError) as caught:
        neardup.dedup(names)
    assert "names of files" in str(caught.value) and "Path" in caught.value.hint
    assert neardup.dedup([*names, "a text of its own"]).summary["counts"]["documents"] == 3


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("edge_threshold", "did you mean threshold?"),
        ("treshold", "did you mean threshold?"),
        ("encoding_error", "did you mean encoding_errors?"),
        ("max_bucket", "spec=neardup.Spec(max_bucket=...)"),
        ("num_bands", "spec=neardup.Spec(num_bands=...)"),
        ("nfkc", "shingle=neardup.ShingleSpec(nfkc=...)"),
        ("zzz", "known are annotate, boilerplate, clean, cluster"),
    ],
)
def test_unknown_arguments(name: str, hint: str) -> None:
    with pytest.raises(TypeError) as caught:
        neardup.dedup(TABLE, **{name: 1})
    assert isinstance(caught.value, SpecError)
    assert str(caught.value) == f"dedup() has no argument '{name}'"
    assert hint in caught.value.hint
    if hint.startswith("did"):
        with pytest.raises(SpecError, match="no setting"):
            neardup.Spec().replace(**{name: 1})


def test_unknown_arguments_of_methods() -> None:
    run = neardup.dedup(TEXTS)
    for method, name in {
        "audit": "samples",
        "explain": "text",
        "recluster": "edge_threshold",
    }.items():
        with pytest.raises(TypeError, match=f"{method}\\(\\) has no argument '{name}'") as caught:
            getattr(run, method)(**{name: 1})
        assert "did you mean" in caught.value.hint  # type: ignore[attr-defined]
    with pytest.raises(SpecError) as unknown:
        run.recluster(order_by="id")  # type: ignore[call-arg]
    assert "known are annotate" in unknown.value.hint and "self" not in unknown.value.hint


def test_another_frame_is_not_the_same_run(tmp_path: Path) -> None:
    neardup.dedup(TABLE, out=tmp_path / "out", resume=True)
    with pytest.raises(OutputError, match="complete, with other settings or inputs"):
        neardup.dedup(TABLE.slice(0, 9), out=tmp_path / "out", resume=True)


def test_nothing_to_resume_leaves_the_audit(tmp_path: Path) -> None:
    path, out = write_lines(tmp_path / "a.jsonl", ROWS), tmp_path / "out"
    neardup.dedup(path, out=out, keep_run=True).audit(sample=10)
    neardup.dedup(path, out=out, keep_run=True, resume=True)
    assert (out / "audit.json").exists()
    neardup.dedup(path, out=out, threshold=0.9, overwrite=True)
    assert not (out / "audit.json").exists()


def test_interrupted_between_renames_leaves_no_old_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = write_lines(tmp_path / "a.jsonl", ROWS), tmp_path / "out"
    neardup.dedup(path, out=out)

    from neardup.state.run_state import remove_path

    def fail(path: Path) -> None:
        if path.name == "clusters.parquet":
            raise KeyboardInterrupt
        remove_path(path)

    with monkeypatch.context() as patch:
        patch.setattr("neardup.state.output_folder._exchanged", lambda *_: False)
        patch.setattr("neardup.state.output_folder.remove_path", fail)
        with pytest.raises(KeyboardInterrupt):
            neardup.dedup(path, out=out, keep="longest", overwrite=True)
    assert not (out / "run.json").exists()
    assert neardup.dedup(path, out=out, keep="longest", resume=True).spec.keep == "longest"


def test_the_spec_of_a_run_is_what_was_given(tmp_path: Path) -> None:
    run = neardup.dedup(TABLE, preset="clinical", out=tmp_path / "out")
    assert run.spec == neardup.preset("clinical")
    assert neardup.dedup(TABLE, spec=run.spec, threshold=0.3).spec.threshold == 0.3


def test_a_traceback_shows_the_hint() -> None:
    with pytest.raises(SpecError) as caught:
        neardup.dedup(TABLE, treshold=0.8)
    error = caught.value
    for each in (error, pickle.loads(pickle.dumps(error))):
        shown = "".join(traceback.format_exception(each))
        assert shown.endswith("no argument 'treshold'\nhint: did you mean threshold?\n")
    error.hint = "another"
    assert "".join(traceback.format_exception(error)).endswith("\nhint: another\n")


def test_output_that_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="'xml'"):
        neardup.dedup(TABLE).save(tmp_path / "out", format="xml")
    neardup.dedup(TABLE, out=tmp_path / "earlier")
    with pytest.raises(OutputError) as caught:
        neardup.dedup(TABLE, out=tmp_path / "earlier")
    assert "exists" in str(caught.value) and "overwrite=True" in caught.value.hint
    assert not (tmp_path / "out").exists()


def test_errors_are_what_a_caller_would_catch() -> None:
    assert issubclass(SpecError, ValueError)
    assert issubclass(InputError, ValueError)
    assert issubclass(InputNotFoundError, FileNotFoundError)
    assert issubclass(ColumnError, KeyError)
    assert issubclass(OutputError, OSError)
    assert issubclass(DependencyError, ImportError)
    assert str(ColumnError("as it is")) == "as it is"  # a KeyError would put quotes around it


@pytest.mark.parametrize("pairs", ["kept", "all"])
def test_edges_of_equal_tokens(pairs: str) -> None:
    one = " ".join(f"w{i}" for i in range(40))
    two = one + " x"
    run = neardup.dedup([one, two, one.upper(), "other", two, one + "!"], pairs=pairs)
    near = pytest.approx(36 / 37)
    similarity = [None, near, 1.0, None, near, 1.0]
    assert run.clusters["similarity"].to_pylist() == similarity
    assert run.clusters["duplicate_of"].to_pylist() == [None, 0, 0, None, 0, 0]
    counts = run.summary["counts"]
    if run.edges is None:
        assert pairs == "kept" and "edges" not in counts
        return
    assert counts["edges"] == len(run.edges)
    found = {(e["doc_a"], e["doc_b"]): e["similarity"] for e in run.edges.to_pylist()}
    assert len(found) == len(run.edges)
    ones, twos = [0, 2, 5], [1, 4]
    expected: dict[tuple[int, int], Any] = {
        (min(a, b), max(a, b)): near for a in ones for b in twos
    }
    expected |= {(0, 2): 1.0, (0, 5): 1.0, (2, 5): 1.0, (1, 4): 1.0}
    assert found == expected
    grouped = run.recluster(cluster="components", pairs="kept")
    # An exact copy of a removed document has an edge to the kept one, too.
    assert grouped.summary["counts"]["edges"] == len(grouped.edges or ()) == 5
    assert "edges" not in run.recluster(pairs="kept").summary["counts"]
