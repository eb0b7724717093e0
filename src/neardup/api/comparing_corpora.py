"""New documents of a batch against an old corpus."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from neardup.api.arguments import is_given
from neardup.api.finished.listed_report import ListedReport
from neardup.api.finished.runs import Run
from neardup.api.indexes.indexing import Index
from neardup.api.indexes.old_corpora import (
    about_old,
    index_of_corpus,
    index_of_old,
    is_corpus,
    old_texts,
    open_corpus,
    opened_old,
    size_of,
)
from neardup.api.removed_documents import check_added, check_out, form_of_removed
from neardup.cluster.methods import counts_of
from neardup.corpora.against import Decided, OldCorpus, decide
from neardup.corpora.corpus import InputCorpus, naming
from neardup.corpora.old_texts import OldTexts, of_corpus, of_index, of_run
from neardup.engines.clock import Clock
from neardup.engines.job import needed_columns
from neardup.errors import InputError, SpecError
from neardup.files.given_path import GivenPath
from neardup.inspect.pair_texts import pairs_of_batch
from neardup.io.frames import FrameSource
from neardup.io.opening import Reading, accepted
from neardup.io.outputs import check_output
from neardup.io.remote import local_target
from neardup.io.source import Source
from neardup.io.writers import write_tables
from neardup.memory_plan import memory_of, plan_against
from neardup.output.clean import CLEAN, REMOVED, Form
from neardup.output.record import about_clock
from neardup.result_record import RECORD
from neardup.results.any_run import AnyRun
from neardup.results.other_folders import AgainstFolder
from neardup.results.results import Results
from neardup.spec import Spec
from neardup.state.about_work import bands_of
from neardup.state.output_folder import Write, locked_folder, write_record
from neardup.threads import Pool, check_threads

if TYPE_CHECKING:
    pass

#: Files of an output folder.
_AGAINST = (CLEAN, REMOVED, "clusters.parquet", "matches.parquet", RECORD)
#: Columns that removed documents have.
_ADDED = ["duplicate_of", "similarity", "in_old"]
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

    given = {**given, "against": accepted(given["against"])}
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
    if old.out is None:
        if old.removed:
            raise SpecError("`removed` needs an output folder", "give `out`")
        return _against(source, old, reading, None, None)
    out = local_target(old.out)
    with locked_folder(out, old.overwrite, _AGAINST) as write:
        return _against(source, old, reading, out, write)


def _against(
    source: object, old: Old, reading: Reading, out: GivenPath | None, write: Write | None
) -> Against:
    """Compare, and write the result to an output folder that is locked, if there is one."""
    clock = Clock()
    with ExitStack() as opened:
        before = opened_old(old.corpus, opened) if old.spec is None else None
        spec = old.spec or before.spec  # type: ignore[union-attr]
        items = spec.shingle.unit == "item"
        corpus = InputCorpus.open(
            source, dataclasses.replace(reading, items=items), needed_columns(spec, None)
        )
        check_output(corpus.reader.source, old.format)
        if old.removed:
            check_added(corpus, old.format, _ADDED)
        load = corpus.workload(old.threads, spec.shingle)
        inputs = [corpus]
        first: InputCorpus | None = None
        if before is None:
            first = open_corpus(old.corpus, dataclasses.replace(old.reading, items=items))
            inputs.append(first)
        if out is not None:
            check_out(out, *inputs)
        with naming("old_" if first else ""):
            size = size_of(before if first is None else first, spec.shingle)  # type: ignore[arg-type]
        plan = plan_against(load, *size, old.memory)
        if old.memory is not None:
            plan.check()
            corpus.check = plan.check_read
        if before is not None:
            with clock.stage("index the old corpus"):
                known = index_of_old(before, opened)
        else:
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
        "notes": [*([] if first is None else first.text_notes("old corpus")), *found.notes],
        "old": about_old(old.corpus, first),
        **corpus.record(format=old.format, removed=old.removed),
    }
    results = _Found(corpus, found, {"command": Against.command, **about, **about_clock(clock)})
    if out is None or write is None:
        return _with_old(Against(results), old.corpus, first)
    with write() as folder, Pool(plan.threads) as pool:
        with clock.stage("write clean corpus", len(kept)):
            corpus.write(kept, folder / CLEAN, Form(old.format), pool)
        if old.removed:
            with clock.stage("write removed documents", len(kept)):
                form = form_of_removed(old.format, table.select(_ADDED), np.arange(len(kept)))
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
