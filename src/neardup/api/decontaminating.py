"""Training documents that contain a test item."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Unpack

import numpy as np
import pyarrow as pa

from neardup.api.progress import show_progress
from neardup.api.removed_documents import check_added, check_out, form_of_removed
from neardup.copies.asked import ContainSpec
from neardup.copies.contained import CLOSEST, Asked, Items, matches_of
from neardup.copies.cuts.records import check_changer
from neardup.copies.cuts.text_cuts import TextCuts
from neardup.corpora.corpus import InputCorpus, naming
from neardup.engines.clock import Clock
from neardup.engines.identifiers import take_ids
from neardup.errors import SpecError
from neardup.files.scratch import Disk, Scratch
from neardup.frame.arguments import expanded, of_specs
from neardup.frame.options import (
    CallOptions,
    FormatOptions,
    OutputOptions,
    Reading,
    another,
)
from neardup.frame.run import Run
from neardup.frame.storage import SOURCE, FolderStorage, MemoryStorage
from neardup.io.outputs import check_output
from neardup.io.remote import local_target
from neardup.io.writers import write_tables
from neardup.memory_plan import plan_decontamination
from neardup.output.clean import CLEAN, REMOVED, Form
from neardup.output.record import about_clock
from neardup.result_record import RECORD
from neardup.spec import ShingleSpec
from neardup.state.output_folder import locked_folder, write_record
from neardup.threads import Pool

if TYPE_CHECKING:
    from neardup.api.corpus_types import Corpus

COMMAND = "decontaminate"
#: Rows that are written at a time.
_ROWS = 1 << 17
#: Files of an output folder.
_MATCHES = (CLEAN, REMOVED, "matches.parquet", "cuts.parquet", RECORD)


class DecontaminateRun(Run[Literal["matches", "cuts"]]):
    """Result of `neardup.decontaminate`."""

    commands = ("decontaminate",)
    tables: ClassVar[Mapping[str, str]] = {"matches": "", "cuts": "give `cut` and `out`"}
    advice = "the table of matches has a row for each"

    @property
    def matches(self) -> pa.Table:
        """A row for each training document and test item that match.

        Columns: ``train_doc``, its position, and ``train_id``; ``test_doc``, ``test_id``; ``by``,
        how they match, which is ``item`` where an item shorter than a shingle was looked for as it
        is; ``containment``, the exact share of the item's shingles that the document has;
        ``passage``, the number of words of the longest run that both have; ``train_start``,
        ``train_end``, ``test_start`` and ``test_end``, its characters; and ``passage_text``, if
        texts were asked for.
        """
        return self._table("matches")

    @property
    def keep_mask(self) -> np.ndarray:
        """bool[n]: training documents that match nothing; with ``cut`` all of them."""
        kept = np.ones(self.summary["counts"]["documents"], dtype=np.bool_)
        if not self.summary["settings"]["cut"]:
            kept[self._table("matches", ["train_doc"]).column(0).to_numpy()] = False
        return kept

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        texts: bool = True,
        max_clusters: int = 300,
        overwrite: bool = False,
    ) -> Path:
        """Write the matches as one page; as for `neardup.AgainstRun`, whose arguments it has."""
        from neardup.views.all_views import write_report
        from neardup.views.view import PageOptions

        options = PageOptions(title, texts, max_clusters)
        return write_report(self, path, options, overwrite, self._storage.inputs)


class DecontaminateOptions(CallOptions, FormatOptions, OutputOptions, total=False):
    """Options of `decontaminate`; those of the test items are for `another`."""

    removed: bool
    test_text: str | Sequence[str] | None
    test_id: str | None
    test_input_format: str | None
    test_delimiter: str | None
    test_reading: Reading


@expanded
@of_specs(ContainSpec)
def decontaminate(
    train: Corpus,
    against: Corpus,
    *,
    by: str = "containment",
    threshold: float = 0.8,
    passage: int | None = None,
    shingle: str | ShingleSpec = "word:5",
    min_words: int = 2,
    cut: bool = False,
    mask: str | None = None,
    texts: bool = False,
    **options: Unpack[DecontaminateOptions],
) -> DecontaminateRun:
    """Find the training documents that contain a test item, exactly.

    The test items are in memory; the training corpus is read once, and again to write the
    clean one. Line breaks never matter: texts are compared word by word.

    Args:
        train: The training corpus, as ``source`` for `neardup.dedup`.
        against: The test items, likewise.
        shingle: Units that are compared, such as ``"word:5"``.
        texts: Give the passages with their text.
        test_text: Column with the text of the test items, or several; as ``text`` by default.
        test_id: Column with their ids; positions without it.
        test_input_format: Format of their files; by the ending of each without it.
        test_delimiter: Delimiter of their CSV files; a comma, or a tab for TSV, by default.
        test_reading: How they are read, instead of these: a `neardup.Reading`. Options of which
            there is none for them are those of the training corpus.
        out: Folder to write to: ``clean`` (training documents without a match),
            ``matches.parquet`` and ``run.json``; with ``cut`` also ``cuts.parquet``.
        removed: Write the documents that match to ``out`` too, as ``removed``: each with the
            ``test_id`` of the item of which it has the highest ``containment``, and that.
        memory: Memory that may be used, in bytes or as text such as ``"4GB"``. Too little is
            refused before the training corpus is read.

    Returns:
        The matches.

    Raises:
        InputError: An input can't be used.
        OutputError: The output folder exists, or can't be written.
        SpecError: A setting is out of range, or the memory does not suffice.

    Examples:
        >>> train = ["some words before one two three four five six and after", "else"]
        >>> found = decontaminate(train, ["One two three\\nfour five six"])
        >>> found.keep_mask.tolist(), found.matches.column("passage").to_pylist()
        ([False, True], [6])
    """
    unit = ShingleSpec.parse(shingle) if isinstance(shingle, str) else shingle
    spec = ContainSpec(by, threshold, passage, unit, min_words, cut, mask)
    asked = Asked(spec.kind, spec.minimum, spec.unit, min_words, texts, cut)
    reading, resources, writing = options["reading"], options["resources"], options["writing"]
    format, removed, threads = writing.format, writing.removed, resources.threads
    if removed and cut:
        raise SpecError("with `cut` no document is removed", "leave it out")
    writing.require_out()
    clock, folder = Clock(), None if writing.out is None else local_target(writing.out)
    with ExitStack() as holding:
        write = None
        if folder is not None:
            write = holding.enter_context(locked_folder(folder, writing.overwrite, _MATCHES))
        corpus = InputCorpus.open(train, reading)
        check_output(corpus.reader.source, format)
        if cut:
            check_changer(corpus.reader.source)
        if removed:
            check_added(corpus, format, CLOSEST)
        how_items, allowed = another(reading, options, "test_", "text"), resources.bytes
        with naming("test_"):
            items = InputCorpus.open(against, how_items)
            size = items.workload(1, asked.shingle).text
        if folder is not None:
            check_out(folder, corpus, items)
        plan = plan_decontamination(corpus.workload(threads, asked.shingle), size, allowed)
        if allowed is not None:
            plan.check()
            threads, corpus.check = plan.threads, plan.check_read
        scratch = Scratch(plan.arrays, Disk(None if folder is None else folder.path.parent))
        with show_progress(resources.progress), Pool(threads) as pool:
            with naming("test_"):
                prepared = Items(items, asked, pool)
            found = matches_of(corpus, items, prepared, scratch)
        corpus.ids(scratch)
        kept = np.ones(corpus.documents, dtype=np.bool_) if cut else ~found.contaminated
        ends = found.cut.documents_in(scratch), found.cut.start, found.cut.end
        noted = scratch.empty((len(found.cut.start), 4), np.int64)
        cuts = TextCuts(corpus, *ends, kept, noted, mask or "", asked.shingle.nfkc)
        counts = {
            "documents": len(kept),
            "skipped": corpus.skipped,
            "kept": int(kept.sum()),
            "removed": int(len(kept) - kept.sum()),
            "contaminated": found.counts.contaminated,
            "only_by_short_items": found.counts.only_short,
            "test_items": items.documents,
            "test_items_found": found.counts.items_found,
            "test_items_shorter_than_a_shingle": prepared.short,
            "test_items_too_short": prepared.too_short,
            "matches": found.counts.matches,
            "cut_words": int(found.cut.words.sum()),
        }
        settings = {
            "by": asked.by,
            "threshold": None if passage else threshold,
            "shingle": str(asked.shingle),
            "min_words": min_words,
            "cut": cut,
            "mask": mask,
        }
        about = {"settings": settings, "counts": counts, "test_files": found.counts.by_file()}
        about["notes"] = [*corpus.text_notes(), *items.text_notes("test corpus")]
        about["frequent_items"] = found.counts.frequent_items(prepared, len(kept))
        about |= corpus.record(format=format, removed=removed)
        source = corpus.input()
        if folder is None or write is None:
            about = {"command": COMMAND, **about, **about_clock(clock)}
            tables = {"matches": found.table}
            return DecontaminateRun(MemoryStorage(about, tables, {SOURCE: source}))
        form = Form(format, changing=cuts.changing() if cut else None)
        with write() as made, Pool(threads) as pool:
            with clock.stage("write clean corpus", len(kept)):
                corpus.write(kept, made / CLEAN, form, pool)
            if removed:
                with clock.stage("write removed documents", len(kept)):
                    rows = np.flatnonzero(found.contaminated)
                    of_removed = form_of_removed(format, found.closest, rows)
                    corpus.write(~kept, made / REMOVED, of_removed, pool)
            with clock.stage("write tables"):
                write_tables(made / "matches.parquet", _slices(found.table))
                if cut:
                    kept_ids = take_ids(corpus.ids(), np.arange(len(kept)))
                    write_tables(made / "cuts.parquet", cuts.tables(kept_ids))
            record = write_record(made, COMMAND, about | about_clock(clock))
    return DecontaminateRun(FolderStorage(folder, record, source))


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    """Yield a table, some rows at a time: a row group of it takes memory while it is written."""
    for low in range(0, max(1, table.num_rows), _ROWS):
        yield table.slice(low, _ROWS)
