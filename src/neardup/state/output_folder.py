"""Output folders: files that may be replaced, and a result that appears, complete, by rename.

A result is made in the folder ``.run`` in the output folder, which also has the lock: one process
at a time writes there. When all is on the disk, the new folder takes the name of the old
one in one step of the system. Where that can't be done (the folder is a mount point, or its parent
can't be written), the files are moved one by one, the record last.

Only files that the record ``run.json`` of an earlier result lists are replaced. Everything else in
the folder keeps its name.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from neardup.errors import NeardupError, OutputError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import replacing, sync_folder, system_errors, write_private
from neardup.result_record import RECORD, read_record
from neardup.state.run_state import RUN_FOLDER, RunState, remove_path

STAGED, _JOURNAL = "outputs", "replaced.json"
#: Files of a folder that the record lists by name; in larger folders, additions are not noticed.
_LISTED = 10_000
_NEVER = "name another output folder, or an empty one"


def files_below(folder: Path) -> list[str]:
    """Return the names of all files below a folder, relative to it, sorted."""
    found: list[str] = []
    for top, _, names in os.walk(folder):
        below = Path(top).relative_to(folder)
        found += [(below / name).as_posix() for name in names]
    return sorted(found)


def list_files(folder: Path) -> dict[str, list[str] | int | None]:
    """Return the entries of ``run.json``: of a folder its files, or their number if many."""
    found: dict[str, list[str] | int | None] = {RECORD: None}
    for path in sorted(folder.iterdir()):
        if path.name == RUN_FOLDER:
            continue
        names = files_below(path) if path.is_dir() else None
        found[path.name] = names if names is None or len(names) <= _LISTED else len(names)
    return found


def write_record(folder: Path, command: str, values: dict[str, Any]) -> dict[str, Any]:
    """Write ``run.json`` into a folder that has all other files; return its content."""
    found = {"command": command, **values, "files": list_files(folder)}
    write_private(folder / RECORD, (json.dumps(found, indent=1) + "\n").encode())
    return found


def add_to_record(folder: Path, name: str) -> bool:
    """List a file in the record that is about to be written, unless it is the user's."""
    there = os.path.lexists(folder / name)  # first: another process may add it just now
    found = read_record(folder)
    if found is None or (name not in found["files"] and there):
        return False
    if name in found["files"]:
        return True
    found["files"][name] = None
    with replacing(folder / RECORD) as file:
        file.write((json.dumps(found, indent=1) + "\n").encode())
    return True


def check_folder(
    out: Path | GivenPath, overwrite: bool, *, writes: Iterable[str] = (), resume: bool = False
) -> None:
    """Refuse an output folder that can't or must not be written, before any work is done.

    ResumeError is raised where another process, or thread, is at work in it.

    Args:
        out: The folder.
        overwrite: Replace the files that the record of an earlier result lists.
        writes: Names of files and folders that may be written there.
        resume: Continue an interrupted run.
    """
    given = GivenPath.of(out)
    path = given.path
    with given.in_messages(), system_errors(path):
        if path.exists() or path.is_symlink():
            _check_existing(path, overwrite, writes, resume)
        existing = next(each for each in [path, *path.parents] if each.exists())
        writable = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
        if not writable and existing.exists():  # (a run that ends now removes its folders)
            raise OutputError(
                f"{existing} is not a folder that can be written", "name another output"
            )


def _check_existing(out: Path, overwrite: bool, writes: Iterable[str], resume: bool) -> None:
    try:
        other = not stat.S_ISDIR(out.stat().st_mode)
    except FileNotFoundError:  # a link to nothing; or a run that ended at this moment
        other = out.is_symlink()
    if other:
        raise OutputError(f"{out} exists and is not a folder", "name another output")
    RunState.refuse_used(out / RUN_FOLDER)
    try:
        there = {path.name for path in out.iterdir()}
    except FileNotFoundError:  # a run that ended at this moment has removed it
        return
    begun = RUN_FOLDER in there
    interrupted = RunState.exists(out / RUN_FOLDER)
    record = read_record(out)
    if not there - {RUN_FOLDER} and not interrupted:
        return  # empty, or of a run that was killed at once
    if record is None and RECORD in there:
        what = f"{out / RECORD} is damaged, or of another program: it does not name its files"
        raise OutputError(what, _NEVER)
    if record is None and not begun:
        raise OutputError(f"{out} exists, and neardup did not write it", _NEVER)
    if not overwrite and not (resume and (interrupted or record is not None)):
        if interrupted and record is None:
            raise OutputError(
                f"{out} has an interrupted run",
                "continue it with resume=True, or start again with overwrite=True",
            )
        raise OutputError(f"{out} exists", "use overwrite=True, or name another output folder")
    ours = _ours(out)
    for name in sorted(there & set(writes)):
        if name not in ours:
            raise _not_ours(out / name)
    _check_added(out, ours)


def _check_added(out: Path, ours: dict[str, Any]) -> None:
    """Refuse to replace a folder of ours to which somebody added a file."""
    for name, inner in ours.items():
        if isinstance(inner, list) and (out / name).is_dir():
            added = set(files_below(out / name)) - set(inner)
            if added:
                raise OutputError(
                    f"{out / name / min(added)} is a file that neardup did not write",
                    "move it away, or name another output folder",
                )


def _not_ours(path: Path) -> OutputError:
    return OutputError(f"{path} is a file that neardup did not write", _NEVER)


def _ours(out: Path) -> dict[str, Any]:
    """Return the entries that may be replaced: names, and of folders the files in them."""
    record = read_record(out)
    found: dict[str, Any] = {} if record is None else dict(record["files"])
    with suppress(OSError, ValueError):  # of a result whose files were being moved one by one
        journal = json.loads((out / RUN_FOLDER / _JOURNAL).read_text(encoding="utf-8"))
        found |= dict.fromkeys([*journal["old"], *journal["new"]])
    return found


@contextmanager
def output_folder(out: Path | GivenPath, overwrite: bool, writes: Iterable[str]) -> Iterator[Path]:
    """Give an empty folder; its content at the end, with a record, appears as ``out``.

    After an error nothing is left of it, and the earlier content is untouched. Other processes
    and threads are kept away meanwhile.
    """
    given = GivenPath.of(out)
    path = given.path
    check_folder(given, overwrite, writes=writes)
    with given.in_messages():
        state = RunState.create(path / RUN_FOLDER, overwrite=True, resumable=False)
    with closing(state):
        try:
            with given.in_messages():
                folder = state.scratch_folder(STAGED)
                with system_errors(path):
                    yield folder
                publish(folder, path)
        finally:
            state.remove()


def publish(staged: Path, out: Path) -> None:
    """Put a complete result, in a folder below ``out``, replacing the one in it.

    All files of it are on the disk. ``out`` is locked.
    """
    out = Path(os.path.realpath(out))
    with system_errors(out):
        for top, _, _ in os.walk(staged):
            sync_folder(Path(top))
        for path in _beside(out):
            remove_path(path)  # of a process that was killed
        ours = _ours(out)
        _check_added(out, ours)  # the work may have taken hours
        for name in {path.name for path in staged.iterdir()}.difference(ours):
            if os.path.lexists(out / name):  # somebody put it there meanwhile
                raise _not_ours(out / name)
        beside = out.with_name(f".{out.name}.{uuid.uuid4().hex[:12]}.neardup")
        # Who is in the folder would be left in one without a name.
        if _is_within(out) or not _exchanged(staged, beside, out):
            _move(staged, out)
            return
        sync_folder(out.parent)
        (beside / RUN_FOLDER).rename(out / RUN_FOLDER)
        (out / RUN_FOLDER / _JOURNAL).unlink(missing_ok=True)
        for path in beside.iterdir():  # somebody put it there between two of these lines
            if path.name not in ours and not os.path.lexists(out / path.name):
                path.rename(out / path.name)
        sync_folder(out)
        shutil.rmtree(beside, ignore_errors=True)
        sync_folder(out.parent)


def _is_within(folder: Path) -> bool:
    """Whether the current directory is in a folder; that of a process may be gone."""
    try:
        return Path.cwd().is_relative_to(folder)
    except OSError:
        return False


def recover(staged: Path, out: Path) -> None:
    """Restore the files that a process was about to publish when it was killed."""
    for path in _beside(out):
        record = read_record(path)
        if record is not None and not any(staged.iterdir()):
            staged.rmdir()
            path.rename(staged)
            for inner in staged.iterdir():
                if inner.name not in record["files"]:  # a second name of the user's file
                    remove_path(inner)


def remove_leftovers(out: Path) -> None:
    """Remove the folder that ``out`` replaced, if a process was killed before it could.

    Only an empty one, with or without a run folder that no process uses, is removed.
    """
    for path in _beside(out):
        with suppress(NeardupError, OSError):
            if not {entry.name for entry in path.iterdir()} - {RUN_FOLDER}:
                RunState.create(path / RUN_FOLDER, overwrite=True, resumable=False).remove()
                path.rmdir()


def _beside(out: Path) -> list[Path]:
    out = Path(os.path.realpath(out))
    return list(out.parent.glob(f".{_escaped(out.name)}.{'[0-9a-f]' * 12}.neardup"))


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _exchanged(staged: Path, beside: Path, out: Path) -> bool:
    """Let the folders change names, in one step; return whether the system can."""
    ours = {*_ours(out), RUN_FOLDER}
    try:
        staged.rename(beside)
    except OSError:
        return False
    try:
        for path in out.iterdir():
            if path.name not in ours:
                _link(path, beside / path.name)
        shutil.copymode(out, beside)
        sync_folder(beside)
        _exchange(beside, out)
    except OSError:
        for path in out.iterdir():
            if path.name not in ours:
                remove_path(beside / path.name)
        beside.rename(staged)
        return False
    return True


def _link(path: Path, name: Path) -> None:
    """Give a file, or all files of a folder, a second name."""
    if path.is_dir() and not path.is_symlink():
        name.mkdir()
        for inner in path.iterdir():
            _link(inner, name / inner.name)
        shutil.copystat(path, name)
        sync_folder(name)
    else:
        os.link(path, name, follow_symlinks=False)


def _exchange(a: Path, b: Path) -> None:
    """Exchange two names; OSError where the system or the file system can't."""
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of Linux
    try:
        library = ctypes.CDLL(None, use_errno=True)
        failed = library.renameat2(here, os.fsencode(a), here, os.fsencode(b), exchange)
    except (AttributeError, TypeError) as error:  # of other systems
        raise OSError("there is no renameat2") from error
    if failed:
        raise OSError(ctypes.get_errno(), "renameat2")


def _move(staged: Path, out: Path) -> None:
    """Move files one by one; a record is there only while all of its files are."""
    names, journal = {path.name for path in staged.iterdir()}, out / RUN_FOLDER / _JOURNAL
    if not journal.exists():  # else this was interrupted, and goes on
        write_private(
            journal, json.dumps({"old": sorted(_ours(out)), "new": sorted(names)}).encode()
        )
        sync_folder(journal.parent)
    known = json.loads(journal.read_text(encoding="utf-8"))
    if RECORD in names:
        (out / RECORD).unlink(missing_ok=True)
        sync_folder(out)
    for name in set(known["old"]) - set(known["new"]):
        remove_path(out / name)
    for name in sorted(names - {RECORD}):
        remove_path(out / name)
        (staged / name).rename(out / name)
    sync_folder(out)
    if RECORD in names:
        (staged / RECORD).rename(out / RECORD)
        sync_folder(out)
    journal.unlink()
