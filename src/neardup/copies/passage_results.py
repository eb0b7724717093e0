"""Results in memory or read back from a folder, and the texts again."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.copies.copy_tables import ids_of
from neardup.copies.passage_running import MEMORY
from neardup.copies.result import NAMES, Result
from neardup.copies.work import Work
from neardup.corpora.corpus import InputCorpus
from neardup.engines.clock import Clock
from neardup.engines.identifiers import id_array
from neardup.errors import InputError, SpecError
from neardup.frame.how_read import HowRead
from neardup.io.formats.json_text import joined_tables
from neardup.output.clean import CLEAN
from neardup.results.folder_results import FolderResults
from neardup.results.other_folders import SparkParts
from neardup.threads import Pool

#: Columns of ids, and those by which rows of Spark, which have no order, are sorted.
_IDS, _ORDER = ("doc_id", "source_id", "origin_id"), ("doc_id", "start")
_COMMON = "boilerplate"
_LACKING = {
    "boilerplate": "ask for it with `boilerplate`, a number of documents",
    "cuts": "nothing was cut; ask for it with `cut`",
}


def _lacking(name: str) -> SpecError:
    if name not in NAMES:
        return SpecError(f"`table` is {name!r}; expected {', '.join(NAMES)}")
    return SpecError(f"this run has no table {name!r}", _LACKING.get(name, "run it again"))


class PassageResults(Protocol):
    """Tables, record and texts."""

    record: dict[str, Any]
    folder: Path | None
    name: str  # in messages

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one of `NAMES`; SpecError where the run has no such table."""
        ...

    def texts(self, docs: np.ndarray, threads: int | None = None) -> list[str]:
        """Return the texts of documents, by their positions in the input, in any order."""
        ...

    def old_texts(self, ids: pa.ChunkedArray[Any]) -> dict[Any, str]:
        """Return the texts of documents of the corpus compared against, by their ids.

        Nothing where that can't be read again.
        """
        ...

    def clean(self) -> pa.Table:
        """Return the corpus as it was cut."""
        ...


class MemoryPassages:
    """Of a run that wrote nothing."""

    folder: Path | None = None
    name = "the run"

    def __init__(self, result: Result) -> None:
        self._result, self.record = result, result.record
        self._tables: dict[str, pa.Table] = {}

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if name not in self._result.tables:
            raise _lacking(name)
        if name not in self._tables:
            self._tables[name] = pa.concat_tables(self._result.tables[name](map))
        found = self._tables[name]
        return found if columns is None else found.select(list(columns))

    def texts(self, docs: np.ndarray, threads: int | None = None) -> list[str]:
        del threads
        found = self._result.texts_of(np.unique(docs))
        return [found[doc] for doc in docs.tolist()]

    def old_texts(self, ids: pa.ChunkedArray[Any]) -> dict[Any, str]:
        every = ids_of(self._result.inputs)[1].slice(0, self._result.inputs.old_documents)
        docs = _positions(ids, every)
        found = self._result.texts_of(np.unique(docs), old=True)
        return dict(zip(ids.to_pylist(), (found[doc] for doc in docs.tolist()), strict=True))

    def clean(self) -> pa.Table:
        with Pool() as pool:
            return self._result.clean(Work(pool, Clock(), MEMORY))


class FolderPassages(FolderResults):
    """Of a run that wrote to a folder, or to a URL; InputError where there is none."""

    commands = ("passages",)
    settings = ()

    @property
    def positions_of(self) -> np.ndarray | None:
        return None

    @functools.cached_property
    def ids(self) -> pa.ChunkedArray[Any]:
        return self.table("documents", ["doc_id"]).column(0)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if f"{name}.parquet" not in self.record["files"]:
            raise _lacking(name)
        return super().table(name, columns)

    def old_texts(self, ids: pa.ChunkedArray[Any]) -> dict[Any, str]:
        if not len(ids) or self.record["against"] is None:
            return {}
        old = FolderPassages(self.location, {**self.record, "source": self.record["against"]})
        try:
            docs = _positions(ids, old._read_ids())
            return dict(zip(ids.to_pylist(), old.texts(docs), strict=True))
        except InputError:  # gone, or changed since
            return {}

    def _read_ids(self) -> pa.ChunkedArray[Any]:
        """Read the ids of the input again."""
        name = self.source.id_column
        if name is None:
            return pa.chunked_array([pa.array(np.arange(int(self.ends[-1])))])
        parts = (part.read((name,)).columns.column(name) for part in self.source.partitions())
        return pa.chunked_array([chunk for ids in parts for chunk in id_array(ids, name).chunks])

    def clean(self) -> pa.Table:
        written = any(name.partition(".")[0] == CLEAN for name in self.record["files"])
        source: object = self.location / CLEAN if written else self.given
        about = self.record["source"] or self.record["frame"]
        reading = HowRead.of({**about, "partition_bytes": None, "input_format": None})
        return table_of(InputCorpus.open(source, reading))


class SparkPassages(SparkParts, FolderPassages):
    """Of a job on Apache Spark, in the order of the ids; the input is not read here."""

    commands = ("spark --passages",)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if not any(file.partition(".")[0] == name for file in self.record["files"]):
            raise _lacking(name)
        if name not in self._sorted:
            table = self._read(name)
            kind = id_array(table.column("doc_id"), "doc_id").type if name != _COMMON else None
            fields = [f.with_type(kind) if kind and f.name in _IDS else f for f in table.schema]
            order: Any = [(each, "ascending") for each in _ORDER if each in table.column_names]
            self._sorted[name] = table.cast(pa.schema(fields)).sort_by(order) if kind else table
        found = self._sorted[name]
        return found if columns is None else found.select(list(columns))

    @functools.cached_property
    def _sorted(self) -> dict[str, pa.Table]:
        return {}


def _positions(ids: Any, every: Any) -> np.ndarray:
    """Return int64[ids]: where ids are among all of a corpus; InputError if one is not."""
    kind = pa.large_string()
    found: Any = pc.index_in(ids.cast(kind), value_set=every.cast(kind))
    if found.null_count:
        raise InputError("the corpus compared against has other ids than before", "run it again")
    return np.asarray(found.to_numpy(), np.int64)


def table_of(corpus: InputCorpus) -> pa.Table:
    """Return all documents of a corpus with all their columns."""
    parts = []
    for _, partition in corpus.reader.partitions():
        parts.append(partition.table(None, len(partition.read(()).text)))
    return joined_tables(parts, corpus.reader.schema)


def position_of(results: PassageResults, id: object) -> int:
    """Return the position of a document by its id, or by a text that spells it."""
    ids: Any = results.table("documents", ["doc_id"]).column(0)
    asked: Any = pa.scalar(str(id), pa.large_string())
    found = int(pc.index(ids.cast(pa.large_string()), asked).as_py())
    if found < 0:
        if results.record.get("private_ids") and str(id).startswith("row "):
            with suppress(ValueError):
                if 0 <= int(str(id)[4:]) < len(ids):
                    return int(str(id)[4:])
        secret = results.record["secret_ids"]
        raise InputError(
            f"no document has {'that id' if secret else f'the id {str(id)[:100]}'}",
            "the ids are in the column doc_id of the table of documents",
        )
    return found
