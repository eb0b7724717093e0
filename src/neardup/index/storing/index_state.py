"""State of an index: its numbers, and sums over its tables, by which a lost row is noticed.

A damaged page of SQLite may hide rows, and nothing is wrong with those that are left. So the state
has a sum over the checksums of the rows of each table that is read completely.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

_SUMS = struct.Struct("<7Q")
_MASK = 2**64 - 1


class Sums(NamedTuple):
    """For each table the sum, modulo 2^64, over the checksums of its rows.

    Attributes:
        documents: Of numbers and ids, see `bodies.identity_of`.
        log: Of keys that are in no segment.
        segments: Of segments.
        duplicates: Of ids that were answered as duplicates.
        copy_log: Of keys of copied passages that are in no segment.
        copy_segments: Of segments of these.
        batches: Of records that came together.
    """

    documents: int = 0
    log: int = 0
    segments: int = 0
    duplicates: int = 0
    copy_log: int = 0
    copy_segments: int = 0
    batches: int = 0

    def plus(self, table: str, more: int) -> Sums:
        """Return them with a sum added to that of a table; a negative one is taken away."""
        return self._replace(**{table: summed(getattr(self, table), more)})


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
        duplicates: How many ids are noted as duplicates.
        removed: Documents that were removed, and still have keys.
        ids: ``"int"`` or ``"str"``: type of the ids; empty before there is any.
        writer: Who wrote last.
        sums: Of the tables.
    """

    generation: int = 0
    manifest: int = 0
    next: int = 0
    segment: int = 0
    greatest: int = -1
    documents: int = 0
    duplicates: int = 0
    removed: int = 0
    ids: str = ""
    writer: str = ""
    sums: Sums = Sums()

    def row(self) -> tuple[Any, ...]:
        """Return the row of the table that has it: numbers, texts, sums, and a checksum."""
        values = (*self[:-1], _SUMS.pack(*self.sums))
        return (*values, row_sum(*values))

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> State | None:
        """Return the state of a row; None where it is damaged."""
        *values, checksum = row
        if row_sum(*values) != checksum:
            return None
        return cls._make([*values[:-1], Sums(*_SUMS.unpack(values[-1]))])


COLUMNS = (*State._fields, "checksum")


def row_sum(*values: object) -> int:
    """Return the CRC-32 of the values of a row."""
    return zlib.crc32(repr(values).encode(errors="replace"))


def greatest_of(ids: Iterable[int | str], greatest: int) -> int:
    """Return the greatest integer of some ids and another one."""
    return max((id_ for id_ in ids if isinstance(id_, int) and id_ > greatest), default=greatest)


def summed(total: int, more: int) -> int:
    """Return a sum to which another one was added, or with a negative number taken away."""
    return total + more & _MASK
