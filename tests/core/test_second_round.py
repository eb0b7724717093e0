"""The second round by itself: its twin, what it merges, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest
from made_sets import SLOW, cross, edges_of, families, least_within, packed, partition

from neardup.core import second as second_module
from neardup.core.bounded import bounded_mst
from neardup.core.second import second_round
from neardup.core.threads import Pool
from neardup.kernels import reference, reference_clusters

EDGE, TREE = 0.55, 0.3


@pytest.mark.parametrize("spread", [0.3, 0.6])
@pytest.mark.parametrize("budget", [0, 3, 60, 10**6])
@pytest.mark.parametrize("limit", [4096, 2])
def test_the_second_round_equals_its_twin(
    monkeypatch: pytest.MonkeyPatch, spread: float, budget: int, limit: int
) -> None:
    """With a limit of 2, threads compare nearly all clusters."""
    monkeypatch.setattr(second_module, "_LIMIT", limit)
    monkeypatch.setattr(second_module, "_WAVE", 8 if limit == 2 else 1 << 18)
    merged = 0
    for seed in range(1 if SLOW else 5):
        sets = families(seed, 30 if SLOW else 90, spread, size=20)
        found = reference.join(sets, EDGE)
        tree = reference_clusters.bounded_mst(sets, found, TREE)
        labels = np.array(tree.roots(), np.int32)
        clusters, done = reference_clusters.second_round(sets, tree.roots(), found, TREE, budget)
        for threads in (1, 3):
            with Pool(threads) as pool:
                got, said = second_round(labels, edges_of(found), packed(sets), TREE, pool, budget)
            assert partition(got) == {frozenset(docs) for docs in clusters}
            assert vars(said) == done
        assert said.comparisons <= budget
        assert least_within(sets, got) >= TREE
        assert cross(got, found) <= cross(labels, found)
        merged += said.merged
    assert SLOW or budget < 60 or merged > 0


def test_the_second_round_merges_what_the_bound_holds_apart() -> None:
    """Every two of six documents have 0.8 in common; the bound adds up what they lack."""
    sets = [sorted([*range(100, 140), *range(1000 + 5 * i, 1005 + 5 * i)]) for i in range(6)]
    found = reference.join(sets, 0.75)
    assert len(found) == 15
    held, edges = packed(sets), edges_of(found)
    with Pool(2) as pool:
        got = bounded_mst(held, edges, 0.7, pool)
        labels, done = second_round(got.labels, edges, held, 0.7, pool)
        none, nothing = second_round(got.labels, edges, held, 0.7, pool, budget=3)
    assert partition(got.labels) != partition(labels) == {frozenset(range(6))}
    assert cross(got.labels, found) == 12 and cross(labels, found) == 0
    assert vars(done) == {"merged": 2, "checked": 2, "comparisons": 4 + 8, "left_out": 0}
    assert np.array_equal(none, got.labels)
    assert vars(nothing) == {"merged": 0, "checked": 0, "comparisons": 0, "left_out": 3}


def test_two_clusters_that_do_not_fit_are_not_compared_again() -> None:
    """Also when one of them has grown: a chain of which only neighbours are alike."""
    sets = [list(range(i * 10, i * 10 + 40)) for i in range(12)]
    found = reference.join(sets, 0.6)
    labels = np.arange(12, dtype=np.int32)
    with Pool(1) as pool:
        got, done = second_round(labels, edges_of(found), packed(sets), 0.5, pool)
    assert least_within(sets, got) >= 0.5
    # Neighbours merge until no two that are alone lie side by side: four to six times. Each of the
    # other edges costs a comparison that fails, or more, if the first documents are neighbours.
    assert done.checked == len(found) == 11
    assert 4 <= done.merged == sum(len(docs) == 2 for docs in partition(got)) <= 6
    assert done.comparisons <= done.merged + 4 * (done.checked - done.merged)


def test_a_giant_cluster_with_many_neighbours_is_not_gone_through_again_and_again() -> None:
    """Ten thousand documents around one, none of which fits with another."""
    count = 300 if SLOW else 10_000
    rng = np.random.default_rng(0)
    core = sorted(rng.integers(1, 2**62, size=40).tolist())
    sets = [
        core,
        *(sorted([*core, *rng.integers(1, 2**62, size=20).tolist()]) for _ in range(count)),
    ]
    found = [(0, i, 40 / 60) for i in range(1, count + 1)]
    with Pool(1) as pool:
        got, done = second_round(
            np.arange(count + 1, dtype=np.int32), edges_of(found), packed(sets), 0.6, pool
        )
    # One joins; all others are too far from that one.
    assert (done.merged, done.checked, done.left_out) == (1, count, 0)
    assert done.comparisons <= 2 * count
    assert sorted(map(len, partition(got)))[-2:] == [1, 2]
