"""How the documents of each cluster hang together by edges: the shortest ways from one of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.core.edges import Triple

__all__ = ["Spanning", "farthest", "spanning"]


class Spanning(NamedTuple):
    """A tree of edges in each cluster.

    Attributes:
        parent: int32[documents]: the document before it on the way from the root; -1 for roots,
            for single documents, and where no edges lead there.
        similarity: float64[documents]: exact similarity to the parent; NaN without one.
        steps: int32[documents]: edges between it and the root; -1 where no edges lead there.
        distance: float64[documents]: sum of (1 - similarity) on the way. Jaccard distance obeys
            the triangle inequality, so that the similarity to the root is 1 - distance or more.
    """

    parent: np.ndarray
    similarity: np.ndarray
    steps: np.ndarray
    distance: np.ndarray


def spanning(cluster: np.ndarray, roots: np.ndarray, edges: Triple) -> Spanning:
    """Find the tree of fewest steps from the root of each cluster.

    Where several edges lead to a document in as many steps, the one of the highest similarity
    counts, then the one from the earliest document.

    Args:
        cluster: int[documents]: label of each document's cluster.
        roots: int[]: a document of each cluster that is looked at.
        edges: (doc_a, doc_b int[], similarity float64[]); those between clusters have no part.
    """
    a, b, similarity = edges
    inside = cluster[a] == cluster[b]
    a, b, similarity = a[inside], b[inside], similarity[inside]
    source = np.concatenate([a, b]).astype(np.int32)
    order = np.argsort(source, kind="stable")
    starts = np.searchsorted(source[order], np.arange(len(cluster) + 1))
    target = np.concatenate([b, a]).astype(np.int32)[order]
    likeness = np.concatenate([similarity, similarity])[order]

    found = Spanning(
        np.full(len(cluster), -1, dtype=np.int32),
        np.full(len(cluster), np.nan),
        np.full(len(cluster), -1, dtype=np.int32),
        np.zeros(len(cluster)),
    )
    front = np.sort(roots)
    found.steps[front] = 0
    step = 0
    while len(front):
        step += 1
        counts = starts[front + 1] - starts[front]
        before = np.repeat(front, counts)
        rows = np.arange(len(before)) + np.repeat(
            starts[front] - np.cumsum(counts) + counts, counts
        )
        new = found.steps[target[rows]] < 0
        before, rows = before[new], rows[new]
        after, likely = target[rows], likeness[rows]
        best = np.lexsort((before, -likely, after))
        first = np.ones(len(best), dtype=np.bool_)
        first[1:] = after[best][1:] != after[best][:-1]
        best = best[first]
        front = after[best]
        found.parent[front] = before[best]
        found.similarity[front] = likely[best]
        found.steps[front] = step
        found.distance[front] = found.distance[before[best]] + 1 - likely[best]
    return found


def farthest(members: np.ndarray, starts: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Return the sum of the two largest distances in each cluster.

    Any two of its documents have a similarity of 1 minus that or more.

    Args:
        members: int[]: documents cluster by cluster, two and more of each.
        starts: int[clusters + 1]: where each cluster begins in ``members``.
        distance: float64[documents].

    Returns:
        float64[clusters].
    """
    of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    values = distance[members][np.lexsort((distance[members], of))]
    return np.asarray(values[starts[1:] - 1] + values[starts[1:] - 2])
