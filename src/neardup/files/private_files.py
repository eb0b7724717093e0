"""Files and folders that only their owner can read, durable names, and errors of the system."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO

from neardup.errors import NeardupError, OutputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_SPACE = "free some space, or write to another disk"
_HINTS = {
    errno.ENOSPC: _SPACE,
    getattr(errno, "EDQUOT", -1): _SPACE,
    errno.EFBIG: "free some space, or raise the limit on the size of files",
    errno.EROFS: "write to another disk",
}
CHECK = "check that the folder exists, and its permissions"


def system_error(kind: type[NeardupError], path: Path, error: OSError) -> NeardupError:
    reason = os.strerror(error.errno).lower() if error.errno else "the system refused it"
    return kind(f"{path}: can't be written: {reason}", _HINTS.get(error.errno or 0, CHECK))


@contextmanager
def system_errors(path: Path) -> Iterator[None]:
    """Raise errors of the system as OutputError, about a path."""
    try:
        yield
    except OSError as error:
        if isinstance(error, NeardupError):
            raise
        raise system_error(OutputError, path, error) from error


def open_private(path: Path) -> IO[bytes]:
    """Open a file for writing that only its owner can read; its old content is lost."""
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))


def write_private(path: Path, data: bytes | memoryview) -> None:
    """Write a file that only its owner can read, and have it on the disk."""
    with open_private(path) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replacing_path(path: Path, exclusive: bool = False) -> Iterator[Path]:
    """Give the path of a new, empty file, which gets its name once all of it is written.

    Any number of threads and processes may replace one file: each has a partial file of its own,
    and the last one that is complete stays. With ``exclusive``, OutputError is raised where another
    one is at it. Partial files that killed processes left are removed.
    """
    with system_errors(path):
        partial, handle = _make_partial(path, exclusive)
        try:
            yield partial
            sync_file(partial)
            partial.replace(path)
            sync_folder(path.parent)
        finally:
            with suppress(OSError):  # the first error counts
                partial.unlink(missing_ok=True)
            if handle >= 0:
                os.close(handle)  # last: it has the lock


@contextmanager
def replacing(path: Path, exclusive: bool = False) -> Iterator[IO[bytes]]:
    """Give a private file to write to, which gets its name when all of it is on the disk."""
    with replacing_path(path, exclusive) as partial, partial.open("r+b") as file:
        yield file


def _make_partial(path: Path, exclusive: bool) -> tuple[Path, int]:
    """Make the partial file of a file; return it, and its lock, or -1 where there are no locks."""
    # No longer than other names, however long that of the target is.
    name = f".neardup-{blake2b(os.fsencode(path.name), digest_size=8).hexdigest()}-"
    for left in path.parent.glob(f"{name}{'[0-9a-f]' * 16}.partial"):
        _remove_left(left)
    while True:
        exclusive = exclusive and fcntl is not None
        partial = path.with_name(f"{name}{'0' * 16 if exclusive else secrets.token_hex(8)}.partial")
        try:
            handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except FileExistsError as error:
            if not exclusive:
                raise
            what = f"another neardup process writes {path}"
            raise OutputError(what, "wait for it, or name another file") from error
        if fcntl is None:
            os.close(handle)  # Windows does not rename a file that is open
            return partial, -1
        locked = lock_handle(handle)
        if exclusive and locked is None:
            partial.unlink()  # else it would keep others away after a kill
            exclusive = False
        # Who looks for left-overs may have seen it before it was locked, and removes it then.
        elif locked is not False and os.fstat(handle).st_nlink:
            return partial, handle
        os.close(handle)


def _remove_left(partial: Path) -> None:
    """Remove a partial file unless somebody writes it: who does so has it locked."""
    with suppress(OSError):
        handle = os.open(partial, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if lock_handle(handle):
                partial.unlink()
        finally:
            os.close(handle)


def lock_handle(handle: int) -> bool | None:
    """Lock an open file, until it is closed or the process ends.

    Threads of this process lock each other out too. False is returned where somebody else has the
    lock, None where the system, or the file system, has no such locks.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def make_private(path: Path) -> None:
    """Make an empty file, unless it is there, that only its owner can read."""
    # Never opened if it is there: closing it would drop the locks that this process has on it.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Wait until a file is on the disk; OSError where the system could not write it."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable; Windows has no need of it, and no way."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
