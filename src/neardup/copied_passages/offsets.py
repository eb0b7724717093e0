"""Characters of the original texts at which words begin and end, by one more pass over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from neardup.copied_passages.finding import FoundPassages, Inputs
from neardup.corpora.corpus import InputCorpus
from neardup.deduplication.reading import PartitionRows
from neardup.files.scratch import Scratch
from neardup.sketch.spans import ends_of
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool

_TOKEN = np.uint64((1 << 33) - 1)
#: Keys that are looked at together, and keys that are merged, at most: it takes memory for half.
_STEP, _MERGED = 1 << 20, 1 << 23


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
        pool: Its threads read documents, and sort.
    """

    def __init__(
        self, keys: Iterable[np.ndarray], total: int, scratch: Scratch, pool: Pool
    ) -> None:
        every = scratch.empty(total, np.uint64)
        filled = 0
        for batch in pool.ordered(np.sort, keys):
            every[filled : filled + len(batch)] = batch
            filled += len(batch)
        every = every[:filled]
        every.sort(kind="stable" if filled <= _MERGED else None)  # batches ascend
        kept = 0
        for low in range(0, filled, _STEP):  # equal ones once
            batch = _distinct(every[low : low + _STEP])
            batch = batch[1:] if kept and batch[0] == every[kept - 1] else batch
            every[kept : kept + len(batch)] = batch
            kept += len(batch)
        self.keys = every[:kept]
        self.values = scratch.empty(kept, np.int64)
        self._pool = pool

    def of(self, keys: np.ndarray) -> np.ndarray:
        """Return int64[asked]: code points of the original text before each."""
        return np.asarray(self.values[np.searchsorted(self.keys, keys)])

    def fill(
        self,
        inputs: Inputs,
        tokeniser: Tokeniser,
        advance: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Read the documents that are asked about."""
        first = 0
        for corpus in inputs.all:
            last = first + corpus.documents
            limits = np.array([first, last], np.uint64) << np.uint64(33)
            low, high = np.searchsorted(self.keys, limits).tolist()
            self._fill(corpus, (first, low, high), tokeniser)
            advance(corpus.documents)
            first = last

    def _fill(
        self,
        corpus: InputCorpus,
        rows: tuple[int, int, int],
        tokeniser: Tokeniser,
    ) -> None:
        """Fill rows, from the first to the last, of a corpus with so many documents before it."""
        first, low, high = rows
        reader, every = corpus.reader, self.keys[low:high]

        def work(selected: PartitionRows) -> None:
            begin, end = low + self._bounds(every, first, selected)
            keys = self.keys[begin:end]
            documents = (keys >> np.uint64(33)).astype(np.int64) - first
            positions = _distinct(documents)
            texts = reader.texts(selected._replace(rows=positions - selected.first))
            asked = (keys & _TOKEN).astype(np.int64)
            rows = np.searchsorted(positions, documents)
            self.values[begin:end] = ends_of(tokeniser, texts, rows, asked)

        def asked_for() -> Iterator[PartitionRows]:
            begin = 0
            for (number, partition), count in zip(reader.partitions(), corpus.counts, strict=False):
                selected = PartitionRows(number, partition, begin, None, count)
                done = self._bounds(every, first, selected)
                if done[1] > done[0]:
                    partition.ask()
                    yield selected
                if done[1] == high - low:
                    return
                begin += count

        for _ in self._pool.ordered(work, asked_for()):
            pass

    @staticmethod
    def _bounds(keys: np.ndarray, before: int, selected: PartitionRows) -> np.ndarray:
        """Return int64[2]: the keys of a partition; so many documents are before its corpus."""
        first = before + selected.first
        limits = np.array([first, first + selected.documents], np.uint64) << np.uint64(33)
        return np.searchsorted(keys, limits)


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
