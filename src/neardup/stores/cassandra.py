"""Bands in Apache Cassandra: many writers, many machines."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.errors import SpecError, StoreError
from neardup.stores import cassandra_tables as cql
from neardup.stores.base import BandStore, PartEntry, check_row, checksum
from neardup.stores.cassandra_place import parse
from neardup.stores.cassandra_place import patience as wanted_patience
from neardup.stores.cassandra_session import Session

__all__ = ["CassandraStore"]

_PAGE_BYTES = 4 << 20
_PAGE_ROWS = 10_000
_AGAIN = "start again"


@dataclass(frozen=True, slots=True)
class _Row:
    entry: PartEntry
    sums: bytes  # "<u4"[num_bands], the CRC-32 of each band's keys


class CassandraStore(BandStore):
    """Holds runs in a keyspace, which is made if it is missing: SimpleStrategy, one replica.

    Keys are cut into slices of at most 1 MiB, and lie in partitions of at most 64 MiB (Design 1: a
    million rows), by band and by eight successive parts, so a band is read by a few scans. The
    entry of a part says first that it is being written and last that it is whole. Several processes
    may put different parts of one run at once. Clocks of machines that put the same part one after
    the other must not differ by more than the time between.

    Requests that fail for what may pass (no host, a timeout) are sent again, with growing pauses,
    until ``patience`` is used up: a server may be started again meanwhile.

    Settings of the environment, none of which shows in messages: ``NEARDUP_CASSANDRA_USER`` and
    ``_PASSWORD`` (they go before those of the URL), ``_CA``, ``_CERT``, ``_KEY`` (files; the first,
    or ``_TLS=1``, turns TLS on) and ``_KEY_PASSWORD`` (``_CHECK_HOSTNAME=0`` takes certificates of
    other hosts), ``_CONSISTENCY`` (``ONE``, ``LOCAL_ONE``, ``QUORUM``, ``LOCAL_QUORUM``, ``ALL``),
    ``_DATACENTER`` and ``_PATIENCE`` (seconds).

    Args:
        url: ``cassandra://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]/KEYSPACE``.
        design: 2 for a row per band, part and slice with its keys as one blob, 1 for a row per
            cell, which is slower by far and there for comparison.
        run: Tells runs apart that share a keyspace.
        patience: Seconds; None takes what the environment says, or 60.

    Raises:
        SpecError: Another URL, design or setting.
        DependencyError: cassandra-driver is not installed, or has nothing to run its events.
    """

    def __init__(
        self, url: str, design: int = 2, run: str = "neardup", patience: float | None = None
    ) -> None:
        if design not in cql.SCAN:
            raise SpecError(f"design is {design}, expected 1 or 2")
        place = parse(url)
        super().__init__(place.url, design)
        self.run = run
        self._keyspace = place.keyspace
        self._session = Session(place, wanted_patience() if patience is None else patience)
        self._matrix: uuid.UUID | None = None
        self._rows: dict[int, _Row] = {}

    def _open(self) -> None:
        self._session.open()

    def _close(self) -> None:
        self._session.close()

    # Header and notes.

    def _is_there(self) -> bool:
        """Whether the tables are; asked of the server, as others may make them."""
        names = {row[0] for row in self._session.ask(cql.TABLES, [self._keyspace])}
        return names.issuperset(cql.NAMES)

    def _find(self) -> tuple[Any, ...] | None:
        """Return matrix, layout, design and header of the run."""
        if not self._is_there():
            return None
        rows = self._session.ask(cql.FIND_RUN, [self.run], serial=True)
        if not rows or rows[0][0] is None:
            return None
        *found, header, crc = rows[0]
        if header is None or crc != checksum(header.encode()):
            raise StoreError(f"{self.url}: the header of run {self.run!r} is damaged", _AGAIN)
        return (*found, header)

    def _read_header(self) -> str | None:
        run = self._find()
        if run is None:
            return None
        matrix, layout, design, header = run
        if layout != cql.LAYOUT:
            raise StoreError(
                f"{self.url}: run {self.run!r} has layout {layout}, expected {cql.LAYOUT}",
                "go on with the neardup that made it, or start again",
            )
        if design != self.design:
            raise StoreError(
                f"{self.url}: run {self.run!r} has design {design}, expected {self.design}",
                "start again, or give the same design as before",
            )
        self._matrix = matrix
        return str(header)

    def _write_header(self, text: str) -> bool:
        if not self._is_there():
            keyspace, *tables = cql.creation()
            if not self._session.ask(cql.KEYSPACES, [self._keyspace]):
                self._session.change(keyspace)
            for table in tables:
                self._session.change(table)
        matrix = uuid.uuid4()
        values = [self.run, matrix, cql.LAYOUT, self.design, text, checksum(text.encode())]
        self._session.ask(cql.ADD_RUN, values)
        # Read back: what was sent again after a lost answer finds that it was there already.
        run = self._find()
        if run is None or run[0] != matrix:
            return False
        self._matrix = matrix
        self._rows = {}
        return True

    def _write_note(self, name: str, text: str) -> None:
        self._session.ask(cql.ADD_NOTE, [self._matrix, name, text])

    def _read_notes(self) -> dict[str, str]:
        return dict(self._session.ask(cql.NOTES, [self._matrix]))

    # Parts.

    def _put(self, part: int, keys: np.ndarray, facts: bytes, entry: PartEntry) -> None:
        keys = np.ascontiguousarray(keys, dtype="<u8")
        sums = np.array([checksum(row) for row in keys], dtype="<u4").tobytes()
        before = self._session.ask(cql.REACH, [self._matrix, part])
        # How many documents it ever had: what `drop` must look for.
        reach = max([entry.documents, *(row[0] or 0 for row in before)])
        row = [entry.documents, entry.facts_bytes, entry.checksum, sums, reach, self._matrix, part]
        self._session.ask(cql.ENTER, [False, *row])
        self._session.write(self._rows_of(part, keys, facts))
        self._session.ask(cql.ENTER, [True, *row])
        self._rows[part] = _Row(entry, sums)

    def _rows_of(self, part: int, keys: np.ndarray, facts: bytes) -> Iterator[Any]:
        """Yield the statements that write a part, but for its entry."""
        view, size = memoryview(facts), cql.FACTS_SLICE
        for number, start in enumerate(range(0, len(view), size)):
            data = bytes(view[start : start + size])
            yield self._session.statement(cql.ADD_FACTS, [self._matrix, part, number, data])
        for band, row in enumerate(keys):
            for number, start in enumerate(range(0, len(row), cql.SLICE)):
                piece = row[start : start + cql.SLICE]
                stretch = cql.stretch(number, self.design)
                place = [self._matrix, band, part // cql.SPAN, stretch, part]
                if self.design == 2:
                    yield self._session.statement(
                        cql.ADD_KEYS[2], [*place, number, piece.tobytes()]
                    )
                else:
                    yield from self._batches(place, start, piece)

    def _batches(self, place: list[Any], start: int, keys: np.ndarray) -> Iterator[Any]:
        cells = keys.view("<i8").tolist()
        for first in range(0, len(cells), cql.BATCH):
            some = enumerate(cells[first : first + cql.BATCH], start + first)
            yield self._session.batch(
                self._session.statement(cql.ADD_KEYS[1], [*place, document, key])
                for document, key in some
            )

    def _parts(self) -> dict[int, PartEntry]:
        rows = self._session.ask(cql.ENTRIES, [self._matrix])
        self._rows = {row[0]: self._checked(row) for row in rows if row[1]}
        return {part: row.entry for part, row in self._rows.items()}

    def _entry(self, part: int) -> PartEntry | None:
        row = self._rows.get(part)
        return row.entry if row is not None else super()._entry(part)

    def _checked(self, row: Any) -> _Row:
        part, _, documents, facts_bytes, expected, sums = row
        bands = self._header.num_bands if self._header is not None else 0
        if None in (documents, facts_bytes, expected, sums) or len(sums) != 4 * bands:
            raise StoreError(f"{self.url}: the entry of part {part} is damaged", _AGAIN)
        return _Row(PartEntry(documents, facts_bytes, expected), sums)

    def _facts(self, part: int) -> bytes:
        row = self._rows.get(part)
        if row is None:
            raise StoreError(f"{self.url}: part {part} is missing", _AGAIN)
        size = cql.FACTS_SLICE
        values = [self._matrix, part, -(-row.entry.facts_bytes // size)]
        statement = self._session.statement(cql.FACTS, values, _PAGE_BYTES // size)
        return b"".join(data for rows in self._session.pages(statement) for (data,) in rows)

    # Bands.

    def _band(self, band: int, parts: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        known = self._rows
        spans: dict[int, list[int]] = {}
        for part in parts:
            spans.setdefault(part // cql.SPAN, []).append(part)
        longest = max((known[part].entry.documents for part in parts), default=0)
        size = 8 * min(max(longest, 1), cql.SLICE)
        page_rows = max(1, _PAGE_BYTES // size) if self.design == 2 else _PAGE_ROWS
        span, scan = -1, None
        for following in [*spans, None]:
            # The scan of the next span is under way while this one is read.
            ahead = None if following is None else self._scan(band, following, 0, page_rows)
            if scan is not None:
                yield from self._span(band, spans[span], known, scan, page_rows)
            span, scan = following or 0, ahead

    def _scan(
        self, band: int, span: int, stretch: int, page_rows: int, part: int | None = None
    ) -> Iterator[list[Any]]:
        """Begin to read a partition, or one part's share of it."""
        values: list[Any] = [self._matrix, band, span, stretch]
        if part is None:
            statement = self._session.statement(cql.SCAN[self.design], values, page_rows)
        else:
            text = cql.PART_OF_SCAN[self.design]
            statement = self._session.statement(text, [*values, part], page_rows)
        return self._session.pages(statement)

    def _span(
        self,
        band: int,
        parts: list[int],
        known: dict[int, _Row],
        scan: Iterator[list[Any]],
        page_rows: int,
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the parts of one span: a scan of its first stretch, and of others where need be."""
        found = self._grouped(scan, known)
        at, pieces = next(found, (-1, []))
        for part in parts:
            while at != -1 and at < part:
                at, pieces = next(found, (-1, []))
            data = pieces if at == part else []
            for stretch in range(1, cql.stretches(known[part].entry.documents, self.design)):
                more = self._scan(band, part // cql.SPAN, stretch, page_rows, part)
                for _, others in self._grouped(more, known):
                    data = data + others
            expected = int.from_bytes(known[part].sums[4 * band : 4 * band + 4], "little")
            yield part, check_row(self.url, band, part, b"".join(data), expected)

    def _grouped(
        self, scan: Iterator[list[Any]], known: dict[int, _Row]
    ) -> Iterator[tuple[int, list[bytes]]]:
        """Yield (part, keys in order) of the rows of a scan, but what an earlier part left over."""
        current, pieces = -1, list[bytes]()
        for page in scan:
            for part, group in self._of_parts(page, known):
                if part != current:
                    if current != -1:
                        yield current, pieces
                    current, pieces = part, []
                pieces += group
        if current != -1:
            yield current, pieces

    def _of_parts(
        self, page: list[Any], known: dict[int, _Row]
    ) -> Iterator[tuple[int, list[bytes]]]:
        if self.design == 2:
            for part, number, data in page:
                if part in known and number * cql.SLICE < known[part].entry.documents:
                    yield part, [data]
            return
        if page:
            columns = np.array(page, dtype=np.int64)
            starts = np.flatnonzero(np.diff(columns[:, 0], prepend=-1))
            for block in np.split(columns, starts[1:]):
                part = int(block[0, 0])
                if part in known:
                    block = block[block[:, 1] < known[part].entry.documents]
                    yield part, [block[:, 2].astype("<i8").tobytes()]

    # The whole.

    def _size(self) -> int:
        bands = self._header.num_bands if self._header is not None else 0
        entries = self._parts().values()
        return sum(8 * bands * entry.documents + entry.facts_bytes for entry in entries)

    def _drop(self) -> None:
        if not self._is_there():
            return
        found = self._session.ask(cql.FIND_RUN, [self.run], serial=True)
        if not found:
            return
        matrix, _, design, *_ = found[0]
        rows = self._session.ask(cql.REACHES, [matrix])
        # No part is whole any more: what is left when this is interrupted can be gone on with.
        self._session.write(self._session.statement(cql.UNDO, [matrix, row[0]]) for row in rows)
        self._session.write(self._removals(matrix, design, rows))
        self._session.ask(cql.DROP_NOTES, [matrix])
        self._session.ask(cql.DROP_ENTRIES, [matrix])
        self._session.ask(cql.DROP_RUN, [self.run])
        self._matrix = None
        self._rows = {}

    def _removals(self, matrix: uuid.UUID, design: int, rows: list[Any]) -> Iterator[Any]:
        """Deletions of whole partitions, which a server does without reading them."""
        partitions = set()
        for part, sums, reach in rows:
            yield self._session.statement(cql.DROP_FACTS, [matrix, part])
            for band in range(len(sums or b"") // 4):
                for stretch in range(cql.stretches(reach or 0, design)):
                    partitions.add((band, part // cql.SPAN, stretch))
        for place in sorted(partitions):
            yield self._session.statement(cql.DROP_KEYS[design], [matrix, *place])
