"""The outputs of a run: which tables go into which files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neardup.run import tables
from neardup.run.ids import ids_of
from neardup.run.job import Job
from neardup.run.outputs import Output, write_outputs
from neardup.run.pipeline import Outcome
from neardup.run.record import record

__all__ = ["write"]


def write(job: Job, outcome: Outcome, out: Path, format: str, compression: str) -> dict[str, Any]:
    """Write clusters, edges, the clean corpus and ``run.json``; return what the latter holds.

    Args:
        job: What the run was given.
        outcome: What it found.
        out: Folder to make.
        format, compression: Of the clean corpus.

    Raises:
        InputError: The source is no longer what it was.
        OutputError: The disk is full, or the folder can't be written to.
    """
    job.corpus.check_unchanged()
    stages = job.stages
    ids = ids_of(outcome.facts, job.corpus.id_column)
    begin = time.perf_counter()
    written: dict[str, Any] = {}
    edges = 0
    with stages.stage("write", outcome.totals["kept"]) as advance:

        def clean(skip: int) -> Iterator[Any]:
            advance(skip)
            for table in tables.clean_tables(outcome, job.threads, skip):
                yield table
                advance(len(table))

        def counted(_: int) -> Iterator[Any]:
            nonlocal edges
            for table in tables.edges_tables(outcome, ids, job.spec.pairs == "all"):
                edges += len(table)
                yield table

        def finished(sizes: dict[str, int]) -> dict[str, Any]:
            # The clock of the stage still runs while its time is written down.
            stages.sizes["write"] = sum(sizes.values())
            written.update(record(outcome, job, edges))
            written["seconds"]["write"] = round(time.perf_counter() - begin, 4)
            return written

        write_outputs(
            out,
            [
                # What is said of the whole input need not be true of a part of it.
                Output(
                    "clean",
                    tables.clean_schema(outcome).remove_metadata(),
                    clean,
                    format,
                    compression,
                    checkpoint=max(64 << 20, (job.corpus.total_bytes or 0) // 2048),
                ),
                Output(
                    "clusters",
                    tables.clusters_schema(ids),
                    lambda _: tables.clusters_tables(outcome, ids),
                ),
                Output("edges", tables.edges_schema(ids), counted),
            ],
            finished,
            job.folder,
        )
    return written
