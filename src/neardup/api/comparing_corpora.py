"""One corpus against another: new documents of a batch, and documents with a test item."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from neardup.api.arguments import checked, is_given
from neardup.api.finished.listed_report import ListedReport
from neardup.api.finished.runs import Run
from neardup.api.indexes.indexing import Index
from neardup.api.indexes.old_corpora import (
    OldIndex,
    about_old,
    documents_of,
    index_of_corpus,
    index_of_old,
    is_corpus,
    old_texts,
    open_corpus,
)
from neardup.api.progress import Progress, show_progress
from neardup.arrays import array_of
from neardup.cluster.methods import counts_of
from neardup.copies.contained import Asked, Items, closest, matches_of
from neardup.copies.contained_counts import by_file, frequent_items
from neardup.copies.cuts.records import check_changer
from neardup.copies.cuts.text_cuts import TextCuts
from neardup.corpora.against import Decided, OldCorpus, decide
from neardup.corpora.corpus import InputCorpus, naming
from neardup.corpora.old_texts import OldTexts, of_corpus, of_index, of_run
from neardup.engines.clock import Clock
from neardup.engines.identifiers import take_ids
from neardup.engines.job import needed_columns
from neardup.errors import InputError, SpecError
from neardup.inspect.pair_texts import pairs_of_batch
from neardup.io.frames import FrameSource
from neardup.io.opening import Reading, paths_of
from neardup.io.outputs import check_output
from neardup.io.remote import local_target, located
from neardup.io.source import Source
from neardup.io.writers import write_tables
from neardup.memory_plan import memory_of, plan_against, plan_decontamination
from neardup.output.clean import CLEAN, REMOVED, Form
from neardup.output.record import about_clock
from neardup.output.writing import check_inputs, check_outside
from neardup.result_record import RECORD
from neardup.results.any_run import AnyRun
from neardup.results.other_folders import AgainstFolder, MatchesFolder
from neardup.results.results import Results
from neardup.spec import ShingleSpec, Spec
from neardup.state.about_work import bands_of
from neardup.state.output_folder import check_folder, output_folder, write_record
from neardup.threads import Pool, check_threads

if TYPE_CHECKING:
    from neardup.api.corpus_types import Corpus

_BY = ("containment", "similarity")
#: Files of an output folder.
_AGAINST = (CLEAN, REMOVED, "clusters.parquet", "matches.parquet", RECORD)
_MATCHES = (CLEAN, REMOVED, "matches.parquet", "cuts.parquet", RECORD)
#: Columns that removed documents have, of a batch and of a training corpus.
_ADDED = ["duplicate_of", "similarity", "in_old"]
_ADDED_TO_TRAINING = ["test_id", "containment"]
#: Arguments of `neardup.dedup` that apply to a batch that is compared with an old corpus.
_OF_BATCH = (
    "source against text id out format removed overwrite input_format delimiter encoding_errors "
    "max_document skip_large private_ids progress memory threads old_only"
)
#: Those that apply besides where the old corpus is sketched first.
_OF_CORPUS = (
    "preset threshold recall shingle keep order_by ignore stop_passages spec old_text old_id"
)


class _Found(Results):
    """Results of a batch against an old corpus."""

    def __init__(self, corpus: InputCorpus, found: Decided, record: dict[str, Any]) -> None:
        self._corpus, self._table, self.record = corpus, found.table, record
        self._matches = found.matches
        self.reader, self.source = corpus.reader, corpus.reader.source

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        found = self._matches if name == "matches" else self._table
        if found is None:
            raise SpecError("there are no matches", "give `old_only`")
        return found if columns is None else found.select(list(columns))

    def edges(self, columns: Sequence[str] | None = None) -> None:
        return None

    @functools.cached_property
    def ends(self) -> np.ndarray:
        return np.cumsum(self._corpus.counts)

    @functools.cached_property
    def source(self) -> Source:
        return self.reader.source


class Against(ListedReport, Run):  # type: ignore[misc]
    """Result of `neardup.dedup` with ``against``: the tables and the kept documents of a run.

    ``clusters`` has a column more, ``in_old``: whether ``duplicate_of`` is the id of a document of
    the old corpus; then ``cluster`` is null. Methods that need the texts of the old corpus are
    refused.
    """

    command = "dedup --against"
    #: Opens the texts of the old corpus, where this process has it.
    _old: Callable[[], OldTexts] | None = None

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        where = "" if self.path is None else f" in {self.path}"
        return (
            f"<Against{where}: {counts['documents']:,} documents, {counts['kept']:,} kept, "
            f"{counts['similar_to_old']:,} similar to the old corpus, "
            f"{counts['similar_within']:,} within>"
        )

    def __reduce__(self) -> Any:
        if isinstance(self._results, _Found):
            raise SpecError("this result is in memory, and is not pickled", "give `out`")
        return super().__reduce__()

    @property
    def matches(self) -> pa.Table:
        """With ``old_only``: ``doc``, ``doc_id``, ``old_id``, ``similarity`` of all similar pairs.

        Raises:
            SpecError: It was not asked for.
        """
        if not self.summary["old_only"]:
            raise SpecError("there are no matches", "give `old_only`")
        return self._results.table("matches")

    def save(self, *args: object, **options: object) -> NoReturn:
        """Refuse to write what neardup.dedup writes."""
        raise SpecError(
            "a batch that was compared with an old corpus is written by neardup.dedup",
            "give it `out`",
        )

    audit, evaluate, recluster = AnyRun.audit, AnyRun.evaluate, AnyRun.recluster

    def pairs_with_texts(self, *, texts: bool = True) -> pa.Table:
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
                    old = self._old() if self._old else old_texts(self.record["old"], opened)
                except InputError as error:
                    note(f"the texts of the old corpus can't be read again: {error}")
            yield from pairs_of_batch(self._results, texts, old)


@dataclass(frozen=True, repr=False)
class Decontamination(ListedReport, AnyRun):
    """Result of `neardup.decontaminate`.

    Attributes:
        matches: A row for each training document and test item that match: ``train_doc``, its
            position, and ``train_id``; ``test_doc``, ``test_id``; ``by``, how they match, which is
            ``item`` where an item shorter than a shingle was looked for as it is;
            ``containment``, the exact share of the item's shingles that the document has;
            ``passage``, the number of words of the longest run that both have; ``train_start``,
            ``train_end``, ``test_start`` and ``test_end``, its characters; and ``passage_text``, if
            texts were asked for.
        keep_mask: bool[n]: training documents that match nothing; with ``cut`` all of them.
        summary: Settings, counts and seconds: the content of ``run.json``.
        folder: Where they are stored; None in memory.
    """

    matches: pa.Table
    keep_mask: np.ndarray
    summary: dict[str, Any]
    folder: Path | None = None

    command = "decontaminate"

    @property
    def path(self) -> Path | None:
        return self.folder

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Decontamination:
        """Open the output of `neardup.decontaminate`, or of the command.

        Raises:
            InputError: Another command made it, or it is damaged.
        """
        found = MatchesFolder(folder)
        kept, matches = np.ones(found.documents, dtype=np.bool_), found.table("matches")
        if not found.record["settings"]["cut"]:
            kept[matches.column("train_doc").to_numpy()] = False
        return cls(matches, kept, found.record, found.folder)

    @property
    def _listed(self) -> MatchesFolder:
        if self.folder is None:
            raise SpecError("the page is made of an output folder", "give `out`")
        return MatchesFolder(self.folder)


class Old(NamedTuple):
    """An old corpus, and the output of a batch that was compared with it.

    Attributes:
        corpus: An index, a run, the folder of one, or what `InputCorpus.open` takes.
        spec: Settings, where it is a corpus; else None.
        reading: How it is read then.
        only: Whether documents stay that are similar to others of the batch only.
        removed: Whether the removed documents are written too.
        out: The output folder; None for none.
    """

    corpus: Any
    spec: Spec | None = None
    reading: Reading = Reading()
    only: bool = False
    removed: bool = False
    out: str | os.PathLike[str] | None = None
    format: str | None = None
    overwrite: bool = False
    memory: int | None = None
    threads: int | None = None


def dedup_as_asked(given: dict[str, Any], settings: Callable[[], Spec]) -> Against:
    """Do `neardup.dedup` by its arguments, with ``against``; those that don't apply are refused.

    Args:
        given: All arguments.
        settings: Makes the settings of them, for a corpus that is sketched first.
    """
    from neardup.api.dedup import dedup

    plain = is_corpus(given["against"])
    apply = f"{_OF_BATCH} {_OF_CORPUS if plain else ''}".split()
    for name, parameter in inspect.signature(dedup).parameters.items():
        value, default = given[name], parameter.default
        if name in apply or value is default or (is_given(default) and value == default):
            continue
        hint = "leave it out"
        if name in _OF_CORPUS.split():
            hint += ": the settings are those of the index or run; files are sketched as you like"
        raise SpecError(f"`{name}` does not apply with `against`", hint)
    check_threads(given["threads"])
    names = ("out", "format", "overwrite", "threads")
    reading = Reading.of(given)
    old = Old(
        given["against"],
        settings() if plain else None,
        dataclasses.replace(
            reading,
            text=given["old_text"] or reading.text,
            id=given["old_id"] or reading.id,
            input_format=None,
        ),
        given["old_only"],
        given["removed"],
        memory=memory_of(given["memory"]),
        **{name: given[name] for name in names},
    )
    return dedup_against(given["source"], old, reading)


def dedup_against(source: object, old: Old, reading: Reading) -> Against:
    """Do `neardup.dedup` with ``against``.

    One document is similar to nothing old and to nothing kept before it, or it is removed. The old
    corpus is only read.

    Args:
        source: The batch.
        old: The old corpus, and the output.
        reading: How the batch is read.

    Raises:
        InputError: The batch or the old corpus can't be used.
        OutputError: The output folder exists, or can't be written.
    """
    clock = Clock()
    out = None if old.out is None else local_target(old.out)
    if out is not None:
        check_folder(out, old.overwrite, writes=_AGAINST)
    elif old.removed:
        raise SpecError("`removed` needs an output folder", "give `out`")
    with ExitStack() as opened:
        known: OldIndex | None = None
        if old.spec is None:
            known = index_of_old(old.corpus, opened)
        spec = old.spec or known.spec  # type: ignore[union-attr]
        shingle = (old.spec or known.index.spec).shingle  # type: ignore[union-attr]
        items = shingle.unit == "item"
        corpus = InputCorpus.open(
            source, dataclasses.replace(reading, items=items), needed_columns(spec, None)
        )
        check_output(corpus.reader.source, old.format)
        if old.removed:
            _check_added(corpus, old.format, _ADDED)
        load, before = corpus.workload(old.threads, shingle), documents_of(old.corpus)
        inputs: list[tuple[object, InputCorpus]] = [(source, corpus)]
        first: InputCorpus | None = None
        if old.spec is not None:
            first = open_corpus(old.corpus, dataclasses.replace(old.reading, items=items))
            inputs.append((old.corpus, first))
            with naming("old_"):
                before = first.workload(1, shingle).documents
        if out is not None:
            _check_out(out, *inputs)
        plan = plan_against(load, before, old.memory)
        if old.memory is not None:
            plan.check()
        if known is None:
            assert first is not None
            with clock.stage("sketch the old corpus", first.reader.source.total_bytes, "bytes"):
                known = index_of_corpus(first, spec, opened)
        with clock.stage("compare", corpus.reader.source.total_bytes, "bytes"):
            found = decide(corpus, OldCorpus(known.index._core, spec, known.ids, old.only))
        recipe = known.index.recipe
        old_documents = len(known.index)
    table, kept = found.table, found.kept
    cluster = table.column("cluster").drop_null().to_numpy()
    counts = {
        **counts_of(np.where(kept, -1, 0), cluster),
        "documents": len(kept),
        "skipped": corpus.skipped,
        "similar_to_old": int(np.count_nonzero(table.column("in_old").to_numpy())),
        "old_documents": old_documents,
    }
    counts["similar_within"] = counts["removed"] - counts["similar_to_old"]
    if found.matches is not None:
        counts["matches"] = found.matches.num_rows
        counts["old_documents_found"] = found.old_found
    about = {
        "spec": spec.as_dict(),
        "recipe": recipe.as_dict(),
        "bands": bands_of(recipe, spec.threshold),
        "old_only": old.only,
        "counts": counts,
        "notes": found.notes,
        "old": about_old(old.corpus, first),
        **corpus.record(format=old.format, removed=old.removed),
    }
    results = _Found(corpus, found, {"command": Against.command, **about, **about_clock(clock)})
    if out is None:
        return _with_old(Against(results), old.corpus, first)
    with output_folder(out, old.overwrite, _AGAINST) as folder, Pool(plan.threads) as pool:
        with clock.stage("write clean corpus", len(kept)):
            corpus.write(kept, folder / CLEAN, Form(old.format), pool)
        if old.removed:
            with clock.stage("write removed documents", len(kept)):
                form = _form_of_removed(old.format, table.select(_ADDED), np.arange(len(kept)))
                corpus.write(~kept, folder / REMOVED, form, pool)
        with clock.stage("write tables"):
            write_tables(folder / "clusters.parquet", [table])
            if found.matches is not None:
                write_tables(folder / "matches.parquet", [found.matches])
        record = write_record(folder, Against.command, about | about_clock(clock))
    of_folder = AgainstFolder(out, record)
    of_folder.reader, of_folder.ends = corpus.reader, results.ends
    if isinstance(corpus.reader.source, FrameSource):
        of_folder.source = corpus.reader.source
    return _with_old(Against(of_folder), old.corpus, first)


def _with_old(found: Against, against: Any, first: InputCorpus | None) -> Against:
    """Have a result read texts of an old corpus that is in memory, or that was sketched first."""
    if first is not None:
        found._old = functools.partial(of_corpus, first)
    elif isinstance(against, Index):
        found._old = functools.partial(of_index, against._core)
    elif isinstance(against, Run):
        found._old = functools.partial(of_run, against._results)
    return found


def _check_added(corpus: InputCorpus, format: str | None, names: list[str]) -> None:
    fields: list[pa.Field[Any]] = [pa.field(name, pa.int64()) for name in names]
    check_output(corpus.reader.source, format, pa.schema(fields))


def _form_of_removed(format: str | None, added: pa.Table, rows: np.ndarray) -> Form:
    """Return how removed documents are written: with columns of which ``rows`` has the positions.

    These, int64[], ascend.
    """

    def adding(positions: np.ndarray) -> pa.Table:
        return added.take(array_of(np.searchsorted(rows, positions)))

    return Form(format, adding=adding, added=added.schema)


@checked
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
    text: str | Sequence[str] = "text",
    id: str | None = None,
    test_text: str | Sequence[str] | None = None,
    test_id: str | None = None,
    out: str | os.PathLike[str] | None = None,
    format: str | None = None,
    removed: bool = False,
    overwrite: bool = False,
    threads: int | None = None,
    memory: int | str | None = None,
    input_format: str | None = None,
    encoding_errors: str = "strict",
    delimiter: str | None = None,
    max_document: int | str = "256MB",
    skip_large: bool = False,
    private_ids: bool = False,
    progress: Progress = "auto",
) -> Decontamination:
    """Find the training documents that contain a test item, exactly.

    The test items are in memory; the training corpus is read once, and again to write the
    clean one. Line breaks never matter: texts are compared word by word.

    Args:
        train: The training corpus, as ``source`` for `neardup.dedup`.
        against: The test items, likewise.
        by: ``"containment"``: the share of the item's shingles that a document has; or
            ``"similarity"``: their Jaccard similarity.
        threshold: Lowest share or similarity of a match, in (0, 1].
        passage: Instead: so many consecutive words that both have are a match.
        shingle: Units that are compared, such as ``"word:5"``.
        min_words: An item shorter than a shingle, or than ``passage``, is looked for as it is, word
            by word, if it has so many words; 2 by default, and 1 at least.
        cut: Keep all documents, and cut the words that match: those that are in a shingle of an
            item that matches, or in an item shorter than one.
        mask: Put this text in place of each stretch that is cut.
        texts: Give the passages with their text.
        text: Column with the text of the training documents, or several.
        id: Column with their ids; positions without it.
        test_text: The same of the test items; as for the training documents by default.
        test_id: Column with the ids of the test items; positions without it.
        out: Folder to write to: ``clean`` (training documents without a match),
            ``matches.parquet`` and ``run.json``; with ``cut`` also ``cuts.parquet``.
        format: As for `neardup.dedup`, as are ``input_format``, ``encoding_errors``,
            ``delimiter``, ``max_document``, ``skip_large`` and ``private_ids``.
        removed: Write the documents that match to ``out`` too, as ``removed``: each with the
            ``test_id`` of the item of which it has the highest ``containment``, and that.
        overwrite: Replace the output of an earlier call.
        threads: Number of threads; all cores by default.
        memory: Memory that may be used, in bytes or as text such as ``"4GB"``. Too little is
            refused before the training corpus is read; each match takes some 100 bytes more.
        progress: As for `neardup.dedup`; only the compilation of kernels is shown.

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
    asked = _asked(by, threshold, passage, shingle)._replace(
        min_words=min_words, texts=texts, cut=cut
    )
    _check_cut(asked, mask)
    if removed and (cut or out is None):
        why = "with `cut` no document is removed" if cut else "`removed` needs an output folder"
        raise SpecError(why, "leave it out" if cut else "give `out`")
    clock, folder = Clock(), None if out is None else local_target(out)
    check_threads(threads)
    reading = Reading.of(locals())
    corpus = InputCorpus.open(train, reading)
    check_output(corpus.reader.source, format)
    if cut:
        check_changer(corpus.reader.source)
    if removed:
        _check_added(corpus, format, _ADDED_TO_TRAINING)
    how_items = dataclasses.replace(
        reading,
        text=test_text or text,
        id=test_id,
        input_format=None,
        delimiter=None,
        skip_large=False,
    )
    allowed = memory_of(memory)
    with naming("test_"):
        items = InputCorpus.open(against, how_items)
        size = items.workload(1, asked.shingle).text
    if folder is not None:
        check_folder(folder, overwrite, writes=_MATCHES)
        _check_out(folder, (train, corpus), (against, items))
    plan = plan_decontamination(corpus.workload(threads, asked.shingle), size, allowed)
    if allowed is not None:
        plan.check()
        threads = plan.threads
    with show_progress(progress), Pool(threads) as pool:
        with naming("test_"):
            prepared = Items(items, asked, pool)
        found = matches_of(corpus, items, prepared)
    kept = np.ones(corpus.documents, dtype=np.bool_)
    if not cut:
        kept[found.table.column("train_doc").to_numpy()] = False
    ends = found.cut.document, found.cut.start, found.cut.end
    noted = np.empty((len(found.cut.start), 4), np.int64)
    cuts = TextCuts(corpus, *ends, kept, noted, mask or "")
    counts = {
        "documents": len(kept),
        "skipped": corpus.skipped,
        "kept": int(kept.sum()),
        "removed": int(len(kept) - kept.sum()),
        "contaminated": len(np.unique(found.table.column("train_doc").to_numpy())),
        "only_by_short_items": found.only_short,
        "test_items": items.documents,
        "test_items_found": len(np.unique(found.table.column("test_doc").to_numpy())),
        "test_items_shorter_than_a_shingle": prepared.short,
        "test_items_too_short": prepared.too_short,
        "matches": found.table.num_rows,
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
    about = {"settings": settings, "counts": counts, "test_files": by_file(items, found.table)}
    about["frequent_items"] = frequent_items(items, prepared, found.table, len(kept))
    about |= corpus.record(format=format, removed=removed)
    if folder is None:
        about = {"command": Decontamination.command, **about, **about_clock(clock)}
        return Decontamination(found.table, kept, about)
    form = Form(format, changing=cuts.changing() if cut else None)
    with output_folder(folder, overwrite, _MATCHES) as made, Pool(threads) as pool:
        with clock.stage("write clean corpus", len(kept)):
            corpus.write(kept, made / CLEAN, form, pool)
        if removed:
            with clock.stage("write removed documents", len(kept)):
                best = closest(found.table)
                added, rows = best.select(_ADDED_TO_TRAINING), best.column("train_doc").to_numpy()
                corpus.write(~kept, made / REMOVED, _form_of_removed(format, added, rows), pool)
        with clock.stage("write tables"):
            write_tables(made / "matches.parquet", [found.table])
            if cut:
                kept_ids = take_ids(corpus.ids(), np.arange(len(kept)))
                write_tables(made / "cuts.parquet", cuts.tables(kept_ids))
        record = write_record(made, Decontamination.command, about | about_clock(clock))
    return Decontamination(found.table, kept, record, folder)


def _check_cut(asked: Asked, mask: str | None) -> None:
    if asked.min_words < 1:
        raise SpecError(f"`min_words` is {asked.min_words}; expected 1 word or more")
    if asked.cut and asked.shingle.unit != "word":
        raise SpecError("`cut` cuts words, and the shingle is of characters", "give word:N")
    if mask is not None and not asked.cut:
        raise SpecError("`mask` says how to cut, and nothing is cut", "add `cut`")
    if mask is not None and not mask.strip():
        raise SpecError("`mask` is empty", "leave it out to cut without a mask")


def _asked(by: str, threshold: float, passage: int | None, shingle: str | ShingleSpec) -> Asked:
    if by not in _BY:
        raise SpecError(f"`by` is {by!r}; expected containment or similarity")
    if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise SpecError(f"threshold is {threshold!r}; expected a number in (0, 1]")
    made = ShingleSpec.parse(shingle) if isinstance(shingle, str) else shingle
    if made.unit == "item":
        raise SpecError("decontamination compares texts, and the shingle is item")
    if passage is None:
        return Asked(by, float(threshold), made)
    return Asked("passage", 0.0, ShingleSpec(n=passage))


def _check_out(out: Path, *inputs: tuple[object, InputCorpus]) -> None:
    for source, corpus in inputs:
        check_inputs(out, [file.path for file in corpus.reader.source.files])
        check_outside(out, [located(path) for path in paths_of(source) or ()])
