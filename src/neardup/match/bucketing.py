"""Band keys to buckets."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from neardup.arrays import check_matrix
from neardup.cluster.edges import Allocate
from neardup.kernels import grouping as kernels
from neardup.kernels.resolving import Buckets
from neardup.threads import Pool


class BandBuckets(NamedTuple):
    """Buckets of two documents and more, in one band."""

    members: np.ndarray  # int32[]: documents of each bucket, ascending; buckets by ascending key
    starts: np.ndarray  # int32[buckets + 1]: where each begins

    @property
    def candidates(self) -> int:
        sizes = np.diff(self.starts).astype(np.int64)
        return int((sizes * (sizes - 1) // 2).sum())


def group(keys: np.ndarray, docs: np.ndarray | None = None) -> BandBuckets:
    """Group the documents of one band by key, uint64[documents]; takes some 30 bytes for each.

    ``docs`` are their numbers, int32[documents], ascending; positions by default.
    """
    members = np.empty(len(keys), dtype=np.int32)
    starts = np.empty(len(keys) // 2 + 1, dtype=np.int32)
    count = kernels.group_keys(np.ascontiguousarray(keys), members, starts)
    starts = starts[: count + 1].copy()
    members = members[: starts[-1]].copy()
    return BandBuckets(members if docs is None else docs[members], starts)


def bucket_bands(
    keys_of: Callable[[int], np.ndarray], num_bands: int, pool: Pool
) -> Iterable[BandBuckets]:
    """Group the bands; some at the same time, so ``keys_of`` is called in several threads."""
    return pool.ordered(lambda band: group(keys_of(band)), range(num_bands), pool.threads)


def plausible(
    bands: Iterable[BandBuckets],
    size: np.ndarray,
    bitmaps: np.ndarray,
    threshold: float,
    pool: Pool,
) -> np.ndarray:
    """Find the documents that may reach the threshold with another one of their buckets.

    Only these need to be compared. A pair that does reach the threshold is never left out.
    ``size`` counts the shingles of each document, repetitions included. Returns bool[documents].
    """
    marked = np.zeros(len(size), dtype=np.bool_)
    slack = (1 - threshold) / (1 + threshold)

    def mark(band: BandBuckets) -> None:
        kernels.mark_plausible(band.members, band.starts, size, bitmaps, slack, marked)

    for _ in pool.ordered(mark, bands, pool.threads):
        pass
    return marked


def bucket_documents(
    bands: Iterable[BandBuckets], documents: int, num_bands: int, allocate: Allocate = np.empty
) -> Buckets:
    """Put the buckets of all bands together.

    Takes 4 bytes for each document and band, in an array that ``allocate`` makes, and 4 for each
    member.
    """
    of = allocate((documents, num_bands), np.int32)
    members, starts = [], [np.zeros(1, dtype=np.int64)]
    buckets = filled = 0
    for number, band in enumerate(bands):
        column = np.full(documents, -1, dtype=np.int32)
        numbers = np.arange(buckets, buckets + len(band.starts) - 1, dtype=np.int32)
        column[band.members] = np.repeat(numbers, np.diff(band.starts))
        of[:, number] = column
        members.append(band.members)
        starts.append(band.starts[1:].astype(np.int64) + filled)
        buckets += len(band.starts) - 1
        filled += len(band.members)
    gathered = np.concatenate([np.zeros(0, dtype=np.int32), *members])
    return Buckets(gathered, np.concatenate(starts), of)


def one_bucket(documents: int) -> Buckets:
    """Return a bucket that holds all documents, for an exact search without bands."""
    members = np.arange(documents, dtype=np.int32)
    starts = np.array([0, documents], dtype=np.int64)
    return Buckets(members, starts, np.zeros((documents, 1), dtype=np.int32))


def candidate_pairs(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of documents that share a bucket in some band, each once.

    For a few documents: a bucket of n gives n (n - 1) / 2 pairs. A run does not make such a list.

    Args:
        keys: uint64[documents, num_bands], see `neardup.band_keys`.

    Returns:
        (a, b) int32[pairs] with ``a < b``, sorted.

    Raises:
        SpecError: These are no band keys.

    Examples:
        >>> candidate_pairs(np.array([[7, 1], [8, 1], [9, 2]], dtype=np.uint64))[1].tolist()
        [1]
    """
    check_matrix("keys", keys, np.uint64)
    pairs = [np.empty((0, 2), dtype=np.int32)]
    for column in keys.T:
        members, starts = group(column)
        for low, high in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            i, j = np.triu_indices(high - low, k=1)
            pairs.append(np.column_stack([members[low + i], members[low + j]]))
    found = np.unique(np.concatenate(pairs), axis=0)
    return found[:, 0], found[:, 1]
