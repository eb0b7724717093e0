"""The path of edges from one document to another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Path", "best_path"]


class Path(NamedTuple):
    """A path from document to document.

    Attributes:
        docs: int64[steps + 1]: the documents on it, both ends included; none where there is none.
        similarity: float64[steps]: of the edges on it.
    """

    docs: np.ndarray
    similarity: np.ndarray


def best_path(a: np.ndarray, b: np.ndarray, similarity: np.ndarray, start: int, end: int) -> Path:
    """Return the path of fewest edges; of several, one whose least similarity is greatest.

    Ties go to the lower positions, so that the answer is always the same.

    Args:
        a, b: int[edges]: documents at the ends of each edge, in any order.
        similarity: float64[edges].
        start, end: Documents.
    """
    nodes = np.unique(np.concatenate([a, b, [start, end]]))
    ends = [np.searchsorted(nodes, docs) for docs in (a, b)]
    tails, heads = np.concatenate(ends), np.concatenate(ends[::-1])
    weights = np.concatenate([similarity, similarity])
    order = np.lexsort((heads, tails))
    tails, heads, weights = tails[order], heads[order], weights[order]
    begins = np.searchsorted(tails, np.arange(len(nodes) + 1))
    source, goal = np.searchsorted(nodes, [start, end])
    before = np.full(len(nodes), -1, dtype=np.int64)  # number of the edge that leads there
    least = np.zeros(len(nodes))
    seen = np.zeros(len(nodes), dtype=np.bool_)
    seen[source], least[source] = True, 1.0
    level = np.array([source])
    while len(level) and not seen[goal]:
        counts = begins[level + 1] - begins[level]
        first = np.repeat(begins[level] - np.cumsum(counts) + counts, counts)
        edges = first + np.arange(len(first))
        edges = edges[~seen[heads[edges]]]
        reach = np.minimum(least[tails[edges]], weights[edges])
        # Of the edges that lead to one document, the best comes first.
        best = np.lexsort((tails[edges], -reach, heads[edges]))
        edges, reach = edges[best], reach[best]
        level, firsts = np.unique(heads[edges], return_index=True)
        seen[level], least[level], before[level] = True, reach[firsts], edges[firsts]
    docs, similarities = [goal], []
    while docs[-1] != source and before[docs[-1]] >= 0:
        edge = before[docs[-1]]
        similarities.append(weights[edge])
        docs.append(tails[edge])
    if docs[-1] != source:
        return Path(np.zeros(0, dtype=np.int64), np.zeros(0))
    return Path(nodes[docs[::-1]].astype(np.int64), np.array(similarities[::-1], dtype=np.float64))
