"""`within`: only documents with the same value of a column are compared."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import made_corpora
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from killing import outputs

import neardup
from common import write_lines
from neardup import Spec
from neardup.errors import ColumnError, RecipeError, SpecError, StoreError
from neardup.spec import METHODS
from neardup.testing import small_corpora

NO_GROUPS = r"column 'group' has .* (which form no groups|which can't be compared)"
SAME = "one and the same text of seven words"


def kept(values: Any, **how: Any) -> list[bool]:
    """Which of some equal texts are kept, whose groups are these."""
    column = values if isinstance(values, pa.Array) else pa.array(values)
    table = pa.table({"text": [SAME] * len(column), "group": column})
    return [bool(k) for k in neardup.dedup(table, within="group", **how).keep_mask]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return small_corpora.random_documents(np.random.default_rng(31), 400)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", ["frame", "jsonl", "csv", "parquet"])
def test_each_group_by_itself(
    rows: pa.Table, method: str, threads: int, how: str, tmp_path: Path
) -> None:
    """The result is that of a run over each group, and of documents without one as they are."""
    spec = Spec(method=method, threshold=0.4, pairs="all").replace(n=2)
    expected: dict[str, Any] = {}
    edges: set[tuple[str, str, float]] = set()
    for value in ("a", "b", "7"):
        part = neardup.dedup(rows.filter(pc.equal(rows["group"], value)), id="id", spec=spec)
        for row in part.clusters.to_pylist():
            expected[row["doc_id"]] = row["duplicate_of"], row["similarity"]
        assert part.edges is not None
        edges |= {(r["id_a"], r["id_b"], r["similarity"]) for r in part.edges.to_pylist()}
    assert sum(of is not None for of, _ in expected.values()) > 60
    source: Any = rows
    if how != "frame":
        source = made_corpora.write(rows, tmp_path / "in", how, 3)
    run = neardup.dedup(
        source, id="id", spec=spec, within="group", threads=threads, out=tmp_path / "out"
    )
    for row in run.clusters.to_pylist():
        of = expected.get(row["doc_id"], (None, None))
        assert (row["duplicate_of"], row["similarity"]) == of
    assert run.edges is not None
    found = {(r["id_a"], r["id_b"], r["similarity"]) for r in run.edges.to_pylist()}
    assert {(*sorted((a, b)), s) for a, b, s in found} == {
        (*sorted((a, b)), s) for a, b, s in edges
    }
    none = int(
        pc.sum(pc.is_null(rows["group"])).as_py() + pc.sum(pc.equal(rows["group"], "")).as_py()
    )
    assert run.summary["counts"]["without_group"] == none
    assert f"{none} documents have no group; those without are compared with none" in run.notes


@pytest.mark.parametrize("keep_case", [False, True])
def test_a_group_is_no_word(keep_case: bool) -> None:
    """The value of one document that is the text of another one makes them no copies."""
    table = pa.table({"text": ["beta", "alpha"], "group": ["alpha", "beta"]})
    for method in METHODS:
        spec = Spec(method=method).replace(n=1, keep_case=keep_case)
        assert all(neardup.dedup(table, spec=spec, within="group").keep_mask)


def test_values() -> None:
    day, time = datetime.date(2024, 5, 1), datetime.datetime(2024, 5, 1, 10, 30)
    assert kept([7, 7, 8, None]) == [True, False, True, True]
    assert kept(["a", "A", "a ", "", "", None]) == [True] * 6
    assert kept([True, False, True]) == [True, True, False]
    assert kept([day, day, None]) == [True, False, True]
    assert kept([time, time]) == [True, False]
    assert kept(pa.array(["a", "a", None]).dictionary_encode()) == [True, False, True]
    assert kept(pa.array([float("nan"), None])) == [True, True]
    assert kept(pa.nulls(2)) == [True, True]


def test_values_of_several_files(tmp_path: Path) -> None:
    """Integers, dates and truth values are compared by their text, in whatever file they are."""

    def write(number: int, value: Any, kind: pa.DataType) -> None:
        table = pa.table({"text": [SAME], "group": pa.array([value], kind)})
        pq.write_table(table, tmp_path / f"{number}.parquet")

    write(0, 7, pa.int64())
    write(1, "7", pa.string())
    write(2, "007", pa.string())
    write(3, 7, pa.int16())
    write(4, None, pa.null())
    run = neardup.dedup(tmp_path, within="group")
    assert [bool(k) for k in run.keep_mask] == [True, False, True, False, True]
    lines = write_lines(tmp_path / "x.jsonl", [{"text": SAME, "group": 7}, {"text": SAME}])
    table = pa.table({"text": [SAME], "group": ["7"]})
    pacsv.write_csv(table, tmp_path / "y.csv")
    run = neardup.dedup([lines, tmp_path / "y.csv"], within="group")
    assert [bool(k) for k in run.keep_mask] == [True, True, False]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.0, 2.0]),
        pa.array([1.5, None]),
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, None]),
        pa.array([b"a", b"b"]),
    ],
)
def test_values_that_form_no_groups(values: pa.Array[Any]) -> None:
    with pytest.raises(ColumnError, match=NO_GROUPS):
        kept(values)
    table = pa.table({"text": [SAME] * 2, "group": values})
    with pytest.raises(ColumnError, match=NO_GROUPS):
        neardup.passages(table, within="group")


def test_a_column_that_a_file_lacks(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"text": SAME, "group": "a"}])
    pq.write_table(pa.table({"text": [SAME]}), tmp_path / "b.parquet")
    with pytest.raises(ColumnError, match="group"):
        neardup.dedup(tmp_path, within="group")
    with pytest.raises(ColumnError, match="group"):
        neardup.dedup(pa.table({"text": [SAME]}), within="group")
    with pytest.raises(SpecError, match="`within`"):
        neardup.dedup([SAME], within="")


def test_an_old_corpus(tmp_path: Path) -> None:
    new = pa.table({"text": [SAME] * 3, "group": ["a", "b", None]})
    old = pa.table({"text": [SAME], "group": ["b"]})
    run = neardup.against(new, old, within="group")
    assert [bool(k) for k in run.keep_mask] == [True, False, True]
    assert "1 document has no group; those without are compared with none" in run.notes
    with pytest.raises(ColumnError, match="group"):
        neardup.against(new, old.drop(["group"]), within="group")
    before = neardup.dedup(old, within="group")
    run = neardup.against(new, before)
    assert [bool(k) for k in run.keep_mask] == [True, False, True]
    with pytest.raises(ColumnError, match="group"):
        neardup.against(new.drop(["group"]), before)
    with pytest.raises(SpecError, match="`within` does not apply"):
        neardup.against(new, before, within="group")


def test_it_is_in_the_recipe(tmp_path: Path) -> None:
    one, two = (neardup.dedup([SAME], spec=Spec()).recipe, neardup.Recipe(within="group"))
    assert one.digest != two.digest
    assert neardup.Recipe.from_dict(two.as_dict()) == two
    path = write_lines(tmp_path / "x.jsonl", [{"text": SAME, "group": "a"}] * 3)
    store = {"store": f"sqlite:{tmp_path / 'keys'}", "run": "x"}
    neardup.sketch_corpus(path, **store)
    with pytest.raises((RecipeError, StoreError), match="within"):
        neardup.dedup(path, within="group", out=tmp_path / "out", **store)
    store["store"] = f"sqlite:{tmp_path / 'others'}"
    neardup.sketch_corpus(path, within="group", **store)
    run = neardup.dedup(path, within="group", out=tmp_path / "out", **store)
    assert run.summary["counts"]["removed"] == 2


@pytest.fixture
def run(rows: pa.Table, tmp_path: Path) -> neardup.DedupRun:
    path = made_corpora.write(rows, tmp_path / "in", "jsonl", 2)
    how: dict[str, Any] = {"within": "group", "threshold": 0.4, "shingle": "word:2"}
    return neardup.dedup(path, id="id", out=tmp_path / "out", **how)


def test_questions(run: neardup.DedupRun, rows: pa.Table) -> None:
    found = run.audit(sample=400)
    assert found.wrong_removed == 0
    assert found.recall == 1.0 or found.recall_high > 0.9
    groups = dict(zip(rows["id"].to_pylist(), rows["group"].to_pylist(), strict=True))
    for pair in [*found.missed, *found.kept_pairs]:
        assert groups[pair["doc_id_a"]] == groups[pair["doc_id_b"]]
    texts = rows["text"].to_pylist()
    ids = rows["id"].to_pylist()
    equal = [
        (ids[i], ids[j])
        for i in range(len(ids))
        for j in range(i)
        if texts[i] and len(texts[i]) > 9 and texts[i] == texts[j]
    ]
    apart = next((a, b) for a, b in equal if groups[a] and groups[b] and groups[a] != groups[b])
    why = run.explain(*apart)
    assert why.comparison is not None
    assert why.comparison.similarity == 1.0
    assert not why.comparison.duplicates
    assert "not compared: their groups differ, or one has none" in str(why)
    none = next(id for id in ids if not groups[id])
    assert "has no value in the column of the groups" in run.explain(none).why
    removed = run.clusters.filter(pc.invert(run.clusters["kept"])).slice(0, 1).to_pylist()[0]
    pair = run.explain(removed["doc_id"], removed["duplicate_of"])
    assert pair.comparison is not None
    assert pair.comparison.duplicates
    truth = [list(apart), [removed["doc_id"], removed["duplicate_of"]]]
    scores = run.evaluate(pa.table({"a": [t[0] for t in truth], "b": [t[1] for t in truth]}))
    assert scores["clusters"]["pairwise"]["true"] == 1


def test_reclustered(run: neardup.DedupRun, rows: pa.Table, tmp_path: Path) -> None:
    other = {"threshold": 0.6, "cluster": "components"}
    again = run.recluster(**other)
    recipe = {"num_bands": run.recipe.num_bands, "rows": run.recipe.rows}
    spec = Spec(within="group", threshold=0.6, cluster="components", **recipe).replace(n=2)
    first = neardup.dedup(rows, id="id", spec=spec)
    assert again.clusters["duplicate_of"].equals(first.clusters["duplicate_of"])
    assert again.clusters["cluster"].equals(first.clusters["cluster"])


def test_resumed(rows: pa.Table, tmp_path: Path) -> None:
    """A run that was interrupted after the first pass ends with the same bytes."""
    path = made_corpora.write(rows, tmp_path / "in", "jsonl", 3)
    how: dict[str, Any] = {"id": "id", "within": "group"}
    neardup.dedup(path, out=tmp_path / "one", **how)

    def stop(event: Any) -> None:
        if event.stage == "shingle sets":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        neardup.dedup(path, out=tmp_path / "two", progress=stop, **how)
    neardup.dedup(path, out=tmp_path / "two", resume=True, **how)
    assert outputs(tmp_path / "one") == outputs(tmp_path / "two")


def test_a_plan(rows: pa.Table) -> None:
    spec = Spec(threshold=0.4).replace(n=2)
    every, apart = neardup.plan(rows, spec=spec), neardup.plan(rows, spec=spec, within="group")
    run = neardup.dedup(rows, spec=spec, within="group")
    counts = run.summary["counts"]
    different = 400 - counts["empty"] - counts["without_group"] - counts["equal_tokens"]
    near = (counts["removed"] - counts["equal_tokens"]) / different
    assert apart.near_duplicates.share == pytest.approx(near)
    assert every.equal_tokens.share > apart.equal_tokens.share


def test_the_record(run: neardup.DedupRun) -> None:
    assert run.path is not None
    record = json.loads((run.path / "run.json").read_text())
    assert record["spec"]["within"] == record["recipe"]["within"] == "group"
