"""What goes in as a frame comes out as one, and a frame does all that files do."""

from __future__ import annotations

import datetime
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup
from neardup.errors import ColumnError, InputError, OutputError, SpecError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

WORDS = [f"note {i // 2} has these seven words of its own {i // 2}" for i in range(12)]
ODD = [datetime.date(2020, 1, 1), {1}] * 6


def pandas_frame() -> Any:
    return pd.DataFrame(
        {
            "key": range(100, 112),
            "text": WORDS,
            "ward": pd.Categorical(["a", "b"] * 6),
            "count": pd.array([1, None] * 6, dtype="Int64"),
            "when": pd.date_range("2020", periods=12, tz="Europe/Berlin"),
            "mixed": [1, "a"] * 6,
            "odd": ODD,
        },
        index=pd.Index([f"r{i}" for i in range(12)], name="row"),
    )


@pytest.mark.parametrize("pickled", [False, True])
def test_pandas(pickled: bool) -> None:
    frame = pandas_frame()
    run = neardup.dedup(frame, id="key")
    run = pickle.loads(pickle.dumps(run)) if pickled else run
    expected = frame.iloc[::2]
    pd.testing.assert_frame_equal(run.clean(), expected)
    pd.testing.assert_frame_equal(run.clean("pandas"), expected)
    pd.testing.assert_series_equal(neardup.dedup(frame["text"]).clean(), expected["text"])
    found = run.to_pandas()
    assert found.index.equals(frame.index)
    assert (found["doc_id"].dtype, found["duplicate_of"].dtype) == ("int64", "Int64")
    assert found["duplicate_of"].dropna().tolist() == expected["key"].tolist()
    assert run.to_pandas("duplicates")["doc_id"].tolist() == frame["key"].iloc[1::2].tolist()


@pytest.mark.parametrize("lazy", [False, True])
def test_polars(lazy: bool) -> None:
    frame = pl.DataFrame(
        {"text": WORDS, "ward": pl.Series(["a", "b"] * 6, dtype=pl.Enum(["a", "b"]))}
    )
    run = neardup.dedup(frame.lazy() if lazy else frame)
    assert run.clean().equals(frame[::2]) and run.clean().schema == frame.schema
    assert run.clean("polars")["text"].to_list() == WORDS[::2]
    assert neardup.dedup(frame["text"]).clean().to_list() == WORDS[::2]
    assert run.to_polars().columns == run.clusters.column_names
    objects = frame.with_columns(o=pl.Series([object()] * 12, dtype=pl.Object))
    assert neardup.dedup(objects).clean().shape == (6, 3)


def test_kinds() -> None:
    run = neardup.dedup({"text": WORDS, "n": [*range(12)]})
    assert isinstance(run.clean(), pa.Table) and run.clean().equals(run.clean("arrow"))
    assert (
        run.clean("pandas")["n"].tolist()
        == run.clean("polars")["n"].to_list()
        == [*range(0, 12, 2)]
    )
    for wrong in (lambda: run.clean("list"), lambda: run.to_pandas("stars")):  # type: ignore
        with pytest.raises(SpecError, match="expected"):
            wrong()
    with pytest.raises(SpecError, match="pairs were not listed"):
        run.to_polars("edges")
    assert neardup.dedup(WORDS, pairs="all").to_pandas("edges").shape == (6, 5)


def test_clusters_are_in_the_order_of_the_input() -> None:
    rank = [*range(12)][::-1]
    frame = pd.DataFrame({"text": WORDS, "rank": rank}, index=rank)
    run = neardup.dedup(frame, order_by="rank")
    found = run.to_pandas()
    assert found.index.tolist() == rank and found["kept"].tolist() == run.keep_mask.tolist()
    assert found["doc"].tolist() == rank
    assert run.clean()["rank"].tolist() == rank[1::2]


def test_columns_that_cannot_be_written(tmp_path: Path) -> None:
    """They stop what writes them, and nothing else."""
    frame = pandas_frame()
    run = neardup.dedup(frame)
    assert run.clean()["odd"].tolist() == ODD[::2]
    assert run.recluster(threshold=0.9).clean().shape == (6, 7)
    for write in (
        lambda: run.save(tmp_path / "out"),
        lambda: run.clean("polars"),
        lambda: neardup.dedup(frame, out=tmp_path / "out"),
        lambda: neardup.dedup(frame, id="odd"),
        lambda: neardup.dedup({"text": WORDS, "odd": ODD}).clean(),
    ):
        with pytest.raises(ColumnError, match="column 'odd' has values of several types"):
            write()
    assert neardup.dedup(frame, out=tmp_path / "none", clean=False).clean().shape == (6, 7)


def test_a_frame_does_what_files_do(tmp_path: Path) -> None:
    frame = pandas_frame().drop(columns="odd")
    with pytest.warns(UserWarning, match="several types are written as strings: 'mixed'"):
        run = neardup.dedup(frame, id="key", out=tmp_path / "out")
    frame = frame.drop(columns="mixed")
    run = neardup.dedup(frame, id="key", out=tmp_path / "out", overwrite=True)
    saved = neardup.dedup(frame, id="key").save(tmp_path / "saved")
    for each in (run, saved, pickle.loads(pickle.dumps(run))):
        assert each.path is not None
        pd.testing.assert_frame_equal(each.clean(), frame.iloc[::2])
        assert each.explain(101).texts == tuple(WORDS[:2])
        assert each.audit(sample=12).recall == 1.0
        assert len(each.recluster(threshold=0.99, pairs="all").edges or ()) == 6
        assert each.recluster(tmp_path / "again", overwrite=True).path == tmp_path / "again"
        assert WORDS[0] in each.report(tmp_path / "r.html", overwrite=True).read_text()
    # Another process has the tables and the clean corpus, and not the frame.
    later = neardup.open(tmp_path / "out")
    assert later.clean("pandas")["key"].tolist() == frame["key"].iloc[::2].tolist()
    assert neardup.against(frame, later, id="key").summary["counts"]["kept"] == 0
    assert len(neardup.Index.from_run(later)) == 6
    with pytest.raises(InputError, match="was a frame") as caught:
        later.explain(101)
    assert "neardup.open(folder, source=frame)" in caught.value.hint
    given = neardup.open(tmp_path / "out", source=frame)
    pd.testing.assert_frame_equal(given.clean(), frame.iloc[::2])
    assert given.explain(101).texts == tuple(WORDS[:2])
    assert neardup.open(tmp_path / "out", source=pl.from_pandas(frame)).clean().height == 6
    for other in (frame.iloc[::-1], frame.iloc[:5], frame.assign(key=range(12))):
        with pytest.raises(InputError, match="has other texts, ids or rows"):
            neardup.open(tmp_path / "out", source=other)


def test_files_that_were_moved_are_given_again(tmp_path: Path) -> None:
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    pd.DataFrame({"text": WORDS}).to_csv(before, index=False)
    neardup.dedup(before, out=tmp_path / "out")
    before.rename(after)
    assert neardup.open(tmp_path / "out", source=after).explain(1).texts == tuple(WORDS[:2])


def test_an_input_is_given_to_runs_of_dedup_only(tmp_path: Path) -> None:
    neardup.Index.create(tmp_path / "index").close()
    neardup.against(WORDS, WORDS[:2], out=tmp_path / "against", progress=False)
    for folder in (tmp_path / "index", tmp_path / "against"):
        with pytest.raises(SpecError, match="`source` is for runs of neardup dedup"):
            neardup.open(folder, source=WORDS)


@pytest.mark.parametrize("kind", ["pandas", "polars", "list", "iterator", "arrow"])
def test_nothing_gives_a_run_of_nothing(kind: str, tmp_path: Path) -> None:
    frame: Any = pd.DataFrame({"text": pd.Series([], dtype=str), "key": pd.Series([], dtype=int)})
    made = {"polars": pl.from_pandas(frame), "list": [], "iterator": iter([])}
    made |= {"pandas": frame, "arrow": pa.Table.from_pandas(frame)}
    run = neardup.dedup(made[kind], pairs="all")
    assert (len(run), len(run.clean()), len(run.keep_mask), len(run.to_pandas())) == (0, 0, 0, 0)
    assert "0 of 0 documents" in run._repr_html_() and len(run.recluster(threshold=0.9)) == 0
    saved = run.save(tmp_path / "out")
    assert len(saved.clean()) == len(neardup.open(tmp_path / "out").clean()) == 0
    assert neardup.against(["a b"], run).keep_mask.tolist() == [True]


def test_nothing_has_the_types_of_the_frame() -> None:
    frame = pd.DataFrame({"text": pd.Series([], dtype=str), "key": pd.Series([], dtype=int)})
    run = neardup.dedup(frame, id="key", keep="max:key", order_by="key", cluster="bounded")
    assert run.clusters.schema.field("doc_id").type == pa.int64()
    assert list(run.clean().columns) == ["text", "key"]
    assert "the input has no documents" in str(neardup.plan(frame))


def test_a_text_of_several_types_is_refused() -> None:
    with pytest.raises(ColumnError, match="such as int; expected strings"):
        neardup.dedup(pd.DataFrame({"text": ["a", 1, None]}))


def test_a_column_of_categories_is_noticed() -> None:
    run = neardup.dedup(["a category"] * 15 + ["another"] * 15)
    assert "93.3 %" in str(run) and "--boilerplate N" in run._repr_html_()
    assert "--boilerplate" not in str(neardup.dedup(["one text"] * 15))


def test_an_evaluation_prints_its_text() -> None:
    found = neardup.dedup(WORDS).evaluate([(0, 1)])
    assert "pairs within clusters" in str(found) and "<pre>" in found._repr_html_()
    assert found["truth"]["pairs"] == 1
    with pytest.raises(SpecError, match="expected two") as caught:
        neardup.dedup(WORDS).evaluate([(0, 1)], columns=["a", "b", "duplicate"], kind="judged")
    assert "needs no name" in caught.value.hint


@pytest.mark.parametrize("ids", [[*range(50, 62)], [f"r{i}" for i in range(12)]])
def test_ids_are_found_by_frames(ids: list[Any]) -> None:
    frame = pd.DataFrame({"text": WORDS, "key": ids})
    run = neardup.dedup(frame, id="key")
    assert run.clean().equals(frame[~frame.key.isin(run.removed)])
    assert run.clean().equals(frame[frame.key.isin(run.kept)])
    assert frame.set_index("key").drop(run.removed).index.tolist() == ids[::2]
    assert ids[1] in run.removed and (frame.key == run.removed[0]).sum() == 1
    assert pl.Series(ids).is_in(run.removed).sum() == 6


@pytest.mark.parametrize("name", [None, "odd ix"])
@pytest.mark.parametrize("mixed", [False, True])
def test_any_index(name: str | None, mixed: bool) -> None:
    labels = pd.Index([0, "r", (1, 2)] * 4, dtype=object, name=name)
    frame = pd.DataFrame({"text": WORDS, "n": [1, "a"] * 6 if mixed else 1}, index=labels)
    run = neardup.dedup(frame)
    pd.testing.assert_frame_equal(run.clean(), frame[run.keep_mask])
    assert run.clean("arrow").column_names == ["text", "n", *filter(None, [name])]


@pytest.mark.parametrize("start", [0, 7])
def test_an_index_with_a_name_is_a_column(start: int) -> None:
    frame = pd.DataFrame({"text": WORDS}, index=pd.RangeIndex(start, start + 12, name="key"))
    assert neardup.dedup(frame, id="key").removed.tolist() == [*range(start + 1, start + 12, 2)]


def test_names_of_columns_of_a_frame() -> None:
    frame = pd.DataFrame({"My Note": WORDS, "x" * 41: 1})
    with pytest.raises(ColumnError, match="there are 'My Note', column 2") as caught:
        neardup.dedup(frame, text="my note")
    assert caught.value.hint.startswith("did you mean 'My Note'?")
    with pytest.raises(ColumnError, match="'a' is the name of two columns"):
        neardup.dedup(pd.DataFrame([["x", "y"]], columns=["a", "a"]), text="a")


@pytest.mark.parametrize(
    ("ids", "hint"),
    [
        (pd.date_range("2024", periods=12, tz="UTC"), ".astype(str)"),
        (pd.to_timedelta(range(12)), ".astype(str)"),
        ([*map(float, range(11)), None], ".astype('Int64')"),
    ],
)
def test_ids_that_would_come_out_as_something_else(ids: Any, hint: str) -> None:
    with pytest.raises(ColumnError, match="can't be an id") as caught:
        neardup.dedup(pd.DataFrame({"text": WORDS, "key": ids}), id="key")
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", ["res.csv", "report.pdf"])
def test_arguments_that_mean_something_else(tmp_path: Path, name: str) -> None:
    run = neardup.dedup(WORDS)
    with pytest.raises(OutputError, match="a file of another kind; expected") as wrong:
        (run.save if name == "res.csv" else run.report)(tmp_path / name)
    assert wrong.value.hint and not any(tmp_path.iterdir())
    with pytest.raises(TypeError, match=r"`out` is 0\.5; expected a path") as caught:
        run.recluster(0.5)  # type: ignore[arg-type]
    assert "threshold=" in caught.value.hint  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore::neardup.RecallWarning")
def test_sketches_in_memory_are_used_again() -> None:
    run = neardup.dedup(WORDS, threshold=0.5, pairs="all")
    again = run.recluster(threshold=0.9)
    assert again.summary["recluster"] == {"run": "the run", "used": "sketches"}
    assert again.recluster(keep="longest").summary["recluster"]["used"] == "input"
    assert (
        pickle.loads(pickle.dumps(again))
        .recluster(threshold=0.6)
        .clusters.equals(run.recluster(threshold=0.6).clusters)
    )


def test_a_frame_of_another_length_is_noticed() -> None:
    frame = pd.DataFrame({"text": WORDS})
    run = neardup.dedup(frame)
    frame.drop(index=[0], inplace=True)
    with pytest.raises(InputError, match="another length"):
        run.clean()
    assert run.clean("arrow").num_rows == 6


def test_signatures_show_types_and_defaults() -> None:
    shown = str(inspect.signature(neardup.dedup))
    for part in (
        *("threshold: float = 0.7", "recall: float = 0.99", "preset: str = 'web'"),
        *("shingle: str | ShingleSpec = 'word:5'", "keep: str = 'first'", "-> DedupRun"),
    ):
        assert part in shown
    assert neardup.dedup(WORDS, preset="clinical").spec == neardup.preset("clinical")
    assert neardup.dedup(WORDS, preset="clinical", threshold=0.7, recall=0.99).spec.threshold == 0.7
    spec = neardup.Spec(threshold=0.4, keep="longest")
    assert neardup.dedup(WORDS, spec=spec).spec == spec
    assert neardup.dedup(WORDS, spec=spec, keep="first").spec.keep == "first"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"clean": "no"}, "`clean` is 'no'; expected True or False"),
        ({"threshold": True}, "`threshold` is True; expected a number"),
        ({"threads": 1.5}, "`threads` is 1.5; expected an integer"),
        ({"progress": 3}, "`progress` is 3; expected 'auto', True, False or a function"),
        (
            {"format": "csv"},
            "`format` needs an output folder",
        ),
    ],
)
def test_wrong_types(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError) as caught:
        neardup.dedup(WORDS, **options)
    assert str(caught.value) == says
    assert neardup.dedup(WORDS, threshold=np.float64(0.9)).spec.threshold == 0.9


def test_positions_that_are_not_there() -> None:
    with pytest.raises(TypeError, match=r"dedup\(\): too many positional") as caught:
        neardup.dedup(WORDS, "text")  # type: ignore[misc]
    assert "text=" in caught.value.hint  # type: ignore[attr-defined]
    with pytest.raises(SpecError, match="no preset") as wrong:
        neardup.dedup(WORDS, preset="clinicl")
    assert wrong.value.hint == "did you mean clinical?"


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_a_column_of_arrow_is_a_list_of_texts(kind: Any) -> None:
    expected = neardup.dedup(WORDS)
    column = pa.array(WORDS).cast(kind)
    for source in (column, pa.chunked_array([column.slice(0, 5), column.slice(5)])):
        run = neardup.dedup(source)
        assert run.clusters.equals(expected.clusters)
        assert run.clean("arrow").column("text").to_pylist() == WORDS[::2]


def test_a_report_in_a_comprehension_and_in_a_function_without_a_name(tmp_path: Path) -> None:
    run = neardup.dedup(WORDS)
    names = [tmp_path / f"{k}.html" for k in range(2)]
    written = [run.report(name, max_items=k + 1) for k, name in enumerate(names)]
    written += map(lambda name: run.report(name, overwrite=True), names)  # noqa: C417
    assert written == names * 2
