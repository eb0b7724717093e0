"""Private temporary folders; those of processes that were killed are removed by the next one."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neardup.errors import OutputError
from neardup.files.private_files import lock_handle, system_errors

#: The name of all these folders, and of the file in each that is locked while its process lives.
#: Locks are seen by other containers, where numbers of processes mean nothing.
_PREFIX, _LOCK = "neardup-", ".neardup-owner"
_ATTEMPTS = 10


@contextmanager
def temporary_folder(kind: str) -> Iterator[Path]:
    """Give a private folder, which is removed afterwards with all that is in it.

    It has a hidden file only. A process that was forked meanwhile does not remove it.

    Args:
        kind: A word of its name, for people.

    Raises:
        OutputError: It can't be made.
    """
    top, process = Path(tempfile.gettempdir()), os.getpid()
    for folder in top.glob(f"{_PREFIX}*"):
        _remove_abandoned(folder)
    with system_errors(top):
        folder, handle = _made(kind)
    try:
        yield folder
    finally:
        if os.getpid() == process and (folder / _LOCK).exists():
            _remove(folder)
        if handle >= 0:
            os.close(handle)  # last: it has the lock


def keep(folder: Path) -> None:
    """Let a temporary folder stay, for its user."""
    (folder / _LOCK).unlink(missing_ok=True)


def _made(kind: str) -> tuple[Path, int]:
    """Make a folder; return it, and its lock, or -1 where there are no locks."""
    for _ in range(_ATTEMPTS):
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-"))
        # Who looks for left-overs may have seen it before it was locked, and removes it then.
        with suppress(FileNotFoundError):
            handle = os.open(folder / _LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            locked = lock_handle(handle)
            if locked and os.fstat(handle).st_nlink:
                return folder, handle
            os.close(handle)
            if locked is None:
                return folder, -1
    raise OutputError("other processes remove the temporary folder of this one", "start it again")


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder of ours whose process no longer lives."""
    lock = folder / _LOCK
    with suppress(OSError):
        both = folder.lstat(), lock.lstat()
        kinds = [stat.S_IFMT(each.st_mode) for each in both]
        mine = {getattr(os, "getuid", lambda: 0)()}  # Windows has no such numbers
        if kinds != [stat.S_IFDIR, stat.S_IFREG] or {each.st_uid for each in both} != mine:
            return
        handle = os.open(lock, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if lock_handle(handle):
                _remove(folder)
        finally:
            os.close(handle)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: if this process is killed, too, the next one goes on."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _LOCK:
                path.unlink(missing_ok=True)
        (folder / _LOCK).unlink(missing_ok=True)
        folder.rmdir()
