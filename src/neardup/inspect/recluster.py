"""A finished run with other settings and the same bands.

The result is that of a full run with the new settings and the recipe of the old one. The tables of
the run decide it where they can, and no clean corpus is wanted. Else the texts are read again, and
sketched unless the sketches are in memory, or in a run folder that was kept.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from neardup import __version__
from neardup.engines.job import Job, Resources, wanted_columns
from neardup.engines.local import Outcome, run
from neardup.errors import ColumnError, InputError, ResumeError, SpecError, StoreError
from neardup.inspect.from_tables import MissingSource, outcome_of, what_is_needed
from neardup.io.opening import Reading
from neardup.io.remote import located, location
from neardup.io.source import Source
from neardup.memory import PrivatePeak
from neardup.output.publishing import local_output
from neardup.output.record import record
from neardup.output.results import FolderResults, MemoryResults, Results
from neardup.output.writing import Writing, check_folder, check_inputs, check_outside, write_outputs
from neardup.sketch.bands import candidate_probability
from neardup.spec import Spec
from neardup.stages.clock import Clock, Event
from neardup.state.band_store import BandStore
from neardup.state.run_state import RUN_FOLDER, RunState
from neardup.threads import Pool


@dataclass(frozen=True)
class Reclustering:
    """What is to be made of a finished run."""

    spec: Spec  # its bands are not looked at, since those of the run stay
    resources: Resources = field(default_factory=Resources)
    writing: Writing = field(default_factory=Writing)
    out: str | os.PathLike[str] | None = None  # None to keep the result in memory
    overwrite: bool = False


def recluster(results: Results, asked: Reclustering, clock: Clock) -> Results:
    """Decide again what is kept and how it is clustered; see `neardup.Run.recluster`."""
    if asked.out is None:
        asked = replace(asked, writing=Writing(clean=False))
        return _Again(results, asked, clock).in_memory()
    if located(asked.out).rstrip("/") == results.name:
        what = f"{results.name} is the run itself, or in its folder"
        raise SpecError(what, "name another output")
    check_inputs(asked.out, map(str, results.inputs))
    check_outside(asked.out, results.read_from)
    with local_output(asked.out, overwrite=asked.overwrite) as folder:
        _Again(results, asked, clock).write(folder)
    return FolderResults(asked.out)


def changed(spec: Spec, tree_threshold: float | None = None, **changes: Any) -> Spec:
    """Return a spec with changes, of which None leaves what was."""
    given = {name: value for name, value in changes.items() if value is not None}
    bounded = given.get("cluster", spec.cluster) == "bounded"
    if bounded and tree_threshold is None and spec.tree_threshold is not None:
        tree_threshold = min(spec.tree_threshold, given.get("threshold", spec.threshold))
    return spec.replace(tree_threshold=None).replace(**given, tree_threshold=tree_threshold)


@dataclass
class _Again:
    """A run that is done again with other settings."""

    results: Results
    asked: Reclustering
    clock: Clock
    #: What was used: ``tables`` alone, ``sketches`` and the input, or ``input`` alone.
    used: str = "input"

    def in_memory(self) -> Results:
        with PrivatePeak() as peak:
            outcome = self._outcome(None)
        return MemoryResults(outcome, record(outcome, peak.peak) | self._about(peak.peak))

    def write(self, out: Path) -> None:
        old, overwrite = self.results.folder, self.asked.overwrite
        if old is not None and old.resolve() in (out.resolve(), *out.resolve().parents):
            raise SpecError(f"{out} is the run itself, or in its folder", "name another output")
        check_folder(out, overwrite)
        with RunState.create(out / RUN_FOLDER, overwrite=overwrite) as state, PrivatePeak() as peak:
            try:
                outcome, writing = self._outcome(state), self.asked.writing
                with Pool(self.asked.resources.threads) as pool:
                    write_outputs(outcome, out, writing, pool, lambda: self._about(peak.peak))
            finally:
                state.remove()

    def _about(self, peak: int) -> dict[str, Any]:
        """Return what the record has besides: of an input that may be gone, and come back."""
        names = ("source", "frame", "texts_digest", "secret_ids") if self.used == "tables" else ()
        of_input = {name: self.results.record[name] for name in names}
        about = {"run": self.results.name, "used": self.used}
        return {"peak_private_memory": peak, "recluster": about, **of_input}

    def _outcome(self, state: RunState | None) -> Outcome:
        spec, old, recipe = self.asked.spec, self.results.spec, self.results.recipe
        needed = what_is_needed(self.results, spec)
        # Where sketches and texts are in memory, what they give is as quick, and has all.
        if not (needed or self.asked.writing.clean or isinstance(self.results, MemoryResults)):
            self.used = "tables"
            try:
                source = self.results.source
            except InputError as error:  # raised when it is read
                source = MissingSource(error)
            return outcome_of(self.results, self._job(source, state))
        try:
            job = self._job(self.results.source, state)
        except InputError as error:
            needed = needed or "only tables can be written without it; leave out the clean corpus"
            error.hint = f"{error.hint}; {needed}" if error.hint else needed
            raise
        self.asked.writing.check(job.source)
        if spec.threshold < old.threshold and recipe.num_bands:
            chance = candidate_probability(spec.threshold, recipe.num_bands, recipe.rows)
            note = f"the bands were chosen for {old.threshold:g}; a pair at {spec.threshold:g} is "
            note += f"found with probability {100 * chance:.1f} %"
            self.clock.emit(Event("choose bands", note=note))
        with self._sketches(job) as sketches:
            self.used = "input" if sketches is None else "sketches"
            return run(replace(job, sketches=sketches))

    def _job(self, source: Source, state: RunState | None) -> Job:
        results, asked = self.results, self.asked
        reading: dict[str, Any] = {"given": []}
        if isinstance(results, MemoryResults):
            reading = dict(results.outcome.job.reading)
        elif isinstance(results, FolderResults) and source.files:
            reading = Reading.of(results.record["source"]).as_dict()
            reading["given"] = [str(path) for path in results.given]
        wanted = wanted_columns(asked.spec, None)
        if wanted and source.files and source.rereadable:  # so that a missing column shows
            source = Reading.of(reading).open([location(p) for p in reading["given"]], wanted)
        elif wanted and not isinstance(source, MissingSource):
            missing = set(wanted) - set(source.column_names() or wanted)
            if missing:
                raise ColumnError(f"the input has no column {min(missing)!r}")
        recipe, output = results.recipe, asked.writing.as_dict()
        return Job(source, asked.spec, asked.resources, reading, self.clock, state, output, recipe)

    @contextmanager
    def _sketches(self, job: Job) -> Iterator[BandStore | None]:
        """Give the sketches of the run, if they have all that the new settings need; else None."""
        results, new, id_column = self.results, self.asked.spec, job.source.id_column
        old = results.spec
        needed = set(wanted_columns(new, id_column)) - set(wanted_columns(old, id_column))
        if needed or (new.keep == "longest" and old.keep != "longest"):
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
                    store = before.band_store()
                    store.open(results.recipe.digest, results.recipe.as_dict())
                yield store
        except (ResumeError, StoreError) as error:
            hint = f"wait for a run at work there; if it is damaged, remove {folder}: what is "
            raise ResumeError(
                error.message, hint + "missing is read from the input then"
            ) from error
