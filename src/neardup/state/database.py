"""The SQLite files of a run: transactions, locks, checksums, and errors as those of neardup.

Blobs of some MB are appended far more often than anything is changed, so there is a rollback
journal and no write-ahead log: appended pages go to the file once, and to the journal not at all.
Measured with 4 MB blobs, each synced (median of 7; plain files with rename: 1,030 MB/s): 806 MB/s
with pages of 64 KiB, 360 with pages of 4 KiB, 490 with a write-ahead log.
"""

import errno
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from neardup.errors import NeardupError, OutputError, ResumeError
from neardup.files.private_files import CHECK, make_private, system_error, system_errors

PAGE = 65536
_CACHE_KIB = 16384  # further pages are written out before the commit
_TRIES = 100  # to lock a file that others remove
_SAMPLES, _SAMPLE = 64, 4096  # of a file, and bytes of each
#: Errors of SQLite, as errors of the system.
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

Work: TypeAlias = Callable[[sqlite3.Connection], object]


@dataclass(frozen=True, slots=True)
class FileKind:
    """The content of a database of ours, and the errors that it raises."""

    application: int  # in the header of the file, which distinguishes it from other databases
    version: int  # of its format; another one is refused
    unwritable: type[NeardupError]  # raised where the system refuses to write
    unusable: type[NeardupError]  # raised where the file is damaged, foreign or in use
    again: str  # hint after damage


def sqlite_error(kind: FileKind, path: Path, error: sqlite3.Error) -> NeardupError:
    """Return our error for one of SQLite, whose text may quote damaged data."""
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


class Database:
    """A SQLite file of one kind, for threads of this process and for other processes.

    Only `create` makes the file. All threads share one connection. Every method raises an error of
    the kind where the file is damaged or can't be written. ``patience`` is the seconds to wait for
    another process that writes.
    """

    def __init__(self, path: Path, kind: FileKind, patience: float = 30.0) -> None:
        self.path = path
        self.kind = kind
        self._patience = patience
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def exists(self) -> bool:
        """Return whether the file is there and is not empty."""
        with self._errors(), suppress(FileNotFoundError):
            return self.path.stat().st_size > 0
        return False

    def create(self, fill: Work) -> bool:
        """Make the file, and let ``fill`` make its tables; False where there are some already."""
        with self._errors():
            make_private(self.path)
        with self.transaction() as connection:
            if self.version() != 0:
                return False
            fill(connection)
            connection.execute(f"PRAGMA application_id = {self.kind.application}")
            connection.execute(f"PRAGMA user_version = {self.kind.version}")
        return True

    def version(self) -> int:
        """Return the version of the format, 0 for a database without tables; refuse any other."""
        application, version = (
            int(self.rows(f"PRAGMA {name}")[0][0]) for name in ("application_id", "user_version")
        )
        if application == 0 and self.rows("SELECT count(*) FROM sqlite_master") == [(0,)]:
            return 0
        if application != self.kind.application:
            raise self.kind.unusable(
                f"{self.path} is a database of another program", "name another file"
            )
        if version != self.kind.version:
            raise self.kind.unusable(
                f"{self.path} was made by another version of neardup (format {version}, "
                f"this one has {self.kind.version})",
                f"continue with that version, or {self.kind.again}",
            )
        return version

    def check(self) -> None:
        """Look for damage in the structure of the file, which takes as long as to read it."""
        if self.rows("PRAGMA quick_check(1)") != [("ok",)]:
            raise self.damaged("its structure")

    def rows(self, text: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock, self._errors():
            return self._connected().execute(text, values).fetchall()

    def blob(self, table: str, number: int) -> bytes:
        """Return the bytes of column ``data`` in a row, with one copy less than `rows`."""
        with self._lock, self._errors():
            opened = self._connected().blobopen(table, "data", number, readonly=True)
            with opened as blob:
                return blob.read()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection; its changes are durable afterwards, or are not made.

        Within a transaction another one is a part of it.
        """
        with self._lock, self._errors():
            connection = self._connected()
            if connection.in_transaction:
                yield connection
                return
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # The next connection repairs the remains of a failed rollback.
                self._connection = None
                with suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                with suppress(sqlite3.Error):
                    connection.close()
                raise

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def remove(self) -> None:
        self.close()
        with self._errors():
            # The file first: SQLite ignores a journal without its file.
            self.path.unlink(missing_ok=True)
            self.path.with_name(self.path.name + "-journal").unlink(missing_ok=True)

    def damaged(self, what: str) -> NeardupError:
        return self.kind.unusable(f"{self.path}: {what} is damaged", self.kind.again)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            # By URI, as only that can refuse to make a file that is not there.
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=self._patience,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                # A damaged name must not become an error that quotes it.
                connection.text_factory = lambda data: data.decode(errors="replace")
                for setting in (
                    f"page_size = {PAGE}",
                    f"cache_size = -{_CACHE_KIB}",
                    "mmap_size = 0",
                    "secure_delete = OFF",
                    "synchronous = FULL",
                    "journal_mode = TRUNCATE",
                ):
                    connection.execute(f"PRAGMA {setting}").fetchall()
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except NeardupError:
            raise
        except sqlite3.Error as error:
            raise sqlite_error(self.kind, self.path, error) from error
        except UnicodeDecodeError as error:  # of SQLite's message, which quotes damaged data
            raise self.damaged("its schema") from error
        except OSError as error:
            raise system_error(self.kind.unwritable, self.path, error) from error


def refuse_links(*paths: Path) -> None:
    """Refuse a link, by which another user could have a run write elsewhere."""
    for path in paths:
        if path.is_symlink():
            raise OutputError(f"{path} is a symbolic link", "remove it, or name another output")


def lock_file(path: Path) -> sqlite3.Connection:
    """Lock a file until the returned object is closed, or the process ends.

    SQLite locks files on every system and is loaded anyway; a package for locks takes 40 ms more.
    """
    refuse_links(path)
    error: sqlite3.Error | None = None
    # Whoever had it may remove the file before it is opened or locked here.
    for _ in range(_TRIES):
        with system_errors(path):
            make_private(path)
            before = inode_of(path)
        try:
            lock = _locked(path, "BEGIN EXCLUSIVE")
        except sqlite3.Error as refused:
            if is_busy(refused):
                raise _in_use(path) from refused
            error = refused
            continue
        if inode_of(path) == before:  # not that of a later file, while this one is open
            return lock
        lock.close()
    name = "SQLITE_CANTOPEN" if error is None else error.sqlite_errorname
    raise OutputError(f"can't lock {path} ({name})", CHECK) from error


def refuse_locked(path: Path) -> None:
    """Raise ResumeError where another process, or thread, has a file locked by `lock_file`."""
    refuse_links(path)
    if inode_of(path) is None:
        return
    try:
        # Several may look at the same time.
        _locked(path, "BEGIN", "SELECT count(*) FROM sqlite_master").close()
    except sqlite3.Error as error:
        if is_busy(error):
            raise _in_use(path) from error


def inode_of(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from all others; None where there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_busy(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _in_use(path: Path) -> ResumeError:
    return ResumeError(
        f"another neardup process uses {path.parent}", "wait for it, or name another output"
    )


def _locked(path: Path, *statements: str) -> sqlite3.Connection:
    """Open a lock file, which is there, and do statements that lock it."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    lock = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        for statement in ("PRAGMA journal_mode = MEMORY", *statements):
            lock.execute(statement).fetchall()
    except BaseException:
        lock.close()
        raise
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
