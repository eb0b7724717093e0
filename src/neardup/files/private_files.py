"""Files and folders that only their owner can read, durable names, and errors of the system."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from zlib import crc32

from neardup.errors import NeardupError, OutputError

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
def replacing_path(path: Path) -> Iterator[Path]:
    """Give the path of a new file, which gets its name once all of it is written."""
    # A name that is no longer than others, however long that of the target is.
    partial = path.with_name(f".{os.getpid()}-{crc32(path.name.encode()):08x}.partial")
    try:
        with system_errors(path):
            yield partial
            partial.replace(path)
            sync_folder(path.parent)
    finally:
        with suppress(OSError):  # the first error counts
            partial.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Give a private file to write to, which gets its name when all of it is on the disk."""
    with replacing_path(path) as partial, open_private(partial) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def make_private(path: Path) -> None:
    """Make an empty file, unless it is there, that only its owner can read."""
    # Never opened if it is there: closing it would drop the locks that this process has on it.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable; Windows has no need of it, and no way."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
