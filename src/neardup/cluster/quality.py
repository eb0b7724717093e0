"""How good clusters are: the pairs within them, and the edges within and between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Edges, batches
from neardup.kernels.jaccard import Sets, verify
from neardup.threads import Pool

#: Up to so many pairs within clusters all are compared: some for each document, and some more.
_FOR_EACH, _MORE = 2, 1 << 19
#: Pairs that are drawn where there are more.
_SAMPLE = 1 << 18
#: Pairs that a thread compares together.
_STEP = 1 << 14


@dataclass(frozen=True)
class Measure:
    """Minimum similarity of an edge, and of any two documents of a cluster."""

    threshold: float
    tree_threshold: float


@dataclass(frozen=True)
class Quality:
    """What can be said of clusters. Exact duplicates count as one document."""

    clusters: int  # number of clusters of two or more documents
    largest: int  # number of documents of the largest cluster
    edges_within: int  # number of edges whose documents are in one cluster
    edges_between: int  # number of edges between clusters
    modularity: float | None  # see `modularity`; None without edges
    pairs_within: int  # number of pairs of documents in the same cluster, edges or not
    pairs_high: int  # of those, pairs that reach the threshold
    pairs_low: int  # of those, pairs below the tree threshold; 0 for bounded clusters
    pairs_compared: int  # if not all within, the two above are estimates from a random sample


def quality(labels: np.ndarray, edges: Edges, sets: Sets, measure: Measure, pool: Pool) -> Quality:
    """Measure clusters, of which ``labels``, int32[n] below n, are any; edges as far as known."""
    within = _Within.of(labels)
    total = int(within.ends[-1])
    exact = total <= _MORE + _FOR_EACH * len(labels)
    compared = total if exact else _SAMPLE
    if not exact:
        drawn = np.random.default_rng(0).integers(total, size=compared)
        drawn.sort()  # so that sets that are stored together are read together

    def compare(first: int, last: int) -> tuple[int, int]:
        a, b = within.pairs(np.arange(first, last) if exact else drawn[first:last])
        out = np.empty(len(a))
        verify(sets, a, b, 0, len(a), measure.tree_threshold, out)
        return int((out >= measure.threshold).sum()), int((out < measure.tree_threshold).sum())

    found = pool.ranges(compare, compared, step=_STEP)
    high, low = (sum(counts) for counts in zip((0, 0), *found, strict=True))
    if not exact:
        middle = round(total / compared * (compared - high - low))
        low = round(total / compared * low)
        high = total - middle - low  # with what rounding leaves, so that no pair is made up as low
    inside = 0
    for rows in batches(len(edges)):
        inside += int(np.count_nonzero(labels[edges.a[rows]] == labels[edges.b[rows]]))
    sizes = np.diff(within.starts)
    return Quality(
        clusters=len(sizes),
        largest=int(sizes.max(initial=min(1, len(labels)))),
        edges_within=inside,
        edges_between=len(edges) - inside,
        modularity=modularity(labels, edges),
        pairs_within=total,
        pairs_high=high,
        pairs_low=low,
        pairs_compared=compared,
    )


def modularity(labels: np.ndarray, edges: Edges) -> float | None:
    """Return the modularity of clusters in the graph of the edges, weighted by similarity.

    The share of the weight within clusters, less that if the ends of edges were joined at random:
    -1/2 to 1, None without edges. Labels are int32[n], 0 to n - 1.

    Source: M. E. J. Newman. Analysis of weighted networks. Physical Review E 70, 2004.
    """
    degrees, inside = np.zeros(len(labels)), 0.0
    for rows in batches(len(edges)):
        x, y, similarity = labels[edges.a[rows]], labels[edges.b[rows]], edges.similarity[rows]
        inside += float(similarity[x == y].sum())
        for ends in (x, y):
            degrees += np.bincount(ends, similarity, len(labels))
    total = float(degrees.sum())  # twice the weight of all edges
    if total == 0:
        return None
    return 2 * inside / total - float(np.square(degrees / total).sum())


class _Within(NamedTuple):
    """All pairs within clusters of two or more documents, numbered cluster by cluster."""

    docs: np.ndarray  # int32[m]: documents, cluster by cluster
    starts: np.ndarray  # int64[clusters + 1]: where each cluster begins
    ends: np.ndarray  # int64[clusters + 1]: number of pairs before each cluster, and of all

    @classmethod
    def of(cls, labels: np.ndarray) -> _Within:
        sizes = np.bincount(labels, minlength=len(labels))
        docs = np.flatnonzero(sizes[labels] > 1).astype(np.int32)
        docs = docs[np.argsort(labels[docs], kind="stable")]
        starts = np.flatnonzero(np.diff(labels[docs], prepend=-1, append=-1)).astype(np.int64)
        sizes = np.diff(starts)
        return cls(docs, starts, np.append(0, np.cumsum(sizes * (sizes - 1) // 2)))

    def pairs(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the documents of some pairs: two arrays int32[]."""
        cluster = np.searchsorted(self.ends, numbers, side="right") - 1
        i, j = _pair(numbers - self.ends[cluster])
        begin = self.starts[cluster]
        return self.docs[begin + i], self.docs[begin + j]


def _pair(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return i and j < i of the pairs whose number is i (i - 1) / 2 + j; for i below 2**31."""
    i = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    # Rounding may be off by one.
    i -= i * (i - 1) // 2 > number
    i += i * (i + 1) // 2 <= number
    return i, number - i * (i - 1) // 2
