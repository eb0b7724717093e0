"""A source as a run goes through it: several times, holding what is worth it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.io.source import Documents, Partition, Source


class Wanted(NamedTuple):
    """A partition of which some documents are wanted."""

    number: int
    partition: Partition
    first: int  # position of its first document
    rows: np.ndarray | None  # int64[]: rows of those; None for all
    documents: int  # of the partition


class Reader:
    """Goes through a source; where that can be read only once, its partitions are held."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._once: list[Partition] | None = None
        #: Documents that were read and held, by number of their partition.
        self.held: dict[int, Documents] = {}

    def partitions(self) -> Iterator[tuple[int, Partition]]:
        """Yield all partitions with their numbers."""
        if self.source.rereadable or self._once is not None:
            yield from enumerate(self._once or self.source.partitions())
            return
        held: list[Partition] = []
        for number, partition in enumerate(self.source.partitions()):
            held.append(partition)
            yield number, partition
        self._once = held

    def again(self, ends: np.ndarray, positions: np.ndarray) -> Iterator[Wanted]:
        """Yield the partitions that have some documents, by positions int64[], ascending.

        ``ends``, int64[partitions], are the documents up to the end of each.
        """
        starts = np.append(0, ends)
        bounds = np.searchsorted(positions, starts)
        for number, partition in self.partitions():
            low, high = bounds[number], bounds[number + 1]
            if high > low:
                first, last = starts[number : number + 2].tolist()
                rows = positions[low:high] - first
                yield Wanted(number, partition, first, rows, last - first)
            if high == len(positions):
                return

    def texts(self, wanted: Wanted) -> pa.LargeStringArray:
        """Return the wanted texts of a partition."""
        held = self.held.get(wanted.number)
        if held is None:
            rows = np.arange(wanted.documents) if wanted.rows is None else wanted.rows
            return wanted.partition.texts(rows, wanted.documents)
        if wanted.rows is None:
            return held.text
        return held.text.take(array_of(wanted.rows))
