"""Documents that stay: those of an old corpus, or those that an old run has kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.arrays import ArrowArray, array_of
from neardup.corpora.corpus import InputCorpus, workload_of
from neardup.deduplication.documents.identifiers import take_ids
from neardup.deduplication.reading import Reader
from neardup.frame.inputs import Selection
from neardup.io.source import Added, Cached, Documents, Partition, Records, Rows
from neardup.memory_plan import Workload
from neardup.results.results import Results
from neardup.sketch.texts import as_text
from neardup.spec import ShingleSpec


@dataclass
class EarlierDocuments:
    """Documents that stay, and come first in keep order.

    Attributes:
        reader: Goes through them.
        load: About their number and size, before they are read.
        ids: Returns the ids of some, by their positions int64[], once they were read.
        corpus: They as an input, which gets their metadata; None where a run has kept them.
    """

    reader: Reader
    load: Workload
    ids: Callable[[np.ndarray], ArrowArray]
    corpus: InputCorpus | None = None

    @classmethod
    def of_corpus(cls, corpus: InputCorpus, shingle: ShingleSpec) -> EarlierDocuments:
        """Return all documents of a corpus that was opened."""
        load = corpus.workload(1, shingle)
        reader = OldReader(corpus.reader, corpus.columns_read)
        return cls(reader, load, lambda rows: take_ids(corpus.ids(), rows), corpus)

    @classmethod
    def of_run(cls, results: Results) -> EarlierDocuments:
        """Return the kept documents of a run, in the order of its input.

        Raises:
            InputError: The input can't be read again.
        """
        selection, ids = results.kept_documents(), results.ids
        kept = np.flatnonzero(results.array("kept"))
        if results.positions_of is not None:
            kept = kept[np.argsort(results.positions_of[kept])]
        reader = selection.input.reader
        recipe = results.recipe
        columns = () if recipe.within is None else (recipe.within,)
        load = workload_of(reader.source, columns, 1, recipe.shingle)
        text = len(kept) * load.text // max(1, load.documents)
        load = replace(load, documents=len(kept), text=text, columns=ids.nbytes)
        of_kept = OldReader(reader, columns, selection)
        return cls(of_kept, load, lambda rows: take_ids(ids, kept[rows]))


class OldReader(Reader):
    """Goes through an old corpus, of which the texts and some columns are read.

    Args:
        reader: Goes through the input.
        columns: Those columns.
        selection: Its documents; None for all of the input.
    """

    def __init__(
        self, reader: Reader, columns: tuple[str, ...], selection: Selection | None = None
    ) -> None:
        super().__init__(reader.source)
        self._reader, self._columns, self._selection = reader, columns, selection

    def partitions(self) -> Iterator[tuple[int, Partition]]:
        chosen = self._selection
        if chosen is None:
            for number, partition in self._reader.partitions():
                yield number, OldPartition(partition, self._columns)
            return
        every = self._reader.again(chosen.input.ends, chosen.positions)
        for number, one in enumerate(every):
            yield number, OldPartition(one.partition, self._columns, one.rows, one.documents)


class OldFirst(Reader):
    """Goes through an old corpus, then through a new one."""

    def __init__(self, old: Reader, new: Reader) -> None:
        super().__init__(new.source)
        self._old, self._new = old, new
        #: Partitions of the old corpus, once these were gone through.
        self.old_partitions = 0

    @property
    def total_bytes(self) -> int | None:
        sizes = self._old.total_bytes, self._new.total_bytes
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def caches(self) -> bool:
        return self._old.caches and self._new.caches

    def partitions(self) -> Iterator[tuple[int, Partition]]:
        number = 0
        for _, partition in self._old.partitions():
            yield number, partition
            number += 1
        self.old_partitions = number
        for _, partition in self._new.partitions():
            yield number, partition
            number += 1

    def give_cached(self) -> None:
        """Leave the documents that are cached to the new corpus, which is read again."""
        cached, first = self.cached, self.old_partitions
        self._new.cached = {n - first: cached[n] for n in list(cached) if n >= first}
        cached.clear()


class OldPartition(Partition):
    """A partition of an old corpus.

    Args:
        partition: It, as a part of the input.
        columns: Those that are read besides the texts, whatever is asked for.
        rows: int64[], ascending: its documents; None for all.
        documents: Of the partition as a part of the input, where there are ``rows``.
    """

    def __init__(
        self, partition: Partition, columns: tuple[str, ...], rows: Rows = None, documents: int = 0
    ) -> None:
        self.file, self.start, self.size = partition.file, partition.start, partition.size
        self._partition, self._columns = partition, columns
        self._rows, self._documents = rows, documents

    def ask(self) -> None:
        self._partition.ask()

    def parsed(self, columns: tuple[str, ...] | None) -> Documents:
        if self._rows is None:
            return self._partition.read(self._columns)
        found = pa.table({})
        if self._columns:
            found = self._partition.read(self._columns).columns.take(array_of(self._rows))
        texts = as_text(self._partition.texts(self._rows, self._documents))
        return Documents(texts, found, 0)

    def texts(self, rows: np.ndarray, count: int) -> pa.LargeStringArray:
        if self._rows is None:
            return self._partition.texts(rows, count)
        return self._partition.texts(self._rows[rows], self._documents)

    def records(
        self, rows: Rows, count: int, added: Added = None, cached: Cached = None
    ) -> Records:
        return self._partition.records(*self._of_input(rows, count), added)

    def table(self, rows: Rows, count: int, added: Added = None, cached: Cached = None) -> pa.Table:
        return self._partition.table(*self._of_input(rows, count), added)

    def schema(self) -> pa.Schema:
        return self._partition.schema()

    def _of_input(self, rows: Rows, count: int) -> tuple[Rows, int]:
        if self._rows is None:
            return rows, count
        return self._rows if rows is None else self._rows[rows], self._documents
