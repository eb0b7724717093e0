"""Pairs and clusters of random graphs, against the obvious way."""

from __future__ import annotations

import itertools
import time

import networkx as nx
import numpy as np
import pytest

from neardup.linkage.decision.clusters import Scored, cluster_records, matches

SEEDS = range(30)


def made(seed: int, n: int = 24) -> Scored:
    rng = np.random.default_rng(seed)
    pairs = [p for p in itertools.combinations(range(n), 2) if rng.random() < 0.2]
    a, b = np.array(pairs, np.int32).T.reshape(2, -1)
    return Scored(a, b, rng.integers(-24, 38, len(pairs)) / 8)


def groups(labels: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


@pytest.mark.parametrize("seed", SEEDS)
def test_average_linkage_merges_the_clusters_with_the_highest_mean(seed: int) -> None:
    pairs = made(seed)
    # No ties, so that the order of merges is one.
    pairs = pairs._replace(margin=pairs.margin + np.arange(len(pairs.a)) / 1e4)
    far = dict.fromkeys(itertools.combinations(range(24), 2), -3.0)
    near = zip(pairs.a.tolist(), pairs.b.tolist(), pairs.margin.clip(-3, 5).tolist(), strict=True)
    far |= {(x, y): margin for x, y, margin in near}
    clusters = [(k,) for k in range(24)]
    while True:
        means = [
            (np.mean([far[min(p), max(p)] for p in itertools.product(one, two)]), one, two)
            for one, two in itertools.combinations(clusters, 2)
        ]
        mean, one, two = max(means)
        if mean < 0:
            break
        clusters = [c for c in clusters if c not in (one, two)] + [one + two]
    found = groups(cluster_records(pairs, np.arange(24), "average"))
    assert found == sorted(map(sorted, clusters))


@pytest.mark.parametrize("method", ["average", "complete"])
def test_the_order_of_records_does_not_matter(method: str) -> None:
    for seed in SEEDS:
        pairs, order = made(seed), np.random.default_rng(seed).permutation(24)
        x, y = order[pairs.a], order[pairs.b]
        moved = Scored(np.minimum(x, y), np.maximum(x, y), pairs.margin)
        ranks = np.empty(24, np.int64)
        ranks[order] = np.arange(24)
        one = groups(order[np.arange(24)][cluster_records(pairs, np.arange(24), method)])
        two = cluster_records(moved, ranks, method)
        assert len(one) == len(groups(two))
        same = cluster_records(pairs, np.arange(24), method)
        assert all(
            (same[i] == same[j]) == (two[order[i]] == two[order[j]])
            for i, j in itertools.combinations(range(24), 2)
        )


def test_a_large_component_is_near_linear() -> None:
    """A chain of families: 100,000 records, half a million candidates, one component."""
    n, rng = 100_000, np.random.default_rng(0)
    a = np.repeat(np.arange(n - 5), 5)
    b = a + np.tile(np.arange(1, 6), n - 5)
    margin = np.where(a // 8 == b // 8, 3.0, rng.uniform(-6, 1.0, len(a)))
    begin = time.process_time()
    labels = cluster_records(Scored(a, b, margin), np.arange(n), "average")
    assert time.process_time() - begin < 30
    assert np.mean(labels == np.arange(n) // 8 * 8) > 0.95


@pytest.mark.parametrize("seed", SEEDS)
def test_complete_clusters_are_cliques_that_can_not_merge(seed: int) -> None:
    pairs = made(seed)
    graph = nx.Graph()
    graph.add_nodes_from(range(24))
    rows = pairs.margin >= 0
    edges = zip(*(column[rows].tolist() for column in pairs), strict=True)
    graph.add_weighted_edges_from(edges)
    found = groups(cluster_records(pairs, np.arange(24), "complete"))
    expected = [{doc} for doc in graph]
    for x, y, _ in sorted(graph.edges(data="weight"), key=lambda e: (-e[2], e[0], e[1])):
        one, other = (next(c for c in expected if doc in c) for doc in (x, y))
        if one is not other and all(graph.has_edge(*p) for p in itertools.product(one, other)):
            expected = [c for c in expected if c is not one and c is not other] + [one | other]
    assert found == sorted(map(sorted, expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_one_to_one_takes_the_best_pairs_first(seed: int) -> None:
    every = made(seed)
    across = (every.a < 12) & (every.b >= 12)  # of two files
    pairs = every.take(np.flatnonzero(across))
    used: set[int] = set()
    expected = []
    order = np.lexsort((pairs.b, pairs.a, -pairs.margin))
    for k in order.tolist():
        pair = {int(pairs.a[k]), int(pairs.b[k])}
        if pairs.margin[k] >= 0 and not pair & used:
            used |= pair
            expected.append(k)
    file = np.repeat(np.arange(2), 12)
    assert matches(pairs, file).tolist() == sorted(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_to_one_of_four_files_has_one_record_of_each(seed: int) -> None:
    every = made(seed)
    file = np.repeat(np.arange(4), 6)
    pairs = every.take(np.flatnonzero(file[every.a] != file[every.b]))
    groups = [{doc} for doc in range(24)]
    order = np.lexsort((pairs.b, pairs.a, -pairs.margin))
    for k in order[pairs.margin[order] >= 0].tolist():
        one, two = (next(g for g in groups if doc in g) for doc in (pairs.a[k], pairs.b[k]))
        if one is not two and not {*file[[*one]]} & {*file[[*two]]}:
            groups = [g for g in groups if g is not one and g is not two] + [one | two]
    expected = [
        k
        for k in np.flatnonzero(pairs.margin >= 0).tolist()
        if any({pairs.a[k], pairs.b[k]} <= group for group in groups)
    ]
    assert matches(pairs, file).tolist() == expected


def test_without_pairs() -> None:
    empty = np.empty(0, np.int32)
    nothing = Scored(empty, empty, np.empty(0))
    for method in ("average", "complete"):
        assert cluster_records(nothing, np.arange(3), method).tolist() == [0, 1, 2]
    assert len(matches(nothing, np.zeros(3, np.int32))) == 0
