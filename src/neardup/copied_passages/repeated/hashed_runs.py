"""Hashes of the runs of a partition, batch by batch."""

from __future__ import annotations

import numpy as np

from neardup.copied_passages.repeated.spill import Allocate
from neardup.kernels.passages.hashing import runs_of_anchors
from neardup.kernels.passages.positions import NONE
from neardup.kernels.passages.run_records import divide_records
from neardup.sketch.texts import Ragged

#: Anchors whose runs are looked for among those of others.
RECENT = 1 << 14
#: Words, or keys, that are added to an array at most when it grows.
_MORE = 1 << 19
#: Words of records, and keys, that space is kept for.
_LARGE = 1 << 20
_U64 = np.dtype(np.uint64)


class HashedRuns:
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
            self._larger(values, filled, filled + size)
            for values, filled, size in zip(self._out, self._filled, sizes, strict=True)
        ]
        words, keys = self._filled
        out = self._out[0][words:], self._out[1][keys:]
        size, records = runs_of_anchors(*tokens, numbers, anchors, self._words, self._recent, out)
        self._filled = [words + size, keys + records]

    def _larger(self, values: np.ndarray, filled: int, size: int) -> np.ndarray:
        """Return an array of a size with some values; the same one if it suffices."""
        if size <= len(values):
            return values
        out = self._allocate(size + min(size, _MORE), values.dtype)
        out[:filled] = values[:filled]
        return out

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
