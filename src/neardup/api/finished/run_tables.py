"""The tables and the clean corpus of a finished run, in Arrow, pandas or Polars."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.errors import InputError, SpecError
from neardup.frame.arguments import expanded
from neardup.io.formats.json_text import joined_tables
from neardup.io.frames import FrameSource
from neardup.io.source import Partition
from neardup.results.dataframes import as_pandas, as_polars
from neardup.results.results import MemoryResults, Results
from neardup.spec import Spec

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    Frame: TypeAlias = pa.Table | pd.DataFrame | pd.Series[Any] | pl.DataFrame | pl.Series

#: A table of a run.
TableName: TypeAlias = Literal["clusters", "duplicates", "edges"]


class RunTables:
    """The tables of a run, and its kept documents.

    Args:
        results: Record and tables.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        source = vars(results).get("source")
        if isinstance(results, MemoryResults):
            source = results.outcome.job.source
        #: No folder has these: the frame that the run was given, and the ends of its partitions.
        self._frame = (source, results.ends) if isinstance(source, FrameSource) else ()
        #: That frame, if it is one of pandas or Polars.
        self._given: Any = source.given if isinstance(source, FrameSource) else None

    def __len__(self) -> int:
        """Number of documents."""
        return self._results.documents

    @property
    def path(self) -> Path | None:
        """The output folder; None for a run that is in memory only."""
        return self._results.folder

    @property
    def spec(self) -> Spec:
        """The settings."""
        return self._results.spec

    @property
    def summary(self) -> dict[str, Any]:
        """Settings, counts, seconds and bytes: the content of ``run.json``."""
        return self._results.record

    @property
    def clusters(self) -> pa.Table:
        """A row for each document.

        Columns: ``doc`` int64, its number; ``doc_id``, its id; ``cluster`` int64, the number of the
        first document of its cluster; ``kept`` bool; ``duplicate_of``, the id of the kept document
        that a removed one is a duplicate of; ``similarity`` float64, exact, of the two.
        """
        return self._results.clusters()

    @property
    def edges(self) -> pa.Table | None:
        """A row for each pair that reaches the threshold; None where pairs were not listed.

        They are listed with ``pairs="all"`` and with every clustering but ``"star"``. Columns:
        ``doc_a`` < ``doc_b`` int64, ``id_a``, ``id_b``, ``similarity`` float64, exact.
        """
        return self._results.edges()

    @property
    def duplicates(self) -> pa.Table:
        """The removed documents: ``doc_id``, ``duplicate_of`` and ``similarity``."""
        table = self._results.clusters(["doc_id", "kept", "duplicate_of", "similarity"])
        removed: Any = pc.invert(table.column("kept"))
        return table.filter(removed).select(["doc_id", "duplicate_of", "similarity"])

    @property
    def kept(self) -> np.ndarray:
        """Ids of the kept documents: int64[kept], or uint64; object[kept] of strings or bytes."""
        return self._ids_where(self._kept)

    @property
    def removed(self) -> np.ndarray:
        """Ids of the removed documents, likewise."""
        return self._ids_where(~self._kept)

    def _ids_where(self, mask: np.ndarray) -> np.ndarray:
        # NumPy's, as `isin` of pandas finds nothing among Arrow's scalars.
        return np.asarray(self._results.ids.filter(array_of(mask)).to_numpy())

    @functools.cached_property
    def _kept(self) -> np.ndarray:
        return self._results.array("kept")

    @property
    def keep_mask(self) -> np.ndarray:
        """bool[documents]: whether each document is kept, in the order of the input."""
        return self._in_input_order(self._kept)

    @property
    def labels(self) -> np.ndarray:
        """int64[documents]: number of the cluster of each document, in the order of the input."""
        return self._in_input_order(self._results.array("cluster"))

    def _in_input_order(self, values: np.ndarray) -> np.ndarray:
        positions = self._results.positions_of
        if positions is None:
            return values
        found = np.empty_like(values)
        found[positions] = values
        return found

    @overload
    def clean(self, kind: None = None) -> Frame: ...
    @overload
    def clean(self, kind: Literal["arrow"]) -> pa.Table: ...
    @overload
    def clean(self, kind: Literal["pandas"]) -> pd.DataFrame: ...
    @overload
    def clean(self, kind: Literal["polars"]) -> pl.DataFrame: ...

    @expanded
    def clean(self, kind: str | None = None) -> Frame:
        """Return the kept documents with all their columns.

        Args:
            kind: ``"arrow"``, ``"pandas"`` or ``"polars"``. By default what went in comes out: a
                frame or series of pandas, with its index and types, or of Polars; else an Arrow
                table, read from the input again.

        Raises:
            DependencyError: pandas or Polars is not installed.
            InputError: The input has changed, or can't be read again.
            SpecError: Another kind.
        """
        if kind not in (None, "arrow", "pandas", "polars"):
            raise SpecError(f"`kind` is {kind!r}; expected arrow, pandas or polars")
        positions, given = np.flatnonzero(self.keep_mask), self._given
        if given is not None and kind in (None, type(given).__module__.partition(".")[0]):
            if len(given) != len(self):
                raise InputError("the frame has another length than in the run", "give a copy")
            frame: Frame = (given.iloc if hasattr(given, "iloc") else given)[positions]
            return frame
        if self._frame:
            self._frame[0].require_all_columns()

        def read(partition: Partition, rows: np.ndarray, count: int) -> pa.Table:
            return partition.table(None if len(rows) == count else rows, count)

        kept = self._results.kept_documents()
        table = joined_tables(list(kept.visit(read)), kept.reader.schema)
        if kind == "pandas":
            return as_pandas(table)
        return table if kind != "polars" else as_polars(table)

    @expanded
    def to_pandas(self, table: TableName = "clusters") -> pd.DataFrame:
        """Return a table as a pandas DataFrame; ids have the type that they have in the run.

        Args:
            table: ``"clusters"``, a row for each document in the order of the input, with the index
                of a frame of pandas; ``"duplicates"`` or ``"edges"``.

        Raises:
            DependencyError: pandas is not installed.
            SpecError: There is no such table, or pairs were not listed.
        """
        found = self._table(table)
        frame = as_pandas(found)
        if table == "clusters":
            integers = [
                "duplicate_of",
                *(["cluster"] if found.column("cluster").null_count else []),
            ]
            frame[integers] = as_pandas(found.select(integers), nullable=True)
        if table == "clusters" and hasattr(self._given, "iloc") and len(self._given) == len(frame):
            frame.index = self._given.index
        return frame

    @expanded
    def to_polars(self, table: TableName = "clusters") -> pl.DataFrame:
        """Return a table as a Polars DataFrame.

        Args:
            table: As for `to_pandas`.

        Raises:
            DependencyError: Polars is not installed.
            SpecError: There is no such table, or pairs were not listed.
        """
        return as_polars(self._table(table))

    def _table(self, name: str) -> pa.Table:
        """Return a table by its name; clusters in the order of the input."""
        if name not in ("clusters", "duplicates", "edges"):
            raise SpecError(f"`table` is {name!r}; expected clusters, duplicates or edges")
        found: pa.Table | None = getattr(self, name)
        if found is None:
            raise SpecError("pairs were not listed: there are no edges", "use pairs='all'")
        positions = self._results.positions_of
        if name == "clusters" and positions is not None:
            found = found.take(np.argsort(positions))
        return found
