"""Boilerplate of a corpus whose documents are compared without it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import pyarrow as pa

from neardup.copied_passages.finding import Inputs
from neardup.copied_passages.passage_spec import CutSpec, PassageSpec
from neardup.copied_passages.passage_steps import PassageSteps
from neardup.copied_passages.result import make
from neardup.copied_passages.work import Work
from neardup.corpora.corpus import InputCorpus
from neardup.deduplication.job import Job
from neardup.deduplication.reading import Reader
from neardup.frame.command import Means
from neardup.threads import Pool

#: Step of the run state, which has the table.
_STEP = "boilerplate"


def without_boilerplate(job: Job, means: Means) -> tuple[Job, Reader]:
    """Return a job that compares its documents without their boilerplate, and its reader.

    All runs of words of `PassageSpec` that are in so many documents as the spec says become stop
    passages. The table of them is stored with the state of the run.
    """
    corpus, state = InputCorpus(job.source, job.input.how), means.state
    if state is not None and state.done(_STEP):
        table = pa.ipc.open_stream(pa.py_buffer(state.get(_STEP, 0))).read_all()
    else:
        table = _found(job, corpus, means)
        if state is not None:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            state.put(_STEP, 0, sink.getvalue().to_pybytes())
    texts: list[Any] = table.column("text").to_pylist()
    found = (text.strip() for text in texts)
    passages = (*job.spec.shingle.stop_passages, *(text for text in found if text))
    spec = job.spec.replace(stop_passages=tuple(dict.fromkeys(passages)))
    return replace(job, spec=spec, asked=job.spec, boilerplate=table), corpus.reader


def _found(job: Job, corpus: InputCorpus, means: Means) -> pa.Table:
    shingle, inputs = job.spec.shingle, Inputs(corpus)
    # Passages are ignored word by word, before stems and other forms of characters.
    spec = PassageSpec(
        boilerplate=job.spec.boilerplate,
        keep_case=shingle.keep_case,
        ignore=shingle.ignore,
        stop_passages=shingle.stop_passages,
    )
    resources = job.resources
    steps = PassageSteps(inputs, spec, CutSpec(), memory=resources.bytes, threads=resources.threads)
    steps.check()
    memory, threads = steps.resources()
    folder = None if means.state is None else means.state.scratch_folder(_STEP)
    is_limit = resources.bytes is not None
    with Pool(threads) as pool:
        work = Work(pool, means.clock, memory, folder, private=means.peak, is_limit=is_limit)
        with closing(work), inputs.unchanged():
            made = make(inputs, spec, CutSpec(), work)
            return pa.concat_tables(made.tables[_STEP](map))
