"""A finished run, in memory or in its folder: the object that users work with."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import pyarrow as pa

from neardup.api.finished.documents_run import DocumentsRun
from neardup.api.progress import show_progress
from neardup.api.running import save
from neardup.deduplication.clock import Clock
from neardup.errors import OutputError, RecallWarning, SpecError
from neardup.frame.storage import MemoryStorage, PartsStorage
from neardup.io.remote import located
from neardup.options.arguments import expanded
from neardup.options.option_groups import (
    FileOptions,
    PageFormOptions,
    Progress,
    ResourceOptions,
    ResultOptions,
    ResumeOptions,
)
from neardup.spec import check_similarity
from neardup.values.shown import Shown

if TYPE_CHECKING:
    from neardup.inspect.audit import Audit

#: Endings that neither a folder nor a report has.
_FILES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".pdf", ".png", ".docx")


class Evaluation(Shown, dict[str, Any]):
    """Plain values, see ``docs/formats.md``, that print as the command shows them."""

    shown_as = "dedup", "evaluate"


class ReclusterOptions(ResultOptions, ResumeOptions, ResourceOptions, total=False):
    """Options of `DedupRun.recluster`."""


class DedupRun(
    DocumentsRun[Literal["clusters", "duplicates", "edges", "pair_counts", "boilerplate"]]
):
    """Result of `neardup.dedup`, also on Apache Spark.

    Made by `neardup.dedup`, or by `neardup.open` from an output folder. Documents of a job on
    Spark have the order of their ids; its input is not read here, and what needs texts says so.

    Args:
        storage: Record, tables and input.
    """

    commands = ("dedup", "recluster")
    tables: ClassVar[Mapping[str, str]] = {
        "clusters": "",
        "duplicates": "",
        "edges": "pairs were not listed: use pairs='all'",
        "pair_counts": "pairs were not counted: use pairs='count'",
        "boilerplate": "it was not looked for: use boilerplate=N, or `neardup.passages`",
    }

    def __repr__(self) -> str:
        counts, name = self.summary["counts"], self._results.name
        where = "" if isinstance(self._storage, MemoryStorage) else f" in {name}"
        numbers = (f"{counts[name]:,} {name}" for name in ("documents", "kept", "removed"))
        return f"<DedupRun{where}: {', '.join(numbers)}>"

    @property
    def edges(self) -> pa.Table | None:
        """A row for each pair that reaches the threshold; None where pairs were not listed.

        They are listed with ``pairs="all"``, and for every clustering but ``"star"`` and
        ``"disjoint-sets"``. Columns: ``doc_a`` < ``doc_b`` int64, ``id_a``, ``id_b``,
        ``similarity`` float64, exact.
        """
        return self._results.edges()

    @expanded
    def save(
        self,
        out: str | os.PathLike[str],
        **options: Unpack[ResultOptions],
    ) -> DedupRun:
        """Write the results to a folder, as `neardup.dedup` does with ``out``.

        Args:
            out: Folder to make, or URL of one.

        Returns:
            The run in that folder.

        Raises:
            OutputError: The folder exists, or can't be written.
            SpecError: The run is in a folder already, or a setting is out of range.
        """
        storage = self._storage
        if not isinstance(storage, MemoryStorage):
            raise SpecError(f"the run is stored in {storage.name} already", "copy that folder")
        target = located(out)
        _refuse_ending(target, "a folder", "for a file write `clean()` or a table, as a frame")
        return DedupRun(save(storage.made, storage.record, target, options["writing"]))

    @expanded
    def audit(
        self,
        *,
        sample: int = 1000,
        seed: int = 0,
        write: bool = True,
        **options: Unpack[ResourceOptions],
    ) -> Audit:
        """Measure the recall, by exact search for all near-duplicates of some documents.

        The corpus is read again, and every document is compared with the sampled ones.

        Args:
            sample: Documents to draw, of all and of the kept ones; about, where some are empty.
            seed: Another seed, another sample.
            write: Leave the result in the output folder as ``audit.json``, for the report.

        Raises:
            InputError: The input is gone or has changed, or a table is damaged.
            SpecError: A setting is out of range, or the sample does not fit into the memory.
        """
        from neardup.inspect.audit import audit, store_audit

        resources = options["resources"]
        with show_progress(resources.progress) as listener:
            made = audit(self._results, sample, seed, resources, listener)
            if write:
                store_audit(self._results, made, listener)
        return made

    @expanded
    def evaluate(
        self,
        truth: object,
        *,
        columns: Sequence[str] | None = None,
        kind: str | None = None,
        missing: str = "error",
        only_named: bool = False,
        **options: Unpack[FileOptions],
    ) -> Evaluation:
        """Compare with known duplicates: precision, recall and F1, and the threshold of the best.

        Args:
            truth: A file, a table (Arrow's, a frame, a dict of columns), or a list of pairs of ids.
                Two columns are pairs of ids, or an id and its group; a null in the second means
                that the document has no duplicate. Pairs with a third column ``duplicate`` (true or
                false) are judged one by one, and nothing is said of others.
            columns: Their names; without it they are looked for, see ``docs/formats.md``.
            kind: ``"pairs"``, ``"links"`` (pairs of which all that they connect are duplicates),
                ``"groups"`` or ``"judged"``, where the names don't say.
            missing: ``"error"``, or ``"skip"`` to leave out rows with ids that the run has not.
            only_named: Leave out the documents that the truth does not name; else they are taken to
                have no duplicates.

        Returns:
            Plain values, see ``docs/formats.md``; a score that has nothing to divide by is None.

        Raises:
            InputError: The truth can't be read, or names documents that the run has not.
            SpecError: A setting is out of range.
        """
        from neardup.inspect.evaluate import evaluate

        how = options["reading"]
        return Evaluation(evaluate(self._results, truth, columns, kind, missing, only_named, how))

    @expanded
    def pairs(self, *, texts: bool = True) -> pa.Table:
        """Return pairs next to each other, for a person who goes through them.

        They are the edges if pairs were listed; else each removed document and its
        ``duplicate_of``. All of them are in memory; ``neardup pairs`` writes them one by one.

        Args:
            texts: Add both texts, which are read from the input again.

        Returns:
            ``id_a``, ``id_b``, ``similarity`` and, with ``texts``, ``text_a`` and ``text_b``.

        Raises:
            InputError: The input is gone or has changed.
        """
        return pa.concat_tables(self._pairs(texts, warnings.warn))

    def _pairs(self, texts: bool, note: Callable[[str], object]) -> Iterator[pa.Table]:
        """Yield the same, some rows at a time; ``note`` gets the reason for missing texts."""
        from neardup.inspect.pair_texts import pairs

        return pairs(self._results, texts)

    @expanded
    def recluster(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        threshold: float | None = None,
        cluster: str | None = None,
        tree_threshold: float | None = None,
        keep: str | None = None,
        pairs: str | None = None,
        **options: Unpack[ReclusterOptions],
    ) -> DedupRun:
        """Decide again which documents are kept and how they are clustered, with the same bands.

        The result is that of a full run with these settings. Sketches that are in memory, or in the
        run folder, are reused. Without a clean corpus to write, a higher threshold needs nothing
        but the tables if all pairs were listed, or if no removed document falls below it.

        Args:
            out: Folder to write to, or URL of one; without it the result is in memory only.
            threshold: A new threshold. A lower one is possible, with a warning: the bands were
                chosen for that of the run, and miss more pairs below it.
            cluster: As for `neardup.dedup`, as are ``keep`` and ``pairs``; None changes nothing.
            tree_threshold: Minimum similarity within clusters, for two of the clusterings.

        Raises:
            InputError: The input is needed, and is gone or has changed.
            OutputError: The output folder exists, or can't be written.
            ResumeError: The kept run folder is damaged or in use.
            SpecError: A setting is out of range.

        Warns:
            RecallWarning: The threshold is below that of the run; see ``summary["bands"]`` for the
                recall that is predicted there.
        """
        from neardup.inspect.recluster import Reclustering, changed, lower_threshold

        settings = {"threshold": threshold, "cluster": cluster, "keep": keep, "pairs": pairs}
        check_similarity(self.spec, "reclustering")
        spec = changed(self.spec, tree_threshold, **settings)
        resources, writing = options["resources"], replace(options["writing"], out=out)
        if note := lower_threshold(self._results, spec):
            warnings.warn(note.removeprefix("warning: "), RecallWarning, stacklevel=3)
        with show_progress(resources.progress) as listener:
            again = Reclustering(self._results, spec, resources, writing, Clock(listener))
            return DedupRun(again.run())

    @expanded
    def report(
        self,
        path: str | os.PathLike[str],
        *,
        show: Sequence[str] = (),
        by: str | None = None,
        context: int = 40,
        threads: int | None = None,
        progress: Progress = "auto",
        **options: Unpack[PageFormOptions],
    ) -> Path:
        """Write the results as one HTML page.

        Charts, script and data are in it; it loads nothing, and forbids the browser to. Texts
        are read from the input of the run again.

        Args:
            path: File to write; it appears when complete, and only its owner can read it.
            show: Columns of the input that are shown next to ids, such as a title or a source; the
                list is sorted by them, and those with few values filter it.
            by: A column, such as a source, for a table of whose documents are duplicates of whose.
            context: Equal words that are shown before and after each difference.
            threads: Threads that read.

        Returns:
            The path.

        Raises:
            InputError: A table of the run is damaged; or its input is gone and texts are wanted.
            ColumnError: The input has no such column.
            OutputError: The file exists, or can't be written.
            SpecError: ``context`` is negative.
            DependencyError: Jinja is not installed.
        """
        from neardup.views.all_views import write_report
        from neardup.views.view import PageOptions

        storage, results, form = self._storage, self._results, options["page"]
        if isinstance(storage, PartsStorage):
            if show or by:
                what = "`show` and `by` need the input, which Apache Spark has read"
                raise SpecError(what, "leave them out")
            return write_report(self, path, PageOptions(form))
        with show_progress(progress) as listener:
            how = PageOptions(form, show, by, context, threads, listener)
            return write_report(self, path, how, results.inputs, results.read_from)


def _refuse_ending(path: str | os.PathLike[str], expected: str, hint: str) -> None:
    if Path(path).suffix.lower() in _FILES:
        raise OutputError(f"{path} is named as a file of another kind; expected {expected}", hint)
