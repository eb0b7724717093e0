"""Exact duplicates: which document represents all with the same tokens."""

import numpy as np

from neardup.match.bucketing import group


def first_of_equal(hashes: np.ndarray, docs: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Find, for each document, the one that stands for all with the same token sequence.

    ``docs``, int32[n], ascending, are the documents with tokens; the others stand for themselves.
    Of equal ones the one of the lowest ``rank``, int32[documents], stands for the others.
    """
    first = np.arange(len(hashes), dtype=np.int32)
    # Few documents have equal ones: only those whose first half of the hash is shared are sorted.
    members, starts = group(hashes[docs, 0], docs)
    if not len(members):
        return first
    bucket = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    other = hashes[members, 1]
    by_hash = np.lexsort((rank[members], other, bucket))
    members, other, bucket = members[by_hash], other[by_hash], bucket[by_hash]
    new = np.ones(len(members), dtype=np.bool_)
    new[1:] = (bucket[1:] != bucket[:-1]) | (other[1:] != other[:-1])
    first[members] = members[np.maximum.accumulate(np.where(new, np.arange(len(members)), 0))]
    return first


def expand_to_duplicates(
    first: np.ndarray, duplicate_of: np.ndarray, similarity: np.ndarray
) -> None:
    """Say of exact duplicates what holds for the one that stands for them, in place.

    That one is the ``first`` of them in keep order. If it is kept (``duplicate_of`` is -1), the
    others are its duplicates; if not, all of them are duplicates of the same kept document.
    """
    others = np.flatnonzero(first != np.arange(len(first)))
    stands = first[others]
    kept = duplicate_of[stands] < 0
    duplicate_of[others] = np.where(kept, stands, duplicate_of[stands])
    similarity[others] = np.where(kept, 1.0, similarity[stands])
