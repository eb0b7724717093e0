"""Exact duplicates: documents with the same token sequence after normalising."""

from __future__ import annotations

import numpy as np

from neardup.core.band import buckets

__all__ = ["first_of_group", "same_bytes"]


def first_of_group(hashes: np.ndarray, docs: np.ndarray, passes: int = 1) -> np.ndarray:
    """Return, for each document, the first one with the same 128-bit hash.

    Args:
        hashes: uint64[documents, 2].
        docs: int32[], ascending: only these are looked at; others are their own first.
        passes: See `neardup.core.band.buckets`.

    Returns:
        int32[documents].
    """
    first = np.arange(len(hashes), dtype=np.int32)
    members, starts = buckets(hashes[:, 0], docs, passes)
    leaders = np.repeat(members[starts[:-1]], np.diff(starts))
    if (hashes[members, 1] == hashes[leaders, 1]).all():
        first[members] = leaders
        return first
    # Two different texts share 64 bits: group those few again, by all 128.
    order = np.lexsort((members, hashes[members, 1], hashes[members, 0]))
    members = members[order]
    new = np.ones(len(members), dtype=np.bool_)
    new[1:] = (hashes[members[1:]] != hashes[members[:-1]]).any(axis=1)
    first[members] = members[np.maximum.accumulate(np.where(new, np.arange(len(members)), 0))]
    return first


def same_bytes(first: np.ndarray, byte_hashes: np.ndarray) -> int:
    """Count documents whose bytes equal those of an earlier document.

    Args:
        first: As made by `first_of_group`.
        byte_hashes: uint64[documents].
    """
    grouped = np.zeros(len(first), dtype=np.bool_)
    repeats = np.flatnonzero(first != np.arange(len(first)))
    grouped[repeats] = True
    grouped[first[repeats]] = True
    docs = np.flatnonzero(grouped)
    pairs = np.stack([first[docs].astype(np.uint64), byte_hashes[docs]], axis=1)
    return len(docs) - len(np.unique(pairs, axis=0))
