"""The second round of section 10.1, on a case that can be followed by hand."""

from __future__ import annotations

import numpy as np

from experiments.second_round import second_round, similarity_matrix
from neardup.cluster.edges import Edges


def matrix(**values: float) -> np.ndarray:
    """Similarities by "ab" for documents a and b; 0.1 for the others."""
    found = np.full((5, 5), 0.1)
    np.fill_diagonal(found, 1.0)
    for pair, value in values.items():
        a, b = (int(digit) for digit in pair.lstrip("p"))
        found[a, b] = found[b, a] = value
    return found


def test_similarity_of_all_pairs() -> None:
    a, b = np.triu_indices(3, 1)
    found = similarity_matrix(3, a, b, np.array([0.2, 0.3, 0.4]))
    assert found.tolist() == [[1, 0.2, 0.3], [0.2, 1, 0.4], [0.3, 0.4, 1]]


def test_a_second_round_merges_what_is_similar() -> None:
    """0 and 1 are near 2; 3 is near 2 and far from 1."""
    similarity = matrix(p01=0.9, p02=0.6, p12=0.9, p23=0.85, p13=0.2, p03=0.5)
    edges = Edges.gather([(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.9, 0.9, 0.85]))])
    labels = np.array([0, 0, 2, 3, 4], dtype=np.int32)
    found = second_round(labels, edges, similarity, 0.4)
    assert found.labels.tolist() == [0, 0, 0, 3, 4]
    assert (found.tried, found.merged) == (2, 1)
    assert found.compared == 2 + 3  # 2 with 0 and 1, then 3 with all three
    assert labels.tolist() == [0, 0, 2, 3, 4]
    assert second_round(labels, edges, similarity, 0.7).labels.tolist() == [0, 0, 2, 2, 4]
