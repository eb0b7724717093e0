"""Results in memory or read back from a folder, and the texts again."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from neardup.copies.passage_running import MEMORY
from neardup.copies.result import NAMES, Result
from neardup.copies.work import Work
from neardup.corpora.corpus import InputCorpus
from neardup.engines.clock import Clock
from neardup.errors import InputError, SpecError
from neardup.io.formats.json_text import joined_tables
from neardup.io.opening import Reading
from neardup.output.clean import CLEAN
from neardup.results.folder_results import FolderResults
from neardup.threads import Pool

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

    def clean(self) -> pa.Table:
        """Return the corpus as it was cut."""
        ...


class MemoryPassages:
    """Of a run that wrote nothing."""

    folder: Path | None = None
    name = "the run"

    def __init__(self, result: Result) -> None:
        self._result, self.record = result, result.record

    @functools.cached_property
    def _passages(self) -> pa.Table:
        return pa.concat_tables(self._result.passages())

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if name != "passages" and name not in self._result.tables:
            raise _lacking(name)
        found = self._passages if name == "passages" else self._result.tables[name]
        return found if columns is None else found.select(list(columns))

    def texts(self, docs: np.ndarray, threads: int | None = None) -> list[str]:
        del threads
        found = self._result.cuts.texts_of(np.unique(docs))
        return [found[doc] for doc in docs.tolist()]

    def clean(self) -> pa.Table:
        with Pool() as pool:
            return self._result.clean(Work(pool, Clock(), MEMORY))


class FolderPassages(FolderResults):
    """Of a run that wrote to a folder, or to a URL; InputError where there is none."""

    commands = ("passages",)

    @property
    def positions_of(self) -> np.ndarray | None:
        return None

    def _check(self) -> None:
        _ = self.documents

    @functools.cached_property
    def ids(self) -> pa.ChunkedArray[Any]:
        return self.table("documents", ["doc_id"]).column(0)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        if f"{name}.parquet" not in self.record["files"]:
            raise _lacking(name)
        return super().table(name, columns)

    def clean(self) -> pa.Table:
        written = any(name.partition(".")[0] == CLEAN for name in self.record["files"])
        source: object = f"{self.name}/{CLEAN}" if written else self.given
        about = self.record["source"] or self.record["frame"]
        reading = Reading.of({**about, "partition_bytes": None, "input_format": None})
        return table_of(InputCorpus.open(source, reading))


def table_of(corpus: InputCorpus) -> pa.Table:
    """Return all documents of a corpus with all their columns."""
    parts = []
    for _, partition in corpus.reader.partitions():
        parts.append(partition.table(None, len(partition.read(()).text)))
    return joined_tables(parts, corpus.reader.schema)


def position_of(results: PassageResults, id: object) -> int:
    """Return the position of a document by its id, or by a text that spells it."""
    import pyarrow.compute as pc

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
