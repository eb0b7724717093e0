"""Two passes over the texts: which runs of words occur earlier, and at which positions.

Anchors rule out: a run whose anchor has a key that no other anchor has is unique. Hashes of 125
bits decide for the others. No list of pairs is made: a passage that all documents have is one group
to sort.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, numbers
from neardup.copied_passages.repeated.entered_documents import Corpus
from neardup.copied_passages.repeated.equal_rows import Groups, Rule, in_order
from neardup.copied_passages.repeated.hashed_runs import HashedRuns
from neardup.copied_passages.repeated.run_sources import RunSources
from neardup.copied_passages.repeated.search_progress import Entered
from neardup.copied_passages.repeated.space import Space
from neardup.copied_passages.repeated.spill import Allocate, Spill
from neardup.copied_passages.work import Work
from neardup.io.source import Partition, changed
from neardup.kernels.passages.anchoring import (
    divide,
    equal_contents,
    join_anchors,
    mark,
    read_marks,
)
from neardup.kernels.passages.hashing import contents_of_anchors
from neardup.match.bucketing import group
from neardup.match.verifying import taken
from neardup.sketch.run_anchors import RunAnchors, RunLength, anchors_of
from neardup.sketch.short_texts import short_texts
from neardup.sketch.texts import Ragged
from neardup.sketch.tokenising import Tokeniser, batches
from neardup.threads import Local

#: Types of keys, rows and contents of anchors.
ANCHOR = (np.uint64, np.int64, np.uint64)
#: One of so many anchors has a key that another one has, is guessed.
_MARKED = 4
#: Columns of the numbers that are entered of each document.
_TOKENS, _ANCHORS, _SHORT = "neardup.tokens", "neardup.anchors", "neardup.short"


class Again(NamedTuple):
    """A partition that is read again."""

    number: int
    partition: Partition
    texts: Callable[[np.ndarray], pa.LargeStringArray]  # of some rows, int64[]


class MarkedAnchors(NamedTuple):
    """Some of all anchors."""

    bits: np.ndarray  # uint8[anchors / 4]: two bits for each, see `mark`
    anchors: int

    def of(self, first: int, last: int, allocate: Allocate = np.empty) -> np.ndarray:
        """Return uint8[last - first]: 0, or the mark of the anchor, see `equal_contents`."""
        found = allocate(last - first, np.dtype(np.uint8))
        read_marks(self.bits, first, found)
        return found


class Finder:
    """Finds the repeated runs of a corpus whose texts are read twice.

    Args:
        words: Tokens of a run.
        tokeniser: Of the texts.
        work: Threads, memory, and the steps that are done.
    """

    def __init__(self, words: int, tokeniser: Tokeniser, work: Work) -> None:
        self.length = RunLength(words)
        self._tokeniser, self.work = tokeniser, work
        self.space = Space(work)
        self.cache = _TokenCache(work.cached)
        self._hashed = Local(lambda: HashedRuns(words, self.space.allocate))

    def anchors(self, size: int) -> Anchors:
        """Begin the first pass over about so many bytes of text."""
        # An anchor takes 24 bytes, and there are two in a window; a word has about 7 bytes.
        expected = size * 48 // (7 * (self.length.window + 1))
        anchors = self.space.spill("anchors", ANCHOR, self.space.parts(expected))
        # A run takes 18 bytes; a quarter of all have an anchor that another one equals, or more.
        expected = size * 18 // (7 * _MARKED)
        self.runs = self.space.spill("runs", [np.uint64], self.space.parts(expected))
        return Anchors(self, anchors)

    def repeats(
        self,
        corpus: Corpus,
        marked: MarkedAnchors,
        read: Callable[[int, Callable[[int], None]], Iterator[Again]],
        groups: Groups | None = None,
        boilerplate: int = 0,
        check: Callable[[], None] = lambda: None,
    ) -> np.ndarray:
        """Read the texts with marked anchors again, and find their repeated runs.

        Args:
            corpus: All documents.
            marked: Anchors with keys that others have, as `Anchors.marked` returns them.
            read: Yields each partition from one on, and counts documents that were read.
            groups: Which documents are compared with each other; None for all.
            boilerplate: Documents from which on groups don't count for a run; 0 for never.
            check: Raises an error if the texts are others now; is called once they were read.

        Returns:
            uint64[segments, 5], ascending: rows of segments of all runs that equal an earlier one,
            see `neardup.kernels.passages.run_segments`.

        Raises:
            FormatError: A document has other anchors than the first time.
        """
        starts = np.append(0, corpus.ends)
        limits = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        sizes = [int(corpus.anchors[low:high].sum(dtype=np.int64)) for low, high in limits]
        begins = np.append(0, np.cumsum(sizes, dtype=np.int64))  # anchors before each partition
        done, runs = self.work.progress.partitions, self.runs

        def work(item: Again) -> tuple[int, tuple[np.ndarray, np.ndarray] | None]:
            number, _, texts = item
            first, last = starts[number], starts[number + 1]
            limits = int(begins[number]), int(begins[number + 1])
            chosen = marked.of(*limits, self.space.allocate)
            counts = corpus.anchors[first:last]
            chosen_of = np.zeros(len(counts), np.bool_)
            chosen_of[np.repeat(np.arange(len(counts)), counts)[chosen > 0]] = True
            rows = np.flatnonzero(chosen_of)
            if not len(rows):
                return number, None
            if len(rows) < len(counts):
                chosen = chosen[np.repeat(chosen_of, counts)]
            found = self.cache.pop(number, rows)
            if found is None:
                found = self.tokens_of(texts(rows))
            numbers = corpus.numbers[first + rows]
            return number, self._runs(found, numbers, chosen, counts[rows])

        with self.work.clock.stage("read again", corpus.documents) as advance:
            again = read(done, advance)
            for number, found in self.work.pool.ordered(work, again, self.work.begun):
                if found is not None:
                    words, ends = found
                    runs.add_divided([words], ends)
                if runs.is_full:
                    self.work.progress.put_runs(runs, number + 1)
        check()  # what follows takes the positions of both passes for those of one text
        rule = Rule(self.length.words, groups, boilerplate)
        return RunSources(self.space, runs, corpus, rule).rows()

    def _runs(
        self,
        batches: Iterable[Ragged],
        numbers: np.ndarray,
        marks: np.ndarray,
        counts: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return records of the runs of marked anchors, by part, and where each part begins.

        Args:
            batches: Tokens of some documents each.
            numbers: int64[documents], in keep order.
            marks: uint8[anchors] of all documents.
            counts: int32[documents], the anchors that each had in the first pass.
        """
        hashed = self._hashed()
        hashed.begin()
        first = begin = 0
        for tokens in batches:
            keys, since, found = self.anchors_of(tokens)
            last, end = first + len(found), begin + len(keys)
            if not np.array_equal(found, counts[first:last]):
                raise changed("the input")
            hashed.add(tokens, numbers[first:last], (keys, since, found, marks[begin:end]))
            first, begin = last, end
        return hashed.divided(self.runs.parts)

    def tokens_of(self, text: pa.LargeStringArray) -> Iterator[Ragged]:
        """Yield the tokens of some documents at a time, valid until the next ones."""
        data, offsets = self._tokeniser.normalise(text)
        for first, last in batches(offsets):
            yield self._tokeniser.tokens(data, offsets[first : last + 1])[0]

    def rows_of(self, tokens: Ragged, anchors: RunAnchors, first: int) -> list[np.ndarray]:
        """Return keys uint64[], rows int64[] and contents uint64[] of anchors, see `join_anchors`.

        ``first`` is the number of the first anchor.
        """
        count, allocate = len(anchors.keys), self.space.allocate
        prefixes = allocate(len(tokens.values) + 1, np.dtype(np.uint64))
        contents = allocate(count, np.dtype(np.uint64))
        of = anchors.since, anchors.counts
        contents_of_anchors(*tokens, of, self.length.words, prefixes, contents)
        out = [allocate(count, np.dtype(kind)) for kind in ANCHOR]
        rows = join_anchors(anchors.keys, contents, first, tuple(out))
        return [values[:rows] for values in out]

    def anchors_of(self, tokens: Ragged) -> RunAnchors:
        return anchors_of(tokens, self.length, self.space.allocate)


class _TokenCache:
    """Tokens of the partitions that were read first, for the second pass.

    Args:
        size: Bytes that they may have.
    """

    def __init__(self, size: int) -> None:
        self._left, self._lock = size, threading.Lock()
        self._tokens: dict[int, list[Ragged]] = {}

    @property
    def is_full(self) -> bool:
        return self._left <= 0

    def put(self, number: int, tokens: list[Ragged]) -> None:
        """Keep the tokens of a partition, in batches of documents, if they fit."""
        size = sum(each.values.nbytes + each.offsets.nbytes for each in tokens)
        with self._lock:
            self._left -= size  # the first that does not fit is the last one
            if self._left >= 0:
                self._tokens[number] = tokens

    def pop(self, number: int, rows: np.ndarray) -> Iterator[Ragged] | None:
        """Return tokens of documents, as `Finder.tokens_of`, once; None where they are not there.

        ``rows``, int64[], are the documents of the partition that are wanted, ascending.
        """
        with self._lock:
            tokens = self._tokens.pop(number, None)
        return None if tokens is None else _of_rows(tokens, rows)


def _of_rows(tokens: list[Ragged], rows: np.ndarray) -> Iterator[Ragged]:
    begin = first = 0
    for batch in tokens:
        end = begin + len(batch.offsets) - 1
        last = int(np.searchsorted(rows, end))
        if last > first:
            chosen = rows[first:last] - begin
            yield batch if last - first == end - begin else taken(batch, chosen)
        begin, first = end, last


def _with_equal_keys(columns: Sequence[np.ndarray], allocate: Allocate) -> np.ndarray:
    """Return the rows, int64[], with a key that others have too; of keys, rows and contents."""
    keys, rows, contents = columns
    members, starts = group(keys, allocate=allocate)
    found = allocate(len(members), np.dtype(np.int64))
    return found[: equal_contents(members, starts, contents, rows, found)]


class Read(NamedTuple):
    """The first pass over a partition; numbers begin with 0."""

    tokens: np.ndarray  # int32[documents]
    counts: np.ndarray  # int32[documents]: anchors
    anchors: tuple[list[np.ndarray], np.ndarray]  # see `Finder.rows_of`, by part, and their ends
    short: np.ndarray  # uint64[documents], see `short_texts`
    cached: list[Ragged]


class Anchors:
    """The first pass: partition by partition, in the order of the input."""

    def __init__(self, finder: Finder, spill: Spill) -> None:
        self._finder, self._spill = finder, spill
        self._tokens, self._counts = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        self._ends: list[int] = []
        self._corpus, self._short = 0, list[np.ndarray]()
        self._anchors = self._documents = 0

    def of(self, text: pa.LargeStringArray) -> Read:
        """Return what `add` takes of the texts of a partition; from any thread."""
        finder, kept = self._finder, list[Ragged]()
        tokens, counts = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        short = [np.empty(0, np.uint64)]
        columns: list[list[np.ndarray]] = [[np.empty(0, kind)] for kind in ANCHOR]
        total = 0
        for batch in finder.tokens_of(text):
            anchors = finder.anchors_of(batch)
            for column, values in zip(columns, finder.rows_of(batch, anchors, total), strict=True):
                column.append(values)
            total += len(anchors.keys)
            counts.append(anchors.counts)
            tokens.append(np.diff(batch.offsets).astype(np.int32))
            short.append(short_texts(batch, finder.length.words))
            if not finder.cache.is_full:
                kept.append(Ragged(batch.values.copy(), batch.offsets))
        found = [self._joined(column) for column in columns]
        order = finder.space.allocate(len(found[0]), np.dtype(np.int64))
        ends = np.empty(self._spill.parts + 1, np.int64)
        divide(found[0], self._spill.parts, order, ends)
        rows = [in_order(values, order, finder.space.allocate) for values in found]
        return Read(
            np.concatenate(tokens),
            np.concatenate(counts),
            (rows, ends),
            np.concatenate(short),
            kept if len(kept) == len(tokens) - 1 else [],
        )

    def _joined(self, arrays: list[np.ndarray]) -> np.ndarray:
        out = self._finder.space.allocate(sum(map(len, arrays)), arrays[0].dtype)
        return np.concatenate(arrays, out=out)

    def add(self, found: Read, corpus: int, about: list[int], table: pa.Table) -> None:
        """Enter a partition: what `of` and `InputCorpus.about` have returned of it."""
        finder = self._finder
        if found.cached:
            finder.cache.put(len(self._ends), found.cached)
        rows, ends = found.anchors
        rows[1] += self._anchors
        self._spill.add_divided(rows, ends)
        columns: dict[str, Any] = {
            _TOKENS: array_of(found.tokens),
            _ANCHORS: array_of(found.counts),
            _SHORT: array_of(found.short),
        }
        columns |= zip(table.column_names, table.columns, strict=True)
        entered = Entered(corpus, about, pa.table(columns))
        self.enter(entered)
        progress = finder.work.progress
        progress.enter(entered)
        if self._spill.is_full:
            progress.put_anchors(self._spill)

    def enter(self, entered: Entered) -> None:
        """Enter a partition whose anchors are in the spill."""
        names = _TOKENS, _ANCHORS, _SHORT
        columns = (entered.table.column(name).combine_chunks() for name in names)
        tokens, counts, short = (numbers(cast(Any, column)) for column in columns)
        if entered.corpus != self._corpus:
            self._corpus, self._short = entered.corpus, []
        self._short.append(short[short > 0])
        self._tokens.append(tokens)
        self._counts.append(counts)
        self._anchors += int(counts.sum(dtype=np.int64))
        self._documents += len(tokens)
        self._ends.append(self._documents)

    def corpus(self) -> Corpus:
        """Return all documents, numbered in the order of the input."""
        scratch = self._finder.work.scratch
        tokens, counts = (scratch.empty(self._documents, np.int32) for _ in range(2))
        np.concatenate(self._tokens, out=tokens)
        np.concatenate(self._counts, out=counts)
        self._tokens, self._counts = [], []
        numbers = scratch.empty(self._documents, np.int64)
        numbers[:] = np.arange(self._documents)
        ends, short = (
            np.array(self._ends, np.int64),
            np.concatenate([np.empty(0, np.uint64), *self._short]),
        )
        return Corpus(tokens, counts, numbers, ends, short)

    def marked(self) -> MarkedAnchors:
        """Return the anchors with a key that another one has too."""
        work = self._finder.work
        if work.progress.is_marked:
            return MarkedAnchors(*work.progress.marked())
        bits = work.scratch.filled(-(-self._anchors // 4), np.uint8, 0)
        count = 0

        def twice(part: int) -> np.ndarray:
            allocate = self._finder.space.allocate
            return _with_equal_keys(self._spill.take(part, allocate), allocate)

        self._spill.end()
        for rows in work.pool.ordered(twice, range(self._spill.parts), work.parts):
            count += mark(bits, rows)
        work.note_rows(self._spill)
        work.progress.put_marked(bits, count)
        self._spill.close()
        return MarkedAnchors(bits, count)
