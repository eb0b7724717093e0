"""Shingle sets of the documents that are compared: the second pass over the texts."""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from neardup.engines.memory import Scratch, reserve
from neardup.engines.metadata import Corpus
from neardup.engines.reading import Reader, Wanted
from neardup.io.source import unwritable
from neardup.kernels.jaccard import Sets, fill_bitmaps
from neardup.match.verifying import SET_WORDS
from neardup.sketch.tokenising import Tokeniser
from neardup.state.run_state import RunState
from neardup.threads import Pool

_STAGE = "sets"


class SetBuilder:
    """Reads the texts of some documents again and makes their sets.

    In memory while there is room; else in a mapped file of the run folder, where a run that was
    killed finds them again. ``positions``, int32[m], are in keep order.
    """

    def __init__(
        self,
        corpus: Corpus,
        positions: np.ndarray,
        tokeniser: Tokeniser,
        scratch: Scratch,
        state: RunState | None,
    ) -> None:
        self._corpus, self._tokeniser = corpus, tokeniser
        self._number = scratch.filled(corpus.documents, np.int32, -1)
        self._number[positions] = np.arange(len(positions), dtype=np.int32)
        # Room for a shingle of each document, repetitions included, in the order of the input.
        self._in_order = np.flatnonzero(self._number >= 0)
        self._starts = np.zeros(len(self._in_order) + 1, dtype=np.int64)
        np.cumsum(corpus.shingles[self._in_order], dtype=np.int64, out=self._starts[1:])
        total = int(self._starts[-1])
        # What an interrupted run has stored is used, also where there is more memory now.
        stored = state is not None and state.count(_STAGE) > 0
        self._state = state if stored or not scratch.fits(8 * total) else None
        if self._state is None:
            values = scratch.empty(total, np.uint64)
        else:
            values = _mapped(self._state.scratch(_STAGE), total)
        documents = len(positions)
        self._sets = Sets(
            values,
            scratch.empty(documents, np.int64),
            scratch.empty(documents, np.int32),
            scratch.empty((documents, SET_WORDS), np.uint64),
        )

    def build(self, reader: Reader, pool: Pool, advance: Callable[[int], None]) -> Sets:
        """Make the sets; ``advance`` is called with the number of documents done since."""

        def rows(first: int, last: int) -> np.ndarray:
            low, high = np.searchsorted(self._in_order, [first, last])
            return self._in_order[low:high] - first

        wanted = reader.again(self._corpus, rows)
        for done in pool.ordered(lambda some: self._fill(reader, some), wanted):
            advance(done)
        return self._sets

    def _fill(self, reader: Reader, wanted: Wanted) -> int:
        assert wanted.rows is not None
        first, _ = self._corpus.limits(wanted.number)
        positions = first + wanted.rows
        low = int(np.searchsorted(self._in_order, positions[0]))
        start = int(self._starts[low])
        size = self._found_again(wanted.number, start, len(positions))
        if size is None:
            found = self._tokeniser.sets(reader.texts(wanted))
            self._sets.values[start : start + len(found.values)] = found.values
            size = np.diff(found.offsets).astype(np.int32)
            if self._state is not None:
                checksum = zlib.crc32(found.values.data)
                self._state.put(_STAGE, wanted.number, size.data, checksum)
        begin = start + np.cumsum(size, dtype=np.int64) - size
        bitmaps = np.empty((len(size), SET_WORDS), dtype=np.uint64)
        fill_bitmaps(self._sets.values, begin, size, True, bitmaps)
        numbers = self._number[positions]
        self._sets.begin[numbers] = begin
        self._sets.size[numbers] = size
        self._sets.bitmaps[numbers] = bitmaps
        return len(size)

    def _found_again(self, number: int, start: int, documents: int) -> np.ndarray | None:
        """Return the sizes of a partition's sets, if they are in the file already."""
        if self._state is None or number not in self._state.done(_STAGE):
            return None
        size = np.frombuffer(self._state.get(_STAGE, number), dtype=np.int32)
        values = self._sets.values[start : start + int(size.sum())]
        stored = self._state.about(_STAGE, number)
        return size if len(size) == documents and zlib.crc32(values.data) == stored else None


def _mapped(path: Path, values: int) -> np.ndarray:
    """Return uint64[values] that are mapped to a file; OutputError if the disk is full."""
    size = max(1, 8 * values)
    try:
        with path.open("r+b") as file:
            if os.fstat(file.fileno()).st_size != size:
                file.truncate(0)
                reserve(file.fileno(), size)
                file.truncate(size)
            return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint64, values)
    except OSError as error:
        raise unwritable(path, error) from error
