"""Candidate pairs to verified pairs to clusters, band by band.

The result is a function of the buckets and the spec alone: bands in order, buckets by key,
documents by position. Similarities are computed by many threads, unions applied in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from neardup.core.dense import History, dense_pairs
from neardup.core.edges import EdgeLog
from neardup.core.join import join
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets, verify
from neardup.kernels import buckets as bucket_kernels
from neardup.kernels import clusters as kernels
from neardup.spec import Spec

__all__ = ["Clustering", "Counts", "PairSet"]

#: In buckets up to this size, every pair of documents that has to be compared is compared.
SMALL_BUCKET = 256
#: Comparisons, by document of the corpus, that may be spent in larger buckets on pairs of
#: documents whose clusters met there but did not merge.
MENDING = 256
#: Pairs that are listed before they are compared.
_BLOCK = 1 << 18
#: Documents whose buckets are gone through together. Not a matter of how much memory there is:
#: which pairs are compared first decides which clusters merge.
_MEMBERS = 1 << 20
_NOTHING = np.zeros(1, dtype=np.uint64)  # the empty set of pairs


@dataclass
class Counts:
    """What the comparison of candidates took.

    Attributes:
        verified: Pairs whose exact similarity was looked at.
        root_comparisons: Of those, pairs of roots compared to decide on a union.
        unions: Clusters merged.
        refused: Edges that joined clusters which may not merge.
        giant_buckets: Buckets larger than `SMALL_BUCKET` that did not collapse into one cluster.
        largest_bucket: Documents in the largest bucket of any band.
        pruned: Candidate pairs that sizes and bitmaps showed to be below the edge threshold.
        not_compared: Pairs of documents that met in a giant bucket, are in different clusters, and
            were not compared themselves (their roots were, if the budget allowed it); a pair counts
            once for each band in which it met.
    """

    verified: int = 0
    root_comparisons: int = 0
    unions: int = 0
    refused: int = 0
    giant_buckets: int = 0
    largest_bucket: int = 0
    pruned: int = 0
    not_compared: int = 0


class PairSet:
    """Pairs of documents in an open-addressing table that grows.

    Args:
        space: Where the table lies.
    """

    def __init__(self, space: Space | None = None) -> None:
        self._space = space or Space()
        self.table = self._space.zeros(1 << 16, np.uint64)
        self.count = 0

    def reserve(self, more: int) -> None:
        """Make room for so many more pairs."""
        size = len(self.table)
        while (self.count + more) * 2 > size:
            size *= 2
        if size > len(self.table):
            larger = self._space.zeros(size, np.uint64)
            bucket_kernels.rehash(self.table, larger)
            self.table = larger

    def add(self, a: np.ndarray, b: np.ndarray) -> None:
        self.reserve(len(a))
        self.count += bucket_kernels.insert(self.table, a, b)


class Clustering:
    """Clusters that grow as bands (or edges) are put in.

    Args:
        sets: Shingle sets of all documents that a bucket may hold.
        spec: Thresholds, clustering (``bounded`` or ``components``) and pairs.
        pool: Threads.
        budget: Comparisons that may be spent in giant buckets; `MENDING` a document by default.
        space: Where arrays by document and by pair lie.

    Source: "Deduplication in a massive clinical note dataset", Shenoy et al. 2017, section 6.
    """

    def __init__(
        self,
        sets: ShingleSets,
        spec: Spec,
        pool: Pool,
        budget: int | None = None,
        space: Space | None = None,
    ) -> None:
        space = space or Space()
        documents = len(sets.size)
        self.sets = sets
        self.spec = spec
        self.pool = pool
        self.counts = Counts()
        self.parent = space.arange(documents, np.int32)
        self._rank = space.zeros(documents, np.uint8)
        #: Lower bound of the similarity between a root and any document of its tree.
        self.low = space.filled(documents, np.float64, 1.0)
        self._every = spec.pairs == "all"
        self._filter = sets.filter(spec.edge_threshold)
        self._compared = PairSet(space)
        self._refused = PairSet(space)
        self.edges = EdgeLog(documents, space)
        self._log = _Log()
        self._mending = MENDING * documents if budget is None else budget
        self._history = History(documents, space)

    def add_band(self, members: np.ndarray, starts: np.ndarray) -> None:
        """Compare what must be compared in the buckets of one band, and unite.

        Args:
            members: int32[]: documents of each bucket, ascending; buckets by key.
            starts: int32[buckets + 1].
        """
        for first, last in _blocks(starts):
            low, high = int(starts[first]), int(starts[last])
            self._add_block(members[low:high], starts[first : last + 1] - starts[first])

    def _add_block(self, members: np.ndarray, starts: np.ndarray) -> None:
        sizes = np.diff(starts)
        self.counts.largest_bucket = max(self.counts.largest_bucket, int(sizes.max(initial=0)))
        if not self._every:
            # One comparison for each document first: where a bucket is one cluster, as most are,
            # nothing is left to do after it.
            a, b = np.empty(len(members), np.int32), np.empty(len(members), np.int32)
            count, pruned = bucket_kernels.star_pairs(
                members, starts, self.parent, self._filter, self._compared.table, a, b
            )
            self.counts.pruned += pruned
            self._compare(a[:count], b[:count])
        room = _BLOCK + SMALL_BUCKET**2
        a, b = np.empty(room, np.int32), np.empty(room, np.int32)
        bucket = 0
        while bucket < len(sizes):
            count, pruned, bucket = bucket_kernels.small_pairs(
                members,
                starts,
                self.parent,
                SMALL_BUCKET,
                self._every,
                self._filter,
                self._compared.table,
                bucket,
                a,
                b,
            )
            self.counts.pruned += pruned
            self._compare(a[:count], b[:count])
        for large in np.flatnonzero(sizes > SMALL_BUCKET):
            self._add_large(members[starts[large] : starts[large + 1]])

    def add_edges(self, a: np.ndarray, b: np.ndarray, similarity: np.ndarray) -> None:
        """Take verified pairs that reach the edge threshold, and unite in their order."""
        if len(a) == 0:
            return
        self.edges.add(a, b, similarity)
        self._refused.reserve(len(a))
        out, log = (
            (np.empty(len(a), np.int32), np.empty(len(a), np.int32), np.empty(len(a), np.float64))
            for _ in range(2)
        )
        unions, compared, refused = kernels.unite(
            a,
            b,
            similarity,
            self.spec.edge_threshold,
            self.spec.tree_threshold,
            self.spec.cluster == "bounded",
            (self.parent, self._rank, self.low, self._refused.table),
            self.sets.arrays,
            out,
            log,
        )
        self._refused.count += compared
        roots_a, roots_b, root_similarity = (array[:compared] for array in out)
        self._log.unions.append(tuple(array[:unions].copy() for array in log))
        self._log.refused.append((roots_a.copy(), roots_b.copy()))
        edge = root_similarity >= self.spec.edge_threshold
        if not self._every:  # else edges are what banding found, and no more
            self.edges.add(roots_a[edge], roots_b[edge], root_similarity[edge])
        self.counts.unions += unions
        self.counts.refused += refused
        self.counts.root_comparisons += compared
        self.counts.verified += compared

    def roots(self) -> np.ndarray:
        """Return int32[documents]: the root of each document."""
        return self._roots(np.arange(len(self.parent), dtype=np.int32))

    def take_log(self) -> dict[str, np.ndarray]:
        """Return what was done since the last call, for `replay`."""
        log, self._log = self._log, _Log()
        found = log.arrays()
        found["edges_a"], found["edges_b"], found["edges_similarity"] = self.edges.settle()
        # Counts are written as they stand, so that the last log has them all.
        found["counts"] = np.array([*asdict(self.counts).values(), self._mending], dtype=np.int64)
        return found

    def replay(self, log: dict[str, np.ndarray]) -> None:
        """Do again, without comparing anything, what `take_log` returned.

        Args:
            log: Logs come in the order in which they were taken.
        """
        kernels.relink(
            *(log[f"unions_{name}"] for name in ("child", "root", "similarity")),
            self.parent,
            self._rank,
            self.low,
        )
        self._compared.add(log["compared_a"], log["compared_b"])
        self._refused.add(log["refused_a"], log["refused_b"])
        self.edges.add(log["edges_a"], log["edges_b"], log["edges_similarity"])
        self.edges.settle()
        ends = np.cumsum(log["history_sizes"])
        for first, last in zip([0, *ends.tolist()], ends.tolist(), strict=False):
            self._history.add(log["history_docs"][first:last])
        *counts, self._mending = log["counts"].tolist()
        self.counts = Counts(*counts)

    def _roots(self, docs: np.ndarray) -> np.ndarray:
        out = np.empty(len(docs), dtype=np.int32)
        kernels.find_all(self.parent, docs, out)
        return out

    def _compare(self, a: np.ndarray, b: np.ndarray) -> int:
        """Verify pairs, remember them, unite those that reach the threshold; count the latter."""
        if len(a) == 0:
            return 0
        similarity = verify(self.sets, a, b, self.spec.edge_threshold, self.pool)
        self.counts.verified += len(a)
        self._remember(a, b)
        edge = similarity >= self.spec.edge_threshold
        # Copies, because the caller fills the same arrays again.
        self.add_edges(a[edge], b[edge], similarity[edge])
        return int(edge.sum())

    def _remember(self, a: np.ndarray, b: np.ndarray) -> None:
        """Note pairs as compared."""
        self._compared.add(a, b)
        # Copies, because the caller fills the same arrays again.
        self._log.compared.append((a.copy(), b.copy()))

    def _met(self, docs: np.ndarray) -> None:
        """Note that all pairs of some documents were compared."""
        self._history.add(docs)
        self._log.history.append(docs)

    def _add_large(self, docs: np.ndarray) -> None:
        """Compare what must be compared in a bucket of many documents."""
        if not self._every:
            self._try_pivots(docs)
        roots = self._roots(docs)
        sizes = np.unique(roots, return_counts=True)[1].astype(np.int64)
        met = len(docs) * (len(docs) - 1) // 2
        if not self._every:
            met -= int((sizes * (sizes - 1)).sum()) // 2
        if met == 0:
            return
        self.counts.giant_buckets += 1
        # All pairs at once where few can be told apart by their bitmaps; there the budget is for
        # comparisons, elsewhere for looks at bitmaps, which cost a fraction.
        alike = self._alike(docs) > 0.05
        if alike:
            # Some of these may be in one cluster by now, and not among those that met.
            again = self._history.pairs_that_met(docs)
            met -= max(0, again - (len(docs) * (len(docs) - 1) // 2 - met))
        if alike and (self._every or met <= self._mending):
            self._mending -= self._compare_alike(docs, roots)
            self._met(docs)
            return
        if not alike and (self._every or met <= 16 * self._mending):
            self._mending -= self._compare_rows(docs, roots, met)
            return
        # Too many for that: the clusters are compared by their roots, which is exact for documents
        # that are alone, and what that leaves out is reported. An exact join is linear where the
        # documents have rare shingles; where they are all alike nothing is.
        roots = np.unique(roots)
        by_roots = len(roots) * (len(roots) - 1) // 2
        own = int(np.isin(roots, docs).sum())  # a root may lie outside the bucket
        known = own * (own - 1) // 2
        if not alike:
            pairs = join(self.sets, roots, self.spec.edge_threshold, self.pool)
            self.counts.verified += pairs.comparisons
            self._remember(pairs.a, pairs.b)
            self.add_edges(pairs.a, pairs.b, pairs.similarity)
        elif by_roots <= self._mending:
            self._mending -= self._compare_alike(roots, roots)
            self._met(roots)
        else:
            known = 0
        self.counts.not_compared += max(0, met - known)

    def _try_pivots(self, docs: np.ndarray) -> None:
        """Compare one root of the bucket with all others, as long as many join it."""
        roots = np.unique(self._roots(docs))
        done: set[int] = set()
        while len(roots) > SMALL_BUCKET:
            pivot = next((r for r in roots.tolist() if r not in done), None)
            if pivot is None:
                return
            done.add(pivot)
            others = self._not_compared(pivot, roots[roots != pivot])
            if len(others) == 0:
                if len(done) > 1:
                    return  # nothing is like it, so the next one is hardly better
                continue  # the first document of the bucket, which was compared with all
            before = self.counts.unions
            self._compare(np.minimum(others, pivot), np.maximum(others, pivot))
            self._mending -= len(others)
            if (self.counts.unions - before) * 16 < len(roots) or self._mending < 0:
                return
            roots = np.unique(self._roots(roots))

    def _alike(self, docs: np.ndarray) -> float:
        """Return the share of pairs, in a sample, whose bitmaps don't rule them out."""
        some = docs[np.linspace(0, len(docs) - 1, 64).astype(np.int64)]
        passed = self._row_pairs(some, some, True, _NOTHING, 0, len(some))[0]
        return len(passed) / (len(some) * (len(some) - 1) / 2)

    def _row_pairs(
        self,
        docs: np.ndarray,
        roots: np.ndarray,
        every: bool,
        compared: np.ndarray,
        first: int,
        last: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """List the pairs of some rows that their bitmaps don't rule out."""
        columns = np.ascontiguousarray(self.sets.bitmaps[docs].T)
        sizes = self.sets.size[docs].astype(np.float64)
        room = 1 << 12
        while True:
            a, b = np.empty(room, np.int32), np.empty(room, np.int32)
            count = bucket_kernels.row_pairs(
                docs, roots, every, columns, sizes, self._filter[2], compared, first, last, a, b
            )
            if count <= room:
                return a[:count], b[:count]
            room = count

    def _compare_alike(self, docs: np.ndarray, roots: np.ndarray) -> int:
        """Compare all pairs of documents that have most in common; return how many."""
        if self._every:
            roots = np.arange(len(docs), dtype=np.int32)
        pairs = dense_pairs(
            self.sets,
            docs,
            roots,
            self.spec.edge_threshold,
            self._compared.table,
            self._history.masks(docs),
            self.pool,
        )
        self.counts.verified += pairs.comparisons
        self._remember(pairs.a, pairs.b)
        self.add_edges(pairs.a, pairs.b, pairs.similarity)
        return pairs.comparisons

    def _compare_rows(self, docs: np.ndarray, roots: np.ndarray, met: int) -> int:
        """Compare the pairs that their bitmaps don't rule out; return the cost in comparisons."""
        spent = 0
        # Rows are listed by many threads and compared block by block, so that no more pairs are
        # held than those of some rows.
        for block in range(0, len(docs), 4096):
            end = min(block + 4096, len(docs))
            rows = partial(self._row_pairs, docs, roots, self._every, self._compared.table)
            parts = self.pool.ranges(rows, end, step=512, first=block)
            a, b = (np.concatenate([p[i] for p in parts]) for i in (0, 1))
            self._compare(a, b)
            spent += len(a)
        self.counts.pruned += max(0, met - spent)
        return spent + max(0, met - spent) // 16

    def _not_compared(self, doc: int, others: np.ndarray) -> np.ndarray:
        out = np.empty(len(others), dtype=np.int32)
        count = bucket_kernels.not_compared(doc, others, self._filter, self._compared.table, out)
        return out[:count]


class _Log:
    """What a band did to a clustering, in order."""

    def __init__(self) -> None:
        self.unions: list[tuple[np.ndarray, ...]] = []
        self.compared: list[tuple[np.ndarray, ...]] = []
        self.refused: list[tuple[np.ndarray, ...]] = []
        self.history: list[np.ndarray] = []

    def arrays(self) -> dict[str, np.ndarray]:
        docs, pairs = np.int32, {"a": np.int32, "b": np.int32}
        return {
            **_joined("unions", self.unions, {"child": docs, "root": docs, "similarity": float}),
            **_joined("compared", self.compared, pairs),
            **_joined("refused", self.refused, pairs),
            **_joined("history", [(h,) for h in self.history], {"docs": docs}),
            "history_sizes": np.array([len(h) for h in self.history], dtype=np.int64),
        }


def _joined(
    name: str, parts: list[tuple[np.ndarray, ...]], columns: dict[str, Any]
) -> dict[str, np.ndarray]:
    return {
        f"{name}_{column}": np.concatenate([np.zeros(0, dtype), *(part[i] for part in parts)])
        for i, (column, dtype) in enumerate(columns.items())
    }


def _blocks(starts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield ranges of buckets of about `_MEMBERS` documents together, whole buckets only."""
    first, buckets = 0, len(starts) - 1
    while first < buckets:
        last = int(np.searchsorted(starts, int(starts[first]) + _MEMBERS, side="right")) - 1
        last = min(max(last, first + 1), buckets)
        yield first, last
        first = last
