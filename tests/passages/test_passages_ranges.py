"""The tasks of a cluster without one: documents in ranges, and shuffles that sort by target."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from oracle_passages import Oracle, expected_rows, planted

from common import tries
from neardup.copied_passages.on_spark import anchor_tasks, passage_tasks, run_tasks
from neardup.copied_passages.on_spark.packing import HERE
from neardup.copied_passages.passage_spec import PassageSpec

#: As Spark has it between tasks.
SENT = pa.schema({"target": pa.int32(), "kind": pa.int32(), "data": pa.binary()})


class Cluster:
    """Runs the tasks one after the other.

    ``most`` has the most bytes that a target of each shuffle was sent, by task.
    """

    def __init__(
        self, spec: PassageSpec, groups: str, tokens: int, shares: int, old: int, rng: random.Random
    ) -> None:
        self.spec, self.tokens, self.shares = spec, tokens, shares
        self.old, self.rng = old, rng
        self.rule = run_tasks.SparkRule(spec.words, groups, spec.boilerplate)
        self.most: dict[str, int] = {}

    def task(self, work: Callable[..., Any], rows: Iterable[pa.RecordBatch], **given: Any) -> Any:
        return list(work(iter(rows), **given))

    def shuffled(self, name: str, rows: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Rows in the order of their targets, otherwise in any, and in batches of any size."""
        table = pa.Table.from_batches(rows, SENT)
        order = pa.array(self.rng.sample(range(len(table)), len(table)), pa.int64())
        table = table.take(order)
        table = table.take(pc.sort_indices(table, sort_keys=[("target", "ascending")]))
        self.note(name, table)
        return table.to_batches(max_chunksize=self.rng.randrange(1, 20))

    def note(self, name: str, table: pa.Table) -> None:
        sizes: Any = table.append_column("size", pc.binary_length(table["data"]))
        sums = sizes.group_by("target").aggregate([("size", "sum")])["size_sum"].to_pylist()
        self.most[name] = max(sums, default=0)

    def passages(
        self, texts: list[str], ranks: list[int], groups: list[int | None]
    ) -> list[dict[str, Any]]:
        """Passages of documents, by their ranks, with ranks for ids."""
        spec, shingle, rule = self.spec, self.spec.shingle, self.rule
        given = pa.table(
            {"rank": pa.array(ranks, pa.int64()), "text": pa.array(texts, pa.string())}
        )
        given = given.append_column("group", pa.array(groups, pa.int64()))
        tasks = given.to_batches(max_chunksize=self.rng.randrange(1, 6))
        anchors = self.task(anchor_tasks.anchors, tasks, shingle=shingle, words=spec.words)
        counts: list[int] = [0] * len(ranks)
        for batch in anchors:
            for row in batch.select(["rank", "tokens"]).to_pylist():
                counts[row["rank"]] = row["tokens"]
        borders, filled = [0], 0
        for rank, size in enumerate(counts):
            if filled and filled + size > self.tokens:
                borders.append(rank)
                filled = 0
            filled += size
        cut = {"borders": np.array(borders), "limit": self.tokens, "old": self.old}
        keys = self.task(anchor_tasks.by_range, anchors, borders=cut["borders"])
        keys = self.shuffled("keys", keys)
        spread = self.task(anchor_tasks.share_anchors, keys, shares=self.shares)
        again = self.shuffled("anchors", sent(spread))
        again = self.task(anchor_tasks.repeated_anchors, again)
        marks = self.task(anchor_tasks.marks, self.shuffled("marks", local(spread) + again))
        marked = pa.Table.from_batches(marks, pa.schema({"rank": pa.int64(), "marks": pa.binary()}))
        second = given.join(marked, "rank", join_type="inner").combine_chunks()
        batches = second.to_batches(max_chunksize=self.rng.randrange(1, 6))
        if not rule.groups:
            batches = [batch.drop_columns("group") for batch in batches]
        found = self.task(
            run_tasks.runs, batches, shingle=shingle, words=spec.words, borders=cut["borders"]
        )
        runs, spans = kinds(found, run_tasks.RUNS), kinds(found, run_tasks.SPANS)
        runs = self.shuffled("runs", runs)
        sums = self.task(run_tasks.sum_up, runs, rule=rule, shares=self.shares)
        before = self.shuffled("sums", sent(sums))
        before = self.task(run_tasks.before_each, before, rule=rule)
        both = self.shuffled("before", local(sums) + before)
        segments = self.task(run_tasks.segments, both, rule=rule)
        asked = self.task(passage_tasks.requests, segments, **cut)
        self.note("asked", pa.Table.from_batches(asked, SENT))
        answered = self.shuffled("requests", segments + asked)
        answered = self.task(passage_tasks.answers, answered)
        grown = self.shuffled("answers", segments + answered)
        grown = self.task(passage_tasks.passages, grown, spec=spec, **cut)
        asked = self.task(passage_tasks.ask_characters, grown, borders=cut["borders"])
        spans = [with_kind(batch, lambda kind: kind * 0 + HERE) for batch in spans]
        known = self.task(passage_tasks.characters, self.shuffled("spans", spans + asked))
        even = [with_kind(batch, lambda kind: kind * 2) for batch in grown]
        rows = self.shuffled("rows", even + known)
        rows = self.task(passage_tasks.rows_of_passages, rows, spec=spec)
        return [row for batch in rows for row in batch.to_pylist()]


def with_kind(batch: pa.RecordBatch, change: Callable[[Any], Any]) -> pa.RecordBatch:
    kind = change(batch["kind"].to_numpy())
    return pa.RecordBatch.from_arrays([batch["target"], pa.array(kind), batch["data"]], schema=SENT)


def kinds(rows: list[pa.RecordBatch], kind: int) -> list[pa.RecordBatch]:
    return [batch.filter(pc.equal(batch["kind"], kind)) for batch in rows]


def sent(rows: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return [batch.filter(pc.not_equal(batch["target"], HERE)) for batch in rows]


def local(rows: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    here = (batch.filter(pc.equal(batch["target"], HERE)) for batch in rows)
    return [
        pa.RecordBatch.from_arrays(
            [batch["kind"], pa.array([HERE] * len(batch), pa.int32()), batch["data"]], schema=SENT
        )
        for batch in here
    ]


@pytest.mark.long
def test_random_corpora_in_ranges(kernels: None) -> None:
    assert sum(map(check, range(tries(18, 60)))) > 50


def check(seed: int) -> int:
    """Compare the passages with the definition; return how many there were."""
    rng = random.Random(seed)
    documents = planted(rng)
    source, boilerplate = ("longest", "latest", "first")[seed % 3], rng.choice([0, 2, 3, 5])
    spec = PassageSpec(rng.randrange(2, 13), name_source=source, boilerplate=boilerplate)
    grouped = ("", "within", "across")[seed // 3 % 3]
    old = rng.randrange(1, len(documents)) if len(documents) > 1 and rng.random() < 0.3 else 0
    groups = [rng.choice([None, 1, 2, -3]) for _ in documents]
    cluster = Cluster(spec, grouped, rng.choice([1, 20, 100]), rng.randrange(1, 5), old, rng)
    ranks = rng.sample(range(len(documents)), len(documents))
    found = cluster.passages(
        [" ".join(documents[rank]) for rank in ranks], ranks, [groups[rank] for rank in ranks]
    )
    oracle = Oracle(
        documents,
        spec.words,
        source,
        groups if grouped else None,
        grouped == "across",
        boilerplate,
        old,
    )
    names = ("rank", "start", "end", "words", "source_rank", "source_start", "source_end")
    names += ("origin_rank", "origin_start", "documents", "kind")
    rows = sorted([row[name] for name in names] for row in found)
    of_kind = {"copy": 0, "within": 1, "boilerplate": 2}
    expected = expected_rows(oracle, list(range(len(documents))), 0)
    assert rows == sorted([*row[:10], of_kind[row[10]]] for row in expected), seed
    return len(expected)


@pytest.mark.long
def test_a_template_is_nobodys_list(kernels: None) -> None:
    """However many documents have a text, what a target is sent of it grows with the ranges."""
    template = " ".join(f"t{k}" for k in range(60))
    spec, most = PassageSpec(10), []
    for documents in (400, 1600):
        # As many ranges of four times as many documents.
        cluster = Cluster(spec, "", 60 * documents // 8, 2, 0, random.Random(1))
        found = cluster.passages([template] * documents, list(range(documents)), [None] * documents)
        assert len(found) == documents - 1
        assert {row["documents"] for row in found} == {documents}
        assert {row["words"] for row in found} == {60}
        most.append(cluster.most)
    for shuffle in ("anchors", "sums", "asked"):
        assert most[1][shuffle] < 1.2 * most[0][shuffle], shuffle
