"""Each engine finds what the definition says, with default settings; or says what it can't do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import neardup
import parity_corpus as corpus
from neardup.errors import InputError, RecipeError, SpecError
from neardup.recipe import Recipe
from neardup.sketch.bands import recipe_for
from neardup.spec import ShingleSpec, Spec

#: Ids that an index refuses, with its error.
REFUSED_IDS = {"large uint64": "an integer of 64 bits", "binary": "type bytes can't be used"}


@pytest.mark.parametrize(("kind", "keep"), corpus.CASES)
def test_batch(kind: str, keep: str, tmp_path: Path) -> None:
    rows = corpus.table(kind)
    expected = corpus.expected(rows, keep)
    assert sum(not kept for _, kept, _, _ in expected) > 100
    run = neardup.dedup(rows, id="id", keep=keep)
    assert run.recipe == recipe_for(Spec())
    assert corpus.found(run.clusters) == expected
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=50)
    least = neardup.plan(tmp_path / "rows.parquet", id="id", threads=1).memory_minimum
    settings: dict[str, dict[str, Any]] = {
        "one": {"threads": 1, "memory": least + 10**6},
        "eight": {"threads": 8},
    }
    for name, more in settings.items():
        run = neardup.dedup(
            tmp_path / "rows.parquet", id="id", keep=keep, out=tmp_path / name, **more
        )
        assert corpus.found(run.clusters) == expected, name


@pytest.mark.parametrize(
    ("kind", "size"), [("int", 1), ("hex", 1000), *((kind, 7) for kind in corpus.IDS)]
)
def test_index(kind: str, size: int, tmp_path: Path) -> None:
    """Batches of any size, and it is opened again between two of them."""
    rows = corpus.table(kind)
    neardup.Index.create(tmp_path / "index").close()
    if kind in REFUSED_IDS:
        with (
            neardup.Index.open(tmp_path / "index") as index,
            pytest.raises(InputError, match=REFUSED_IDS[kind]),
        ):
            index.add_if_new(rows, id="id")
        return
    answers: list[corpus.Row] = []
    index = neardup.Index.open(tmp_path / "index", durable="process")
    assert index.recipe == recipe_for(Spec())
    for low in range(0, rows.num_rows, size):
        if low and low % (90 * size) == 0:
            index.close()
            index = neardup.Index.open(tmp_path / "index", durable="process")
        answers += corpus.found(index.add_if_new(rows.slice(low, size), id="id"), ("id",))
    assert answers == corpus.expected(rows)
    index.close()


@pytest.mark.parametrize(
    "setting",
    [{"keep": keep} for keep in corpus.KEEPS[1:]] + [{"order_by": "a"}, {"max_bucket": 9}],
)
def test_what_an_index_refuses(setting: dict[str, Any]) -> None:
    (name,) = setting
    with pytest.raises(SpecError, match=f"`{name}` is .*, which is not for an index"):
        neardup.Index.create(spec=Spec(**setting))


@pytest.mark.parametrize(("kind", "keep"), corpus.CASES)
def test_against_a_run(kind: str, keep: str) -> None:
    """What the old run kept stays; of the batch, the keep rule of the run decides."""
    rows = corpus.table(kind)
    half = rows.num_rows // 2
    before, batch = rows.slice(0, half), rows.slice(half)
    old = neardup.dedup(before, id="id", keep=keep)
    stays = before.filter(pa.array(old.keep_mask.tolist()))
    expected = corpus.expected(batch, keep, stays)
    run = neardup.against(batch, old, id="id")
    assert corpus.found(run.clusters) == expected
    types = run.clusters.schema
    assert types.field("duplicate_of").type == types.field("doc_id").type
    names = set(before.column("id").to_pylist())
    in_old = run.clusters.column("in_old").to_pylist()
    assert in_old == [of in names for _, _, of, _ in expected] and any(in_old)
    if keep == "first":  # what one run over both says
        assert expected == corpus.expected(rows)[half:]


@pytest.mark.parametrize("kind", [kind for kind in corpus.IDS if kind not in REFUSED_IDS])
def test_against_an_index(kind: str) -> None:
    rows = corpus.table(kind)
    half = rows.num_rows // 2
    index = neardup.Index.create()
    index.add_if_new(rows.slice(0, half), id="id")
    run = neardup.against(rows.slice(half), index, id="id")
    assert corpus.found(run.clusters) == corpus.expected(rows)[half:]


def test_the_order_of_an_old_run_is_that_of_the_batch() -> None:
    rows = corpus.table("int")
    half = rows.num_rows // 2
    old = neardup.dedup(rows.slice(0, half), id="id", spec=Spec(order_by="quality"))
    batch = rows.slice(half)
    run = neardup.against(batch, old, id="id")
    # The lowest quality is the first one.
    stays = rows.filter(pc.is_in(rows.column("id"), value_set=pa.array(old.kept)))
    assert corpus.found(run.clusters) == corpus.expected(batch, "min:quality", stays)


def test_the_limit_of_an_old_run_is_for_the_batch() -> None:
    """With one kept document a bucket, the third text is not compared with the second one."""
    spec = Spec(max_bucket=1, method="allpairs", threshold=0.5, shingle=ShingleSpec(n=1))
    old = neardup.dedup(["z"], spec=spec)
    texts = ["a b c d e f", "a b 1 2 3 4 5 6 7 8", "a b 1 2 3 4 5 6 7 8 9"]
    found = [
        neardup.against(texts, against).keep_mask.tolist()
        for against in (old, neardup.Index.from_run(old))
    ]
    alone = neardup.dedup(texts, spec=spec).keep_mask.tolist()
    assert found[0] == alone and found[1] == [True, True, False]


def test_ids_of_two_types() -> None:
    """Where those of the old corpus are of another type, both are written in one that has all."""
    known, other = "one two three four five six seven", "eight nine ten eleven twelve thirteen"
    large = 2**63
    cases: list[tuple[list[Any], Any, Any, Any, list[Any]]] = [
        ([large, large + 1, large + 2], pa.uint64(), 5, pa.int64(), [5, large + 1]),
        ([large, large + 1, large + 2], pa.uint64(), -5, pa.int64(), ["-5", str(large + 1)]),
        ([1, 2, 3], pa.uint64(), -5, pa.int64(), [-5, 2]),
        ([1, 2, 3], pa.int64(), "a", pa.string(), ["a", "2"]),
        ([b"x", b"y", b"z"], pa.binary(), 7, pa.int64(), [b"7", b"y"]),
        (["x", "y", "z"], pa.string(), b"\xff", pa.binary(), [b"\xff", b"y"]),
    ]
    for own, own_type, of_old, old_type, named in cases:
        old = neardup.dedup(
            pa.table({"id": pa.array([of_old], old_type), "text": [known]}), id="id"
        )
        rows = pa.table({"id": pa.array(own, own_type), "text": [known, other, other]})
        found = neardup.against(rows, old, id="id").clusters.column("duplicate_of")
        assert found.to_pylist() == [named[0], None, named[1]]


def test_a_run_hands_over_its_threshold() -> None:
    """A stream with the recipe of a run decides as the run does."""
    rows = corpus.table("int")
    run = neardup.dedup(rows, id="id", threshold=0.55, recall=0.9)
    index = neardup.Index.create(recipe=run.recipe)
    assert index.spec.threshold == 0.55 and index.recipe == run.recipe
    assert corpus.found(index.add_if_new(rows, id="id"), ("id",)) == corpus.found(run.clusters)
    again = neardup.Index.create(recipe=index.recipe)
    assert again.spec.threshold == 0.55
    stored = Recipe.from_dict(run.summary["recipe"])
    assert stored == run.recipe and stored.digest == run.recipe.digest
    with pytest.raises(RecipeError, match="does not say for which threshold"):
        neardup.Index.create(recipe=stored)
    assert neardup.Index.create(recipe=stored, threshold=0.6, recall=0.9).spec.threshold == 0.6
