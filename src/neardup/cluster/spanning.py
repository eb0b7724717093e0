"""How the documents of a cluster are connected by edges: shortest paths from one of them."""

import numpy as np

from neardup.cluster.edges import Edges
from neardup.kernels import unions as kernels
from neardup.kernels.unions import Tree


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
