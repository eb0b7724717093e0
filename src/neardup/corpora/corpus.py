"""A corpus that is read once or twice, and the clean one that is written of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa

from neardup.deduplication.documents.identifiers import Ids, check_ids, id_array, joined_ids
from neardup.deduplication.documents.metadata import CorpusMetadata, joined
from neardup.deduplication.documents.text_notes import IF_LINES, one_text, text_notes
from neardup.deduplication.reading import Reader
from neardup.errors import NeardupError
from neardup.files.scratch import Scratch
from neardup.frame.inputs import Input
from neardup.io.source import NONE_SKIPPED, Documents, Partition, Skipped, Source
from neardup.io.streams import input_notes, written_notes
from neardup.memory_plan import Workload
from neardup.options.how_read import OpenInput
from neardup.output.clean import CleanCorpus, Form
from neardup.spec import ShingleSpec
from neardup.threads import Pool, available_cores

#: The ids, among the columns that are kept.
_ID = "neardup.id"
#: Options that each of two corpora has; and the hint at one that only the first has.
_OF_EACH = re.compile("`(text|id|input_format|delimiter)`")
_SKIPPING = ", or leave such documents out with `skip_large`=True"


@contextmanager
def naming(prefix: str) -> Iterator[None]:
    """Have errors name the options of a second corpus, such as ``test_text``."""
    try:
        yield
    except NeardupError as error:
        if prefix:
            error.message = _OF_EACH.sub(rf"`{prefix}\1`", error.message)
            error.hint = _OF_EACH.sub(rf"`{prefix}\1`", error.hint.replace(_SKIPPING, ""))
        raise


@dataclass
class InputCorpus(OpenInput):
    """An input, and the sizes of its partitions once it was read.

    Attributes:
        reader: Goes through it.
        partitions: File and start of each partition that was read.
        counts: Documents of each.
        skipped: Documents that were left out.
        missing: Documents of each partition without text.
        check: Refuses a number of documents that the memory does not suffice for.
    """

    partitions: list[tuple[int, int]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    skipped: Skipped = NONE_SKIPPED
    missing: list[int] = field(default_factory=list)
    check: Callable[[int], None] | None = None
    _documents: int = 0
    _ids: list[pa.ChunkedArray[Any]] = field(default_factory=list)
    _columns: list[pa.Table] = field(default_factory=list)
    _unique: Ids = None

    def __post_init__(self) -> None:
        self.reader = Reader(self.source)

    @property
    def id_column(self) -> str | None:
        """Column with the ids; None where positions are the ids."""
        return self.source.id_column

    @property
    def ends(self) -> np.ndarray:
        """int64[partitions]: documents up to the end of each that was read."""
        return np.cumsum(np.array(self.counts, np.int64))

    @property
    def documents(self) -> int:
        """Documents that were read."""
        return self._documents

    def read(self, partition: Partition) -> Documents:
        """Read a partition; for any thread."""
        return partition.read(self.columns_read)

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The columns that are read besides texts."""
        return tuple(dict.fromkeys(name for name in (self.id_column, *self.extra) if name))

    def workload(self, threads: int | None, shingle: ShingleSpec) -> Workload:
        """Estimate the corpus, see `workload_of`."""
        return workload_of(self.source, self.columns_read, threads, shingle)

    def about(self, partition: Partition, documents: Documents) -> tuple[list[Any], pa.Table]:
        """Return what `enter` takes of a partition that was read; for any thread."""
        sizes = len(documents.text), documents.skipped, documents.missing
        about = [partition.file, partition.start, *sizes]
        columns: dict[str, Any] = {}
        if self.id_column:
            ids = documents.columns.column(self.id_column)
            columns[_ID] = id_array(ids, self.id_column)
        columns |= {name: documents.columns.column(name) for name in self.extra}
        return about, pa.table(columns)

    def enter(self, about: list[Any], table: pa.Table) -> None:
        """Note that a partition was read; in the order of the input."""
        file, start, count, skipped, missing = about
        self.partitions.append((file, start))
        self.counts.append(count)
        self._documents += count
        if self.check is not None:
            self.check(self._documents)
        self.skipped = Skipped.total([self.skipped, Skipped.of(skipped)])
        self.missing.append(missing)
        if self.id_column:
            self._ids.append(table.column(_ID))
        if self.extra:
            self._columns.append(table.select(self.extra))

    def fill(self, metadata: CorpusMetadata, partitions: slice, columns: pa.Table) -> None:
        """Take some partitions of the metadata of an engine, and the columns of these."""
        self.partitions = [(file, start) for file, start, _ in metadata.partitions[partitions]]
        self.counts = np.diff(metadata.ends, prepend=0)[partitions].tolist()
        self._documents = sum(self.counts)
        self.skipped = Skipped.total(metadata.skipped[partitions])
        self.missing = metadata.missing[partitions]
        if self.id_column in columns.column_names:
            self._ids = [id_array(columns.column(self.id_column), self.id_column)]
        if columns.num_columns:
            self._columns = [columns.select(list(self.extra))]

    def ids_of(self, table: pa.Table) -> Ids:
        """Return the ids of a partition, of which `about` has returned a table."""
        return table.column(_ID) if self.id_column else None

    def ids(self, scratch: Scratch | None = None) -> Ids:
        """Return the ids of all documents, once they are known to be unique.

        Args:
            scratch: Has them from the first call on; None for any amount of memory.

        Raises:
            DuplicateIdError: Two documents have the same id, or one has none.
        """
        if self.id_column is None:
            return None
        if self._unique is None:
            chunks = [chunk for ids in self._ids for chunk in ids.chunks]
            found: Any = pa.chunked_array(chunks or [pa.array([], pa.int64())])
            check_ids(found, self.id_column, self.describe, self.secret_ids)
            self._unique = one = cast(
                "pa.ChunkedArray[Any]", joined_ids(found, scratch or Scratch())
            )
            self._ids = [one]
        return self._unique

    def input(self) -> Input:
        """Return the input, once it was read."""
        return Input(self.reader, self.ends, self.how)

    def describe(self, position: int) -> str:
        """Return the file and the record of a document, for messages."""
        ends = self.ends
        partition = int(np.searchsorted(ends, position, side="right"))
        file = self.partitions[partition][0]
        first = next(number for number, (of, _) in enumerate(self.partitions) if of == file)
        begin = int(ends[first - 1]) if first else 0
        where = f"{self.source.files[file].path}: " if file >= 0 else ""
        return f"{where}record {position - begin + 1}"

    def text_notes(self, name: str = "") -> list[str]:
        """Return notes on records that were left out, and on files without texts."""
        files = [file for file, _ in self.partitions]
        parts = zip(files, self.counts, self.missing, strict=True)
        notes = [] if name else written_notes(self.source.files)
        notes += input_notes(self.skipped, self.source.files)
        if note := one_text(self.source):
            notes.append(f"{note}; {IF_LINES}")
        return notes + text_notes(self.source.files, parts, name)

    def column(self, name: str) -> pa.ChunkedArray[Any]:
        """Return one of the ``extra`` columns of all documents."""
        if not self._columns:
            return pa.chunked_array([pa.nulls(0)])
        return joined([table.select([name]) for table in self._columns]).column(0)

    def about_outputs(self, **output: Any) -> dict[str, Any]:
        """Return the members of a record on the corpus, once it was read, and on the clean one."""
        written = {"clean": True, "annotate": False, "tables": "parquet", **output}
        return {**self.record(self.ends), "output": written}

    def chosen(self, kept: np.ndarray, form: Form, pool: Pool) -> CleanCorpus:
        """Return what writes some of the documents, bool[documents]."""
        return CleanCorpus(self.reader, self.partitions, self.ends, kept, form, pool)


def workload_of(
    source: Source, columns: tuple[str, ...], threads: int | None, shingle: ShingleSpec
) -> Workload:
    """Estimate an input by its first partition; by its bytes where it is read only once."""
    number, char = threads or available_cores(), shingle.unit == "char"
    first = next(iter(source.partitions()), None) if source.rereadable else None
    if first is None:
        return Workload(0, source.total_bytes or 0, 0, 0, number, char)
    found = first.read(columns)
    scale = max(1.0, (source.total_bytes or 0) / max(1, first.size))
    documents, text, columns_size = len(found.text), found.text.nbytes, found.columns.nbytes
    size = int(documents * scale), int(text * scale), int(columns_size * scale)
    partition = text + columns_size
    return Workload(*size, 0, number, char, False, partition, documents, shingle.ignores)
