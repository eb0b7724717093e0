"""Which parts of a text were copied, and from where."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, Unpack, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.api.progress import show_progress
from neardup.copied_passages.cuts.records import check_changer
from neardup.copied_passages.finding import Inputs
from neardup.copied_passages.passage_results import PassageResults, position_of
from neardup.copied_passages.passage_spec import CutSpec, PassageSpec, words_of
from neardup.copied_passages.passage_steps import PassageSteps
from neardup.copied_passages.result import ADDED, PASSAGES, TOTALS
from neardup.corpora.corpus import InputCorpus, naming
from neardup.corpora.stop_passages import ignored
from neardup.deduplication.clock import Clock
from neardup.errors import InputError, SpecError
from neardup.files.given_path import GivenPath
from neardup.frame.command import Request, Steps
from neardup.frame.dataframes import as_pandas, as_polars
from neardup.frame.execute import execute
from neardup.frame.run import Run
from neardup.io.opening import accepted, given_paths
from neardup.io.outputs import check_output
from neardup.options.arguments import expanded, of_specs
from neardup.options.how_read import HowRead, how_read
from neardup.options.option_groups import (
    CallOptions,
    CorpusOptions,
    OldOptions,
    OutputOptions,
    PageFormOptions,
    ResumeOptions,
    TableFormatOptions,
    another,
)
from neardup.result_record import RECORD, read_record
from neardup.spec import check_integer
from neardup.state.run_state import RunState

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from neardup.api.corpus_types import Corpus
    from neardup.api.finished.documents_run import Frame
    from neardup.inspect.one_document import PassageExplanation

#: Options that are those of the new corpus where there is none for the old one.
_AS_NEW = ("text", "id", "input_format", "delimiter", "sheet", "header_row", "skip_large")
#: A table of a run.
PassageTable: TypeAlias = Literal[
    "passages", "documents", "boilerplate", "cuts", "by_value", "by_year", "by_month"
]


class PassagesRun(Run[PassageTable]):
    """Result of `neardup.passages`, in memory or in its folder, also on Apache Spark."""

    commands = (PASSAGES.name,)
    tables: ClassVar[Mapping[str, str]] = {
        "passages": "",
        "documents": "",
        "boilerplate": "ask for it with `boilerplate`, a number of documents",
        "cuts": "nothing was cut; ask for it with `cut`",
        "by_value": "ask for it with `by`, a column",
        "by_year": "ask for it with `order_by`, a column of dates",
        "by_month": "ask for it with `order_by`, a column of dates",
    }

    @property
    def passages(self) -> pa.Table:
        """A row for each passage: ``doc_id``, ``start``, ``end``, ``words``, its source and origin.

        Characters are code points of the original text, half open.
        """
        return self._table("passages")

    @property
    def documents(self) -> pa.Table:
        """A row for each document: ``words``, ``copied_words``, ``copied_share``, main source."""
        return self._table("documents")

    def sources(self, id: int | str) -> pa.Table:
        """Return where the words of a document come from: an overview of its copied passages.

        Args:
            id: Its id; its position in the input where there are no ids.

        Returns:
            A row for each source, that of most words first: ``source_id``; ``words``, how many of
            the document's words are in passages from there; ``share`` of its words, float64; and
            ``passages``. Words that a document repeats of itself have it as their source, and
            boilerplate has its first document; a word in two passages counts in both.

        Raises:
            InputError: There is no such document.
        """
        documents = self.documents.select(["doc_id", "words"]).slice(
            position_of(self._questions, id), 1
        )
        words = documents["words"][0].as_py()
        of: Any = pc.equal(self.passages["doc_id"], documents["doc_id"][0])
        found = self.passages.filter(of).group_by("source_id")
        table = found.aggregate([("words", "sum"), ("words", "count")])
        table = table.rename_columns(["source_id", "words", "passages"])
        share: Any = pc.divide(table["words"].cast(pa.float64()), float(max(1, words)))
        table = table.append_column("share", share)
        table = table.sort_by([("words", "descending"), ("source_id", "ascending")])
        return table.select(["source_id", "words", "share", "passages"])

    @property
    def boilerplate(self) -> pa.Table:
        """A row for each text that occurs in many documents, with one occurrence of it."""
        return self._table("boilerplate")

    @property
    def cuts(self) -> pa.Table:
        """A row for each stretch that was cut, with its offsets in both texts."""
        return self._table("cuts")

    def __len__(self) -> int:
        return int(self.summary["counts"]["documents"])

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        share = counts["copied_words"] / max(1, counts["words"])
        where = "" if self.path is None else f" in {self.path}"
        return (
            f"<PassagesRun{where}: {counts['documents']:,} documents, {counts['passages']:,} "
            f"passages, {share:.1%} of {counts['words']:,} words copied>"
        )

    @overload
    def clean(self, kind: Literal["arrow"] | None = None) -> pa.Table: ...
    @overload
    def clean(self, kind: Literal["pandas"]) -> pd.DataFrame: ...
    @overload
    def clean(self, kind: Literal["polars"]) -> pl.DataFrame: ...

    @expanded
    def clean(self, kind: str | None = None) -> Frame:
        """Return the corpus as it was cut, with all its columns.

        Args:
            kind: ``"arrow"``, ``"pandas"`` or ``"polars"``; an Arrow table by default.

        Raises:
            DependencyError: pandas or Polars is not installed.
            InputError: The input has changed, or can't be read again.
            SpecError: Another kind.
        """
        if kind not in (None, "arrow", "pandas", "polars"):
            raise SpecError(f"`kind` is {kind!r}; expected arrow, pandas or polars")
        table = self._storage.clean()
        if kind == "pandas":
            return as_pandas(table)
        return as_polars(table) if kind == "polars" else table

    @expanded
    def explain(self, id: object, *, texts: bool = False) -> PassageExplanation:
        """Return the document's row, and those of its passages.

        Args:
            id: Its id; its position in the input where there are no ids.
            texts: Return its text too, in which the copied passages are marked when it is printed.

        Raises:
            InputError: There is no document of that id; or the input can't be read again.
        """
        from neardup.inspect.one_document import PassageExplanation, public, show

        position = np.array([position_of(self._questions, id)])
        (found,) = show(public(self._questions), position, texts)
        text = {} if found.text is None else {"text": found.text}
        return PassageExplanation({**found.row, "passages": found.passages, **text})

    @expanded
    def pairs(self, *, texts: bool = True) -> pa.Table:
        """Return passages next to their sources, for a person who goes through them.

        All of them are in memory; ``neardup pairs`` writes them one by one.

        Args:
            texts: Add the text of the passage, and that of its source, which are read again.

        Returns:
            ``doc_id``, ``source_id``, ``words`` and ``kind``; against an old corpus ``in_old``,
            whether the source is there; with ``texts``, ``text`` and ``source_text``, which is null
            in an old corpus.

        Raises:
            InputError: The input has changed, or can't be read again.
        """
        return pa.concat_tables(self._pairs(texts))

    def _pairs(self, texts: bool, note: object = None) -> Iterator[pa.Table]:
        from neardup.inspect.one_document import pairs_of_passages, public

        return pairs_of_passages(public(self._questions), texts)

    @expanded
    def report(
        self,
        path: str | os.PathLike[str] = "passages.html",
        *,
        min_group: int = 10,
        **options: Unpack[PageFormOptions],
    ) -> Path:
        """Write a page for any browser: how much is copied, and documents with their sources.

        Args:
            path: File to write; only its owner can read it.
            min_group: Authors, years and other groups of fewer documents are put together.

        Raises:
            InputError: The input has changed, or can't be read again.
            OutputError: The file exists, or can't be written.
        """
        from neardup.views.all_views import write_report
        from neardup.views.view import PageOptions

        check_integer("`min_group`", min_group, 1, 1 << 31)
        how = PageOptions(options["page"], min_group=min_group)
        return write_report(self, path, how)

    @property
    def _questions(self) -> PassageResults:
        return PassageResults(self._storage)


class PassageOptions(
    CallOptions,
    CorpusOptions,
    OutputOptions,
    ResumeOptions,
    OldOptions,
    TableFormatOptions,
    total=False,
):
    """Options of `passages`."""


@expanded
@of_specs(PassageSpec, CutSpec)
def passages(
    source: Corpus,
    *,
    words: int | None = None,
    preset: str | None = None,
    order_by: str | None = None,
    within: str | None = None,
    across: str | None = None,
    against: Corpus | None = None,
    by: str | Sequence[str] = (),
    name_source: str = "longest",
    boilerplate: int = 0,
    texts: bool = True,
    bridge: int = 0,
    stem: str | None = None,
    keep_case: bool = False,
    nfkc: bool = False,
    strip_accents: bool = False,
    join_hyphens: bool = False,
    ignore: str | Sequence[str] = (),
    stop_passages: str | os.PathLike[str] | Sequence[str] | None = None,
    cut: bool = False,
    cut_boilerplate: bool = False,
    mask: str | None = None,
    whole: str | None = None,
    drop_above: float | None = None,
    drop_below: int | None = None,
    keep_sources: bool = False,
    annotate: bool = False,
    **options: Unpack[PassageOptions],
) -> PassagesRun:
    """Find every run of words that occurs earlier, exactly, and name its source.

    A run of ``words`` words is repeated if an equal one starts in an earlier document, or in the
    same one at least so many words before. Words in a repeated run are copied. Nothing is deleted
    unless it is asked for.

    Args:
        source: As for `neardup.dedup`.
        words: Words of the shortest run that counts; 25 by default.
        preset: ``"web"`` (50 words) or ``"clinical"`` (10 words), unless ``words`` is given.
        against: An old corpus, whose documents come first and are never cut: paths, a frame, or
            an output folder of `neardup.dedup`, of which the clean corpus counts.
        old_text: Column with its text, or several; as ``text`` by default.
        old_id: Column with its ids; as ``id`` by default.
        old_input_format: Format of its files; as ``input_format`` by default.
        old_delimiter: Delimiter of its CSV files; as ``delimiter`` by default.
        old_reading: How it is read, instead of these: a `neardup.Reading`.
        by: Column, such as an author, by whose values the totals are listed too; or several, such
            as author and ward, by all their values together.
        texts: Whether ``boilerplate.parquet`` has the texts; `neardup.dedup` takes such a file as
            ``stop_passages``.
        stem: As in `neardup.ShingleSpec`, as are ``keep_case``, ``nfkc``, ``strip_accents`` and
            ``join_hyphens``.
        ignore: As for `neardup.dedup`, as is ``stop_passages``. Ignored text has no words.
        out: Folder to write to, or URL of one: ``passages.parquet``, ``documents.parquet``,
            ``run.json``, and ``clean`` where documents change.
        memory: Memory that may be used, in bytes or as text; by default 1 GB, or more if that many
            threads take more. The result does not depend on it.

    Returns:
        The passages that were found.

    Raises:
        InputError: The input can't be used; the subclasses say why.
        OutputError: The output folder exists, or can't be written.
        ResumeError: The run to resume has other settings or inputs, or is damaged.
        SpecError: A setting is out of range, or two contradict each other.

    Examples:
        >>> run = passages(["a b c d", "x b c d y"], words=3, progress=False)
        >>> run.passages.select(["doc_id", "start", "end", "source_id"]).to_pylist()
        [{'doc_id': 1, 'start': 2, 'end': 7, 'source_id': 0}]
    """
    reading, resources, writing = options["reading"], options["resources"], options["writing"]
    writing.require_out()
    annotate = annotate or writing.annotate
    source, against = accepted(source), _clean_of(accepted(against))
    spec = PassageSpec(
        words=words_of(words, preset),
        order_by=order_by,
        within=within,
        across=across,
        name_source=name_source,
        boilerplate=boilerplate,
        bridge=bridge,
        stem=stem,
        keep_case=keep_case,
        nfkc=nfkc,
        strip_accents=strip_accents,
        join_hyphens=join_hyphens,
        **ignored(ignore, stop_passages),
    )
    cutting = CutSpec(
        cut=cut,
        cut_boilerplate=cut_boilerplate,
        mask=mask,
        whole=whole,
        drop_above=drop_above,
        drop_below=drop_below,
        keep_sources=keep_sources,
        annotate=annotate,
    )
    if cut_boilerplate and not boilerplate:
        raise SpecError("`cut_boilerplate` needs `boilerplate`, a number of documents")
    groups = tuple(dict.fromkeys((by,) if isinstance(by, str) else by or ()))
    if names := set(groups) & TOTALS:
        name = min(names)
        raise SpecError(f"`by` is {name!r}, and the table has a column of that name", "rename it")
    columns = tuple(dict.fromkeys((*spec.columns, *groups)))

    def steps(state: RunState | None) -> Steps:
        memory = resources.bytes
        how_old = how_read(another(reading, options, "old_", *_AS_NEW), memory=memory)
        old = _old(against, how_old, spec, state)
        new = InputCorpus.open(source, how_read(reading, memory=memory), columns, state)
        inputs = Inputs(new, old)
        opened, added = inputs.new.source, ADDED if annotate else None
        check_output(opened, writing.format, added, compression=writing.compression)
        if cutting.cuts:
            check_changer(opened, writing.format)
        form, limits = (writing.format, writing.compression), (resources.bytes, resources.threads)
        return PassageSteps(inputs, spec, cutting, groups, *form, *limits, texts, writing.tables)

    with show_progress(resources.progress) as listener:
        given = given_paths(source) or []
        return PassagesRun(execute(Request(PASSAGES, given, writing, Clock(listener), steps)))


def _clean_of(against: object) -> object:
    """Return the clean corpus of an output folder; anything else as it is."""
    if isinstance(against, GivenPath):
        folder = against
        record = read_record(folder.path)
        if record is not None:
            clean = next((n for n in record["files"] if n.partition(".")[0] == "clean"), None)
            if clean is None:
                raise InputError(
                    f"{folder} was made by neardup {record['command']}, and has no clean corpus",
                    "name the files that are compared with",
                )
            against = folder / clean
        elif all((folder.path / name).is_file() for name in (RECORD, "documents.parquet")):
            raise InputError(
                f"{folder / RECORD}: not readable, or damaged",
                "run the command again, or name the files that are compared with",
            )
    return against


def _old(
    against: object, reading: HowRead, spec: PassageSpec, state: RunState | None
) -> InputCorpus | None:
    """Open the corpus that comes first."""
    if against is None:
        return None
    columns = tuple(name for name in (spec.within, spec.across) if name)
    with naming("old_"):
        how = reading.of_another(against)
        return InputCorpus.open(against, how, columns, state, "old-inputs")


@expanded
def copied(text_a: str, text_b: str, *, words: int = 10) -> list[dict[str, int]]:
    """Return the passages of a text that occur in another one.

    Args:
        text_a: The text that may have been copied from.
        text_b: The text whose passages are looked for.
        words: Words of the shortest passage.

    Returns:
        A dict for each, in the order of ``text_b``: ``start_a``, ``end_a``, ``start_b``, ``end_b``,
        in code points, half open, and ``words``.

    Examples:
        >>> copied("one two three four", "zero two three four five", words=3)
        [{'start_a': 4, 'end_a': 18, 'start_b': 5, 'end_b': 19, 'words': 3}]
    """
    frame = pa.table({"text": pa.array([text_a, text_b], pa.large_string()), "of": ["a", "b"]})
    run = passages(frame, words=words, across="of", progress=False)
    names = ("source_start", "source_end", "start", "end", "words")
    keys = ("start_a", "end_a", "start_b", "end_b", "words")
    return [
        dict(zip(keys, (row[name] for name in names), strict=True))
        for row in run.passages.to_pylist()
    ]
