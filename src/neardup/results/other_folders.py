"""Folders of commands whose tables are those of a run, or nearly so."""

import functools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.engines.reading import Reader
from neardup.errors import InputError
from neardup.frame.how_read import HowRead
from neardup.output.clean import CLEAN
from neardup.output.publishing import remote_names
from neardup.results.folder_results import FolderResults
from neardup.results.results import Selection


class AgainstFolder(FolderResults):
    """Of a batch that was compared with an old corpus, whose documents it does not have."""

    commands = ("dedup --against",)

    @property
    def positions_of(self) -> np.ndarray | None:
        return None  # the tables have the order of the input, whatever decides which are kept

    def give(self, source: object) -> None:
        raise InputError(
            f"{self.name}: a batch that was compared with an old corpus has no digest of its texts",
            "open it without `source`",
        )


class MatchesFolder(FolderResults):
    """Of a training corpus that was searched for test items; its table is ``matches``."""

    commands = ("decontaminate",)
    settings = ()

    @property
    def positions_of(self) -> np.ndarray | None:
        return None


class SparkParts(FolderResults):
    """Tables that Apache Spark has written."""

    def _read(self, name: str) -> pa.Table:
        """Return a table that Spark has written in parts, or as one file."""
        parts = [f"{name}.parquet"]
        if parts[0] not in self.record["files"]:
            parts = [f"{name}/{part}" for part in self._below(name) if part.startswith("part-")]
        tables = []
        for part in parts:
            with self._reading(part) as file:
                tables.append(pq.read_table(file))
        if not tables:
            raise InputError(f"{self.name}/{name} has no files", self.again)
        return pa.concat_tables(tables)

    def _below(self, name: str) -> list[str]:
        if self.folder is None:
            return sorted(remote_names(f"{self.name}/{name}"))
        return sorted(path.name for path in (self.folder / name).glob("part-*"))

    @property
    def _about(self) -> NoReturn:
        raise InputError(
            f"{self.name}: its input was read by Apache Spark, and is not read here",
            "leave the texts out, or run neardup on one machine",
        )


class SparkFolder(SparkParts):
    """Of a job on Apache Spark: its tables, in the order of the ids, which are its documents'."""

    commands = ("spark",)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        found = self._edges if name == "edges" else self._clusters
        return found if columns is None else found.select(list(columns))

    def edge_batches(self, columns: Sequence[str]) -> Any:
        if self.spec.enumerates:
            yield from self._edges.select(list(columns)).to_batches()

    @functools.cached_property
    def _clusters(self) -> pa.Table:
        found = self._read("clusters").sort_by("id")
        ids, names = found.column("id"), ["kept", "duplicate_of", "similarity"]
        columns: dict[str, Any] = {
            "doc": pa.array(np.arange(len(ids))),
            "doc_id": ids,
            "cluster": _rows(found.column("cluster"), ids),
        }
        return pa.table(columns | {name: found.column(name) for name in names})

    @functools.cached_property
    def _edges(self) -> pa.Table:
        found, ids = self._read("edges"), self.ids
        a, b = (_rows(found.column(name), ids) for name in ("id_a", "id_b"))
        return found.append_column("doc_a", a).append_column("doc_b", b)

    def kept_documents(self) -> Selection:
        """Return the clean corpus, in the order of its files."""
        clean = next(name for name in self.record["files"] if name.partition(".")[0] == CLEAN)
        reader = Reader(HowRead.of(self.record["frame"]).open(self.location / clean))
        ends = np.cumsum(
            [len(part[1].read(()).text) for part in reader.partitions()], dtype=np.int64
        )
        return Selection(reader, ends, np.arange(ends.max(initial=0)))


def _rows(values: Any, ids: Any) -> "pa.ChunkedArray[Any]":
    """Return the rows of ids, int64."""
    found: Any = pc.index_in(values, value_set=ids)
    rows: pa.ChunkedArray[Any] = found.cast(pa.int64())
    return rows
