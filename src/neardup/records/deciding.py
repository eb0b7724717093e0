"""Pairs that are one record, and clusters of them.

A mean over fields is no metric: two records that are similar to a third may have nothing in common.
So bounded clusters, whose bound is the triangle inequality, are not offered.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from neardup.cluster.components import components, lowest
from neardup.cluster.edges import Edges
from neardup.cluster.kept import kept_set, star


def matches(
    a: np.ndarray, b: np.ndarray, similarity: np.ndarray, threshold: float, one_to_one: bool
) -> np.ndarray:
    """Return int64[]: which pairs are one record.

    Args:
        a: int32[pairs].
        b: int32[pairs].
        similarity: float64[pairs].
        threshold: Minimum similarity.
        one_to_one: Of each record only one pair: the most similar pairs first, ties by the numbers
            of the records.
    """
    reach = np.flatnonzero(similarity >= threshold)
    if not one_to_one:
        return reach
    left = reach[np.lexsort((b[reach], a[reach], -similarity[reach]))]
    found = []
    while len(left):
        # A pair that is the first of both its records can be taken: no pair before it can.
        first = np.ones(len(left), np.bool_)
        for ends in (a[left], b[left]):
            first &= np.isin(np.arange(len(left)), np.unique(ends, return_index=True)[1])
        taken = left[first]
        found.append(taken)
        used = np.isin(a[left], a[taken]) | np.isin(b[left], b[taken])
        left = left[~used]
    return np.sort(np.concatenate([reach[:0], *found]))


def cluster_records(edges: Edges, n: int, method: str) -> np.ndarray:
    """Group the records that are one.

    Args:
        edges: Pairs that are one record.
        n: Number of records.
        method: ``"star"``: a record and those that it is one with; the records with most pairs
            come first. ``"complete"``: any two records of a cluster are one by themselves.

    Returns:
        int32[n]: the lowest record of each one's cluster.

    Examples:
        >>> chain = Edges([0, 1], [1, 2], [0.9, 0.8])
        >>> cluster_records(chain, 3, "star").tolist()
        [0, 0, 0]
        >>> cluster_records(chain, 3, "complete").tolist()
        [0, 0, 2]
    """
    return _stars(edges, n) if method == "star" else _complete(edges, n)


def _stars(edges: Edges, n: int) -> np.ndarray:
    degree = np.bincount(edges.a, minlength=n) + np.bincount(edges.b, minlength=n)
    order = np.lexsort((np.arange(n), -degree)).astype(np.int32)
    place = np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    x, y = place[edges.a], place[edges.b]
    sorted_ = Edges.gather([(np.minimum(x, y), np.maximum(x, y), edges.similarity)])
    stars = star(kept_set(sorted_, n).duplicate_of)
    return lowest(order[stars[place]])


def _complete(edges: Edges, n: int) -> np.ndarray:
    """Merge clusters along edges from the most similar one down, if all their pairs are edges."""
    labels = components(edges, n)
    sizes = np.bincount(labels, minlength=n)
    within = np.bincount(labels[edges.a], minlength=n)
    # Most components are complete as they are.
    open_ = (within < sizes * (sizes - 1) // 2)[labels]
    loose = np.flatnonzero(open_[edges.a])
    labels = np.where(open_, np.arange(n), labels)
    a, b = edges.a[loose], edges.b[loose]
    members = {doc: [doc] for doc in np.unique([a, b]).tolist()}
    of = {doc: doc for doc in members}
    #: Number of edges between two clusters.
    between: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        between[x][y] += 1
        between[y][x] += 1
    for i in np.lexsort((b, a, -edges.similarity[loose])).tolist():
        x, y = sorted((of[int(a[i])], of[int(b[i])]))
        if x == y or between[x][y] < len(members[x]) * len(members[y]):
            continue
        for doc in members.pop(y):
            of[doc] = x
            members[x].append(doc)
        for other, count in between.pop(y).items():
            del between[other][y]
            if other != x:
                between[x][other] += count
                between[other][x] += count
    for doc, cluster in of.items():
        labels[doc] = cluster
    return lowest(labels)
