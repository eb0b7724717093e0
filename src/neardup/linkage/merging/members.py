"""The records of clusters, read once more into a file of Arrow that is mapped; their order."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as _pc

from neardup.arrays import array_of, is_text, numbers
from neardup.deduplication.reading import Reader
from neardup.errors import ColumnError, InputError
from neardup.io.columns import string_scalar
from neardup.io.formats.json_text import common_schema, conform
from neardup.io.source import Partition
from neardup.linkage.merging.joined_sources import JoinedNames
from neardup.linkage.merging.merge_spec import MergeSpec
from neardup.spec import nearest
from neardup.threads import Pool

pc = cast(Any, _pc)


@dataclass(frozen=True)
class Members:
    """Records of the clusters that have more than one.

    Attributes:
        table: A row for each, with all columns.
        docs: int64[members]: their numbers among all records, ascending.
        schema: Of all records.
        names: Columns of each partition, in their order, with the names that they have there.
        begins: File and start of each partition.
        ends: int64[partitions]: records up to the end of each.
    """

    table: pa.Table
    docs: np.ndarray
    schema: pa.Schema
    names: list[dict[str, str]]
    begins: list[tuple[int, int]]
    ends: np.ndarray


def read_members(
    reader: Reader,
    stored: np.ndarray,
    pool: Pool,
    joined: JoinedNames,
    folder: Path | None = None,
) -> Members:
    """Read all records, and store some of them.

    Args:
        reader: Goes through all inputs.
        stored: bool[records]: which are stored.
        pool: Reads.
        joined: Names of their columns.
        folder: For temporary files; None for that of the system.

    Raises:
        InputError: The inputs have changed since the linkage.
    """
    reader.source.check_unchanged()
    store = Path(tempfile.mkdtemp(prefix="neardup-merge-", dir=folder))
    schemas, names, begins, counts = list[pa.Schema](), list[dict[str, str]](), [], [0]
    files: list[Path] = []

    def read(item: tuple[int, Partition]) -> tuple[Partition, pa.Table]:
        return item[1], item[1].read(None).columns

    for partition, table in pool.ordered(read, reader.partitions()):
        first = counts[-1]
        names.append(joined.of(first, table.column_names))
        table = table.rename_columns([*names[-1].values()])
        rows = np.flatnonzero(stored[first : first + table.num_rows])
        counts.append(first + table.num_rows)
        begins.append((partition.file, partition.start))
        if table.schema not in schemas:
            schemas.append(table.schema)
        if len(rows):
            files.append(store / f"{len(files)}.arrow")
            with pa.ipc.new_file(str(files[-1]), table.schema) as writer:
                writer.write_table(table.take(array_of(rows)))
    if counts[-1] != len(stored):
        raise InputError("the input has changed since it was linked", "run the command again")
    schema = common_schema(schemas)
    tables = [pa.Table.from_batches([], schema)]
    for file in files:
        found = pa.ipc.open_file(pa.memory_map(str(file))).read_all()
        tables.append(conform(found, schema, "the input"))
    ends = np.array(counts[1:], np.int64)
    docs = np.flatnonzero(stored)
    members = Members(pa.concat_tables(tables), docs, schema, names, begins, ends)
    weakref.finalize(members, shutil.rmtree, store, ignore_errors=True)
    return members


def in_order(
    members: Members, clusters: np.ndarray, sources: np.ndarray, spec: MergeSpec, id: str | None
) -> np.ndarray:
    """int64[members]: rows of the members by cluster, and in each the one that stays first.

    Args:
        members: The records.
        clusters: int64[members]: clusters.
        sources: bool[members]: whether each is of the file that is named; False without one.
        spec: How they are ordered.
        id: Column of the ids.
    """
    rule, name = spec.rule
    count = len(members.docs)
    key = np.zeros(count, np.float64)
    if rule in ("most-complete", "file"):
        for column in _columns(members, id):
            key -= filled(column)
    elif rule == "longest":
        for column in _columns(members, id):
            key -= lengths(column)
    elif rule in ("max", "min"):
        value = ranks(column_of(members.table, name))
        key = np.where(value < 0, np.inf, -value if rule == "max" else value)
    return np.lexsort((np.arange(count), key, ~sources, clusters))


def _columns(members: Members, id: str | None) -> Iterator[Any]:
    for name in members.table.column_names:
        if name != id:
            yield members.table.column(name)


def column_of(table: pa.Table, name: str) -> Any:
    """Return a column; ColumnError where there is none."""
    if name not in table.column_names:
        raise missing_column(name, table.column_names)
    return table.column(name)


def missing_column(name: str, there: Sequence[str]) -> ColumnError:
    """Return the error for a column that no input has."""
    return ColumnError(f"no input has the column {name!r}", nearest(name, there))


def filled(column: Any) -> np.ndarray:
    """bool[n]: which values of a column are not missing: not null, no empty text or list."""
    there = column.is_valid()
    if is_text(column.type):
        there = pc.and_kleene(there, pc.not_equal(column, string_scalar("")))
    elif pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        there = pc.and_kleene(there, pc.greater(pc.list_value_length(column), 0))
    there = there.cast(pa.uint8())  # of booleans, pyarrow makes an array with pandas
    return numbers(there.combine_chunks() if isinstance(there, pa.ChunkedArray) else there, bool)


def lengths(column: Any) -> np.ndarray:
    """int64[n]: characters of the values of a column; 0 of a missing one."""
    return numbers(pc.fill_null(pc.utf8_length(texts(column)), 0))


def texts(column: Any) -> Any:
    """Return the values of a column as texts; nested ones as JSON."""
    table = pa.Table.from_arrays([column], ["value"])
    text = conform(table, pa.schema([("value", pa.large_string())]), "the input")
    return text.column(0).combine_chunks()


def ranks(column: Any) -> np.ndarray:
    """float64[n]: values of a column as numbers that are in their order; -1 of missing ones."""
    column = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    there = filled(column)
    values: Any = column
    if is_text(column.type):
        values = pc.if_else(
            pa.chunked_array([array_of(there)]), column, pa.scalar(None, column.type)
        )
        with suppress(pa.ArrowInvalid):
            values = values.cast(pa.float64())
    elif pa.types.is_nested(column.type):
        values = texts(column)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    found = np.full(len(there), -1.0)
    known = values.filter(array_of(there)).to_numpy(zero_copy_only=False)
    found[there] = np.unique(known, return_inverse=True)[1].reshape(-1)
    return found
