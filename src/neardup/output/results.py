"""What a run found, in memory or in its output folder: record, tables, and the texts again."""

import functools
import glob
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.engines.local import Outcome
from neardup.engines.reading import Reader, Wanted
from neardup.errors import InputError, InputNotFoundError
from neardup.io.opening import Reading
from neardup.io.paths import find_files
from neardup.io.remote import Url, is_remote, located, open_remote
from neardup.io.remote_errors import failed, is_of_transfer
from neardup.io.source import Partition, Source
from neardup.output import tables
from neardup.output.record import FORMAT, inputs_digest, texts_digest
from neardup.output.writing import CLEAN
from neardup.recipe import Recipe
from neardup.sketch.sketcher import Sketcher
from neardup.spec import Spec
from neardup.stages.identifiers import id_array
from neardup.threads import Pool

A = TypeVar("A")


class Results(ABC):
    record: dict[str, Any]  # what ``run.json`` holds, see ``docs/formats.md``
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
        """Return one of `tables.TABLES` that there is, or some of its columns."""

    def clusters(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the table of clusters, or some of its columns; a row for each document."""
        return self.table("clusters", columns)

    def edges(self, columns: Sequence[str] | None = None) -> pa.Table | None:
        """Return the table of edges, or some of its columns; None where pairs were not listed."""
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

    @functools.cached_property
    def duplicate_of(self) -> np.ndarray:
        """int64[documents]: the kept document that each one is a duplicate of; -1 where kept."""
        found: Any = self.clusters(["duplicate_of"]).column(0)
        places: Any = pc.index_in(found, value_set=self.ids)
        if places.null_count > found.null_count:
            raise InputError(
                f"{self.name}: the table of clusters is damaged: a document is a duplicate of one "
                "that is not there",
                "run neardup dedup again",
            )
        return np.asarray(pc.fill_null(places, -1).to_numpy(), dtype=np.int64)

    def numbers(self, ids: Sequence[Any]) -> np.ndarray:
        """Return int64[ids]: the numbers of documents by their ids, or by texts that spell them."""
        kind: Any = self.ids.type
        hint = "the ids are in the column doc_id of the table of clusters"
        try:
            if pa.types.is_large_binary(kind):
                names = [i if isinstance(i, bytes) else os.fsencode(str(i)) for i in ids]
                wanted: Any = pa.array(names, kind)
            else:
                wanted = pa.array([str(i) for i in ids], pa.large_string()).cast(kind)
        except (ValueError, pa.ArrowNotImplementedError) as error:  # "a7" where ids are integers
            raise InputError(
                f"{self.name}: ids are of type {kind}, and one given is not", hint
            ) from error
        found: Any = pc.index_in(wanted, value_set=self.ids)
        missing = np.flatnonzero(np.asarray(found.is_null()))
        if len(missing):
            shown = str(ids[int(missing[0])])[:100]
            raise InputError(f"{self.name}: no document has the id {shown}", hint)
        return np.asarray(found.to_numpy(), dtype=np.int64)

    # The texts.

    @property
    def source(self) -> Source:
        """The input, opened again; InputError where it is gone or has changed."""
        self.reader.source.check_unchanged()
        return self.reader.source

    @property
    def inputs(self) -> list[Path]:
        """The local files that it read, as far as they can be found."""
        files = self.reader.source.files
        return [Path(f.path) for f in files if f.copy is None and not f.is_remote]

    @functools.cached_property
    def read_from(self) -> list[str]:
        """Files, folders, patterns and URLs that it was given; none of a frame."""
        return []

    @property
    @abstractmethod
    def ends(self) -> np.ndarray:
        """int64[partitions]: documents up to the end of each partition of the input."""

    @functools.cached_property
    def positions_of(self) -> np.ndarray | None:
        """int64[documents]: place in the input of each document; None where that is its number."""
        return None

    def changed(self, file: str = "") -> InputError:
        """Return the error for an input, or a file of it, that is no longer what the run read."""
        what = file or f"the input of {self.name}"
        return InputError(f"{what} has changed since the run", "run neardup dedup again")

    @functools.cached_property
    def reader(self) -> Reader:
        return Reader(self.source)

    def texts(self, docs: np.ndarray, threads: int | None = None) -> list[str]:
        """Return the texts of documents by their numbers, in any order, read again."""
        places = docs if self.positions_of is None else self.positions_of[docs]
        wanted = np.unique(places).astype(np.int64)

        def read(partition: Partition, rows: np.ndarray, count: int) -> list[str | None]:
            return partition.texts(rows, count).to_pylist()

        found = list(chain.from_iterable(self.at(wanted).visit(read, threads)))
        if len(found) != len(wanted):
            raise self.changed()
        return [found[place] or "" for place in np.searchsorted(wanted, places)]

    def at(self, positions: np.ndarray) -> "Places":
        """Return some documents of the input; ``positions``, int64[], are ascending."""
        return Places(self.reader, self.ends, positions)

    def kept_places(self) -> "Places":
        """Return where the kept documents can be read, in the order of the input."""
        kept = np.flatnonzero(self.array("kept"))
        places = kept if self.positions_of is None else np.sort(self.positions_of[kept])
        return self.at(places)


class Places(NamedTuple):
    """Some documents of an input."""

    reader: Reader
    ends: np.ndarray  # int64[partitions]: documents up to the end of each
    positions: np.ndarray  # int64[], ascending

    def visit(
        self, work: Callable[[Partition, np.ndarray, int], A], threads: int | None = None
    ) -> Iterator[A]:
        """Go through them, partition by partition, in order.

        ``work`` is called in several threads with a partition, the rows wanted of it, and the
        number of its documents; what it returns is yielded.
        """

        def done(some: Wanted) -> A:
            assert some.rows is not None
            return work(some.partition, some.rows, some.documents)

        with Pool(threads) as pool:
            yield from pool.ordered(done, self.reader.again(self.ends, self.positions))


class MemoryResults(Results):
    def __init__(self, outcome: Outcome, record: dict[str, Any]) -> None:
        self.outcome, self.record = outcome, record
        self.reader, self.positions_of = outcome.reader, outcome.order
        self.read_from = list(outcome.job.reading.get("given", ()))
        self._tables: dict[str, pa.Table] = {}

    @property
    def ends(self) -> np.ndarray:
        return self.outcome.corpus.ends

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if name not in self._tables:
            empty = tables.schema_of(self.outcome, name).empty_table()
            made = tables.tables_of(self.outcome, name)
            self._tables[name] = pa.concat_tables([empty, *made])
        found = self._tables[name]
        return found if columns is None else found.select(list(columns))


class FolderResults(Results):
    """Of a run that wrote to a folder, or to a URL; InputError where there is none."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        place = located(folder)
        self.folder = None if is_remote(place) else Path(place)
        self.name = place.rstrip("/") if self.folder is None else str(self.folder)
        path = f"{self.name}/run.json"
        with self._reading("run.json") as file:
            record = file.read()
        try:
            self.record = json.loads(record)
            found = self.record.get("format")
            if found == FORMAT:
                _ = self.spec, self.recipe, self.documents
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{path}: not readable, or damaged") from error
        if found != FORMAT:
            raise InputError(
                f"{path}: made by another version of neardup (format {found}, this one has "
                f"{FORMAT})",
                "run neardup dedup again",
            )

    def edge_batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not self.spec.enumerates or self._tables != "parquet":
            yield from super().edge_batches(columns)
            return
        with self._reading("edges.parquet") as opened, pq.ParquetFile(opened) as file:
            yield from file.iter_batches(columns=list(columns))

    @functools.cached_property
    def positions_of(self) -> np.ndarray | None:
        if self.spec.order_by is None:
            return None
        found: Any = self.table("order", ["position"]).column(0)
        return np.asarray(found.to_numpy())

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        names = None if columns is None else list(columns)
        with self._reading(f"{name}.{self._tables}") as file:
            if self._tables == "parquet":
                return pq.read_table(file, columns=names)
            import pyarrow.csv as pacsv

            options = pacsv.ConvertOptions(
                column_types=tables.column_types(pa.type_for_alias(self.record["id_type"])),
                include_columns=cast(Any, names),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            )
            lines = pacsv.ParseOptions(newlines_in_values=True)
            return pacsv.read_csv(file, parse_options=lines, convert_options=options)

    @contextmanager
    def _reading(self, name: str) -> Iterator[Any]:
        """Open one of its files, and make our errors of those that reading it raises."""
        path = f"{self.name}/{name}"
        try:
            with open_remote(path) if self.folder is None else pa.OSFile(path, "rb") as file:
                yield file
        except (FileNotFoundError, NotADirectoryError) as error:
            if name == "run.json":
                raise InputNotFoundError(
                    f"{self.name}: no finished run of neardup dedup is there",
                    "name the folder that it wrote to",
                ) from error
            raise InputNotFoundError(f"{path} is gone", "run neardup dedup again") from error
        except (OSError, pa.ArrowException, IndexError) as error:
            if isinstance(error, InputError):
                raise
            if self.folder is None and is_of_transfer(error):
                raise failed(path, error) from error
            raise InputError(
                f"{path}: not readable, or damaged", "run neardup dedup again"
            ) from error

    @property
    def _tables(self) -> str:
        return str(self.record["output"].get("tables", "parquet"))

    @functools.cached_property
    def source(self) -> Source:
        about = self._about
        try:
            source = Reading.of(about).open(self.given)
        except InputNotFoundError as error:
            raise self._gone() or error from error
        inputs = [[file.path, file.size, file.mtime_ns] for file in source.files]
        if inputs_digest(inputs) != about["files_digest"]:
            if gone := self._gone():
                raise gone
            pairs = zip(about["inputs"], inputs, strict=False)
            changed = (str(now[0]) for old, now in pairs if old[1:] != now[1:])
            raise self.changed(next(changed, ""))
        return source

    def give(self, source: object) -> None:
        """Take the input from the caller, as the run can't find it; InputError for another one."""
        reading = Reading.of({**(self.record["frame"] or self._about), "partition_bytes": None})
        opened = reading.open(source)
        sketcher = Sketcher(replace(self.recipe, num_bands=0, rows=0))
        name = opened.id_column

        def read(item: tuple[int, Partition]) -> "tuple[np.ndarray, list[pa.Array[Any]]]":
            documents = item[1].read((name,) if name else ())
            ids = id_array(documents.columns.column(name), name).chunks if name else []
            return sketcher(documents.text).hashes, ids

        with Pool() as pool:
            found = list(pool.ordered(read, Reader(opened).partitions()))
        hashes = [np.empty((0, 2), np.uint64), *(part for part, _ in found)]
        places = np.arange(self.documents) if self.positions_of is None else self.positions_of
        ids = pa.chunked_array([chunk for _, some in found for chunk in some], self.ids.type)
        same = texts_digest(np.concatenate(hashes)) == self.record["texts_digest"]
        if not same or (name and not ids.equals(self.ids.take(np.argsort(places)))):
            raise InputError(
                f"{self.name}: what is given has other texts, ids or rows than the run has read",
                "give what it was made of, in the same order",
            )
        self.source, self.ends = opened, np.cumsum([len(part) for part in hashes[1:]])

    def kept_places(self) -> Places:
        """See `Results.kept_places`; where there is no input, the clean corpus is read."""
        about, output = self.record["frame"], self.record["output"]
        if "source" in vars(self) or about is None or not output["clean"] or output["annotate"]:
            return super().kept_places()
        reader = Reader(Reading.of(about).open(f"{self.name}/{CLEAN}"))
        with Pool() as pool:
            read = pool.ordered(lambda item: len(item[1].read().text), reader.partitions())
            ends = np.cumsum(list(read), dtype=np.int64)
        kept = int(self.record["counts"]["kept"])
        if ends.max(initial=0) != kept:
            raise InputError(
                f"{self.name}/{CLEAN} does not have the {kept:,} documents that were kept",
                "run neardup dedup again",
            )
        return Places(reader, ends, np.arange(kept))

    def _gone(self) -> InputNotFoundError | None:
        """Return the error for a path that was read and is no longer there; None if all are."""
        about = self._about
        for name in (*about["given"], *(file[0] for file in about["inputs"])):
            path = self._from_here(name)
            if isinstance(path, Path) and not os.path.lexists(path) and not glob.has_magic(name):
                return InputNotFoundError(
                    f"{path}, an input of {self.name}, is gone",
                    "put it back, or run neardup dedup again",
                )
        return None

    @property
    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] | None = self.record["source"]
        if about is None:
            raise InputError(
                f"{self.name}: its input was a frame or a pipe and can't be read again",
                "give it again from Python, neardup.open(folder, source=frame), or write it to a "
                "file and run neardup dedup on that",
            )
        return about

    @functools.cached_property
    def given(self) -> list[Path | Url]:
        """The paths that the run was given, so that they can be found from here."""
        return [self._from_here(path) for path in self._about["given"]]

    def _from_here(self, path: str) -> Path | Url:
        if is_remote(path):
            return Url(path)
        directory = Path(self._about["directory"])
        return Path(path if Path.cwd() == directory else os.path.normpath(directory / path))

    @property
    def inputs(self) -> list[Path]:
        if (about := self.record["source"]) is None:
            return []
        if about["inputs"]:
            found = [self._from_here(file[0]) for file in about["inputs"]]
            return [path for path in found if isinstance(path, Path)]
        # Of very many the record has no list.
        try:
            files = find_files(self.given, about["input_format"])
            return [Path(file.path) for file in files if not file.is_remote]
        except InputError:
            return []

    @functools.cached_property
    def read_from(self) -> list[str]:
        return [] if self.record["source"] is None else [str(path) for path in self.given]

    @functools.cached_property
    def ends(self) -> np.ndarray:
        counts = self._about["partition_documents"].split()
        return np.cumsum(np.array(counts, dtype=np.int64))
