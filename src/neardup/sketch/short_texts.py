"""Documents that are too short for a run of tokens: which of them are equal."""

from __future__ import annotations

import numpy as np

from neardup.arrays import ragged_rows
from neardup.kernels.text.shingling import shingle_tokens
from neardup.sketch.texts import Ragged

_NO_HASHES = np.empty((0, 2), np.uint64)


def short_texts(tokens: Ragged, words: int) -> np.ndarray:
    """Return a hash of each document with fewer tokens than a run.

    Args:
        tokens: Of some documents.
        words: Tokens of a run.

    Returns:
        uint64[documents], equal for equal documents; 0 for longer ones, and for those without
        tokens.
    """
    sizes = np.diff(tokens.offsets)
    found = np.zeros(len(sizes), np.uint64)
    rows = np.flatnonzero((sizes > 0) & (sizes < words))
    if len(rows):
        values = tokens.values[ragged_rows(tokens.offsets[rows], sizes[rows])]
        ends = np.append(0, np.cumsum(sizes[rows], dtype=np.int64))
        hashes, offsets = np.empty(len(values), np.uint64), np.empty_like(ends)
        count = shingle_tokens(values, ends, words, hashes, offsets, _NO_HASHES)
        found[rows] = hashes[:count]
    return found
