"""Agreement of clusters with the truth, against scikit-learn, networkx and the definitions."""

from __future__ import annotations

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, precision_recall_fscore_support
from sklearn.metrics.cluster import pair_confusion_matrix

from neardup.core.evaluate import agreement, codes, components, labels_of, scores

CASES = [(1, 1, 1), (2, 1, 2), (30, 4, 5), (200, 150, 170), (500, 3, 400), (40, 40, 1)]


@pytest.fixture(params=CASES, ids=str)
def labels(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    documents, a, b = request.param
    random = np.random.default_rng(documents)
    return random.integers(0, a, documents), random.integers(-b, b, documents)


def test_pairs_as_scikit_learn_counts_them(labels: tuple[np.ndarray, np.ndarray]) -> None:
    given, true = labels
    found = agreement(given, true)
    confusion = pair_confusion_matrix(true, given) // 2
    assert found.shared == confusion[1, 1]
    assert found.given == confusion[:, 1].sum()
    assert found.true == confusion[1].sum()
    assert found.adjusted_rand == pytest.approx(adjusted_rand_score(true, given), abs=1e-12)
    pairs = list(combinations(range(len(given)), 2))
    is_true = [bool(true[i] == true[j]) for i, j in pairs]
    is_given = [bool(given[i] == given[j]) for i, j in pairs]
    if found.given and found.true:
        wanted = precision_recall_fscore_support(is_true, is_given, average="binary")[:3]
        assert tuple(found.pairwise) == pytest.approx(wanted)


def test_b_cubed_by_its_definition(labels: tuple[np.ndarray, np.ndarray]) -> None:
    given, true = labels
    precision = recall = 0.0
    for i in range(len(given)):
        mine, ours = given == given[i], true == true[i]
        precision += (mine & ours).sum() / mine.sum() / len(given)
        recall += (mine & ours).sum() / ours.sum() / len(given)
    found = agreement(given, true).b_cubed
    assert found == pytest.approx(
        (precision, recall, 2 * precision * recall / (precision + recall))
    )


def test_b_cubed_of_the_example_of_its_paper() -> None:
    """Bagga and Baldwin (1998): chains of 5, 2 and 5 mentions, two of them joined."""
    true = np.repeat([0, 1, 2], [5, 2, 5])
    assert agreement(np.repeat([0, 1, 1], [5, 2, 5]), true).b_cubed.precision == pytest.approx(
        0.7619, abs=1e-4
    )
    assert agreement(np.repeat([0, 1, 0], [5, 2, 5]), true).b_cubed.precision == pytest.approx(
        0.5833, abs=1e-4
    )


def test_counts_beyond_64_bits() -> None:
    """Products of pairs of a large corpus are far above 2**63."""
    documents = 300_000
    given = np.zeros(documents, np.int64)
    true = np.arange(documents) // (documents // 2)
    found = agreement(given, true)
    assert found.given == documents * (documents - 1) // 2
    assert found.adjusted_rand == 0
    assert agreement(true, true).adjusted_rand == 1


def test_labels_are_names_only(labels: tuple[np.ndarray, np.ndarray]) -> None:
    given, true = labels
    found, other = agreement(given, true), agreement(10**12 - 7 * given, true)
    assert found[3:] == other[3:]
    assert found.b_cubed == pytest.approx(other.b_cubed)
    assert found.adjusted_rand == other.adjusted_rand


def test_nothing_to_divide_by() -> None:
    assert all(math.isnan(v) for v in scores(0, 0, 0))
    assert scores(0, 0, 3)[1:] == (0, 0)
    assert math.isnan(scores(0, 3, 0).recall)
    empty = agreement(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert math.isnan(empty.b_cubed.f1)
    assert agreement(np.arange(3), np.arange(3)).adjusted_rand == 1


@pytest.mark.parametrize("shape", ["random", "chain", "reversed", "star", "none"])
def test_components(shape: str) -> None:
    documents = 1000
    random = np.random.default_rng(3)
    if shape == "random":
        a, b = random.integers(0, documents, (2, 700))
    elif shape == "star":
        a, b = np.full(300, 700), np.arange(0, 900, 3)
    elif shape == "none":
        a = b = np.zeros(0, np.int64)
    else:
        order = random.permutation(documents) if shape == "chain" else np.arange(documents)[::-1]
        a, b = order[:-1], order[1:]
    graph = nx.Graph()
    graph.add_nodes_from(range(documents))
    graph.add_edges_from(zip(a.tolist(), b.tolist(), strict=True))
    expected = np.zeros(documents, np.int64)
    for component in nx.connected_components(graph):
        expected[list(component)] = min(component)
    np.testing.assert_array_equal(components(documents, a, b), expected)


def test_codes_and_labels() -> None:
    assert codes(10, np.array([3, 1, 2, 5]), np.array([1, 3, 2, 7])).tolist() == [13, 57]
    labels = labels_of(5, np.array([1, 3, 4]), np.array([0, 0, 9]))
    assert labels[1] == labels[3]
    assert len(set(labels.tolist())) == 4
