"""The complete search for passages on Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from neardup.copied_passages.on_spark import anchor_tasks, passage_tasks, run_tasks
from neardup.copied_passages.on_spark.packing import HERE, SCHEMA
from neardup.copied_passages.passage_spec import CutSpec, PassageSpec, words_of
from neardup.copied_passages.short_documents import short_notes
from neardup.corpora.stop_passages import ignored
from neardup.errors import ArgumentError, SpecError
from neardup.options.arguments import check_taken
from neardup.options.option_groups import GROUPS
from neardup.spark import checks, steps
from neardup.spark.checkpoint import Checkpoint, without_history
from neardup.spark.spark_errors import worker_errors
from neardup.spark.spark_ordering import column, keep_order, ordered_by
from neardup.spark.spark_run import SparkJob, SparkRun, command_of
from neardup.spec import LENGTH, Spec, nearest, plain_values
from neardup.values.readable import having

#: Bytes of `task_bytes` for each token of a range.
_TOKEN_BYTES = 64
#: Tokens of a range, if there are so many for each task; and at most: Spark has rows of 2 GB.
_SMALL_RANGE, _LARGE_RANGE = 1 << 16, 1 << 24
#: Stretches of the keep order of which the tokens are counted.
_COUNTED = 1 << 16
#: Bytes of an anchor, and of a run, in a share of all hashes.
_ANCHOR_BYTES, _RUN_BYTES = 40, 80
_KINDS = ("copy", "within", "boilerplate")
#: Settings of one machine that a job does not have.
_ONE_MACHINE = {"by", *(f.name for of in (CutSpec, *GROUPS.values()) for f in fields(of))}
COMMAND = command_of("passages", "anchors", "passages", "documents", "boilerplate")


@dataclass(frozen=True)
class PassageFrames(SparkRun):
    """The result of `passages`: the tables of one machine, without an order of their rows.

    Attributes:
        passages: A row for each copied passage, see ``docs/formats.md``.
        documents: A row for each document.
        boilerplate: A row for each text of boilerplate; None unless that is looked for.
        notes: Remarks on the input.
        old_documents: Documents of ``against``.
    """

    passages: DataFrame
    documents: DataFrame
    boilerplate: DataFrame | None
    notes: list[str] = field(repr=False)
    old_documents: int = 0

    command = COMMAND

    @property
    def tables(self) -> dict[str, DataFrame]:
        found = {"passages": self.passages, "documents": self.documents}
        return found if self.boilerplate is None else {**found, "boilerplate": self.boilerplate}

    @cached_property
    def summary(self) -> dict[str, Any]:
        common = "boilerplate_words" if self.boilerplate is not None else "0"
        documents: Any = self.documents.selectExpr(
            "count(*) documents",
            "count_if(copied_words > 0) documents_with_copies",
            "sum(words) words",
            "sum(copied_words) copied_words",
            f"sum({common}) boilerplate_words",
        )
        passages: Any = self.passages.selectExpr(
            "count(*) passages", "count_if(kind = 'within') passages_within"
        )
        found = documents.first().asDict() | passages.first().asDict()
        counts = {name: value or 0 for name, value in found.items()}
        counts["novel_words"] = counts["words"] - counts["copied_words"]
        counts["novel_words"] -= counts["boilerplate_words"]
        counts["old_documents"] = self.old_documents
        # Nothing is cut or left out: members that readers of one machine's record look for.
        none = dict.fromkeys(("skipped", "skipped_bad", "cut_words", "dropped"), 0)
        counts |= {"kept": counts["documents"], **none}
        nothing = {"against": None, "step_before": None, "cut": plain_values(CutSpec())}
        spec = self.about["spec"] | {"by": []}
        return {**self.about, **nothing, "spec": spec, "counts": counts, "notes": self.notes}


@dataclass(frozen=True)
class _Corpus:
    """Documents with their ranks in the keep order."""

    texts: DataFrame  # id and text
    ranks: DataFrame  # id, rank, by_id and, where groups are compared, group
    documents: int
    unordered: int  # documents without a value of the order


@worker_errors()
def passages(
    df: DataFrame,
    *,
    text: str = "text",
    id: str = "id",
    against: DataFrame | None = None,
    preset: str | None = None,
    checkpoint: str | None = None,
    task_bytes: int = steps.TASK_BYTES,
    private_ids: bool = False,
    texts: bool = True,
    **settings: Any,
) -> PassageFrames:
    """Find every run of words that occurs earlier, on Spark: the tables of one machine.

    Documents are ordered by ``order_by``, and those of equal values by their ids: as on one machine
    whose input is sorted by the ids. Texts enter no shuffle; they are read twice.

    Args:
        df: Documents, from any source.
        text: As for `neardup.spark.dedup`, as are ``id``, ``checkpoint`` and ``private_ids``.
        against: Documents of an old corpus, which come first, in the order of their ids. They
            have the same columns, but for ``order_by``.
        preset: As for `neardup.passages`.
        task_bytes: A range of documents has a token for each 64 of these bytes, or a single
            document; a task has one range in memory.
        texts: Whether the table of boilerplate has its texts, which are read once more then.
        settings: As for `neardup.passages`: ``words``, ``order_by``, and all others that say which
            words are copied. Those that write a corpus, or list totals, are for one machine.

    Returns:
        The tables, as DataFrames.

    Raises:
        ColumnError: A column is not there, or of another type.
        DependencyError: Executors have other versions than the driver.
        DuplicateIdError: Two documents have one id.
        ResumeError: The checkpoint is of other settings or another input.
        FormatError: A file is malformed.
        SpecError: A setting is out of range, or two contradict each other.
    """
    spec = spec_of(settings, preset)
    return find(SparkJob(df, text, id, against, checkpoint, task_bytes, private_ids), spec, texts)


def spec_of(settings: dict[str, Any], preset: str | None) -> PassageSpec:
    """Return the definition of a passage by the settings that were given.

    Raises:
        ArgumentError: There is no such setting.
        SpecError: One is out of range, or for one machine, or two contradict each other.
    """
    known = {field.name for field in fields(PassageSpec)}
    for name in settings:
        if name in _ONE_MACHINE:
            raise SpecError(f"`{name}` is not for Spark", "run neardup passages on one machine")
        if name not in known:
            check_taken("spark passages", name)
            raise ArgumentError(f"passages() has no argument {name!r}", nearest(name, known))
    given = {name: value for name, value in settings.items() if value is not None}
    given |= ignored(given.get("ignore", ()), given.get("stop_passages"))
    return PassageSpec(**given | {"words": words_of(given.get("words"), preset)})


def find(job: SparkJob, spec: PassageSpec, texts: bool) -> PassageFrames:
    """Find passages, see `passages`."""
    return _Search(job, spec, texts).run()


@dataclass(frozen=True)
class _Search:
    job: SparkJob
    spec: PassageSpec
    texts: bool  # of boilerplate, in its table

    @property
    def _group(self) -> str | None:
        return self.spec.within or self.spec.across

    def run(self) -> PassageFrames:
        spec, job, against = self.spec, self.job, self.job.against
        df = checks.with_columns(job.df, job.text, job.id)
        order = spec.order
        order_column = order.column if order and order.column != LENGTH else None
        grouping = _given(within=spec.within, across=spec.across)
        ordered = _given(order_by=order_column) | grouping
        checks.check_types(df, job.text, job.id, ordered)
        for setting, name in grouping.items():
            checks.check_group(df, setting, name)
        kind = dict(df.dtypes)[job.id]
        if against is not None:
            against = checks.with_columns(against, job.text, job.id, kind)
            checks.check_types(against, job.text, job.id, grouping)
            checks.check_same_types(df, against, [job.id, *grouping.values()])
        steps.check_executors(df.sparkSession)
        store = Checkpoint.of(df, job.checkpoint, job.clock)
        corpora = [c for c in (against, df) if c is not None]
        names = [job.text, *(name for name in spec.columns if name != LENGTH)]
        ids = [
            checks.check_ids(
                corpus,
                job.id,
                [name for name in names if name in corpus.columns] if job.checkpoint else [],
                job.private_ids,
            )
            for corpus in corpora
        ]
        about = {"spec": plain_values(spec)}
        store.begin({**about, "command": "passages", **job.identity(ids)})
        checks.check_sent(df.sparkSession, sum(i.documents for i in ids))
        notes: list[str] = []
        every, first = [], 0
        for number, (corpus, of) in enumerate(zip(corpora, ids, strict=True)):
            is_new = number == len(corpora) - 1
            ranks, unordered = self._ranks(corpus, of, first, store, is_new, number)
            id, text = column(job.id).alias("id"), column(job.text).alias("text")
            every.append(_Corpus(corpus.select(id, text), ranks, of.documents, unordered))
            first += of.documents
        found = self._tables(every, store, notes)
        old = first - ids[-1].documents
        return PassageFrames(replace(job, df=df), about, *found, notes, old)

    def _ranks(
        self, df: DataFrame, ids: checks.Ids, first: int, store: Checkpoint, is_new: bool, of: int
    ) -> tuple[DataFrame, int]:
        """Return the ranks of `_Corpus`, from ``first`` on, and documents without a value."""
        order = self.spec.order if is_new else None
        columns = [column(self.job.id).alias("own"), column(self.job.id).cast(ids.type).alias("id")]
        if order is not None:
            text = f.char_length(f.coalesce(column(self.job.text), f.lit("")))
            values = text if order.column == LENGTH else ordered_by(df, order.column)
            columns.append(values.alias("best"))
        if self._group is not None:
            values = column(self._group)
            is_value = values.isNotNull()
            if dict(df.dtypes)[self._group] == "string":
                is_value &= values != ""
            columns.append(f.when(is_value, f.xxhash64(values)).alias("group"))
        rows = df.select(*columns)
        keep = "first" if order is None else "max:best" if order.descending else "min:best"
        by = keep_order(rows, Spec(keep=keep))
        parts = steps.partitions_of(df, ids.documents * 64, self.job.task_bytes)
        ordered = rows.repartitionByRange(parts, *by).sortWithinPartitions(*by)
        # Numbers of rows in a partition, which is in order.
        row = f.monotonically_increasing_id().bitwiseAND(f.lit((1 << 33) - 1))
        numbered = ordered.withColumns({"part": f.spark_partition_id(), "row": row})
        lacking = f.col("best").isNull() if order is not None else f.lit(False)
        numbered = numbered.withColumn("lacking", lacking).drop("best")
        cut = _stage(store, f"order-{of}", lambda: numbered)
        sums = f.count("*"), f.count_if("lacking")
        counted = [tuple(row) for row in cut.groupBy("part").agg(*sums).collect()]
        sizes = {part: size for part, size, _ in counted}
        begins, begin = [], first
        for part in range(max(sizes, default=0) + 1):
            begins.append(begin)
            begin += sizes.get(part, 0)
        rank = f.array(*(f.lit(b).cast("long") for b in begins))[f.col("part")] + f.col("row")
        group = ["group"] if self._group is not None else []
        # Values in the order of the ids, in which one machine has the input.
        by_id = f.col("id") if order is not None else rank if is_new else f.lit(None)
        columns = [f.col("own").alias("id"), rank.alias("rank"), by_id.alias("by_id")]
        return cut.select(*columns, *group), sum(none for *_, none in counted)

    def _tables(
        self, corpora: list[_Corpus], store: Checkpoint, notes: list[str]
    ) -> tuple[DataFrame, DataFrame, DataFrame | None]:
        spec, task_bytes = self.spec, self.job.task_bytes
        shingle, words = spec.shingle, spec.words

        def texts(more: Callable[[DataFrame], DataFrame], *names: str) -> DataFrame:
            parts = (c.texts.join(f.broadcast(more(c.ranks)), "id").select(*names) for c in corpora)
            return reduce(DataFrame.unionByName, parts)

        read = texts(lambda ranks: ranks.select("id", "rank"), "rank", "text")
        anchors = _stage(
            store,
            "anchors",
            lambda: steps.mapped(
                read,
                anchor_tasks.anchors,
                "rank long, tokens int, short long, keys binary",
                shingle=shingle,
                words=words,
            ),
        )
        notes += self._notes(corpora, anchors)
        borders, count = self._borders(anchors, corpora)
        parts = steps.partitions_of(anchors, 0, task_bytes)
        shares = max(2 * parts, -(-count * _ANCHOR_BYTES // task_bytes))

        def to_targets(rows: DataFrame, sort: bool = False) -> DataFrame:
            sent = rows.repartition(parts, "target")
            return sent.sortWithinPartitions("target", *(["kind"] if sort else []))

        def task(rows: DataFrame, work: Callable[..., Any], **given: Any) -> DataFrame:
            return steps.mapped(rows, work, SCHEMA, **given)

        keys = to_targets(task(anchors, anchor_tasks.by_range, borders=borders))
        spread = _stage(
            store, "anchor-shares", lambda: task(keys, anchor_tasks.share_anchors, shares=shares)
        )
        again = to_targets(spread.where(f.col("target") != HERE))
        again = task(again, anchor_tasks.repeated_anchors)
        marked = _local(spread).unionByName(again)
        marks = _stage(
            store,
            "marks",
            lambda: steps.mapped(to_targets(marked), anchor_tasks.marks, "rank long, marks binary"),
        )
        group = ["group"] if self._group is not None else []
        second = texts(
            lambda ranks: ranks.drop("by_id").join(marks, "rank"), "rank", "marks", "text", *group
        )
        runs = _stage(
            store,
            "runs",
            lambda: task(second, run_tasks.runs, shingle=shingle, words=words, borders=borders),
        )
        size: Any = runs.where(f"kind = {run_tasks.RUNS}").agg(f.sum(f.length("data"))).first()
        shares = max(2 * parts, -(-(size[0] or 0) * _RUN_BYTES // 16 // task_bytes))
        groups = "within" if spec.within else "across" if spec.across else ""
        rule = run_tasks.SparkRule(words, groups, spec.boilerplate)
        given = to_targets(runs.where(f"kind = {run_tasks.RUNS}"))
        sums = _stage(
            store, "range-sums", lambda: task(given, run_tasks.sum_up, rule=rule, shares=shares)
        )
        before = task(
            to_targets(sums.where(f.col("target") != HERE)), run_tasks.before_each, rule=rule
        )
        both = _local(sums).unionByName(before)
        segments = _stage(
            store, "segments", lambda: task(to_targets(both), run_tasks.segments, rule=rule)
        )
        limit = max(1, task_bytes // _TOKEN_BYTES)
        old = sum(c.documents for c in corpora[:-1])
        cut = {"borders": borders, "limit": limit, "old": old}
        asked = task(segments, passage_tasks.requests, **cut)
        answered = task(to_targets(segments.unionByName(asked), True), passage_tasks.answers)
        found = _stage(
            store,
            "found",
            lambda: task(
                to_targets(segments.unionByName(answered), True),
                passage_tasks.passages,
                spec=spec,
                **cut,
            ),
        )
        spans = runs.where(f"kind = {run_tasks.SPANS}").withColumn("kind", f.lit(HERE))
        asked = task(found, passage_tasks.ask_characters, borders=borders)
        characters = task(to_targets(spans.unionByName(asked), True), passage_tasks.characters)
        even = found.withColumn("kind", f.col("kind") * 2)
        rows = _stage(
            store,
            "rows",
            lambda: steps.mapped(
                to_targets(even.unionByName(characters), True),
                passage_tasks.rows_of_passages,
                passage_tasks.PASSAGE_ROWS,
                spec=spec,
            ),
        )
        counts = steps.mapped(found, passage_tasks.rows_of_documents, passage_tasks.DOCUMENT_ROWS)
        ids = reduce(DataFrame.unionByName, (c.ranks.drop("group") for c in reversed(corpora)))
        marking = old if len(corpora) > 1 else None
        made = _stage(store, "passages", lambda: _passages_table(rows, ids, spec, marking))
        new = corpora[-1].ranks
        documents = _stage(
            store, "documents", lambda: _documents_table(anchors, counts, new, ids, spec, marking)
        )
        if not spec.boilerplate:
            return made, documents, None
        common = _boilerplate_table(rows, ids, marking)
        return made, documents, _with_texts(common, corpora) if self.texts else common

    def _notes(self, corpora: list[_Corpus], anchors: DataFrame) -> list[str]:
        """Return the notes of one machine on values that are missing, and on short documents."""
        notes, words, name = [], self.spec.words, self._group
        if self.spec.order is not None and (none := corpora[-1].unordered):
            without = f"{having(none, 'document')} no {self.spec.order.column}"
            notes.append(f"{without}; those without come last")
        if name is not None:
            nulls = f.count_if(f.col("group").isNull())
            if none := corpora[-1].ranks.agg(nulls).first()[0]:
                notes.append(
                    f"{having(none, 'document')} no {name}; those without are compared with none"
                )
        new = anchors.where(f.col("rank") >= sum(c.documents for c in corpora[:-1]))
        short = f.when(f.col("short") != 0, f.col("short"))
        sums = (f.max("tokens"), f.count_if(f.col("tokens") < words), f.count(short))
        sizes: Any = new.agg(*sums, f.count_distinct(short)).first()
        longest, fewer, hashes, distinct = sizes
        notes += short_notes(words, longest, fewer, hashes - distinct)
        return notes

    def _borders(self, anchors: DataFrame, corpora: list[_Corpus]) -> tuple[np.ndarray, int]:
        """Cut the keep order into ranges: the first rank of each; and the number of anchors."""
        documents = sum(c.documents for c in corpora)
        width = max(1, -(-documents // _COUNTED))
        stretch = (f.col("rank") / width).cast("long").alias("stretch")
        sums = f.sum("tokens").alias("tokens"), f.sum(f.length("keys") / 8).alias("anchors")
        rows = sorted(map(tuple, anchors.groupBy(stretch).agg(*sums).collect()))
        total = sum(row[1] for row in rows)
        parts = steps.partitions_of(anchors, 0, self.job.task_bytes)
        most = max(-(-total // parts), _SMALL_RANGE)
        most = max(1, min(most, _LARGE_RANGE, self.job.task_bytes // _TOKEN_BYTES))
        borders, filled = [0], 0
        for stretch_number, tokens, _ in rows:
            if filled and filled + tokens > most:
                borders.append(stretch_number * width)
                filled = 0
            filled += tokens
        return np.array(borders, np.int64), int(sum(row[2] for row in rows))


def _stage(store: Checkpoint, name: str, make: Callable[[], DataFrame]) -> DataFrame:
    """Return the table of a stage; plans would double with each stage that has two readers."""
    made = store.stage(name, make)
    return made if store.folder is not None else without_history(made)


def _local(rows: DataFrame) -> DataFrame:
    """Return rows that stay at their target, which ``kind`` names, as those of kind `HERE`."""
    here = rows.where(f.col("target") == HERE)
    return here.select(f.col("kind").alias("target"), f.lit(HERE).alias("kind"), "data")


def _given(**columns: str | None) -> dict[str, str]:
    return {name: value for name, value in columns.items() if value is not None}


def _with_id(rows: DataFrame, ids: DataFrame, rank: str, name: str, how: str) -> DataFrame:
    """Replace a rank by the id of the document."""
    named = ids.select(f.col("id").alias(name), f.col("rank").alias(rank))
    return rows.join(f.broadcast(named), rank, how)


def _passages_table(
    rows: DataFrame, ids: DataFrame, spec: PassageSpec, old: int | None
) -> DataFrame:
    kinds = f.array(*map(f.lit, _KINDS))
    found = rows.withColumn("kind", kinds[f.col("kind")])
    if old is not None:
        found = found.withColumn("in_old", f.col("source_rank") < old)
        found = found.withColumn("origin_in_old", f.col("origin_rank") < old)
    for rank, name in {"rank": "doc", "source_rank": "source", "origin_rank": "origin"}.items():
        found = _with_id(found, ids, rank, f"{name}_id", "inner")
    names = ["doc_id", "start", "end", "words", "source_id", "source_start", "source_end"]
    names += ["origin_id", "origin_start", "documents", "kind"]
    if old is not None:
        names += ["in_old", "origin_in_old"]
    if spec.bridge:
        found = found.join(f.broadcast(_begins_of_joined(rows)), ["range", "share"])
        number = f.when(f.col("joined") >= 0, f.col("joined") + f.col("begin"))
        found = found.withColumn("bridge", number)
        names.append("bridge")
    return found.select(*names)


def _begins_of_joined(rows: DataFrame) -> DataFrame:
    """Return the number that joined passages begin with in each share of a range."""
    largest = rows.groupBy("range", "share").agg(f.max("joined")).collect()
    begins, begin = [], 0
    for number, share, last in sorted(map(tuple, largest)):
        begins.append((number, share, begin))
        begin += last + 1
    schema = "range int, share int, begin long"
    return rows.sparkSession.createDataFrame(begins, schema)


def _documents_table(
    anchors: DataFrame,
    counts: DataFrame,
    ranks: DataFrame,
    ids: DataFrame,
    spec: PassageSpec,
    old: int | None,
) -> DataFrame:
    tokens = anchors.select("rank", f.col("tokens").cast("long").alias("words"))
    found = ranks.select("rank", f.col("id").alias("doc_id")).join(tokens, "rank")
    found = found.join(counts, "rank", "left")

    def count(name: str) -> Column:
        return f.coalesce(f.col(name).cast("long"), f.lit(0).cast("long"))

    copied = count("copied")
    source = f.when(f.col("source_rank") >= 0, f.col("source_rank"))
    found = found.withColumn("source_rank", source)
    found = _with_id(found, ids, "source_rank", "source_id", "left")
    columns = {
        "copied_words": copied,
        "copied_share": copied / f.greatest(f.col("words"), f.lit(1)),
        "words_from_source": count("words_from_source"),
        "kept": f.lit(True),
    }
    names = ["doc_id", "words", "copied_words", "copied_share", "source_id"]
    names += ["words_from_source", "kept"]
    if old is not None:
        columns["in_old"] = f.col("source_rank") < old
        names.append("in_old")
    if spec.boilerplate:
        columns["boilerplate_words"] = count("common")
        names.append("boilerplate_words")
    if spec.bridge:
        columns["changed_words"] = count("changed")
        names.append("changed_words")
    return found.withColumns(columns).select(*names)


def _boilerplate_table(rows: DataFrame, ids: DataFrame, old: int | None) -> DataFrame:
    """Return a row for each text, with the first source of its passages, by the order of ids."""
    named = ids.withColumnsRenamed({"rank": "source_rank", "id": "doc_id"})
    found = rows.where(f"kind = {_KINDS.index('boilerplate')}")
    found = found.join(f.broadcast(named), "source_rank")
    is_old = f.col("source_rank") < (old or 0)
    of_old = f.when(is_old, f.col("source_rank"))
    names = [f.col(name) for name in ("by_id", "source_start", "source_end", "doc_id")]
    first = f.struct((~is_old).alias("new"), of_old.alias("old"), *names)
    texts = found.groupBy("hash").agg(
        f.max("words").alias("words"),
        f.max("documents").alias("documents"),
        (f.count("*") + 1).alias("occurrences"),
        f.min(first).alias("first"),
    )
    columns = [
        *("words", "documents", "occurrences", "first.doc_id"),
        f.col("first.source_start").alias("start"),
        f.col("first.source_end").alias("end"),
    ]
    if old is not None:
        columns.append((~f.col("first.new")).alias("in_old"))
    return texts.select(*columns)


def _with_texts(found: DataFrame, corpora: list[_Corpus]) -> DataFrame:
    """Add the column ``text``; the rows of boilerplate are sent to all machines, no texts."""
    cut = "substring(text, int(start + 1), int(end - start)) text"
    parts = []
    for number, corpus in enumerate(corpora):
        of = found.where(f.col("in_old") == (number == 0)) if len(corpora) > 1 else found
        named = corpus.texts.withColumnRenamed("id", "doc_id")
        parts.append(named.join(f.broadcast(of), "doc_id").selectExpr(*found.columns, cut))
    return reduce(DataFrame.unionByName, parts)
