"""Exact set-similarity join: all pairs that reach a threshold, without comparing all pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.kernels import join as kernels

__all__ = ["Joined", "join"]

#: Members of sets that are sorted at a time.
_PART = 1 << 23


class Joined(NamedTuple):
    """Pairs that reach the threshold.

    Attributes:
        a, b: int32[pairs], ``a < b``, sorted.
        similarity: float64[pairs].
        comparisons: Pairs whose sets were merged to find them.
    """

    a: np.ndarray
    b: np.ndarray
    similarity: np.ndarray
    comparisons: int


def join(
    sets: ShingleSets,
    docs: np.ndarray,
    threshold: float,
    pool: Pool,
) -> Joined:
    """Find every pair of documents whose sets reach the threshold.

    Two sets of sizes m <= n can reach t only if m >= t n, and if they share one of their rarest
    ``n - ceil(t n) + 1`` and ``m - ceil(2 t m / (1 + t)) + 1`` values: these prefixes go into an
    inverted index, and only pairs that meet in it are compared. Exact for any input; fast where
    documents have rare values, quadratic at worst.

    Args:
        sets: Sets of all documents.
        docs: int32[m], distinct documents with at least one shingle.
        threshold: Least similarity, above 0.
        pool: Threads.

    Source: Bayardo, Ma, Srikant, WWW 2007; Xiao, Wang, Lin, Yu, WWW 2008; Mann, Augsten, Bouros,
    PVLDB 9(9), 2016.
    """
    sizes = sets.size[docs].astype(np.int64)
    by_size = np.lexsort((docs, sizes))
    docs, sizes = docs[by_size], sizes[by_size]
    m = len(docs)
    # Rounding could make a prefix too short by one; the margin makes it too long instead.
    margin = 1e-9
    probe_length = sizes - np.ceil(threshold * sizes - margin).astype(np.int64) + 1
    pair_overlap = np.ceil(2 * threshold / (1 + threshold) * sizes - margin).astype(np.int64)
    index_length = sizes - pair_overlap + 1

    singles = np.zeros(m, dtype=np.int32)
    starts, shared = _shared_values(sets, docs, int(sizes.sum()), singles, pool)
    frequency = np.diff(starts)
    order = np.argsort(frequency, kind="stable")
    counts = np.zeros(m + 1, dtype=np.int64)
    members = kernels.postings(order, starts, shared, singles, probe_length, counts)
    prefix = np.empty(members, dtype=np.int32)
    places = np.empty(members, dtype=np.int32)
    kernels.fill_prefixes(order, starts, shared, singles, probe_length, counts, prefix, places)
    index_starts = np.zeros(len(order) + 1, dtype=np.int64)
    index_docs = np.empty(members, dtype=np.int32)
    index_places = np.empty(members, dtype=np.int32)
    kernels.fill_index(counts, prefix, places, index_length, index_starts, index_docs, index_places)
    prefixes = counts, prefix, places
    index = index_starts, index_docs, index_places

    def probe(first: int, last: int) -> list[list[np.ndarray]]:
        mark = np.full(m, -1, dtype=np.int32)
        room = max(m, 1 << 14)
        found: list[list[np.ndarray]] = [[], [], []]
        comparisons = 0
        filter = sets.filter(threshold)
        while first < last:
            out: list[np.ndarray] = [np.empty(room, t) for t in (np.int32, np.int32, np.float64)]
            count, compared, first = kernels.probe(
                sets.arrays, docs, filter, threshold, prefixes, index, first, last, mark, *out
            )
            comparisons += compared
            for part, array in zip(found, out, strict=True):
                part.append(array[:count].copy())
        return [*found, [np.array([comparisons])]]

    parts = pool.ranges(probe, m, step=max(1024, m // 64))
    columns: list[np.ndarray] = [
        np.concatenate([np.zeros(0, dtype), *(array for part in parts for array in part[i])])
        for i, dtype in enumerate((np.int32, np.int32, np.float64, np.int64))
    ]
    a, b, similarity, comparisons = columns
    sort = np.lexsort((b, a))
    return Joined(a[sort], b[sort], similarity[sort], int(comparisons.sum()))


def _shared_values(
    sets: ShingleSets, docs: np.ndarray, members: int, singles: np.ndarray, pool: Pool
) -> tuple[np.ndarray, np.ndarray]:
    """Return (starts, documents) of the values that two sets and more share; count the others."""
    parts = 1
    while members / parts > _PART or parts < pool.threads:
        parts *= 2
    width = 2**64 // parts

    def count(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        low, high = np.uint64(first * width), np.uint64(last * width - 1)
        room = int(members / parts * 1.1) + 4096
        while True:
            values, ranks = np.empty(room, np.uint64), np.empty(room, np.int32)
            found = kernels.gather_part(*sets.arrays, docs, low, high, values, ranks)
            if found <= room:
                break
            room = found
        values, ranks = values[:found], ranks[:found]
        order = np.argsort(values)
        single = np.zeros(len(docs), dtype=np.int32)
        out_docs = np.empty(found, dtype=np.int32)
        out_starts = np.empty(found // 2 + 2, dtype=np.int64)
        shared, filled = kernels.count_values(
            values[order], ranks[order], single, out_docs, out_starts
        )
        return out_starts[: shared + 1].copy(), out_docs[:filled].copy(), single

    starts, shared = [np.zeros(1, np.int64)], []
    base = 0
    for part_starts, part_docs, single in pool.ranges(count, parts, step=1):
        starts.append(part_starts[1:] + base)
        shared.append(part_docs)
        base += len(part_docs)
        singles += single
    return np.concatenate(starts), np.concatenate(shared)
