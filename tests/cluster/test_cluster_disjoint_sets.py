"""Disjoint sets of buckets: the definition, the bound, what is compared, and large buckets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import reference_sets
import reference_unions as reference
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_edges import SLOW, Sets, families, lowest_within, packed, sets_of_few

from common import Tune, tries
from neardup.cluster.disjoint_sets import DisjointSets, disjoint_sets
from neardup.kernels.resolving import Buckets
from neardup.match.bucketing import bucket_bands, bucket_documents
from neardup.match.pairs import count_candidates, pairs_outside_windows
from neardup.testing import definition
from neardup.threads import Pool

#: Documents 0 to 3 share both buckets, 4 is with 3 in the second one.
KEYS = np.array([[1, 1], [1, 1], [1, 1], [1, 1], [2, 1]], dtype=np.uint64)


def buckets_of(keys: np.ndarray) -> Buckets:
    with Pool(1) as pool:
        bands = bucket_bands(lambda band: keys[:, band], keys.shape[1], pool)
        return bucket_documents(bands, len(keys), keys.shape[1])


def made(
    sets: Sets, keys: np.ndarray, edge: float, tree: float, threads: int = 1, again: bool = False
) -> DisjointSets:
    with Pool(threads) as pool:
        return disjoint_sets(packed(sets), buckets_of(keys), edge, tree, pool, again=again)


@pytest.mark.jit_off
@given(
    sets_of_few,
    st.sampled_from([0.3, 0.5, 0.8]),
    st.sampled_from([0.0, 0.2, 0.3]),
    st.booleans(),
    st.integers(0, 2**32),
)
@example([[]] * 8, 0.3, 0.0, False, 79)  # pairs that had one slot where they are remembered
@settings(max_examples=30 if SLOW else tries(50, 200), deadline=None)
def test_the_definition_on_small_sets(
    sets: Sets, edge: float, tree: float, again: bool, seed: int
) -> None:
    keys = np.random.default_rng(seed).integers(0, 4, (len(sets), 3)).astype(np.uint64)
    got = made(sets, keys, edge, tree, again=again)
    assert (got.labels.tolist(), got.compared) == reference.unite_roots(
        sets, keys, edge, tree, again
    )
    assert not got.not_compared


@pytest.mark.parametrize("spread", [0.1, 0.5, 0.9])
def test_the_definition_on_families(spread: float, tune: Tune) -> None:
    """The bound holds, also where buckets are taken in several calls and by several threads."""
    sets = families(2, 40 if SLOW else 200, spread)
    keys = np.random.default_rng(1).integers(0, 9, (len(sets), 4)).astype(np.uint64)
    labels, compared = reference.unite_roots(sets, keys, 0.55, 0.3)
    for threads, together in ((1, 1 << 16), (2, 3)):
        tune(united_buckets=together)
        got = made(sets, keys, 0.55, 0.3, threads)
        assert (got.labels.tolist(), got.compared) == (labels, compared)
    assert lowest_within([s for s in sets if s], got.labels[:-1]) >= 0.3
    assert compared < reference_sets.count_candidates(keys.tolist())


@pytest.mark.jit_off
@pytest.mark.parametrize(("again", "compared"), [(True, 6 + 1), (False, 3 + 1)])
def test_roots_are_compared(again: bool, compared: int) -> None:
    """All of 0 to 3 unite in the first bucket: 6 pairs, or 3 without those that are united.

    In the second one, only the root and 4 are left.
    """
    sets = [list(range(20))] * 4 + [list(range(100, 120))]
    got = made(sets, KEYS, 0.8, 0.4, again=again)
    assert (got.labels.tolist(), got.compared) == ([0, 0, 0, 0, 4], compared)


@pytest.mark.jit_off
@pytest.mark.parametrize("tree", [0.5, 0.51])
def test_the_bound_keeps_sets_apart(tree: float) -> None:
    """0 is the root of 0 and 1, both at 0.75: the bound of 1 and 2 is 0.75 + 0.75 - 1."""
    sets = [list(range(14)), list(range(2, 16)), [*range(12), 20, 21]]
    similar = [definition.jaccard(set(a), set(b)) for a, b in combinations(sets, 2)]
    assert [round(s, 2) for s in similar] == [0.75, 0.75, 0.56]
    got = made(sets, np.ones((3, 1), np.uint64), 0.75, tree)
    assert got.labels.tolist() == ([0, 0, 0] if tree == 0.5 else [0, 0, 2])


@pytest.mark.parametrize("roots", [1024, 1500])
def test_of_many_roots_some_pairs_are_left_out(roots: int) -> None:
    """As where pairs are listed."""
    sets = [[doc * 4 + i for i in range(3)] for doc in range(40 if SLOW else roots)]
    keys = np.ones((len(sets), 1), np.uint64)
    got = made(sets, keys, 0.5, 0.4, 2)
    assert got.labels.tolist() == list(range(len(sets)))
    assert got.not_compared == pairs_outside_windows(np.array([len(sets)]))
    assert got.compared + got.not_compared == len(sets) * (len(sets) - 1) // 2


def test_of_nothing_nothing_is_made() -> None:
    got = made([], np.empty((0, 2), np.uint64), 0.7, 0.4)
    assert (got.labels.tolist(), got.compared, got.not_compared) == ([], 0, 0)


@pytest.mark.jit_off
@given(st.integers(0, 60), st.integers(0, 2**32), st.integers(1, 2))
@settings(max_examples=10 if SLOW else tries(20, 100), deadline=None)
def test_candidates_are_counted_once(documents: int, seed: int, threads: int) -> None:
    keys = np.random.default_rng(seed).integers(0, 6, (documents, 5)).astype(np.uint64)
    with Pool(threads) as pool:
        found = count_candidates(buckets_of(keys), pool)
    assert found == reference_sets.count_candidates(keys.tolist())
