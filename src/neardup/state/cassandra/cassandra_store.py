"""Band keys in Apache Cassandra: many writers, many machines."""

import uuid
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from neardup.state.band_store import BandStore, Entry
from neardup.state.cassandra import cql
from neardup.state.cassandra.driver import Contact
from neardup.state.cassandra.session import Session
from neardup.tuning import TUNING

METADATA = -1  # is stored as the number of the band
_KEY_BYTES = 8


class _Partition(NamedTuple):
    """An entry, and "<u4"[num_bands + 1]: the CRC-32 of each band's keys, and of the metadata."""

    entry: Entry
    sums: np.ndarray


class CassandraStore(BandStore):
    """Stores runs in a keyspace, which is made if it is missing: SimpleStrategy, one replica.

    The entry of a partition is marked as incomplete before its keys are written, and as complete
    afterwards. Several processes may put different partitions of one run at once. Clocks of
    machines that put the same partition one after the other must not differ by more than the time
    between. A server may be restarted meanwhile: requests are sent again while patience lasts, as
    many seconds as are given, or the environment says, see `neardup.state.cassandra.driver`.

    Nothing is imported or opened before `create` or `open`, which raise DependencyError where
    cassandra-driver is not installed.
    """

    durable = True
    concurrent_writers = True

    def __init__(self, url: str, run: str = "neardup", patience: float | None = None) -> None:
        contact = Contact.parse(url, patience)
        super().__init__(contact.url)
        self.run = run
        self._keyspace = contact.keyspace
        self._session = Session(contact)
        self._matrix: uuid.UUID | None = None
        self._known: dict[int, _Partition] = {}

    def _open(self) -> None:
        self._session.open()

    def _close(self) -> None:
        self._session.close()

    # Header and notes.

    def _is_there(self) -> bool:
        """Return whether the tables exist; asked of the server, as others may make them."""
        names = {row[0] for row in self._session.ask(cql.TABLES, [self._keyspace])}
        return names.issuperset(cql.NAMES)

    def _find(self) -> tuple[uuid.UUID, str] | None:
        rows = self._session.ask(cql.FIND_RUN, [self.run], serial=True) if self._is_there() else []
        return rows[0] if rows and None not in rows[0] else None

    def _read_header(self) -> str | None:
        found = self._find()
        if found is None:
            return None
        self._matrix, header = found
        return header

    def _write_header(self, text: str) -> bool:
        if not self._is_there():
            keyspace, *tables = cql.creation()
            if not self._session.ask(cql.KEYSPACES, [self._keyspace]):
                self._session.change(keyspace)
            for table in tables:
                self._session.change(table)
        matrix = uuid.uuid4()
        self._session.ask(cql.ADD_RUN, [self.run, matrix, text])
        self._known = {}
        # Read back: a row that was sent again after a lost answer is there already.
        return self._read_header() is not None and self._matrix == matrix

    def _write_note(self, name: str, text: str) -> None:
        self._session.ask(cql.ADD_NOTE, [self._matrix, name, text])

    def _read_notes(self) -> dict[str, str]:
        return dict(self._session.ask(cql.NOTES, [self._matrix]))

    # Partitions.

    def _put(self, partition: int, keys: np.ndarray, metadata: bytes) -> None:
        keys = np.ascontiguousarray(keys, dtype="<u8")
        sums = np.array([*map(zlib.crc32, keys), zlib.crc32(metadata)], dtype="<u4")
        row = [keys.shape[1], len(metadata), sums.tobytes(), self._matrix, partition]
        self._session.ask(cql.ENTER, [False, *row])
        self._session.write(self._insertions(partition, keys, metadata))
        self._session.ask(cql.ENTER, [True, *row])
        self._known[partition] = _Partition(Entry(keys.shape[1], len(metadata)), sums)

    def _insertions(self, partition: int, keys: np.ndarray, metadata: bytes) -> Iterator[Any]:
        for band, data in enumerate(chain([metadata], map(np.ndarray.tobytes, keys)), METADATA):
            size = self._slice_bytes(band)
            for number, low in enumerate(range(0, len(data), size)):
                row = [self._matrix, band, partition, number, data[low : low + size]]
                yield self._session.statement(cql.ADD_BLOB, row)

    def _slice_bytes(self, band: int) -> int:
        """Return how many bytes of a band, or of the metadata, one row has at most."""
        return TUNING.cassandra_row

    def _partitions(self) -> dict[int, Entry]:
        bands = self._ready().num_bands
        known = {}
        for number, complete, documents, size, sums in self._session.ask(
            cql.ENTRIES, [self._matrix]
        ):
            if not complete:
                continue
            if None in (documents, size, sums) or len(sums) != 4 * (bands + 1):
                raise self._error(f"the entry of partition {number} is damaged")
            sums = np.frombuffer(sums, dtype="<u4")
            known[number] = _Partition(Entry(documents, size), sums)
        self._known = known
        return {number: partition.entry for number, partition in known.items()}

    def _metadata(self, partition: int) -> bytes | None:
        if partition not in self._known and partition not in self._partitions():
            return None
        return next(self._read(METADATA, [partition]))[1]

    def _band(self, band: int, entries: dict[int, Entry]) -> Iterator[tuple[int, np.ndarray]]:
        for partition, data in self._read(band, list(entries)):
            yield partition, np.frombuffer(data, dtype="<u8")

    def _read(self, band: int, partitions: list[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of a band, or the metadata, by partition."""
        known, size = self._known, self._slice_bytes(band)

        def ask(partition: int) -> Any:
            documents, metadata = known[partition].entry
            length = metadata if band == METADATA else _KEY_BYTES * documents
            values = [self._matrix, band, partition, -(-length // size)]
            return self._session.statement(cql.BLOB, values, min(length, size) + 1)

        answers = self._session.answers(map(ask, partitions))
        for partition, answer in zip(partitions, answers, strict=True):
            data = b"".join(row[0] for row in answer)
            if zlib.crc32(data) != known[partition].sums[band]:
                what = "metadata of" if band == METADATA else f"keys of band {band},"
                raise self._error(f"{what} partition {partition} are missing or damaged")
            yield partition, data

    # All partitions.

    def _drop(self) -> None:
        found = self._find()
        if found is None:
            return
        matrix = found[0]
        entries = self._session.ask(cql.ENTRIES, [matrix])
        # No partition is complete any more: an interrupted removal can be resumed.
        self._session.write(self._session.statement(cql.UNDO, [matrix, e[0]]) for e in entries)
        self._session.write(
            self._session.statement(cql.DROP_BLOB, [matrix, band, number])
            for number, *_, sums in entries
            for band in range(METADATA, len(sums or b"") // 4 - 1)
        )
        self._session.ask(cql.DROP_NOTES, [matrix])
        self._session.ask(cql.DROP_ENTRIES, [matrix])
        self._session.ask(cql.DROP_RUN, [self.run])
        self._matrix = None
        self._known = {}
