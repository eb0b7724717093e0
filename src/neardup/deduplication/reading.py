"""A source as a run goes through it several times; the sets of the texts that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.deduplication.documents.metadata import CorpusMetadata
from neardup.files.scratch import Scratch
from neardup.io.formats.json_text import common_schema
from neardup.io.source import Documents, Partition, Source
from neardup.kernels.jaccard import Sets
from neardup.match.verifying import SET_WORDS, make_sets
from neardup.sketch.document_groups import groups_of, with_groups
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool


def as_compared(documents: Documents, within: str | None) -> pa.LargeStringArray:
    """Return the texts of documents as a recipe with that column takes them."""
    if within is None:
        return documents.text
    return with_groups(documents.text, groups_of(documents.columns.column(within), within))


def compared_again(
    partition: Partition, rows: np.ndarray, count: int, within: str | None
) -> pa.LargeStringArray:
    """Return the texts of some documents, read again, likewise; see `Partition.texts`."""
    texts = partition.texts(rows, count)
    return texts if within is None else with_groups(texts, groups_again(partition, rows, within))


def groups_again(partition: Partition, rows: np.ndarray, within: str) -> np.ndarray:
    """Return uint64[rows]: the groups of some documents, read again; see `groups_of`."""
    column = partition.read((within,)).columns.column(within)
    return groups_of(column.take(array_of(rows)), within)


class PartitionRows(NamedTuple):
    """Some documents of a partition."""

    number: int
    partition: Partition
    first: int  # position of its first document
    rows: np.ndarray | None  # int64[]: rows of those; None for all
    documents: int  # of the partition


class Reader:
    """Goes through a source; where that can be read only once, its partitions stay in memory."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._once: list[Partition] | None = None
        #: Documents that were read and are cached, by number of their partition.
        self.cached: dict[int, Documents] = {}

    @property
    def total_bytes(self) -> int | None:
        """Bytes of all partitions, about; None where they are not known."""
        return self.source.total_bytes

    @property
    def caches(self) -> bool:
        """Whether documents that were read may be cached."""
        return self.source.format != "text"

    def __reduce__(self) -> tuple[type[Reader], tuple[Source]]:
        return Reader, (self.source,)  # without documents

    def partitions(self) -> Iterator[tuple[int, Partition]]:
        if self.source.rereadable or self._once is not None:
            yield from enumerate(self._once or self.source.partitions())
            return
        partitions: list[Partition] = []
        for number, partition in enumerate(self.source.partitions()):
            partitions.append(partition)
            yield number, partition
        self._once = partitions

    def schema(self) -> pa.Schema:
        """Return the schema of the input as a table, for one without documents."""
        found = self.source.layout(0 if self.source.files else -1).schema
        return found or common_schema(part.schema() for _, part in self.partitions())

    def again(self, ends: np.ndarray, positions: np.ndarray) -> Iterator[PartitionRows]:
        """Yield the partitions that have some documents, by positions int64[], ascending.

        ``ends``, int64[partitions], are the documents up to the end of each.
        """
        starts = np.append(0, ends)
        bounds = np.searchsorted(positions, starts)
        for number, partition in self.partitions():
            low, high = bounds[number], bounds[number + 1]
            if high > low:
                partition.ask()
                first, last = starts[number : number + 2].tolist()
                rows = positions[low:high] - first
                yield PartitionRows(number, partition, first, rows, last - first)
            if high == len(positions):
                return

    def texts(self, selected: PartitionRows) -> pa.LargeStringArray:
        documents = self.cached.get(selected.number)
        if documents is None:
            rows = np.arange(selected.documents) if selected.rows is None else selected.rows
            return selected.partition.texts(rows, selected.documents)
        if selected.rows is None:
            return documents.text
        return documents.text.take(array_of(selected.rows))


class SetBuilder:
    """Reads the texts of some documents again and makes their sets.

    ``positions``, int32[m], are in keep order; ``groups``, uint64[documents], those of all
    documents, where the tokeniser takes them.
    """

    def __init__(
        self,
        corpus: CorpusMetadata,
        positions: np.ndarray,
        tokeniser: Tokeniser,
        scratch: Scratch,
        groups: np.ndarray | None = None,
    ) -> None:
        self._corpus, self._tokeniser, self._groups = corpus, tokeniser, groups
        self._number = scratch.filled(corpus.documents, np.int32, -1)
        self._number[positions] = np.arange(len(positions), dtype=np.int32)
        # Capacity for a shingle of each document, repetitions included, in the order of the input.
        self._in_order = np.flatnonzero(self._number >= 0)
        self._starts = np.zeros(len(self._in_order) + 1, dtype=np.int64)
        np.cumsum(corpus.shingles[self._in_order], dtype=np.int64, out=self._starts[1:])
        documents = len(positions)
        self._sets = Sets(
            scratch.empty(int(self._starts[-1]), np.uint64),
            scratch.empty(documents, np.int64),
            scratch.empty(documents, np.int32),
            scratch.empty((documents, SET_WORDS), np.uint64),
        )

    def build(self, reader: Reader, pool: Pool, advance: Callable[[int], None]) -> Sets:
        """Make the sets; ``advance`` is called with the number of documents done since."""
        selected = reader.again(self._corpus.ends, self._in_order)
        for done in pool.ordered(lambda rows: self._fill(reader, rows), selected):
            advance(done)
        return self._sets

    def _fill(self, reader: Reader, selected: PartitionRows) -> int:
        assert selected.rows is not None
        positions = selected.first + selected.rows
        low = int(np.searchsorted(self._in_order, positions[0]))
        start = int(self._starts[low])
        texts = reader.texts(selected)
        if self._groups is not None:
            texts = with_groups(texts, self._groups[positions])
        found = make_sets(self._tokeniser.sets(texts))
        self._sets.values[start : start + len(found.values)] = found.values
        numbers = self._number[positions]
        self._sets.begin[numbers] = start + found.begin
        self._sets.size[numbers] = found.size
        self._sets.bitmaps[numbers] = found.bitmaps
        return len(numbers)
