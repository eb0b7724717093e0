"""The half of the matrix of engines that is on Spark; see `test_parity_matrix`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark_parts import NO_SPARK

from neardup.sketch.bands import recipe_for
from neardup.spec import Spec
from neardup.testing import EngineAnswer, EngineContract
from neardup.testing.small_corpora import ORDERS, template_texts

pytestmark = pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)


def frame(spark: Any, rows: pa.Table) -> Any:
    """The rows as a DataFrame; what Spark has no type for becomes the nearest one."""
    types = {pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string"}
    kinds = {field.name: types.get(field.type, "bigint") for field in rows.schema}
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


class TestSpark(EngineContract):
    """Few random corpora: a job takes seconds, however small it is."""

    seeds = 6
    ordered_by_id = True
    refused = {"method": ("allpairs",), "max_bucket": (9,), "order_by": ORDERS}
    refused |= {"cluster": ("disjoint-sets",)}
    refused_ids = {"binary": "of type binary"}  # for which Spark has no type

    @pytest.fixture(autouse=True)
    def with_session(self, spark: Any) -> None:
        self.spark = spark

    def answer(self, documents: pa.Table, spec: Spec, folder: Path) -> EngineAnswer:
        return self._answer(documents, spec)

    def answer_after(
        self, old: pa.Table, documents: pa.Table, spec: Spec, folder: Path
    ) -> EngineAnswer:
        return self._answer(documents, spec, against=frame(self.spark, old))

    def _answer(self, documents: pa.Table, spec: Spec, **how: Any) -> EngineAnswer:
        from neardup import spark as job

        run = job.dedup(frame(self.spark, documents), spec=spec, **how)
        assert run.about["recipe"] == recipe_for(spec).as_dict()
        edges = None if run.edges is None else run.edges.toArrow()
        return EngineAnswer(run.clusters.toArrow(), edges)


def test_spark_lists_the_pair_of_each_answer(spark: Any) -> None:
    """Also where a bucket is so large that not all of its pairs are listed."""
    from neardup import spark as job

    rows = list(enumerate(template_texts(1300)))
    spec = Spec(threshold=0.8, num_bands=8, rows=3, cluster="components")
    run = job.dedup(spark.createDataFrame(rows, "id bigint, text string"), spec=spec)
    pairs = {(row["id_a"], row["id_b"]): row["similarity"] for row in run.edges.collect()}
    removed = run.clusters.where("not kept").collect()
    assert len(removed) > 100
    for row in removed:
        ends = sorted((row["id"], row["duplicate_of"]))
        assert pairs[tuple(ends)] == row["similarity"]
