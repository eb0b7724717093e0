"""A finished run, in memory or in its folder: the object that users work with."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.api.arguments import checked
from neardup.api.progress import Progress, show_progress
from neardup.api.running import save
from neardup.engines.clock import Clock
from neardup.engines.local import Outcome
from neardup.engines.memory import Scratch
from neardup.errors import SpecError
from neardup.io.formats.json_text import common_schema, conform
from neardup.io.source import Partition
from neardup.output.results import FolderResults, MemoryResults, Results
from neardup.output.writing import Writing
from neardup.spec import Spec

if TYPE_CHECKING:
    from neardup.inspect.audit import Audit
    from neardup.inspect.explain import Explanation


class Run:
    """What `neardup.dedup` found.

    Made by `neardup.dedup`, or by `neardup.open` from an output folder.

    Args:
        results: Record and tables.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        where = f" in {self.path}" if self.path else ""
        return (
            f"<Run{where}: {counts['documents']:,} documents, {counts['kept']:,} kept, "
            f"{counts['removed']:,} removed>"
        )

    def __reduce__(self) -> Any:
        results = self._results
        if not isinstance(results, MemoryResults):
            return open_run, (results.folder,)
        # Listeners and locks stay here.
        job = dataclasses.replace(results.outcome.job, clock=Clock())
        outcome = dataclasses.replace(results.outcome, job=job, scratch=cast(Any, None))
        return _in_memory, (outcome, results.record)

    def __len__(self) -> int:
        """Number of documents."""
        return self._results.documents

    @property
    def path(self) -> Path | None:
        """The output folder; None for a run that is in memory only."""
        return self._results.folder

    @property
    def spec(self) -> Spec:
        """What was asked for."""
        return self._results.spec

    @property
    def summary(self) -> dict[str, Any]:
        """Settings, counts, seconds and bytes: what ``run.json`` holds."""
        return self._results.record

    @property
    def clusters(self) -> pa.Table:
        """A row for each document.

        Columns: ``doc`` int64, its number; ``doc_id``, its id; ``cluster`` int64, the number of the
        first document of its cluster; ``kept`` bool; ``duplicate_of``, the id of the kept document
        that a removed one is a duplicate of; ``similarity`` float64, exact, of the two.
        """
        return self._results.clusters()

    @property
    def edges(self) -> pa.Table | None:
        """A row for each pair that reaches the threshold; None where pairs were not listed.

        They are listed with ``pairs="all"`` and with every clustering but ``"star"``. Columns:
        ``doc_a`` < ``doc_b`` int64, ``id_a``, ``id_b``, ``similarity`` float64, exact.
        """
        return self._results.edges()

    @property
    def duplicates(self) -> pa.Table:
        """The removed documents: ``doc_id``, ``duplicate_of`` and ``similarity``."""
        table = self._results.clusters(["doc_id", "kept", "duplicate_of", "similarity"])
        removed: Any = pc.invert(table.column("kept"))
        return table.filter(removed).select(["doc_id", "duplicate_of", "similarity"])

    @property
    def kept(self) -> pa.ChunkedArray[Any]:
        """Ids of the kept documents."""
        return self._results.ids.filter(pa.array(self._kept))

    @property
    def removed(self) -> pa.ChunkedArray[Any]:
        """Ids of the removed documents."""
        return self._results.ids.filter(pa.array(~self._kept))

    @functools.cached_property
    def _kept(self) -> np.ndarray:
        return self._results.array("kept")

    @property
    def keep_mask(self) -> np.ndarray:
        """bool[documents]: whether each document is kept, in the order of the input."""
        return self._in_input_order(self._kept)

    @property
    def labels(self) -> np.ndarray:
        """int64[documents]: number of the cluster of each document, in the order of the input."""
        return self._in_input_order(self._results.array("cluster"))

    def _in_input_order(self, values: np.ndarray) -> np.ndarray:
        positions = self._results.positions_of
        if positions is None:
            return values
        found = np.empty_like(values)
        found[positions] = values
        return found

    def clean(self) -> pa.Table:
        """Return the kept documents with all their columns, read from the input again.

        Raises:
            InputError: The input has changed, or can't be read again.
        """
        results = self._results
        positions = np.flatnonzero(self.keep_mask)

        def read(partition: Partition, rows: np.ndarray, count: int) -> pa.Table:
            return partition.table(None if len(rows) == count else rows, count)

        parts = list(results.visit(positions, read))  # the first document is always kept
        schema = common_schema([part.schema for part in parts])
        return pa.concat_tables([conform(part, schema, "the input") for part in parts])

    @checked
    def save(
        self,
        out: str | os.PathLike[str],
        *,
        clean: bool = True,
        format: str | None = None,
        annotate: bool = False,
        overwrite: bool = False,
    ) -> Run:
        """Write the results to a folder, as `neardup.dedup` does with ``out``.

        Args:
            out: Folder to make; all others as for `neardup.dedup`.

        Returns:
            The run in that folder.

        Raises:
            OutputError: The folder exists, or can't be written.
            SpecError: The run is in a folder already, or a setting is out of range.
        """
        results = self._results
        if not isinstance(results, MemoryResults):
            raise SpecError(f"the run is stored in {self.path} already", "copy that folder")
        writing = Writing(clean, format, annotate)
        save(results.outcome, results.record, Path(out), writing, overwrite)
        return open_run(out)

    @checked
    def explain(
        self,
        id: Any,
        other: Any = None,
        *,
        texts: bool = True,
        search: bool = False,
        limit: int = 20,
        threads: int | None = None,
    ) -> Explanation:
        """Return why a document was removed or kept, or how two documents are related.

        See `neardup.inspect.explain.explain` for the arguments and errors.
        """
        from neardup.inspect.explain import explain

        return explain(
            self._results, id, other, texts=texts, search=search, limit=limit, threads=threads
        )

    @checked
    def audit(
        self,
        *,
        sample: int = 1000,
        seed: int = 0,
        memory: int | str | None = None,
        threads: int | None = None,
        write: bool = True,
        progress: Progress = "auto",
    ) -> Audit:
        """Measure what was missed, by exact search for all near-duplicates of some documents.

        See `neardup.inspect.audit.audit` for the arguments and errors.
        """
        from neardup.inspect.audit import audit

        with show_progress(progress) as listener:
            return audit(
                self._results,
                sample=sample,
                seed=seed,
                memory=memory,
                threads=threads,
                write=write,
                listener=listener,
            )

    @checked
    def evaluate(
        self,
        truth: Any,
        *,
        columns: Sequence[str] | None = None,
        kind: str | None = None,
        missing: str = "error",
        only_named: bool = False,
    ) -> dict[str, Any]:
        """Compare with known duplicates: precision, recall and F1.

        See `neardup.inspect.evaluate.evaluate` for the arguments and errors.
        """
        from neardup.inspect.evaluate import evaluate

        return evaluate(
            self._results, truth, columns=columns, kind=kind, missing=missing, only_named=only_named
        )

    @checked
    def recluster(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        threshold: float | None = None,
        cluster: str | None = None,
        tree_threshold: float | None = None,
        keep: str | None = None,
        pairs: str | None = None,
        clean: bool = True,
        format: str | None = None,
        annotate: bool = False,
        overwrite: bool = False,
        memory: int | str | None = None,
        threads: int | None = None,
        progress: Progress = "auto",
    ) -> Run:
        """Decide again what is kept and how it is clustered, with the same bands.

        See `neardup.inspect.recluster.recluster` for the arguments and errors.
        """
        from neardup.inspect.recluster import recluster

        with show_progress(progress) as listener:
            found = recluster(
                self._results,
                out,
                threshold=threshold,
                cluster=cluster,
                tree_threshold=tree_threshold,
                keep=keep,
                pairs=pairs,
                clean=clean,
                format=format,
                annotate=annotate,
                overwrite=overwrite,
                memory=memory,
                threads=threads,
                listener=listener,
            )
        return Run(found)

    @checked
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
    ) -> Path:
        """Write a report as one HTML page; return its path.

        See `neardup.report.page.write_report` for the arguments and errors.
        """
        from neardup.report.page import write_report

        return write_report(
            self._results,
            Path(path),
            title=title,
            show=show,
            by=by,
            texts=texts,
            max_clusters=max_clusters,
            context=context,
            overwrite=overwrite,
            threads=threads,
        )


def _in_memory(outcome: Outcome, record: dict[str, Any]) -> Run:
    return Run(MemoryResults(dataclasses.replace(outcome, scratch=Scratch()), record))


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Open the output folder of a finished run.

    Args:
        folder: What was given to `neardup.dedup` as ``out``, or to the command with ``-o``.

    Raises:
        InputNotFoundError: There is no run in it.
        InputError: It was made by another version, or is damaged.
    """
    return Run(FolderResults(folder))
