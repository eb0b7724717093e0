"""From an interrupted run to a complete output, and the folder after an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from neardup import errors
from neardup.errors import NeardupError, OutputError, ResumeError, SpecError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import sync_folder, system_errors
from neardup.io.remote import Url, open_remote
from neardup.output.clean import CLEAN, REMOVED, Stamp, is_as_written, stamp
from neardup.result_record import RECORD, read_record, record_of
from neardup.result_record.decoding import require_members
from neardup.state.about_work import FORMAT
from neardup.state.output_folder import STAGED, publish, recover
from neardup.state.run_state import RunState
from neardup.values.json_values import JSON, differences

#: Errors after which there is nothing to resume: the input or a setting must be changed.
_INPUT = (errors.FormatError, errors.ColumnError, errors.EncodingError, errors.DuplicateIdError)
_LOST = (*_INPUT, SpecError, errors.OutputSizeError)
#: The step after which only renaming is left.
_WRITTEN = "written"


def is_complete(out: Url | GivenPath, asked: Callable[[], str | None], overwrite: bool) -> bool:
    """Return whether an output is complete, and of this request.

    Args:
        out: The output folder.
        asked: Makes the digest of this request, see `digest_of`; None where that can't be
            compared with an earlier call.
        overwrite: Whether it may be replaced.

    Raises:
        OutputError: It is complete, of another call, and must not be replaced.
    """
    path = out / RECORD
    try:
        with open_remote(path) if isinstance(path, Url) else path.path.open("rb") as file:
            record = record_of(file.read(), str(path)) or {}
    except OSError:
        return False
    digest = asked()
    if digest is not None and record.get("format") == FORMAT:
        require_members(record, f"{str(out).rstrip('/')}/{RECORD}")
    if digest is not None and record.get("asked") == digest:
        return True
    if not overwrite:
        raise OutputError(
            f"{out} exists and is complete, with other settings or inputs",
            "use overwrite=True, or name another output folder",
        )
    return False


def check_same(state: RunState, asked: Mapping[str, JSON], out: Path, comparable: bool) -> None:
    """Refuse to continue a run of something else, or of a frame, which can't be compared.

    Raises:
        ResumeError: It is so.
    """
    if not comparable:
        raise ResumeError(
            f"{out}: can't resume, since only files can be compared with the input of that run",
            "start again with overwrite=True, or write the table to a file",
        )
    before = {name: value for name, value in state.manifest.items() if name in asked}
    if found := differences(before, dict(asked)):
        raise ResumeError(
            f"{state.folder}: this run has other settings or inputs: {found}",
            "use the same as before, or start again with overwrite=True",
        )


@contextmanager
def resumable(state: RunState, resumes: bool) -> Iterator[list[Callable[[bool], bool]]]:
    """Leave the run folder if it is of any use, and say how to continue; else remove it.

    Args:
        state: The run.
        resumes: Whether a run continues from its last step; else from its complete files only.

    Yields:
        A list for what clears up elsewhere, see `neardup.frame.command.Steps.close`.
    """
    before = bool(state.manifest)
    closes: list[Callable[[bool], bool]] = []
    try:
        yield closes
    except BaseException as error:
        begun = state.manifest if resumes else is_written(state)
        if begun and isinstance(error, ResumeError):
            raise
        if not begun or (isinstance(error, _LOST) and not before):
            with suppress(NeardupError):  # the first error counts
                for close in closes:
                    close(False)
            with suppress(NeardupError):
                state.remove()
            raise
        hint = "continue with the same call and resume=True"
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(f"interrupted; {hint}") from error
        if isinstance(error, NeardupError):
            error.hint = f"{error.hint}; then {hint}" if error.hint else hint
        raise


def is_written(state: RunState) -> bool:
    """Return whether all files of a run were written."""
    return bool(state.done(_WRITTEN))


def note_written(state: RunState, staged: Path, manifest: Mapping[str, JSON]) -> None:
    """Note that all files of a run are written, and in a folder from which they are published."""
    with system_errors(staged):
        sync_folder(staged)
    state.manifest = {**state.manifest, **manifest}
    state.put(_WRITTEN, 0, about={path.name: stamp(path) for path in staged.iterdir()})


def finish_outputs(out: Path, state: RunState) -> dict[str, Any] | None:
    """Publish the files of a run, once all are written; return the record.

    None is returned where something is still to be written.
    """
    if not is_written(state):
        return None
    staged = state.scratch_folder(STAGED)
    written = cast("dict[str, Stamp]", state.about(_WRITTEN, 0))
    if not _intact(state, written, staged, out):
        recover(staged, out)
        if not _intact(state, written, staged, out):
            return None
    if any(staged.iterdir()):  # else all were published, and there may be an audit of them
        publish(staged, out)
    return read_record(out)


def _intact(state: RunState, written: dict[str, Stamp], staged: Path, out: Path) -> bool:
    where = {n: staged / n if (staged / n).exists() else out / n for n in written}
    if where[RECORD] == out / RECORD and where[RECORD].exists():
        written = {n: before for n, before in written.items() if n != RECORD}  # an audit adds to it
    return all(stamp(where[name]) == before for name, before in written.items()) and all(
        is_as_written(where[step], state, number, step)
        for step in (CLEAN, REMOVED)
        for number in state.done(step)
    )
