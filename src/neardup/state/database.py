"""One SQLite file: its connection, its transactions, and its errors in our words.

Blobs of some MB are appended far more often than anything is changed, so there is a rollback
journal and no write-ahead log: appended pages go to the file once, and to the journal not at all.
Measured with 4 MB blobs, each synced (median of 7; plain files with rename: 1,030 MB/s): 806 MB/s
with pages of 64 KiB, 360 with pages of 4 KiB, 490 with a write-ahead log.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from neardup.errors import NeardupError
from neardup.private_files import make_private, system_error
from neardup.state.locking import FileKind, sqlite_error

_PAGE = 65536
_CACHE_KIB = 16384  # what is beyond is written out before the commit

Work: TypeAlias = Callable[[sqlite3.Connection], object]


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
        with (
            self._lock,
            self._errors(),
            self._connected().blobopen(table, "data", number, readonly=True) as blob,
        ):
            return blob.read()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection; what is done with it is durable afterwards, or was not done.

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
                # The next connection repairs what a failed rollback leaves.
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
            # The file first: SQLite takes no notice of a journal alone.
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
                    f"page_size = {_PAGE}",
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
        except UnicodeDecodeError as error:  # of SQLite's own message, which quotes the damage
            raise self.damaged("its schema") from error
        except OSError as error:
            raise system_error(self.kind.unwritable, self.path, error) from error
