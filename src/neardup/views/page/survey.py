"""All clusters of a run at a glance, and which of them, and of their documents, a page shows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from neardup.cluster.edges import Edges
from neardup.cluster.methods import spanning
from neardup.results.results import Results


@dataclass(frozen=True)
class Survey:
    """The clusters of two and more documents, and how their documents are connected.

    In a star, each removed document is connected to the kept one that it is a duplicate of. Where
    pairs were listed, shortest paths of pairs lead from the first document to all others.
    """

    members: np.ndarray  # int64[]: documents, cluster by cluster, ascending in each
    starts: np.ndarray  # int64[clusters + 1]: where each cluster begins there
    label: np.ndarray  # int64[clusters]: the first document of each, in keep order
    duplicate_of: np.ndarray  # int64[documents]: the kept document of each; -1 where it is kept
    similarity: np.ndarray  # float64[documents]: of these two; NaN where it is kept
    base: np.ndarray  # int64[documents]: the document before it on the path; -1 for the first ones
    near: np.ndarray  # float64[documents]: similarity to that; NaN without it
    depth: np.ndarray  # int64[documents]: number of pairs on the path
    lowest: np.ndarray  # float64[clusters]: lowest similarity that was computed; NaN for none
    steps: np.ndarray  # int64[clusters]: the longest path

    @property
    def sizes(self) -> np.ndarray:
        """int64[clusters]: documents of each."""
        return np.diff(self.starts)

    def documents(self, cluster: int) -> np.ndarray:
        """int64[]: the documents of a cluster by its number here, ascending."""
        return self.members[self.starts[cluster] : self.starts[cluster + 1]]


def survey(results: Results) -> Survey:
    cluster = results.array("cluster")
    duplicate_of, similarity = results.duplicate_of, results.array("similarity")
    members = np.flatnonzero(np.bincount(cluster, minlength=len(cluster))[cluster] > 1)
    members = members[np.argsort(cluster[members], kind="stable")]
    label, starts = np.unique(cluster[members], return_index=True)
    starts = np.append(starts, len(members)).astype(np.int64)
    base, near = duplicate_of.copy(), similarity.copy()
    depth = (base >= 0).astype(np.int64)
    within = (base >= 0) & (cluster[base] == cluster)
    lowest = np.where(within, near, np.inf)
    table = results.edges(["doc_a", "doc_b", "similarity"])
    if table is not None and len(label):
        edges = Edges(*(np.asarray(column.to_numpy()) for column in table.columns))
        tree = spanning(edges, cluster.astype(np.int32), label)
        within_cluster = np.flatnonzero(cluster[edges.a] == cluster[edges.b])
        np.minimum.at(lowest, edges.a[within_cluster], edges.similarity[within_cluster])
        # Without a path: the document that it is a duplicate of, or the first one.
        base, near = np.where(within, base, cluster), np.where(within, near, np.nan)
        reached = tree.steps >= 0
        base[reached], near[reached] = tree.parent[reached], tree.similarity[reached]
        depth = np.where(reached, tree.steps, 1).astype(np.int64)
        base[label], near[label], depth[label] = -1, np.nan, 0
    seen, steps = lowest[label], np.zeros(0, dtype=np.int64)
    if len(label):
        seen = np.minimum.reduceat(lowest[members], starts[:-1])
        steps = np.maximum.reduceat(depth[members], starts[:-1])
    seen = np.where(np.isinf(seen), np.nan, seen)
    return Survey(members, starts, label, duplicate_of, similarity, base, near, depth, seen, steps)


def rounded(similarity: np.ndarray) -> np.ndarray:
    """Return similarities with four decimals; only 1 is 1."""
    return np.where(similarity == 1, 1.0, np.minimum(0.9999, np.round(similarity, 4)))


def steps_of(threshold: float) -> np.ndarray:
    """Return float64[]: the similarities from the threshold up that the page's slider has."""
    above = np.arange(math.floor(100 * threshold + 1e-9) + 1, 101) / 100
    return np.concatenate([[threshold], above])


def from_each_step(similarity: np.ndarray, threshold: float) -> list[int]:
    """Return how many similarities there are from each step of the slider on; NaN is none."""
    values = np.sort(rounded(similarity[~np.isnan(similarity)]))
    return [len(values) - n for n in np.searchsorted(values, steps_of(threshold) - 1e-9).tolist()]


def chosen(found: Survey, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of ``most`` clusters, and those of the others; each the largest first.

    One half are the largest, the others those with the lowest similarity.
    """
    by_size = np.lexsort((found.label, -found.sizes))
    largest = by_size[: most - most // 2]
    by_lowest = np.lexsort((found.label, found.lowest))
    lowest = by_lowest[~np.isin(by_lowest, largest)][: most - len(largest)]
    full = np.isin(by_size, np.concatenate([largest, lowest]))
    return by_size[full], by_size[~full]


def spread(found: Survey, docs: np.ndarray, count: int) -> list[int]:
    """Choose documents of a cluster: evenly over similarity, then copies of the first one.

    Of ``docs``, that is the first one, then the others from the lowest similarity on, each with
    those that its path leads over: ``count``, or a few more.
    """
    order = docs[np.argsort(found.near[docs], kind="stable")]
    root = order[found.base[order] < 0]
    order = order[found.base[order] >= 0]
    rest, copies = order[found.near[order] != 1], order[found.near[order] == 1]
    if len(rest) >= count:
        rest = rest[np.linspace(0, len(rest) - 1, max(1, count - 1)).astype(np.int64)]
    copies = copies[: max(0, count - 1 - len(rest))]
    return closed(found, np.concatenate([root, rest, copies]).tolist())


def closed(found: Survey, docs: Iterable[int]) -> list[int]:
    """Return documents with those that their paths lead over, each after the one before it."""
    out: dict[int, None] = {}
    for doc in docs:
        way = []
        while doc >= 0 and doc not in out:
            way.append(doc)
            doc = int(found.base[doc])
        out.update(dict.fromkeys(reversed(way)))
    return list(out)
