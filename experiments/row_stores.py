"""Design 1 of the paper: a row for each key, in SQLite and in Cassandra, to compare with ours.

Stores of the schemes ``sqlite-rows`` and ``cassandra-rows``; importing this module adds them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from neardup.state import STORES
from neardup.state.band_store import Entry
from neardup.state.cassandra.cassandra_store import METADATA, CassandraStore
from neardup.state.sqlite_store import SqliteStore

__all__ = ["BATCH", "CassandraRows", "SqliteRows", "of_rows"]

STORES["sqlite-rows"] = f"{__name__}:SqliteRows"
STORES["cassandra-rows"] = f"{__name__}:CassandraRows"
_TABLE = (
    "CREATE TABLE key_rows (band INTEGER, partition INTEGER, document INTEGER, key INTEGER,"
    " PRIMARY KEY (band, partition, document)) WITHOUT ROWID"
)
_FIND = "SELECT key FROM key_rows WHERE band = ? AND partition = ? ORDER BY document"
#: Keys sent to Cassandra together: some 4 KB, below what servers warn of.
BATCH = 64
_KEY_BYTES = 8


def of_rows(url: str) -> str:
    """Return the URL of the store of rows at the place of one of blobs."""
    scheme, _, rest = url.partition(":")
    return f"{scheme}-rows:{rest}"


class SqliteRows(SqliteStore):
    """``sqlite-rows:FILE``."""

    def __init__(self, url: str, run: str = "") -> None:
        super().__init__(url.replace("sqlite-rows:", "sqlite:", 1), run)

    def _fill(self, text: str, connection: sqlite3.Connection) -> None:
        super()._fill(text, connection)
        connection.execute(_TABLE)

    def _put(self, partition: int, keys: np.ndarray, metadata: bytes) -> None:
        with self._database.transaction() as connection:
            about = [keys.shape[1], len(metadata)]
            self._table.put(connection, ("partition", partition), metadata, about)
            for band, row in enumerate(np.ascontiguousarray(keys, dtype="<u8").view("<i8")):
                cells = ((band, partition, *cell) for cell in enumerate(row.tolist()))
                connection.executemany("INSERT OR REPLACE INTO key_rows VALUES (?, ?, ?, ?)", cells)

    def _band(self, band: int, entries: dict[int, Entry]) -> Iterator[tuple[int, np.ndarray]]:
        for partition in entries:
            rows = self._database.rows(_FIND, (band, partition))
            keys = np.fromiter((key for (key,) in rows), dtype="<i8", count=len(rows))
            yield partition, keys.view("<u8")

    def _drop(self) -> None:
        if self._is_there():
            with self._database.transaction() as connection:
                connection.execute("DROP TABLE IF EXISTS key_rows")
        super()._drop()


class CassandraRows(CassandraStore):
    """``cassandra-rows://HOST[:PORT]/KEYSPACE``: a row has one key, and requests have 64 rows."""

    def __init__(self, url: str, run: str = "neardup") -> None:
        super().__init__(url.replace("cassandra-rows:", "cassandra:", 1), run)

    def _slice_bytes(self, band: int) -> int:
        return super()._slice_bytes(band) if band == METADATA else _KEY_BYTES

    def _insertions(self, partition: int, keys: np.ndarray, metadata: bytes) -> Iterator[Any]:
        from cassandra.query import BatchStatement, BatchType

        rows = super()._insertions(partition, keys, metadata)
        yield from islice(rows, -(-len(metadata) // super()._slice_bytes(METADATA)))
        for _ in range(len(keys)):  # a batch has rows of one band, which are stored together
            band = islice(rows, keys.shape[1])
            while some := list(islice(band, BATCH)):
                batch = BatchStatement(batch_type=BatchType.UNLOGGED)
                batch.is_idempotent = True
                for row in some:
                    batch.add(row)
                yield batch
