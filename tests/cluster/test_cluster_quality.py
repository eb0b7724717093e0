"""The quality of clusters, against brute force, networkx and scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import networkx
import numpy as np
import pytest
import reference_unions as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from made_edges import (
    EDGE,
    SLOW,
    TREE,
    Sets,
    edges_of,
    families,
    graphs,
    packed,
    partition,
    sets_of_few,
    weighted,
)
from sklearn.metrics.cluster import pair_confusion_matrix

from neardup.cluster import quality as module
from neardup.cluster.edges import Edges
from neardup.cluster.quality import Measure, modularity, quality
from neardup.threads import Pool

MEASURE = Measure(EDGE, TREE)


@pytest.mark.jit_off
@given(sets_of_few, st.data())
@settings(max_examples=150, deadline=None)
def test_counts_equal_their_reference(sets: Sets, data: st.DataObject) -> None:
    docs = st.integers(0, len(sets) - 1)
    labels = data.draw(st.lists(docs, min_size=len(sets), max_size=len(sets)))
    edges = edges_of(reference.join(sets, 0.5))
    with Pool(1) as pool:  # thresholds at which many pairs are exactly
        measure = Measure(0.5, 0.25)
        got = quality(np.array(labels, np.int32), edges, packed(sets), measure, pool)
    counts = got.pairs_within, got.pairs_high, got.pairs_low
    assert counts == reference.quality(sets, labels, 0.5, 0.25)
    assert got.pairs_within == pair_confusion_matrix(labels, labels)[1, 1] // 2
    sizes = [labels.count(label) for label in set(labels)]
    assert got.clusters == sum(size > 1 for size in sizes)
    assert got.largest == max(sizes)
    assert got.pairs_compared == got.pairs_within
    between = sum(labels[a] != labels[b] for a, b in zip(edges.a, edges.b, strict=True))
    assert (got.edges_within, got.edges_between) == (len(edges) - between, between)
    assert (got.modularity is None) == (len(edges) == 0)


def test_pairs_exactly_at_a_threshold_reach_it() -> None:
    with Pool(1) as pool:
        sets = packed([[1], [1, 2], [1, 2, 3, 4], []])
        got = quality(np.zeros(4, np.int32), edges_of([]), sets, Measure(0.5, 0.25), pool)
    assert (got.pairs_within, got.pairs_high, got.pairs_low) == (6, 2, 3)


@given(graphs, st.integers(0, 9))
@settings(max_examples=100, deadline=None)
def test_modularity_equals_that_of_networkx(
    graph: tuple[int, list[tuple[int, int]]], seed: int
) -> None:
    n, pairs = graph
    found = weighted(pairs, seed)
    labels = np.random.default_rng(seed).integers(0, min(5, n), size=n).astype(np.int32)
    if not found:
        assert modularity(labels, edges_of(found)) is None
        return
    known = networkx.Graph()
    known.add_nodes_from(range(n))
    known.add_weighted_edges_from(found)
    expected = networkx.community.modularity(known, partition(labels), weight="weight")
    assert modularity(labels, edges_of(found)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("step", [5, 1 << 14])
def test_it_does_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    monkeypatch.setattr(module, "_STEP", step)
    sets = families(1, 40 if SLOW else 200, 0.4)
    labels = np.random.default_rng(1).integers(0, 9, size=len(sets)).astype(np.int32)
    edges = edges_of(reference.join(sets, EDGE))
    results = []
    for threads in (1, 3):
        with Pool(threads) as pool, monkeypatch.context() as here:
            results.append(quality(labels, edges, packed(sets), MEASURE, pool))
            draw(here, 0, 200)
            results.append(quality(labels, edges, packed(sets), MEASURE, pool))
    assert results[:2] == results[2:]


def draw(monkeypatch: pytest.MonkeyPatch, limit: int, sample: int) -> None:
    """Have pairs drawn where there are more than a limit."""
    for name, value in (("_FOR_EACH", 0), ("_MORE", limit), ("_SAMPLE", sample)):
        monkeypatch.setattr(module, name, value)


def test_beyond_the_limit_pairs_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = families(3, 60 if SLOW else 400, 0.5)
    labels = (np.arange(len(sets)) % 3 == 0).astype(np.int32)
    edges = edges_of(reference.join(sets, EDGE))
    with Pool(2) as pool:
        exact = quality(labels, edges, packed(sets), MEASURE, pool)
        total = exact.pairs_within
        draw(monkeypatch, total, 1)
        assert quality(labels, edges, packed(sets), MEASURE, pool) == exact
        draw(monkeypatch, total - 1, total // 3)
        drawn = quality(labels, edges, packed(sets), MEASURE, pool)
        draw(monkeypatch, total - 1, 1)
        one = quality(labels, edges, packed(sets), MEASURE, pool)
    assert (exact.pairs_compared, drawn.pairs_compared) == (total, total // 3)
    names = ("pairs_high", "pairs_low", "pairs_compared")
    assert replace(drawn, **{name: getattr(exact, name) for name in names}) == exact
    assert SLOW or drawn.pairs_high == pytest.approx(exact.pairs_high, rel=0.4)
    assert SLOW or drawn.pairs_low == pytest.approx(exact.pairs_low, rel=0.01)
    assert one.pairs_compared == 1
    assert one.pairs_high + one.pairs_low in (0, one.pairs_within)


def test_each_pair_has_a_number() -> None:
    labels = np.random.default_rng(0).integers(0, 6, size=40).astype(np.int32)
    within = module._Within.of(labels)
    total = int(within.ends[-1])
    a, b = within.pairs(np.arange(total))
    numbered = [frozenset(pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]
    expected = {
        frozenset(pair) for group in partition(labels) for pair in combinations(sorted(group), 2)
    }
    assert len(numbered) == total and set(numbered) == expected
    assert all(
        labels[within.docs[x:y]].max() == labels[within.docs[x]] for x, y in pairwise(within.starts)
    )


def test_numbers_of_pairs_are_exact_in_the_largest_clusters() -> None:
    drawn = np.random.default_rng(0).integers(1, 2**31, size=10_000)
    i = np.concatenate([[1, 2, 3, 2**31 - 2, 2**31 - 1], drawn])
    for j in (i - 1, i * 0, i // 2):
        got = module._pair(i * (i - 1) // 2 + j)
        assert np.array_equal(got, (i, j))


def test_a_giant_cluster_costs_no_more_than_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs of its documents would be three billion."""
    draw(monkeypatch, 100, 20_000)
    count = 300 if SLOW else 80_000
    sets = [[1, 2, 3, 10 + i % 5] for i in range(count)]
    none = Edges.gather([])
    with Pool(2) as pool:
        got = quality(np.zeros(count, np.int32), none, packed(sets), MEASURE, pool)
    assert got.pairs_within == got.pairs_high == count * (count - 1) // 2
    assert (got.pairs_compared, got.modularity, got.largest) == (20_000, None, count)


def test_documents_without_clusters() -> None:
    with Pool(1) as pool:
        none = Edges.gather([])
        alone = quality(np.arange(3, dtype=np.int32), none, packed([[1], [2], [3]]), MEASURE, pool)
        empty = quality(np.zeros(0, np.int32), none, packed([]), MEASURE, pool)
    assert (alone.clusters, alone.largest, alone.pairs_within, alone.pairs_compared) == (0, 1, 0, 0)
    assert (empty.clusters, empty.largest, empty.pairs_within, empty.pairs_compared) == (0, 0, 0, 0)
