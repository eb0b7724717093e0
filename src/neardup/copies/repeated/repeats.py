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

from neardup.arrays import array_of, numbers, ragged_rows
from neardup.copies.repeated.entered_documents import Corpus
from neardup.copies.repeated.equal_rows import Groups, Rule
from neardup.copies.repeated.known_text import (
    COLUMNS,
    NEAR,
    PartitionText,
    Placed,
    RunRecords,
    shift,
)
from neardup.copies.repeated.run_sources import RunSources
from neardup.copies.repeated.search_progress import Entered
from neardup.copies.repeated.space import Space
from neardup.copies.repeated.spill import Allocate, Spill
from neardup.copies.work import Work
from neardup.files.scratch import Slabs
from neardup.io.source import Partition, changed
from neardup.kernels.passages.anchoring import (
    divide,
    equal_contents,
    mark,
    needed_anchors,
    read_marks,
)
from neardup.match.bucketing import group
from neardup.match.verifying import taken
from neardup.sketch.beginnings import Part, beginnings
from neardup.sketch.common_parts import tokens_of
from neardup.sketch.run_anchors import RunAnchors, RunLength, anchors_of
from neardup.sketch.short_texts import short_texts
from neardup.sketch.texts import Ragged
from neardup.sketch.tokenising import Tokeniser, batches
from neardup.threads import Local

#: One of so many anchors has a key that another one has, is guessed.
_MARKED = 4
#: Columns of the numbers that are entered of each document.
_TOKENS, _ANCHORS, _SHORT = "neardup.tokens", "neardup.anchors", "neardup.short"


class Batch(NamedTuple):
    tokens: Ragged
    anchors: RunAnchors


class Again(NamedTuple):
    """A partition that is read again."""

    number: int
    partition: Partition
    texts: Callable[[np.ndarray], pa.LargeStringArray]  # of some rows, int64[]


class Marked(NamedTuple):
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
        self._records = Local(lambda: RunRecords(words, self.space.allocate))

    def anchors(self, size: int) -> Anchors:
        """Begin the first pass over about so many bytes of text."""
        # An anchor takes 24 bytes, and there are two in a window; a word has about 7 bytes.
        expected = size * 48 // (7 * (self.length.window + 1))
        kinds = [np.uint64, np.int64, np.uint64]
        anchors = self.space.spill("anchors", kinds, self.space.parts(expected))
        # A run takes 18 bytes; a quarter of all have an anchor that another one equals, or more.
        expected = size * 18 // (7 * _MARKED)
        self.runs = self.space.spill("runs", [np.uint64], self.space.parts(expected))
        return Anchors(self, anchors)

    def repeats(
        self,
        corpus: Corpus,
        marked: Marked,
        read: Callable[[int], Iterator[Again]],
        groups: Groups | None = None,
        boilerplate: int = 0,
        check: Callable[[], None] = lambda: None,
    ) -> np.ndarray:
        """Read the texts with marked anchors again, and find their repeated runs.

        Args:
            corpus: All documents.
            marked: Anchors with keys that others have, as `Anchors.marked` returns them.
            read: Yields each partition from one on.
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
            needed = np.empty(len(counts), np.int64)
            needed_anchors(chosen, counts, needed)
            rows = np.flatnonzero(needed)
            if not len(rows):
                return number, None
            of_rows = chosen
            if len(rows) < len(counts):
                of_rows = chosen[np.repeat(needed > 0, counts)]
            needed = needed[rows]
            found = self.cache.pop(number, rows)
            batches = (
                self._first_tokens(texts(rows), needed)
                if found is None
                else ((low, high, tokens, self.anchors_of(tokens)) for low, high, tokens in found)
            )
            numbers = first + rows
            return number, self._runs(batches, numbers, of_rows, (needed, counts[rows]))

        for number, found in self.work.pool.ordered(work, read(done), self.work.begun):
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
        batches: Iterable[tuple[int, int, Ragged, RunAnchors]],
        numbers: np.ndarray,
        marks: np.ndarray,
        limits: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return records of the runs of marked anchors, by part, and where each part begins.

        ``limits`` has the needed anchors of each document, int64[], and the number of all, int32[];
        ``marks`` has a mark for each of these. Batches may lack anchors behind the needed ones.
        """
        records = self._records()
        records.begin()
        needed, every = limits
        fewest, begins = np.minimum(needed, every), np.cumsum(every, dtype=np.int64) - every
        for first, last, tokens, (keys, since, counts) in batches:
            if np.any(counts > every[first:last]) or np.any(counts < fewest[first:last]):
                raise changed("the input")
            if np.array_equal(counts, every[first:last]):
                chosen = marks[begins[first] : begins[first] + int(counts.sum())]
            else:
                chosen = marks[ragged_rows(begins[first:last], counts)]
            records.add(tokens, numbers[first:last], (keys, since, counts, chosen))
        return records.divided(self.runs.parts)

    def add_texts(self, text: pa.LargeStringArray, into: PartitionText) -> Iterator[Batch]:
        """Yield tokens and anchors of some documents at a time, valid until the next ones."""
        data, offsets = self._tokeniser.normalise(text)
        spec = self._tokeniser.spec
        # Else they are not the characters of the original text.
        original = not (spec.nfkc or spec.strip_accents or spec.ignores)
        for first, last in batches(offsets):
            limits, spanned = offsets[first : last + 1], into.wants_spans(original)
            tokens, shared, spans = tokens_of(self._tokeniser, data, limits, spanned, into.part)
            anchors = self.anchors_of(tokens, shared)
            placed = Placed(data, limits, spans, original) if spanned else None
            into.add(tokens, shared, anchors, placed)
            yield Batch(tokens, anchors)

    def _first_tokens(
        self, text: pa.LargeStringArray, needed: np.ndarray
    ) -> Iterator[tuple[int, int, Ragged, RunAnchors]]:
        """Yield the same, and their anchors, perhaps without those behind the needed ones.

        ``needed``, int64[documents], says how many anchors of each document are needed.
        """
        data, offsets = self._tokeniser.normalise(text)

        def look(part: Part) -> tuple[tuple[Ragged, RunAnchors], np.ndarray]:
            tokens, _ = self._tokeniser.tokens(part.data, part.offsets)
            anchors = self.anchors_of(tokens)
            return (tokens, anchors), anchors.counts

        for first, last, _, found in beginnings(self._tokeniser, data, offsets, needed, look):
            yield first, last, *found

    def anchors_of(self, tokens: Ragged, shared: np.ndarray | None = None) -> RunAnchors:
        return anchors_of(tokens, self.length, self.space.allocate, shared)


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

    def pop(self, number: int, rows: np.ndarray) -> Iterator[tuple[int, int, Ragged]] | None:
        """Return an iterator over documents, as `Finder.tokens_of`, once; None where they are not.

        ``rows``, int64[], are the documents of the partition that are wanted, ascending.
        """
        with self._lock:
            tokens = self._tokens.pop(number, None)
        return None if tokens is None else _of_rows(tokens, rows)


def _of_rows(tokens: list[Ragged], rows: np.ndarray) -> Iterator[tuple[int, int, Ragged]]:
    begin = first = 0
    for batch in tokens:
        end = begin + len(batch.offsets) - 1
        last = int(np.searchsorted(rows, end))
        if last > first:
            chosen = rows[first:last] - begin
            yield first, last, batch if last - first == end - begin else taken(batch, chosen)
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
    anchors: tuple[list[np.ndarray], np.ndarray]  # see `Found`, by part, and their ends
    short: np.ndarray  # uint64[documents], see `short_texts`
    runs: tuple[np.ndarray, np.ndarray]  # records by part, and their ends
    stretches: np.ndarray  # see `neardup.copies.repeated.known_text`
    cached: list[Ragged]


class Anchors:
    """The first pass: partition by partition, in the order of the input."""

    def __init__(self, finder: Finder, spill: Spill) -> None:
        self._finder, self._spill = finder, spill
        self._tokens, self._counts = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        self._stretches: list[np.ndarray] = []
        near = np.zeros(NEAR, np.uint64)
        words, allocate = finder.length.words, finder.space.allocate
        self._known = Local(lambda: PartitionText(words, allocate, near))
        self._slabs = Slabs(finder.work.scratch.empty)
        self._ends: list[int] = []
        self._corpus, self._short = 0, list[np.ndarray]()
        self._anchors = self._documents = 0

    def of(self, text: pa.LargeStringArray) -> Read:
        """Return what `add` takes of the texts of a partition; from any thread."""
        finder, kept = self._finder, list[Ragged]()
        tokens, counts = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        short = [np.empty(0, np.uint64)]
        known = self._known()
        known.begin()
        for batch, anchors in finder.add_texts(text, known):
            counts.append(anchors.counts)
            tokens.append(np.diff(batch.offsets).astype(np.int32))
            short.append(short_texts(batch, finder.length.words))
            if not finder.cache.is_full:
                kept.append(Ragged(batch.values.copy(), batch.offsets))
        found = known.found()
        keys = found.anchors[0]
        order = finder.space.allocate(len(keys), np.dtype(np.int64))
        ends = np.empty(self._spill.parts + 1, np.int64)
        divide(keys, self._spill.parts, order, ends)
        rows = [finder.space.in_order(values, order) for values in found.anchors]
        return Read(
            np.concatenate(tokens),
            np.concatenate(counts),
            (rows, ends),
            np.concatenate(short),
            known.records.divided(finder.runs.parts),
            found.stretches,
            kept if len(kept) == len(tokens) - 1 else [],
        )

    def add(self, found: Read, corpus: int, about: list[int], table: pa.Table) -> None:
        """Enter a partition: what `of` and `InputCorpus.about` have returned of it."""
        finder = self._finder
        if found.cached:
            finder.cache.put(len(self._ends), found.cached)
        (rows, ends), (runs, run_ends) = found.anchors, found.runs
        rows[1] += self._anchors
        self._spill.add_divided(rows, ends)
        shift(runs, found.stretches, self._documents)
        finder.runs.add_divided([runs], run_ends)
        columns: dict[str, Any] = {
            _TOKENS: array_of(found.tokens),
            _ANCHORS: array_of(found.counts),
            _SHORT: array_of(found.short),
        }
        columns |= zip(table.column_names, table.columns, strict=True)
        entered = Entered(corpus, about, pa.table(columns), found.stretches)
        self.enter(entered)
        progress = finder.work.progress
        progress.enter(entered)
        if self._spill.is_full or finder.runs.is_full:
            progress.put_anchors(self._spill, finder.runs)

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
        if len(entered.stretches):
            kept = self._slabs.copy(np.ascontiguousarray(entered.stretches).view(np.uint8).ravel())
            self._stretches.append(kept.view(np.uint64).reshape(-1, COLUMNS))
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
        return Corpus(tokens, counts, numbers, ends, self._stretches, short)

    def marked(self) -> Marked:
        """Return the anchors with a key that another one has too."""
        work = self._finder.work
        if work.progress.is_marked:
            return Marked(*work.progress.marked())
        bits = work.scratch.filled(-(-self._anchors // 4), np.uint8, 0)
        count = 0

        def twice(part: int) -> np.ndarray:
            allocate = self._finder.space.allocate
            return _with_equal_keys(self._spill.take(part, allocate), allocate)

        self._spill.end()
        for rows in work.pool.ordered(twice, range(self._spill.parts), work.parts):
            count += mark(bits, rows)
        runs = self._finder.runs
        work.note_rows(self._spill, runs)
        # Those in memory are lost with the process, and are not made again.
        work.progress.put_marked(bits, count, runs)
        self._spill.close()
        return Marked(bits, count)
