"""The complete job on Spark."""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.errors import SpecError
from neardup.options.arguments import check_taken
from neardup.spark import checks, steps
from neardup.spark.checkpoint import Checkpoint
from neardup.spark.rounds import compare_large
from neardup.spark.spark_errors import worker_errors
from neardup.spark.spark_ordering import column
from neardup.spark.spark_run import SparkJob, SparkRun, command_of
from neardup.spec import Spec
from neardup.spec import preset as settings_of
from neardup.state.about_work import bands_of

COMMAND = command_of("dedup", "sketches", "clean", "clusters", "edges")


@dataclass(frozen=True)
class DedupFrames(SparkRun):
    """The result of `dedup`, as DataFrames.

    Attributes:
        clusters: A row for each document, see `neardup.spark.resolve`.
        edges: Pairs that reach the threshold, see `neardup.spark.edges`; None unless pairs are
            listed.
    """

    clusters: DataFrame
    edges: DataFrame | None
    sketches: DataFrame = field(repr=False)

    command = COMMAND

    @property
    def tables(self) -> dict[str, DataFrame]:
        tables = {"clean": self.clean, "clusters": self.clusters, "edges": self.edges}
        return {name: table for name, table in tables.items() if table is not None}

    @property
    def clean(self) -> DataFrame:
        """The rows of the input that are kept. Removed ids are sent to all machines, no texts."""
        removed = self._removed.select(column(self.job.id))
        return self.df.join(f.broadcast(removed), self.job.id, "left_anti")

    @property
    def removed(self) -> DataFrame:
        """The rows of the input that are not kept, with ``duplicate_of`` and ``similarity``."""
        others = self.df.drop("duplicate_of", "similarity")
        return others.join(f.broadcast(self._removed), self.job.id)

    @property
    def _removed(self) -> DataFrame:
        rows = self.clusters.where("not kept")
        return rows.select(f.col("id").alias(self.job.id), "duplicate_of", "similarity")

    @cached_property
    def summary(self) -> dict[str, Any]:
        n = self.about["spec"]["shingle"]["n"]
        texts: Any = self.sketches.selectExpr(
            "count(*) documents",
            "count_if(tokens = 0) empty",
            f"count_if(tokens between 1 and {n - 1}) short",
            "sum(tokens) tokens",
            "sum(shingles) shingles",
        )
        kinds: Any = self.clusters.selectExpr(
            "count_if(how = 'same') same", "count_if(how = 'words') equal_words"
        )
        counted: dict[str, Any] = texts.first().asDict() | kinds.first().asDict()
        if (within := self.about["spec"]["within"]) is not None:
            value = column(within)
            none = self.df.select(f.count_if(value.isNull() | (value.cast("string") == "")))
            counted["without_group"] = none.first()[0]
            counted["empty"] -= counted["without_group"]
        groups = self.clusters.groupBy("cluster")
        sizes: Any = groups.agg(f.expr("count(*) size"), f.expr("count_if(kept) kept")).selectExpr(
            "sum(kept) kept",
            "sum(size - kept) removed",
            "count(*) clusters",
            "count_if(size > 1) clusters_of_two_or_more",
            "max(size) largest_cluster",
        )
        listed = {} if self.edges is None else {"edges": self.edges.count()}
        found = counted | sizes.first().asDict() | listed
        return {**self.about, "counts": {name: count or 0 for name, count in found.items()}}


@worker_errors()
def dedup(
    df: DataFrame,
    *,
    text: str = "text",
    id: str = "id",
    against: DataFrame | None = None,
    preset: str | None = None,
    spec: Spec | None = None,
    checkpoint: str | None = None,
    task_bytes: int = steps.TASK_BYTES,
    private_ids: bool = False,
    **settings: Any,
) -> DedupFrames:
    """Find near-duplicates on Spark: the answer of one machine that orders documents by their ids.

    Args:
        df: Documents, from any source.
        text: Column with the text.
        id: Column with ids, strings or integers, each once.
        against: Documents of an old corpus, with ids of their own: all of them stay, and count as
            the first ones. But for pairs, the result has rows for ``df`` only.
        preset: ``"web"`` (the default), ``"clinical"`` or ``"records"``.
        spec: All settings in one object, instead of a preset.
        checkpoint: Folder that all machines reach: finished stages are stored there, and a job that
            is started again continues. Without it Spark keeps them while the session lives.
        task_bytes: Bytes of shingle sets, or of band keys, that a task may have in memory.
        private_ids: Keep ids out of messages.
        settings: Fields of `neardup.Spec` that override it, such as ``threshold=0.8``.

    Returns:
        The results, as DataFrames.

    Raises:
        ColumnError: A column is not there, or of another type.
        DependencyError: Executors have other versions than the driver.
        DuplicateIdError: Two documents have one id.
        ResumeError: The checkpoint is of other settings or another input.
        FormatError: A file is malformed.
        SpecError: A setting is out of range, or not for clusters, or memory does not suffice.
    """
    if spec is not None and preset is not None:
        raise SpecError("`spec` and `preset` are both given", "leave one out")
    check_taken("spark", *settings)
    spec = (spec or settings_of(preset or "web")).replace(**settings)
    return find(SparkJob(df, text, id, against, checkpoint, task_bytes, private_ids), spec)


def find(job: SparkJob, spec: Spec) -> DedupFrames:
    """Find near-duplicates, see `dedup`."""
    text, id, task_bytes, against = job.text, job.id, job.task_bytes, job.against
    df = checks.with_columns(job.df, text, id)
    checks.check_columns(df, text, id, spec)
    given, kind = df, dict(df.dtypes)[id]
    columns = [name for name in (id, text, spec.within) if name]
    df = df.select(*map(column, dict.fromkeys([*columns, spec.keep_column or text])))
    if against is not None:
        against = checks.with_columns(against, text, id, kind)
        checks.check_columns(against, text, id, spec.replace(keep="first"))
        df = steps.with_old(df, against.select(*map(column, dict.fromkeys(columns))))
    recipe = steps.recipe_of(spec)
    steps.check_executors(df.sparkSession)
    ids = checks.check_ids(df, id, df.columns[1:] if job.checkpoint else [], job.private_ids)
    steps.warn_of_bands(spec, ids.documents)
    df = df.withColumn(id, column(id).cast(ids.type)) if ids.type != kind else df
    about: dict[str, Any] = {"spec": spec.as_dict(), "recipe": recipe.as_dict()}
    store = Checkpoint.of(given, job.checkpoint, job.clock)
    store.begin(job.identity([ids]) | about)
    sketches = store.stage("sketches", lambda: steps.sketch(df, spec, text, id))
    same = partial(steps.duplicates, sketches, spec, ids.documents, task_bytes)
    same = store.stage("duplicates", same)
    candidates = partial(steps.candidates, sketches, same, spec, ids.documents, task_bytes)
    found = store.stage("candidates", candidates)
    documents, size, roots = sizes_of(found, spec, task_bytes)
    more = ", or `documents`, for more rows"
    checks.check_sent(df.sparkSession, documents + same.count(), " that share a bucket", more)
    large = f.col("root").isin(roots)

    def sets(rows: DataFrame) -> DataFrame:
        return steps.shingle_sets(df, rows, spec, text, id)

    rows = found.where(~large)
    small = partial(steps.compare, rows, sets(rows), spec, size, task_bytes)
    compared = store.stage("compared", small)
    if roots:
        rows = found.where(large)
        far = compare_large(rows, sets(rows), spec, task_bytes, store.stage)
        compared = compared.unionByName(far)

    new = sketches if against is None else sketches.where("not old")

    def typed(rows: DataFrame, *names: str) -> DataFrame:
        return rows.withColumns({name: f.col(name).cast(kind) for name in names})

    pairs = typed(steps.edges(compared, same, spec), "id_a", "id_b")
    answer = typed(steps.resolve(sketches, same, compared), "id", "cluster", "duplicate_of")
    edges = store.stage("edges", lambda: pairs) if spec.enumerates else None
    clusters = store.stage("clusters", lambda: answer)
    about["bands"] = bands_of(recipe, spec.threshold)
    return DedupFrames(replace(job, df=given), about, clusters, edges, new)


def sizes_of(candidates: DataFrame, spec: Spec, task_bytes: int) -> tuple[int, int, list[int]]:
    """Return the documents, the bytes of their shingle sets, and roots too large for a task.

    SpecError if there are any, and pairs are listed, for which a task needs all of them.
    """
    size = f.sum("shingles") * 8
    groups = candidates.groupBy("root").agg(f.count("*").alias("count"), size.alias("size"))
    roots = f.collect_list(f.when(f.col("size") > task_bytes, f.col("root")))
    columns = f.sum("count"), f.sum("size"), roots, f.max("size")
    documents, total, large, largest = groups.agg(*columns).first()
    if large and spec.enumerates:
        raise SpecError(
            f"documents that may be connected have {largest:,} bytes of shingle sets, which one "
            f"task needs to list their pairs; `task_bytes` is {task_bytes:,}",
            "raise `task_bytes` and the memory of executors, or use the clustering star",
        )
    return documents or 0, total or 0, large
