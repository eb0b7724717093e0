"""One function for every clustering of edges."""

from __future__ import annotations

import numpy as np

from neardup.cluster.bounded import Bound, bounded
from neardup.cluster.components import components
from neardup.cluster.edges import Edges
from neardup.cluster.kept import kept_set, star
from neardup.cluster.louvain import louvain
from neardup.errors import SpecError

METHODS = ("star", "bounded", "components", "louvain")


def cluster_edges(
    method: str, edges: Edges, n: int, bound: Bound | None = None, seed: int = 0
) -> np.ndarray:
    """Label each of ``n`` documents, int32[n], with the lowest one of its cluster.

    The method is one of ``METHODS``; ``"bounded"`` needs ``bound``, ``seed`` is for ``"louvain"``.

    Raises:
        SpecError: There is no such method, or ``bound`` is missing.
        DependencyError: The method needs a package that is not installed.
        ValueError: The edges are not sorted, or a document is out of range.

    >>> cluster_edges("star", Edges([0, 1, 2], [1, 2, 3], [0.9, 0.9, 0.8]), 5).tolist()
    [0, 0, 2, 2, 4]
    """
    if method == "star":
        return star(kept_set(edges, n).duplicate_of)
    if method == "components":
        return components(edges, n)
    if method == "louvain":
        return louvain(edges, n, seed)
    if method != "bounded":
        raise SpecError(f"cluster is {method!r}; expected one of {', '.join(METHODS)}")
    if bound is None:
        raise SpecError("bound is None; the clustering bounded needs it")
    return bounded(edges, n, bound).labels
