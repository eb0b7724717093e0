"""Stretches of documents that stand in one before, by the first pass: they are not read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from neardup.copies.repeated.spill import Allocate
from neardup.files.scratch import Scratch
from neardup.kernels.passages.around import characters_around
from neardup.kernels.passages.chains import Fragments, fill_fragments
from neardup.kernels.passages.hashing import runs_of_anchors
from neardup.kernels.passages.known import match_known, no_known
from neardup.kernels.passages.positions import NONE
from neardup.kernels.passages.run_records import shift_runs
from neardup.kernels.tokens import Spans
from neardup.sketch.run_anchors import RunAnchors
from neardup.sketch.texts import Ragged

#: Keys of anchors, and tokens of documents, among which stretches are looked for. They fit a
#: processor's cache.
_SLOTS, _STORE = 1 << 14, 1 << 18
#: Anchors whose runs are looked for among those of others.
RECENT = 1 << 14
#: Columns of a table of stretches, uint64: position, position that it is a copy of, runs, and three
#: of characters, see `characters_around`; the first is `NONE` where they are not known.
COLUMNS = 6
_U64, _I64, _I32 = np.dtype(np.uint64), np.dtype(np.int64), np.dtype(np.int32)


class Found(NamedTuple):
    """Of the documents of a partition; numbers of documents and of anchors begin with 0."""

    keys: np.ndarray  # uint64[anchors]: of those that are compared with others
    anchors: np.ndarray  # int64[anchors]: their numbers, plus `DONE`
    runs: list[np.ndarray]  # four columns, see `runs_of_anchors`
    stretches: np.ndarray  # uint64[stretches, COLUMNS]


class PartitionText:
    """Goes through the documents of a partition.

    Args:
        words: Tokens of a run.
        allocate: Makes arrays, which may be large.
    """

    def __init__(self, words: int, allocate: Allocate) -> None:
        self._words, self._allocate = words, allocate
        self._known = no_known(_SLOTS, _STORE)
        self._recent = np.empty((RECENT, 3), _U64)
        self._kept, self._space = self._made(1 << 17, _U64, _I64), list[np.ndarray]()
        self.begin()

    def begin(self) -> None:
        """Begin a partition; arrays that were found in the one before are lost."""
        self._known.keys[:], self._known.filled[:], self._recent[:] = 0, 0, NONE
        self._begin, self._filled = np.zeros(2, np.int64), 0
        self._runs: list[list[np.ndarray]] = []
        self._stretches = [np.empty((0, COLUMNS), _U64)]
        #: Whether the batch before had stretches: then the next one is likely to have some.
        self.has_stretches = False

    def add(
        self,
        tokens: Ragged,
        anchors: RunAnchors,
        text: tuple[np.ndarray, np.ndarray, Spans] | None = None,
    ) -> None:
        """Add some documents.

        Args:
            tokens: Of them.
            anchors: Of them.
            text: Bytes uint8[], where documents begin int64[documents + 1], and where tokens are;
                None leaves the characters of stretches out.
        """
        documents, count = len(tokens.offsets) - 1, len(anchors.keys)
        counts = np.empty(documents, np.int32)
        kept, (*listed, stretches) = self._arrays(count)
        rows, entries, runs, found = match_known(
            *tokens,
            tuple(anchors),
            tuple(self._begin.tolist()),
            self._words,
            self._known,
            (*kept, listed[0], listed[1], counts, listed[2], stretches),
        )
        self._filled += rows
        if runs:
            keys, since, marked = (values[:entries] for values in listed)
            self._list(tokens, (keys, since, counts, marked), runs)
        self.has_stretches = found > 0
        if found:
            table = stretches[:found].copy()
            table[:, 3] = NONE
            if text is not None:
                data, offsets, spans = text
                begin = self._begin[0]
                arguments = tokens.offsets, begin, self._words, table
                characters_around(data, offsets, tuple(spans), *arguments)
            self._stretches.append(table)
        self._begin += documents, count

    def _arrays(self, anchors: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return arrays for anchors that are kept, and those that the next batch has again."""
        size = self._filled + 2 * anchors + int(self._known.filled[2])
        if size > len(self._kept[0]):
            before, self._kept = self._kept, self._made(2 * size, _U64, _I64)
            for new, old in zip(self._kept, before, strict=True):
                new[: self._filled] = old[: self._filled]
        if not self._space or len(self._space[3]) < anchors:
            size = anchors + anchors // 4
            self._space = self._made(2 * size, _U64, _I32, np.dtype(np.bool_))
            self._space.append(self._allocate(COLUMNS * size, _U64).reshape(-1, COLUMNS))
        return [values[self._filled :] for values in self._kept], self._space

    def _made(self, rows: int, *kinds: np.dtype) -> list[np.ndarray]:
        return [self._allocate(rows, kind) for kind in kinds]

    def _list(self, tokens: Ragged, anchors: tuple[np.ndarray, ...], runs: int) -> None:
        numbers = np.arange(len(tokens.offsets) - 1) + self._begin[0]
        columns = self._made(runs, _U64, _U64, _U64, _U64)
        arguments = numbers, anchors, self._words, self._recent, tuple(columns)
        count = runs_of_anchors(*tokens, *arguments)
        self._runs.append([values[:count] for values in columns])

    def found(self) -> Found:
        """Return the findings; keys and anchors are valid until the next partition begins."""
        runs = [np.empty(0, _U64) for _ in range(4)]
        if self._runs:
            runs = [joined(column, self._allocate) for column in zip(*self._runs, strict=True)]
        keys, anchors = (values[: self._filled] for values in self._kept)
        return Found(keys, anchors, runs, np.concatenate(self._stretches))


def joined(arrays: Sequence[np.ndarray], allocate: Allocate) -> np.ndarray:
    """Return arrays as one."""
    if len(arrays) == 1:
        return arrays[0]
    out = allocate(sum(map(len, arrays)), arrays[0].dtype)
    return np.concatenate(arrays, out=out)


def shift(runs: np.ndarray, stretches: np.ndarray, documents: int) -> None:
    """Number the documents of a partition from another one than 0 on, in place.

    ``runs`` are records, uint64[].
    """
    more = np.uint64(documents << 32)
    shift_runs(runs, more)
    stretches[:, :2] += more


def _numbered(positions: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return positions with the numbers of documents, int64[documents], in keep order."""
    documents = numbers[(positions >> np.uint64(32)).astype(np.int64)].astype(np.uint64)
    return np.asarray(documents << np.uint64(32) | positions & np.uint64(0xFFFFFFFF))


def fragments_of(
    blocks: list[np.ndarray], numbers: np.ndarray | None, documents: int, scratch: Scratch
) -> Fragments | None:
    """Return the copies of each interval of runs; None where there are no stretches.

    Args:
        blocks: Stretches of each partition.
        numbers: int64[documents], by position in the input; None where it is the same.
        documents: All of them.
        scratch: Arrays that grow with the corpus.
    """
    total = sum(map(len, blocks))
    if not total:
        return None
    table = scratch.empty((total, 3), np.uint64)
    bounds = [np.empty(0, np.uint64)]
    filled = 0
    for block in blocks:
        rows = block[:, :3]
        order = np.lexsort((rows[:, 2], rows[:, 1]))  # those of a fragment together
        rows = rows[order]
        if numbers is not None:
            for k in range(2):
                rows[:, k] = _numbered(rows[:, k], numbers)
        table[filled : filled + len(rows)] = rows
        filled += len(rows)
        bounds.append(np.unique(np.concatenate([rows[:, 1], rows[:, 1] + rows[:, 2]])))
    limits = np.unique(np.concatenate(bounds))
    ends = scratch.empty(len(limits), np.int64)
    of = scratch.zeros(documents, np.bool_)
    size = fill_fragments(table, limits, ends, np.empty(0, np.uint64), of)
    copies = scratch.empty(size, np.uint64)
    fill_fragments(table, limits, ends, copies, of)
    return Fragments(limits, ends, copies, of)
