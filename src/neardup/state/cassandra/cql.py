"""Tables in Cassandra, and all statements about them.

Names of tables stand in angle brackets; `named` puts the keyspace before them.
"""

import re

# Every table but the first is keyed by a number that a run is given when it is made: rows of one
# that was dropped, or half dropped, are never taken for those of the next with its name. Keys of
# one band and partition are together: a read or a removal of them takes as long, however many
# others there are.
_TABLES = {
    "runs": "run text PRIMARY KEY, matrix uuid, header text",
    "notes": "matrix uuid, name text, value text, PRIMARY KEY (matrix, name)",
    "entries": "matrix uuid, number bigint, complete boolean, documents bigint, size bigint,"
    " sums blob, PRIMARY KEY (matrix, number)",
    "blobs": "matrix uuid, band int, number bigint, slice int, data blob,"
    " PRIMARY KEY ((matrix, band, number), slice)",
}
_PREFIX = "neardup3_"  # tables of other columns get another number
NAMES = [_PREFIX + name for name in _TABLES]

KEYSPACES = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?"
TABLES = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?"

FIND_RUN = "SELECT matrix, header FROM <runs> WHERE run = ?"
ADD_RUN = "INSERT INTO <runs> (run, matrix, header) VALUES (?, ?, ?) IF NOT EXISTS"
DROP_RUN = "DELETE FROM <runs> WHERE run = ? IF EXISTS"

ADD_NOTE = "INSERT INTO <notes> (matrix, name, value) VALUES (?, ?, ?)"
NOTES = "SELECT name, value FROM <notes> WHERE matrix = ?"
DROP_NOTES = "DELETE FROM <notes> WHERE matrix = ?"

ENTER = (
    "UPDATE <entries> SET complete = ?, documents = ?, size = ?, sums = ?"
    " WHERE matrix = ? AND number = ?"
)
ENTRIES = "SELECT number, complete, documents, size, sums FROM <entries> WHERE matrix = ?"
UNDO = "UPDATE <entries> SET complete = false WHERE matrix = ? AND number = ?"
DROP_ENTRIES = "DELETE FROM <entries> WHERE matrix = ?"

ADD_BLOB = "INSERT INTO <blobs> (matrix, band, number, slice, data) VALUES (?, ?, ?, ?, ?)"
BLOB = "SELECT data FROM <blobs> WHERE matrix = ? AND band = ? AND number = ? AND slice < ?"
DROP_BLOB = "DELETE FROM <blobs> WHERE matrix = ? AND band = ? AND number = ?"


def creation() -> list[str]:
    """Return the statements that make the keyspace and, in it, the tables."""
    replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    made = [f"CREATE KEYSPACE IF NOT EXISTS <> WITH replication = {replication}"]
    for name, columns in _TABLES.items():
        # Hashes don't shrink.
        options = " WITH compression = {'enabled': false}" if name == "blobs" else ""
        made.append(f"CREATE TABLE IF NOT EXISTS <{name}> ({columns}){options}")
    return made


def named(text: str, keyspace: str) -> str:
    """Return a statement with the names of its tables, or of the keyspace for ``<>``."""
    text = text.replace("<>", f'"{keyspace}"')
    return re.sub(r"<(\w+)>", rf'"{keyspace}".{_PREFIX}\1', text)
