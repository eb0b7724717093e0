"""What belongs together and is larger than a task: resolved in rounds, in keep order."""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.errors import SpecError
from neardup.spark import steps
from neardup.spark.tasks import order_of
from neardup.spec import Spec

#: Each range is compared with all later ones: a thousand are half a million comparisons.
_MOST_RANGES = 1_000


def sizes_of(candidates: DataFrame, spec: Spec, task_bytes: int) -> tuple[int, int, list[int]]:
    """Return the documents, the bytes of their shingle sets, and roots too large for a task.

    Raises:
        SpecError: There are some, and pairs are to be listed, for which a task needs all of them.
    """
    size = f.sum(f.col("shingles").cast("long")) * 8
    groups = candidates.groupBy("root").agg(f.count("*").alias("count"), size.alias("size"))
    roots = f.collect_list(f.when(f.col("size") > task_bytes, f.col("root")))
    found: Any = groups.agg(f.sum("count"), f.sum("size"), roots, f.max("size")).first()
    documents, total, large, largest = found
    if large and spec.enumerates:
        raise SpecError(
            f"documents that may be connected have {largest:,} bytes of shingle sets, which one "
            f"task needs to list their pairs; `task_bytes` is {task_bytes:,}",
            "raise `task_bytes` and the memory of executors, or use the clustering star",
        )
    return documents or 0, total or 0, large


def compare_large(
    candidates: DataFrame,
    sets: DataFrame,
    spec: Spec,
    task_bytes: int,
    stage: Callable[..., DataFrame],
) -> DataFrame:
    """Compare candidates, of which no task holds more than a range and what is kept of another.

    Ranges of the keep order take turns. In its round a range is resolved by itself; then what is
    kept of it removes documents from each of the later ranges.

    Args:
        candidates: Of large roots, see `neardup.spark.candidates`.
        sets: Their shingle sets.
        spec: What is asked for; pairs are not listed.
        task_bytes: Bytes of shingle sets that a task may hold.
        stage: See `neardup.spark.checks.Checkpoint`.

    Raises:
        SpecError: These would be too many rounds.
    """
    size = candidates.agg(f.sum(f.col("shingles").cast("long")) * 8).first()[0]
    ranges = -(-5 * size // (2 * task_bytes))  # a task holds two, which are not of one size
    if ranges > _MOST_RANGES:
        raise SpecError(
            f"documents that may be connected have {size:,} bytes of shingle sets, which are "
            f"{ranges:,} ranges of two fifths of `task_bytes`; expected {_MOST_RANGES:,} or fewer",
            "raise `task_bytes` and the memory of executors, or `documents`, for more rows",
        )
    order = [f.desc("old")] if "old" in candidates.columns else []
    for name, way in order_of(spec):
        if dict(candidates.dtypes)[name] in ("float", "double"):
            # NaN is between numbers and null, as for Arrow; for Spark it is the largest number.
            order.append(f.when(f.col(name).isNull(), 2).otherwise(f.isnan(name).cast("int")))
        order.append(f.desc_nulls_last(name) if way == "descending" else f.asc_nulls_last(name))
    cut = candidates.repartitionByRange(ranges, *order).withColumn("range", f.spark_partition_id())
    rows = stage(
        "ranges", lambda: cut.drop("root", "shingles").join(sets.select("id", "set"), "id")
    )
    last = rows.agg(f.max("range")).first()[0]
    found: list[DataFrame] = []

    def alive(rows: DataFrame) -> DataFrame:
        """Leave out what is removed already."""
        if not found:
            return rows
        removed = [some.where("other is not null").select("id") for some in found]
        return rows.join(f.broadcast(reduce(DataFrame.unionByName, removed)), "id", "left_anti")

    def own(turn: int) -> DataFrame:
        some = alive(rows.where(f.col("range") == turn))
        return steps.solved(some.withColumn("root", f.lit(turn).cast("long")), spec, 1)

    def later(turn: int) -> DataFrame:
        some = alive(rows.where(f.col("range") >= turn))
        others = f.sequence(f.lit(turn + 1).cast("long"), f.lit(last).cast("long"))
        kept = some.where(f.col("range") == turn).withColumn("root", f.explode(others))
        rest = some.where(f.col("range") > turn).withColumn("root", f.col("range").cast("long"))
        rest = rest.where("not old") if "old" in rest.columns else rest
        both = kept.withColumn("earlier", f.lit(True)).unionByName(
            rest.withColumn("earlier", f.lit(False))
        )
        return steps.solved(both, spec, last + 1)

    for turn in range(last + 1):
        found.append(stage(f"round-{turn}", partial(own, turn), True))
        if turn < last:
            found.append(stage(f"round-{turn}-later", partial(later, turn), True))
    return reduce(DataFrame.unionByName, found)
