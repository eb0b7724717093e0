"""Pairs and clusters of random graphs, against the obvious way."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from neardup.cluster.edges import Edges
from neardup.records.deciding import cluster_records, matches

SEEDS = range(30)


def made(seed: int, n: int = 24) -> tuple[Edges, nx.Graph]:
    rng = np.random.default_rng(seed)
    pairs = [p for p in itertools.combinations(range(n), 2) if rng.random() < 0.12]
    similarity = rng.integers(50, 100, len(pairs)) / 100
    a, b = np.array(pairs).T.reshape(2, -1)
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(zip(a.tolist(), b.tolist(), similarity, strict=True))
    return Edges(a, b, similarity), graph


def groups(labels: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


@pytest.mark.parametrize("seed", SEEDS)
def test_stars_have_a_centre_with_most_pairs(seed: int) -> None:
    edges, graph = made(seed)
    left, expected = set(graph), []
    for doc in sorted(graph, key=lambda d: (-graph.degree[d], d)):
        if doc in left:
            star = {doc, *(left & set(graph[doc]))}
            left -= star
            expected.append(sorted(star))
    assert groups(cluster_records(edges, len(graph), "star")) == sorted(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_complete_clusters_are_cliques_that_can_not_merge(seed: int) -> None:
    edges, graph = made(seed)
    found = groups(cluster_records(edges, len(graph), "complete"))
    expected = [{doc} for doc in graph]
    for x, y, _ in sorted(graph.edges(data="weight"), key=lambda e: (-e[2], e[0], e[1])):
        one, other = (next(c for c in expected if doc in c) for doc in (x, y))
        if one is not other and all(graph.has_edge(*p) for p in itertools.product(one, other)):
            expected = [c for c in expected if c is not one and c is not other] + [one | other]
    assert found == sorted(map(sorted, expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_one_to_one_takes_the_best_pairs_first(seed: int) -> None:
    every, _ = made(seed)
    across = (every.a < 12) & (every.b >= 12)  # of two files
    edges = Edges(every.a[across], every.b[across], every.similarity[across])
    used: set[int] = set()
    expected = []
    order = np.lexsort((edges.b, edges.a, -edges.similarity))
    for k in order.tolist():
        pair = {int(edges.a[k]), int(edges.b[k])}
        if edges.similarity[k] >= 0.6 and not pair & used:
            used |= pair
            expected.append(k)
    found = matches(edges.a, edges.b, edges.similarity, 0.6, one_to_one=True)
    assert found.tolist() == sorted(expected)


def test_without_pairs() -> None:
    nothing = Edges(np.empty(0), np.empty(0), np.empty(0))
    for method in ("star", "complete"):
        assert cluster_records(nothing, 3, method).tolist() == [0, 1, 2]
    empty = np.empty(0, np.int32)
    assert len(matches(empty, empty, np.empty(0), 0.5, one_to_one=True)) == 0
