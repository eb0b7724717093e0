"""Passages of a corpus into a folder or to a URL, in a run that can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neardup import __version__
from neardup.copies.asked import CutSpec, PassageSpec
from neardup.copies.finding import Inputs
from neardup.copies.result import WRITES, Result, make
from neardup.copies.work import Work
from neardup.engines.clock import Clock, Event
from neardup.errors import ResumeError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import system_errors
from neardup.io.remote import Url
from neardup.json_values import differences
from neardup.memory_plan import PrivatePeak, least_for_passages, require_memory
from neardup.output.publishing import local_output
from neardup.output.record import digest_of
from neardup.output.resuming import is_same, require_files, resumable
from neardup.output.writing import (
    check_inputs,
    check_outside,
    complete_outputs,
    finish_outputs,
)
from neardup.result_record import read_record
from neardup.spec import plain_values
from neardup.state.output_folder import STAGED, check_folder
from neardup.state.run_state import RUN_FOLDER, RunState
from neardup.threads import Pool, available_cores, check_threads

#: Changes with the rows and the records of a run that is not complete: others can't be continued.
_STORED_FORM = 5
#: Bytes, unless a caller names another number.
MEMORY = 1_000_000_000


@dataclass(frozen=True)
class PassageRequest:
    """Inputs and settings of a call."""

    inputs: Inputs
    spec: PassageSpec
    cutting: CutSpec
    by: str | None = None  # column by whose values totals are listed
    format: str | None = None  # of the clean corpus; None for that of the input
    compression: str | None = None
    memory: int | None = None  # bytes
    threads: int | None = None

    def manifest(self) -> dict[str, Any]:
        """Return the settings and inputs that the result depends on, in JSON values."""
        return {
            "neardup": __version__,
            "passages": plain_values(self.spec),
            "cut": plain_values(self.cutting),
            "by": self.by,
            "output": [self.format, self.compression],
            "inputs": [corpus.job.identity() for corpus in self.inputs.all],
        }

    def state_manifest(self) -> dict[str, Any]:
        """Return the same, and the form of the steps that are stored until the run ends."""
        return self.manifest() | {"stored_form": _STORED_FORM}

    def least(self, threads: int) -> int:
        """The private bytes that a run with so many threads takes by itself, about."""
        size = sum(corpus.reader.source.total_bytes or 0 for corpus in self.inputs.all)
        return least_for_passages(size, threads)

    def check(self) -> None:
        """Raise SpecError where the memory that is allowed does not suffice."""
        check_threads(self.threads)
        if self.memory is not None:
            require_memory(self.memory, self.least(1), "one thread", "allow more memory")

    def resources(self) -> tuple[int, int]:
        """Return the memory in bytes, and the number of threads that it suffices for."""
        threads = self.threads or available_cores()
        if self.memory is None:
            return max(MEMORY, self.least(threads)), threads
        while threads > 1 and self.least(threads) > self.memory:
            threads -= 1
        return self.memory, threads

    @contextmanager
    def work(
        self, clock: Clock, folder: Path | None = None, state: RunState | None = None
    ) -> Iterator[Work]:
        memory, threads = self.resources()
        if threads < (every := self.threads or available_cores()):
            note = f"{threads} of {every} threads, as the memory allows"
            clock.emit(Event("find anchors", note=note))
        with Pool(threads) as pool, PrivatePeak() as peak:
            manifest = None if state is None else self.state_manifest()
            arguments = pool, clock, memory, folder, state, manifest, peak
            with closing(Work(*arguments, is_limit=self.memory is not None)) as work:
                yield work


@dataclass(frozen=True)
class Target:
    """Where the result goes."""

    out: Url | GivenPath
    overwrite: bool = False
    resume: bool = False
    folder: GivenPath | None = None  # where it is made, if it goes to a URL


def run_in_memory(asked: PassageRequest, clock: Clock) -> Result:
    """Find passages; nothing is written."""
    asked.check()
    with asked.work(clock) as work:
        return make(asked.inputs, asked.spec, asked.cutting, work, asked.by)


def run_in_folder(request: Callable[[], PassageRequest], target: Target, clock: Clock) -> None:
    """Find passages, and write the result; inputs are opened once the folder is locked.

    Raises:
        OutputError: The output exists, or can't be written.
        ResumeError: The run to resume has other settings or inputs, or is damaged.
        SpecError: The memory does not suffice.
    """
    with local_output(
        target.out,
        overwrite=target.overwrite,
        resume=target.resume,
        work=target.folder,
        writes=WRITES,
    ) as here:
        _run(request, target, here, clock)


def _run(
    request: Callable[[], PassageRequest], target: Target, here: GivenPath, clock: Clock
) -> None:
    out = here.path
    check_folder(out, target.overwrite, writes=WRITES, resume=target.resume)
    folder = out / RUN_FOLDER
    interrupted = target.resume and RunState.exists(folder)
    if interrupted:
        state = RunState.open(folder)
    else:
        state = RunState.create(folder, overwrite=target.overwrite or target.resume)
    with state, resumable(state):
        asked = request()
        asked.check()
        for corpus in asked.inputs.all:
            files = [file.location for file in corpus.reader.source.files]
            check_inputs(target.out, files, WRITES)
            check_outside(target.out, corpus.job.given)
        manifest = asked.manifest()
        if target.resume and not interrupted and _is_complete(out, manifest, target.overwrite):
            state.remove()
            return
        if state.manifest:  # else it was killed before it had begun
            note = f"continuing the run in {here / RUN_FOLDER}"
            clock.emit(Event("find anchors", note=note))
        _check_same(asked, state, out)
        if finish_outputs(out, state) is None:
            staged = state.scratch_folder(STAGED)
            with asked.work(clock, state.scratch_folder("passages"), state) as work:
                result = make(asked.inputs, asked.spec, asked.cutting, work, asked.by)
                result.record["asked"] = digest_of(manifest)
                with system_errors(staged):
                    result.write(staged, asked.format, asked.compression, work)
            complete_outputs(out, state, staged)
        state.remove()


def _check_same(asked: PassageRequest, state: RunState, out: Path) -> None:
    """Refuse to continue a run of something else."""
    if not state.manifest:
        return
    require_files(out, (corpus.reader.source for corpus in asked.inputs.all))
    if found := differences(state.manifest, asked.state_manifest()):
        raise ResumeError(
            f"{state.folder}: this run has other settings or inputs: {found}",
            "use the same as before, or start again with overwrite=True",
        )


def _is_complete(out: Path, manifest: dict[str, Any], overwrite: bool) -> bool:
    """Return whether a folder has the result of the same call; False where none is complete."""
    record = read_record(out)
    return record is not None and is_same(out, record, digest_of(manifest), overwrite)
