"""All that is made of an input: tables, cuts, and the corpus without its copied words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.copied_passages import copy_tables as tables
from neardup.copied_passages.building import bridges, largest_sources
from neardup.copied_passages.copy_tables import DocumentTable
from neardup.copied_passages.cuts import stretches as st
from neardup.copied_passages.cuts.text_cuts import TextCuts
from neardup.copied_passages.finding import FoundPassages, Inputs, find
from neardup.copied_passages.offsets import Offsets
from neardup.copied_passages.passage_spec import CutSpec, PassageSpec
from neardup.copied_passages.repeated.equal_rows import in_order, order_of
from neardup.copied_passages.step_before import step_before
from neardup.copied_passages.work import Work
from neardup.files.scratch import Scratch
from neardup.frame.command import Command, Each, Made, TableParts
from neardup.frame.storage import OLD, SOURCE
from neardup.io.source import changed
from neardup.kernels.passages.following import last_sources
from neardup.options.option_groups import TABLE_FORMATS
from neardup.output.clean import CLEAN, CleanCorpus, Form
from neardup.sketch.tokenising import Tokeniser

#: The table that has most rows.
_LARGEST = "passages"
PASSAGES = Command(
    "passages",
    "find anchors",
    (_LARGEST, "documents", "boilerplate", "cuts", "by_value", "by_year", "by_month"),
    (CLEAN,),
    TABLE_FORMATS,
    resumes=True,
)
#: Columns that are added to each document; ``copied_from`` has the type of the ids.
_TYPES: dict[str, pa.DataType] = {
    "words": pa.int64(),
    "copied_share": pa.float64(),
    "copied_from": pa.int64(),
}
ADDED = pa.schema(_TYPES)
#: Columns of the tables of totals, next to those whose values they are by.
TOTALS = {"documents", "words", "copied_words", "boilerplate_words"}
#: Stretches that are looked at together.
_STEP = 1 << 18
#: Values of a column of which the totals are listed.
_VALUES = 1000


@dataclass
class Result:
    """Passages of a corpus, and how it is cut.

    Attributes:
        inputs: The corpus.
        tables: Each yields a table, some rows at a time, see ``docs/formats.md``. They take what
            calls a function with many values, in order: perhaps in threads.
        record: Values of ``run.json``.
    """

    inputs: Inputs
    spec: PassageSpec
    cutting: CutSpec
    tables: dict[str, Callable[[Each], Iterator[pa.Table]]]
    record: dict[str, Any]
    stretches: st.Stretches
    kept: np.ndarray  # bool[documents]
    documents: DocumentTable
    scratch: Scratch

    @functools.cached_property
    def cuts(self) -> TextCuts:
        """The cuts of the documents."""
        position, old = self.stretches.position, np.uint64(self.inputs.old_documents)
        of = self.scratch.empty(len(position), np.int64)
        for low in range(0, len(position), _STEP):
            of[low : low + _STEP] = (position[low : low + _STEP] >> np.uint64(32)) - old
        ends = self.stretches.start, self.stretches.end
        found = self.scratch.empty((len(position), 4), np.int64)
        mask = self.cutting.mask or ""
        return TextCuts(self.inputs.new, of, *ends, self.kept, found, mask, self.spec.nfkc)

    def form(self, format: str | None, compression: str | None, work: Work) -> Form:
        """Return how the corpus is written."""
        adding = added = changing = None
        if self.cutting.annotate:
            adding = self.annotations
            added = adding(np.empty(0, np.int64)).schema

        if self.cutting.cuts:
            changing = self.cuts.changing()
        return Form(format, compression, adding, added, changing)

    def annotations(self, positions: np.ndarray) -> pa.Table:
        """Return the columns that are added to some documents, int64[]: their positions."""
        found = self.documents.of(positions).select(["words", "copied_share", "source_id"])
        return found.rename_columns(ADDED.names)

    def clean_corpus(self, format: str | None, compression: str | None, work: Work) -> CleanCorpus:
        """Return what writes the corpus."""
        form = self.form(format, compression, work)
        return self.inputs.new.chosen(self.kept, form, work.pool)

    def written(self, format: str | None, compression: str | None, work: Work) -> Made:
        """Return all that is written: the corpus first, since it notes the cuts."""
        corpora, inputs = {}, {SOURCE: self.inputs.new.input()}
        if self.cutting.writes:
            corpora[CLEAN] = self.clean_corpus(format, compression, work)
        if self.inputs.old is not None:
            inputs[OLD] = self.inputs.old.input()
        return Made(
            {name: TableParts(parts) for name, parts in self.tables.items()},
            lambda: self.record,
            work.pool,
            corpora,
            _LARGEST,
            inputs,
        )


def make(
    inputs: Inputs,
    spec: PassageSpec,
    cutting: CutSpec,
    work: Work,
    by: Sequence[str] = (),
    texts: bool = True,
) -> Result:
    """Find the passages of a corpus, and decide which words are cut.

    Args:
        inputs: The corpus.
        spec: What counts as copied.
        cutting: Treatment of the copied words.
        work: Threads and memory.
        by: Columns by whose values totals are listed.
        texts: Whether the table of boilerplate has its texts.
    """
    found = find(inputs, spec, work)
    old, tokeniser = inputs.old_documents, Tokeniser(spec.shingle, work.arrays.empty)
    stretches = st.no_stretches()
    # Else no two words share a character.
    changes = (spec.nfkc or spec.strip_accents) and cutting.whole is None
    if cutting.cuts:
        stretches = st.stretches_of(found, cutting, work.scratch)
    sources = partial(largest_sources, found.passages, len(found.tokens), work.scratch)
    largest = work.pool.submit(sources)
    stage = work.clock.stage("find characters", len(found.tokens))
    with inputs.unchanged(), stage as advance:
        keys = chain.from_iterable(batch.asked() for batch in tables.rows_of(found))
        total = tables.ASKED * len(found.passages.position) + 2 * len(stretches.words)
        beside: Iterator[np.ndarray] = iter(())
        if changes:
            beside = (asked for _, asked in st.keys_beside(stretches, found))
            total += 2 * len(stretches.words)
        asked = chain(keys, st.keys_of(stretches), beside)
        offsets = Offsets(asked, total, work.scratch, work.pool)
        offsets.fill(inputs, tokeniser, advance)
        if offsets.values.min(initial=0) < 0:  # of a word that is not there any more
            raise changed("the input")
        if cutting.whole is not None:
            stretches = st.complete_units(stretches, cutting.whole, inputs, found, tokeniser, work)
        else:
            stretches = st.with_characters(stretches, offsets, work.scratch)
            if changes:
                stretches = st.without_shared(
                    stretches, offsets, inputs, found, tokeniser, work.pool
                )
    if cutting.cuts and (spec.ignore or spec.stop_passages):
        found.notes.append(
            "text that was ignored is cut with the copied words around it, though it may stand "
            "nowhere else"
        )
    dropped = st.dropped_documents(found, stretches, cutting, old)
    lost = _lost_words(found, stretches, dropped, cutting, old, work)
    with work.clock.stage("make tables"):
        bridged = None
        if spec.bridge:
            bridged = bridges(found.passages, spec.bridge, work.scratch)
        documents = tables.DocumentTable(found, inputs, spec, ~dropped, largest.result(), bridged)
    made: dict[str, Callable[[Each], Iterator[pa.Table]]] = {"documents": documents.every}
    if spec.boilerplate:
        given = found, offsets, inputs, texts
        made["boilerplate"] = lambda each: tables.boilerplate_table(*given)
    counts = tables.counts_of(found, ~dropped, bool(spec.boilerplate))
    counts |= {
        "old_documents": old,
        **inputs.new.skipped.counts(),
        "cut_words": st.words_of_kept(stretches, dropped, old),
        "dropped": int(dropped.sum()),
    }
    if cutting.drops and cutting.cuts:
        counts["cut_words_left_nowhere"] = lost
        if lost:
            found.notes.append(
                f"{lost:,} words that were cut stand nowhere any more, since the documents that "
                "have them are left out; `keep_sources` keeps these"
            )
    record = {
        **inputs.new.about_outputs(clean=cutting.writes, annotate=cutting.annotate),
        "against": None if inputs.old is None else inputs.old.record(inputs.old.ends)["source"],
        "step_before": step_before(inputs),
        "spec": vars(spec) | {"by": list(by)},
        "cut": vars(cutting),
        "counts": counts,
        "notes": found.notes,
        "temporary_bytes": work.disk.most,
    }

    kept = ~dropped
    result = Result(inputs, spec, cutting, made, record, stretches, kept, documents, work.scratch)
    totals: dict[str, pa.Table] = {}
    if by:
        totals["by_value"] = _totals(inputs, by, documents)
        record["by_value"] = _first(totals["by_value"], by)
    if spec.order is not None:
        times = _times(inputs, spec.order.column, documents)
        record |= {name: table.to_pylist() for name, table in times.items()}
        totals |= times
    for name, table in totals.items():
        made[name] = partial(_one, table)
    if cutting.cuts:
        new_ids, _ = tables.ids_of(inputs)
        made["cuts"] = lambda each: result.cuts.tables(new_ids)
    made[_LARGEST] = lambda each: tables.PassageTable(found, offsets, inputs, bridged).every(each)
    work.clock.tell("passages", found.notes)
    return result


def _lost_words(
    found: FoundPassages,
    stretches: st.Stretches,
    dropped: np.ndarray,
    cutting: CutSpec,
    old: int,
    work: Work,
) -> int:
    """Count cut words whose only occurrence is left out; with ``keep_sources`` keep it."""
    if not (cutting.cuts and dropped.any()):
        return 0
    by_number = np.zeros(len(found.tokens), np.bool_)
    by_number[found.numbers[old:]] = dropped
    position, sizes = _by_number(found, stretches, work)
    lost = np.zeros(len(found.tokens), np.int64)
    needed = np.zeros(len(found.tokens), np.bool_)
    passages = found.passages
    columns = passages.position, passages.words, passages.source, passages.common
    while True:
        lost[:] = 0
        needed[:] = False
        last_sources(*columns, position, sizes, by_number, lost, needed)
        if not (cutting.keep_sources and needed.any()):
            break
        by_number[needed] = False  # their own cut words have to stand somewhere too
    dropped[:] = by_number[found.numbers[old:]]
    return int(lost.sum())


def _by_number(
    found: FoundPassages, stretches: st.Stretches, work: Work
) -> tuple[np.ndarray, np.ndarray]:
    """Return position, by number of the document, and words of stretches, ascending."""
    count, allocate = len(stretches.position), work.arrays.empty
    position = allocate(count, np.dtype(np.uint64))
    for low in range(0, count, _STEP):
        part = stretches.position[low : low + _STEP]
        document = found.numbers[(part >> np.uint64(32)).astype(np.int64)].astype(np.uint64)
        position[low : low + _STEP] = document << np.uint64(32) | part & np.uint64(0xFFFFFFFF)
    order = order_of(position, allocate, _STEP)
    return in_order(position, order, allocate), in_order(stretches.words, order, allocate)


def _one(table: pa.Table, each: Each) -> Iterator[pa.Table]:
    yield table


def _totals(inputs: Inputs, by: Sequence[str], documents: DocumentTable) -> pa.Table:
    """Return the totals by the values of columns, those with most words first."""
    columns = [inputs.new.column(name) for name in by]
    found = _sums(by, columns, lambda values: values.cast(pa.large_string()), documents)
    return found.sort_by([("words", "descending"), *((name, "ascending") for name in by)])


def _first(found: pa.Table, by: Sequence[str]) -> list[dict[str, Any]]:
    """Return the first totals, and the sums of the others."""
    sums = [name for name in found.column_names if name not in by]
    rows = [
        {"values": [row[name] for name in by], **{name: row[name] for name in sums}}
        for row in found.slice(0, _VALUES).to_pylist()
    ]
    if found.num_rows > _VALUES:
        rest = found.slice(_VALUES)
        of_rest = {name: pc.sum(rest.column(name)).as_py() for name in sums}
        rows.append({"others": rest.num_rows, **of_rest})
    return rows


def _times(inputs: Inputs, name: str, documents: DocumentTable) -> dict[str, pa.Table]:
    """Return the totals by year and by month, where the column of the order has dates."""
    column: Any = inputs.new.column(name)
    if pa.types.is_temporal(column.type) and not pa.types.is_time(column.type):

        def text(values: Any) -> Any:
            return pc.strftime(values, "%Y-%m")

    elif pa.types.is_large_string(column.type) or pa.types.is_string(column.type):
        if pc.any(pc.invert(pc.match_substring_regex(column, r"^\d{4}-\d\d"))).as_py():
            return {}

        def text(values: Any) -> Any:
            return pc.utf8_slice_codeunits(values, 0, 7)

    else:
        return {}
    months = _sums(["month"], [column], text, documents).sort_by("month")
    years = months.append_column("year", pc.utf8_slice_codeunits(months.column("month"), 0, 4))
    found = {"by_year": _added(["year"], years.drop_columns("month")), "by_month": months}
    return {unit: rows.sort_by(unit[3:]) for unit, rows in found.items()}


def _sums(
    names: Sequence[str],
    columns: Sequence[Any],
    values_of: Callable[[Any], Any],
    documents: DocumentTable,
) -> pa.Table:
    """Return the sums of `DocumentTable.sizes` by values; ``columns`` have a row a document."""
    found, first = [], 0
    for table in documents.sizes():
        rows = table.num_rows
        for name, column in zip(names, columns, strict=True):
            table = table.append_column(name, values_of(column.slice(first, rows)))
        first += rows
        found.append(_added(names, table))
    return _added(names, pa.concat_tables(found))


def _added(names: Sequence[str], table: pa.Table) -> pa.Table:
    sums = [each for each in table.column_names if pa.types.is_int64(table.field(each).type)]
    found = table.group_by(list(names)).aggregate([(each, "sum") for each in sums])
    selected = found.select([*names, *(f"{each}_sum" for each in sums)])
    return selected.rename_columns([*names, *sums])
