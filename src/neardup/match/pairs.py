"""All pairs that reach the threshold: those that share a bucket, or all there are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neardup.kernels import grouping, prefixes
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Answers, Buckets
from neardup.match.rarest import (
    count_shingles,
    empty_chains,
    make_prefixes,
    search_memory,
)
from neardup.threads import Local, Pool

#: Following documents of a bucket that one is compared with, at most.
_WIDEST = 1 << 10
#: Pairs for which a thread has room before they are put into the sink.
_ROOM = 1 << 16
#: Pairs that a sink keeps together.
_TOGETHER = 1 << 18
_STEP = 512

_Part = tuple[np.ndarray, np.ndarray, np.ndarray]
Allocate = Callable[[int, npt.DTypeLike], np.ndarray]
Advance = Callable[[int, int], None]


class PairSink:
    """Takes pairs from several threads, in arrays of one size, so that they can be mapped.

    Args:
        allocate: Makes an array from a length and a dtype.
    """

    def __init__(self, allocate: Allocate = np.empty) -> None:
        self._allocate = allocate
        self._lock = threading.Lock()
        self._full: list[_Part] = []
        self._last: _Part | None = None
        self._filled = 0

    def add(self, pairs: _Part, count: int) -> None:
        """Copy the first ``count`` pairs of some arrays."""
        with self._lock:
            begin = 0
            while begin < count:
                if self._last is None:
                    a, b = (self._allocate(_TOGETHER, np.int32) for _ in range(2))
                    self._last, self._filled = (a, b, self._allocate(_TOGETHER, np.float64)), 0
                step = min(count - begin, _TOGETHER - self._filled)
                for target, source in zip(self._last, pairs, strict=True):
                    target[self._filled : self._filled + step] = source[begin : begin + step]
                begin += step
                self._filled += step
                if self._filled == _TOGETHER:
                    self._full.append(self._last)
                    self._last = None

    def parts(self) -> list[_Part]:
        """Return all pairs: (a int32[], b int32[], similarity float64[])."""
        if self._last is None:
            return list(self._full)
        a, b, similarity = (column[: self._filled] for column in self._last)
        return [*self._full, (a, b, similarity)]


@dataclass(frozen=True)
class Found:
    """Pairs that reach the threshold.

    Attributes:
        parts: (a int32[], b int32[], similarity float64[]): documents, with ``a < b`` by their
            numbers, in any order; each pair once.
        compared: Pairs whose similarity was computed.
        ruled_out: Pairs that sizes or bitmaps ruled out.
        not_compared: Pairs left out in large buckets, once for each band.
    """

    parts: list[_Part]
    compared: int
    ruled_out: int
    not_compared: int


def pairs_outside_windows(sizes: np.ndarray) -> int:
    """Return how many pairs of buckets of these sizes are not compared.

    >>> pairs_outside_windows(np.array([2, 1024, 1026]))
    6
    """
    sizes = sizes.astype(np.int64)
    windows = np.array([grouping.window_of(size) for size in np.unique(sizes).tolist()])
    window = windows[np.searchsorted(np.unique(sizes), sizes)] if len(sizes) else sizes
    beyond = np.maximum(sizes - window - 1, 0)
    return int((beyond * (beyond + 1) // 2).sum())


def pairs_of_buckets(
    sets: Sets,
    buckets: Buckets,
    threshold: float,
    pool: Pool,
    sink: PairSink | None = None,
    advance: Advance | None = None,
) -> Found:
    """Compare the documents that share a bucket.

    The documents must be numbered by what they contain (by a hash of it, say), not by where they
    are. In a bucket of n > 1,024 documents, each is compared with the 256 that follow it, or with
    2**20 / n if that is more: a rule that depends on the contents of that bucket and on nothing
    else.

    Args:
        sets: Shingle sets of the documents.
        buckets: Their buckets.
        threshold: Similarity that makes an edge, in (0, 1].
        pool: Threads.
        sink: Where pairs go.
        advance: Called now and then with (documents done since, pairs compared so far).
    """
    sink = sink or PairSink()
    documents = len(sets.size)
    seen = Local(lambda: np.full(documents, -1, np.int32))
    counts = Local(lambda: np.zeros(2, np.int64))
    room = Local(lambda: _room(max(_ROOM, buckets.of.shape[1] * _WIDEST)))

    def work(first: int, last: int) -> int:
        out = room()
        low = first
        while low < last:
            low, filled = grouping.window_pairs(
                low, last, buckets, sets, threshold, seen(), out, counts()
            )
            sink.add(out, filled)
        return last - first

    ranges = ((low, min(low + _STEP, documents)) for low in range(0, documents, _STEP))
    for done in pool.ordered(lambda limits: work(*limits), ranges):
        if advance is not None:
            advance(done, int(sum(c[0] for c in counts.all)))
    totals = np.sum([np.zeros(2, np.int64), *counts.all], axis=0)
    left_out = pairs_outside_windows(np.diff(buckets.starts))
    return Found(sink.parts(), int(totals[0]), int(totals[1]), left_out)


def join(
    sets: Sets,
    threshold: float,
    pool: Pool,
    sink: PairSink | None = None,
    advance: Advance | None = None,
) -> Found:
    """Find all pairs that reach the threshold, whether they share a bucket or not.

    An exact join with prefix filter; some 28 bytes of memory for each shingle in a prefix. The cost
    depends on the corpus: near linear where documents have rare shingles, quadratic in families
    around the threshold, since all their pairs are in the result.

    Args:
        sets: Shingle sets.
        threshold: Lowest similarity, in (0, 1].
        pool: Threads.
        sink: Where pairs go.
        advance: Called now and then with (documents done since, pairs compared so far).
    """
    sink = sink or PairSink()
    documents = len(sets.size)
    docs = np.flatnonzero(sets.size).astype(np.int32)
    counters = count_shingles(sets, docs, pool)
    every = make_prefixes(sets, docs, threshold, counters, pool)
    chains = empty_chains(len(every.values))
    chains = chains._replace(
        next=np.empty(len(every.values), np.int32),
        value=np.empty(len(every.values), np.uint64),
        doc=np.empty(len(every.values), np.int32),
        place=np.empty(len(every.values), np.int32),
    )
    chosen = np.ones(len(docs), np.bool_)
    pool.submit(lambda: prefixes.add_to_chains(every, chosen, chains, 0)).result()
    memory = Local(lambda: search_memory(documents))
    counts = Local(lambda: np.zeros(2, np.int64))
    room = Local(lambda: _room(max(_ROOM, documents)))
    nothing = Answers(np.empty(0, np.int32), np.empty(0))
    anywhere = np.empty((documents, 0), np.int32)

    def work(first: int, last: int) -> int:
        out = room()
        low = first
        while low < last:
            low, filled = prefixes.probe(
                every,
                low,
                last,
                chains,
                sets,
                anywhere,
                threshold,
                True,
                memory(),
                nothing,
                out,
                counts(),
            )
            sink.add(out, filled)
        return last - first

    ranges = ((low, min(low + 64, len(docs))) for low in range(0, len(docs), 64))
    for done in pool.ordered(lambda limits: work(*limits), ranges):
        if advance is not None:
            advance(done, int(sum(c[0] for c in counts.all)))
    totals = np.sum([np.zeros(2, np.int64), *counts.all], axis=0)
    return Found(sink.parts(), int(totals[0]), int(totals[1]), 0)


def _room(pairs: int) -> _Part:
    return np.empty(pairs, np.int32), np.empty(pairs, np.int32), np.empty(pairs, np.float64)
