"""What is ignored is part of the recipe: Spark finds what it does without it."""

from __future__ import annotations

from typing import Any

import pytest
from spark_parts import NO_SPARK, spark_session

import parity_corpus as corpus


@pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)
def test_spark() -> None:
    from neardup.spark.spark_job import dedup

    rows = corpus.table("int")
    columns: Any = corpus.noisy(rows).select(["id", "text"]).to_pydict()
    with spark_session("local[2]") as session:
        frame = session.createDataFrame(
            list(zip(*columns.values(), strict=True)), "id bigint, text string"
        )
        run = dedup(frame, id="id", spec=corpus.ignoring())
        names = ("id", "kept", "duplicate_of", "similarity")
        found = [tuple(r[n] for n in names) for r in run.clusters.orderBy("id").collect()]
    assert found == corpus.expected(rows)
