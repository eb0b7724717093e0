"""Shingle sets, and exact similarities of pairs."""

import numpy as np
import numpy.typing as npt

from neardup.kernels import jaccard as kernels
from neardup.kernels.bits import TOKEN_MULTIPLIER
from neardup.kernels.jaccard import Sets
from neardup.sketch.texts import Ragged
from neardup.threads import Pool

#: Words of the bitmap of a set: 1,024 bits.
SET_WORDS = 16


def make_sets(sets: Ragged) -> Sets:
    """Prepare shingle sets for comparison."""
    begin = sets.offsets[:-1].copy()
    size = (sets.offsets[1:] - begin).astype(np.int32)
    bitmaps = np.empty((len(size), SET_WORDS), dtype=np.uint64)
    kernels.fill_bitmaps(sets.values, begin, size, True, bitmaps)
    return Sets(sets.values, begin, size, bitmaps)


def taken(sets: Sets | Ragged, rows: np.ndarray) -> Ragged:
    """Return some sets, by their rows, one after the other."""
    if isinstance(sets, Sets):
        begin, lengths = sets.begin[rows], sets.size[rows].astype(np.int64)
    else:
        begin, lengths = sets.offsets[rows], sets.offsets[rows + 1] - sets.offsets[rows]
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    indices = np.repeat(begin - offsets[:-1], lengths)
    indices += np.arange(int(offsets[-1]))
    return Ragged(sets.values[indices], offsets)


def content_hashes(sets: Sets) -> np.ndarray:
    """Return uint64[m]: a hash of each set, from its size, its smallest member and its bitmap."""
    hashes: npt.NDArray[np.uint64] = smallest(sets) ^ sets.size.astype(np.uint64)
    for word in sets.bitmaps.T:
        hashes = (hashes ^ word) * TOKEN_MULTIPLIER
        hashes ^= hashes >> np.uint64(32)
    return hashes


def content_order(sets: Sets) -> np.ndarray:
    """Return int64[m]: documents in an order that depends on their shingles, not on their numbers.

    Documents with the same smallest shingle follow one another, as similar ones often do.
    """
    return np.lexsort((content_hashes(sets), smallest(sets)))


def smallest(sets: Sets) -> npt.NDArray[np.uint64]:
    """Return uint64[m]: the smallest member of each set; 0 for an empty one."""
    found = np.zeros(len(sets.size), dtype=np.uint64)
    filled = sets.size > 0
    found[filled] = sets.values[sets.begin[filled]]
    return found


def similarities(
    sets: Sets, a: np.ndarray, b: np.ndarray, threshold: float, pool: Pool
) -> np.ndarray:
    """Return the exact Jaccard similarity of each pair, or -1 where it is below ``threshold``."""
    out = np.empty(len(a), dtype=np.float64)
    pool.ranges(lambda first, last: kernels.verify(sets, a, b, first, last, threshold, out), len(a))
    return out
