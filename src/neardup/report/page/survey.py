"""All clusters of a run at a glance, and which of them a page lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.core.spanning import Spanning, farthest, spanning
from neardup.report.page.reading import Lengths
from neardup.run.finished import FinishedRun
from neardup.spec import BOUNDED

__all__ = ["Survey", "chosen", "survey", "suspicion"]


@dataclass(frozen=True)
class Survey:
    """The clusters of two and more documents, and how they hang together.

    Attributes:
        members: int64[]: documents, cluster by cluster, ascending in each.
        starts: int64[clusters + 1]: where each cluster begins there.
        label: int64[clusters]: the lowest position of each.
        root: int64[clusters]: its first kept document.
        kept: bool[documents].
        similarity: float64[documents]: to the kept document that a removed one repeats; else NaN.
        tree: Edges, from the root of each cluster.
        steps: int64[clusters]: most edges between the root and any document.
        seen: float64[clusters]: lowest similarity of the pairs that the run has compared; NaN where
            there is none.
        bound: float64[clusters]: what any two documents of the cluster reach at least.
        longest, shortest: int64[clusters]: characters; both 0 where lengths are not known.
        edges: float64[]: similarities of all edges of the run.
        lengths: Of the texts; None where the input can't be read.
    """

    members: np.ndarray
    starts: np.ndarray
    label: np.ndarray
    root: np.ndarray
    kept: np.ndarray
    similarity: np.ndarray
    tree: Spanning
    steps: np.ndarray
    seen: np.ndarray
    bound: np.ndarray
    longest: np.ndarray
    shortest: np.ndarray
    edges: np.ndarray
    lengths: Lengths | None

    @property
    def sizes(self) -> np.ndarray:
        """int64[clusters]: documents of each."""
        return np.diff(self.starts)

    def documents(self, cluster: int) -> np.ndarray:
        """int64[]: the documents of a cluster by its number here, ascending."""
        return self.members[self.starts[cluster] : self.starts[cluster + 1]]


def survey(run: FinishedRun, lengths: Lengths | None) -> Survey:
    """Look at all clusters of a run.

    Raises:
        InputError: A table is gone, or damaged.
    """
    cluster, kept, similarity = (run.array(name) for name in ("cluster", "kept", "similarity"))
    sizes = np.bincount(cluster, minlength=len(cluster))
    members = np.flatnonzero(sizes[cluster] > 1)
    members = members[np.argsort(cluster[members], kind="stable")]
    label, starts = np.unique(cluster[members], return_index=True)
    starts = np.append(starts, len(members)).astype(np.int64)
    root = np.minimum.reduceat(np.where(kept[members], members, len(cluster)), starts[:-1])
    table = run.edges(["doc_a", "doc_b", "similarity"])
    a, b, likeness = (column.to_numpy() for column in table.columns)
    tree = spanning(cluster, root, (a, b, likeness))

    # Of each cluster the lowest similarity that was computed.
    lowest = np.full(len(cluster), np.inf)
    inside = cluster[a] == cluster[b]
    np.minimum.at(lowest, cluster[a[inside]], likeness[inside])
    removed = members[~kept[members]]
    np.minimum.at(lowest, cluster[removed], similarity[removed])
    seen = np.where(np.isinf(lowest[label]), np.nan, lowest[label])
    reached = np.where(tree.steps[members] < 0, np.inf, tree.distance[members])
    far = np.full(len(cluster), np.inf)
    far[members] = reached
    bound = np.maximum(0.0, 1 - farthest(members, starts, far))
    if run.spec.cluster in BOUNDED:
        bound = np.maximum(bound, run.spec.tree_threshold)
    bound = np.fmin(bound, seen)

    longest = shortest = np.zeros(len(label), dtype=np.int64)
    if lengths is not None and len(members):
        longest = np.maximum.reduceat(lengths.characters[members], starts[:-1])
        shortest = np.minimum.reduceat(lengths.characters[members], starts[:-1])
    return Survey(
        *(members, starts, label, root, kept, similarity, tree),
        np.maximum.reduceat(tree.steps[members], starts[:-1]),
        *(seen, bound, longest, shortest, likeness, lengths),
    )


def suspicion(
    steps: np.ndarray, least: np.ndarray, longest: np.ndarray, shortest: np.ndarray
) -> np.ndarray:
    """Say how much there is to be looked at, from 0 to 3: a point each for what could be wrong.

    * Long chains: 1 - 1 / steps from the root.
    * Low least similarity: 1 minus that.
    * Different lengths: 1 - shortest / longest.

    Args:
        steps: int[clusters].
        least: float64[clusters].
        longest, shortest: int[clusters].

    Returns:
        float64[clusters].
    """
    chain = 1 - 1 / np.maximum(1, steps)
    different = 1 - shortest / np.maximum(1, longest)
    return chain + (1 - least) + np.where(longest > 0, different, 0.0)


def chosen(found: Survey, most: int) -> np.ndarray:
    """Return which clusters a page lists, largest first.

    One half are the largest; the others are taken by suspicion, steps, least similarity and
    lengths in turn, so that each order of the page begins with the clusters that belong there.

    Args:
        found: All clusters.
        most: Clusters at most.

    Returns:
        int64[]: numbers of clusters.
    """
    sizes = found.sizes
    by_size = np.lexsort((found.label, -sizes))
    if most >= len(sizes):
        return by_size
    score = suspicion(found.steps, found.bound, found.longest, found.shortest)
    lengths = found.shortest / np.maximum(1, found.longest)
    orders = [by_size[: most - most // 2]]
    orders += [
        np.lexsort((found.label, key))[:most]
        for key in (-score, -found.steps, found.bound, lengths)
    ]
    # The first of each order, then the second of each, until there are enough.
    turns = np.concatenate([np.arange(len(order)) for order in orders[1:]])
    rest = np.concatenate(orders[1:])[np.argsort(turns, kind="stable")]
    picked = np.concatenate([orders[0], rest])
    _, first = np.unique(picked, return_index=True)
    picked = picked[np.sort(first)][:most]
    return picked[np.lexsort((found.label[picked], -sizes[picked]))]
