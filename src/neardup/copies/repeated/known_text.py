"""Stretches of documents that stand in one before, by the first pass: they are not read again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.copies.repeated.spill import Allocate
from neardup.files.scratch import Scratch
from neardup.kernels.passages.chains import Fragments, fill_fragments
from neardup.kernels.passages.characters import characters_around
from neardup.kernels.passages.hashing import contents_of_anchors, runs_of_anchors
from neardup.kernels.passages.known import match_known, no_known
from neardup.kernels.passages.positions import NONE, TOKEN
from neardup.kernels.passages.run_records import divide_records, shift_runs
from neardup.kernels.tokens import Spans
from neardup.sketch.common_parts import WORTH, CommonPart, no_part, part_between
from neardup.sketch.run_anchors import RunAnchors, RunLength
from neardup.sketch.texts import Ragged

#: Keys of anchors, and tokens of documents, among which stretches are looked for. They fit a
#: processor's cache. And keys of anchors near stretches, of all partitions.
_SLOTS, _STORE, NEAR = 1 << 14, 1 << 18, 1 << 18
#: Anchors whose runs are looked for among those of others.
RECENT = 1 << 14
#: Columns of a table of stretches, uint64: position, position that it is a copy of, runs, and four
#: of characters, see `characters_around`; the first is `NONE` where they are not known.
COLUMNS = 7
#: Anchors of a batch that stretches are looked for among, and more of them that space is made for.
_MORE = 1 << 19
#: Words of records, and keys, that space is kept for.
_LARGE = 1 << 20
_U64 = np.dtype(np.uint64)
#: Types of the working memory of `match_known`.
_SPACE = np.dtype(np.int32), np.dtype(np.int32), np.dtype(np.bool_)
#: Types of keys, rows and contents of anchors.
_KEPT = _U64, np.dtype(np.int64), _U64


class Found(NamedTuple):
    """Of the documents of a partition; numbers of documents and of anchors begin with 0."""

    # Keys uint64[], rows int64[] and contents uint64[] of anchors, see `match_known`.
    anchors: list[np.ndarray]
    stretches: np.ndarray  # uint64[stretches, COLUMNS]


class Placed(NamedTuple):
    """Documents, and where their tokens are."""

    data: np.ndarray  # uint8[], valid UTF-8
    offsets: np.ndarray  # int64[documents + 1]: where documents begin
    spans: Spans
    original: bool  # not normalised: characters are those of the original


class RunRecords:
    """Hashes the runs of a partition, batch by batch.

    Args:
        words: Tokens of a run.
        allocate: Makes arrays, which may be large.
    """

    def __init__(self, words: int, allocate: Allocate) -> None:
        self._words, self._allocate = words, allocate
        self._recent = np.empty((RECENT, 3), _U64)
        self._out = [np.empty(0, _U64), np.empty(0, _U64)]  # words of records, and their keys
        self.begin()

    def begin(self) -> None:
        """Begin a partition."""
        self._recent[:] = NONE
        self._filled = [0, 0]

    def add(self, tokens: Ragged, numbers: np.ndarray, anchors: tuple[np.ndarray, ...]) -> None:
        """Add some documents; the arguments are those of `runs_of_anchors`."""
        count = len(anchors[0])
        sizes = 2 * len(tokens.values) + 4 * count, count
        self._out = [
            larger(values, filled, size, self._allocate)
            for values, filled, size in zip(self._out, self._filled, sizes, strict=True)
        ]
        words, keys = self._filled
        out = self._out[0][words:], self._out[1][keys:]
        size, records = runs_of_anchors(*tokens, numbers, anchors, self._words, self._recent, out)
        self._filled = [words + size, keys + records]

    def divided(self, parts: int) -> tuple[np.ndarray, np.ndarray]:
        """Return all records in the order of their parts, and where each part begins, once."""
        words, keys = (
            values[:filled] for values, filled in zip(self._out, self._filled, strict=True)
        )
        ends = np.empty(parts + 1, np.int64)
        out = self._allocate(len(words), _U64)
        divide_records(words, keys, parts, ends, out)
        # Arrays of a large document are not kept.
        self._out = [each if len(each) <= _LARGE else np.empty(0, _U64) for each in self._out]
        return out, ends


class PartitionText:
    """Goes through the documents of a partition.

    Args:
        words: Tokens of a run.
        allocate: Makes arrays, which may be large.
        near: uint64[], as many as `NEAR`, 0 in the beginning: keys that all threads share. One that
            a thread does not see yet costs time, no more.
    """

    def __init__(self, words: int, allocate: Allocate, near: np.ndarray) -> None:
        self._words, self._allocate = words, allocate
        self._known, self.records = no_known(_SLOTS, _STORE, near), RunRecords(words, allocate)
        self._kept, self._space = self._made(1 << 17, *_KEPT), list[np.ndarray]()
        self._prefixes = np.empty(0, _U64)
        # Whether the batch before had stretches: then the next one is likely to have some, also
        # that of another partition.
        self._has_stretches = False
        #: What many of the next texts are likely to have.
        self.part = no_part()
        self.begin()

    def begin(self) -> None:
        """Begin a partition; arrays that were found in the one before are lost."""
        self._known.keys[:], self._known.filled[:] = 0, 0
        self._begin, self._filled = np.zeros(2, np.int64), 0
        self.records.begin()
        self._stretches = [np.empty((0, COLUMNS), _U64)]

    def wants_spans(self, original: bool) -> bool:
        """Whether code points of the next tokens are of use: of stretches, or to learn a part.

        ``original`` is whether the text is not normalised.
        """
        return self._has_stretches and (original or not len(self.part.data))

    def add(
        self,
        tokens: Ragged,
        shared: np.ndarray,
        anchors: RunAnchors,
        text: Placed | None = None,
    ) -> None:
        """Add some documents.

        Args:
            tokens: Of them.
            shared: Of them, see `neardup.sketch.common_parts`.
            anchors: Of them.
            text: Of them; None leaves the characters of stretches out.
        """
        documents, count = len(tokens.offsets) - 1, len(anchors.keys)
        counts = np.empty(documents, np.int32)
        kept, (*listed, stretches) = self._arrays(count)
        rows, entries, found = match_known(
            *tokens,
            (*anchors, self._contents(tokens, shared, anchors)),
            tuple(self._begin.tolist()),
            (self._words, RunLength(self._words).gram),
            self._known,
            tuple(self._made(count, *_SPACE)),
            (*kept, listed[0], listed[1], counts, listed[2], stretches),
        )
        self._filled += rows
        if entries:
            keys, since, marked = (values[:entries] for values in listed)
            numbers = np.arange(documents) + self._begin[0]
            self.records.add(tokens, numbers, (keys, since, counts, marked))
        self._has_stretches = found > 0
        if not shared[:, 1].any():
            self.part = no_part()
        if found:
            table = stretches[:found].copy()
            table[:, 3] = NONE
            if text is not None and text.original:
                _, characters, begins, _ = text.spans
                arguments = tokens.offsets, self._begin[0], self._words, table
                characters_around(characters, begins, *arguments)
            if text is not None and not len(self.part.data):
                self.part = self._common_part(table, tokens.offsets, text)
            self._stretches.append(table)
        self._begin += documents, count

    def _common_part(self, stretches: np.ndarray, offsets: np.ndarray, text: Placed) -> CommonPart:
        """Return the bytes of a stretch that many documents have; ``offsets`` are of tokens."""
        sources, counts = np.unique(stretches[:, 1], return_counts=True)
        most = int(np.argmax(counts))
        if counts[most] < max(2, WORTH * (len(offsets) - 1)):
            return no_part()
        rows = stretches[stretches[:, 1] == sources[most]]
        # In most documents it is as long, or longer, for words behind it that are equal by chance.
        row = rows[np.argsort(rows[:, 2], kind="stable")[len(rows) // 4]]
        document = int(row[0] >> np.uint64(32)) - int(self._begin[0])
        first = int(offsets[document]) + int(row[0] & TOKEN)
        last = first + int(row[2]) + self._words - 2
        begin, end = text.offsets[document : document + 2].tolist()
        original = text.data[begin:end].tobytes().decode()
        ends = text.spans.characters[[2 * first, 2 * last + 1]] - text.spans.begins[document]
        span = (begin + len(original[:at].encode()) for at in ends.tolist())
        return part_between(text.data, tuple(span), (begin, end))

    def _contents(self, tokens: Ragged, shared: np.ndarray, anchors: RunAnchors) -> np.ndarray:
        if len(self._prefixes) <= len(tokens.values):
            self._prefixes = self._allocate(len(tokens.values) * 5 // 4 + 1, _U64)
        found = self._allocate(len(anchors.keys), _U64)
        contents_of_anchors(*tokens, shared, tuple(anchors), self._words, self._prefixes, found)
        return found

    def _arrays(self, anchors: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return arrays for anchors that are kept, and those that the next batch has again."""
        more = 2 * anchors + int(self._known.filled[2])
        self._kept = [larger(each, self._filled, more, self._allocate) for each in self._kept]
        if not self._space or len(self._space[3]) < min(anchors, _MORE):
            size = min(anchors + anchors // 4, _MORE)
            self._space = self._made(2 * size, _U64, np.dtype(np.int32), np.dtype(np.uint8))
            self._space.append(self._allocate(COLUMNS * size, _U64).reshape(-1, COLUMNS))
        return [values[self._filled :] for values in self._kept], self._space

    def _made(self, rows: int, *kinds: np.dtype) -> list[np.ndarray]:
        return [self._allocate(rows, kind) for kind in kinds]

    def found(self) -> Found:
        """Return the findings; anchors are valid until the next partition begins."""
        anchors = [values[: self._filled] for values in self._kept]
        return Found(anchors, np.concatenate(self._stretches))


def larger(values: np.ndarray, filled: int, more: int, allocate: Allocate) -> np.ndarray:
    """Return an array with some values, and space for others behind them; the same if it has it."""
    size = filled + more
    if size <= len(values):
        return values
    out = allocate(size + min(size, _MORE), values.dtype)
    out[:filled] = values[:filled]
    return out


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
    filled = 0
    for block in blocks:
        rows = table[filled : filled + len(block)]
        rows[:] = block[:, :3]
        if numbers is not None:
            for k in range(2):
                rows[:, k] = _numbered(rows[:, k], numbers)
        filled += len(block)
    limits = np.unique(np.concatenate([table[:, 1], table[:, 1] + table[:, 2]]))
    ends = scratch.empty(len(limits), np.int64)
    of = scratch.zeros(documents, np.bool_)
    size = fill_fragments(table, limits, ends, np.empty(0, np.uint64), of)
    copies = scratch.empty(size, np.uint64)
    fill_fragments(table, limits, ends, copies, of)
    return Fragments(limits, ends, copies, of)
