"""Connected components, and labels by the lowest document."""

import numpy as np

from neardup.cluster.edges import Edges, check_range
from neardup.kernels import unions as kernels


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
