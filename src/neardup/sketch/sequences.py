"""Sequences of tokens that are looked for in documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from neardup.kernels.text import shingling as kernels
from neardup.sketch.texts import Ragged
from neardup.tuning import TUNING


class Hits(NamedTuple):
    position: np.ndarray  # int64[hits]: first token, ascending
    sequence: np.ndarray  # int64[hits]: number of the sequence


class TokenSequences:
    """Some sequences of tokens, ready to be looked for; for many threads at once.

    Args:
        rows: The token hashes of each; one without tokens is never found.

    Examples:
        >>> found = TokenSequences([np.array([2, 3], np.uint64), np.array([3], np.uint64)])
        >>> hits = found(Ragged(np.array([1, 2, 3, 2], np.uint64), np.array([0, 4])))
        >>> hits.position.tolist(), hits.sequence.tolist()
        ([1, 2], [0, 1])
    """

    def __init__(self, rows: Sequence[np.ndarray]) -> None:
        keys = [tuple(row.tolist()) for row in rows]
        order = sorted(
            (number for number in range(len(rows)) if keys[number]), key=keys.__getitem__
        )
        self._number = np.array(order, np.int64)
        #: int64[sequences]: tokens of each.
        self.lengths = np.array([len(key) for key in keys], np.int64)
        begin = np.concatenate([[0], np.cumsum(self.lengths[self._number])]).astype(np.int64)
        values = np.concatenate([np.empty(0, np.uint64), *(rows[number] for number in order)])
        size = 1 << (2 * len(order) + 1).bit_length()
        table, low, high = (np.full(size, fill) for fill in (np.uint64(0), -1, -1))
        for row in range(len(order)):
            token = int(values[begin[row]])
            at = token & (size - 1)
            while low[at] >= 0 and int(table[at]) != token:
                at = (at + 1) & (size - 1)
            if low[at] < 0:
                table[at], low[at] = token, row
            high[at] = row + 1
        self._sequences = kernels.Sequences(table, low, high, begin, values)

    def __call__(self, tokens: Ragged) -> Hits:
        """Return all occurrences within documents."""
        state = np.zeros(2, np.int64)
        capacity = TUNING.sequence_hits + len(self._number)
        where, which = (np.empty(capacity, np.int64) for _ in range(2))
        parts = []
        while len(self._number) and state[0] < len(tokens.offsets) - 1:
            count = kernels.find_sequences(*tokens, self._sequences, state, where, which)
            parts.append((where[:count].copy(), self._number[which[:count]]))
        empty = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        return Hits(*(np.concatenate(column) for column in zip(*empty, *parts, strict=True)))
