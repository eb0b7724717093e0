"""Bands in one SQLite file, by the standard library: the embedded default."""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import SpecError, StoreError
from neardup.stores.base import BandStore, PartEntry, check_row, checksum, system_error

__all__ = ["SqliteStore"]

_APPLICATION = 0x4E444250  # "NDBP" in the header of the file: it is ours
_LAYOUT = 1  # user_version is 10 * layout + design
_PAGE = 65536
_CACHE_KIB = 8192  # of one connection; what is beyond is written out before the commit
_CHECKPOINT_PAGES = 1024  # 64 MiB: the log goes into the file at the commit that exceeds it
_LOG_LIMIT = 256 << 20  # with readers about, the log may grow; beyond this it is cut by force
_SLICE = 16 << 20  # of facts: far below the 1e9 bytes that SQLite takes as one value
_BANDS_BITS = 20
_AGAIN = "start again"

# Parts come in ascending order, so keys are appended: rows in order of (part, band) were written
# twice as fast as in order of (band, part), whose pages split, and are read back as fast.
_TABLES = {
    2: "CREATE TABLE keys (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    1: "CREATE TABLE cells (band INTEGER, part INTEGER, document INTEGER, key INTEGER NOT NULL,"
    " PRIMARY KEY (band, part, document)) WITHOUT ROWID",
}
_SCHEMA = (
    "CREATE TABLE header (name TEXT PRIMARY KEY, value BLOB, crc INTEGER)",
    "CREATE TABLE notes (name BLOB PRIMARY KEY, value BLOB, crc INTEGER)",
    # sums: uint32[num_bands], the CRC-32 of each band's keys; crc: of the row itself.
    "CREATE TABLE entries (part INTEGER PRIMARY KEY, documents INTEGER, facts_bytes INTEGER,"
    " checksum INTEGER, sums BLOB, crc INTEGER)",
    "CREATE TABLE facts (part INTEGER, slice INTEGER, data BLOB, PRIMARY KEY (part, slice))",
)


class SqliteStore(BandStore):
    """Holds a run in one file, with its log beside it until it is closed.

    A part goes in as one transaction, synced to disk. Each reader has a connection of its own, and
    memory stays at a few MiB for each, whatever the file's size.

    Args:
        path: The file; one run each. Its folder must be there.
        design: 2 for a row per band and part with its keys as one blob, 1 for a row per cell,
            which is slower by far and there for comparison.
        patience: Seconds to wait for another process that writes.

    Raises:
        SpecError: Another design.
    """

    def __init__(self, path: Path, design: int = 2, patience: float = 30.0) -> None:
        if design not in _TABLES:
            raise SpecError(f"design is {design}, expected 1 or 2")
        super().__init__(f"sqlite:{path}", design)
        self.path = path
        self._patience = patience
        self._lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._idle: list[sqlite3.Connection] = []

    # Connections.

    def _open(self) -> None:
        """Check that the file, where there is one, is a store of this layout."""
        if not self._is_there():
            return
        with self._reader() as connection:
            self._layout(connection)

    def _is_there(self) -> bool:
        with self._errors():
            try:
                return os.stat(self.path).st_size > 0  # noqa: PTH116 (one call tells both)
            except FileNotFoundError:
                return False

    def _layout(self, connection: sqlite3.Connection) -> int:
        """Return the file's user_version; 0 where nothing has been made in it yet."""
        application = _one(connection, "PRAGMA application_id")
        version = _one(connection, "PRAGMA user_version")
        if application == 0 and _one(connection, "SELECT count(*) FROM sqlite_schema") == 0:
            return 0
        if application != _APPLICATION:
            raise StoreError(f"{self.url}: is a database of another program", "name another file")
        if version // 10 != _LAYOUT or version % 10 not in _TABLES:
            raise StoreError(
                f"{self.url}: has layout {version}, expected {10 * _LAYOUT + self.design}",
                "go on with the neardup that made it, or start again",
            )
        return int(version)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            connection.execute("PRAGMA mmap_size = 0")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = OFF")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA journal_size_limit = {_CHECKPOINT_PAGES * _PAGE}")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection that nobody else uses meanwhile."""
        with self._errors():
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = self._connect()
            kept = False
            try:
                yield connection
                kept = True
            finally:
                with self._lock:
                    if kept and not self._closed and len(self._idle) < 8:
                        self._idle.append(connection)
                        connection = None
                if connection is not None:
                    connection.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection that writes, in a transaction."""
        with self._errors():
            if self._writer is None:
                self._writer = self._connect()
            connection = self._writer
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                self._writer = None
                with suppress(sqlite3.Error):  # the first error counts
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                with suppress(sqlite3.Error):
                    connection.close()
                raise
            if self._log_bytes() > _LOG_LIMIT:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _log_bytes(self) -> int:
        try:
            return os.stat(f"{self.path}-wal").st_size  # noqa: PTH116
        except FileNotFoundError:
            return 0

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._translated(error) from error
        except UnicodeDecodeError as error:  # of SQLite's own message, which quotes the damage
            raise self._damaged("its schema") from error
        except OSError as error:
            raise system_error(self.url, error) from error

    def _translated(self, error: sqlite3.Error) -> StoreError:
        code = getattr(error, "sqlite_errorcode", 0) or 0
        said = "".join(c if c.isprintable() else "?" for c in str(error))  # it may quote damage
        main = code & 0xFF
        if main == sqlite3.SQLITE_FULL:
            return StoreError(f"{self.url}: the disk is full", "free some space, then resume")
        if code in (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE):
            return StoreError(
                f"{self.url}: can't be written: the disk is full, or a limit on files is reached",
                "free some space, then resume",
            )
        if main in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT):
            return StoreError(f"{self.url}: is damaged ({said})", _AGAIN)
        if main == sqlite3.SQLITE_NOTADB:
            return StoreError(
                f"{self.url}: is not a database, or is damaged", "name another file, or remove it"
            )
        if main in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreError(
                f"{self.url}: another process holds it", "wait for that one, then resume"
            )
        if main in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
            return StoreError(
                f"{self.url}: can't be written: {said}", "check the rights of file and folder"
            )
        if main == sqlite3.SQLITE_CANTOPEN:
            return StoreError(
                f"{self.url}: can't be opened", "check that its folder is there, and its rights"
            )
        if main == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
            return StoreError(f"{self.url}: a part is too big ({said})", "make smaller parts")
        return StoreError(f"{self.url}: {said}")

    # Header and notes.

    def _read_header(self) -> str | None:
        if not self._is_there():
            return None
        with self._reader() as connection:
            version = self._layout(connection)
            if version == 0:
                return None
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != ("ok",):
                raise StoreError(f"{self.url}: is damaged ({found and found[0]})", _AGAIN)
            row = connection.execute("SELECT value, crc FROM header").fetchone()
        if row is None:
            raise self._damaged("its header")
        if version % 10 != self.design:
            raise StoreError(
                f"{self.url}: has design {version % 10}, expected {self.design}",
                "start again, or give the same design as before",
            )
        return self._text(row[0], row[1], "its header")

    def _write_header(self, text: str) -> bool:
        if not self._is_there():
            with self._errors():
                # Made here, so that the name is on disk before anything is said to be in it.
                handle = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o666)
                os.close(handle)
                _sync_folder(self.path.parent)
        with self._errors():
            connection = self._connect()
            try:
                connection.execute(f"PRAGMA page_size = {_PAGE}")
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
            finally:
                connection.close()
        data = text.encode()
        with self._writing() as connection:
            if self._layout(connection) != 0:
                return False
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {10 * _LAYOUT + self.design}")
            for statement in (*_SCHEMA, _TABLES[self.design]):
                connection.execute(statement)
            connection.execute("INSERT INTO header VALUES ('run', ?, ?)", (data, checksum(data)))
        return True

    def _write_note(self, name: str, text: str) -> None:
        key, data = name.encode(), text.encode()
        row = (key, data, checksum(key + b"\0" + data))
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", row)

    def _read_notes(self) -> dict[str, str]:
        with self._reader() as connection:
            rows = connection.execute("SELECT name, value, crc FROM notes").fetchall()
        notes = {}
        for key, data, crc in rows:
            if not isinstance(key, bytes) or not isinstance(data, bytes):
                raise self._damaged("a note")
            if checksum(key + b"\0" + data) != crc:
                raise self._damaged("a note")
            notes[key.decode()] = data.decode()
        return notes

    # Parts.

    def _put(self, part: int, keys: np.ndarray, facts: bytes, entry: PartEntry) -> None:
        if len(keys) >> _BANDS_BITS:
            raise StoreError(f"{self.url}: {len(keys)} bands; it takes {(1 << _BANDS_BITS) - 1}")
        keys = np.ascontiguousarray(keys, dtype="<u8")
        sums = np.array([checksum(row) for row in keys], dtype="<u4").tobytes()
        row = (part, entry.documents, entry.facts_bytes, entry.checksum, sums)
        with self._writing() as connection:
            if connection.execute("SELECT 1 FROM entries WHERE part = ?", (part,)).fetchone():
                connection.execute("DELETE FROM entries WHERE part = ?", (part,))
                connection.execute("DELETE FROM facts WHERE part = ?", (part,))
                if self.design == 2:
                    first = part << _BANDS_BITS
                    connection.execute(
                        "DELETE FROM keys WHERE id >= ? AND id < ?",
                        (first, first + (1 << _BANDS_BITS)),
                    )
                else:
                    connection.executemany(
                        "DELETE FROM cells WHERE band = ? AND part = ?",
                        [(band, part) for band in range(len(keys))],
                    )
            if self.design == 2:
                connection.executemany(
                    "INSERT INTO keys VALUES (?, ?)",
                    ((part << _BANDS_BITS | band, data) for band, data in enumerate(keys)),
                )
            else:
                signed = keys.view("<i8")
                for band, cells in enumerate(signed):
                    connection.executemany(
                        f"INSERT INTO cells VALUES ({band}, {part}, ?, ?)",
                        enumerate(cells.tolist()),
                    )
            view = memoryview(facts)
            connection.executemany(
                "INSERT INTO facts VALUES (?, ?, ?)",
                (
                    (part, number, view[start : start + _SLICE])
                    for number, start in enumerate(range(0, len(view), _SLICE))
                ),
            )
            connection.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (*row, _entry_sum(*row))
            )

    def _parts(self) -> dict[int, PartEntry]:
        with self._reader() as connection:
            rows = connection.execute("SELECT * FROM entries ORDER BY part")
            return {row[0]: self._checked(row) for row in rows}

    def _entry(self, part: int) -> PartEntry | None:
        with self._reader() as connection:
            row = connection.execute("SELECT * FROM entries WHERE part = ?", (part,)).fetchone()
        return None if row is None else self._checked(row)

    def _checked(self, row: tuple[Any, ...]) -> PartEntry:
        part, documents, facts_bytes, expected, sums, crc = row
        numbers = (part, documents, facts_bytes, expected)
        if (
            not all(isinstance(number, int) and number >= 0 for number in numbers)
            or not isinstance(sums, bytes)
            or (self._header is not None and len(sums) != 4 * self._header.num_bands)
            or crc != _entry_sum(part, documents, facts_bytes, expected, sums)
        ):
            raise self._damaged(f"the entry of part {part}")
        return PartEntry(documents, facts_bytes, expected)

    def _facts(self, part: int) -> bytes:
        with self._reader() as connection:
            rows = connection.execute(
                "SELECT data FROM facts WHERE part = ? ORDER BY slice", (part,)
            )
            pieces = [row[0] for row in rows]
        if not all(isinstance(piece, bytes) for piece in pieces):
            raise self._damaged(f"part {part}")
        return b"".join(pieces)

    def _band(self, band: int, parts: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        for part in parts:
            # Lent for a row each, so that a reader who stops midway holds up no checkpoint.
            with self._reader() as connection:
                row = connection.execute(
                    "SELECT substr(sums, ? + 1, 4) FROM entries WHERE part = ?", (4 * band, part)
                ).fetchone()
                data = self._keys(connection, band, part)
            if row is None or data is None or not isinstance(row[0], bytes):
                raise StoreError(
                    f"{self.url}: keys of band {band}, part {part} are missing", _AGAIN
                )
            yield part, check_row(self.url, band, part, data, int.from_bytes(row[0], "little"))

    def _keys(self, connection: sqlite3.Connection, band: int, part: int) -> bytes | None:
        if self.design == 2:
            row = connection.execute(
                "SELECT data FROM keys WHERE id = ?", (part << _BANDS_BITS | band,)
            ).fetchone()
            return row[0] if row is not None and isinstance(row[0], bytes) else None
        rows = connection.execute(
            "SELECT key FROM cells WHERE band = ? AND part = ? ORDER BY document", (band, part)
        )
        try:
            return np.fromiter((row[0] for row in rows), dtype="<i8").tobytes()
        except (TypeError, ValueError, OverflowError):
            return None

    # The whole.

    def _size(self) -> int:
        with self._errors():
            return os.stat(self.path).st_size + self._log_bytes()  # noqa: PTH116

    def _drop(self) -> None:
        self._close()
        with self._errors():
            # The database first: a log without one is not read by anybody.
            for ending in ("", "-wal", "-shm"):
                Path(f"{self.path}{ending}").unlink(missing_ok=True)
            if self.path.parent.is_dir():
                _sync_folder(self.path.parent)

    def _close(self) -> None:
        with self._lock:
            connections = self._idle
            self._idle = []
        if self._writer is not None:
            # The last one out writes the log into the file and removes it.
            connections.append(self._writer)
            self._writer = None
        with self._errors():
            for connection in connections:
                connection.close()

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"{self.url}: {what} is damaged", _AGAIN)

    def _text(self, data: Any, crc: Any, what: str) -> str:
        if not isinstance(data, bytes) or checksum(data) != crc:
            raise self._damaged(what)
        return data.decode()


def _one(connection: sqlite3.Connection, statement: str) -> Any:
    return connection.execute(statement).fetchone()[0]


def _entry_sum(part: int, documents: int, facts_bytes: int, expected: int, sums: bytes) -> int:
    return zlib.crc32(f"{part} {documents} {facts_bytes} {expected} ".encode() + sums)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
