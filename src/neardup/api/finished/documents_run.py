"""Results with a row for each document: their tables, and the clean corpus."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.errors import InputError, SpecError
from neardup.frame.dataframes import as_pandas, as_polars
from neardup.frame.run import Run
from neardup.frame.storage import Storage
from neardup.options.arguments import expanded
from neardup.recipe import Recipe
from neardup.results.results import checked as checked_settings
from neardup.spec import Spec

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from neardup.inspect.compare import Comparison
    from neardup.inspect.explain import Explanation
    from neardup.inspect.one_cluster import Cluster

    Frame: TypeAlias = pa.Table | pd.DataFrame | pd.Series[Any] | pl.DataFrame | pl.Series

T = TypeVar("T", bound=str)


class DocumentsRun(Run[T]):
    """Base of results that have a row for each document: clusters, and which ones are kept.

    Args:
        storage: Record, tables and input.
    """

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        self._results = checked_settings(storage)

    def __len__(self) -> int:
        """Number of documents."""
        return self._results.documents

    @property
    def spec(self) -> Spec:
        """The settings."""
        return self._results.spec

    @property
    def recipe(self) -> Recipe:
        """How texts became band keys; `neardup.Index.create` takes it, and its threshold."""
        return dataclasses.replace(self._results.recipe, threshold=self._results.spec.threshold)

    @property
    def clusters(self) -> pa.Table:
        """A row for each document.

        Columns: ``doc`` int64, its number; ``doc_id``, its id; ``cluster`` int64, the number of the
        first document of its cluster; ``kept`` bool; ``duplicate_of``, the id of the kept document
        that a removed one is a duplicate of; ``similarity`` float64, exact, of the two;
        ``how`` they are alike: ``same`` (equal bytes), ``words`` (equal words) or ``near``.
        """
        return self._results.clusters()

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
        if (source := self._storage.frame) is not None:
            source.require_all_columns()
        table = self._results.kept_documents().table()
        if kind == "pandas":
            return as_pandas(table)
        return table if kind != "polars" else as_polars(table)

    @property
    def _given(self) -> Any:
        """The frame of pandas or Polars that the run was given, while this process has it."""
        source = self._storage.frame
        return None if source is None else source.given

    def to_pandas(self, table: T | None = None) -> pd.DataFrame:
        """Return a table as a pandas DataFrame; ids have the type that they have in the run.

        Args:
            table: One of ``tables``. ``"clusters"``, the default, has a row for each document in
                the order of the input, with the index of a frame of pandas.

        Raises:
            DependencyError: pandas is not installed.
            SpecError: There is no such table, or pairs were not listed.
        """
        name = self._named(table)
        found = self.table(name)
        frame = as_pandas(found)
        if name == "clusters":
            integers = [
                "duplicate_of",
                *(["cluster"] if found.column("cluster").null_count else []),
            ]
            frame[integers] = as_pandas(found.select(integers), nullable=True)
            given = self._given
            if hasattr(given, "iloc") and len(given) == len(frame):
                frame.index = given.index
        return frame

    def _table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a table by its name; clusters in the order of the input."""
        found = self.duplicates if name == "duplicates" else super()._table(name)
        positions = self._results.positions_of
        if name == "clusters" and positions is not None:
            found = found.take(np.argsort(positions))
        return found if columns is None else found.select(list(columns))

    @expanded
    def explain(
        self,
        id: object,
        other: object = None,
        *,
        texts: bool = True,
        limit: int = 20,
        threads: int | None = None,
    ) -> Explanation:
        """Return why a document was removed or kept, or how two documents are related.

        Args:
            id: Id of the document; its position where the run had no ids.
            other: Id of another document; by default the kept one that it is a duplicate of, or the
                most similar of its duplicates.
            texts: Return the texts too. Without them, an input that can't be read is no error: what
                only the input could say is None then, and a note says so.
            limit: Duplicates that are named; all are counted.
            threads: Number of threads; all cores by default.

        Raises:
            InputError: There is no document of that id; or the input is gone, or has changed.
            SpecError: Both ids are those of one document, or a setting is out of range.
        """
        from neardup.inspect.explain import explain

        return explain(self._results, id, other, texts, limit, threads)

    @expanded
    def compare(self, id: object, other: object) -> Comparison:
        """Return how similar two documents are; `explain` has their texts, and why.

        Args:
            id: Id of a document; its position where the run had no ids.
            other: Id of another one.

        Raises:
            InputError: There is no document of that id; or the input is gone, or has changed.
            SpecError: Both ids are those of one document.
        """
        found = self.explain(id, other).comparison
        assert found is not None  # of two documents whose texts were read
        return found

    @expanded
    def clusters_by_size(self) -> pa.Table:
        """Return a row for each cluster of two documents or more, the largest first.

        Columns: ``cluster`` int64, its number; ``doc_id`` of its first document; ``documents`` and
        ``kept``, how many; ``lowest``, the lowest similarity of a removed document, float64. The
        number of rows is how many clusters there are.
        """
        table = self._results.clusters(["doc_id", "cluster", "kept", "similarity"])
        kept: Any = table.column("kept").cast(pa.int64())
        table = table.set_column(2, "kept", kept)
        sums: Any = [("doc_id", "first"), ("kept", "count"), ("kept", "sum"), ("similarity", "min")]
        found = table.group_by("cluster", use_threads=False).aggregate(sums)
        names = ["cluster", "doc_id", "documents", "kept", "lowest"]
        found = found.rename_columns(names).filter(pc.field("documents") > 1)
        return found.sort_by([("documents", "descending"), ("cluster", "ascending")])

    @expanded
    def cluster(self, id: object, *, limit: int = 10, threads: int | None = None) -> Cluster:
        """Return the cluster of a document, with the texts of its documents side by side.

        Documents with the same text are shown once, with their number.

        Args:
            id: Id of the document; its position where the run had no ids. It is shown in any case.
            limit: Texts that are shown: that of the kept document, and those most similar to it.
            threads: Number of threads; all cores by default.

        Raises:
            InputError: There is no document of that id; or the input is gone, or has changed.
            SpecError: ``limit`` is below 1.
        """
        from neardup.inspect.one_cluster import cluster_of

        return cluster_of(self._results, id, limit, threads)
