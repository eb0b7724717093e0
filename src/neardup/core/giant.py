"""Buckets of many documents: a template that thousands of notes share is the normal case."""

from __future__ import annotations

from functools import partial

import numpy as np

from neardup.core.dense import History, dense_pairs
from neardup.core.growing import Growing
from neardup.core.join import join
from neardup.core.space import Space
from neardup.kernels import buckets as kernels

__all__ = ["GiantBuckets"]

_NOTHING = np.zeros(1, dtype=np.uint64)  # the empty set of pairs


class GiantBuckets:
    """Compares what must be compared in buckets of many documents, within a budget.

    Args:
        clusters: Which grow by what is found.
        limit: Documents from which on a bucket counts as giant.
        budget: Comparisons that may be spent on pairs of documents whose clusters met in a giant
            bucket but did not merge. There is none where every pair is asked for.
        space: Where arrays by document lie.
    """

    def __init__(self, clusters: Growing, limit: int, budget: int, space: Space) -> None:
        self.budget = budget
        self._clusters = clusters
        self._limit = limit
        self._sets = clusters.sets
        self._filter = clusters.sets.filter(clusters.spec.edge_threshold)
        self._history = History(len(clusters.sets.size), space)
        self._logged: list[np.ndarray] = []

    def add(self, docs: np.ndarray) -> None:
        """Compare what must be compared in one bucket.

        Args:
            docs: int32[m], ascending.
        """
        clusters, every = self._clusters, self._clusters.every
        if not every:
            self._try_pivots(docs)
        roots = clusters.forest.roots(docs)
        sizes = np.unique(roots, return_counts=True)[1].astype(np.int64)
        met = len(docs) * (len(docs) - 1) // 2
        if not every:
            met -= int((sizes * (sizes - 1)).sum()) // 2
        if met == 0:
            return
        clusters.counts.giant_buckets += 1
        # All pairs at once where few can be told apart by their bitmaps; there the budget is for
        # comparisons, elsewhere for looks at bitmaps, which cost a fraction.
        alike = self._alike(docs) > 0.05
        if alike:
            # Some of these may be in one cluster by now, and not among those that met.
            again = self._history.pairs_that_met(docs)
            met -= max(0, again - (len(docs) * (len(docs) - 1) // 2 - met))
        if alike and (every or met <= self.budget):
            self._compare_alike(docs, roots)
            return
        if not alike and (every or met <= 16 * self.budget):
            self._compare_rows(docs, roots, met)
            return
        # Too many for that: the clusters are compared by their roots, which is exact for documents
        # that are alone, and what that leaves out is reported. An exact join is linear where the
        # documents have rare shingles; where they are all alike nothing is.
        roots = np.unique(roots)
        by_roots = len(roots) * (len(roots) - 1) // 2
        own = int(np.isin(roots, docs).sum())  # a root may lie outside the bucket
        known = own * (own - 1) // 2
        if not alike:
            pairs = join(self._sets, roots, clusters.spec.edge_threshold, clusters.pool)
            clusters.counts.verified += pairs.comparisons
            clusters.remember(pairs.a, pairs.b)
            clusters.add_edges(pairs.a, pairs.b, pairs.similarity)
        elif by_roots <= self.budget:
            self._compare_alike(roots, roots)
        else:
            known = 0
        clusters.counts.not_compared += max(0, met - known)

    def take_log(self) -> dict[str, np.ndarray]:
        """Return what was done since the last call, for `replay`."""
        logged, self._logged = self._logged, []
        return {
            "history_docs": np.concatenate([np.zeros(0, np.int32), *logged]),
            "history_sizes": np.array([len(docs) for docs in logged], dtype=np.int64),
            "budget": np.array([self.budget], dtype=np.int64),
        }

    def replay(self, log: dict[str, np.ndarray]) -> None:
        """Note again what `take_log` returned."""
        ends = np.cumsum(log["history_sizes"])
        for first, last in zip([0, *ends.tolist()], ends.tolist(), strict=False):
            self._history.add(log["history_docs"][first:last])
        self.budget = int(log["budget"][0])

    def _try_pivots(self, docs: np.ndarray) -> None:
        """Compare one root of the bucket with all others, as long as many join it."""
        clusters = self._clusters
        roots = np.unique(clusters.forest.roots(docs))
        done: set[int] = set()
        while len(roots) > self._limit:
            pivot = next((r for r in roots.tolist() if r not in done), None)
            if pivot is None:
                return
            done.add(pivot)
            others = self._not_compared(pivot, roots[roots != pivot])
            if len(others) == 0:
                if len(done) > 1:
                    return  # nothing is like it, so the next one is hardly better
                continue  # the first document of the bucket, which was compared with all
            before = clusters.counts.unions
            clusters.compare(np.minimum(others, pivot), np.maximum(others, pivot))
            self.budget -= len(others)
            if (clusters.counts.unions - before) * 16 < len(roots) or self.budget < 0:
                return
            roots = np.unique(clusters.forest.roots(roots))

    def _not_compared(self, doc: int, others: np.ndarray) -> np.ndarray:
        out = np.empty(len(others), dtype=np.int32)
        table = self._clusters.compared.table
        return out[: kernels.not_compared(doc, others, self._filter, table, out)]

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
        columns = np.ascontiguousarray(self._sets.bitmaps[docs].T)
        sizes = self._sets.size[docs].astype(np.float64)
        room = 1 << 12
        while True:
            a, b = np.empty(room, np.int32), np.empty(room, np.int32)
            count = kernels.row_pairs(
                docs, roots, every, columns, sizes, self._filter[2], compared, first, last, a, b
            )
            if count <= room:
                return a[:count], b[:count]
            room = count

    def _compare_alike(self, docs: np.ndarray, roots: np.ndarray) -> None:
        """Compare all pairs of documents that have most in common."""
        clusters = self._clusters
        if clusters.every:
            roots = np.arange(len(docs), dtype=np.int32)
        pairs = dense_pairs(
            self._sets,
            docs,
            roots,
            clusters.spec.edge_threshold,
            clusters.compared.table,
            self._history.masks(docs),
            clusters.pool,
        )
        clusters.counts.verified += pairs.comparisons
        clusters.remember(pairs.a, pairs.b)
        clusters.add_edges(pairs.a, pairs.b, pairs.similarity)
        self.budget -= pairs.comparisons
        self._history.add(docs)
        self._logged.append(docs)

    def _compare_rows(self, docs: np.ndarray, roots: np.ndarray, met: int) -> None:
        """Compare the pairs that their bitmaps don't rule out."""
        clusters = self._clusters
        spent = 0
        # Rows are listed by many threads and compared block by block, so that no more pairs are
        # held than those of some rows.
        for block in range(0, len(docs), 4096):
            end = min(block + 4096, len(docs))
            rows = partial(self._row_pairs, docs, roots, clusters.every, clusters.compared.table)
            parts = clusters.pool.ranges(rows, end, step=512, first=block)
            a, b = (np.concatenate([p[i] for p in parts]) for i in (0, 1))
            clusters.compare(a, b)
            spent += len(a)
        pruned = max(0, met - spent)
        clusters.counts.pruned += pruned
        self.budget -= spent + pruned // 16
