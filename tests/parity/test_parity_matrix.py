"""Each engine finds what the definition says, with default settings; or says what it can't do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from engine_answers import answer_of

import neardup
from neardup.errors import RecipeError
from neardup.recipe import Recipe
from neardup.sketch.bands import recipe_for
from neardup.spec import ShingleSpec, Spec
from neardup.testing import EngineAnswer, EngineContract
from neardup.testing import small_corpora as corpora
from neardup.testing.engine_contract import check

#: Ids that an index refuses, with its error.
REFUSED_IDS = {"large uint64": "an integer of 64 bits", "binary": "type bytes can't be used"}


class TestIndex(EngineContract):
    """Batches of any size, and it is opened again between some of them."""

    seeds = 20
    refused = {"keep": corpora.KEEPS[1:], "order_by": corpora.ORDERS, "max_bucket": (9,)}
    refused_ids = REFUSED_IDS

    def answer(self, documents: pa.Table, spec: Spec, folder: Path) -> EngineAnswer:
        neardup.Index.create(folder / "index", spec=spec).close()
        tables, low = list[pa.Table](), 0
        while low < documents.num_rows:
            with neardup.Index.open(folder / "index", durable="process") as index:
                assert index.recipe == recipe_for(spec)
                for size in (1, 1, 7, 7, 1, 100):
                    batch = documents.slice(low, size)
                    tables.append(index.add_if_new(batch, id="id"))
                    low += size
        found = pa.concat_tables(tables)
        assert found["id"].to_pylist() == documents["id"].to_pylist()
        return EngineAnswer(found)


@pytest.mark.parametrize(("kind", "keep"), corpora.CASES)
def test_against_a_run(kind: str, keep: str) -> None:
    """What the old run kept stays; of the batch, the keep rule of the run decides."""
    rows = corpora.similar_texts(kind)
    half = rows.num_rows // 2
    before, batch = rows.slice(0, half), rows.slice(half)
    old = neardup.dedup(before, id="id", keep=keep)
    stays = before.filter(pa.array(old.keep_mask.tolist()))
    run = neardup.against(batch, old, id="id")
    check(answer_of(run), batch, old.spec, stays)
    types = run.clusters.schema
    assert types.field("duplicate_of").type == types.field("doc_id").type
    names = set(before.column("id").to_pylist())
    in_old = run.clusters.column("in_old").to_pylist()
    found = run.clusters.column("duplicate_of").to_pylist()
    assert in_old == [of in names for of in found] and any(in_old)
    if keep == "first":  # that of one run over both
        both = neardup.dedup(rows, id="id").clusters.column("duplicate_of")
        assert found == both.to_pylist()[half:]


@pytest.mark.parametrize("kind", [kind for kind in corpora.IDS if kind not in REFUSED_IDS])
def test_against_an_index(kind: str) -> None:
    rows = corpora.similar_texts(kind)
    half = rows.num_rows // 2
    before, batch = rows.slice(0, half), rows.slice(half)
    index = neardup.Index.create()
    kept = index.add_if_new(before, id="id").column("kept")
    run = neardup.against(batch, index, id="id")
    check(answer_of(run), batch, Spec(), before.filter(kept))


def test_the_order_of_an_old_run_is_that_of_the_batch() -> None:
    rows = corpora.similar_texts("int")
    half = rows.num_rows // 2
    old = neardup.dedup(rows.slice(0, half), id="id", spec=Spec(order_by="quality"))
    batch = rows.slice(half)
    run = neardup.against(batch, old, id="id")
    # The lowest quality is the first one.
    stays = rows.filter(pc.is_in(rows.column("id"), value_set=pa.array(old.kept)))
    check(answer_of(run), batch, old.spec, stays)


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
    rows = corpora.similar_texts("int")
    run = neardup.dedup(rows, id="id", threshold=0.55, recall=0.9)
    index = neardup.Index.create(recipe=run.recipe)
    assert index.spec.threshold == 0.55 and index.recipe == run.recipe
    check(EngineAnswer(index.add_if_new(rows, id="id")), rows, index.spec)
    check(answer_of(run), rows, index.spec)
    again = neardup.Index.create(recipe=index.recipe)
    assert again.spec.threshold == 0.55
    stored = Recipe.from_dict(run.summary["recipe"])
    assert stored == run.recipe and stored.digest == run.recipe.digest
    with pytest.raises(RecipeError, match="does not say for which threshold"):
        neardup.Index.create(recipe=stored)
    assert neardup.Index.create(recipe=stored, threshold=0.6, recall=0.9).spec.threshold == 0.6
