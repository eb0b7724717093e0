"""The half of the matrix of engines that is on Spark; see `test_parity_matrix`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from spark_parts import NO_SPARK, spark_session

import parity_corpus as corpus
from neardup.errors import ColumnError, SpecError
from neardup.sketch.bands import recipe_for
from neardup.spec import Spec

pytestmark = pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)

#: Ids that Spark has no type for, with its error.
REFUSED_IDS = {"binary": "of type binary"}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session("local[2]") as session:
        yield session


def frame(spark: Any, rows: pa.Table) -> Any:
    """The rows as a DataFrame; what Spark has no type for becomes the nearest one."""
    kinds = {"id": "string", "text": "string", "quality": "bigint"}
    kind = rows.schema.field("id").type
    if pa.types.is_integer(kind):
        kinds["id"] = "decimal(20,0)" if kind == pa.uint64() else "bigint"
    elif pa.types.is_binary(kind):
        kinds["id"] = "binary"
    columns = rows.to_pydict()
    if "decimal" in kinds["id"]:
        from decimal import Decimal

        columns["id"] = [Decimal(value) for value in columns["id"]]
    schema = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    return spark.createDataFrame(list(zip(*columns.values(), strict=True)), schema)


def answer(run: Any) -> list[corpus.Row]:
    names = ("id", "kept", "duplicate_of", "similarity")
    return [tuple(row[name] for name in names) for row in run.clusters.orderBy("id").collect()]


def in_order(rows: list[corpus.Row]) -> list[corpus.Row]:
    return sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize(("kind", "keep"), corpus.CASES)
def test_spark(spark: Any, kind: str, keep: str) -> None:
    from neardup import spark as job

    df = frame(spark, rows := corpus.table(kind))
    if kind in REFUSED_IDS:
        with pytest.raises(ColumnError, match=REFUSED_IDS[kind]):
            job.dedup(df, keep=keep)
        return
    run = job.dedup(df, keep=keep)
    assert run.about["recipe"] == recipe_for(Spec()).as_dict()
    assert answer(run) == in_order(corpus.expected(rows, keep))


@pytest.mark.parametrize("keep", corpus.KEEPS)
def test_spark_against_an_old_corpus(spark: Any, keep: str) -> None:
    """All old documents stay, even those that are similar to each other."""
    from neardup import spark as job

    rows = corpus.table("int")
    half = rows.num_rows // 2
    old, batch = rows.slice(0, half), rows.slice(half)
    run = job.dedup(frame(spark, batch), against=frame(spark, old), keep=keep)
    assert answer(run) == in_order(corpus.expected(batch, keep, old))


@pytest.mark.parametrize("setting", [{"method": "allpairs"}, {"max_bucket": 9}, {"order_by": "a"}])
def test_what_spark_refuses(spark: Any, setting: dict[str, Any]) -> None:
    from neardup import spark as job

    (name,) = setting
    with pytest.raises(SpecError, match=f"`{name}` is .*, which is not for Spark"):
        job.dedup(frame(spark, corpus.table("int")), **setting)


def test_spark_lists_the_pair_of_each_answer(spark: Any) -> None:
    """Also where a bucket is so large that not all of its pairs are listed."""
    from neardup import spark as job

    rows = list(enumerate(corpus.template_texts(1300)))
    spec = Spec(threshold=0.8, num_bands=8, rows=3, cluster="components")
    run = job.dedup(spark.createDataFrame(rows, "id bigint, text string"), spec=spec)
    pairs = {(row["id_a"], row["id_b"]): row["similarity"] for row in run.edges.collect()}
    removed = run.clusters.where("not kept").collect()
    assert len(removed) > 100
    for row in removed:
        ends = sorted((row["id"], row["duplicate_of"]))
        assert pairs[tuple(ends)] == row["similarity"]
