"""From a request to a job, and from a job to an output folder that can be resumed."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Any

from neardup.engines.beginning import drop_store
from neardup.engines.clock import Clock, Event
from neardup.engines.job import Job, needed_columns
from neardup.engines.local import Outcome, run, sketch_shard
from neardup.errors import SpecError
from neardup.files.given_path import GivenPath
from neardup.frame.how_read import how_read
from neardup.frame.inputs import Input
from neardup.frame.options import Reading, Resources, Writing
from neardup.frame.storage import FolderStorage
from neardup.io.opening import accepted, given_paths
from neardup.io.remote import Url, is_remote, local_target, located, open_remote
from neardup.json_values import differences
from neardup.memory_plan import PrivatePeak
from neardup.output.publishing import clear_work, local_output
from neardup.output.record import digest_of, record
from neardup.output.resuming import is_same, require_files, resumable
from neardup.output.writing import (
    OUTPUTS,
    check_inputs,
    check_outside,
    check_writing,
    finish_outputs,
    write_outputs,
)
from neardup.result_record import RECORD, record_of
from neardup.spec import Spec
from neardup.state.output_folder import check_folder
from neardup.state.run_state import RUN_FOLDER, RunState
from neardup.state.shards import Shard


@dataclass(frozen=True)
class Request:
    """The arguments of a call, checked and grouped."""

    source: Any  # see `neardup.dedup`
    #: Files, folders, patterns and URLs that are asked for; none for a frame.
    given: list[Url | GivenPath] = field(init=False)
    reading: Reading = field(default_factory=Reading)
    spec: Spec = field(default_factory=Spec)
    resources: Resources = field(default_factory=Resources)
    writing: Writing = field(default_factory=Writing)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", accepted(self.source))
        object.__setattr__(self, "given", given_paths(self.source) or [])

    def job(self, state: RunState | None = None) -> Job:
        """Open the source, and return the job."""
        folder = None if state is None else state.scratch_folder("inputs")
        columns = needed_columns(self.spec, None)
        items = self.spec.shingle.unit == "item"
        asked = how_read(self.reading, items)
        source, reading = asked.open_sized(self.source, columns, folder)
        check_writing(self.writing, source)
        how = {"given": list(map(str, self.given)), **reading.as_dict()}
        output = self.writing.as_dict()
        return Job(source, self.spec, self.resources, how, self.clock, state, output)


def run_in_memory(request: Request) -> tuple[Outcome, dict[str, Any]]:
    """Run without writing files; return the outcome and its record."""
    if request.resources.shared:
        raise SpecError("`store` is outside this process, and `out` is not given")
    nothing = dataclasses.replace(request.writing, clean=False)
    with PrivatePeak() as peak:
        outcome = run(dataclasses.replace(request, writing=nothing).job())
    return outcome, record(outcome, peak.peak)


def run_in_folder(request: Request, out: str | os.PathLike[str]) -> FolderStorage:
    """Run, and write the results to a folder, or to a URL; ``out`` of the request is not read.

    Finished work is stored in the folder ``.run`` in ``out``: a run that was killed at any
    moment continues from there. With a URL, the folder ``work`` is used, and copied at the end.
    """
    target, writing = located(out), request.writing
    work = None if writing.work is None else local_target(writing.work)
    if writing.resume and is_remote(target) and _complete(request, target):
        if work is not None and not writing.keep_run:
            clear_work(work)
        return FolderStorage(target)
    check_outside(target, request.given)
    with local_output(
        target,
        overwrite=writing.overwrite,
        resume=writing.resume,
        work=work,
        keep=writing.keep_run,
    ) as here:
        found = _run_in_folder(request, here, target)
    return FolderStorage(target, found.record, found.source) if is_remote(target) else found


def _run_in_folder(request: Request, here: GivenPath, target: Url | GivenPath) -> FolderStorage:
    out, overwrite, resume = here.path, request.writing.overwrite, request.writing.resume
    check_folder(out, overwrite, writes=OUTPUTS, resume=resume)
    folder = out / RUN_FOLDER
    if resume and not RunState.exists(folder) and _complete(request, here):
        if folder.exists():  # of a run that was killed while it cleared up
            RunState.create(folder, overwrite=True).remove()
        return FolderStorage(here)
    if resume and RunState.exists(folder):
        state = RunState.open(folder)
        if state.manifest:  # else it was killed before it had begun
            note = f"continuing the run in {here / RUN_FOLDER}"
            request.clock.emit(Event("read and sketch", note=note))
    else:
        state = RunState.create(folder, overwrite=overwrite or resume)
    with state, resumable(state) as jobs, PrivatePeak() as peak:
        job = request.job(state)
        jobs.append(job)
        check_inputs(target, [file.location for file in job.source.files])
        if state.manifest:
            require_files(out, [job.source])
        asked = job.manifest()
        before = {name: value for name, value in state.manifest.items() if name in asked}
        found = None if differences(before, asked) else finish_outputs(out, state)
        if found is None:
            outcome = run(job)
            found = write_outputs(
                outcome,
                state,
                out,
                request.writing,
                lambda: {"peak_private_memory": peak.peak, "disk": state.size()},
            )
        # In this order: without the run state, no later run would remove the keys in the store.
        keep = request.writing.keep_run or (job.resources.shared and not drop_store(job))
        if not keep:
            state.remove()
    # No folder contains a frame.
    is_frame = job.source.format == "frame"
    source = Input(outcome.reader, outcome.corpus.ends) if is_frame else None
    return FolderStorage(here, found, source)


def save(
    outcome: Outcome, about: dict[str, Any], out: str | os.PathLike[str], writing: Writing
) -> None:
    """Write the results of a run in memory to a folder, or to a URL."""
    check_writing(writing, outcome.job.source)
    out = located(out)
    check_inputs(out, [file.location for file in outcome.job.source.files])
    check_outside(out, outcome.job.given)

    used = {name: about[name] for name in ("seconds", "peak_memory", "peak_private_memory")}
    with local_output(out, overwrite=writing.overwrite) as here:
        folder = here.path
        check_folder(folder, writing.overwrite, writes=OUTPUTS)
        with RunState.create(folder / RUN_FOLDER, overwrite=writing.overwrite) as state:
            try:
                job = dataclasses.replace(outcome.job, output=writing.as_dict())
                saved = dataclasses.replace(outcome, job=job)
                write_outputs(saved, state, folder, writing, lambda: used)
            finally:
                state.remove()


def sketch_into_store(request: Request, shard: Shard) -> dict[str, int]:
    """Put the sketches of a shard into a store that several processes can reach."""
    if request.resources.run is None:
        raise SpecError("`run` is not given; a run in a shared store needs a name", "run='notes'")
    job = request.job()
    if not job.source.rereadable:
        raise SpecError("a pipe can't be read in shards", "write it to a file")
    return sketch_shard(job, shard)


def _complete(request: Request, out: Url | GivenPath) -> bool:
    """Return whether an output is complete and of this very request.

    Raises:
        OutputError: It is complete, of another request, and must not be replaced.
    """
    path = out / RECORD
    try:
        with open_remote(path) if isinstance(path, Url) else path.path.open("rb") as file:
            data = file.read()
    except OSError:
        return False
    before = record_of(data, str(path)) or {}
    job = request.job()
    # A pipe or a frame can't be compared with an earlier one.
    known = bool(job.source.files) and job.source.rereadable
    digest = digest_of(job.manifest()) if known else None
    return is_same(out, before, digest, request.writing.overwrite)
