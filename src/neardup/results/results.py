"""Questions to the documents and clusters of a result."""

import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of, strings_of
from neardup.deduplication.documents.identifiers import id_array
from neardup.deduplication.reading import Reader, as_compared, groups_again
from neardup.errors import InputError, NeardupError
from neardup.files.given_path import GivenPath
from neardup.frame.inputs import Input, Selection, changed
from neardup.frame.storage import (
    DAMAGED,
    FolderStorage,
    PartsStorage,
    Storage,
    opened,
)
from neardup.io.remote import Url
from neardup.io.source import Partition, Source
from neardup.options.how_read import HowRead, how_given
from neardup.output.clean import CLEAN
from neardup.output.record import texts_digest
from neardup.recipe import Recipe
from neardup.result_record import RECORD
from neardup.sketch.sketcher import Sketcher
from neardup.spec import Spec
from neardup.stages.exact import HOW
from neardup.threads import Pool


class Results:
    """The documents of a result, by their numbers.

    Args:
        storage: Record, tables and input.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage, self.record = storage, storage.record
        self.folder, self.name, self.again = storage.folder, storage.name, storage.again

    @functools.cached_property
    def spec(self) -> Spec:
        return Spec.from_dict(self.record["spec"])

    @functools.cached_property
    def recipe(self) -> Recipe:
        return Recipe.from_dict(self.record["recipe"])

    @functools.cached_property
    def usable_recipe(self) -> Recipe:
        """The recipe, to compare texts again; RecipeError if they have other tokens today."""
        self.recipe.require_usable(self.name)
        return self.recipe

    @property
    def documents(self) -> int:
        return int(self.record["counts"]["documents"])

    @property
    def compared_with_none(self) -> int:
        """How many documents are empty, or without a group."""
        counts = self.record["counts"]
        return int(counts["empty"]) + int(counts.get("without_group", 0))

    # The tables.

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one of the tables of this result, with the columns named."""
        return self.storage.table(name, columns)

    def clusters(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the table of clusters, with the columns named; a row for each document."""
        return self.table("clusters", columns)

    def edges(self, columns: Sequence[str] | None = None) -> pa.Table | None:
        """Return the table of edges, with the columns named; None where pairs were not listed."""
        return self.table("edges", columns) if self.storage.has("edges") else None

    def edge_batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns of the table of edges, a batch at a time; none without edges."""
        if self.storage.has("edges"):
            yield from self.storage.batches("edges", columns)

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

    @functools.cached_property
    def how(self) -> np.ndarray:
        """int8[documents]: how each is alike to its ``duplicate_of``; -1 where kept or unknown."""
        names: Any = strings_of([name.encode() for name in HOW])
        found: Any = pc.index_in(self.clusters(["how"]).column(0), value_set=names)
        return np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int8)

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
    def input(self) -> Input:
        """The input; InputError where it is gone, or has changed."""
        return self.storage.corpus()

    @property
    def source(self) -> Source:
        """Its source; InputError where it is gone, or has changed."""
        return self.input.source

    @property
    def inputs(self) -> list[GivenPath]:
        """The local files that it read, as far as they can be found."""
        return self.storage.inputs

    @property
    def read_from(self) -> list[Url | GivenPath]:
        """Files, folders, patterns and URLs that it was given; none of a frame."""
        return self.storage.read_from

    @functools.cached_property
    def positions_of(self) -> np.ndarray | None:
        """int64[documents]: position of each document in the input; None if equal to its number."""
        if not self.storage.has("order"):
            return None
        found: Any = self.table("order", ["position"]).column(0)
        return np.asarray(found.to_numpy())

    def changed(self) -> InputError:
        """Return the error for an input that is no longer as the run read it."""
        return changed(self.name, self.again)

    def texts(self, docs: np.ndarray, threads: int | None = None) -> list[str]:
        """Return the texts of documents by their numbers, in any order, read again."""
        positions = docs if self.positions_of is None else self.positions_of[docs]
        return self.input.texts(positions, threads)

    def groups(self, docs: np.ndarray, threads: int | None = None) -> np.ndarray | None:
        """Return uint64[docs]: the groups of documents, read again; None where there are none."""
        within = self.recipe.within
        if within is None:
            return None
        positions = docs if self.positions_of is None else self.positions_of[docs]
        ascending, back = np.unique(positions, return_inverse=True)

        def read(partition: Partition, rows: np.ndarray, count: int) -> np.ndarray:
            return groups_again(partition, rows, within)

        return np.concatenate([np.empty(0, np.uint64), *self.at(ascending).visit(read, threads)])[
            back
        ]

    def at(self, positions: np.ndarray) -> Selection:
        """Return some documents of the input; ``positions``, int64[], are ascending."""
        return self.input.at(positions)

    def kept_documents(self) -> Selection:
        """Return the kept documents, in the order of the input.

        Where that was a frame, which is not there any more, the clean corpus is read.
        """
        if self._has_only_clean():
            found, count = self.storage.corpus(CLEAN), int(self.record["counts"]["kept"])
            if found.documents != count:
                raise InputError(
                    f"{self.name}/{CLEAN} does not have the {count:,} documents that were kept",
                    self.again,
                )
            return found.every()
        kept = np.flatnonzero(self.array("kept"))
        order = self.positions_of
        return self.at(kept if order is None else np.sort(order[kept]))

    def _has_only_clean(self) -> bool:
        stored = isinstance(self.storage, FolderStorage) and self.storage.source is None
        every = self.record["output"]["annotate"] or not self.storage.has(CLEAN)
        return stored and self.record["frame"] is not None and not every

    def give(self, source: object) -> None:
        """Take the input of a result in a folder; InputError where it is another one."""
        assert isinstance(self.storage, FolderStorage)
        about = self.record["frame"] or self.record["source"]
        reading = HowRead.of({**about, "partition_bytes": None, "private_ids": self.private_ids})
        opened = reading.open(source)
        sketcher = Sketcher(replace(self.usable_recipe, num_bands=0, rows=0))
        name, within = opened.id_column, self.recipe.within
        columns = tuple(dict.fromkeys(each for each in (name, within) if each))

        def read(item: tuple[int, Partition]) -> "tuple[np.ndarray, list[pa.Array[Any]]]":
            documents = item[1].read(columns)
            ids = id_array(documents.columns.column(name), name).chunks if name else []
            return sketcher(as_compared(documents, within)).hashes, ids

        reader = Reader(opened)
        with Pool() as pool:
            found = list(pool.ordered(read, reader.partitions()))
        hashes = [np.empty((0, 2), np.uint64), *(part for part, _ in found)]
        order = self.positions_of
        ids = pa.chunked_array([chunk for _, chunks in found for chunk in chunks], self.ids.type)
        same = texts_digest(np.concatenate(hashes)) == self.record["texts_digest"]
        known = self.ids if order is None else self.ids.take(np.argsort(order))
        if not same or (name and not ids.equals(known)):
            raise InputError(
                f"{self.name}: the source has other texts, ids or rows than the run has read",
                "give the input of the run, in the same order",
            )
        ends = np.cumsum([len(part) for part in hashes[1:]])
        how = how_given(source, reading)
        self.storage.source = Input(reader, ends, how, self.name, self.again)


def rows_as_ids(documents: int) -> "pa.ChunkedArray[Any]":
    """Return names of documents for pages and messages that have no ids."""
    rows: Any = array_of(np.arange(documents)).cast(pa.large_string())
    prefix, none = (pa.scalar(text, pa.large_string()) for text in ("row ", ""))
    return pa.chunked_array([pc.binary_join_element_wise(prefix, rows, none)])


def checked(storage: Storage) -> Results:
    """Return questions to a result; InputError where its settings are damaged."""
    found = Results(storage)
    for key in ("spec", "recipe"):
        try:
            getattr(found, key)
        except (NeardupError, *DAMAGED) as error:
            what = f"{storage.name}/{RECORD} is damaged at {key}: {error}"
            raise InputError(what, storage.again) from error
    return found


def open_results(folder: str | os.PathLike[str]) -> Results:
    """Open the output folder of ``neardup dedup``; InputError where it is none."""
    found = opened(folder, ("dedup", "recluster"))
    if isinstance(found, PartsStorage):
        found.corpus()  # which says why it has none
    return checked(found)
