"""Characters of the original texts at which words begin and end, by one more pass over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from neardup.copies.finding import Found, Inputs
from neardup.copies.spans import ends_of
from neardup.corpora.corpus import InputCorpus
from neardup.engines.reading import Wanted
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool

_TOKEN = np.uint64((1 << 33) - 1)


def key_of(position: np.ndarray, end: bool) -> np.ndarray:
    """Return uint64[asked] for the starts, or the ends, of words.

    ``position``, uint64[asked], is document << 32 | word; of ends that of the last word.
    """
    return position << np.uint64(1) | np.uint64(end)


class Offsets:
    """Characters, by `key_of` words of documents in the order of the input."""

    def __init__(self, keys: np.ndarray) -> None:
        self.keys = np.unique(keys)
        self.values = np.empty(len(self.keys), np.int64)

    def of(self, keys: np.ndarray) -> np.ndarray:
        """Return int64[asked]: code points of the original text before each."""
        return self.values[np.searchsorted(self.keys, keys)]

    def fill(
        self,
        inputs: Inputs,
        tokeniser: Tokeniser,
        pool: Pool,
        advance: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Read the documents that are asked about."""
        first = 0
        for corpus in inputs.all:
            last = first + corpus.documents
            limits = np.array([first, last], np.uint64) << np.uint64(33)
            low, high = np.searchsorted(self.keys, limits).tolist()
            self._fill(corpus, (first, low, high), tokeniser, pool)
            advance(corpus.documents)
            first = last

    def _fill(
        self,
        corpus: InputCorpus,
        rows: tuple[int, int, int],
        tokeniser: Tokeniser,
        pool: Pool,
    ) -> None:
        """Fill rows, from the first to the last, of a corpus with so many documents before it."""
        first, low, high = rows
        reader, ends = corpus.reader, np.cumsum(np.array(corpus.counts, np.int64))
        of = (self.keys[low:high] >> np.uint64(33)).astype(np.int64) - first
        documents = np.unique(of)

        def work(wanted: Wanted) -> None:
            assert wanted.rows is not None
            positions = wanted.first + wanted.rows
            begin, end = np.searchsorted(of, [positions[0], positions[-1] + 1]).tolist()
            rows = np.searchsorted(positions, of[begin:end])
            asked = (self.keys[low + begin : low + end] & _TOKEN).astype(np.int64)
            found = ends_of(tokeniser, reader.texts(wanted), rows, asked)
            self.values[low + begin : low + end] = found

        for _ in pool.ordered(work, reader.again(ends, documents)):
            pass


def in_input(found: Found, positions: np.ndarray) -> np.ndarray:
    """Return word positions, uint64[], with the document's position in the input for its number."""
    documents: Any = found.positions[(positions >> np.uint64(32)).astype(np.int64)]
    low = positions & np.uint64(0xFFFFFFFF)
    return np.asarray(documents.astype(np.uint64) << np.uint64(32) | low)
