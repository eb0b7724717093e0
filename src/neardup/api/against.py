"""New documents of a batch against an old corpus."""

from __future__ import annotations

import dataclasses
import functools
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import numpy as np
import pyarrow as pa

from neardup.api.dedup import make_spec, with_signs
from neardup.api.finished.documents_run import DocumentsRun
from neardup.api.indexes.index_folders import settings_of_run
from neardup.api.indexes.indexing import Index
from neardup.api.indexes.old_corpora import about_old, is_corpus, old_texts, open_corpus, opened_old
from neardup.api.progress import show_progress
from neardup.cluster.methods import counts_of
from neardup.corpora.against_index import OldIndex, decide
from neardup.corpora.corpus import InputCorpus, naming
from neardup.corpora.decided import Decided
from neardup.corpora.old_documents import EarlierDocuments
from neardup.corpora.old_first import Both
from neardup.corpora.old_texts import OldTexts, of_corpus, of_index, of_run
from neardup.corpora.removed_documents import check_added, form_of_removed
from neardup.corpora.stop_passages import ignored
from neardup.deduplication.clock import Clock
from neardup.deduplication.job import Job, needed_columns
from neardup.errors import InputError, SpecError
from neardup.frame.command import Command, Made, Means, Request, Steps, TableParts
from neardup.frame.execute import execute
from neardup.frame.storage import SOURCE
from neardup.inspect.pair_texts import pairs_of_batch
from neardup.io.opening import accepted, given_paths
from neardup.io.outputs import check_output
from neardup.memory_plan import MemoryPlan, plan_against
from neardup.options.arguments import by_preset, expanded, is_given
from neardup.options.how_read import OpenInput, how_read
from neardup.options.option_groups import (
    CallOptions,
    FormatOptions,
    OldOptions,
    OutputOptions,
    PageFormOptions,
    Resources,
    ResumeOptions,
    Writing,
    another,
)
from neardup.output.clean import CLEAN, REMOVED, CleanCorpus, Form
from neardup.results.results import Results
from neardup.sketch.bands import recipe_for
from neardup.spec import ShingleSpec, Spec, check_similarity
from neardup.stages.exact import counts_of_kinds
from neardup.state.about_work import bands_of
from neardup.state.run_state import RunState
from neardup.threads import Pool
from neardup.values.json_values import JSON

if TYPE_CHECKING:
    from neardup.api.corpus_types import Corpus, OldCorpus

AGAINST = Command("dedup --against", "begin", ("clusters", "matches"), (CLEAN, REMOVED))
#: Columns that removed documents have.
_ADDED = ["duplicate_of", "similarity", "in_old"]
#: Options of an old corpus that are those of the new one where they are not given.
_AS_NEW = ("text", "id", "delimiter", "sheet", "header_row", "skip_large")


class AgainstRun(DocumentsRun[Literal["clusters", "duplicates", "matches"]]):
    """Result of `neardup.against`: the tables and the kept documents of a run.

    ``clusters`` has a column more, ``in_old``: whether ``duplicate_of`` is the id of a document of
    the old corpus; then ``cluster`` is null. What needs the texts of the old corpus is not there.
    """

    commands = (AGAINST.name,)
    tables: ClassVar[Mapping[str, str]] = {
        "clusters": "",
        "duplicates": "",
        "matches": "give `old_only`",
    }
    advice = (
        "the old corpus is not in it; run neardup dedup over both corpora for this, or write it "
        "with `out`"
    )
    #: Opens the texts of the old corpus, where this process has it.
    _old: Callable[[], OldTexts] | None = None

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        where = "" if self.path is None else f" in {self.path}"
        return (
            f"<AgainstRun{where}: {counts['documents']:,} documents, {counts['kept']:,} kept, "
            f"{counts['similar_to_old']:,} similar to the old corpus, "
            f"{counts['similar_within']:,} within>"
        )

    @property
    def matches(self) -> pa.Table:
        """With ``old_only``: ``doc``, ``doc_id``, ``old_id``, ``similarity`` of all similar pairs.

        Raises:
            SpecError: It was not asked for.
        """
        return self._table("matches")

    def pairs(self, *, texts: bool = True) -> pa.Table:
        """Return pairs next to each other, for a person who goes through them.

        With ``old_only`` they are the matches; else each removed document, ``id_b``, and the one
        that it is a duplicate of, ``id_a``. All of them are in memory; ``neardup pairs`` writes
        them one by one.

        Args:
            texts: Add both texts, which are read again.

        Returns:
            ``id_a``, ``id_b``, ``similarity``, ``in_old`` (whether ``id_a`` is of the old corpus)
            and, with ``texts``, ``text_a`` and ``text_b``.

        Raises:
            InputError: The batch is gone or has changed.

        Warns:
            UserWarning: The texts of the old corpus can't be read again, and are null.
        """
        return pa.concat_tables(self._pairs(texts, warnings.warn))

    def _pairs(self, texts: bool, note: Callable[[str], object]) -> Iterator[pa.Table]:

        with ExitStack() as opened:
            old: OldTexts | None = None
            if texts:
                try:
                    old = self._old() if self._old else old_texts(self.summary["old"], opened)
                except InputError as error:
                    note(f"the texts of the old corpus can't be read again: {error}")
            yield from pairs_of_batch(self._results, texts, old)

    @expanded
    def report(
        self,
        path: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        **options: Unpack[PageFormOptions],
    ) -> Path:
        """Write the result as one page that opens in any browser.

        Args:
            path: File to write; only its owner can read it.
            show: As for `DedupRun.report`.

        Returns:
            The path.

        Raises:
            InputError: The input is gone or has changed, and texts are wanted.
            OutputError: The file exists, or can't be written.
        """
        from neardup.views.all_views import write_report
        from neardup.views.view import PageOptions

        how = PageOptions(options["page"], show)
        return write_report(self, path, how, self._results.inputs)


class AgainstOptions(
    CallOptions, FormatOptions, OutputOptions, ResumeOptions, OldOptions, total=False
):
    """Options of `against`; those of the old corpus are for `another`."""

    removed: bool


@expanded
def against(
    new: Corpus,
    old: OldCorpus,
    *,
    old_only: bool = False,
    preset: str = by_preset("web"),
    threshold: float = by_preset(0.7),
    recall: float = by_preset(0.99),
    shingle: str | ShingleSpec = by_preset("word:5"),
    keep: str = by_preset("first"),
    order_by: str | None = None,
    within: str | None = None,
    ignore: str | Sequence[str] = (),
    stop_passages: str | os.PathLike[str] | Sequence[str] | None = None,
    signs: str = by_preset("short"),
    spec: Spec | None = None,
    **options: Unpack[AgainstOptions],
) -> AgainstRun:
    """Find the documents of a batch that are new: similar to nothing old, and to nothing kept.

    All documents of the old corpus stay, and come first in keep order; they are not compared with
    each other. A document of the batch is removed if it is similar to one of them, or to one of
    the batch that is kept. With ``keep="first"`` the answer is that of one run over both.

    Args:
        new: The batch; anything that `neardup.dedup` takes.
        old: The old corpus, which is only read: a run or its output folder, of which the kept
            documents count; an index or its folder; or anything that ``new`` may be.
        old_text: Column with the text of an old corpus that is files or a frame, or several; as
            ``text`` by default.
        old_id: Column with its ids; as ``id`` by default.
        old_input_format: Format of its files; by the ending of each without it.
        old_delimiter: Delimiter of its CSV files; as ``delimiter`` by default.
        old_reading: How it is read, instead of these: a `neardup.Reading`.
        old_only: Remove only documents that are similar to the old corpus, and give all such pairs;
            documents that are similar to each other stay.
        preset: As for `neardup.dedup`, as are ``threshold``, ``recall``, ``shingle``, ``keep``,
            ``order_by``, ``ignore``, ``stop_passages``, ``signs`` and ``spec``. Of an index or a
            run the settings apply, and these are refused; its ``keep``, ``order_by`` and
            ``max_bucket`` are for the batch.
        removed: Write the removed documents to the folder ``removed/`` too, each with
            ``duplicate_of``, ``similarity`` and ``in_old``.

    Raises:
        InputError: The batch or the old corpus can't be used; its subclasses say why.
        OutputError: The output folder exists, or can't be written.
        ResumeError: The run to resume has other settings or inputs, or is damaged.
        SpecError: A setting is out of range, or does not apply; or the memory does not suffice.

    Examples:
        >>> import neardup
        >>> run = neardup.dedup(["one two three four five six"])
        >>> against(["one two three four five six", "y", "y"], run).keep_mask.tolist()
        [False, True, False]
    """
    given, new, old = {**locals(), **options}, accepted(new), accepted(old)
    plain = is_corpus(old)
    if not plain:
        _refuse_settings(given)
    reading, resources, writing = options["reading"], options["resources"], options["writing"]
    writing.require_out()
    asked = None
    if plain:
        asked = make_spec(spec, preset, threshold, recall, shingle, keep, within, order_by)
        asked = asked.replace(**ignored(ignore, stop_passages), **with_signs(signs))
        check_similarity(asked, "`against`")
    reading_old = another(reading, options, "old_", *_AS_NEW)
    paths = given_paths(new) or []
    with show_progress(resources.progress) as listener, ExitStack() as opened:
        clock, made = Clock(listener), list[_AgainstSteps]()

        def steps(state: RunState | None) -> Steps:
            with clock.stage("begin"):
                before = opened_old(old, opened) if asked is None else None
                settings = asked or before.spec  # type: ignore[union-attr]
                more = {"items": settings.shingle.unit == "item", "memory": resources.bytes}
                how, columns = how_read(reading, **more), needed_columns(settings, None)
                corpus = InputCorpus.open(new, how, columns, state)
                check_output(corpus.source, writing.format)
                if writing.removed:
                    check_added(corpus, writing.format, _ADDED)
                first = None
                if plain:
                    how = how_read(reading_old, **more)
                    first = open_corpus(old, how, settings.within, state)
            either = before if first is None else first
            assert either is not None
            made.append(_AgainstSteps(corpus, old, either, settings, old_only, resources, writing))
            return made[-1]

        run = AgainstRun(execute(Request(AGAINST, paths, writing, clock, steps)))
        run._old = made[-1].old_texts() if made else None
    return run


#: Settings that those of an index or a run replace.
_SETTINGS = (
    *("preset", "threshold", "recall", "shingle", "keep", "order_by", "ignore", "stop_passages"),
    *("within", "signs", "spec"),
    *("old_text", "old_id", "old_input_format", "old_delimiter", "old_reading"),
)


def _refuse_settings(given: dict[str, Any]) -> None:
    for name in _SETTINGS:
        if is_given(given.get(name)) and given[name] != ():
            raise SpecError(
                f"`{name}` does not apply: the settings are those of the index or run",
                "leave it out; files are sketched with the settings that you like",
            )


@dataclasses.dataclass
class _AgainstSteps(Steps):
    """A batch and an old corpus, both open."""

    corpus: InputCorpus
    old: Any  # as it was given
    opened: Index | Results | InputCorpus
    spec: Spec
    only: bool
    resources: Resources
    writing: Writing

    @property
    def first(self) -> InputCorpus | None:
        """The old corpus, where it is sketched first."""
        return self.opened if isinstance(self.opened, InputCorpus) else None

    @property
    def reads(self) -> Sequence[OpenInput]:
        return [self.corpus, *([] if self.first is None else [self.first])]

    @property
    def comparable(self) -> bool:
        in_memory = isinstance(self.opened, Index) and self.opened.path is None
        return super().comparable and not in_memory

    def manifest(self) -> dict[str, JSON]:
        return {
            **self.identity(),
            "spec": self.spec.as_dict(),
            "old_only": self.only,
            "output": self.writing.as_dict(),
            "old": self._identity(),
        }

    def _identity(self) -> list[JSON]:
        """Return the state of an index, or the identity of a run."""
        if isinstance(self.opened, Index):
            with self.opened._core.reading() as state:
                return [state.generation, *state.sums]
        if isinstance(self.opened, Results):
            return [self.opened.record[name] for name in ("asked", "texts_digest", "date")]
        return []

    @contextmanager
    def work(self, means: Means) -> Iterator[Made]:
        corpus, writing = self.corpus, self.writing
        with means.clock.stage("begin"):
            plan, decide = self._decider(means)
        found = decide()
        with means.clock.stage("make tables"):
            counts = _counts(found, corpus)
            about = {
                "spec": self.spec.as_dict(),
                "recipe": found.recipe.as_dict(),
                "bands": bands_of(found.recipe, self.spec.threshold),
                "old_only": self.only,
                "counts": counts,
                "notes": found.notes,
                "old": about_old(self.old, self.first),
                **corpus.about_outputs(format=writing.format, removed=writing.removed),
            }
        tables = {"clusters": TableParts(lambda each: [found.table])}
        if (matches := found.matches) is not None:
            tables["matches"] = TableParts(lambda each: [matches])
        with Pool(plan.threads) as pool:
            corpora = {} if writing.out is None else self._corpora(found, pool)
            inputs = {SOURCE: corpus.input()}
            yield Made(tables, lambda: about, pool, corpora, inputs=inputs)
        corpus.reader.cached.clear()

    def _corpora(self, found: Decided, pool: Pool) -> dict[str, CleanCorpus]:
        kept, format = found.kept, self.writing.format
        corpora = {CLEAN: self.corpus.chosen(kept, Form(format), pool)}
        if self.writing.removed:
            rows = np.arange(len(kept))
            form = form_of_removed(format, found.table.select(_ADDED), rows)
            corpora[REMOVED] = self.corpus.chosen(~kept, form, pool)
        return corpora

    def old_texts(self) -> Callable[[], OldTexts] | None:
        """Return what opens the texts of an old corpus in memory, or one that was sketched."""
        if self.first is not None:
            return functools.partial(of_corpus, self.first)
        if isinstance(self.old, Index):
            return functools.partial(of_index, self.old._core)
        if isinstance(self.old, DocumentsRun):
            return functools.partial(of_run, self.old._results)
        return None

    def _decider(self, means: Means) -> tuple[MemoryPlan, Callable[[], Decided]]:
        """Return how the memory is divided, which suffices, and what compares."""
        corpus, old, spec = self.corpus, self.opened, self.spec
        resources, clock = self.resources, means.clock
        if isinstance(old, Index):
            plan = plan_against(corpus.workload(resources.threads, spec.shingle), resources.bytes)
            if resources.bytes is not None:
                plan.check()
                corpus.check = plan.check_read
            index = OldIndex(old._core, spec, self.only)

            def compare() -> Decided:
                size = corpus.source.total_bytes
                with clock.stage("compare", size, "bytes") as advance:
                    return decide(corpus, index, advance)

            return plan, compare
        with naming("old_" if isinstance(old, InputCorpus) else ""):
            if isinstance(old, InputCorpus):
                recipe, documents = recipe_for(spec), EarlierDocuments.of_corpus(old, spec.shingle)
            else:
                _, recipe = settings_of_run(old)
                documents = EarlierDocuments.of_run(old)
        job = Job(corpus, spec, resources, clock)
        both = Both(job, corpus, documents, recipe, self.only)
        plan = both.plan()
        return plan, functools.partial(both.decide, plan, means.folder)


def _counts(found: Decided, corpus: InputCorpus) -> dict[str, int]:
    table, kept = found.table, found.kept
    cluster = table.column("cluster").drop_null().to_numpy()
    counts = {
        **counts_of(np.where(kept, -1, 0), cluster),
        "documents": len(kept),
        **corpus.skipped.counts(),
        "similar_to_old": int(np.count_nonzero(table.column("in_old").to_numpy())),
        "old_documents": found.old_documents,
        **counts_of_kinds(found.how),
    }
    counts["similar_within"] = counts["removed"] - counts["similar_to_old"]
    if found.matches is not None:
        counts["matches"] = found.matches.num_rows
        counts["old_documents_found"] = found.old_found
    return counts
