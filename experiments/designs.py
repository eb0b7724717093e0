"""Which design of the paper a store has: the rows that hold band keys are counted in its tables."""

from __future__ import annotations

import numpy as np

from experiments.row_stores import SqliteRows
from experiments.stores import Store, opened
from neardup.errors import StoreError
from neardup.state import BandStore, Header
from neardup.state.cassandra.cassandra_store import CassandraStore
from neardup.state.sqlite_store import RunStore

__all__ = ["check_design", "key_rows"]

_COUNT = "SELECT count(*) FROM <blobs> WHERE matrix = ? AND band = ? AND number = ?"
_BANDS, _PARTITIONS, _DOCUMENTS = 4, 2, 3


def key_rows(store: BandStore) -> int:
    """Return the number of rows that hold band keys, counted by SQL in the tables of a store.

    Raises:
        TypeError: The store has no tables.
    """
    if isinstance(store, CassandraStore):
        return sum(
            int(store._session.ask(_COUNT, [store._matrix, band, partition])[0][0])
            for partition in store.partitions()
            for band in range(store._ready().num_bands)
        )
    if isinstance(store, SqliteRows):
        return int(store._database.rows("SELECT count(*) FROM key_rows")[0][0])
    if isinstance(store, RunStore):
        return int(store._database.rows("SELECT count(*) FROM bands WHERE space = 'keys'")[0][0])
    raise TypeError(f"{store.url} has no tables")


def check_design(store: Store, url: str) -> None:
    """Fail where a store does not have the design of its name; what is in memory has none.

    Args:
        store: Its name says which design it has.
        url: Where it is; nothing of the check stays there.

    Raises:
        StoreError: The rows in its tables are not those of the design: one for each key in
            Design 1, one for each band and partition in Design 2.
    """
    if "Design" not in store.name:
        return
    cells = _BANDS * _PARTITIONS
    expected = cells * _DOCUMENTS if "Design 1" in store.name else cells
    keys = np.arange(_BANDS * _DOCUMENTS, dtype=np.uint64).reshape(_BANDS, _DOCUMENTS)
    with opened(url, "design") as target:
        target.create(Header("design", _BANDS))
        for partition in range(_PARTITIONS):
            target.put(partition, keys, b"metadata")
        found = key_rows(target)
        read = [part.tolist() for band in range(_BANDS) for _, part in target.band(band)]
    if found != expected or read != [row for row in keys.tolist() for _ in range(_PARTITIONS)]:
        raise StoreError(
            f"{store.name}: {cells * _DOCUMENTS} keys are in {found} rows, not in {expected}",
            "its store lacks the design; mend experiments/row_stores.py",
        )
