"""The corpus as a run goes through it: several times, chunk by chunk, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from neardup.core.threads import Pool
from neardup.corpus import Chunk, Corpus, Documents

__all__ = ["Source"]


class Source:
    """Chunks by number, cut again in each pass, so that none is held.

    Args:
        corpus: What is read. Where it can be read once only, its chunks are held after all.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._chunks: list[Chunk] | None = None if corpus.rereadable else []
        #: Documents that are held in memory, by number of the chunk.
        self.held: dict[int, Documents] = {}

    def chunks(self) -> Iterator[tuple[int, Chunk]]:
        """Cut the corpus; yield each chunk with its number."""
        if self._chunks:
            yield from enumerate(self._chunks)
            return
        for number, chunk in enumerate(self.corpus.chunks()):
            if self._chunks is not None:
                self._chunks.append(chunk)
            yield number, chunk

    def again(
        self,
        rows: Callable[[int], np.ndarray],
        counts: Callable[[int], int],
        pool: Pool,
        work: Callable[[int, np.ndarray, Documents], Any],
        first: int = 0,
        schema: Any = None,
    ) -> Iterator[Any]:
        """Read some documents of each chunk once more.

        Args:
            rows: Returns which documents of a chunk are wanted, int64[], ascending.
            counts: Returns how many documents a chunk has.
            pool: Threads that read.
            work: Called in them with the number of a chunk, the rows and their documents.
            first: Number of the first chunk that is looked at.
            schema: Of the tables that are wanted; None where only texts are.

        Yields:
            What ``work`` returned, chunk by chunk; None for chunks of which nothing is wanted.

        Raises:
            InputError: The source is no longer what it was.
        """

        def read(item: tuple[int, Chunk]) -> Any:
            number, chunk = item
            wanted = rows(number)
            if len(wanted) == 0:
                return None
            return work(number, wanted, self._read(number, chunk, wanted, counts(number), schema))

        # Few at a time: tables that wait to be written take much more room than their text.
        wanted = (item for item in self.chunks() if item[0] >= first)
        return pool.ordered(read, wanted, ahead=pool.threads)

    def _read(
        self, number: int, chunk: Chunk, rows: np.ndarray, count: int, schema: Any
    ) -> Documents:
        held = self.held.get(number)
        if held is None:
            return chunk.read_again(rows, count, schema)
        if len(rows) == count:
            return held
        return Documents(held.table.take(rows), held.text.take(rows), held.replaced, held.origin)
