"""From runs to those that equal an earlier one: file by file, of which each takes less disk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neardup.copied_passages.repeated.entered_documents import Corpus
from neardup.copied_passages.repeated.equal_rows import Rule, order_of, segments_of
from neardup.copied_passages.repeated.space import Space
from neardup.copied_passages.repeated.spill import Spill
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

#: Rows in the order of their parts, and where each part begins.
Divided = tuple[list[np.ndarray], np.ndarray]


class RunSources:
    """Finds the runs that equal an earlier one, and their sources.

    Runs become segments, and all segments become one ascending table. The disk of rows that are
    done is given back little by little.

    Args:
        space: Arrays and files.
        runs: Words of records, see `neardup.kernels.passages.run_records`, in any parts that equal
            runs share.
        corpus: All documents.
        rule: Which equal runs are sources.
    """

    def __init__(self, space: Space, runs: Spill, corpus: Corpus, rule: Rule) -> None:
        self._space, self._rule = space, rule
        # Parts of segments are ranges of documents.
        words = int(corpus.tokens.sum(dtype=np.int64))
        parts = space.parts(_DIVIDED * max(runs.nbytes, _WORD_BYTES * words))
        self._share = -(-max(corpus.documents, 1) // parts)
        self._files = {
            "runs": runs,
            "segments": space.spill("segments", [_WORD], parts),
            "joined": space.spill("joined", [_WORD], 1),
        }
        progress = space.work.progress
        self._done = {name: progress.parts(name) for name in self._files}

    def rows(self) -> np.ndarray:
        """Return uint64[segments, 5], ascending; see `neardup.kernels.passages.run_segments`."""
        parts = sum(self._files[name].parts for name in ("runs", "segments"))
        with self._space.work.clock.stage("find repeated runs", parts, "parts") as advance:
            advance(sum(self._done[name] for name in ("runs", "segments")))
            self._replace("runs", self._segments_of_part, "segments", advance)
            self._replace("segments", self._joined, "joined", advance)
        joined = self._files["joined"]
        return joined.array(self._space.work.scratch.empty).reshape(-1, _ROW)

    def _replace(
        self,
        name: str,
        work: Callable[[int], list[Divided]],
        into: str,
        advance: Callable[[int], None],
    ) -> None:
        """Replace the rows of a file by those that are made of them, for another file.

        Args:
            name: Of the file.
            work: Makes rows for the other file, of a part of the file; from any thread.
            into: Name of the other file.
            advance: Counts parts.
        """
        files, means = self._files, self._space.work
        source, target = files[name], files[into]
        if name != "runs" and 2 * source.in_memory > means.spilled:
            # Its rows may have to be stored with the others: not while they are read.
            means.progress.put_rows(files, self._done)
        source.end()
        most = min(means.spilled, source.written // TUNING.freeing_steps or means.spilled)
        left = range(self._done[name], source.parts)
        for done, every in enumerate(means.pool.ordered(work, left, means.parts), left.start + 1):
            for rows, ends in every:
                target.add_divided(rows, ends)
            self._done[name] = done
            advance(1)
            if target.in_memory > most:
                means.progress.put_rows(files, self._done)
        self._done[name] = source.parts
        means.note_rows(source)
        means.note_rows(target)
        if target.written:  # then the rest as well
            means.progress.put_rows(files, self._done)
        means.progress.settle()
        source.forget()

    def _segments_of_part(self, part: int) -> list[Divided]:
        """Return the words of the segments of a part of all runs."""
        space, found = self._space, list[Divided]()
        (words,) = self._files["runs"].take(part, space.allocate)
        columns, copied = self._unpacked(words)
        segments = segments_of(columns, copied, self._rule, space.allocate, space.at_once)
        for low in range(0, len(segments[0]), space.at_once):
            slices = tuple(values[low : low + space.at_once] for values in segments)
            ends = np.empty(self._files["segments"].parts + 1, np.int64)
            pack_segments(slices, self._share, ends, np.empty(0, np.uint64))
            words = space.allocate(int(ends[-1]), _WORD)
            pack_segments(slices, self._share, ends, words)
            found.append(([words], ends))
        return found

    def _unpacked(self, words: np.ndarray) -> tuple[list[np.ndarray], tuple[list[np.ndarray], int]]:
        """Return columns of runs and of records of copies, and the number of copies."""
        # A bit for each hash, four times as many as there may be: most of the others are seen once.
        allocate = self._space.allocate
        bits = 2 << (len(words) // TUNING.words_of_records).bit_length()
        seen = allocate(bits, _WORD).reshape(2, -1)
        seen[:] = 0
        note_hashes(words, seen)
        count, copied, leaders = count_rows(words, seen)
        runs = [allocate(count, kind) for kind in (_WORD, _WORD, _WORD, _SIZE)]
        copies = [allocate(copied, _WORD) for _ in range(3)]
        tables = self._table(leaders), self._table(copied if leaders else 0)
        found = unpack_runs(words, tables, seen, tuple(runs), tuple(copies))
        count, copied, total = found
        return [each[:count] for each in runs], ([each[:copied] for each in copies], total)

    def _table(self, rows: int) -> np.ndarray:
        """Return working memory for so many rows by their hashes; see `unpack_runs`."""
        slots = 2 << (rows - 1).bit_length() if rows else 0
        return self._space.allocate(3 * slots, _WORD).reshape(-1, 3)

    def _joined(self, part: int) -> list[Divided]:
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
        return [([rows.reshape(-1)[:size]], np.array([0, size]))]
