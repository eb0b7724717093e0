"""The main job from files to files: run folder, resume, and what becomes of both at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from neardup.errors import (
    ColumnError,
    DuplicateIdError,
    EncodingError,
    FormatError,
    NeardupError,
    OutputError,
    OutputSizeError,
    ResumeError,
    SpecError,
)
from neardup.run import outputs
from neardup.run.begin import drop_store
from neardup.run.events import Event
from neardup.run.folder import FOLDER, MANIFEST, RunFolder
from neardup.run.job import Job
from neardup.run.memory import AnonymousPeak
from neardup.run.outputs import WRITTEN
from neardup.run.pipeline import run
from neardup.run.request import Request
from neardup.run.writing import write
from neardup.spec import Spec

__all__ = ["run_files"]


def run_files(
    request: Request,
    out: Path,
    format: str,
    compression: str,
    overwrite: bool,
    seed: Callable[[RunFolder, Job], None] | None = None,
    prepare: Callable[[Job], None] | None = None,
) -> dict[str, Any]:
    """Do the main job from files to files; return what ``run.json`` holds.

    Args:
        request: What is asked for.
        out: Folder to make.
        format, compression: Of the clean corpus.
        overwrite: Replace the files of an earlier run.
        seed: Called with a run folder that is not begun yet, to put into it what another run did.
        prepare: Called with the job before it begins or goes on.

    Raises:
        As `neardup.dedup_files`.
    """
    storage, stages = request.kept, request.stages
    outputs.check_output(out, format, overwrite, resume=storage.resume)
    output = {"format": format, "compression": compression}
    if storage.resume and (out / "run.json").exists() and not (out / FOLDER / MANIFEST).exists():
        # The manifest goes first when all is done: the run may have been killed after that.
        record = _complete(request, out, output)
        if record is not None:
            RunFolder(out / FOLDER, resume=False).remove()
            return record
        if not overwrite:
            raise OutputError(
                f"{out} exists, and is complete", "use --overwrite, or name another folder with -o"
            )
    with RunFolder(out / FOLDER, storage.resume) as folder:
        jobs: list[Job] = []
        with _interruptible(folder, jobs), AnonymousPeak() as memory:
            stages.memory = memory
            job = request.job(folder, output)
            jobs.append(job)
            if prepare is not None:
                prepare(job)
            inputs = [f.path for f in job.corpus.inputs]
            outputs.check_output(out, format, True, inputs, resume=True)
            if folder.begun and not inputs:
                raise ResumeError(
                    f"{out}: can't resume, only files can be told to be the same as before",
                    "start again with overwrite, or write the table to a file",
                )
            if folder.done(WRITTEN):
                folder.compare(job.manifest())
                record = outputs.finish_outputs(out, folder)
            else:
                if folder.begun:
                    note = f"going on with the run in {folder.path}"
                    stages.emit(Event("read and sign", note=note))
                elif seed is not None:
                    seed(folder, job)
                record = write(job, run(job), out, format, compression)
        # All is where it belongs; what is left is to clean up.
        try:
            # The folder first: without its manifest the run is known to be complete.
            if not storage.keep_run:
                folder.remove()
                if storage.shared and not job.borrowed:
                    drop_store(job)
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt("interrupted; all was written") from error
        return record


def _complete(request: Request, out: Path, output: dict[str, str]) -> dict[str, Any] | None:
    """Return the record of what is in a folder if it is what this job would make; else None."""
    storage = request.kept
    try:
        record: dict[str, Any] = json.loads((out / "run.json").read_text(encoding="utf-8"))
        if storage.name is not None:  # the run may be gone from the store by now
            same = record["run"] == storage.name
            same = same and record["store"]["store"] == storage.public_store
            if request.source is not None:  # else spec and source are those of the run
                same = same and Spec.from_dict(record["spec"]) == (request.spec or Spec())
            return record if same else None
        job = request.job(output=output)
        # Of a pipe nobody knows whether the same comes out of it.
        return record if job.corpus.rereadable and record["asked"] == job.digest else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it is something else


_LOST = (FormatError, ColumnError, EncodingError, DuplicateIdError, SpecError, OutputSizeError)


@contextmanager
def _interruptible(folder: RunFolder, jobs: list[Job]) -> Iterator[None]:
    """Leave the run folder if it is of any use, and say how to go on; else remove it.

    Args:
        folder: The run folder.
        jobs: The job, once there is one: what it put into a store outside goes as well.
    """
    before = folder.begun
    try:
        yield
    except ResumeError:
        raise
    except BaseException as error:
        # What is wrong with the input or a setting must be mended there, and then it is another.
        lost = isinstance(error, _LOST)
        if not folder.worked or (lost and not before):
            folder.remove()
            with suppress(NeardupError):  # the first error counts
                for job in jobs:
                    if job.storage.shared and job.storage.name is None and not job.borrowed:
                        drop_store(job)
            raise
        hint = "go on with the same command and --resume"
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(f"interrupted; {hint}") from error
        if isinstance(error, NeardupError):
            error.hint = f"{error.hint}; then {hint}" if error.hint else hint
        raise
