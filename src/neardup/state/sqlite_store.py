"""Band keys in SQLite: in the file of a run, or in a separate file."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import numpy as np

from neardup.errors import SpecError, StoreError
from neardup.state.band_store import BandStore, Entry
from neardup.state.blob_table import BlobTable
from neardup.state.database import PAGE, Database, FileKind

_KIND = FileKind(
    application=0x4E444250,  # "NDBP"
    version=3,
    unwritable=StoreError,
    unusable=StoreError,
    again="start again with another file",
)
_BANDS_BITS = 20


class RunStore(BandStore):
    """Keeps band keys in tables of the database of a run."""

    durable = True

    def __init__(self, database: Database) -> None:
        super().__init__(f"sqlite:{database.path}")
        self._database = database
        self._table = BlobTable(database, "bands")

    def _is_there(self) -> bool:
        return bool(self._database.rows("SELECT 1 FROM sqlite_master WHERE name = 'bands'"))

    # Header and notes.

    def _read_header(self) -> str | None:
        if not self._is_there():
            return None
        found = self._table.index().get(("header", 0))  # of every entry: a damaged one may hide
        if found is None:
            raise self._error("its header is missing")
        return str(found)

    def _write_header(self, text: str) -> bool:
        with self._database.transaction() as connection:
            if self._is_there():
                return False
            self._fill(text, connection)
        return True

    def _fill(self, text: str, connection: sqlite3.Connection) -> None:
        self._table.create(connection)
        self._table.put(connection, ("header", 0), about=text)

    def _write_note(self, name: str, text: str) -> None:
        with self._database.transaction() as connection:
            notes = {**self._read_notes(), name: text}
            self._table.put(connection, ("notes", 0), about=notes)

    def _read_notes(self) -> dict[str, str]:
        return dict(self._table.index("notes").get(("notes", 0), {}))

    # Partitions.

    def together(self) -> AbstractContextManager[object]:
        return self._database.transaction()

    def _put(self, partition: int, keys: np.ndarray, metadata: bytes) -> None:
        about = [keys.shape[1], len(metadata)]
        with self._database.transaction() as connection:
            self._table.put(connection, ("partition", partition), metadata, about)
            for band, row in enumerate(np.ascontiguousarray(keys, dtype="<u8")):
                self._table.put(connection, ("keys", partition << _BANDS_BITS | band), row)

    def _partitions(self) -> dict[int, Entry]:
        found = self._table.index("partition")
        return {number: Entry(*about) for (_, number), about in found.items()}

    def _metadata(self, partition: int) -> bytes | None:
        found = self._table.get("partition", partition)
        return None if found is None else bytes(found)

    def _band(self, band: int, entries: dict[int, Entry]) -> Iterator[tuple[int, np.ndarray]]:
        for partition in entries:
            found = self._table.get("keys", partition << _BANDS_BITS | band)
            if found is None or len(found) % 8:
                return
            yield partition, np.frombuffer(found, dtype="<u8")

    # All partitions.

    def _drop(self) -> None:
        if self._is_there():
            with self._database.transaction() as connection:
                self._table.drop(connection)


class SqliteStore(RunStore):
    """Keeps one run in a separate file, ``sqlite:FILE``, to which several processes may write.

    A partition is durable once `put` returned. The file is never removed, as it may have been there
    before: `drop` leaves an empty database. ``patience`` is for another process that writes.
    """

    concurrent_writers = True

    def __init__(self, url: str, run: str = "", patience: float = 30.0) -> None:
        scheme, _, name = url.partition(":")
        if scheme != "sqlite" or not name:
            raise SpecError(f"no store is known for {url!r}", "write sqlite:FILE")
        super().__init__(Database(Path(name), _KIND, patience))

    def _open(self) -> None:
        if self._is_there():  # refuses other files
            self._database.check()
        elif self._database.exists() and self._database.path.stat().st_size > PAGE:
            self._database.rows("VACUUM")  # a run was dropped, perhaps by a process that was killed

    def _is_there(self) -> bool:
        return self._database.exists() and self._database.version() != 0

    def _write_header(self, text: str) -> bool:
        return self._database.create(partial(self._fill, text))

    def _drop(self) -> None:
        if self._is_there():
            with self._database.transaction() as connection:
                super()._drop()
                connection.execute("PRAGMA application_id = 0")
                connection.execute("PRAGMA user_version = 0")
            self._open()

    def _close(self) -> None:
        self._database.close()
