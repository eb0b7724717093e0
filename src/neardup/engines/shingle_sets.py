"""Shingle sets of the documents that are compared: the second pass over the texts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neardup.engines.memory import Scratch
from neardup.engines.metadata import Corpus
from neardup.engines.reading import Reader, Wanted
from neardup.kernels.jaccard import Sets, fill_bitmaps
from neardup.match.verifying import SET_WORDS
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool


class SetBuilder:
    """Reads the texts of some documents again and makes their sets.

    ``positions``, int32[m], are in keep order.
    """

    def __init__(
        self, corpus: Corpus, positions: np.ndarray, tokeniser: Tokeniser, scratch: Scratch
    ) -> None:
        self._corpus, self._tokeniser = corpus, tokeniser
        self._number = scratch.filled(corpus.documents, np.int32, -1)
        self._number[positions] = np.arange(len(positions), dtype=np.int32)
        # Room for a shingle of each document, repetitions included, in the order of the input.
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
        wanted = reader.again(self._corpus.ends, self._in_order)
        for done in pool.ordered(lambda some: self._fill(reader, some), wanted):
            advance(done)
        return self._sets

    def _fill(self, reader: Reader, wanted: Wanted) -> int:
        assert wanted.rows is not None
        positions = wanted.first + wanted.rows
        low = int(np.searchsorted(self._in_order, positions[0]))
        start = int(self._starts[low])
        found = self._tokeniser.sets(reader.texts(wanted))
        self._sets.values[start : start + len(found.values)] = found.values
        size = np.diff(found.offsets).astype(np.int32)
        begin = start + np.cumsum(size, dtype=np.int64) - size
        bitmaps = np.empty((len(size), SET_WORDS), dtype=np.uint64)
        fill_bitmaps(self._sets.values, begin, size, True, bitmaps)
        numbers = self._number[positions]
        self._sets.begin[numbers] = begin
        self._sets.size[numbers] = size
        self._sets.bitmaps[numbers] = bitmaps
        return len(size)
