"""Candidates that are larger than a task: resolved in rounds, one for each range of keep order."""

import warnings
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from neardup.spark import steps
from neardup.spark.spark_ordering import keep_order
from neardup.spec import Spec
from neardup.tuning import TUNING

#: See `neardup.spark.checkpoint.Checkpoint.stage`.
Stage = Callable[..., DataFrame]
#: Slices of the keep order for each range, which is a few of them: documents differ in size.
_SLICES = 8


class _RoundAnswers:
    """Answers of all rounds, in a few tables: each of a level is about 16 of the level below."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._levels: list[list[DataFrame]] = [[]]
        self._merged = 0

    def add(self, table: DataFrame) -> None:
        self._levels[0].append(table)
        for level, tables in enumerate(self._levels):
            if len(tables) < TUNING.joined_tables:
                break
            self._merged += 1
            name, union = f"rounds-{self._merged}", partial(reduce, DataFrame.unionByName, tables)
            if level + 1 == len(self._levels):
                self._levels.append([])
            self._levels[level + 1].append(self._stage(name, union, True))
            self._levels[level] = []

    @property
    def tables(self) -> list[DataFrame]:
        return [table for level in self._levels for table in level]

    def alive(self, rows: DataFrame) -> DataFrame:
        """Leave out documents that are removed."""
        removed = [table.where("other is not null").select("id") for table in self.tables]
        if not removed:
            return rows
        ids = reduce(DataFrame.unionByName, removed)
        return rows.join(f.broadcast(ids), "id", "left_anti")


def compare_large(
    candidates: DataFrame, sets: DataFrame, spec: Spec, task_bytes: int, stage: Stage
) -> DataFrame:
    """Compare candidates of large roots; a task has a range in memory and kept rows of another.

    In its round a range is resolved by itself; then its kept documents remove others from each
    of the later ranges, one task for each. ``task_bytes`` is of shingle sets.
    """
    rows, last = _ranges(candidates, sets, spec, task_bytes, stage)
    if last > TUNING.many_ranges:
        warnings.warn(
            f"documents that may be connected are {last + 1:,} ranges, which takes {2 * last:,} "
            f"jobs and {last * (last + 1) // 2:,} comparisons of two ranges; more `task_bytes` and "
            "memory of executors, or `documents`, for more rows, make them fewer",
            stacklevel=5,
        )
    roots = one_per_partition(candidates.sparkSession, last + 1)
    found = _RoundAnswers(stage)

    def resolve(turn: int) -> DataFrame:
        within = found.alive(rows.where(f.col("range") == turn))
        within = within.withColumn("root", f.lit(turn).cast("long"))
        return steps.solved(within, spec, 1, task_bytes)

    def later(turn: int) -> DataFrame:
        left = found.alive(rows.where(f.col("range") >= turn))
        others = f.explode(f.sequence(f.lit(turn + 1), f.lit(last)))
        kept = left.where(f.col("range") == turn).withColumn("with", others)
        rest = left.where(f.col("range") > turn).withColumn("with", f.col("range"))
        rest = rest.where("not old") if "old" in rest.columns else rest
        both = kept.unionByName(rest).withColumn("earlier", f.col("range") == turn)
        both = both.withColumn("root", _nth(roots, f.col("with"))).drop("with")
        return steps.solved(both, spec, last + 1, task_bytes)

    for turn in range(last + 1):
        found.add(stage(f"round-{turn}", partial(resolve, turn), True))
        if turn < last:
            found.add(stage(f"round-{turn}-later", partial(later, turn), True))
    return reduce(DataFrame.unionByName, found.tables)


def _ranges(
    candidates: DataFrame, sets: DataFrame, spec: Spec, task_bytes: int, stage: Stage
) -> tuple[DataFrame, int]:
    """Return candidates with their sets and the number of their ``range``, and the last number.

    The sets of a range have two fifths of ``task_bytes`` at most, if no slice of it has more: a
    task has two of them, with what belongs to them.
    """
    most = max(1, 2 * task_bytes // 5)
    size = candidates.agg(f.sum("shingles") * 8).first()[0]
    slices = candidates.repartitionByRange(
        _SLICES * -(-size // most), *keep_order(candidates, spec)
    ).withColumn("slice", f.spark_partition_id())
    cut = stage("slices", lambda: slices)
    sizes = cut.groupBy("slice").agg(f.sum("shingles") * 8).collect()
    bytes_of = np.zeros(max(row[0] for row in sizes) + 1, np.int64)
    for slice, bytes in sizes:
        bytes_of[slice] = bytes
    numbers: list[int] = []
    filled = 0
    for bytes in bytes_of.tolist():
        new = filled + bytes > most and filled > 0
        numbers.append(numbers[-1] + new if numbers else 0)
        filled = bytes if new else filled + bytes
    ranged = cut.withColumn("range", _nth(numbers, f.col("slice")).cast("int"))
    ranged = ranged.drop("root", "shingles", "slice").join(sets.select("id", "set"), "id")
    return stage("ranges", lambda: ranged), numbers[-1]


def one_per_partition(spark: SparkSession, partitions: int) -> list[int]:
    """Return a number for each partition that Spark's hash of it goes to."""
    numbers: Any = spark.range(64 * partitions)
    partition = f.pmod(f.hash("id"), f.lit(partitions))
    found = numbers.groupBy(partition.alias("partition")).agg(f.min("id")).collect()
    return [number for _, number in sorted(map(tuple, found))]


def _nth(values: list[int], position: Column) -> Column:
    return f.array(*(f.lit(value).cast("long") for value in values))[position]
