"""Passages by the tasks of Spark in one process, next to the search of one machine.

    python bench/exchange.py [--documents N] [--words L] [--ranges R]

Would one search, as tasks over an exchange of rows, do for both? The tasks are those of Spark; the
exchange is a dictionary, which costs less than files or a network would. Processor time of one
thread, the second of two calls.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

import neardup
from neardup.copied_passages.on_spark import anchor_tasks, passage_tasks, run_tasks
from neardup.copied_passages.on_spark.packing import HERE
from neardup.copied_passages.passage_spec import PassageSpec
from neardup.synth import demo_notes

#: Tokens of other ranges that a share of a range may ask for.
_LIMIT = 1 << 22


class Exchange:
    """Rows of kind and bytes, by the target that they are for."""

    def __init__(self, batches: Iterable[pa.RecordBatch] = ()) -> None:
        self.rows: dict[int, list[tuple[int, Any]]] = defaultdict(list)
        for batch in batches:
            columns = (batch[name].to_pylist() for name in ("target", "kind"))
            for target, kind, data in zip(*columns, batch["data"], strict=True):
                # What a task leaves where it is names its own target by the kind.
                at, of = (kind, HERE) if target == HERE else (target, kind)
                self.rows[at].append((of, data.as_buffer()))

    def of_kind(self, kind: int, named: int) -> Exchange:
        """Return the rows of a kind, as those of another one."""
        found = Exchange()
        for target, rows in self.rows.items():
            found.rows[target] = [(named, data) for of, data in rows if of == kind]
        return found

    def without_local(self) -> Exchange:
        found = Exchange()
        for target, rows in self.rows.items():
            found.rows[target] = [row for row in rows if row[0] != HERE]
        return found

    def and_those(self, other: Exchange) -> Exchange:
        found = Exchange()
        for each in (self, other):
            for target, rows in each.rows.items():
                found.rows[target] += rows
        return found

    def doubled(self) -> Exchange:
        found = Exchange()
        for target, rows in self.rows.items():
            found.rows[target] = [(2 * kind, data) for kind, data in rows]
        return found

    def batches(self) -> Iterator[pa.RecordBatch]:
        for target, rows in sorted(self.rows.items()):
            if rows:
                rows = sorted(rows, key=lambda row: row[0])
                columns = [
                    pa.array([target] * len(rows), pa.int32()),
                    pa.array([kind for kind, _ in rows], pa.int32()),
                    pa.array([data.to_pybytes() for _, data in rows], pa.binary()),
                ]
                yield pa.RecordBatch.from_arrays(columns, names=["target", "kind", "data"])


def sent(task: Callable[..., Any], rows: Exchange, **given: Any) -> Exchange:
    """Return the rows that a task makes of others."""
    return Exchange(task(rows.batches(), **given))


def by_tasks(path: Path, words: int, ranges: int) -> int:
    """Return the number of passages; the stages are those of `neardup.spark.passages`."""
    spec = PassageSpec(words)
    texts = pj.read_json(path, pj.ReadOptions(block_size=8 << 20)).select(["text"])
    texts = texts.append_column("rank", pa.array(np.arange(len(texts))))
    anchors = list(anchor_tasks.anchors(texts.to_batches(), spec.shingle, words))
    tokens = np.concatenate([batch["tokens"].to_numpy() for batch in anchors]).astype(np.int64)
    cuts = np.arange(1, ranges) * tokens.sum() / ranges
    borders = np.unique(np.append(0, np.searchsorted(np.cumsum(tokens), cuts)))
    keys = Exchange(anchor_tasks.by_range(anchors, borders))
    spread = sent(anchor_tasks.share_anchors, keys, shares=2 * ranges)
    again = sent(anchor_tasks.repeated_anchors, spread.without_local())
    marked = spread.of_kind(HERE, HERE).and_those(again)
    marks = {}
    for batch in anchor_tasks.marks(marked.batches()):
        marks.update(zip(batch["rank"].to_pylist(), batch["marks"].to_pylist(), strict=True))
    column = pa.array([marks.get(rank, b"") for rank in range(len(texts))], pa.binary())
    second = texts.append_column("marks", column).to_batches()
    runs = Exchange(run_tasks.runs(second, spec.shingle, words, borders))
    rule = run_tasks.SparkRule(words)
    given = runs.of_kind(run_tasks.RUNS, run_tasks.RUNS)
    sums = sent(run_tasks.sum_up, given, rule=rule, shares=2 * ranges)
    before = sent(run_tasks.before_each, sums.without_local(), rule=rule)
    both = sums.of_kind(HERE, HERE).and_those(before)
    segments = sent(run_tasks.segments, both, rule=rule)
    cut: dict[str, Any] = {"borders": borders, "limit": _LIMIT, "old": 0}
    asked = sent(passage_tasks.requests, segments, **cut)
    answered = sent(passage_tasks.answers, segments.and_those(asked))
    found = sent(passage_tasks.passages, segments.and_those(answered), spec=spec, **cut)
    spans = runs.of_kind(run_tasks.SPANS, HERE)
    asked = sent(passage_tasks.ask_characters, found, borders=borders)
    characters = sent(passage_tasks.characters, spans.and_those(asked))
    rows = found.doubled().and_those(characters)
    return sum(map(len, passage_tasks.rows_of_passages(rows.batches(), spec)))


def on_one_machine(path: Path, words: int, ranges: int) -> int:
    run = neardup.passages(path, words=words, threads=1, progress=False)
    return len(run.passages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=25)
    parser.add_argument("--ranges", type=int, default=8)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "notes.jsonl"
        demo_notes.write(demo_notes.NoteSpec(args.documents), path)
        for search in (on_one_machine, by_tasks):
            search(path, args.words, args.ranges)  # compiles and loads kernels
            begin = time.process_time()
            count = search(path, args.words, args.ranges)
            print(f"{search.__name__}: {count:,} passages, {time.process_time() - begin:.2f} s")


if __name__ == "__main__":
    main()
