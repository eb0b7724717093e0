"""After an error: the folder of a run stays where the run can be resumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from neardup import errors
from neardup.engines.beginning import drop_store
from neardup.engines.job import Job
from neardup.errors import NeardupError, ResumeError, SpecError
from neardup.state.run_state import RunState

#: Errors that mean that the input or a setting must be changed, so that there is nothing to resume.
_INPUT = (errors.FormatError, errors.ColumnError, errors.EncodingError, errors.DuplicateIdError)
_LOST = (*_INPUT, SpecError, errors.OutputSizeError)


@contextmanager
def resumable(state: RunState) -> Iterator[list[Job]]:
    """Leave the run folder if it is of any use, and say how to continue; else remove it.

    Yields:
        A list for the job, once there is one: its keys in another store are removed as well.
    """
    before = bool(state.manifest)
    jobs: list[Job] = []
    try:
        yield jobs
    except ResumeError:
        raise
    except BaseException as error:
        if not state.manifest or (isinstance(error, _LOST) and not before):
            for job in jobs:
                if job.resources.shared and job.resources.run is None:
                    with suppress(NeardupError):  # the first error counts
                        drop_store(job)
            with suppress(NeardupError):
                state.remove()
            raise
        hint = "continue with the same call and resume=True"
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(f"interrupted; {hint}") from error
        if isinstance(error, NeardupError):
            error.hint = f"{error.hint}; then {hint}" if error.hint else hint
        raise
