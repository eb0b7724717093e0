"""Sets, joins, clusters and the removal rule against their twins and their guarantees."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_sets import families, in_buckets, met, packed, sets_of_few, thresholds
from numba import config

from neardup.core import cluster as cluster_module
from neardup.core.band import candidate_pairs
from neardup.core.cluster import Clustering, Counts
from neardup.core.dense import History, dense_pairs
from neardup.core.edges import Edges
from neardup.core.exact import first_of_group, same_bytes
from neardup.core.join import join
from neardup.core.keep import keep
from neardup.core.star import star_of_buckets, star_of_edges
from neardup.core.threads import Pool
from neardup.core.verify import similarity, verify
from neardup.kernels import reference
from neardup.kernels.sets import jaccard, may_reach, needed_overlap
from neardup.spec import ShingleSpec, Spec

# Stepped through without the JIT, kernels take a thousand times as long.
SLOW = bool(config.DISABLE_JIT)
NO_PAIRS = np.zeros(1, dtype=np.uint64)


@given(sets_of_few, thresholds)
@settings(max_examples=200, deadline=None)
def test_similarities_filters_and_joins_equal_their_twins(
    sets: list[list[int]], threshold: float
) -> None:
    held = packed(sets)
    pairs = np.array(list(combinations(range(len(sets)), 2)), dtype=np.int32)
    a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
    with Pool(1) as pool:
        exact = verify(held, a, b, 0.0, pool)
        cut = verify(held, a, b, threshold, pool)
        docs = np.flatnonzero(held.size).astype(np.int32)
        joined = join(held, docs, threshold, pool)
    for i, (x, y) in enumerate(pairs.tolist()):
        expected = reference.jaccard(sets[x], sets[y])
        assert exact[i] == expected
        assert cut[i] == (expected if expected >= threshold else -1)
        if expected >= threshold:
            assert may_reach(*held.filter(threshold)[:2], x, y, held.filter(threshold)[2])
    found = list(zip(joined.a.tolist(), joined.b.tolist(), joined.similarity.tolist(), strict=True))
    assert found == reference.join(sets, threshold)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("threads", [1, 3])
def test_join_of_families(threshold: float, threads: int) -> None:
    sets = families(5, 60 if SLOW else 400, 0.6)
    held = packed(sets)
    with Pool(threads) as pool:
        docs = np.flatnonzero(held.size).astype(np.int32)
        joined = join(held, docs, threshold, pool)
    found = list(zip(joined.a.tolist(), joined.b.tolist(), joined.similarity.tolist(), strict=True))
    expected = reference.join(sets, threshold)
    assert SLOW or len(expected) > 20
    assert found == expected


def test_needed_overlap_is_the_least_that_reaches() -> None:
    for total in range(2, 200):
        for threshold in (0.1, 1 / 3, 0.5, 0.7, 0.8, 0.9, 1.0):
            needed = needed_overlap(total, threshold)
            reach = [o for o in range(total // 2 + 1) if o / (total - o) >= threshold]
            assert needed == reach[0] if reach else needed > total // 2


@pytest.mark.parametrize("pairs", ["collapsed", "all"])
@pytest.mark.parametrize("clustering", ["bounded", "components"])
@pytest.mark.parametrize("small", [2, 256])
@pytest.mark.parametrize("spread", [0.1, 0.5, 0.9])
def test_clusters_hold_what_they_promise(
    monkeypatch: pytest.MonkeyPatch, pairs: str, clustering: str, small: int, spread: float
) -> None:
    """With ``small`` at 2 every bucket goes the way of giant ones."""
    monkeypatch.setattr(cluster_module, "SMALL_BUCKET", small)
    for seed in range(1 if SLOW else 6):
        sets = families(seed, 30 if SLOW else 150, spread)
        held = packed(sets)
        bands = in_buckets(np.random.default_rng(seed), sets, 6)
        spec = Spec(pairs=pairs, cluster=clustering, edge_threshold=0.6, tree_threshold=0.35)
        results = []
        # With one thread each band is done anew, with three all but the last two are replayed, as
        # after a crash.
        logs: list[dict[str, np.ndarray]] = []
        for threads in (1, 3):
            with Pool(threads) as pool:
                clusters = Clustering(held, spec, pool)
                for number, (members, starts) in enumerate(bands):
                    if threads == 3 and number < len(bands) - 2:
                        clusters.replay(logs[number])
                        continue
                    clusters.add_band(members, starts)
                    logs.append(clusters.take_log())
                counts = replace(clusters.counts)
                edges = clusters.edges.all()
                results.append(
                    (clusters.roots().tolist(), edges.a.tolist(), edges.b.tolist(), counts)
                )
        assert results[0] == results[1], f"seed {seed}: depends on threads or replaying"
        roots = clusters.roots()
        found = dict(
            zip(
                zip(edges.a.tolist(), edges.b.tolist(), strict=True),
                edges.similarity.tolist(),
                strict=True,
            )
        )
        for (a, b), value in found.items():
            assert a < b and value == reference.jaccard(sets[a], sets[b]) >= 0.6
        assert clusters.counts.not_compared == 0
        if pairs == "all":
            assert set(found) <= met(bands)
        for a, b in met(bands):
            if reference.jaccard(sets[a], sets[b]) >= 0.6:
                assert (a, b) in found or (pairs == "collapsed" and roots[a] == roots[b])
        if clustering == "bounded":
            for a, b in combinations(range(len(sets)), 2):
                if roots[a] == roots[b]:
                    assert reference.jaccard(sets[a], sets[b]) >= 0.35
        else:
            assert all(roots[a] == roots[b] for a, b in found)


def test_what_is_not_compared_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "SMALL_BUCKET", 2)
    monkeypatch.setattr(cluster_module, "MENDING", 0)
    sets = [s for s in families(1, 120, 0.5) if s]
    held = packed(sets)
    members = np.arange(len(sets), dtype=np.int32)
    spec = Spec(edge_threshold=0.6, tree_threshold=0.5)
    with Pool(2) as pool:
        clusters = Clustering(held, spec, pool)
        clusters.add_band(members, np.array([0, len(sets)], dtype=np.int32))
        edges = clusters.edges.all()
    roots = clusters.roots()
    found = set(zip(edges.a.tolist(), edges.b.tolist(), strict=True))
    lost = [
        (a, b)
        for a, b, _ in reference.join(sets, 0.6)
        if roots[a] != roots[b] and (a, b) not in found
    ]
    assert len(lost) <= clusters.counts.not_compared
    # Documents that are alone were compared exactly all the same.
    alone = np.bincount(roots, minlength=len(sets))[roots] == 1
    assert not any(alone[a] and alone[b] for a, b in lost)


@given(sets_of_few, st.sampled_from([0.3, 0.5, 0.7]), st.sampled_from([0.0, 0.2, 0.3]))
@settings(max_examples=150, deadline=None)
def test_bounded_unions_equal_their_twin(sets: list[list[int]], edge: float, tree: float) -> None:
    edges = reference.join(sets, edge)
    order = np.random.default_rng(len(edges)).permutation(len(edges))
    edges = [edges[i] for i in order]
    with Pool(1) as pool:
        clusters = Clustering(packed(sets), Spec(edge_threshold=edge, tree_threshold=tree), pool)
        clusters.add_edges(
            np.array([e[0] for e in edges], dtype=np.int32),
            np.array([e[1] for e in edges], dtype=np.int32),
            np.array([e[2] for e in edges]),
        )
    assert clusters.roots().tolist() == reference.bounded_clusters(sets, edges, edge, tree)


@pytest.mark.parametrize("spread", [0.2, 0.6])
def test_dense_pairs_equal_all_pairs(spread: float) -> None:
    sets = [s for s in families(3, 14 if SLOW else 200, spread, size=700) if s]
    docs = np.arange(len(sets), dtype=np.int32)
    roots = docs.copy()
    roots[: len(sets) // 10] = 0
    none = np.zeros((len(sets), 0), dtype=np.uint64)
    with Pool(2) as pool:
        got = dense_pairs(packed(sets), docs, roots, 0.55, NO_PAIRS, none, pool)
    found = list(zip(got.a.tolist(), got.b.tolist(), got.similarity.tolist(), strict=True))
    assert found == [e for e in reference.join(sets, 0.55) if e[1] >= len(sets) // 10]


def test_history_knows_who_met() -> None:
    history = History(100)
    rng = np.random.default_rng(0)
    before = [np.sort(rng.choice(100, size=30, replace=False)).astype(np.int32) for _ in range(70)]
    for docs in before:
        history.add(docs)
    docs = np.sort(rng.choice(100, size=40, replace=False)).astype(np.int32)
    masks = history.masks(docs)
    for i, j in combinations(range(40), 2):
        together = any(np.isin(docs[[i, j]], b).all() for b in before)
        assert bool((masks[i] & masks[j]).any()) == together


@pytest.mark.parametrize("spread", [0.1, 0.5, 0.9])
def test_stars_equal_their_twin(spread: float) -> None:
    for seed in range(5):
        sets = families(seed, 120, spread)
        held = packed(sets)
        rng = np.random.default_rng(seed)
        bands = in_buckets(rng, sets, 4)
        priority = rng.permutation(len(sets)).astype(np.int64)
        spec = Spec(cluster="star", edge_threshold=0.6)
        centre, log = star_of_buckets(bands, held, priority, spec, Counts())
        edges = log.all()
        expected = reference.star(sets, met(bands), priority.tolist(), 0.6)
        assert centre.tolist() == expected
        every = Edges.gather(
            [tuple(np.array(c) for c in zip(*reference.join(sets, 0.6), strict=True))]
        )
        every = replace(every, a=every.a.astype(np.int32), b=every.b.astype(np.int32))
        all_pairs = set(combinations(range(len(sets)), 2))
        assert star_of_edges(every, priority).tolist() == reference.star(
            sets, all_pairs, priority.tolist(), 0.6
        )
        for a, b, value in zip(edges.a, edges.b, edges.similarity, strict=True):
            assert value == reference.jaccard(sets[a], sets[b]) >= 0.6


@pytest.mark.parametrize("threads", [1, 3])
def test_the_removal_rule_equals_its_twin(threads: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        sets = families(seed, 100, 0.5)
        cluster = rng.integers(0, 10, size=len(sets)).astype(np.int32)
        priority = rng.permutation(len(sets)).astype(np.int64)
        with Pool(threads) as pool:
            got = keep(cluster, priority, packed(sets), 0.5, pool)
        expected = reference.keep(sets, cluster.tolist(), priority.tolist(), 0.5)
        assert got.kept_by.tolist() == [k for k, _ in expected]
        assert np.array_equal(got.similarity, [s for _, s in expected], equal_nan=True)
        assert got.unsure == 0


def test_exact_groups_when_half_of_a_hash_is_equal() -> None:
    hashes = np.array([[1, 1], [2, 5], [1, 1], [1, 2], [1, 2], [2, 5], [9, 9]], dtype=np.uint64)
    docs = np.array([0, 1, 2, 3, 4, 5], dtype=np.int32)
    first = first_of_group(hashes, docs)
    assert first.tolist() == [0, 1, 0, 3, 3, 1, 6]
    assert same_bytes(first, np.array([7, 8, 7, 7, 3, 8, 8], dtype=np.uint64)) == 2


def test_candidate_pairs_are_those_that_share_a_key() -> None:
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 12, size=(3, 40)).astype(np.uint64)
    a, b = candidate_pairs(keys)
    expected = [(i, j) for i, j in combinations(range(40), 2) if (keys[:, i] == keys[:, j]).any()]
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == expected


def test_one_word_in_front_keeps_the_pair() -> None:
    """Position sampling would lose it."""
    rng = np.random.default_rng(4)
    text = " ".join(f"w{i}" for i in rng.integers(0, 5000, size=400))
    for n in (4, 5, 8):
        value = similarity(text, "preface " + text, ShingleSpec(n=n))
        assert value == pytest.approx((400 - n + 1) / (400 - n + 2), abs=1e-2)


def test_similarity_of_empty_texts_is_zero() -> None:
    assert similarity("", "") == 0.0
    assert similarity("", "a") == 0.0
    assert similarity("a", "A!") == 1.0


def test_jaccard_of_sets_that_end_in_each_others_middle() -> None:
    sets = packed([list(range(1, 100)), list(range(50, 400)), [50], [1000]])
    for a, b in combinations(range(4), 2):
        expected = reference.jaccard(
            sets.values[sets.begin[a] : sets.begin[a] + sets.size[a]].tolist(),
            sets.values[sets.begin[b] : sets.begin[b] + sets.size[b]].tolist(),
        )
        assert jaccard(sets.values, sets.begin, sets.size, a, b, 0.0) == expected


def test_edges_of_nothing_are_none() -> None:
    none = np.zeros(0, dtype=np.int32)
    assert len(Edges.gather([])) == 0
    assert len(Edges.gather([(none, none, np.zeros(0)), (none, none, np.zeros(0))])) == 0


def test_no_pair_is_left_out_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents whose clusters are rooted outside the bucket, and no budget."""
    monkeypatch.setattr(cluster_module, "SMALL_BUCKET", 2)
    monkeypatch.setattr(cluster_module, "MENDING", 0)
    rng = np.random.default_rng(2)
    common = rng.integers(1, 2**64, size=60, dtype=np.uint64)
    sets = []
    for _ in range(40):
        own = rng.integers(1, 2**64, size=20, dtype=np.uint64)
        sets += [sorted(int(v) for v in np.concatenate([common, own]))] * 2
    with Pool(1) as pool:
        clusters = Clustering(packed(sets), Spec(edge_threshold=0.7, tree_threshold=0.5), pool)
        twins = np.arange(0, 80, 2, dtype=np.int32)
        clusters.add_edges(twins, twins + 1, np.ones(40))
        inside = twins + 1 if clusters.roots()[1] == 0 else twins
        clusters.add_band(inside.astype(np.int32), np.array([0, 40], dtype=np.int32))
    assert clusters.counts.not_compared + clusters.counts.pruned >= 40 * 39 // 2 - 39


def test_what_was_compared_in_one_band_is_not_reported_in_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    common = rng.integers(1, 2**64, size=80, dtype=np.uint64)
    sets = []
    for _ in range(600):
        own = rng.integers(1, 2**64, size=22, dtype=np.uint64)
        sets.append(sorted(int(v) for v in np.concatenate([common, own])))
    members = np.arange(600, dtype=np.int32)
    with Pool(1) as pool:
        spec = Spec(edge_threshold=0.7, tree_threshold=0.5)
        clusters = Clustering(packed(sets), spec, pool, budget=200_000)
        for _ in range(3):
            clusters.add_band(members, np.array([0, 600], dtype=np.int32))
    assert clusters.counts.not_compared == 0
    assert clusters.counts.verified <= 2 * 180_000
