"""What is kept: the lexicographically first maximal independent set of the edges."""

import numpy as np

from neardup.cluster.edges import Edges
from neardup.kernels import unions as kernels
from neardup.kernels.resolving import Answers


def kept_set(edges: Edges, n: int) -> Answers:
    """Go through the documents in order; remove those that have an edge with a kept one.

    >>> kept_set(Edges([0, 1, 2], [1, 2, 3], [0.9, 0.9, 0.8]), 5).duplicate_of.tolist()
    [-1, 0, -1, 2, -1]
    """
    edges.check(n)
    kept = Answers(np.full(n, -1, dtype=np.int32), np.full(n, np.nan))
    kernels.kept_set(edges.a, edges.b, edges.similarity, kept.duplicate_of, kept.similarity)
    return kept


def star(duplicate_of: np.ndarray) -> np.ndarray:
    """Return int32[n]: the kept document that each stands with."""
    own = np.arange(len(duplicate_of), dtype=np.int32)
    return np.where(duplicate_of < 0, own, duplicate_of).astype(np.int32)


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
