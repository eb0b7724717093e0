"""Clusters of high modularity, by the method of Louvain, weighted by similarity."""

from __future__ import annotations

import random
import threading

import numpy as np

from neardup.core.edges import EdgeLog, Edges
from neardup.errors import DependencyError

__all__ = ["louvain", "require_igraph"]

#: The generator of igraph is one for the whole process.
_lock = threading.Lock()


def require_igraph() -> None:
    """Make sure that igraph is there.

    Raises:
        DependencyError: It is not installed.
    """
    try:
        import igraph  # noqa: F401
    except ImportError as error:
        raise DependencyError(
            "the clustering louvain needs the package igraph", "pip install 'neardup[graph]'"
        ) from error


def louvain(edges: EdgeLog | Edges, documents: int, seed: int = 0) -> np.ndarray:
    """Cluster by modularity: documents move between clusters while that makes it higher.

    There is no bound on how alike the documents of a cluster are. The graph is held in memory.

    Args:
        edges: The graph; weights are similarities.
        documents: Number of documents.
        seed: Of the order in which documents are gone through.

    Returns:
        int32[documents]: the lowest position in each document's cluster.

    Raises:
        DependencyError: igraph is not installed.

    Source: V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre. Fast unfolding of communities
    in large networks. Journal of Statistical Mechanics, 2008; by igraph.
    """
    require_igraph()
    import igraph

    labels = np.arange(documents, dtype=np.int32)
    every = edges.all()
    if len(every) == 0:
        return labels
    docs, ends = np.unique(np.concatenate([every.a, every.b]), return_inverse=True)
    graph = igraph.Graph(n=len(docs), edges=np.stack([ends[: len(every)], ends[len(every) :]], 1))
    with _lock:
        igraph.set_random_number_generator(random.Random(seed))
        try:
            found = graph.community_multilevel(weights=every.similarity.tolist())
        finally:
            igraph.set_random_number_generator(random)  # what it is from the start
    member = np.array(found.membership)
    lowest = np.full(len(docs), documents, dtype=np.int32)
    np.minimum.at(lowest, member, docs.astype(np.int32))
    labels[docs] = lowest[member]
    return labels
