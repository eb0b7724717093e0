"""Training documents that contain a test item."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import numpy as np
import pyarrow as pa

from neardup.api.progress import show_progress
from neardup.arrays import array_of
from neardup.copied_passages.cuts.records import check_changer
from neardup.copied_passages.passage_spec import ContainSpec
from neardup.corpora.corpus import InputCorpus, naming
from neardup.corpora.removed_documents import check_added
from neardup.decontamination.contain_steps import DECONTAMINATE, ContainSteps
from neardup.decontamination.contained import CLOSEST, MatchConditions
from neardup.deduplication.clock import Clock
from neardup.errors import SpecError
from neardup.frame.command import Request, Steps
from neardup.frame.execute import execute
from neardup.frame.run import Run
from neardup.io.opening import accepted, given_paths
from neardup.io.outputs import check_output
from neardup.options.arguments import by_preset, expanded, is_given, of_specs
from neardup.options.how_read import how_read
from neardup.options.option_groups import (
    CallOptions,
    FormatOptions,
    OutputOptions,
    PageFormOptions,
    Reading,
    ResumeOptions,
    another,
)
from neardup.results.results import Results
from neardup.spec import ShingleSpec, shingle_spec
from neardup.state.run_state import RunState

if TYPE_CHECKING:
    from neardup.api.corpus_types import Corpus


class DecontaminateRun(Run[Literal["matches", "cuts"]]):
    """Result of `neardup.decontaminate`."""

    commands = (DECONTAMINATE.name,)
    tables: ClassVar[Mapping[str, str]] = {"matches": "", "cuts": "give `cut` and `out`"}
    advice = "the table of matches has a row for each"

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        where = "" if self.path is None else f" in {self.path}"
        return (
            f"<DecontaminateRun{where}: {counts['documents']:,} documents, "
            f"{counts['contaminated']:,} with one of {counts['test_items']:,} test items, "
            f"{counts['matches']:,} matches>"
        )

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
    def items(self) -> pa.Table:
        """A row for each test item that was found, those of most documents first.

        Columns: ``test_doc``, its position, and ``test_id``; ``documents`` that have it, and their
        ``share`` of the training documents.
        """
        matches = self._table("matches", ["test_doc", "test_id"])
        item, first, counts = np.unique(
            matches.column("test_doc").to_numpy(), return_index=True, return_counts=True
        )
        order = np.argsort(-counts, kind="stable")
        columns: dict[str, Any] = {
            "test_doc": array_of(item[order]),
            "test_id": matches.column("test_id").take(array_of(first[order])),
            "documents": array_of(counts[order]),
            "share": array_of(counts[order] / max(1, self.summary["counts"]["documents"])),
        }
        return pa.table(columns)

    @property
    def keep_mask(self) -> np.ndarray:
        """bool[n]: training documents that match nothing; with ``cut`` all of them."""
        kept = np.ones(self.summary["counts"]["documents"], dtype=np.bool_)
        if not self.summary["settings"]["cut"]:
            kept[self._table("matches", ["train_doc"]).column(0).to_numpy()] = False
        return kept

    @expanded
    def pairs(self, *, texts: bool = True) -> pa.Table:
        """Return documents next to the test item that they match, for a person who looks at them.

        All of them are in memory; ``neardup pairs`` writes them one by one.

        Args:
            texts: Add the passage that both have, which is read from the input again.

        Returns:
            ``test_id``, ``train_id``, ``by``, ``containment``, ``passage`` (its words) and, with
            ``texts``, ``passage_text``.

        Raises:
            InputError: The input is gone or has changed.
        """
        return pa.concat_tables(self._pairs(texts, warnings.warn))

    def _pairs(self, texts: bool, note: Callable[[str], object]) -> Iterator[pa.Table]:
        from neardup.inspect.pair_texts import pairs_of_matches

        return pairs_of_matches(self._results, texts)

    @property
    def _results(self) -> Results:
        return Results(self._storage)

    @expanded
    def report(
        self,
        path: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        **options: Unpack[PageFormOptions],
    ) -> Path:
        """Write the matches as one page; as for `neardup.AgainstRun`.

        Args:
            path: File to write; only its owner can read it.
            show: As for `DedupRun.report`.
        """
        from neardup.views.all_views import write_report
        from neardup.views.view import PageOptions

        how = PageOptions(options["page"], show)
        return write_report(self, path, how, self._storage.inputs)


class DecontaminateOptions(CallOptions, FormatOptions, OutputOptions, ResumeOptions, total=False):
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
    keep_case: bool = False,
    nfkc: bool = False,
    strip_accents: bool = False,
    join_hyphens: bool = False,
    signs: str = by_preset("short"),
    cut: bool = False,
    mask: str | None = None,
    max_documents: float | None = None,
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
        keep_case: As in `neardup.ShingleSpec`, as are ``nfkc``, ``strip_accents`` and
            ``join_hyphens``; of both corpora.
        signs: ``"all"``: signs such as ``#`` and ``<`` are tokens too, of both corpora. Else words
            count only, since short items are looked for in longer texts. Not with ``passage``.
        texts: Give the passages with their text.
        test_text: Column with the text of the test items, or several; as ``text`` by default.
        test_id: Column with their ids; positions without it.
        test_input_format: Format of their files; by the ending of each without it.
        test_delimiter: Delimiter of their CSV files; a comma, or a tab for TSV, by default.
        test_reading: How they are read, instead of these: a `neardup.Reading`. Options of which
            there is none for them are those of the training corpus.
        out: Folder to write to, or URL of one: ``clean`` (training documents without a match),
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
        ResumeError: The run to resume has other settings or inputs, or is damaged.
        SpecError: A setting is out of range, or the memory does not suffice.

    Examples:
        >>> train = ["some words before one two three four five six and after", "else"]
        >>> found = decontaminate(train, ["One two three\\nfour five six"])
        >>> found.keep_mask.tolist(), found.matches.column("passage").to_pylist()
        ([False, True], [6])
    """
    unit = shingle_spec(shingle)
    unit = replace(
        unit,
        keep_case=keep_case or unit.keep_case,
        nfkc=nfkc or unit.nfkc,
        strip_accents=strip_accents or unit.strip_accents,
        join_hyphens=join_hyphens or unit.join_hyphens,
    )
    if is_given(signs):
        if passage is not None:
            raise SpecError("`signs` is of shingles, and passages are of words", "leave it out")
        unit = replace(unit, signs=signs)
    spec = ContainSpec(by, threshold, passage, unit, min_words, cut, mask, max_documents)
    how_cut = texts, cut, max_documents
    asked = MatchConditions(spec.kind, spec.minimum, spec.unit, min_words, *how_cut)
    reading, resources, writing = options["reading"], options["resources"], options["writing"]
    if writing.removed and cut:
        raise SpecError("with `cut` no document is removed", "leave it out")
    writing.require_out()
    train, against = accepted(train), accepted(against)
    how_items = another(reading, options, "test_", "text")

    def steps(state: RunState | None) -> Steps:
        memory = resources.bytes
        corpus = InputCorpus.open(train, how_read(reading, memory=memory), state=state)
        check_output(corpus.source, writing.format)
        if cut:
            check_changer(corpus.source, writing.format)
        if writing.removed:
            check_added(corpus, writing.format, CLOSEST)
        with naming("test_"):
            how = how_read(how_items, memory=memory)
            how = how.of_another(against, "delimiter", "sheet", "header_row")
            items = InputCorpus.open(against, how, state=state, name="test-inputs")
        return ContainSteps(corpus, items, asked, mask, resources, writing)

    given = given_paths(train) or []
    with show_progress(resources.progress) as listener:
        request = Request(DECONTAMINATE, given, writing, Clock(listener), steps)
        return DecontaminateRun(execute(request))
