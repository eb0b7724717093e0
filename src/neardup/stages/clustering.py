"""Edges to clusters, by one of the methods."""

import numpy as np

from neardup.cluster.bounded import Bound, bounded
from neardup.cluster.edges import Edges
from neardup.cluster.methods import components, kept_set, louvain, star
from neardup.errors import SpecError
from neardup.kernels.jaccard import Sets
from neardup.match.verifying import content_hashes
from neardup.spec import CLUSTERINGS
from neardup.threads import Pool


def clusters_of(
    method: str, edges: Edges, sets: Sets, tree_threshold: float, pool: Pool, seed: int = 0
) -> np.ndarray:
    """Label each document, int32[m], with the first one of its cluster, by one of `CLUSTERINGS`.

    Sets and ``tree_threshold`` are for ``"bounded"``, ``seed`` is for ``"louvain"``.
    """
    n = len(sets.size)
    if method == "star":
        return star(kept_set(edges, n).duplicate_of)
    if method == "components":
        return components(edges, n)
    if method == "louvain":
        return louvain(edges, n, seed)
    if method != "bounded":
        raise SpecError(f"cluster is {method!r}; expected one of {', '.join(CLUSTERINGS)}")
    return bounded(edges, n, Bound(content_hashes(sets), sets, tree_threshold, pool)).labels
