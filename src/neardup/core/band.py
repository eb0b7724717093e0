"""Signatures to band keys, band keys to buckets, buckets to candidate pairs."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from neardup.kernels import buckets as bucket_kernels
from neardup.kernels import signatures as kernels

__all__ = ["Buckets", "band_keys", "buckets", "candidate_pairs"]


class Buckets(NamedTuple):
    """Buckets of two documents and more, in one band.

    Attributes:
        members: int32[]: documents of each bucket, ascending; buckets in ascending order of key.
        starts: int32[buckets + 1]: where each begins.
    """

    members: np.ndarray
    starts: np.ndarray


def band_keys(signatures: np.ndarray, num_bands: int, rows: int) -> np.ndarray:
    """Return the band keys of signatures, uint64[num_bands, documents].

    Args:
        signatures: uint32[documents, num_hashes], with ``num_bands * rows <= num_hashes``.
        num_bands: Bands.
        rows: Signature entries in a band.
    """
    if num_bands * rows > signatures.shape[1]:
        raise ValueError(
            f"{num_bands} bands of {rows} rows need {num_bands * rows} hashes; "
            f"the signatures have {signatures.shape[1]}"
        )
    out = np.empty((num_bands, signatures.shape[0]), dtype=np.uint64)
    kernels.band_keys(signatures, num_bands, rows, out)
    return out


def buckets(keys: np.ndarray, docs: np.ndarray | None = None) -> Buckets:
    """Group the documents of one band by key.

    Args:
        keys: uint64[documents].
        docs: int32[], ascending: only these take part; all by default.
    """
    if docs is not None:
        keys = keys[docs]
    members = np.empty(len(keys), dtype=np.int32)
    starts = np.empty(len(keys) // 2 + 1, dtype=np.int32)
    count = bucket_kernels.buckets(keys, members, starts)
    starts = starts[: count + 1].copy()
    members = members[: starts[-1]]
    return Buckets(members.copy() if docs is None else docs[members], starts)


def candidate_pairs(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return every pair of documents that share a key in some band, once, sorted.

    This lists pairs, so that a bucket of m documents gives m (m - 1) / 2 of them; clustering
    (`neardup.core.cluster`) works on the buckets themselves.

    Args:
        keys: uint64[num_bands, documents].

    Returns:
        (a, b): int32[pairs], ``a < b``.
    """
    pairs = [np.zeros(0, dtype=np.uint64)]
    for band in keys:
        members, starts = buckets(band)
        for first, last in itertools.pairwise(starts):
            i, j = np.triu_indices(last - first, k=1)
            docs = members[first:last].astype(np.uint64)
            pairs.append(docs[i] << np.uint64(32) | docs[j])
    unique = np.unique(np.concatenate(pairs))
    return (unique >> np.uint64(32)).astype(np.int32), unique.astype(np.uint32).astype(np.int32)
