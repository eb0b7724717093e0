"""Candidates of a linkage as a file that appears complete."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from neardup.errors import SpecError
from neardup.files.given_path import GivenPath
from neardup.files.private_files import replacing_path
from neardup.io.writers import write_tables
from neardup.linkage.link_steps import Blocked
from neardup.linkage.outputs import link_tables as tables
from neardup.linkage.outputs.link_made import parts_of
from neardup.output.outfile import check_file

_ENDINGS = {".parquet": "parquet", ".csv": "csv"}


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
        sources, rows = len(blocked.records.ids), parts_of(len(blocked.candidates.a))
        parts = (tables.candidate_table(blocked, part) for part in rows)
        if splink:
            parts = (tables.splink_table(part, sources, tables.NAMES) for part in parts)
        self.write_tables(parts)

    def write_tables(self, parts: Iterable[pa.Table]) -> None:
        """Write tables, one after the other."""
        with self.path.in_messages(), replacing_path(self.path.path) as partial:
            write_tables(partial, parts, self.format)
