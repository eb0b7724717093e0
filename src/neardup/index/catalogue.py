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
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from neardup.errors import NeardupError, OutputError, StoreError
from neardup.files.private_files import make_private, sync_folder, system_errors
from neardup.index.bodies import Id, Row
from neardup.index.location import CommitNote, is_writable_disk
from neardup.state.database import FileKind, sqlite_error
from neardup.threads import FairLock

KIND = FileKind(
    0x6E646978, 4, OutputError, StoreError, "restore the index from a copy, or make it again"
)
#: Seconds that SQLite waits for another process, at most.
_LONGEST = 2e6
#: Values of a statement at once.
_VALUES = 256
#: The log is copied into the file seldom: documents that come one by one need not wait.
_SETTINGS = ("page_size = 8192", "cache_size = -8192", "mmap_size = 0", "wal_autocheckpoint = 4096")
_TABLES = """
CREATE TABLE about (one INTEGER PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE state (one INTEGER PRIMARY KEY, generation INTEGER NOT NULL, manifest INTEGER NOT NULL,
    next INTEGER NOT NULL, segment INTEGER NOT NULL, greatest INTEGER NOT NULL,
    documents INTEGER NOT NULL, ids TEXT NOT NULL, writer TEXT NOT NULL);
CREATE TABLE documents (doc INTEGER PRIMARY KEY, id UNIQUE NOT NULL, body BLOB NOT NULL,
    checksum INTEGER NOT NULL);
CREATE TABLE log (doc INTEGER PRIMARY KEY, keys BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE removed (doc INTEGER PRIMARY KEY);
CREATE TABLE duplicates (id PRIMARY KEY, duplicate_of NOT NULL, checksum INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE INDEX representatives ON duplicates (duplicate_of);
CREATE TABLE segments (number INTEGER PRIMARY KEY, entries INTEGER NOT NULL,
    checksum INTEGER NOT NULL);
INSERT INTO state VALUES (1, 0, 0, 0, 0, -1, 0, '', '');
"""

#: Of an index that answers copied passages: keys that are in no segment yet, and a manifest. Older
#: versions would add documents without them: it has a format of its own.
_COPY_TABLES = """
CREATE TABLE copy_log (doc INTEGER PRIMARY KEY, entries BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE copy_segments (number INTEGER PRIMARY KEY, entries INTEGER NOT NULL,
    checksum INTEGER NOT NULL);
"""
_COPY_VERSION = 5


#: Types of the values of a state.
_STATE = (*[int] * 6, str, str)


class State(NamedTuple):
    """The state of the index at the start of a transaction.

    Attributes:
        generation: Counts the transactions that wrote.
        manifest: Counts those that changed the segments.
        next: Number of the next document; never used again.
        segment: Number of the next segment; never used again.
        greatest: Greatest integer that was an id so far, of a document or a duplicate; -1 before
            there is any, or a greater one. Ids that the index gives are greater.
        documents: How many there are.
        ids: ``"int"`` or ``"str"``: type of the ids; empty before there is any.
        writer: Who wrote last.
    """

    generation: int
    manifest: int
    next: int
    segment: int
    greatest: int
    documents: int
    ids: str
    writer: str


class Options(NamedTuple):
    """How a catalogue is opened.

    Attributes:
        readonly: Nothing is written.
        timeout: Seconds to wait for another writer.
        power: Committed documents survive a power failure too.
    """

    readonly: bool = False
    timeout: float = 10.0
    power: bool = True


class BusyError(StoreError):
    """Another process, or another thread, writes."""


def _checksum(id_: Id, of: Id) -> int:
    """Return the CRC-32 of the ids of a duplicate and of its representative."""
    return zlib.crc32(f"{id_!r}\0{of!r}".encode(errors="replace"))


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
        self._me = f"process {os.getpid()}"
        self._note = None if path is None else CommitNote(path, options.power)

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
                self._state = state = self.state()
                self._sign(state)
                yield state
                connection.execute(
                    "UPDATE state SET generation = ?, manifest = ?, next = ?, segment = ?, "
                    "greatest = ?, documents = ?, ids = ?, writer = ?",
                    self._state._replace(generation=state.generation + 1, writer=self._me),
                )
                connection.execute("COMMIT")
                if self._note is not None:
                    self._note.write(state.generation + 1)
            except BaseException:
                with suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                raise
            finally:
                self._state = None
                self._depth -= 1

    def change(self, **fields: Any) -> None:
        """Change the state, within a transaction that writes."""
        assert self._state is not None
        self._state = self._state._replace(**fields)

    def note_ids(self, ids: Sequence[Id]) -> None:
        """Note ids that are used, within a transaction that writes: the index gives greater ones."""
        greatest = max((id_ for id_ in ids if isinstance(id_, int)), default=-1)
        if greatest > self.state().greatest:
            self.change(greatest=greatest)

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
        rows = self._connected().execute(
            "SELECT generation, manifest, next, segment, greatest, documents, ids, writer FROM state"
        )
        try:
            found = State(*rows.fetchall()[0])
        except IndexError as error:
            raise self.damaged("its state") from error
        if tuple(map(type, found)) != _STATE:
            raise self.damaged("its state")
        return found

    def rows(self, text: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows that a statement gives."""
        with self.thread_lock(), self._errors():
            return self._connected().execute(text, values).fetchall()

    def execute(self, text: str, values: Sequence[object] = ()) -> int:
        """Do a statement; return the number of rows that it changed."""
        return self._connected().execute(text, values).rowcount

    def insert(
        self, text: str, rows: Iterator[Sequence[object]] | Sequence[Sequence[object]]
    ) -> None:
        """Do a statement for each row."""
        self._connected().executemany(text, rows)

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

    def fetch(self, docs: Sequence[int]) -> list[Row]:
        """Return the documents that are still there, of some numbers, in any order."""
        return [
            Row(*row) for row in self._selected("doc, id, body, checksum", "documents", "doc", docs)
        ]

    def stored(self, docs: Sequence[int]) -> list[int]:
        """Return those of some numbers whose documents are still there, in any order."""
        return [doc for (doc,) in self._selected("doc", "documents", "doc", docs)]

    def numbers(self, ids: Sequence[Id]) -> dict[Id, int]:
        """Return the numbers of documents by their ids; ids that are not there are left out."""
        return dict(self._selected("id, doc", "documents", "id", ids))

    def _selected(
        self, columns: str, table: str, name: str, values: Sequence[Any]
    ) -> Iterator[tuple[Any, ...]]:
        for low in range(0, len(values), _VALUES):
            batch = list(values[low : low + _VALUES])
            # Few lengths: few statements are prepared.
            count = 1 << (len(batch) - 1).bit_length()
            batch += [batch[-1]] * (count - len(batch))
            marks = ",".join("?" * count)
            text = f"SELECT {columns} FROM {table} WHERE {name} IN ({marks})"  # noqa: S608
            yield from self._connected().execute(text, batch).fetchall()

    # Ids that were answered as duplicates, and have no document.

    def note_duplicates(self, pairs: Sequence[tuple[Id, Id]]) -> None:
        """Store the ids of duplicates, each with that of the document that it is one of."""
        self.note_ids([id_ for id_, _ in pairs])
        rows = [(id_, of, _checksum(id_, of)) for id_, of in pairs]
        self.insert("INSERT OR REPLACE INTO duplicates VALUES (?, ?, ?)", rows)

    def duplicates(self) -> Iterator[tuple[Id, Id]]:
        """Yield the duplicates that `note_duplicates` has stored.

        Raises:
            StoreError: It is damaged.
        """
        for *pair, checksum in self._connected().execute(
            "SELECT id, duplicate_of, checksum FROM duplicates"
        ):
            if _checksum(*pair) != checksum:
                raise self.damaged("its list of duplicates")
            yield (pair[0], pair[1])

    def noted(self, ids: Sequence[Id]) -> set[Id]:
        """Return those of some ids that are noted as duplicates."""
        return {row[0] for row in self._selected("id", "duplicates", "id", ids)}

    def release(self, ids: Sequence[Id]) -> list[Id]:
        """Forget the duplicates noted for some ids.

        Returns:
            The duplicates of theirs, ascending, that neither are documents nor among these ids.
        """
        given = [(id_,) for id_ in ids]
        self.insert("DELETE FROM duplicates WHERE id = ?", given)
        found = {row[0] for row in self._selected("id", "duplicates", "duplicate_of", ids)}
        self.insert("DELETE FROM duplicates WHERE duplicate_of = ?", given)
        return sorted(found - self.numbers(list(found)).keys())

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
