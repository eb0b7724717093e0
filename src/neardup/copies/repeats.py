"""Two passes over the texts: which runs of words occur earlier, and at which positions.

Anchors rule out: a run whose anchor has a key that no other anchor has is unique. Hashes of 125
bits decide for the others. No list of pairs is made, so that a passage that all documents have is
one group to sort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.copies.spill import Spill
from neardup.kernels import passages as kernels
from neardup.match.bucketing import group
from neardup.scratch import Scratch
from neardup.sketch.texts import Ragged
from neardup.sketch.tokenising import Tokeniser, batches
from neardup.threads import Pool

#: Bytes that a part of a spill should have, so that a few are in memory at the same time.
_PART = 24 << 20
_MOST_PARTS = 256


@dataclass(frozen=True)
class RunLength:
    """How runs are looked for: ``words`` tokens, anchored by ``window`` grams of ``gram``."""

    words: int

    @property
    def gram(self) -> int:
        # Short grams occur everywhere, and would rule out nothing.
        return self.words if self.words <= 5 else max(5, self.words // 2)

    @property
    def window(self) -> int:
        return self.words - self.gram + 1


class Groups(NamedTuple):
    """Which documents are compared with each other."""

    of: np.ndarray  # int32[documents], by number in keep order; -1 is compared with none
    others: bool  # sources are documents of other groups, else of the same one


class Repeats(NamedTuple):
    """All runs that occur twice, in ascending order of position."""

    position: np.ndarray  # uint64[runs]: document << 32 | token; numbers are those of keep order
    first: np.ndarray  # uint64[runs]: the first position of an equal run, which may be this one
    origin: np.ndarray  # uint64[runs]: the first earlier position; `kernels.NONE` where none is
    latest: np.ndarray  # uint64[runs]: the latest earlier position; `kernels.NONE` where none is
    documents: np.ndarray  # uint32[runs]: documents that have an equal run


class Marked(NamedTuple):
    """Some of all anchors."""

    bits: np.ndarray  # uint8[anchors / 8]: a bit for each, the lowest of a byte first
    anchors: int

    def of(self, first: int, last: int) -> np.ndarray:
        """Return bool[last - first]: which of these anchors they are."""
        bits = np.unpackbits(self.bits[first >> 3 : (last + 7) >> 3], bitorder="little")
        return bits[first & 7 :][: last - first].view(np.bool_)


@dataclass
class Corpus:
    """What is known of each document after the first pass, by position in the input."""

    tokens: np.ndarray  # int32[documents]
    anchors: np.ndarray  # int32[documents]
    numbers: np.ndarray  # int64[documents]: in keep order
    ends: np.ndarray  # int64[partitions]: documents up to the end of each

    @property
    def documents(self) -> int:
        return len(self.tokens)


class Finder:
    """Finds the repeated runs of a corpus whose texts are read twice.

    Args:
        words: Tokens of a run.
        tokeniser: Of the texts.
        pool: Threads.
        scratch: Arrays that grow with the corpus.
        memory: Bytes that rows may take before they go to files in ``folder``.
        folder: None for that of the system for temporary files.
    """

    def __init__(
        self,
        words: int,
        tokeniser: Tokeniser,
        pool: Pool,
        scratch: Scratch,
        memory: int = 256 << 20,
        folder: Path | None = None,
    ) -> None:
        self.length = RunLength(words)
        self._tokeniser, self._pool, self._scratch = tokeniser, pool, scratch
        self._memory, self._folder = memory, folder
        self.temporary = 0  # bytes that were written to files

    def _spill(self, columns: Sequence[npt.DTypeLike], size: int) -> Spill:
        parts = int(np.clip(-(-size // _PART), 1, _MOST_PARTS))
        return Spill(columns, parts, self._memory, self._folder)

    def anchors(self, size: int) -> Anchors:
        """Begin the first pass over about so many bytes of text."""
        # An anchor takes 16 bytes, and there are two in a window; a word has about 7 bytes.
        expected = size * 32 // (7 * (self.length.window + 1))
        return Anchors(self, self._spill([np.uint64, np.int64], expected))

    def repeats(
        self,
        corpus: Corpus,
        marked: Marked,
        read: Callable[[], Iterator[tuple[int, Callable[[np.ndarray], pa.LargeStringArray]]]],
        groups: Groups | None = None,
        boilerplate: int = 0,
    ) -> Repeats:
        """Read the texts with marked anchors again, and find their repeated runs.

        Args:
            corpus: All documents.
            marked: Anchors with keys that others have, as `Anchors.marked` returns them.
            read: Yields the number of each partition, and what reads rows of it, int64[].
            groups: Which documents are compared with each other; None for all.
            boilerplate: Documents from which on groups don't count for a run; 0 for never.
        """
        begins = np.zeros(corpus.documents + 1, np.int64)
        np.cumsum(corpus.anchors, dtype=np.int64, out=begins[1:])
        starts = np.append(0, corpus.ends)
        runs = self._spill(
            [np.uint64, np.uint64, np.uint64], 24 * marked.anchors * (self.length.window + 1) // 2
        )

        def work(item: tuple[int, Callable[[np.ndarray], pa.LargeStringArray]]) -> list[np.ndarray]:
            number, texts = item
            first, last = starts[number], starts[number + 1]
            chosen = marked.of(int(begins[first]), int(begins[last]))
            counts = corpus.anchors[first:last]
            of = np.repeat(np.arange(last - first), counts)
            rows = np.unique(of[chosen])
            if not len(rows):
                return []
            text = texts(rows)
            there = np.isin(of, rows)
            return self._runs(text, corpus.numbers[first + rows], chosen[there], runs.parts)

        for found in self._pool.ordered(work, read()):
            if found:
                *columns, ends = found
                runs.add_divided(columns, ends)
        return self._sources(runs, corpus, groups, boilerplate)

    def _runs(
        self, text: pa.LargeStringArray, numbers: np.ndarray, marked: np.ndarray, parts: int
    ) -> list[np.ndarray]:
        """Return hashes and positions of the runs of marked anchors, by part, and their ends."""
        parts_of: list[tuple[np.ndarray, ...]] = []
        done = 0
        for first, last, tokens in self.tokens_of(text):
            keys, since, counts = self.anchors_of(tokens)
            chosen = marked[done : done + len(keys)]
            done += len(keys)
            columns = [np.empty(len(tokens.values), np.uint64) for _ in range(4)]
            count = kernels.runs_of_anchors(
                *tokens,
                numbers[first:last],
                (keys, since, counts, chosen),
                self.length.words,
                *columns,
            )
            parts_of.append(tuple(column[:count].copy() for column in columns))
        *rows, keys = (np.concatenate(column) for column in zip(*parts_of, strict=True))
        order, ends = np.empty(len(keys), np.int64), np.empty(parts + 1, np.int64)
        kernels.divide(keys, parts, order, ends)
        return [*(row[order] for row in rows), ends]

    def tokens_of(self, text: pa.LargeStringArray) -> Iterator[tuple[int, int, Ragged]]:
        """Yield ranges of documents and their tokens, valid until the next one."""
        data, offsets = self._tokeniser.normalise(text)
        for first, last in batches(offsets):
            yield first, last, self._tokeniser.tokens(data, offsets[first : last + 1])[0]

    def anchors_of(self, tokens: Ragged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return keys, first runs, and anchors of each document."""
        keys, since = (
            np.empty(len(tokens.values), np.uint64),
            np.empty(len(tokens.values), np.int32),
        )
        counts = np.empty(len(tokens.offsets) - 1, np.int32)
        filled = kernels.window_anchors(
            *tokens, self.length.gram, self.length.window, keys, since, counts
        )
        return keys[:filled], since[:filled], counts

    def _sources(
        self, runs: Spill, corpus: Corpus, groups: Groups | None, boilerplate: int
    ) -> Repeats:
        documents = max(corpus.documents, 1)
        columns = [np.uint64, np.uint64, np.uint64, np.uint64, np.uint32]
        rows = self._spill(columns, 36 * runs.rows)
        # A spill of its own for each range of documents, which are then sorted one by one.
        share = -(-documents // rows.parts)

        def work(part: int) -> list[tuple[int, list[np.ndarray]]]:
            found = self._repeated(runs.take(part), groups, boilerplate)
            of = (found[0] >> np.uint64(32)).astype(np.int64) // share
            order = np.argsort(of, kind="stable")
            limits = np.searchsorted(of[order], np.arange(rows.parts + 1))
            return [
                (number, [column[order[low:high]] for column in found])
                for number, (low, high) in enumerate(pairwise(limits.tolist()))
                if high > low
            ]

        for ranges in self._pool.ordered(work, range(runs.parts), self._pool.threads):
            for number, found in ranges:
                rows.add(number, *found)
        self.temporary += runs.written
        table = [self._scratch.empty(rows.rows, column) for column in columns]
        filled = 0
        for number in range(rows.parts):
            found = rows.take(number)
            order = np.argsort(found[0])
            for column, values in zip(table, found, strict=True):
                column[filled : filled + len(order)] = values[order]
            filled += len(order)
        self.temporary += rows.written
        return Repeats(*table)

    def _repeated(
        self, columns: list[np.ndarray], groups: Groups | None, boilerplate: int
    ) -> list[np.ndarray]:
        """Return the columns of `Repeats`, of the runs of a part that occur twice."""
        high, low, position = columns
        if len(position) and not bool(np.all(position[1:] > position[:-1])):
            order = np.argsort(position)
            high, low, position = high[order], low[order], position[order]
        members, starts = group(high)
        found = [np.full(len(high), kernels.NONE) for _ in range(3)]
        documents = np.zeros(len(high), np.uint32)
        kernels.sources_of_runs(
            members,
            starts,
            low,
            position,
            self.length.words,
            _for_kernel(groups, boilerplate),
            (*found, documents),
        )
        kept = np.flatnonzero(found[0] != kernels.NONE)
        return [column[kept] for column in (position, *found, documents)]


def _for_kernel(
    groups: Groups | None, boilerplate: int
) -> tuple[np.ndarray, bool, int, np.ndarray]:
    limit = boilerplate or 1 << 32
    if groups is None:
        return np.empty(0, np.int32), False, limit, np.empty((3, 0), np.int64)
    count = int(groups.of.max(initial=-1)) + 1
    return groups.of, groups.others, limit, np.full((3, count), -1, np.int64)


class Anchors:
    """The first pass: partition by partition, in the order of the input."""

    def __init__(self, finder: Finder, spill: Spill) -> None:
        self._finder, self._spill = finder, spill
        self._tokens, self._counts = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        self._ends: list[int] = []
        self._anchors = self._documents = 0

    def of(self, text: pa.LargeStringArray) -> list[np.ndarray]:
        """Return what `add` takes of the texts of a partition; from any thread."""
        tokens, counts = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        keys = [np.empty(0, np.uint64)]
        for _, _, found in self._finder.tokens_of(text):
            key, _, count = self._finder.anchors_of(found)
            keys.append(key)
            counts.append(count)
            tokens.append(np.diff(found.offsets).astype(np.int32))
        every = np.concatenate(keys)
        order, ends = np.empty(len(every), np.int64), np.empty(self._spill.parts + 1, np.int64)
        kernels.divide(every, self._spill.parts, order, ends)
        return [np.concatenate(tokens), np.concatenate(counts), every[order], order, ends]

    def add(self, found: list[np.ndarray]) -> None:
        tokens, counts, keys, order, ends = found
        self._tokens.append(tokens)
        self._counts.append(counts)
        self._spill.add_divided([keys, order + self._anchors], ends)
        self._anchors += len(keys)
        self._documents += len(tokens)
        self._ends.append(self._documents)

    def corpus(self) -> Corpus:
        """Return all documents, numbered in the order of the input."""
        tokens, counts = np.concatenate(self._tokens), np.concatenate(self._counts)
        ends = np.array(self._ends, np.int64)
        return Corpus(tokens, counts, np.arange(self._documents), ends)

    def marked(self, pool: Pool, scratch: Scratch) -> Marked:
        """Return the anchors with a key that another one has too."""
        bits = scratch.filled(-(-self._anchors // 8), np.uint8, 0)
        count = 0

        def twice(part: int) -> np.ndarray:
            keys, anchors = self._spill.take(part)
            return np.asarray(anchors[group(keys).members])

        for anchors in pool.ordered(twice, range(self._spill.parts), pool.threads):
            kernels.mark(bits, anchors)
            count += len(anchors)
        self._finder.temporary += self._spill.written
        return Marked(bits, count)
