"""The results of a run, in memory or elsewhere: record, tables, and the texts again."""

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.engines.local import Outcome
from neardup.engines.reading import PartitionRows, Reader
from neardup.errors import InputError
from neardup.files.given_path import GivenPath
from neardup.io.remote import Url
from neardup.io.source import Partition, Source
from neardup.output import tables
from neardup.recipe import Recipe
from neardup.result_record.decoding import again
from neardup.spec import Spec
from neardup.threads import Pool

A = TypeVar("A")


class Results(ABC):
    record: dict[str, Any]  # the content of ``run.json``, see ``docs/formats.md``
    folder: Path | None = None  # of the output; None for a run in memory, or at a URL
    name = "the run"  # in messages

    @functools.cached_property
    def spec(self) -> Spec:
        return Spec.from_dict(self.record["spec"])

    @functools.cached_property
    def recipe(self) -> Recipe:
        return Recipe.from_dict(self.record["recipe"])

    @property
    def documents(self) -> int:
        return int(self.record["counts"]["documents"])

    # The tables.

    @abstractmethod
    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one of the `tables.TABLES` of this result, with the columns named."""

    def clusters(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the table of clusters, with the columns named; a row for each document."""
        return self.table("clusters", columns)

    def edges(self, columns: Sequence[str] | None = None) -> pa.Table | None:
        """Return the table of edges, with the columns named; None where pairs were not listed."""
        return self.table("edges", columns) if self.spec.enumerates else None

    def edge_batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns of the table of edges, a batch at a time; none without edges."""
        if (table := self.edges(columns)) is not None:
            yield from table.to_batches()

    def array(self, column: str) -> np.ndarray:
        """Return a column of the clusters as an array; null is -1, or NaN for similarities."""
        values: Any = self.clusters([column]).column(0)
        none = float("nan") if pa.types.is_floating(values.type) else -1
        return np.asarray((pc.fill_null(values, none) if values.null_count else values).to_numpy())

    @functools.cached_property
    def ids(self) -> "pa.ChunkedArray[Any]":
        return self.clusters(["doc_id"]).column(0)

    @property
    def private_ids(self) -> bool:
        """Whether no message or page may have an id."""
        return bool(self.record.get("private_ids"))

    @property
    def id_column(self) -> str | None:
        """The column of the input with the ids; None where positions are the ids."""
        about = self.record["source"] or self.record["frame"] or {}
        return about.get("id")

    @functools.cached_property
    def public_ids(self) -> "pa.ChunkedArray[Any]":
        """Return what pages and messages call the documents: ids, or ``row 17`` and so on."""
        return rows_as_ids(self.documents) if self.private_ids else self.ids

    @property
    def has_old(self) -> bool:
        """Whether the clusters have a column ``in_old``: for duplicates of an old corpus."""
        return "similar_to_old" in self.record["counts"]

    @functools.cached_property
    def duplicate_of(self) -> np.ndarray:
        """int64[documents]: the kept document that each one is a duplicate of; -1 where kept.

        It is -1 for a duplicate of a document of an old corpus as well.
        """
        found: Any = self.clusters(["duplicate_of"]).column(0)
        if self.has_old:
            found = pc.if_else(self.clusters(["in_old"]).column(0), None, found)
        rows: Any = pc.index_in(found, value_set=self.ids)
        if rows.null_count > found.null_count:
            raise InputError(
                f"{self.name}: the table of clusters is damaged: a document is a duplicate of one "
                "that is not there",
                self.again,
            )
        return np.asarray(pc.fill_null(rows, -1).to_numpy(), dtype=np.int64)

    def numbers(self, ids: Sequence[Any]) -> np.ndarray:
        """Return int64[ids]: the numbers of documents by their ids, or by texts that spell them.

        Where ids are private, names such as ``row 17`` are taken as well.
        """
        if self.private_ids and all(str(i).startswith("row ") for i in ids):
            named = pc.index_in(pa.array(map(str, ids), pa.large_string()), self.public_ids)
            if not named.null_count:
                return np.asarray(named.to_numpy(), dtype=np.int64)
        kind: Any = self.ids.type
        hint = "the ids are in the column doc_id of the table of clusters"
        try:
            if pa.types.is_large_binary(kind):
                names = [i if isinstance(i, bytes) else os.fsencode(str(i)) for i in ids]
                of_ids: Any = pa.array(names, kind)
            else:
                of_ids = pa.array([str(i) for i in ids], pa.large_string()).cast(kind)
        except (ValueError, pa.ArrowNotImplementedError) as error:  # "a7" where ids are integers
            raise InputError(
                f"{self.name}: ids are of type {kind}, and one given is not", hint
            ) from error
        found: Any = pc.index_in(of_ids, value_set=self.ids)
        missing = np.flatnonzero(np.asarray(found.is_null()))
        if len(missing):
            shown = str(ids[int(missing[0])])[:100]
            which = "that id" if self.private_ids else f"the id {shown}"
            raise InputError(f"{self.name}: no document has {which}", hint)
        return np.asarray(found.to_numpy(), dtype=np.int64)

    # The texts.

    @property
    def source(self) -> Source:
        """The input, opened again; InputError where it is gone or has changed."""
        self.reader.source.check_unchanged()
        return self.reader.source

    @property
    def inputs(self) -> list[GivenPath]:
        """The local files that it read, as far as they can be found."""
        files = self.reader.source.files
        return [f.given for f in files if f.copy is None and not f.is_remote]

    @functools.cached_property
    def read_from(self) -> list[Url | GivenPath]:
        """Files, folders, patterns and URLs that it was given; none of a frame."""
        return []

    @property
    @abstractmethod
    def ends(self) -> np.ndarray:
        """int64[partitions]: documents up to the end of each partition of the input."""

    @functools.cached_property
    def positions_of(self) -> np.ndarray | None:
        """int64[documents]: position of each document in the input; None if equal to its number."""
        return None

    @property
    def again(self) -> str:
        """The remedy for results that are damaged, or no longer those of their input."""
        record: dict[str, Any] | None = getattr(self, "record", None)  # while it is read
        return "run the command again" if record is None else again(record["command"])

    def changed(self, file: str = "") -> InputError:
        """Return the error for an input, or a file of it, that is no longer as the run read it."""
        what = file or f"the input of {self.name}"
        return InputError(f"{what} has changed since the run", self.again)

    @functools.cached_property
    def reader(self) -> Reader:
        return Reader(self.source)

    def texts(self, docs: np.ndarray, threads: int | None = None) -> list[str]:
        """Return the texts of documents by their numbers, in any order, read again."""
        positions = docs if self.positions_of is None else self.positions_of[docs]
        ascending = np.unique(positions).astype(np.int64)

        def read(partition: Partition, rows: np.ndarray, count: int) -> list[str | None]:
            return partition.texts(rows, count).to_pylist()

        found = list(chain.from_iterable(self.at(ascending).visit(read, threads)))
        if len(found) != len(ascending):
            raise self.changed()
        return [found[row] or "" for row in np.searchsorted(ascending, positions)]

    def at(self, positions: np.ndarray) -> "Selection":
        """Return some documents of the input; ``positions``, int64[], are ascending."""
        return Selection(self.reader, self.ends, positions)

    def kept_documents(self) -> "Selection":
        """Return the kept documents, in the order of the input."""
        kept = np.flatnonzero(self.array("kept"))
        order = self.positions_of
        return self.at(kept if order is None else np.sort(order[kept]))


def rows_as_ids(documents: int) -> "pa.ChunkedArray[Any]":
    """Return names of documents for pages and messages that have no ids."""
    rows: Any = array_of(np.arange(documents)).cast(pa.large_string())
    prefix, none = (pa.scalar(text, pa.large_string()) for text in ("row ", ""))
    return pa.chunked_array([pc.binary_join_element_wise(prefix, rows, none)])


class Selection(NamedTuple):
    """Some documents of an input."""

    reader: Reader
    ends: np.ndarray  # int64[partitions]: documents up to the end of each
    positions: np.ndarray  # int64[], ascending

    def visit(
        self, work: Callable[[Partition, np.ndarray, int], A], threads: int | None = None
    ) -> Iterator[A]:
        """Go through them, partition by partition, in order.

        ``work`` is called in several threads with a partition, the rows wanted of it, and the
        number of its documents; its results are yielded.
        """

        def done(selected: PartitionRows) -> A:
            assert selected.rows is not None
            return work(selected.partition, selected.rows, selected.documents)

        with Pool(threads) as pool:
            yield from pool.ordered(done, self.reader.again(self.ends, self.positions))


class MemoryResults(Results):
    def __init__(self, outcome: Outcome, record: dict[str, Any]) -> None:
        self.outcome, self.record = outcome, record
        self.reader, self.positions_of = outcome.reader, outcome.order
        self.read_from = outcome.job.given
        self._tables: dict[str, pa.Table] = {}

    @property
    def ends(self) -> np.ndarray:
        return self.outcome.corpus.ends

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if name not in self._tables:
            empty = tables.schema_of(self.outcome, name).empty_table()
            with Pool(self.outcome.threads) as pool:
                made = tables.tables_of(self.outcome, name, pool)
                self._tables[name] = pa.concat_tables([empty, *made])
        found = self._tables[name]
        return found if columns is None else found.select(list(columns))
