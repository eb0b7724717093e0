"""From runs to those that equal an earlier one: file by file, of which each takes less disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from neardup.copies.repeated.entered_documents import Corpus
from neardup.copies.repeated.equal_rows import (
    CHAIN,
    ChainShare,
    Rule,
    expanded,
    order_of,
    segments_of,
    shares_of,
)
from neardup.copies.repeated.known_text import fragments_of
from neardup.copies.repeated.space import Space
from neardup.copies.repeated.spill import RowBlocks, Spill
from neardup.kernels.passages.anchoring import divide
from neardup.kernels.passages.chains import Fragments, renumber
from neardup.kernels.passages.run_records import count_rows, note_hashes, unpack_runs
from neardup.kernels.passages.run_segments import (
    are_ascending,
    join_segments,
    pack_segments,
    unpack_segments,
)
from neardup.tuning import TUNING

_WORD, _SIZE = np.dtype(np.uint64), np.dtype(np.int32)
#: Parts of segments are smaller than others by so much: the last one is waited for.
_DIVIDED = 2
#: Bytes of segments of a word of the corpus, is guessed.
_WORD_BYTES = 10
#: Words of a row of a segment.
_ROW = 5

A = TypeVar("A")
#: Rows in the order of their parts, and where each part begins.
Divided = tuple[list[np.ndarray], np.ndarray]


class RunSources:
    """Finds the runs that equal an earlier one, and their sources.

    Runs become segments, those with copies in stretches by way of chains; and all segments become
    one ascending table. The disk of rows that are done is given back little by little.

    Args:
        space: Arrays and files.
        runs: Words of records, see `neardup.kernels.passages.run_records`, in any parts that equal
            runs share.
        corpus: All documents.
        rule: Which equal runs are sources.
    """

    def __init__(self, space: Space, runs: Spill, corpus: Corpus, rule: Rule) -> None:
        self._space, self._rule = space, rule
        documents, in_order = max(corpus.documents, 1), corpus.is_in_order
        self._numbers = None if in_order else corpus.numbers
        self._fragments = fragments_of(
            corpus.stretches, self._numbers, documents, space.work.scratch
        )
        self._in_fragments, copies = np.empty(0, np.bool_), 0
        if self._fragments is not None:
            of, copies = self._fragments.of, len(self._fragments.copies)
            self._in_fragments = of if in_order else of[corpus.numbers]
        # Parts of segments are ranges of documents. A record may be of copies of many runs, whose
        # segments take up to 40 bytes for each word.
        words = int(corpus.tokens.sum(dtype=np.int64))
        parts = space.parts(_DIVIDED * max(runs.nbytes + 40 * copies, _WORD_BYTES * words))
        self._share = -(-documents // parts)
        self._files = {
            "runs": runs,
            "segments": space.spill("segments", [_WORD], parts),
            "chains": space.spill("chains", CHAIN, parts),
            "joined": space.spill("joined", [_WORD], 1),
        }
        progress = space.work.progress
        self._done = {name: progress.parts(name) for name in self._files}

    def rows(self) -> np.ndarray:
        """Return uint64[segments, 5], ascending; see `neardup.kernels.passages.run_segments`."""
        self._replace("runs", self._each("runs"), self._segments_of_part, ("segments", "chains"))
        if (fragments := self._fragments) is not None:
            shares = self._shares(fragments)

            def segments(share: ChainShare) -> tuple[list[Divided]]:
                found = expanded(share, fragments, self._rule, self._space.allocate)
                return (self._in_ranges(found),)

            self._replace("chains", shares, segments, ("segments",))
            self._fragments = None
        self._replace("segments", self._each("segments"), self._joined, ("joined",))
        joined = self._files["joined"]
        return joined.array(self._space.work.scratch.empty).reshape(-1, _ROW)

    def _each(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield the parts of a file that are left, each after the parts that are done with it."""
        for part in range(self._done[name], self._files[name].parts):
            yield part + 1, part

    def _shares(self, fragments: Fragments) -> Iterator[tuple[int, ChainShare]]:
        """Yield shares of the chains that are left likewise."""
        chains, space, done = self._files["chains"], self._space, self._done["chains"]
        for part in range(done, chains.parts):
            columns = chains.take(part, space.allocate)
            shares = list(shares_of(columns, fragments, space.allocate, space.at_once))
            for share in shares:
                # Parts in front may have no share: they are done with the last one of this part.
                done = part + 1 if share is shares[-1] else done
                yield done, share

    def _replace(
        self,
        name: str,
        items: Iterable[tuple[int, A]],
        work: Callable[[A], Iterable[list[Divided]]],
        into: tuple[str, ...],
    ) -> None:
        """Replace the rows of a file by those that are made of them, for other files.

        Args:
            name: Of the file.
            items: What rows are made of, each after the parts of the file that are done with it.
            work: Makes rows for the other files, of an item; from any thread.
            into: Names of the other files.
        """
        files, means = self._files, self._space.work
        source, targets = files[name], [files[each] for each in into]
        if name != "runs" and 2 * source.in_memory > means.spilled:
            # Its rows may have to be stored with the others: not while they are read.
            means.progress.put_rows(files, self._done)
        source.end()
        most = min(means.spilled, source.written // TUNING.freeing_steps or means.spilled)

        def made(item: tuple[int, A]) -> tuple[int, Iterable[list[Divided]]]:
            return item[0], work(item[1])

        for done, found in means.pool.ordered(made, items, means.parts):
            for target, every in zip(targets, found, strict=True):
                for rows, ends in every:
                    target.add_divided(rows, ends)
            if sum(target.in_memory for target in targets) > most:
                if done > self._done[name]:
                    self._done[name] = done
                    means.progress.put_rows(files, self._done)
                else:
                    for target in targets:
                        target.flush()
            self._done[name] = done
        self._done[name] = source.parts
        means.note_rows(source)
        means.note_rows(*targets)
        if any(target.written for target in targets):  # then the rest as well
            means.progress.put_rows(files, self._done)
        means.progress.settle()
        source.forget()

    def _segments_of_part(self, part: int) -> tuple[list[Divided], list[Divided]]:
        space = self._space
        columns, copied = self._unpacked(self._files["runs"].blocks(part, space.allocate))
        if self._numbers is not None:
            for each in (columns[:3], copied[0]):
                renumber(tuple(each), self._numbers)
        arguments = columns, copied, self._rule, space.allocate, space.at_once, self._fragments
        segments, chains = segments_of(*arguments)
        return self._in_ranges(segments), [self._chains_in_ranges(list(chains))]

    def _unpacked(
        self, records: RowBlocks
    ) -> tuple[list[np.ndarray], tuple[list[np.ndarray], int]]:
        """Return columns of runs and of records of copies, and the number of copies."""
        words, limits = records
        size = int((limits[1] - limits[0]).sum())
        # A bit for each hash, four times as many as there may be: most of the others are seen once.
        allocate = self._space.allocate
        seen = allocate(2 << (size // TUNING.words_of_records).bit_length(), _WORD).reshape(2, -1)
        seen[:] = 0
        note_hashes(words, limits, seen)
        chosen = seen, self._in_fragments
        count, copied, leaders = count_rows(words, limits, *chosen)
        runs = [allocate(count, kind) for kind in (_WORD, _WORD, _WORD, _SIZE)]
        copies = [allocate(copied, _WORD) for _ in range(3)]
        tables = self._table(leaders), self._table(copied if leaders else 0)
        found = unpack_runs(words, limits, tables, chosen, tuple(runs), tuple(copies))
        count, copied, total = found
        return [each[:count] for each in runs], ([each[:copied] for each in copies], total)

    def _table(self, rows: int) -> np.ndarray:
        """Return working memory for so many rows by their hashes; see `unpack_runs`."""
        slots = 2 << (rows - 1).bit_length() if rows else 0
        return self._space.allocate(3 * slots, _WORD).reshape(-1, 3)

    def _in_ranges(self, segments: tuple[np.ndarray, ...]) -> list[Divided]:
        """Return the words of segments."""
        found, step = list[Divided](), self._space.at_once
        for low in range(0, len(segments[0]), step):
            slices = tuple(values[low : low + step] for values in segments)
            ends = np.empty(self._files["segments"].parts + 1, np.int64)
            pack_segments(slices, self._share, ends, np.empty(0, np.uint64))
            words = self._space.allocate(int(ends[-1]), _WORD)
            pack_segments(slices, self._share, ends, words)
            found.append(([words], ends))
        return found

    def _chains_in_ranges(self, chains: list[np.ndarray]) -> Divided:
        parts = self._files["chains"].parts
        count, ends = len(chains[0]), np.empty(parts + 1, np.int64)
        ranges, order = (self._space.allocate(count, kind) for kind in (_WORD, np.dtype(np.int64)))
        np.floor_divide(chains[0], np.uint64(self._share << 32), out=ranges)
        divide(ranges, parts, order, ends)
        return [self._space.in_order(values, order) for values in chains], ends

    def _joined(self, part: int) -> tuple[list[Divided]]:
        """Return the rows of the segments of a range, ascending."""
        allocate = self._space.allocate
        (words,) = self._files["segments"].take(part, allocate)
        count = unpack_segments(words, np.empty((0, _ROW), np.uint64))
        rows = allocate(_ROW * count, _WORD).reshape(-1, _ROW)
        unpack_segments(words, rows)
        if not are_ascending(rows):
            position = allocate(count, _WORD)
            position[:] = rows[:, 0]
            order, before = order_of(position, allocate, self._space.at_once), rows
            rows = allocate(_ROW * count, _WORD).reshape(-1, _ROW)
            before.take(order, axis=0, out=rows, mode="clip")
        size = _ROW * join_segments(rows)
        return ([([rows.reshape(-1)[:size]], np.array([0, size]))],)
