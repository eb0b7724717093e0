"""How good a clustering is: what lies within its clusters, and what they tear apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.core.edges import EdgeLog, Edges
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets, verify
from neardup.kernels.quality import count_pairs
from neardup.spec import Spec

__all__ = ["Effort", "Quality", "modularity", "quality"]

#: Pairs within clusters that are all compared, for each document, and however few these are.
_FOR_EACH, _AT_LEAST = 2, 1 << 19
#: Pairs that are drawn from clusters beyond that.
_SAMPLE = 1 << 18
#: Pairs that a thread compares at a time.
_STEP = 1 << 14


@dataclass
class Quality:
    """What can be said of a clustering. Equal documents count as one.

    Attributes:
        clusters_of_two_or_more: Number of such clusters.
        largest_cluster: Documents of the largest cluster.
        pairs_within: Pairs of documents in the same cluster.
        same_high: Of those, pairs that reach the edge threshold, found as edges or not.
        same_mid: Pairs that reach the tree threshold, but not the edge threshold.
        same_low: Pairs below the tree threshold; 0 for bounded clusters.
        different_high: Edges between different clusters; pairs that nothing found are not in it.
        modularity: Weighted by similarity; None without edges. See `modularity`.
        exact: Whether all pairs within clusters were compared. If not, ``same_high``, ``same_mid``
            and ``same_low`` are estimates.
        looked_at: Pairs within clusters that were compared.
    """

    clusters_of_two_or_more: int
    largest_cluster: int
    pairs_within: int
    same_high: int
    same_mid: int
    same_low: int
    different_high: int
    modularity: float | None
    exact: bool
    looked_at: int


@dataclass(frozen=True)
class Effort:
    """How many pairs within clusters are compared.

    Attributes:
        budget: Clusters are compared whole, the smallest first, while their pairs together are not
            more than this.
        sample: Pairs drawn from the others; all are compared if there are no more than that.
    """

    budget: int
    sample: int = _SAMPLE


def quality(
    labels: np.ndarray,
    edges: EdgeLog | Edges,
    sets: ShingleSets,
    spec: Spec,
    pool: Pool,
    effort: Effort | None = None,
    space: Space | None = None,
) -> Quality:
    """Measure a clustering.

    Args:
        labels: int32[documents]: any label of each document's cluster, 0 to documents - 1.
        edges: Pairs that reach the edge threshold, as far as they were found.
        sets: Shingle sets of all documents that are not alone.
        spec: The thresholds that pairs are held against, and the seed of the draw.
        pool: Threads.
        effort: How many pairs are compared; by default two for each document and half a million
            besides, and a quarter of a million that are drawn.
        space: Where arrays by document lie.
    """
    space = space or Space()
    documents = len(labels)
    effort = effort or Effort(_AT_LEAST + _FOR_EACH * documents)
    docs, starts = _by_size(labels)
    sizes = np.diff(starts)
    pairs = sizes * (sizes - 1) // 2
    ends = np.cumsum(pairs)
    total = int(ends[-1]) if len(ends) else 0
    whole = int(np.searchsorted(ends, effort.budget, side="right"))
    done = int(ends[whole - 1]) if whole else 0
    if total - done <= effort.sample:
        whole, done = len(pairs), total
    high, mid = _compare_all(docs, starts, ends[:whole], sets, spec, pool)
    looked_at = done
    if done < total:
        a, b = _draw(docs, starts[whole:], pairs[whole:], effort.sample, spec.seed)
        similarity = verify(sets, a, b, spec.tree_threshold, pool)
        share = (total - done) / effort.sample
        far = int((similarity < spec.tree_threshold).sum())
        between = len(similarity) - far - int((similarity >= spec.edge_threshold).sum())
        # What rounding leaves goes to the first of the three: none are made up below the threshold.
        high += total - done - round(share * between) - round(share * far)
        mid += round(share * between)
        looked_at += effort.sample
    across, found = _along(labels, edges, space)
    return Quality(
        clusters_of_two_or_more=len(sizes),
        largest_cluster=int(sizes[-1]) if len(sizes) else min(1, documents),
        pairs_within=total,
        same_high=high,
        same_mid=mid,
        same_low=total - high - mid,
        different_high=across,
        modularity=found,
        exact=done == total,
        looked_at=looked_at,
    )


def modularity(labels: np.ndarray, edges: EdgeLog | Edges, space: Space | None = None) -> float:
    """Return the modularity of clusters in the graph of the edges, weighted by similarity.

    The weight that lies within clusters, as a share of all, less what would lie there if the ends
    of all edges were joined at random.

    Args:
        labels: int32[documents]: any label of each document's cluster, 0 to documents - 1.
        edges: The graph.
        space: Where arrays by document lie.

    Returns:
        -1/2 to 1; NaN without edges.

    Source: M. E. J. Newman. Analysis of weighted networks. Physical Review E 70, 2004.
    """
    found = _along(labels, edges, space or Space())[1]
    return float("nan") if found is None else found


def _along(labels: np.ndarray, edges: EdgeLog | Edges, space: Space) -> tuple[int, float | None]:
    """Return how many edges lie between clusters, and the modularity."""
    degrees = space.zeros(len(labels), np.float64)
    across, inside, weight = 0, 0.0, 0.0
    for block in edges.blocks():
        x, y = labels[block.a], labels[block.b]
        same = x == y
        across += int(np.count_nonzero(~same))
        inside += float(block.similarity[same].sum())
        weight += float(block.similarity.sum())
        np.add.at(degrees, x, block.similarity)
        np.add.at(degrees, y, block.similarity)
    if weight == 0:
        return across, None
    return across, inside / weight - float(np.square(degrees / (2 * weight)).sum())


def _by_size(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the documents of clusters of two and more, smaller clusters first, and their starts.

    Returns:
        (int32[m], int64[clusters + 1]).
    """
    sizes = np.bincount(labels, minlength=len(labels))
    docs = np.flatnonzero(sizes[labels] > 1).astype(np.int32)
    of_doc = labels[docs]
    order = np.lexsort((docs, of_doc, sizes[of_doc]))
    docs, of_doc = docs[order], of_doc[order]
    return docs, np.flatnonzero(np.diff(of_doc, prepend=-1, append=-1)).astype(np.int64)


def _compare_all(
    docs: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    sets: ShingleSets,
    spec: Spec,
    pool: Pool,
) -> tuple[int, int]:
    """Compare all pairs of some clusters; ``ends`` has the pairs up to the end of each."""
    if len(ends) == 0:
        return 0, 0
    cuts = np.unique(np.searchsorted(ends, np.arange(_STEP, int(ends[-1]), _STEP)))
    bounds = np.unique(np.concatenate([[0], cuts, [len(ends)]]))

    def work(first: int, last: int) -> tuple[int, int]:
        return count_pairs(
            docs,
            starts,
            bounds[first],
            bounds[last],
            sets.arrays,
            spec.edge_threshold,
            spec.tree_threshold,
        )

    parts = pool.ranges(work, len(bounds) - 1, step=1)
    return sum(p[0] for p in parts), sum(p[1] for p in parts)


def _draw(
    docs: np.ndarray, starts: np.ndarray, pairs: np.ndarray, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs from clusters, each with the same probability, with repetition."""
    ends = np.cumsum(pairs)
    drawn = np.random.default_rng(seed).integers(int(ends[-1]), size=count)
    drawn.sort()  # so that sets that lie together are read together
    cluster = np.searchsorted(ends, drawn, side="right")
    within = drawn - (ends[cluster] - pairs[cluster])
    # The number of a pair (i, j), j < i, is i (i - 1) / 2 + j; rounding may be off by one.
    i = ((1 + np.sqrt(1 + 8 * within.astype(np.float64))) / 2).astype(np.int64)
    i -= i * (i - 1) // 2 > within
    i += i * (i + 1) // 2 <= within
    j = within - i * (i - 1) // 2
    begin = starts[cluster]
    return docs[begin + i], docs[begin + j]
