"""All pairs that reach the threshold: those that share a bucket, or all there are."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from neardup.cluster.edges import Allocate, Edges, Triple
from neardup.kernels import grouping, prefixes
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Answers, Buckets
from neardup.match.prefix_index import (
    count_shingles,
    empty_chains,
    make_prefixes,
    search_memory,
    with_capacity,
)
from neardup.threads import Local, Pool
from neardup.tuning import TUNING

#: Size of the window: a document is compared with so many that follow it in a bucket, at most.
_WIDEST = 1 << 10
STEP = 512

#: Is called with (documents done since, pairs compared so far).
Advance = Callable[[int, int], None] | None


@dataclass(frozen=True)
class PairCounts:
    """Pairs that were looked at."""

    compared: int  # pairs whose similarity was computed
    ruled_out: int  # pairs that sizes or bitmaps ruled out
    not_compared: int  # pairs left out in large or full buckets, once for each band


@dataclass(frozen=True)
class FoundPairs(PairCounts):
    """Pairs that reach the threshold."""

    # (a int32[], b int32[], similarity float64[]): documents, with ``a < b`` by their numbers, in
    # any order; each pair once.
    parts: list[Triple]


class _PairBuffer:
    """Pairs that one thread finds, in arrays of one size, which can be mapped to files."""

    def __init__(self, allocate: Allocate, size: int) -> None:
        self._columns = [allocate(size, kind) for kind in (np.int32, np.int32, np.float64)]
        self.size, self.filled = size, 0

    def rows(self, first: int, last: int) -> Triple:
        return cast(Triple, tuple(column[first:last] for column in self._columns))


class _PairSearch(NamedTuple):
    """A search for pairs in ranges of documents, which threads share.

    ``compare(first, last, out, counts)`` fills ``out``, and returns (first one not done, pairs).
    """

    compare: Callable[[int, int, Triple, np.ndarray], tuple[int, int]]
    total: int
    step: int
    most: int  # pairs that one document can have

    def run(
        self,
        pool: Pool,
        allocate: Allocate,
        advance: Advance,
        left_out: int = 0,
        part: range | None = None,
    ) -> FoundPairs:
        part = range(self.total) if part is None else part
        found: Local[list[_PairBuffer]] = Local(list)
        counts = Local(lambda: np.zeros(2, np.int64))

        def work(low: int) -> int:
            first, last, buffers = low, min(low + self.step, part.stop), found()
            if not buffers:
                buffers.append(_PairBuffer(allocate, TUNING.kept_pairs))
            while first < last:
                out = buffers[-1].rows(buffers[-1].filled, buffers[-1].size)
                first, more = self.compare(first, last, out, counts())
                buffers[-1].filled += more
                if first < last:  # the pairs of the next one might not fit
                    # Where those of two fit, no array but the first stays empty by half.
                    half = buffers[-1].filled > buffers[-1].size // 2
                    buffers.append(
                        _PairBuffer(allocate, buffers[-1].size if half else 2 * self.most)
                    )
            return last - low

        for done in pool.ordered(work, range(part.start, part.stop, self.step)):
            if advance is not None:
                advance(done, int(sum(c[0] for c in counts.all)))
        compared, ruled_out = np.sum([np.zeros(2, np.int64), *counts.all], axis=0).tolist()
        parts = [buffer.rows(0, buffer.filled) for buffers in found.all for buffer in buffers]
        return FoundPairs(compared, ruled_out, left_out, parts)


def pairs_outside_windows(sizes: np.ndarray) -> int:
    """Return how many pairs of buckets of these sizes are not compared.

    >>> pairs_outside_windows(np.array([2, 1024, 1026]))
    6
    """
    sizes = sizes.astype(np.int64)
    windows = np.maximum(grouping.WINDOW, grouping.PAIRS // sizes)
    beyond = np.maximum(sizes - windows - 1, 0)
    return int((beyond * (beyond + 1) // 2).sum())


def pairs_of_buckets(
    sets: Sets,
    buckets: Buckets,
    threshold: float,
    pool: Pool,
    allocate: Allocate = np.empty,
    advance: Advance = None,
) -> FoundPairs:
    """Compare the documents that share a bucket.

    The documents must be numbered by their contents (by a hash of them, say), not by their
    positions. In a bucket of n > 1,024 documents, each is compared with the 256 that follow it, or
    with 2**20 / n if that is more: a rule that depends only on the contents of that bucket.
    """
    search = _bucket_search(sets, buckets, threshold, len(sets.size), allocate)
    left_out = pairs_outside_windows(np.diff(buckets.starts))
    return search.run(pool, allocate, advance, left_out)


def count_candidates(
    buckets: Buckets, pool: Pool, allocate: Allocate = np.empty, advance: Advance = None
) -> int:
    """Return how many pairs of documents share a bucket, each once.

    It takes about a nanosecond for each pair of each bucket.
    """
    documents = len(buckets.of)
    seen = Local(lambda: unseen(documents, allocate))

    def work(first: int) -> tuple[int, int]:
        last = min(first + STEP, documents)
        return last - first, grouping.count_candidates(first, last, buckets, seen())

    total = 0
    for done, more in pool.ordered(work, range(0, documents, STEP)):
        total += more
        if advance is not None:
            advance(done, total)
    return total


def pairs_with_old(  # noqa: PLR0913 - `pairs_of_buckets`, and which are old
    sets: Sets,
    buckets: Buckets,
    old: int,
    threshold: float,
    pool: Pool,
    allocate: Allocate = np.empty,
    advance: Advance = None,
) -> FoundPairs:
    """Compare the documents from ``old`` on with all those before that share a bucket."""
    documents = len(sets.size)
    seen = Local(lambda: unseen(documents, allocate))

    def compare(first: int, last: int, out: Triple, counts: np.ndarray) -> Any:
        common = old, buckets, sets, threshold, seen(), out, counts
        return grouping.pairs_with_old(first, last, *common)

    search = _PairSearch(compare, documents, STEP, max(1, old))
    return search.run(pool, allocate, advance, part=range(old, documents))


def pairs_in_turns(
    sets: Sets, buckets: Buckets, threshold: float, pool: Pool, together: int
) -> Iterator[FoundPairs]:
    """Yield what `pairs_of_buckets` returns for so many documents at a time, in arrays of a pool.

    Pairs that are left out are counted with the first ones.
    """
    total = len(sets.size)
    search = _bucket_search(sets, buckets, threshold, total, pool.empty)
    left_out = pairs_outside_windows(np.diff(buckets.starts))
    for first in range(0, total, together):
        part = range(first, min(first + together, total))
        yield search.run(pool, pool.empty, None, left_out if not first else 0, part)


def _bucket_search(
    sets: Sets, buckets: Buckets, threshold: float, total: int, allocate: Allocate
) -> _PairSearch:
    documents = len(sets.size)
    seen = Local(lambda: unseen(documents, allocate))

    def compare(first: int, last: int, out: Triple, counts: np.ndarray) -> Any:
        return grouping.window_pairs(first, last, buckets, sets, threshold, seen(), out, counts)

    return _PairSearch(compare, total, STEP, buckets.of.shape[1] * _WIDEST)


def unseen(documents: int, allocate: Allocate) -> np.ndarray:
    seen = allocate(documents, np.int32)
    seen[:] = -1
    return seen


def join(
    sets: Sets, threshold: float, pool: Pool, allocate: Allocate = np.empty, advance: Advance = None
) -> FoundPairs:
    """Find all pairs that reach the threshold, whether they share a bucket or not.

    An exact join with prefix filter; some 24 bytes of memory for each shingle in a prefix. The cost
    depends on the corpus: near linear where documents have rare shingles, quadratic in families
    around the threshold, since all their pairs are in the result.
    """
    documents = len(sets.size)
    docs = np.flatnonzero(sets.size).astype(np.int32)
    counters = count_shingles(sets, docs, pool)
    every = make_prefixes(sets, docs, threshold, counters, pool)
    entries = len(every.values)
    chains = with_capacity(empty_chains(entries, allocate), entries, allocate)
    pool.submit(lambda: prefixes.add_to_chains(every, chains, 0)).result()
    memory = Local(lambda: search_memory(documents, allocate))
    none = Answers(np.empty(0, np.int32), np.empty(0))
    no_bands = np.empty((documents, 0), np.int32)

    def compare(first: int, last: int, out: Triple, counts: np.ndarray) -> Any:
        working = memory(), none, out, counts
        return prefixes.probe(every, first, last, chains, sets, no_bands, threshold, True, *working)

    search = _PairSearch(compare, len(docs), 64, documents)
    return search.run(pool, allocate, advance)


def edges_of(found: FoundPairs, order: np.ndarray, allocate: Allocate = np.empty) -> Edges:
    """Return pairs, overwritten, as edges between the documents that ``order`` has for numbers."""
    order = order.astype(np.int32)
    for a, b, _ in found.parts:
        x, y = order[a], order[b]
        np.minimum(x, y, out=a)
        np.maximum(x, y, out=b)
    return Edges.gather(found.parts, allocate)
