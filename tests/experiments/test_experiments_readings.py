"""The readings of section 6.5, and the second round, on cases that can be followed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.readings import buckets, of_roots, similarity_matrix
from experiments.second_round import second_round
from neardup.cluster.edges import Edges

#: Documents 0 to 3 share both buckets, 4 is with 3 in the second one.
KEYS = np.array([[1, 1], [1, 1], [1, 1], [1, 1], [2, 1]], dtype=np.uint64)


def matrix(**values: float) -> np.ndarray:
    """Similarities by "ab" for documents a and b; 0.1 for the others."""
    found = np.full((5, 5), 0.1)
    np.fill_diagonal(found, 1.0)
    for pair, value in values.items():
        a, b = (int(digit) for digit in pair.lstrip("p"))
        found[a, b] = found[b, a] = value
    return found


def test_buckets_are_by_band() -> None:
    assert list(buckets(KEYS)) == [[0, 1, 2, 3], [0, 1, 2, 3, 4]]


def test_similarity_of_all_pairs() -> None:
    a, b = np.triu_indices(3, 1)
    found = similarity_matrix(3, a, b, np.array([0.2, 0.3, 0.4]))
    assert found.tolist() == [[1, 0.2, 0.3], [0.2, 1, 0.4], [0.3, 0.4, 1]]


@pytest.mark.parametrize(("skip", "compared"), [(False, 6 + 1), (True, 3 + 1)])
def test_roots_are_compared(skip: bool, compared: int) -> None:
    """All of 0 to 3 unite in the first bucket: 6 pairs, or 3 if united ones are skipped.

    In the second one, only the root and 4 are left.
    """
    near = {f"p{a}{b}": 0.9 for a in range(4) for b in range(a + 1, 4)}
    found = of_roots(KEYS, matrix(**near), (0.8, 0.4), skip_united=skip)
    assert found.labels.tolist() == [0, 0, 0, 0, 4]
    assert found.compared == compared


def test_the_bound_keeps_sets_apart() -> None:
    """0 is the root of 0 and 1: the bound of 1 and 2 is 0.75 + 0.5 - 1 = 0.25."""
    similarity = matrix(p01=0.75, p12=0.75, p02=0.5)
    keys = np.array([[1], [1], [1], [2], [3]], dtype=np.uint64)
    found = of_roots(keys, similarity, (0.7, 0.3), skip_united=False)
    assert found.labels.tolist() == [0, 0, 2, 3, 4]
    assert of_roots(keys, similarity, (0.7, 0.2), skip_united=False).labels.tolist()[:3] == [0] * 3


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
