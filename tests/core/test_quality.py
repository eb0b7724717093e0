"""The quality of a clustering, against brute force."""

from __future__ import annotations

import random
from dataclasses import asdict
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_sets import SLOW, Sets, edges_of, families, packed, sets_of_few

from neardup.core import quality as quality_module
from neardup.core.edges import EdgeLog, Edges
from neardup.core.quality import Effort, quality
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.kernels import reference, reference_clusters
from neardup.spec import Spec

SPEC = Spec(edge_threshold=0.55, tree_threshold=0.3)


@given(sets_of_few, st.data())
@settings(max_examples=150, deadline=None)
def test_counts_equal_their_twin(sets: Sets, data: st.DataObject) -> None:
    docs = st.integers(0, len(sets) - 1)
    labels = data.draw(st.lists(docs, min_size=len(sets), max_size=len(sets)))
    edges = edges_of(reference.join(sets, SPEC.edge_threshold))
    with Pool(1) as pool:
        got = quality(np.array(labels, np.int32), edges, packed(sets), SPEC, pool)
    twin = reference_clusters.quality(sets, labels, SPEC.edge_threshold, SPEC.tree_threshold)
    assert (got.same_high, got.same_mid, got.same_low) == twin
    sizes = [labels.count(label) for label in set(labels)]
    assert got.clusters_of_two_or_more == sum(size > 1 for size in sizes)
    assert got.largest_cluster == max(sizes)
    assert got.pairs_within == sum(twin) == got.looked_at
    assert got.exact
    between = [labels[a] != labels[b] for a, b in zip(edges.a, edges.b, strict=True)]
    assert got.different_high == sum(between)
    assert (got.modularity is None) == (len(edges) == 0)


@pytest.mark.parametrize("step", [5, 1 << 14])
def test_it_depends_neither_on_threads_nor_on_the_order_of_edges(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(quality_module, "_STEP", step)
    sets = families(1, 40 if SLOW else 200, 0.4)
    labels = np.random.default_rng(1).integers(0, 9, size=len(sets)).astype(np.int32)
    edges = edges_of(reference.join(sets, SPEC.edge_threshold))
    twin = reference_clusters.quality(
        sets, labels.tolist(), SPEC.edge_threshold, SPEC.tree_threshold
    )
    results = []
    for threads, effort in [(1, None), (3, None), (1, Effort(300, 200)), (3, Effort(300, 200))]:
        order = random.Random(threads).sample(range(len(edges)), len(edges))
        log = EdgeLog(len(sets), Space())
        for part in np.array_split(np.array(order), 4):
            log.add(edges.a[part], edges.b[part], edges.similarity[part])
            log.settle()
        with Pool(threads) as pool:
            results.append(asdict(quality(labels, log, packed(sets), SPEC, pool, effort)))
    assert results[0] == results[1]
    assert results[2] == results[3]
    assert tuple(results[0][f"same_{name}"] for name in ("high", "mid", "low")) == twin


def test_beyond_the_budget_pairs_are_drawn() -> None:
    """Small clusters are compared whole; of the large ones a sample tells about the rest."""
    sets = [s for s in families(3, 40 if SLOW else 500, 0.5) if s]
    labels = np.arange(len(sets), dtype=np.int32)
    labels[: len(sets) // 2] = 0
    for first in range(len(sets) // 2, len(sets) - 4, 4):
        labels[first : first + 4] = first
    edges = edges_of(reference.join(sets, SPEC.edge_threshold))
    with Pool(2) as pool:
        held = packed(sets)
        exact = quality(labels, edges, held, SPEC, pool)
        half = len(sets) // 2
        small = exact.pairs_within - half * (half - 1) // 2
        drawn = quality(labels, edges, held, SPEC, pool, Effort(small, exact.pairs_within // 3))
        other = quality(
            labels, edges, held, SPEC.replace(seed=1), pool, Effort(small, exact.pairs_within // 3)
        )
        whole = quality(labels, edges, held, SPEC, pool, Effort(0, exact.pairs_within))
        nothing = quality(labels, edges, held, SPEC, pool, Effort(0, 1))
    assert exact.exact and whole == exact
    assert not drawn.exact and drawn.looked_at == small + exact.pairs_within // 3
    assert drawn.same_high + drawn.same_mid + drawn.same_low == exact.pairs_within
    assert drawn.pairs_within == exact.pairs_within
    assert drawn.modularity == exact.modularity
    assert drawn.different_high == exact.different_high
    assert SLOW or drawn.same_high == pytest.approx(exact.same_high, rel=0.4)
    assert SLOW or drawn.same_low == pytest.approx(exact.same_low, rel=0.01)
    assert SLOW or drawn != other
    assert nothing.looked_at == 1 and not nothing.exact


def test_every_pair_may_be_drawn_and_none_is_of_two_clusters() -> None:
    starts = np.array([0, 5, 9, 30], np.int64)
    docs = np.random.default_rng(0).permutation(30).astype(np.int32)
    sizes = np.diff(starts)
    a, b = quality_module._draw(docs, starts, sizes * (sizes - 1) // 2, 20_000, 7)
    drawn = {frozenset(pair) for pair in zip(a.tolist(), b.tolist(), strict=True)}
    expected = {
        frozenset(pair)
        for first, last in pairwise(starts)
        for pair in combinations(docs[first:last].tolist(), 2)
    }
    assert drawn == expected


def test_a_giant_cluster_costs_no_more_than_the_sample() -> None:
    """All pairs of its documents would be three billion."""
    count = 300 if SLOW else 80_000
    sets = [[1, 2, 3, 10 + i % 5] for i in range(count)]
    with Pool(2) as pool:
        got = quality(
            np.zeros(count, np.int32), Edges(), packed(sets), SPEC, pool, Effort(100, 20_000)
        )
    assert got.pairs_within == count * (count - 1) // 2
    assert got.looked_at == min(20_000, got.pairs_within)
    assert got.same_high == got.pairs_within
    assert got.modularity is None
