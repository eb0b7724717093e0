"""Clusters of high modularity, by the method of Louvain, weighted by similarity."""

import random
import threading

import numpy as np

from neardup.cluster.components import lowest
from neardup.cluster.edges import Edges
from neardup.errors import DependencyError

#: The generator of igraph is one for the whole process.
_lock = threading.Lock()


def louvain(edges: Edges, n: int, seed: int = 0) -> np.ndarray:
    """Cluster by modularity: documents move between clusters while that makes it higher.

    There is no minimum similarity within a cluster, and edges in one component may change the
    clusters of another. The graph is held in memory; the seed is that of the order of visits.
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
            igraph.set_random_number_generator(random)  # what it is from the start
    labels[docs] = docs[lowest(np.array(found.membership))]
    return labels
