"""The database of an index: documents, the log of keys that are in no segment yet, the manifest.

In a file with a write-ahead log: one process writes and others read, each with a snapshot of its
own, and a writer never waits for readers.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import starmap
from operator import ge
from pathlib import Path
from typing import Any, NamedTuple

from neardup.errors import NeardupError, OutputError, StoreError, UnavailableError
from neardup.files.private_files import make_private, sync_folder, system_errors
from neardup.index.storing.bodies import DocumentRow, Id, identity_of, is_intact
from neardup.index.storing.index_state import COLUMNS, State, greatest_of, row_sum, summed
from neardup.index.storing.location import CommitNote, FolderIdentity, is_writable_disk
from neardup.state.database import FileKind, sqlite_error
from neardup.threads import FairLock

KIND = FileKind(
    0x6E646978, 8, OutputError, StoreError, "restore the index from a copy, or make it again"
)
#: Seconds that SQLite waits for another process, at most.
_LONGEST = 2e6
#: Table and key of documents.
_DOCUMENTS = "documents", "doc"
#: Values of a statement at once.
_VALUES = 256
#: The log is copied into the file seldom: documents that come one by one need not wait.
_SETTINGS = ("page_size = 8192", "cache_size = -8192", "mmap_size = 0", "wal_autocheckpoint = 4096")
_TABLES = """
CREATE TABLE about (one INTEGER PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE state (generation, manifest, next, segment, greatest, documents, duplicates, removed,
    ids, writer, sums, checksum);
CREATE TABLE documents (doc INTEGER PRIMARY KEY, id NOT NULL, body BLOB NOT NULL,
    checksum INTEGER NOT NULL);
CREATE TABLE log (doc INTEGER PRIMARY KEY, keys BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE removed (doc INTEGER PRIMARY KEY, checksum INTEGER NOT NULL);
CREATE TABLE duplicates (id PRIMARY KEY, duplicate_of NOT NULL, checksum INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE INDEX representatives ON duplicates (duplicate_of);
CREATE TABLE segments (number INTEGER PRIMARY KEY, entries INTEGER NOT NULL,
    checksum INTEGER NOT NULL);
"""
_STATE_MARKS = ", ".join("?" * len(COLUMNS))
_SET_STATE = f"UPDATE state SET ({', '.join(COLUMNS)}) = ({_STATE_MARKS})"  # noqa: S608

#: Of an index that answers copied passages: keys that are in no segment yet, and a manifest. Older
#: versions would add documents without them: it has a format of its own.
_COPY_TABLES = """
CREATE TABLE copy_log (doc INTEGER PRIMARY KEY, entries BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE copy_segments (number INTEGER PRIMARY KEY, entries INTEGER NOT NULL,
    checksum INTEGER NOT NULL);
"""
_COPY_VERSION = 9


class Options(NamedTuple):
    """How a catalogue is opened.

    Attributes:
        readonly: Nothing is written.
        timeout: Seconds to wait for another writer.
        power: Committed documents survive a power failure too.
        identity: `Catalogue.identity` of the index that it has to be; empty for any.
    """

    readonly: bool = False
    timeout: float = 10.0
    power: bool = True
    identity: tuple[int, ...] = ()


class BusyError(UnavailableError):
    """Another process, or another thread, writes."""


#: Connections that were opened before a fork; closing them in the child would harm the parent's.
_inherited: list[object] = []


class Catalogue:
    """The database of an index.

    All threads of a process share one connection; a process that was forked opens its own.

    Args:
        path: The file; None for a database in memory.
        options: How it is opened.
    """

    def __init__(self, path: Path | None, options: Options) -> None:
        self.path, self.options = path, options
        self.lock = FairLock()
        self.closed = False
        self._connection: sqlite3.Connection | None = None
        self._pid = os.getpid()
        self._depth = 0
        self._state: State | None = None  # of a transaction that writes
        self._read: tuple[list[Any], State] | None = None  # rows of the last one that was read
        self._me = f"process {os.getpid()}"
        self._note = None if path is None else CommitNote(path, options.power)
        self._identity = None if path is None else FolderIdentity(path, options.identity)

    def create(self, about: dict[str, Any]) -> None:
        """Make the tables.

        Raises:
            OutputError: The file can't be written.
        """
        with self._errors():
            if self.path is not None:
                make_private(self.path)
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            copies = about.get("passages") is not None
            for statement in (_TABLES + _COPY_TABLES * copies).split(";"):
                connection.execute(statement)
            text = json.dumps(about, sort_keys=True)
            connection.execute(
                "INSERT INTO about VALUES (1, ?, ?)", (text, zlib.crc32(text.encode()))
            )
            new = f"INSERT INTO state VALUES ({_STATE_MARKS})"  # noqa: S608
            connection.execute(new, State().row())
            connection.execute(f"PRAGMA application_id = {KIND.application}")
            version = _COPY_VERSION if copies else KIND.version
            connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")

    def about(self) -> dict[str, Any]:
        """Return the settings given to `create`; refuse a file that is no index, or damaged."""
        (application,), (version,) = (
            self.rows(f"PRAGMA {name}")[0] for name in ("application_id", "user_version")
        )
        if application != KIND.application:
            raise StoreError(f"{self.path} is not the database of an index", "name another folder")
        if version not in (KIND.version, _COPY_VERSION):
            raise StoreError(
                f"{self.path} was made by another version of neardup (format {version}, this one "
                f"has {KIND.version})",
                "use that version, or make the index again",
            )
        rows = self.rows("SELECT value, checksum FROM about")
        if len(rows) != 1 or not isinstance(rows[0][0], str):
            raise self.damaged("its description")
        text, checksum = rows[0]
        if zlib.crc32(text.encode()) != checksum:
            raise self.damaged("its description")
        found: dict[str, Any] = json.loads(text)
        return found

    def describe(self, about: dict[str, Any]) -> None:
        """Replace the settings that `about` returns, within a transaction that writes."""
        text = json.dumps(about, sort_keys=True)
        self.execute("UPDATE about SET value = ?, checksum = ?", (text, zlib.crc32(text.encode())))

    # Transactions.

    @contextmanager
    def reading(self) -> Iterator[State]:
        """A snapshot: all that is read within it is of one moment."""
        with self.thread_lock(), self._errors():
            connection = self._connected()
            if self._depth:
                yield self.state()
                return
            connection.execute("BEGIN")
            self._depth += 1
            try:
                yield self.state()
            finally:
                self._depth -= 1
                with suppress(sqlite3.Error):
                    connection.execute("COMMIT")

    @contextmanager
    def writing(self, wait: float | None = None) -> Iterator[State]:
        """A transaction that writes: all of it, or nothing if an error comes out.

        Args:
            wait: Seconds to wait for other threads, and not for other processes; None to wait for
                either as long as the options say.

        Raises:
            BusyError: Another process or thread writes, and did not end in time.
            IndexMovedError: The folder is not where it was; nothing was changed.
            StoreError: The index was opened for reading only, or was closed.
        """
        if self.options.readonly:
            raise StoreError(f"{self.path} was opened for reading only", "open it without readonly")
        with self.thread_lock(self.options.timeout if wait is None else wait), self._errors():
            connection = self._connected()
            if self._depth:
                yield self.state()
                return
            self._begin(connection, self.options.timeout if wait is None else 0)
            self._depth += 1
            try:
                self.require_folder()
                if self._note is not None:
                    self._note.open()
                self._state = state = self.state()
                self._sign(state)
                yield state
                written = self._state._replace(generation=state.generation + 1, writer=self._me)
                connection.execute(_SET_STATE, written.row())
                self.require_folder()
                connection.execute("COMMIT")
                if self._note is not None:
                    self._note.write(state.generation + 1)
            except BaseException as error:
                with suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                if isinstance(error, OSError | StoreError | sqlite3.Error):
                    self.require_folder()  # else it says why a file could not be written
                raise
            finally:
                self._state = None
                self._depth -= 1

    def require_folder(self) -> None:
        """Refuse to use files by their paths where the folder is not the one that was opened.

        Raises:
            IndexMovedError: It was moved, deleted or replaced.
        """
        if self._identity is not None:
            self._identity.require()

    @property
    def identity(self) -> tuple[int, ...]:
        """Device and inode of the folder and of the file, once it was opened; empty in memory."""
        return () if self._identity is None else self._identity.known

    def change(self, **fields: Any) -> None:
        """Change the state, within a transaction that writes."""
        assert self._state is not None
        self._state = self._state._replace(**fields)

    def note_ids(self, ids: Sequence[Id]) -> None:
        """Note ids that are used, in a transaction that writes: the index gives greater ones."""
        self.change(greatest=greatest_of(ids, self.state().greatest))

    def add(self, table: str, more: int) -> None:
        """Add checksums of new rows to the sum over a table, in a transaction that writes.

        Args:
            table: Its name.
            more: Their sum; negative for rows that were removed.
        """
        self.change(sums=self.state().sums.plus(table, more))

    def empty(self, table: str) -> None:
        """Delete all rows of a table that has a sum, in a transaction that writes."""
        self.execute(f"DELETE FROM {table}")  # noqa: S608
        self.change(sums=self.state().sums._replace(**{table: 0}))

    def require_sum(self, table: str, checksums: Iterable[int]) -> None:
        """Refuse the rows of a table, given their checksums, unless these are all.

        Raises:
            StoreError: Some were lost, or are others.
        """
        if summed(0, sum(checksums)) != getattr(self.state().sums, table):
            raise self.damaged(f"its list of {table.replace('_', ' ')}")

    def _begin(self, connection: sqlite3.Connection, timeout: float) -> None:
        try:
            with self._busy_timeout(connection, timeout):
                connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or self.path is None:
                raise
            last = ""  # who it is now is not certain: a writer signs once it writes
            with suppress(OSError, ValueError):
                last = f"; the last known writer is {self._signature().read_text(encoding='utf-8')}"
            raise BusyError(
                f"{self.path.parent}: another process is writing to this index, and did not end "
                f"within {timeout:g} s{last}",
                "try again later, or with a longer timeout",
            ) from error

    @contextmanager
    def _busy_timeout(self, connection: sqlite3.Connection, timeout: float) -> Iterator[None]:
        if timeout == self.options.timeout:
            yield
            return
        text = "PRAGMA busy_timeout = {:.0f}"  # milliseconds
        connection.execute(text.format(1000 * timeout))
        try:
            yield
        finally:
            connection.execute(text.format(1000 * min(self.options.timeout, _LONGEST)))

    def _sign(self, state: State) -> None:
        """Leave a note of who writes, for those who wait."""
        if state.writer == self._me or self.path is None:
            return
        with system_errors(self._signature()):
            make_private(self._signature())
            since = time.strftime("%Y-%m-%d %H:%M:%S")
            self._signature().write_text(f"{self._me} (first seen {since})", encoding="utf-8")

    def _signature(self) -> Path:
        assert self.path is not None
        return self.path.with_name("writer.txt")

    def state(self) -> State:
        """Return the state, as this transaction has it."""
        if self._state is not None:
            return self._state
        rows = self._connected().execute("SELECT * FROM state").fetchall()
        if self._read is None or rows != self._read[0]:
            state = State.of_row(rows[0]) if len(rows) == 1 else None
            if state is None:
                raise self.damaged("its state")
            self._read = rows, state
        return self._read[1]

    def rows(self, text: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows that a statement gives."""
        with self.thread_lock(), self._errors():
            return self._connected().execute(text, values).fetchall()

    def execute(self, text: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Do a statement within a transaction; return the rows that it gives, and their number."""
        return self._connected().execute(text, values)

    def insert(
        self, text: str, rows: Iterator[Sequence[object]] | Sequence[Sequence[object]]
    ) -> int:
        """Do a statement for each row; return the number of rows that it changed."""
        return self._connected().executemany(text, rows).rowcount

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is under way; asked by the thread that has the lock."""
        return self._depth > 0

    def sync(self) -> None:
        """Make all commits durable, also where single ones need not be."""
        if self.path is None:
            return
        log = self.path.with_name(self.path.name + "-wal")
        with system_errors(log):
            # SQLite has no locks on the log itself, which closing it here would drop.
            with suppress(FileNotFoundError), log.open("r+b") as file:
                os.fsync(file.fileno())
            sync_folder(self.path.parent)

    def copy_to(self, path: Path) -> None:
        """Copy the database, as this transaction sees it, to a new file.

        Raises:
            OutputError: It can't be written.
        """
        make_private(path)
        with closing(sqlite3.connect(path)) as other:
            try:
                self._connected().backup(other)
                other.execute("PRAGMA journal_mode = WAL").fetchall()
            except sqlite3.Error as error:
                raise sqlite_error(KIND, path, error) from error
        with path.open("rb") as file:
            os.fsync(file.fileno())

    # Documents.

    def fetch(self, docs: Sequence[int]) -> list[DocumentRow]:
        """Return the documents that are still there, of some numbers that keys have, in any order.

        Raises:
            StoreError: One is neither there nor was it removed; or is damaged.
        """
        rows = [
            DocumentRow(*row) for row in self.selected("doc, id, body, checksum", *_DOCUMENTS, docs)
        ]
        for row in rows:
            self.require_intact(row)
        self._require_removed(docs, [row.doc for row in rows])
        return rows

    def stored(self, docs: Sequence[int]) -> list[int]:
        """Return those of some numbers that keys have whose documents are still there.

        Raises:
            StoreError: One is neither there nor was it removed.
        """
        rows = [doc for (doc,) in self.selected("doc", *_DOCUMENTS, docs)]
        self._require_removed(docs, rows)
        return rows

    def require_intact(self, row: DocumentRow) -> None:
        """Refuse a damaged document."""
        if not is_intact(row):
            raise self.damaged(f"document number {row.doc}")

    def listed(self) -> list[tuple[int, Id]]:
        """Return the numbers and ids of all documents, by number.

        Raises:
            StoreError: The list is damaged.
        """
        rows = self.rows("SELECT doc, id FROM documents ORDER BY doc")
        self.require_sum("documents", starmap(identity_of, rows))
        self.require_order([doc for doc, _ in rows])
        return rows

    def require_order(self, docs: Sequence[int]) -> None:
        """Refuse documents that are not in the order of their numbers, as their pages are not."""
        if any(map(ge, docs, docs[1:])):
            raise self.damaged("its list of documents")

    def remove(self, documents: dict[Id, int]) -> None:
        """Remove documents, given by id and number, in a transaction that writes."""
        docs, state = [(doc,) for doc in documents.values()], self.state()
        if self.insert("DELETE FROM documents WHERE doc = ?", docs) != len(docs):
            raise self.damaged("its list of documents")
        # Keys have them until segments are merged.
        removed = [(doc, row_sum(doc)) for (doc,) in docs]
        self.insert("INSERT INTO removed VALUES (?, ?)", removed)
        self.change(documents=state.documents - len(docs), removed=state.removed + len(docs))
        self.add("documents", -sum(identity_of(doc, id_) for id_, doc in documents.items()))

    def removed(self) -> list[int]:
        """Return the numbers of removed documents that still have keys, ascending.

        Raises:
            StoreError: The list is damaged.
        """
        rows = self.rows("SELECT doc, checksum FROM removed ORDER BY doc")
        if len(rows) != self.state().removed or any(row_sum(doc) != c for doc, c in rows):
            raise self.damaged("its list of removed documents")
        return [doc for doc, _ in rows]

    def forget_removed(self, docs: Sequence[int]) -> None:
        """Note that removed documents have no keys any more, in a transaction that writes."""
        if self.insert("DELETE FROM removed WHERE doc = ?", [(doc,) for doc in docs]) != len(docs):
            raise self.damaged("its list of removed documents")
        self.change(removed=self.state().removed - len(docs))

    def _require_removed(self, docs: Sequence[int], there: Sequence[int]) -> None:
        if len(docs) == len(there):  # nearly always
            return
        missing = list(set(docs).difference(there))
        rows = self.selected("doc, checksum", "removed", "doc", missing)
        if len(missing) != sum(row_sum(doc) == checksum for doc, checksum in rows):
            raise self.damaged("its list of documents")

    def selected(
        self, columns: str, table: str, name: str, values: Sequence[Any]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield columns of the rows that have some values in the column of a name."""
        for low in range(0, len(values), _VALUES):
            batch = list(values[low : low + _VALUES])
            # Few lengths: few statements are prepared.
            count = 1 << (len(batch) - 1).bit_length()
            batch += [batch[-1]] * (count - len(batch))
            marks = ",".join("?" * count)
            text = f"SELECT {columns} FROM {table} WHERE {name} IN ({marks})"  # noqa: S608
            yield from self.execute(text, batch).fetchall()

    # The connection.

    @contextmanager
    def thread_lock(self, timeout: float = -1) -> Iterator[None]:
        """Lock out other threads; in a process that was forked since, begin again.

        Raises:
            BusyError: Another thread did not end within the timeout; -1 for none.
            StoreError: The index was closed.
        """
        if self._pid != os.getpid():
            _inherited.append((self._connection, self.lock))
            self._pid, self._depth, self._state = os.getpid(), 0, None
            self._me = f"process {self._pid}"
            self.lock = FairLock()
            if self.path is not None:
                self._connection = None
                # The position in the file is that of the parent too.
                self._note = CommitNote(self.path, self.options.power)
        if not self.lock.acquire(timeout):
            raise BusyError(
                f"another thread uses {self.path or 'this index'}, and did not end within "
                f"{timeout:g} s",
                "try again later, or with a longer timeout",
            )
        try:
            if self.closed:
                raise StoreError("the index was closed", "open it again, by `Index.open`")
            yield
        finally:
            self.lock.release()

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._opened()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        options = self.options
        self.require_folder()  # after a fork it is opened again
        if self.path is None:
            name = ":memory:"
        else:
            mode = "ro" if options.readonly else "rw"
            name = f"{self.path.absolute().as_uri()}?mode={mode}"
            log = self.path.with_name(self.path.name + "-wal")
            shared = self.path.with_name(self.path.name + "-shm")
            if options.readonly and not os.access(self.path.parent, os.W_OK):
                # Readers can use the files that they share with writers, and not make them.
                closed = not log.exists() or log.stat().st_size == 0
                if closed and not is_writable_disk(self.path):
                    name += "&immutable=1"  # no process can write there
                elif not (log.exists() and shared.exists()):
                    raise StoreError(
                        f"can't read {self.path.parent}: readers need to write files next to the "
                        "index, unless a writer has it open",
                        "ask for the permission to write there, or copy the index",
                    )
        connection = sqlite3.connect(
            name,
            uri=True,
            timeout=min(options.timeout, _LONGEST),
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.text_factory = lambda data: data.decode(errors="replace")
            for setting in _SETTINGS:
                connection.execute(f"PRAGMA {setting}").fetchall()
            if not options.readonly and self.path is not None:
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
            level = "FULL" if options.power else "NORMAL"
            connection.execute(f"PRAGMA synchronous = {level}").fetchall()
            self.require_folder()
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Let go of the file; every later call is refused."""
        if self.closed:
            return
        with self.thread_lock():
            self.closed = True
            connection, self._connection = self._connection, None
            if self._note is not None:
                self._note.close()
            if connection is not None:
                with self._errors():
                    connection.close()

    def __del__(self) -> None:
        # Python 3.13 warns of connections that end without it. After a fork it is the parent's.
        if self._connection is not None and self._pid == os.getpid():
            with suppress(sqlite3.Error):
                self._connection.close()

    def damaged(self, what: str) -> NeardupError:
        """Return the error for damaged content."""
        return StoreError(f"{self.path or 'the index'}: {what} is damaged", KIND.again)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        path = self.path or Path("index in memory")
        try:
            yield
        except NeardupError:
            raise
        except sqlite3.Error as error:
            found = sqlite_error(KIND, path, error)
            if self.options.readonly and isinstance(found, OutputError):
                why = str(found).rpartition(": ")[2]
                found = StoreError(f"can't read {path}: {why}", "check its permissions")
            raise found from error
        except UnicodeDecodeError as error:  # of SQLite's own message, which quotes the damage
            raise self.damaged("its schema") from error
