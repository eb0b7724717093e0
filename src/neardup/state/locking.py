"""Files of a run: their lock, their checksums, and the errors of SQLite about them."""

import errno
import os
import sqlite3
import zlib
from dataclasses import dataclass
from pathlib import Path

from neardup.errors import NeardupError, OutputError, ResumeError
from neardup.private_files import CHECK, make_private, system_error, system_errors

_SAMPLES, _SAMPLE = 64, 4096  # of a file, and bytes of each
#: What SQLite reports, as errors of the system.
_UNWRITABLE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR_WRITE: errno.EFBIG,
    sqlite3.SQLITE_IOERR_TRUNCATE: errno.EFBIG,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_AUTH: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.ENOENT,
    sqlite3.SQLITE_TOOBIG: errno.EFBIG,
}


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a database of ours holds, and which errors it raises."""

    application: int  # in the header of the file, which distinguishes it from other databases
    version: int  # of its format; another one is refused
    unwritable: type[NeardupError]  # raised where the system refuses to write
    unusable: type[NeardupError]  # raised where the file is damaged, foreign or in use
    again: str  # hint for what is damaged


def sqlite_error(kind: FileKind, path: Path, error: sqlite3.Error) -> NeardupError:
    """Return the error for what SQLite reports; its own text may quote what is damaged."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    number = _UNWRITABLE.get(code) or _UNWRITABLE.get(code & 0xFF)
    if number:
        return system_error(kind.unwritable, path, OSError(number, ""))
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return kind.unusable(f"{path} is in use by another process", "wait, then try again")
    if code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB):
        return kind.unusable(f"{path} is damaged, or not a database", kind.again)
    name = getattr(error, "sqlite_errorname", "SQLite")
    return kind.unusable(f"{path} can't be used ({name})", kind.again)


def refuse_links(*paths: Path) -> None:
    """Refuse what would have a run write to where somebody else points."""
    for path in paths:
        if path.is_symlink():
            raise OutputError(f"{path} is a symbolic link", "remove it, or name another output")


def lock_file(path: Path) -> sqlite3.Connection:
    """Return what holds a lock on a file until it is closed, or the process ends.

    SQLite locks files on every system and is loaded anyway; a package for locks takes 40 ms more.
    """
    refuse_links(path)
    with system_errors(path):
        make_private(path)
    lock = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("PRAGMA journal_mode = MEMORY").fetchall()
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        lock.close()
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise ResumeError(
                f"another neardup process uses {path.parent}", "wait for it, or name another output"
            ) from error
        raise OutputError(f"can't lock {path} ({error.sqlite_errorname})", CHECK) from error
    return lock


def sampled_checksum(path: Path) -> int:
    """Return the CRC-32 of samples from all over a file, of all of a small one; 0 of no file."""
    if not path.is_file():  # opening a pipe would wait
        return 0
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size <= _SAMPLES * _SAMPLE:
            return zlib.crc32(file.read())
        checksum = 0
        for number in range(_SAMPLES):
            file.seek(number * (size - _SAMPLE) // (_SAMPLES - 1))
            checksum = zlib.crc32(file.read(_SAMPLE), checksum)
    return checksum


def file_checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while data := file.read(4 << 20):
            checksum = zlib.crc32(data, checksum)
    return checksum
