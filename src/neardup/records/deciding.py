"""Pairs that are one record, and clusters of them.

A mean over fields is no metric: two records that are similar to a third may have nothing in common.
So bounded clusters, whose bound is the triangle inequality, are not offered.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Edges
from neardup.cluster.methods import components, kept_set, lowest, star


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
    used: set[int] = set()
    found = []
    for k, x, y in zip(left.tolist(), a[left].tolist(), b[left].tolist(), strict=True):
        if x not in used and y not in used:
            used.update((x, y))
            found.append(k)
    return np.sort(np.array(found, np.int64))


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
    return lowest(star_centres(edges, n)) if method == "star" else _complete(edges, n)


class Joined(NamedTuple):
    """Clusters of records, of which the first are in clusters already.

    Attributes:
        clusters: int64[n]: the number of each one's cluster.
        centres: bool[n]: those that others can join, of stars.
    """

    clusters: np.ndarray
    centres: np.ndarray


def join_clusters(
    edges: Edges, old: Joined, sizes: dict[int, int], numbers: np.ndarray, method: str
) -> Joined:
    """Let new records join the clusters of old ones; the clusters of these stay as they are.

    Args:
        edges: Pairs that are one record; the second of each is new.
        old: The old records, which come first.
        sizes: Records of each cluster of these.
        numbers: int64[new]: those that clusters get, whose first record is the new one.
        method: As for `cluster_records`. A new record joins the star whose centre it is most
            similar to, or the cluster all of whose records it is one with.

    Examples:
        >>> old = Joined(np.array([7]), np.array([True]))
        >>> edges = Edges([0, 1, 2], [1, 2, 3], [0.9, 0.8, 0.7])
        >>> join_clusters(edges, old, {7: 1}, np.array([8, 9, 10]), "star").clusters.tolist()
        [7, 7, 9, 9]
    """
    first, n = len(old.clusters), len(old.clusters) + len(numbers)
    if method == "star":
        found = np.concatenate([old.clusters, np.full(len(numbers), -1)])
        near = np.flatnonzero(edges.a < first)
        near = near[old.centres[edges.a[near]]]
        best = near[np.lexsort((-found[edges.a[near]], edges.similarity[near], edges.b[near]))]
        found[edges.b[best]] = found[edges.a[best]]  # the most similar one comes last
        free = (edges.a >= first) & (found[edges.a] < 0) & (found[edges.b] < 0)
        centre = star_centres(Edges(edges.a[free], edges.b[free], edges.similarity[free]), n)
        alone, labels = found < 0, lowest(centre)
    else:
        names, unit = np.unique(old.clusters, return_inverse=True)
        unit = np.concatenate([unit.reshape(-1), len(names) + np.arange(len(numbers))])
        held = dict(enumerate(sizes[name] for name in names.tolist()))
        of = _merge(Edges(unit[edges.a], unit[edges.b], edges.similarity), held)
        unit = np.array([of.get(k, k) for k in unit.tolist()], np.int64)
        alone, centre = unit >= len(names), np.arange(n)
        found = names[np.where(alone, 0, unit)] if len(names) else unit
        labels = lowest(np.unique(unit, return_inverse=True)[1].reshape(-1))
    found[alone] = numbers[labels[alone] - first]
    return Joined(found, np.append(old.centres, (alone & (centre == np.arange(n)))[first:]))


def star_centres(edges: Edges, n: int) -> np.ndarray:
    """Return int32[n]: the centre of each one's star; records with most pairs are centres first."""
    degree = np.bincount(edges.a, minlength=n) + np.bincount(edges.b, minlength=n)
    order = np.lexsort((np.arange(n), -degree)).astype(np.int32)
    place = np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    x, y = place[edges.a], place[edges.b]
    sorted_ = Edges.gather([(np.minimum(x, y), np.maximum(x, y), edges.similarity)])
    stars = star(kept_set(sorted_, n).duplicate_of)
    return np.asarray(order[stars[place]])


def _complete(edges: Edges, n: int) -> np.ndarray:
    labels = components(edges, n)
    sizes = np.bincount(labels, minlength=n)
    within = np.bincount(labels[edges.a], minlength=n)
    # Most components are complete as they are.
    open_ = (within < sizes * (sizes - 1) // 2)[labels]
    loose = np.flatnonzero(open_[edges.a])
    labels = np.where(open_, np.arange(n), labels)
    for doc, cluster in _merge(
        Edges(edges.a[loose], edges.b[loose], edges.similarity[loose]), {}
    ).items():
        labels[doc] = cluster
    return lowest(labels)


def _merge(edges: Edges, held: dict[int, int]) -> dict[int, int]:
    """Merge clusters along edges from the most similar one down, if all their pairs are edges.

    Args:
        edges: Between units, ``a < b``; two units may have several.
        held: Records of those units that are clusters already, which are not merged; other units
            are single records.

    Returns:
        The lowest unit of the cluster of each unit that has an edge.
    """
    a, b = edges.a, edges.b
    members = {unit: [unit] for unit in np.unique([a, b]).tolist()}
    size = {unit: held.get(unit, 1) for unit in members}
    of = {unit: unit for unit in members}
    #: Number of edges between two clusters.
    between: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        between[x][y] += 1
        between[y][x] += 1
    for i in np.lexsort((b, a, -edges.similarity)).tolist():
        x, y = sorted((of[int(a[i])], of[int(b[i])]))
        if x == y or y in held or between[x][y] < size[x] * size[y]:
            continue
        size[x] += size[y]
        for doc in members.pop(y):
            of[doc] = x
            members[x].append(doc)
        for other, count in between.pop(y).items():
            del between[other][y]
            if other != x:
                between[x][other] += count
                between[other][x] += count
    return of
