"""A finished run, in memory or in its folder: the object that users work with."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from neardup.api.finished.run_tables import RunTables
from neardup.api.progress import show_progress
from neardup.api.running import save
from neardup.engines.clock import Clock
from neardup.engines.reading import Reader
from neardup.errors import OutputError, RecallWarning, SpecError
from neardup.frame.arguments import expanded
from neardup.frame.options import (
    FileOptions,
    Progress,
    ResourceOptions,
    ResultOptions,
)
from neardup.io.remote import located
from neardup.io.source import Source
from neardup.recipe import Recipe
from neardup.results.any_run import AnyRun
from neardup.results.folder_results import FolderResults
from neardup.results.results import MemoryResults
from neardup.results.shown import Shown

if TYPE_CHECKING:
    from neardup.inspect.audit import Audit
    from neardup.inspect.explain import Explanation
    from neardup.inspect.one_cluster import Cluster

#: Endings that neither a folder nor a report has.
_FILES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".pdf", ".png", ".docx")


class Evaluation(Shown, dict[str, Any]):
    """Plain values, see ``docs/formats.md``, that print as the command shows them."""


class ReclusterOptions(ResultOptions, ResourceOptions, total=False):
    """Options of `Run.recluster`."""


class Run(AnyRun, RunTables):
    """Result of `neardup.dedup`.

    Made by `neardup.dedup`, or by `neardup.open` from an output folder.

    Args:
        results: Record and tables.
    """

    path = RunTables.path

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        where = "" if isinstance(self._results, MemoryResults) else f" in {self._results.name}"
        numbers = (f"{counts[name]:,} {name}" for name in ("documents", "kept", "removed"))
        return f"<Run{where}: {', '.join(numbers)}>"

    def __reduce__(self) -> Any:
        results = self._results
        if isinstance(results, FolderResults):
            return _reopened, (type(self), type(results), results.location, *self._frame)
        # Listeners, locks and cached texts stay here.
        assert isinstance(results, MemoryResults)
        job = dataclasses.replace(results.outcome.job, clock=Clock())
        outcome = dataclasses.replace(results.outcome, job=job, reader=Reader(job.source))
        return Run, (MemoryResults(outcome, results.record),)

    @property
    def recipe(self) -> Recipe:
        """How texts became band keys; `neardup.Index.create` takes it, and its threshold."""
        return dataclasses.replace(self._results.recipe, threshold=self._results.spec.threshold)

    @expanded
    def save(
        self,
        out: str | os.PathLike[str],
        **options: Unpack[ResultOptions],
    ) -> Run:
        """Write the results to a folder, as `neardup.dedup` does with ``out``.

        Args:
            out: Folder to make, or URL of one.

        Returns:
            The run in that folder.

        Raises:
            OutputError: The folder exists, or can't be written.
            SpecError: The run is in a folder already, or a setting is out of range.
        """
        results = self._results
        if not isinstance(results, MemoryResults):
            raise SpecError(f"the run is stored in {results.name} already", "copy that folder")
        out = located(out)
        _refuse_ending(out, "a folder", "for a file write `clean()` or a table, as a frame")
        save(results.outcome, results.record, out, options["writing"])
        return _in_folder(out, *self._frame)

    @expanded
    def explain(
        self,
        id: object,
        other: object = None,
        *,
        texts: bool = True,
        limit: int = 20,
        threads: int | None = None,
    ) -> Explanation:
        """Return why a document was removed or kept, or how two documents are related.

        Args:
            id: Id of the document; its position where the run had no ids.
            other: Id of another document; by default the kept one that it is a duplicate of, or the
                most similar of its duplicates.
            texts: Return the texts too. Without them, an input that can't be read is no error: what
                only the input could say is None then, and a note says so.
            limit: Duplicates that are named; all are counted.
            threads: Number of threads; all cores by default.

        Raises:
            InputError: There is no document of that id; or the input is gone, or has changed.
            SpecError: Both ids are those of one document, or a setting is out of range.
        """
        from neardup.inspect.explain import explain

        return explain(self._results, id, other, texts, limit, threads)

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
    def cluster(self, id: object, *, limit: int = 10, threads: int | None = None) -> Cluster:
        """Return the cluster of a document, with the texts of its documents side by side.

        Documents with the same text are shown once, with their number.

        Args:
            id: Id of the document; its position where the run had no ids. It is shown in any case.
            limit: Texts that are shown: that of the kept document, and those most similar to it.
            threads: Number of threads; all cores by default.

        Raises:
            InputError: There is no document of that id; or the input is gone, or has changed.
            SpecError: ``limit`` is below 1.
        """
        from neardup.inspect.one_cluster import cluster_of

        return cluster_of(self._results, id, limit, threads)

    @expanded
    def pairs_with_texts(self, *, texts: bool = True) -> pa.Table:
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
    ) -> Run:
        """Decide again which documents are kept and how they are clustered, with the same bands.

        The result is that of a full run with these settings. Sketches that are in memory, or in the
        run folder, are reused. Without a clean corpus to write, a higher threshold needs nothing
        but the tables if all pairs were listed, or if no removed document falls below it.

        Args:
            out: Folder to write to, or URL of one; without it the result is in memory only.
            threshold: A new threshold. A lower one is possible, with a warning: the bands were
                chosen for that of the run, and miss more pairs below it.
            cluster: As for `neardup.dedup`, as are ``keep`` and ``pairs``; None changes nothing.
            tree_threshold: Minimum similarity within bounded clusters.

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
        spec = changed(self.spec, tree_threshold, **settings)
        resources, writing = options["resources"], options["writing"]
        if note := lower_threshold(self._results, spec):
            warnings.warn(note.removeprefix("warning: "), RecallWarning, stacklevel=3)
        with show_progress(resources.progress) as listener:
            again = Reclustering(self._results, spec, resources, writing, Clock(listener))
            if out is None:
                return Run(again.in_memory())
            return _in_folder(again.into(out).location, *self._frame)

    @expanded
    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        show: Sequence[str] = (),
        by: str | None = None,
        texts: bool = True,
        max_clusters: int = 1000,
        context: int = 40,
        overwrite: bool = False,
        threads: int | None = None,
        progress: Progress = "auto",
    ) -> Path:
        """Write a report as one HTML page; return its path.

        See `neardup.report.page.write_report` for the arguments and errors.
        """
        options = dict(locals())  # a copy: debuggers change what locals() returns
        del options["self"], options["path"], options["progress"]
        from neardup.report.outfile import check_file
        from neardup.report.page import write_report

        target = check_file(path, self._results.inputs, overwrite, self._results.read_from)
        _refuse_ending(path, "an HTML page", "name it .html; a browser prints it as PDF")
        with show_progress(progress) as listener:
            return write_report(self._results, target, **options, listener=listener)


def _refuse_ending(path: str | os.PathLike[str], expected: str, hint: str) -> None:
    if Path(path).suffix.lower() in _FILES:
        raise OutputError(f"{path} is named as a file of another kind; expected {expected}", hint)


def _in_folder(folder: str | os.PathLike[str], *frame: Any) -> Run:
    """Return the run of a folder; with the frame that it read, which no folder has."""
    return _reopened(Run, FolderResults, folder, *frame)


def _reopened(
    run: type[Run],
    kind: type[FolderResults],
    folder: str | os.PathLike[str],
    source: Source | None = None,
    ends: np.ndarray | None = None,
) -> Run:
    results = kind(folder)
    if source is not None and ends is not None:
        results.source, results.ends = source, ends
    return run(results)
