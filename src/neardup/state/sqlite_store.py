"""Band keys in SQLite: in the file of a run, or in a file of their own."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from neardup.errors import SpecError, StoreError
from neardup.state.band_store import BandStore, Entry, Layout
from neardup.state.blob_table import BlobTable, view_of
from neardup.state.database import Database
from neardup.state.private_files import FileKind

_KIND = FileKind(
    application=0x4E444250,  # "NDBP"
    version=2,
    unwritable=StoreError,
    unusable=StoreError,
    again="start again with another file, or remove this one",
)
_BANDS_BITS = 20
_ROWS = (
    "CREATE TABLE <>_rows (band INTEGER, partition INTEGER, document INTEGER, key INTEGER NOT NULL,"
    " PRIMARY KEY (band, partition, document)) WITHOUT ROWID"
)


class RunStore(BandStore):
    """Keeps band keys in tables of a run's own database, whose thread commits what is put in."""

    durable = True
    layouts = ("blob", "row")

    def __init__(self, database: Database, layout: Layout = "blob") -> None:
        super().__init__(f"sqlite:{database.path}", layout)
        self._database = database
        self._table = BlobTable(database, "bands")

    def _open(self) -> None:
        self._database.flush()

    def _is_there(self) -> bool:
        return bool(self._database.rows("SELECT 1 FROM sqlite_master WHERE name = 'bands'"))

    # Header and notes.

    def _read_header(self) -> tuple[str, str] | None:
        if not self._is_there():
            return None
        found = self._table.index().get(("header", 0))  # of every entry: a damaged one may hide
        if found is None:
            raise self._error("its header is missing")
        header, layout = found
        return header, layout

    def _write_header(self, text: str) -> bool:
        with self._database.transaction() as connection:
            if self._is_there():
                return False
            self._fill(text, connection)
        return True

    def _fill(self, text: str, connection: sqlite3.Connection) -> None:
        self._table.create(connection)
        if self.layout == "row":
            connection.execute(self._table.named(_ROWS))
        self._table.put(connection, ("header", 0), about=[text, self.layout])

    def _write_note(self, name: str, text: str) -> None:
        self._database.flush()
        with self._database.transaction() as connection:
            notes = {**self._read_notes(), name: text}
            self._table.put(connection, ("notes", 0), about=notes)

    def _read_notes(self) -> dict[str, str]:
        return dict(self._table.index("notes").get(("notes", 0), {}))

    # Partitions.

    def _put(self, partition: int, keys: np.ndarray, metadata: bytes) -> None:
        shape, metadata = keys.shape, bytes(metadata)

        def insert(connection: sqlite3.Connection, data: memoryview) -> None:
            about = [shape[1], len(metadata)]
            self._table.put(connection, ("partition", partition), metadata, about)
            rows = np.frombuffer(data, dtype="<u8").reshape(shape)
            self._insert(connection, partition, rows)

        data = view_of(np.ascontiguousarray(keys, dtype="<u8"))
        self._database.submit(insert, data, len(metadata))

    def _insert(self, connection: sqlite3.Connection, partition: int, keys: np.ndarray) -> None:
        if self.layout == "blob":
            for band, row in enumerate(keys):
                number = partition << _BANDS_BITS | band
                self._table.put(connection, ("keys", number), row)
            return
        sums = np.array([zlib.crc32(row.data) for row in keys], dtype="<u4")
        self._table.put(connection, ("sums", partition), sums)
        text = self._table.named("DELETE FROM <>_rows WHERE band = ? AND partition = ?")
        connection.executemany(text, [(band, partition) for band in range(len(keys))])
        text = self._table.named("INSERT INTO <>_rows VALUES (?, ?, ?, ?)")
        for band, row in enumerate(keys.view("<i8")):
            cells = enumerate(row.tolist())
            connection.executemany(text, ((band, partition, *cell) for cell in cells))

    def _flush(self) -> None:
        self._database.flush()

    def _partitions(self) -> dict[int, Entry]:
        self._database.flush()
        found = self._table.index("partition")
        return {number: Entry(*about) for (_, number), about in found.items()}

    def _metadata(self, partition: int) -> bytes | None:
        self._database.flush()
        found = self._table.get("partition", partition)
        return None if found is None else bytes(found)

    def _band(self, band: int, entries: dict[int, Entry]) -> Iterator[tuple[int, np.ndarray]]:
        for partition in entries:
            if self.layout == "blob":
                found = self._table.get("keys", partition << _BANDS_BITS | band)
                if found is None or len(found) % 8:
                    return
                yield partition, np.frombuffer(found, dtype="<u8")
            else:
                text = "SELECT key FROM <>_rows WHERE band = ? AND partition = ? ORDER BY document"
                rows = self._database.rows(self._table.named(text), (band, partition))
                sums = self._table.get("sums", partition)
                if sums is None or not all(type(key) is int for (key,) in rows):
                    return
                keys = np.fromiter((key for (key,) in rows), dtype="<i8", count=len(rows))
                if zlib.crc32(keys.data) != np.frombuffer(sums, dtype="<u4")[band]:
                    return
                yield partition, keys.view("<u8")

    # The whole.

    def _drop(self) -> None:
        if self._is_there():
            with self._database.transaction() as connection:
                self._remove_tables(connection)

    def _remove_tables(self, connection: sqlite3.Connection) -> None:
        connection.execute(self._table.named("DROP TABLE IF EXISTS <>_rows"))
        self._table.drop(connection)

    def _close(self) -> None:
        self._database.flush()


class SqliteStore(RunStore):
    """Keeps one run in a file of its own, ``sqlite:FILE``, to which several processes may write.

    A partition is durable once `put` returned. The file is never removed, as it may have been there
    before: `drop` leaves an empty database. ``patience`` is for another process that writes.
    """

    concurrent_writers = True

    def __init__(
        self, url: str, layout: Layout = "blob", run: str = "", patience: float = 30.0
    ) -> None:
        scheme, _, name = url.partition(":")
        if scheme != "sqlite" or not name:
            raise SpecError(f"no store is known for {url!r}", "write sqlite:FILE")
        super().__init__(Database(Path(name), _KIND, patience=patience), layout)

    def _open(self) -> None:
        if self._is_there():  # refuses what is not ours
            self._database.check()

    def _is_there(self) -> bool:
        return self._database.exists() and self._database.version() != 0

    def _write_header(self, text: str) -> bool:
        return self._database.create(partial(self._fill, text))

    def _drop(self) -> None:
        super()._drop()
        if self._database.exists():
            self._database.rows("VACUUM")

    def _remove_tables(self, connection: sqlite3.Connection) -> None:
        super()._remove_tables(connection)
        connection.execute("PRAGMA application_id = 0")
        connection.execute("PRAGMA user_version = 0")

    def _close(self) -> None:
        self._database.close()
