"""Results from edges: the kept set, components, communities, and the paths within clusters."""

import random
import threading

import numpy as np

from neardup.cluster.edges import Edges, check_range
from neardup.errors import DependencyError
from neardup.kernels import unions as kernels
from neardup.kernels.resolving import Answers
from neardup.kernels.unions import Tree

#: All threads of the process share the generator of igraph.
_lock = threading.Lock()


def kept_set(edges: Edges, n: int) -> Answers:
    """Go through the documents in order; remove those that have an edge with a kept one.

    >>> kept_set(Edges([0, 1, 2], [1, 2, 3], [0.9, 0.9, 0.8]), 5).duplicate_of.tolist()
    [-1, 0, -1, 2, -1]
    """
    edges.check(n)
    kept = Answers(np.full(n, -1, dtype=np.int32), np.full(n, np.nan))
    kernels.kept_set(edges.a, edges.b, edges.similarity, *kept)
    return kept


def star(duplicate_of: np.ndarray) -> np.ndarray:
    """Return int32[n]: the kept document that each stands with."""
    numbers = np.arange(len(duplicate_of), dtype=np.int32)
    return np.where(duplicate_of < 0, numbers, duplicate_of).astype(np.int32)


def counts_of(duplicate_of: np.ndarray, cluster: np.ndarray) -> dict[str, int]:
    """Count kept and removed documents, and clusters; all arrays are int[documents]."""
    removed, sizes = int((duplicate_of >= 0).sum()), np.bincount(cluster)
    return {
        "kept": len(duplicate_of) - removed,
        "removed": removed,
        "clusters": int((sizes > 0).sum()),
        "clusters_of_two_or_more": int((sizes > 1).sum()),
        "largest_cluster": int(sizes.max(initial=0)),
    }


def components(edges: Edges, n: int) -> np.ndarray:
    """Cluster whatever is connected by edges, and label it with its lowest document: int32[n].

    A chain of edges may join documents that have nothing in common.

    >>> components(Edges([0, 3], [2, 4], [0.9, 0.9]), 5).tolist()
    [0, 1, 0, 3, 3]
    """
    return connected(edges.a, edges.b, n)


def connected(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """Return the connected components, as `components` does, of pairs int[] in any order."""
    check_range(a, b, n)
    labels = np.arange(n, dtype=np.int32)
    kernels.components(a, b, labels)
    return labels


def lowest(labels: np.ndarray) -> np.ndarray:
    """Return int32[n]: the lowest document of each one's cluster, from labels of 0 to n - 1."""
    first = np.full(len(labels), len(labels), dtype=np.int32)
    np.minimum.at(first, labels, np.arange(len(labels), dtype=np.int32))
    return np.asarray(first[labels])


def louvain(edges: Edges, n: int, seed: int = 0) -> np.ndarray:
    """Cluster by modularity: documents move between clusters while that makes it higher.

    There is no minimum similarity within a cluster, and edges in one component may change the
    clusters of another. The graph is in memory; the seed is that of the order of visits.
    Labels are the lowest documents.

    Source: V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre. Fast unfolding of communities
    in large networks. Journal of Statistical Mechanics, 2008; by igraph.
    """
    try:
        import igraph
    except ImportError as error:
        raise DependencyError(
            "the clustering louvain needs the package igraph", "pip install 'neardup[graph]'"
        ) from error
    edges.check(n)
    labels = np.arange(n, dtype=np.int32)
    if len(edges) == 0:
        return labels
    # Only documents with edges, since single ones would change the order of visits.
    joined = np.zeros(n, dtype=np.bool_)
    joined[edges.a] = joined[edges.b] = True
    docs, number = np.flatnonzero(joined), np.cumsum(joined) - 1
    graph = igraph.Graph(n=len(docs), edges=number[np.stack([edges.a, edges.b], axis=1)])
    with _lock:
        igraph.set_random_number_generator(random.Random(seed))  # noqa: S311
        try:
            found = graph.community_multilevel(weights=edges.similarity.tolist())
        finally:
            igraph.set_random_number_generator(random)  # the default of igraph
    labels[docs] = docs[lowest(np.array(found.membership))]
    return labels


def spanning(edges: Edges, labels: np.ndarray, roots: np.ndarray) -> Tree:
    """Find the path of fewest edges from the root of each cluster to each of its documents.

    Of several the one with the highest minimum similarity is taken, then the one whose last edge is
    the most similar, then the one with the lowest document before the last. Edges between clusters
    are left out. Takes 24 bytes for each edge.
    """
    n = len(labels)
    edges.check(n)
    by_b = np.argsort(edges.b, kind="stable")
    begin_a, begin_b = (np.searchsorted(d, np.arange(n + 1)) for d in (edges.a, edges.b[by_b]))
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
