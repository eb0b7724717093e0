"""The steps of a job on Spark: DataFrames in, DataFrames out. Text enters no shuffle."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from neardup.errors import SpecError
from neardup.recipe import Recipe
from neardup.sketch.bands import advice_on_bands, recipe_for
from neardup.spark import workers
from neardup.spark.checks import check_columns, check_same_types
from neardup.spark.spark_ordering import column, ordered_by
from neardup.spark.stages import candidate_stage as stage
from neardup.spec import Spec
from neardup.stages.exact import HOW

#: A column that marks documents of an old corpus, which are kept.
OLD = "neardup: old"
#: Bytes of shingle sets that a task has in memory.
TASK_BYTES = 1 << 28
#: Bytes of a document in a bucket, for each band; while a task marks it, but for its keys; and
#: while those with equal tokens are found.
_ENTRY, _MARKED, _HASHED = 14, 100, 100


def recipe_of(spec: Spec) -> Recipe:
    """Choose the bands, as one machine does.

    SpecError if a setting is not for a cluster.
    """
    refused: dict[str, Any] = {"method": "lsh", "max_bucket": None, "order_by": None}
    for name, default in (refused | {"only_same": False, "boilerplate": 0}).items():
        if (value := getattr(spec, name)) != default:
            raise SpecError(f"`{name}` is {value!r}, which is not for Spark", "leave it out")
    if spec.cluster == "disjoint-sets":
        what = "which takes buckets one after the other, on one machine"
        raise SpecError(f"`cluster` is 'disjoint-sets', {what}", "choose the clustering bounded")
    if spec.pairs == "count":
        raise SpecError("`pairs` is 'count', which is for one machine", "list them, with 'all'")
    if spec.cluster == "louvain":
        raise SpecError("`cluster` is 'louvain', which needs the complete graph on one machine")
    return recipe_for(spec)


def check_executors(spark: SparkSession) -> None:
    """Raise DependencyError if executors have no Python that can do the work; takes seconds."""
    tasks = spark.sparkContext.defaultParallelism
    mapped(spark.range(0, tasks, 1, tasks), workers.nothing, "id long").collect()


def warn_of_bands(spec: Spec, documents: int) -> None:
    """Warn if bands are chosen for far fewer documents than there are."""
    if message := advice_on_bands(spec, documents):
        warnings.warn(message, stacklevel=5)


def with_old(df: DataFrame, old: DataFrame) -> DataFrame:
    """Add the documents of an old corpus, which has columns of ``df``, and mark them."""
    check_same_types(df, old, old.columns)
    marked = old.withColumn(OLD, f.lit(True))
    return df.withColumn(OLD, f.lit(False)).unionByName(marked, allowMissingColumns=True)


def sketch(df: DataFrame, spec: Spec, text: str = "text", id: str = "id") -> DataFrame:
    """Turn texts into sketches, a row for each document: its hashes, counts and band keys."""
    check_columns(df, text, id, spec)
    columns = [_number_of(column(id)).alias("doc"), column(id).alias("id")]
    columns += [f.col(OLD).alias("old")] if OLD in df.columns else []
    best = spec.keep_column
    columns += [ordered_by(df, best).alias("best")] if best else []
    kinds = [f"{name} {kind}" for name, kind in df.select(*columns).dtypes]
    given = df.select(*columns, *_compared(spec, text))
    kinds += ["best long"] if spec.keep == "longest" else []
    made = "tokens int, shingles int, content long, hash binary, bitmap binary, keys binary"
    recipe = recipe_of(spec)
    return mapped(given, workers.sketch, ", ".join([*kinds, made]), spec=spec, recipe=recipe)


def _compared(spec: Spec, text: str) -> list[Column]:
    """Return the text of documents, and their group where they have one."""
    group = [] if spec.within is None else [column(spec.within).alias("group")]
    return [*group, column(text).alias("text")]


def _number_of(id: Column) -> Column:
    """Return a number of each id, for trees of documents: two may have one, rarely."""
    return f.xxhash64(id)


def mapped(df: DataFrame, task: Callable[..., Any], schema: Any, **given: Any) -> DataFrame:
    """Apply a task to each partition."""
    # PySpark asks for pandas and warns of its newest version, which nothing here uses.
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        work = partial(workers.run, task=task, driver=workers.versions(), **given)
        return df.mapInArrow(work, schema)


def duplicates(
    sketches: DataFrame, spec: Spec, documents: int = 0, task_bytes: int = TASK_BYTES
) -> DataFrame:
    """Find documents with equal tokens: the ``id`` of each, and of the ``first`` of its group.

    ``documents`` is their number, or an estimate.
    """
    kind = dict(sketches.dtypes)["id"]
    filled = sketches.where("tokens > 0")
    filled = filled.drop("doc", "tokens", "shingles", "content", "bitmap", "keys")
    parts = partitions_of(sketches, documents * _HASHED, task_bytes)
    groups = filled.repartition(parts, "hash")
    return mapped(groups, workers.exact, f"id {kind}, first {kind}", spec=spec)


def partitions_of(df: DataFrame, bytes: int, task_bytes: int) -> int:
    """Return into how many partitions rows are shuffled."""
    spark = df.sparkSession
    configured = spark.conf.get("spark.sql.shuffle.partitions")
    # Spark's default says nothing of the machine; each task takes some 0.1 s to begin.
    given = 2 * spark.sparkContext.defaultParallelism if configured == "200" else configured
    return max(int(given), -(-bytes // task_bytes))


def candidates(
    sketches: DataFrame,
    duplicates: DataFrame,
    spec: Spec,
    documents: int = 0,
    task_bytes: int = TASK_BYTES,
) -> DataFrame:
    """Find the documents that may be similar to another one, and ``root``, which names those that
    must be looked at together.

    ``documents`` is their number, or an estimate. Of components that are larger than ``task_bytes``
    all documents are returned, those included that are not similar to any other.
    """
    num_bands = recipe_of(spec).num_bands
    filled = sketches.where("tokens > 0").join(duplicates.select("id"), "id", "left_anti")
    parts = partitions_of(sketches, documents * num_bands * _ENTRY, task_bytes)
    keys = filled.select("doc", "keys")
    spread = mapped(keys, stage.spread, "share int, entries binary", shares=3 * parts)
    trees = mapped(spread.repartition(parts, "share"), stage.forest, "doc long, root long")
    roots = mapped(trees.repartition(1), stage.union, "doc long, root long")
    roots = roots.persist(StorageLevel.DISK_ONLY)
    most = task_bytes // (8 * num_bands + _MARKED)  # documents of a task
    sizes = roots.groupBy("root").count().where(f.col("count") > most)
    large = f.col("root").isin([row["root"] for row in sizes.collect()])
    found = filled.drop("tokens", "content", "hash").join(roots, "doc")
    small = found.where(~large).repartition(parts, "root").sortWithinPartitions("root")
    marked = mapped(small, workers.mark, found.schema, spec=spec, task_bytes=task_bytes)
    return marked.unionByName(found.where(large)).drop("doc", "bitmap")


def shingle_sets(
    df: DataFrame, candidates: DataFrame, spec: Spec, text: str = "text", id: str = "id"
) -> DataFrame:
    """Read the texts of some documents again, and return their ``set`` of shingles.

    The ids of these are sent to all machines, and not the texts to the ids.
    """
    texts = df.select(column(id).alias("id"), *_compared(spec, text))
    roots = candidates.select("id", f.col("root").alias("doc"))
    chosen = texts.join(f.broadcast(roots), "id")
    schema = f"root long, id {dict(texts.dtypes)['id']}, set binary"
    return mapped(chosen, workers.sets, schema, recipe=recipe_of(spec))


def compare(
    candidates: DataFrame,
    sets: DataFrame,
    spec: Spec,
    bytes: int = 0,
    task_bytes: int = TASK_BYTES,
) -> DataFrame:
    """Compare candidates exactly, to find the duplicates: see `neardup.spark.workers.solve`.

    ``bytes`` is the size of their sets, see `shingle_sets`, or an estimate.
    """
    rows = candidates.drop("shingles").unionByName(sets, allowMissingColumns=True)
    return solved(rows, spec, partitions_of(sets, bytes, task_bytes), task_bytes)


def solved(rows: DataFrame, spec: Spec, parts: int, task_bytes: int) -> DataFrame:
    """Compare the documents of each ``root``, some roots after others in a task."""
    kind = dict(rows.dtypes)["id"]
    schema = f"id {kind}, other {kind}, similarity double, cluster {kind}, edge boolean"
    by_root = rows.repartition(parts, "root").sortWithinPartitions("root")
    return mapped(by_root, workers.solve, schema, spec=spec, task_bytes=task_bytes)


def resolve(sketches: DataFrame, duplicates: DataFrame, compared: DataFrame) -> DataFrame:
    """Say whether each document, by its ``id``, is ``kept``.

    If not, it is a ``duplicate_of`` another one, with a ``similarity``; else these are null.
    ``cluster`` is the ``id`` of the first document of its cluster in keep order. ``how`` says how
    the two are alike, see `neardup.stages.exact.HOW`. Documents of an old corpus get no row.
    """
    answers = compared.where("not edge").withColumnRenamed("id", "first")
    new = sketches.where("not old") if "old" in sketches.columns else sketches
    rows = new.select("id").join(duplicates, "id", "left")
    rows = rows.withColumn("copy", f.col("first").isNotNull())
    rows = rows.withColumn("first", f.coalesce("first", "id")).join(answers, "first", "left")
    answer = rows.selectExpr(
        "id",
        "coalesce(cluster, first) cluster",
        "not copy and other is null kept",
        "coalesce(other, if(copy, first, null)) duplicate_of",
        "coalesce(similarity, if(copy, 1.0D, null)) similarity",
    )
    # Of those with similarity 1 only: the others are near.
    equal = answer.where("similarity = 1").select("id", "duplicate_of")
    one = sketches.select("id", "hash", "content")
    other = sketches.selectExpr("id duplicate_of", "hash of_hash", "content of_content")
    same, words, near = HOW
    pairs = (
        equal.join(one, "id")
        .join(other, "duplicate_of")
        .selectExpr(
            "id",
            f"if(hash <> of_hash, '{near}', if(content = of_content, '{same}', '{words}')) how",
        )
    )
    how = f"if(kept, null, coalesce(how, '{near}')) how"
    return answer.join(pairs, "id", "left").selectExpr(*answer.columns, how)


def edges(compared: DataFrame, duplicates: DataFrame, spec: Spec) -> DataFrame:
    """Return pairs that reach the threshold: ``id_a`` before ``id_b``, and ``similarity``.

    With ``pairs="all"`` these are all pairs. Else one document represents a group of equal
    ones, and each of the others has edges to that one and to its ``duplicate_of``.
    """
    found = compared.where("edge").selectExpr("id a", "other b", "similarity")
    same = duplicates.selectExpr("first a", "id b", "1.0D similarity")
    if spec.pairs == "all":
        group = duplicates.unionByName(duplicates.selectExpr("first id", "first").distinct())
        left, right = group.selectExpr("first a", "id x"), group.selectExpr("first b", "id y")
        within = left.join(right, left.a == right.b).where("x < y")
        same = within.selectExpr("x a", "y b", "1.0D similarity")
        found = found.join(left, "a", "left").join(right, "b", "left")
        found = found.selectExpr("coalesce(x, a) a", "coalesce(y, b) b", "similarity")
    else:
        answers = compared.where("not edge and other is not null")
        copies = answers.withColumnRenamed("id", "first").join(duplicates, "first")
        same = same.unionByName(copies.selectExpr("other a", "id b", "similarity"))
    both = found.unionByName(same)
    return both.selectExpr("least(a, b) id_a", "greatest(a, b) id_b", "similarity")
