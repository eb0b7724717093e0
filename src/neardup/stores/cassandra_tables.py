"""Tables in Cassandra, how keys are spread over their partitions, and all that is asked of them.

Names of tables stand in angle brackets; `named` puts the keyspace before them.
"""

from __future__ import annotations

import re

__all__ = [
    "ADD_FACTS", "ADD_KEYS", "ADD_NOTE", "ADD_RUN", "BATCH", "DROP_ENTRIES", "DROP_FACTS",
    "DROP_KEYS", "DROP_NOTES", "DROP_RUN", "ENTER", "ENTRIES", "FACTS", "FACTS_SLICE", "FIND_RUN",
    "KEYSPACES", "LAYOUT", "NAMES", "NOTES", "PART_OF_SCAN", "REACH", "REACHES", "SCAN", "SLICE",
    "SPAN", "TABLES", "UNDO", "creation", "named", "stretch", "stretches",
]  # fmt: skip

LAYOUT = 1
SLICE = 1 << 17  # documents: 1 MiB of keys, far below half a commit log segment (16 MiB)
FACTS_SLICE = 1 << 20  # bytes of facts in one row
# A partition holds one band of at most 8 parts, 8 slices of each: 64 MiB, or in Design 1, where a
# stretch is one slice, a million rows.
SPAN = 8
_STRETCH = {1: 1, 2: 8}
BATCH = 64  # rows of Design 1: some 4 KB, below what servers warn of

# Every table but the first is keyed by a number that a run is given when it is made: rows of one
# that was dropped, or half dropped, are never taken for those of the next with its name.
_TABLES = {
    "runs": "run text PRIMARY KEY, matrix uuid, layout int, design int, header text, crc bigint",
    "notes": "matrix uuid, name text, value text, PRIMARY KEY (matrix, name)",
    "entries": "matrix uuid, part bigint, whole boolean, documents bigint, facts_bytes bigint,"
    " checksum bigint, sums blob, reach bigint, PRIMARY KEY (matrix, part)",
    "facts": "matrix uuid, part bigint, slice int, data blob, PRIMARY KEY ((matrix, part), slice)",
    "keys": "matrix uuid, band int, span bigint, stretch int, part bigint, slice int, data blob,"
    " PRIMARY KEY ((matrix, band, span, stretch), part, slice)",
    "cells": "matrix uuid, band int, span bigint, stretch int, part bigint, document bigint,"
    " key bigint, PRIMARY KEY ((matrix, band, span, stretch), part, document)",
}
_PREFIX = "neardup_"
NAMES = [_PREFIX + name for name in _TABLES]

KEYSPACES = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?"
TABLES = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?"

FIND_RUN = "SELECT matrix, layout, design, header, crc FROM <runs> WHERE run = ?"
ADD_RUN = (
    "INSERT INTO <runs> (run, matrix, layout, design, header, crc)"
    " VALUES (?, ?, ?, ?, ?, ?) IF NOT EXISTS"
)
DROP_RUN = "DELETE FROM <runs> WHERE run = ? IF EXISTS"

ADD_NOTE = "INSERT INTO <notes> (matrix, name, value) VALUES (?, ?, ?)"
NOTES = "SELECT name, value FROM <notes> WHERE matrix = ?"
DROP_NOTES = "DELETE FROM <notes> WHERE matrix = ?"

REACH = "SELECT reach FROM <entries> WHERE matrix = ? AND part = ?"
REACHES = "SELECT part, sums, reach FROM <entries> WHERE matrix = ?"
ENTER = (
    "UPDATE <entries> SET whole = ?, documents = ?, facts_bytes = ?, checksum = ?, sums = ?,"
    " reach = ? WHERE matrix = ? AND part = ?"
)
ENTRIES = (
    "SELECT part, whole, documents, facts_bytes, checksum, sums FROM <entries> WHERE matrix = ?"
)
UNDO = "UPDATE <entries> SET whole = false WHERE matrix = ? AND part = ?"
DROP_ENTRIES = "DELETE FROM <entries> WHERE matrix = ?"

ADD_FACTS = "INSERT INTO <facts> (matrix, part, slice, data) VALUES (?, ?, ?, ?)"
FACTS = "SELECT data FROM <facts> WHERE matrix = ? AND part = ? AND slice < ?"
DROP_FACTS = "DELETE FROM <facts> WHERE matrix = ? AND part = ?"

# By design.
_PARTITION = " WHERE matrix = ? AND band = ? AND span = ? AND stretch = ?"
ADD_KEYS = {
    1: "INSERT INTO <cells> (matrix, band, span, stretch, part, document, key)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)",
    2: "INSERT INTO <keys> (matrix, band, span, stretch, part, slice, data)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)",
}
SCAN = {
    1: "SELECT part, document, key FROM <cells>" + _PARTITION,
    2: "SELECT part, slice, data FROM <keys>" + _PARTITION,
}
PART_OF_SCAN = {design: text + " AND part = ?" for design, text in SCAN.items()}
DROP_KEYS = {1: "DELETE FROM <cells>" + _PARTITION, 2: "DELETE FROM <keys>" + _PARTITION}


def creation() -> list[str]:
    """Return what makes the keyspace and, in it, the tables."""
    replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    made = []
    for name, columns in _TABLES.items():
        # Hashes don't shrink.
        options = " WITH compression = {'enabled': false}" if name == "keys" else ""
        made.append(f"CREATE TABLE IF NOT EXISTS <{name}> ({columns}){options}")
    return [f"CREATE KEYSPACE IF NOT EXISTS <> WITH replication = {replication}", *made]


def named(text: str, keyspace: str) -> str:
    """Return a statement with the names of its tables, or of the keyspace for ``<>``."""
    text = text.replace("<>", f'"{keyspace}"')
    return re.sub(r"<(\w+)>", rf'"{keyspace}".{_PREFIX}\1', text)


def stretch(number: int, design: int) -> int:
    """In which partition of a band and span a slice of a part lies."""
    return number // _STRETCH[design]


def stretches(documents: int, design: int) -> int:
    """How many partitions a band of a part lies in."""
    return -(-documents // (SLICE * _STRETCH[design]))
