"""Clusters that grow edge by edge, with a log of what was done to them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from neardup.core.edges import EdgeLog
from neardup.core.forest import Forest, PairSet
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets, verify
from neardup.spec import Spec

__all__ = ["Counts", "Growing"]


@dataclass
class Counts:
    """What the comparison of candidates took.

    Attributes:
        verified: Pairs whose exact similarity was looked at.
        root_comparisons: Of those, pairs of roots compared to decide on a union.
        unions: Clusters merged.
        refused: Edges that joined clusters which may not merge.
        giant_buckets: Buckets larger than `neardup.core.cluster.SMALL_BUCKET` that did not collapse
            into one cluster.
        largest_bucket: Documents in the largest bucket of any band.
        pruned: Candidate pairs that sizes and bitmaps showed to be below the edge threshold.
        not_compared: Pairs of documents that met in a giant bucket, are in different clusters, and
            were not compared themselves (their roots were, if the budget allowed it); a pair counts
            once for each band in which it met.
        second_merged: Clusters merged in the second round.
        second_checked: Pairs of clusters that the second round compared.
        second_comparisons: Pairs of documents that it compared for that.
        second_left_out: Pairs of clusters that it did not compare, since that would have gone
            beyond its budget.
    """

    verified: int = 0
    root_comparisons: int = 0
    unions: int = 0
    refused: int = 0
    giant_buckets: int = 0
    largest_bucket: int = 0
    pruned: int = 0
    not_compared: int = 0
    second_merged: int = 0
    second_checked: int = 0
    second_comparisons: int = 0
    second_left_out: int = 0


class Growing:
    """Clusters that grow as edges are put in, and what they were made of.

    Args:
        sets: Shingle sets of all documents that an edge may have.
        spec: Thresholds, clustering and pairs. With a clustering that is made of all edges in the
            end, edges are only gathered.
        pool: Threads.
        space: Where arrays by document and by pair lie.

    Attributes:
        sets, spec, pool: As given.
        every: Whether the edges are to be all that banding found, within clusters too.
        forest: The clusters.
        counts: What it took so far.
        compared: Pairs that were compared.
        edges: Found so far.
    """

    def __init__(self, sets: ShingleSets, spec: Spec, pool: Pool, space: Space) -> None:
        self.sets = sets
        self.spec = spec
        self.pool = pool
        self.every = spec.every_pair
        self.counts = Counts()
        self.forest = Forest(sets, space)
        self.compared = PairSet(space)
        self.edges = EdgeLog(len(sets.size), space)
        self.log = _Log()

    def add_edges(self, a: np.ndarray, b: np.ndarray, similarity: np.ndarray) -> None:
        """Take verified pairs that reach the edge threshold, and unite in their order.

        Args:
            a, b: int32[pairs], ``a < b``; the arrays must not change afterwards.
            similarity: float64[pairs].
        """
        if len(a) == 0:
            return
        self.edges.add(a, b, similarity)
        if self.spec.of_edges:
            return
        before = self.forest.refused
        tree_threshold = self.spec.tree_threshold if self.spec.cluster == "bounded" else None
        made, (roots_a, roots_b, of_roots) = self.forest.unite((a, b, similarity), tree_threshold)
        self.log.unions.append(made)
        self.log.refused.append((roots_a, roots_b))
        edge = of_roots >= self.spec.edge_threshold
        if not self.every:  # else edges are what banding found, and no more
            self.edges.add(roots_a[edge], roots_b[edge], of_roots[edge])
        self.counts.unions += len(made[0])
        self.counts.refused += self.forest.refused - before
        self.counts.root_comparisons += len(roots_a)
        self.counts.verified += len(roots_a)

    def compare(self, a: np.ndarray, b: np.ndarray) -> None:
        """Verify pairs, remember them, and unite those that reach the edge threshold.

        Args:
            a, b: int32[pairs], ``a < b``. The caller may fill the same arrays again.
        """
        if len(a) == 0:
            return
        similarity = verify(self.sets, a, b, self.spec.edge_threshold, self.pool)
        self.counts.verified += len(a)
        self.remember(a, b)
        edge = similarity >= self.spec.edge_threshold
        self.add_edges(a[edge], b[edge], similarity[edge])

    def remember(self, a: np.ndarray, b: np.ndarray) -> None:
        """Note pairs as compared."""
        self.compared.add(a, b)
        # Copies, because the caller fills the same arrays again.
        self.log.compared.append((a.copy(), b.copy()))

    def take_log(self) -> dict[str, np.ndarray]:
        """Return what was done since the last call, for `replay`."""
        log, self.log = self.log, _Log()
        found = log.arrays()
        found["edges_a"], found["edges_b"], found["edges_similarity"] = self.edges.settle()
        # Counts are written as they stand, so that the last log has them all.
        found["counts"] = np.array([*asdict(self.counts).values()], dtype=np.int64)
        return found

    def replay(self, log: dict[str, np.ndarray]) -> None:
        """Do again, without comparing anything, what `take_log` returned.

        Args:
            log: Logs come in the order in which they were taken.
        """
        self.forest.unite_again(
            (log["unions_child"], log["unions_root"], log["unions_similarity"]),
            (log["refused_a"], log["refused_b"]),
        )
        self.compared.add(log["compared_a"], log["compared_b"])
        self.edges.add(log["edges_a"], log["edges_b"], log["edges_similarity"])
        self.edges.settle()
        self.counts = Counts(*log["counts"].tolist())


class _Log:
    """What was done to clusters since the last log, in order."""

    def __init__(self) -> None:
        self.unions: list[tuple[np.ndarray, ...]] = []
        self.compared: list[tuple[np.ndarray, ...]] = []
        self.refused: list[tuple[np.ndarray, ...]] = []

    def arrays(self) -> dict[str, np.ndarray]:
        docs, pairs = np.int32, {"a": np.int32, "b": np.int32}
        return {
            **_joined("unions", self.unions, {"child": docs, "root": docs, "similarity": float}),
            **_joined("compared", self.compared, pairs),
            **_joined("refused", self.refused, pairs),
        }


def _joined(
    name: str, parts: list[tuple[np.ndarray, ...]], columns: dict[str, Any]
) -> dict[str, np.ndarray]:
    return {
        f"{name}_{column}": np.concatenate([np.zeros(0, dtype), *(part[i] for part in parts)])
        for i, (column, dtype) in enumerate(columns.items())
    }
