"""After an error: the folder of a run stays where the run can be resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from neardup import errors
from neardup.engines.beginning import drop_store
from neardup.engines.job import Job
from neardup.errors import NeardupError, OutputError, ResumeError, SpecError
from neardup.io.source import Source
from neardup.result_record import RECORD
from neardup.result_record.decoding import require_members
from neardup.state.about_work import FORMAT
from neardup.state.run_state import RunState

#: Errors after which there is nothing to resume: the input or a setting must be changed.
_INPUT = (errors.FormatError, errors.ColumnError, errors.EncodingError, errors.DuplicateIdError)
_LOST = (*_INPUT, SpecError, errors.OutputSizeError)


def is_same(out: object, record: dict[str, Any], asked: str | None, overwrite: bool) -> bool:
    """Return whether a complete output has the digest ``asked``; None is that of no output.

    Raises:
        OutputError: It has another one, and must not be replaced.
    """
    if asked is not None and record.get("format") == FORMAT:
        require_members(record, f"{str(out).rstrip('/')}/{RECORD}")
    if asked is not None and record.get("asked") == asked:
        return True
    if not overwrite:
        raise OutputError(
            f"{out} exists and is complete, with other settings or inputs",
            "use overwrite=True, or name another output folder",
        )
    return False


def require_files(out: str | Path, sources: Iterable[Source]) -> None:
    """Refuse to resume a run of a frame or a pipe, which can't be compared with an earlier one."""
    if any(not source.files for source in sources):
        raise ResumeError(
            f"{out}: can't resume, since only files can be compared with the input of that run",
            "start again with overwrite=True, or write the table to a file",
        )


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
