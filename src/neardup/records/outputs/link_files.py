"""Results of a linkage as files in a folder that appears complete."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.cluster.edges import batches
from neardup.errors import SpecError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import replacing_path
from neardup.io.writers import write_tables
from neardup.output.outfile import check_file
from neardup.records.link_steps import Blocked, Linked
from neardup.records.outputs import link_tables as tables
from neardup.records.outputs.link_summary import COMMAND
from neardup.result_record import RECORD
from neardup.state.output_folder import write_record
from neardup.threads import Pool

_ENDINGS = {".parquet": "parquet", ".csv": "csv"}
#: Rows of a table that are made together.
_ROWS = 1 << 18
_TABLES = ("pairs.parquet", "candidates.parquet", "clusters.parquet", "records.parquet")
#: Files that are written to an output folder.
WRITES = (*_TABLES, RECORD)


def write_links(linked: Linked, record: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write ``pairs``, ``candidates``, ``clusters`` and ``records`` as Parquet, and the record.

    The records have the values of the fields: the folder can be opened again.

    Returns:
        The record, with the names of the files.

    Raises:
        OutputError: The folder can't be written.
    """
    written = (
        (tables.scored_table(linked, linked.pairs[rows]) for rows in _parts(len(linked.pairs))),
        _candidates(linked),
        [tables.cluster_table(linked)],
        [tables.record_table(linked.blocked)],
    )
    # All columns of a table are compressed in one thread.
    with Pool(2) as pool:
        works = [
            pool.submit(partial(write_tables, folder / name, parts))
            for name, parts in zip(_TABLES, written, strict=True)
        ]
        for work in works:
            work.result()
    return write_record(folder, COMMAND, record)


def _parts(rows: int) -> list[slice]:
    """Return slices of rows that are written together; one at least."""
    return list(batches(rows, _ROWS)) or [slice(0, 0)]


def _candidates(linked: Linked) -> Iterator[pa.Table]:
    """Yield all candidates, some at a time, with the columns by which the folder is opened."""
    found = linked.blocked.candidates
    match = np.zeros(len(found.a), np.bool_)
    match[linked.pairs] = True
    for rows in _parts(len(found.a)):
        table = tables.scored_table(linked, rows)
        more = found.a, found.b, match, found.similarity
        for name, column in zip(tables.STORED, more, strict=True):
            table = table.append_column(name, array_of(column[rows]))
        yield table


@dataclass(frozen=True)
class BlocksFile:
    """A file that pairs or blocks are written to, and that appears by rename."""

    path: GivenPath
    format: str

    @classmethod
    def of(
        cls, path: str | os.PathLike[str], sources: Iterable[object], overwrite: bool
    ) -> BlocksFile:
        """Take a path, before any work.

        Raises:
            OutputError: It can't or must not be written.
            SpecError: Its ending names no format.
        """
        given = GivenPath.of(path)
        format = _ENDINGS.get(given.path.suffix.lower())
        if format is None:
            what = f"no pairs can be written as {given.path.name!r}"
            raise SpecError(what, "known are .parquet and .csv")
        files = [source for source in sources if isinstance(source, str | os.PathLike)]
        return cls(check_file(given, files, overwrite), format)

    def write(self, blocked: Blocked, splink: bool = False) -> None:
        """Write candidates; ``splink``: as Splink takes them."""
        sources, rows = len(blocked.records.ids), _parts(len(blocked.candidates.a))
        parts = (tables.candidate_table(blocked, part) for part in rows)
        if splink:
            parts = (tables.splink_table(part, sources, tables.NAMES) for part in parts)
        self.write_tables(parts)

    def write_tables(self, parts: Iterable[pa.Table]) -> None:
        """Write tables, one after the other."""
        with self.path.in_messages(), replacing_path(self.path.path) as partial:
            write_tables(partial, parts, self.format)
