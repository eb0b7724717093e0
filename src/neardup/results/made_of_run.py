"""The results of a run: tables, kept and removed documents, and its record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from neardup.deduplication.local import Outcome
from neardup.errors import SpecError
from neardup.frame.command import Command, Each, Made, TableParts
from neardup.frame.inputs import Input
from neardup.frame.storage import SOURCE
from neardup.io.outputs import check_output
from neardup.io.source import Source
from neardup.options.option_groups import TABLE_FORMATS, Writing
from neardup.output import tables
from neardup.output.clean import CLEAN, REMOVED, CleanCorpus, Form
from neardup.output.record import about_run
from neardup.threads import Pool

#: The table of texts that documents were compared without.
BOILERPLATE = "boilerplate"
_TABLES = (*tables.TABLES, BOILERPLATE)
DEDUP = Command("dedup", "read and sketch", _TABLES, (CLEAN, REMOVED), TABLE_FORMATS, resumes=True)


@contextmanager
def made_of(outcome: Outcome, writing: Writing, **more: Any) -> Iterator[Made]:
    """Give all that is written of a run; ``more`` are further members of its record."""
    names = ["clusters"]
    names += [] if outcome.order is None else ["order"]
    names += [] if outcome.answer.edges is None else ["edges"]
    names += [] if outcome.answer.in_clusters is None else ["pair_counts"]
    job, state = outcome.job, outcome.job.state
    made = {name: _table(outcome, name) for name in names}
    if job.boilerplate is not None:
        made[BOILERPLATE] = TableParts(partial(_given, job.boilerplate))
    with Pool(outcome.threads) as pool:
        yield Made(
            made,
            lambda: about_run(outcome) | ({} if state is None else {"disk": state.size()}) | more,
            pool,
            {step: _corpus(outcome, writing, pool, step) for step in _corpora(writing)},
            inputs={SOURCE: Input(outcome.reader, outcome.corpus.ends, job.input.how)},
            state=outcome,
        )


def _given(table: pa.Table, each: Each) -> Iterator[pa.Table]:
    yield table


def _table(outcome: Outcome, name: str) -> TableParts:
    schema = tables.schema_of(outcome, name)
    # In few columns do values repeat often enough for a dictionary.
    varied = tuple(column for column in schema.names if column not in ("file", "how"))
    # One part is made while another one is written; more of them would take memory.
    return TableParts(partial(tables.tables_of, outcome, name), schema, varied, 2)


def _corpora(writing: Writing) -> list[str]:
    return [CLEAN] * writing.clean + [REMOVED] * writing.removed


def _corpus(outcome: Outcome, writing: Writing, pool: Pool, step: str) -> CleanCorpus:
    """Return what writes the kept documents, or the removed ones."""
    corpus, kept = outcome.corpus, outcome.answer.duplicate_of < 0
    chosen, names = kept | writing.annotate, _added(writing, step)
    return CleanCorpus(
        outcome.reader,
        [(file, start) for file, start, _ in corpus.partitions],
        corpus.ends,
        chosen if step == CLEAN else ~kept,
        Form(
            writing.format,
            writing.compression,
            tables.adding(outcome, names) if names else None,
            tables.added_schema(outcome, names) if names else None,
        ),
        pool,
    )


def _added(writing: Writing, step: str) -> Sequence[str]:
    """Return the columns that are added to a corpus that is written."""
    if step == REMOVED:
        return tables.OF_REMOVED
    return tables.ADDED if writing.annotate else ()


def check_writing(writing: Writing, source: Source) -> None:
    """Refuse an output that can't be written, before any work is done."""
    if writing.annotate and not writing.clean:
        raise SpecError(
            "`annotate` is for the clean corpus, and none is written",
            "leave out one of `annotate` and `clean`=False",
        )
    if writing.compression is not None and not (writing.clean or writing.removed):
        raise SpecError("`compression` is for the clean corpus, and none is written")
    for step in _corpora(writing):
        fields: list[pa.Field[Any]] = [pa.field(name, pa.int64()) for name in _added(writing, step)]
        added = pa.schema(fields) if fields else None
        check_output(source, writing.format, added, writing.compression)
