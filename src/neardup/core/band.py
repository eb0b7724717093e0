"""Signatures to band keys, band keys to buckets, buckets to candidate pairs."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from neardup.kernels import buckets as bucket_kernels
from neardup.kernels import signatures as kernels

__all__ = ["Buckets", "band_keys", "buckets", "candidate_pairs"]

#: Documents whose keys are looked at together where not all are grouped at once.
_BLOCK = 1 << 20


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


def buckets(keys: np.ndarray, docs: np.ndarray | None = None, passes: int = 1) -> Buckets:
    """Group the documents of one band by key.

    Args:
        keys: uint64[documents].
        docs: int32[], ascending: only these take part; all by default.
        passes: Ranges of keys that are grouped one after the other. Grouping takes about 30 bytes
            for each document of a range; the result is the same.
    """
    if docs is None:
        docs = np.arange(len(keys), dtype=np.int32)
    if passes <= 1:
        return _buckets(keys[docs], docs)
    width = -(-(1 << 64) // passes)
    found = []
    for low in range(0, 1 << 64, width):
        least, most = np.uint64(low), np.uint64(min(low + width, 1 << 64) - 1)
        chosen = []
        for begin in range(0, len(docs), _BLOCK):
            block = docs[begin : begin + _BLOCK]
            of_block = keys[block]
            chosen.append(block[(of_block >= least) & (of_block <= most)])
        some = np.concatenate(chosen) if chosen else docs
        found.append(_buckets(keys[some], some))
    shifts = np.cumsum([0, *(len(f.members) for f in found)])
    starts = [f.starts[:-1] + np.int32(s) for f, s in zip(found, shifts, strict=False)]
    return Buckets(
        np.concatenate([f.members for f in found]),
        np.concatenate([*starts, shifts[-1:].astype(np.int32)]),
    )


def _buckets(keys: np.ndarray, docs: np.ndarray) -> Buckets:
    members = np.empty(len(keys), dtype=np.int32)
    starts = np.empty(len(keys) // 2 + 1, dtype=np.int32)
    count = bucket_kernels.buckets(keys, members, starts)
    starts = starts[: count + 1].copy()
    return Buckets(docs[members[: starts[-1]]], starts)


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
