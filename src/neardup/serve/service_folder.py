"""The temporary folder of a running service; those of services that were killed are removed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neardup.errors import NeardupError, StoreError
from neardup.files.private_files import system_errors
from neardup.state.database import lock_file

#: The name of a folder, and of the file in it that a service keeps locked while it lives. Locks are
#: seen by other containers, where numbers of processes mean nothing.
_PREFIX, _LOCK = "neardup-serve-", "owner.lock"
#: Files that a service writes there: those of its numbers.
_WRITTEN = "*.db"
_ATTEMPTS = 10


@contextmanager
def service_folder() -> Iterator[Path]:
    """Give a private, empty folder that is removed afterwards.

    Raises:
        OutputError: It can't be made.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        _remove_abandoned(folder)
    folder, lock = _made()
    try:
        yield folder
    finally:
        _remove(folder)
        lock.close()


def _made() -> tuple[Path, sqlite3.Connection]:
    with system_errors(Path(tempfile.gettempdir())):
        for _ in range(_ATTEMPTS):
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            path = folder / _LOCK
            try:
                lock = lock_file(path)
            except NeardupError:
                # Before it was locked, a service that starts now may have locked and removed it.
                if path.exists():
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
                continue
            if path.exists():
                return folder, lock
            lock.close()
    raise StoreError("other services remove the temporary folder of this one", "start it again")


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder of ours whose service no longer lives."""
    path = folder / _LOCK
    with suppress(OSError, NeardupError):  # a service that lives has locked it
        both = folder.lstat(), path.lstat()
        kinds = [stat.S_IFMT(each.st_mode) for each in both]
        if kinds != [stat.S_IFDIR, stat.S_IFREG] or {each.st_uid for each in both} != {os.getuid()}:
            return
        lock = lock_file(path)
        try:
            _remove(folder)
        finally:
            lock.close()


def _remove(folder: Path) -> None:
    """Remove the files of a service, and the folder if there are no others in it."""
    with suppress(OSError):
        for path in (*folder.glob(_WRITTEN), folder / _LOCK):
            path.unlink(missing_ok=True)
        folder.rmdir()
