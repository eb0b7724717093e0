"""On Spark ids and columns of `keep` have the order of one machine, or are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ordered_values import COLUMNS, expected_order
from spark_parts import NO_SPARK, expected, found

from neardup.errors import ColumnError
from neardup.spec import Spec

pytestmark = pytest.mark.skipif(bool(NO_SPARK), reason=NO_SPARK)


def test_numbers_as_text_are_ordered_as_one_machine_does(spark: Any) -> None:
    from neardup.spark import checks

    long, longer = str(2**63 - 1), "1" + "0" * 37
    cases = {
        "bigint": [["5", "-5", "0", "999999999999999999", long]],
        "decimal(38,0)": [["1", str(2**63)], [longer, "5"]],
        "string": [["5\n"], ["007", "012"], ["1.5", "1.5 "], ["0x10", "0x9"], ["9" * 39]],
    }
    for kind, many in cases.items():
        for ids in many:
            rows = spark.createDataFrame([(id,) for id in ids], "id string")
            assert checks.check_ids(rows, "id").type == kind, ids
    for ids in (["1.5", "10"], ["7", "012"], ["-0"], ["1e3"], ["1", "9" * 39]):
        rows = spark.createDataFrame([(id,) for id in ids], "id string")
        with pytest.raises(ColumnError, match="'id' contains numbers as text, with fractions"):
            checks.check_ids(rows, "id")


@pytest.mark.parametrize("name", COLUMNS)
def test_values_have_the_order_of_one_machine(spark: Any, name: str) -> None:
    """Both in a task, by Arrow, and in ranges of all rows, by Spark."""
    from neardup.spark import spark_ordering as ordering
    from neardup.spark import workers

    column = COLUMNS[name]
    rows = pa.table({"id": range(len(column.values)), "q": column.values})
    df = spark.createDataFrame(rows)
    if not column.spark:
        with pytest.raises(ColumnError, match="'q' contains numbers as text that Spark can't"):
            ordering.ordered_by(df, "q")
        return
    df = df.select("id", ordering.ordered_by(df, "q").alias("best")).repartition(1)
    (batch,) = df.toArrow().combine_chunks().to_batches()
    for descending in (True, False):
        spec = Spec(keep=f"{'max' if descending else 'min'}:q")
        wanted = expected_order(column, descending)
        assert workers.in_order(batch, spec)["id"].to_pylist() == wanted
        ordered = df.orderBy(*ordering.keep_order(df, spec))
        assert [row["id"] for row in ordered.select("id").collect()] == wanted


@pytest.mark.parametrize(
    ("ids", "keep"),
    [
        ([hex(n) for n in range(60)], "first"),
        (pa.array([2**63 + n for n in range(60)], pa.uint64()), "first"),
        ([str(10**20 + n * n) for n in range(60)], "max:q"),
        ([f"{n:03}" for n in range(60)], "min:q"),
    ],
    ids=["hex", "uint64", "beyond 64 bits", "zeros"],
)
def test_ids_and_numbers_of_any_form(spark: Any, ids: Any, keep: str, tmp_path: Path) -> None:
    """Similar notes in groups of six, with ids and values that are not in the order of texts."""
    from neardup.spark import dedup

    rng = np.random.default_rng(11)
    texts = [" ".join(f"g{n % 10}w{k}" for k in range(40)) + f" own{n}" for n in range(60)]
    values = [str(12345678901234567890 + n) for n in rng.permutation(60).tolist()]
    table = pa.table({"id": ids, "text": texts, "q": values}).take(rng.permutation(60))
    pq.write_table(table, tmp_path / "a.parquet")
    run = dedup(spark.read.parquet(str(tmp_path / "a.parquet")), keep=keep)
    clusters, _ = found(run)
    assert clusters == expected(table, Spec(keep=keep))[0]
    assert sum(row[2] for row in clusters) == 10
