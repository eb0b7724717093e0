"""How the documents of a cluster are connected by edges: shortest paths from one of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Edges
from neardup.kernels import unions as kernels
from neardup.kernels.unions import Tree


class Path(NamedTuple):
    """A path from document to document."""

    docs: np.ndarray  # int64[steps + 1]: both ends included; none if there is no path
    similarity: np.ndarray  # float64[steps]: of the edges on it


def spanning(edges: Edges, labels: np.ndarray, roots: np.ndarray) -> Tree:
    """Find the path of fewest edges from the root of each cluster to each of its documents.

    Of several the one with the highest minimum similarity is taken, then the one whose last edge is
    the most similar, then the one with the lowest document before the last. Edges between clusters
    are left out. Takes 24 bytes for each edge.
    """
    n = len(labels)
    edges.check(n)
    by_b = np.argsort(edges.b, kind="stable")
    begins = (np.append(0, np.cumsum(np.bincount(d, minlength=n))) for d in (edges.a, edges.b))
    begin_a, begin_b = begins
    tree = Tree(
        parent=np.full(n, -1, dtype=np.int32),
        similarity=np.full(n, np.nan),
        steps=np.full(n, -1, dtype=np.int32),
        minimum=np.ones(n),
    )
    tree.steps[roots] = 0
    queue = np.empty(n, dtype=np.int32)
    queue[: len(roots)] = roots
    columns = edges.a, edges.b, edges.similarity
    kernels.spanning(*columns, begin_a, by_b, begin_b, labels, queue, len(roots), tree)
    return tree


def path(edges: Edges, start: int, end: int) -> Path:
    """Return the path of fewest edges; of several, the one that `spanning` takes.

    >>> way = path(Edges([0, 1, 2], [1, 2, 3], [0.9, 0.8, 0.7]), 3, 1)
    >>> way.docs.tolist(), way.similarity.tolist()
    ([3, 2, 1], [0.7, 0.8])
    """
    ends = np.array([start, end])
    nodes = np.unique(np.concatenate([edges.a, edges.b, ends]))
    a, b, (source, goal) = (np.searchsorted(nodes, docs) for docs in (edges.a, edges.b, ends))
    labels = np.zeros(len(nodes), dtype=np.int32)
    tree = spanning(Edges(a, b, edges.similarity), labels, np.array([source]))
    if tree.steps[goal] < 0:
        return Path(np.zeros(0, dtype=np.int64), np.zeros(0))
    docs = [goal]
    while docs[-1] != source:
        docs.append(tree.parent[docs[-1]])
    docs.reverse()
    return Path(nodes[docs].astype(np.int64), tree.similarity[docs[1:]])
