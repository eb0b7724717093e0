"""Band keys to buckets."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from neardup.arrays import check_matrix
from neardup.cluster.edges import Allocate
from neardup.errors import InputError
from neardup.kernels import grouping as kernels
from neardup.kernels.resolving import Buckets
from neardup.threads import Pool
from neardup.tuning import TUNING


class BandBuckets(NamedTuple):
    """Buckets of two documents and more, in one band."""

    members: np.ndarray  # int32[]: documents of each bucket, ascending; buckets by ascending key
    starts: np.ndarray  # int32[buckets + 1]: where each begins

    @property
    def candidates(self) -> int:
        sizes = np.diff(self.starts).astype(np.int64)
        return int((sizes * (sizes - 1) // 2).sum())


#: Bytes for each document while a band is grouped: keys, those of `group`, and buckets that wait.
GROUPING = 52


def group(
    keys: np.ndarray, docs: np.ndarray | None = None, allocate: Allocate = np.empty
) -> BandBuckets:
    """Group the documents of one band by key, uint64[n]; takes at most 40 bytes for each.

    ``docs`` are their numbers, int32[n], ascending; positions by default. ``allocate`` makes the
    arrays, which are longer than needed unless it is NumPy's.
    """
    members = allocate(len(keys), np.dtype(np.int32))
    starts = allocate(len(keys) // 2 + 1, np.dtype(np.int32))
    buffers = kernels.GroupingBuffers.of(len(keys), allocate)
    count = kernels.group_keys(np.ascontiguousarray(keys), buffers, members, starts)
    starts = starts[: count + 1]
    members = members[: starts[-1]]
    if allocate is np.empty:
        starts, members = starts.copy(), members.copy() if docs is None else members
    return BandBuckets(members if docs is None else docs[members], starts)


def bands_at_once(documents: int, pool: Pool, left: int) -> int:
    """Return how many bands may be grouped at the same time.

    Args:
        documents: Documents of each band.
        pool: Threads; one band more than these keeps all of them at work.
        left: Bytes that may be used besides those of one band.
    """
    return min(pool.threads + 1, 1 + left // (GROUPING * documents + 1))


def bucket_bands(
    keys_of: Callable[[int], np.ndarray],
    num_bands: int,
    pool: Pool,
    docs: np.ndarray | None = None,
    at_once: int = 0,
) -> Iterator[BandBuckets]:
    """Group the bands; some at the same time, so ``keys_of`` is called in several threads.

    Args:
        keys_of: From a band to its keys, uint64[n].
        num_bands: Number of bands.
        pool: Threads.
        docs: int32[n]: documents of the keys, ascending; positions by default.
        at_once: Bands that are grouped and not yet yielded, at most; 0 for as many as there are
            threads, and one.
    """
    most = at_once or pool.threads + 1
    return pool.ordered(lambda band: group(keys_of(band), docs), range(num_bands), most)


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

    def mark(band: BandBuckets) -> None:
        kernels.mark_plausible(band.members, band.starts, size, bitmaps, threshold, marked)

    # Two, as members that wait take memory, and to mark takes less time than to group.
    for _ in pool.ordered(mark, bands, 2):
        pass
    return marked


def bucket_documents(
    bands: Iterable[BandBuckets], documents: int, num_bands: int, allocate: Allocate = np.empty
) -> Buckets:
    """Put the buckets of all bands together.

    Takes 4 bytes for each document and band, 8 for each member, and 16 for each bucket, in arrays
    that ``allocate`` makes.

    Raises:
        InputError: There are more buckets than have a number.
    """
    of = allocate((documents, num_bands), np.int32)
    of[...] = -1
    members, starts = [], []
    buckets = filled = 0
    for number, band in enumerate(bands):
        more = len(band.starts) - 1
        check_buckets(buckets + more)
        kernels.name_buckets(band.members, band.starts, buckets, number, of)
        members.append(allocate(len(band.members), np.int32))
        members[-1][...] = band.members
        starts.append(allocate(more, np.int64))
        np.add(band.starts[1:], filled, out=starts[-1])
        buckets, filled = buckets + more, filled + len(band.members)
    every, ends = allocate(filled, np.int32), allocate(buckets + 1, np.int64)
    ends[0] = 0
    np.concatenate([every[:0], *members], out=every)
    np.concatenate([ends[:1], *starts], out=ends)
    return Buckets(every, ends, of)


def check_buckets(buckets: int) -> None:
    """Raise InputError where so many buckets of all bands can't be numbered by int32."""
    if buckets > TUNING.most_buckets:
        raise InputError(
            f"{buckets:,} buckets have two documents or more; a run takes at most"
            f" {TUNING.most_buckets:,}",
            "use fewer bands, by `num_bands` and `rows` or a lower `recall`; or neardup.spark",
        )


def one_bucket(documents: int) -> Buckets:
    """Return a bucket of all documents, for an exact search without bands."""
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
