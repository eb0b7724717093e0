"""Modularity of clusters."""

from __future__ import annotations

import numpy as np

from neardup.cluster.edges import Edges, batches

__all__ = ["modularity"]


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
