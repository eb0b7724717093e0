"""A finished run with other settings and the same bands.

The result is that of a full run with the new settings and the recipe of the old one. The texts are
read again, and sketched unless the run folder was kept.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neardup import __version__
from neardup.engines.beginning import store_header
from neardup.engines.clock import Clock, Event, Listener
from neardup.engines.job import Job, Resources, wanted_columns
from neardup.engines.local import Outcome, run
from neardup.engines.memory import PrivatePeak, Scratch, parse_size
from neardup.errors import ColumnError, ResumeError, SpecError, StoreError
from neardup.io.opening import open_source
from neardup.io.source import Columns
from neardup.output.record import record
from neardup.output.results import FolderResults, MemoryResults, Results
from neardup.output.writing import Writing, check_folder, write_outputs
from neardup.sketch.bands import candidate_probability
from neardup.spec import Spec
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
    clock = Clock(listener) if begin is None else Clock(listener, begin)
    again = _Again(results, spec, resources, Writing(clean, format, annotate), clock)
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
        if state is not None and self._take_sketches(job, state):
            self.used = "sketches"
        return run(job)

    def _job(self, state: RunState | None) -> Job:
        results, source = self.results, self.results.source
        reading: dict[str, Any] = {"given": []}
        if isinstance(results, MemoryResults):
            reading = dict(results.outcome.job.reading)
        elif isinstance(results, FolderResults):
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

    def _take_sketches(self, job: Job, state: RunState) -> bool:
        """Copy band keys and metadata from the run folder that was kept, if they fit."""
        old, new, id_column = self.results.spec, self.spec, job.source.id_column
        folder = None if self.results.folder is None else self.results.folder / RUN_FOLDER
        needed = set(wanted_columns(new, id_column)) - set(wanted_columns(old, id_column))
        measured = new.keep != "longest" or old.keep == "longest"
        if folder is None or not RunState.exists(folder) or needed or not measured:
            return False
        try:
            with RunState.open(folder) as before:
                known = before.manifest
                if known["neardup"] != __version__ or known["store"] not in ("auto", "sqlite"):
                    return False
                self._copy(before, job, state)
        except (ResumeError, StoreError) as error:
            raise ResumeError(
                error.message,
                f"wait for a run at work there; if it is damaged, remove {folder}: what is missing "
                "is read from the input then",
            ) from error
        recipe = self.results.recipe.as_dict()
        state.manifest = {**job.manifest(), "recipe": recipe, "memory": 0}
        return True

    def _copy(self, before: RunState, job: Job, state: RunState) -> None:
        recipe = self.results.recipe
        source = before.band_store()
        with source, state.band_store() as target:
            source.open(recipe.digest, recipe.as_dict())
            target.create(store_header(job, recipe))
            entries = source.partitions()
            ends = np.cumsum([0, *(entry.documents for entry in entries.values())]).tolist()
            limits = dict(zip(entries, itertools.pairwise(ends), strict=True))
            # By band there, by partition here: in a mapped file, as they may be many.
            keys = Scratch(0, state.folder).empty((recipe.num_bands, ends[-1]), np.uint64)
            with self.clock.stage("sketches", recipe.num_bands, "bands") as advance:
                for band in range(recipe.num_bands):
                    for number, part in source.band(band):
                        keys[band, slice(*limits[number])] = part
                    advance(1)
                for number, some in limits.items():
                    part = np.ascontiguousarray(keys[:, slice(*some)])
                    target.put(number, part, source.metadata(number))
