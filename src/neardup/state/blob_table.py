"""Blobs under checksums, in two tables of a database: their metadata, and their bytes."""

import json
import sqlite3
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from neardup.state.database import Database
from neardup.tuning import TUNING
from neardup.values.json_values import JSON

Blob: TypeAlias = "bytes | bytearray | memoryview | np.ndarray"

_TABLE = (
    "CREATE TABLE <> (space TEXT, number INTEGER, size INTEGER, first INTEGER, checksum INTEGER,"
    " about BLOB, crc INTEGER, PRIMARY KEY (space, number)) WITHOUT ROWID"
)
_DATA = "CREATE TABLE <>_data (id INTEGER PRIMARY KEY, data BLOB NOT NULL)"
_FIND = "SELECT * FROM <> WHERE space = ? AND number = ?"


class _Row(NamedTuple):
    size: int
    first: int  # id of the first slice; the others follow
    checksum: int  # CRC-32 of all slices
    about: bytes  # JSON

    @property
    def ids(self) -> range:
        return range(self.first, self.first + -(-self.size // TUNING.blob_bytes))


class BlobTable:
    """Blobs named by a space and a number; every byte of them is under a checksum.

    Methods that take a connection are for use in a transaction.
    """

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self.name = name

    def named(self, text: str) -> str:
        """Return a statement with the name of the table for ``<>``."""
        return text.replace("<>", self.name)

    def create(self, connection: sqlite3.Connection) -> None:
        connection.execute(self.named(_TABLE))
        connection.execute(self.named(_DATA))

    def drop(self, connection: sqlite3.Connection) -> None:
        connection.execute(self.named("DROP TABLE <>_data"))
        connection.execute(self.named("DROP TABLE <>"))

    def put(
        self,
        connection: sqlite3.Connection,
        key: tuple[str, int],
        data: Blob = b"",
        about: JSON = None,
    ) -> None:
        """Store a blob, replacing an earlier one of a space and number.

        ``about`` is found again without reading the bytes.
        """
        for found in connection.execute(self.named(_FIND), key).fetchall():
            old = _Row(*found[2:6]).ids
            text = self.named("DELETE FROM <>_data WHERE id >= ? AND id < ?")
            connection.execute(text, (old.start, old.stop))
        view = memoryview(cast(Any, data))
        data = view.cast("B") if view.nbytes else memoryview(b"")
        text = self.named("SELECT coalesce(max(id), 0) + 1 FROM <>_data")
        first = connection.execute(text).fetchone()[0]
        text = self.named("INSERT INTO <>_data VALUES (?, zeroblob(?))")
        step = TUNING.blob_bytes
        for number, low in enumerate(range(0, len(data), step), first):
            part = data[low : low + step]
            connection.execute(text, (number, len(part)))
            # A third less work than handing over the bytes as a value, which is copied twice.
            with connection.blobopen(f"{self.name}_data", "data", number) as blob:
                blob.write(part)
        row = _Row(len(data), first, zlib.crc32(data), json.dumps(about).encode())
        text = self.named("REPLACE INTO <> VALUES (?, ?, ?, ?, ?, ?, ?)")
        connection.execute(text, (*key, *row, _crc(*key, row)))

    def index(self, space: str | None = None) -> dict[tuple[str, int], Any]:
        """Return the metadata of the blobs of a space, or of all, by space and number."""
        text = self.named("SELECT * FROM <> WHERE space = ? OR ? IS NULL")
        return {
            (name, number): json.loads(self._checked(name, number, row).about)
            for name, number, *row in self._database.rows(text, (space, space))
        }

    def get(self, space: str, number: int) -> memoryview | None:
        """Return the bytes of a blob, read-only; None where there is none."""
        found = self._database.rows(self.named(_FIND), (space, number))
        if not found:
            return None
        row = self._checked(space, number, found[0][2:])
        slices = [self._database.blob(f"{self.name}_data", id_) for id_ in row.ids]
        data = slices[0] if len(slices) == 1 else b"".join(slices)
        if len(data) != row.size or zlib.crc32(data) != row.checksum:
            raise self._database.damaged(f"{space} {number}")
        return memoryview(data).toreadonly()

    def _checked(self, space: Any, number: Any, values: Sequence[Any]) -> _Row:
        row = _Row(*values[:4])
        kinds = [type(value) for value in (space, number, *row)]
        if kinds != [str, int, int, int, int, bytes] or values[4] != _crc(space, number, row):
            raise self._database.damaged("an entry")
        return row


def _crc(space: str, number: int, row: _Row) -> int:
    head = f"{space}\0{number}\0{row.size}\0{row.first}\0{row.checksum}\0"
    return zlib.crc32(row.about, zlib.crc32(head.encode()))
