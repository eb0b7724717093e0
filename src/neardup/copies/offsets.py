"""Characters of the original texts at which words begin and end, by one more pass over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from neardup.copies.finding import FoundPassages, Inputs
from neardup.corpora.corpus import InputCorpus
from neardup.engines.reading import PartitionRows
from neardup.files.scratch import Scratch
from neardup.sketch.spans import ends_of
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool

_TOKEN = np.uint64((1 << 33) - 1)
#: Keys that are looked at together.
_STEP = 1 << 20


def key_of(position: np.ndarray, end: bool) -> np.ndarray:
    """Return uint64[asked] for the starts, or the ends, of words.

    ``position``, uint64[asked], is document << 32 | word; of ends that of the last word.
    """
    return position << np.uint64(1) | np.uint64(end)


class Offsets:
    """Characters, by `key_of` words of documents in the order of the input.

    Args:
        keys: The words asked for, in batches, ``total`` in all.
        total: At most.
        scratch: Arrays that grow with the corpus.
    """

    def __init__(self, keys: Iterable[np.ndarray], total: int, scratch: Scratch) -> None:
        every = scratch.empty(total, np.uint64)
        filled = 0
        for batch in keys:
            every[filled : filled + len(batch)] = batch
            filled += len(batch)
        every = every[:filled]
        every.sort()
        kept = 0
        for low in range(0, filled, _STEP):  # equal ones once
            batch = _distinct(every[low : low + _STEP])
            batch = batch[1:] if kept and batch[0] == every[kept - 1] else batch
            every[kept : kept + len(batch)] = batch
            kept += len(batch)
        self.keys = every[:kept]
        self.values = scratch.empty(kept, np.int64)

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
        parts = [np.empty(0, np.int64)]
        for at in range(low, high, _STEP):
            batch = self.keys[at : min(at + _STEP, high)] >> np.uint64(33)
            parts.append(_distinct(batch).astype(np.int64) - first)
        documents = _distinct(np.concatenate(parts))

        def work(selected: PartitionRows) -> None:
            assert selected.rows is not None
            positions = selected.first + selected.rows
            limits = np.array([positions[0], positions[-1] + 1]) + first
            begin, end = np.searchsorted(
                self.keys[low:high], limits.astype(np.uint64) << np.uint64(33)
            ).tolist()
            keys = self.keys[low + begin : low + end]
            rows = np.searchsorted(positions, (keys >> np.uint64(33)).astype(np.int64) - first)
            asked = (keys & _TOKEN).astype(np.int64)
            found = ends_of(tokeniser, reader.texts(selected), rows, asked)
            self.values[low + begin : low + end] = found

        for _ in pool.ordered(work, reader.again(ends, documents)):
            pass


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return sorted values, each once."""
    kept = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=kept[1:])
    return np.asarray(values[kept])


def in_input(found: FoundPassages, positions: np.ndarray) -> np.ndarray:
    """Return word positions, uint64[], with the document's position in the input for its number."""
    documents: Any = found.positions[(positions >> np.uint64(32)).astype(np.int64)]
    low = positions & np.uint64(0xFFFFFFFF)
    return np.asarray(documents.astype(np.uint64) << np.uint64(32) | low)
