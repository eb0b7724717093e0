"""A finished run with other settings and the same bands.

The result is that of a full run with the new settings and the recipe of the old one. The texts are
read again, and sketched unless the sketches are in memory, or in a run folder that was kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neardup import __version__
from neardup.engines.clock import Clock, Event, Listener
from neardup.engines.job import Job, Resources, wanted_columns
from neardup.engines.local import Outcome, run
from neardup.engines.memory import PrivatePeak, parse_size
from neardup.errors import ColumnError, ResumeError, SpecError, StoreError
from neardup.io.opening import open_source
from neardup.io.source import Columns
from neardup.output.record import record
from neardup.output.results import FolderResults, MemoryResults, Results
from neardup.output.writing import Writing, check_folder, write_outputs
from neardup.sketch.bands import candidate_probability
from neardup.spec import Spec
from neardup.state.band_store import BandStore
from neardup.state.run_state import RUN_FOLDER, RunState
from neardup.threads import Pool

#: What says how a source is read, see `neardup.output.record`.
_READING = ("text", "id", "input_format", "encoding_errors", "partition_bytes")


def recluster(  # noqa: PLR0913
    results: Results,
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
    listener: Listener | None = None,
    begin: float | None = None,
) -> Results:
    """Decide again what is kept and how it is clustered, with other settings and the same bands.

    The texts are read again, and sketched again unless the run folder was kept. Arguments that are
    not named here are those of `neardup.dedup`.

    Args:
        results: Of the finished run.
        out: Folder to write to; None to keep the result in memory.
        threshold: Similarity from which on two documents are near-duplicates. A lower one is
            possible, but the bands were chosen for that of the run, and miss more pairs below it.
        tree_threshold: Minimum similarity within bounded clusters.
        clean: With ``out``: write the kept documents.
        listener: Gets the events.
        begin: Where the time begins, on the clock of `time.monotonic`; now by default.

    Raises:
        InputError: The input is gone or has changed.
        OutputError: The output folder exists, or can't be written.
        ResumeError: The kept run folder is damaged or in use.
        SpecError: A setting is out of range.
    """
    changes = {"threshold": threshold, "cluster": cluster, "keep": keep, "pairs": pairs}
    spec = _changed(results.spec, changes, tree_threshold)
    resources = Resources(None if memory is None else parse_size(memory), threads)
    writing = Writing(clean and out is not None, format, annotate)
    clock = Clock(listener) if begin is None else Clock(listener, begin)
    again = _Again(results, spec, resources, writing, clock)
    return again.in_memory() if out is None else again.write(Path(out), overwrite)


def _changed(spec: Spec, changes: dict[str, Any], tree_threshold: float | None) -> Spec:
    """Return the spec with what is to be changed."""
    given = {name: value for name, value in changes.items() if value is not None}
    bounded = given.get("cluster", spec.cluster) == "bounded"
    if bounded and tree_threshold is None and spec.tree_threshold is not None:
        tree_threshold = min(spec.tree_threshold, given.get("threshold", spec.threshold))
    return spec.replace(tree_threshold=None).replace(**given, tree_threshold=tree_threshold)


@dataclass
class _Again:
    """A run that is done again with other settings."""

    results: Results
    spec: Spec
    resources: Resources
    writing: Writing
    clock: Clock
    #: What was used: ``sketches``, or ``input`` alone.
    used: str = "input"

    def in_memory(self) -> Results:
        with PrivatePeak() as peak:
            outcome = self._outcome(None)
        found = record(outcome, peak.peak)
        self._finish(found)
        return MemoryResults(outcome, found)

    def write(self, out: Path, overwrite: bool) -> Results:
        old = self.results.folder
        if old is not None and old.resolve() in (out.resolve(), *out.resolve().parents):
            raise SpecError(f"{out} is the run itself, or in its folder", "name another output")
        check_folder(out, overwrite, [file.path for file in self.results.source.files])
        with RunState.create(out / RUN_FOLDER, overwrite=overwrite) as state, PrivatePeak() as peak:
            try:
                outcome = self._outcome(state)

                def finish(found: dict[str, Any]) -> None:
                    found["peak_private_memory"] = peak.peak
                    self._finish(found)

                with Pool(self.resources.threads) as pool:
                    write_outputs(outcome, out, self.writing, pool, finish)
            finally:
                state.remove()
        return FolderResults(out)

    def _finish(self, found: dict[str, Any]) -> None:
        """Add to a record how it was made."""
        found["recluster"] = {"run": self.results.name, "used": self.used}
        self.clock.lap("other")
        found["seconds"] = {name: round(x, 4) for name, x in self.clock.seconds.items()}

    def _outcome(self, state: RunState | None) -> Outcome:
        job = self._job(state)
        self.writing.check(job.source)
        old, recipe = self.results.spec, self.results.recipe
        if self.spec.threshold < old.threshold and recipe.num_bands:
            chance = candidate_probability(self.spec.threshold, recipe.num_bands, recipe.rows)
            note = (
                f"the bands were chosen for {old.threshold:g}; a pair at {self.spec.threshold:g} "
                f"is found with probability {100 * chance:.1f} %"
            )
            self.clock.emit(Event("choose bands", note=note))
        with self._sketches(job) as sketches:
            self.used = "input" if sketches is None else "sketches"
            return run(replace(job, sketches=sketches))

    def _job(self, state: RunState | None) -> Job:
        results, source = self.results, self.results.source
        reading: dict[str, Any] = {"given": []}
        if isinstance(results, MemoryResults):
            reading = dict(results.outcome.job.reading)
        elif isinstance(results, FolderResults) and source.files:
            reading = {name: results.record["source"][name] for name in _READING}
            reading["given"] = [str(path) for path in results.given]
        wanted = wanted_columns(self.spec, None)
        if wanted and source.files and source.rereadable:  # so that a missing column shows
            old = source.columns
            columns = Columns(old.text, old.id, old.encoding_errors, wanted)
            options = {name: reading[name] for name in ("input_format", "partition_bytes")}
            source = open_source([Path(path) for path in reading["given"]], columns, **options)
        elif wanted:
            missing = set(wanted) - set(source.column_names() or wanted)
            if missing:
                raise ColumnError(f"the input has no column {min(missing)!r}")
        recipe, output = results.recipe.as_dict(), self.writing.as_dict()
        return Job(source, self.spec, self.resources, reading, self.clock, state, output, recipe)

    @contextmanager
    def _sketches(self, job: Job) -> Iterator[BandStore | None]:
        """Give the sketches of the run, if they have all that the new settings need; else None."""
        results, old, id_column = self.results, self.results.spec, job.source.id_column
        needed = set(wanted_columns(self.spec, id_column)) - set(wanted_columns(old, id_column))
        if needed or (self.spec.keep == "longest" and old.keep != "longest"):
            yield None
            return
        folder = None if results.folder is None else results.folder / RUN_FOLDER
        if folder is None or not RunState.exists(folder):
            yield results.outcome.sketches if isinstance(results, MemoryResults) else None
            return
        try:
            with RunState.open(folder) as before:
                known, store = before.manifest, None
                if known["neardup"] == __version__ and known["store"] in ("auto", "sqlite"):
                    store = before.band_store("row" if known["layout"] == "row" else "blob")
                    store.open(results.recipe.digest, results.recipe.as_dict())
                yield store
        except (ResumeError, StoreError) as error:
            raise ResumeError(
                error.message,
                f"wait for a run at work there; if it is damaged, remove {folder}: what is missing "
                "is read from the input then",
            ) from error
