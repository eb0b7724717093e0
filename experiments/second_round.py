"""A second round of clustering, which section 10.1 of the paper offers: similar clusters merge.

The bound on disjoint sets adds up distances, so that sets stay apart whose documents are all
similar. Here two sets that a compared pair joins, one that reaches the threshold, are compared
document by document, and merged if all of their pairs reach the tree threshold. Pairs are taken
from the most similar one down. The paper gives the idea in a sentence, without rule or number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import Edges
from neardup.cluster.methods import lowest

__all__ = ["SecondRound", "second_round", "similarity_matrix"]


class SecondRound(NamedTuple):
    """What a second round does to clusters.

    Attributes:
        labels: int32[documents]: the lowest document of each one's cluster.
        tried: Pairs of clusters that were compared.
        merged: How many of these merged.
        compared: Pairs of documents whose similarity that takes, each once.
    """

    labels: np.ndarray
    tried: int
    merged: int
    compared: int


def similarity_matrix(count: int, a: np.ndarray, b: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return float64[count, count] of the similarities of pairs ``a``, ``b``; 1 of a document."""
    found = np.eye(count)
    found[a, b] = found[b, a] = values
    return found


def second_round(
    labels: np.ndarray, edges: Edges, similarity: np.ndarray, tree_threshold: float
) -> SecondRound:
    """Merge clusters of which all documents are similar.

    Args:
        labels: int32[documents], clusters of the first round.
        edges: Pairs that were compared and reach the threshold.
        similarity: float64[documents, documents].
        tree_threshold: Minimum similarity of any two documents of a cluster.
    """
    labels = labels.copy()
    refused: set[tuple[int, int]] = set()
    seen = np.zeros(similarity.shape, dtype=np.bool_)
    tried = merged = 0
    for at in np.lexsort((edges.b, edges.a, -edges.similarity)).tolist():
        x, y = sorted((int(labels[edges.a[at]]), int(labels[edges.b[at]])))
        if x == y or (x, y) in refused:
            continue
        tried += 1
        cells = np.ix_(np.flatnonzero(labels == x), np.flatnonzero(labels == y))
        seen[cells] = True
        if similarity[cells].min() < tree_threshold:
            refused.add((x, y))
            continue
        labels[labels == y] = x
        merged += 1
        # A larger cluster has all pairs of the smaller one, so that what was refused stays refused.
        ends = (sorted(x if end == y else end for end in pair) for pair in refused)
        refused = {(low, high) for low, high in ends}
    return SecondRound(lowest(labels), tried, merged, int((seen | seen.T).sum()) // 2)
