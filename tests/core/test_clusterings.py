"""Clusterings by themselves: twins, guarantees, and what they must not depend on."""

from __future__ import annotations

import random
import sys
from itertools import combinations, product

import igraph
import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_sets import (
    SLOW,
    Found,
    Sets,
    cross,
    edges_of,
    families,
    least_within,
    packed,
    partition,
    sets_of_few,
)

from neardup.core import bounded as bounded_module
from neardup.core import descending as descending_module
from neardup.core.bounded import bounded, bounded_mst, content_hashes
from neardup.core.cluster import Clustering
from neardup.core.descending import descending
from neardup.core.edges import EdgeLog
from neardup.core.from_edges import cluster_edges, merge_clusters
from neardup.core.growing import Counts
from neardup.core.louvain import louvain
from neardup.core.quality import modularity
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.errors import DependencyError
from neardup.kernels import edges as edge_kernels
from neardup.kernels import reference, reference_clusters
from neardup.spec import CLUSTERINGS, Spec

EDGE, TREE = 0.55, 0.3


def graph_of(found: Found, documents: int) -> networkx.Graph:
    graph = networkx.Graph()
    graph.add_nodes_from(range(documents))
    graph.add_weighted_edges_from(found)
    return graph


def made(
    cluster: str, sets: Sets, found: Found, pool: Pool, second: bool = False, **more: object
) -> np.ndarray:
    """Clusters of edges, by name."""
    spec = Spec(
        cluster=cluster, edge_threshold=EDGE, tree_threshold=TREE, second_round=second
    ).replace(**more)
    held, edges = packed(sets), edges_of(found)
    priority = np.arange(len(sets), dtype=np.int64)
    labels = cluster_edges(spec, edges, held, priority, pool)
    return merge_clusters(spec, labels, edges, held, pool)


@given(sets_of_few, st.sampled_from([0.3, 0.5, 0.7]), st.sampled_from([0.0, 0.2, 0.3]), st.data())
@settings(max_examples=150, deadline=None)
def test_bounded_equals_its_twin(sets: Sets, edge: float, tree: float, data: st.DataObject) -> None:
    docs = st.integers(0, len(sets) - 1)
    drawn = data.draw(st.lists(st.tuples(docs, docs).filter(lambda p: p[0] != p[1]), max_size=40))
    a = np.array([p[0] for p in drawn], np.int32)
    b = np.array([p[1] for p in drawn], np.int32)
    got = bounded(packed(sets), a, b, edge, tree)
    twin, edges, saved = reference_clusters.bounded(sets, drawn, edge, tree)
    assert got.labels.tolist() == twin.roots()
    assert got.low.tolist() == twin.low
    assert (got.unions, got.refused) == (twin.unions, twin.refused)
    assert (got.compared, got.saved) == (len(drawn) - saved, saved)
    found = zip(got.edges.a.tolist(), got.edges.b.tolist(), got.edges.similarity, strict=True)
    assert sorted(found) == sorted(set(edges))


@pytest.mark.parametrize("spread", [0.1, 0.5, 0.9])
def test_bounded_saves_comparisons_and_keeps_the_guarantee(
    monkeypatch: pytest.MonkeyPatch, spread: float
) -> None:
    monkeypatch.setattr(bounded_module, "_BLOCK", 1000)
    sets = families(2, 40 if SLOW else 150, spread)
    pairs = [p for p in combinations(range(len(sets)), 2) if sets[p[0]] and sets[p[1]]]
    random.Random(1).shuffle(pairs)
    a, b = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    got = bounded(packed(sets), a, b, EDGE, TREE)
    twin, edges, saved = reference_clusters.bounded(sets, pairs, EDGE, TREE)
    assert (got.labels.tolist(), got.saved, len(got.edges)) == (twin.roots(), saved, len(edges))
    assert spread > 0.5 or got.saved > 0
    assert got.root_comparisons <= len(pairs)
    assert least_within(sets, got.labels) >= TREE
    for doc, root in enumerate(got.labels.tolist()):
        assert doc == root or reference.jaccard(sets[doc], sets[root]) >= got.low[root] - 1e-12


def test_of_nothing_nothing_is_made() -> None:
    none = np.zeros(0, np.int32)
    sets = [[1, 2], [], [3]]
    got = bounded(packed(sets), none, none, EDGE, TREE)
    assert (got.labels.tolist(), got.compared, got.saved) == ([0, 1, 2], 0, 0)
    with Pool(1) as pool:
        for cluster in CLUSTERINGS:
            second = cluster.startswith("bounded")
            assert made(cluster, sets, [], pool, second).tolist() == [0, 1, 2]
        assert cluster_edges(
            Spec(cluster="bounded-mst"), EdgeLog(3, Space()), packed(sets), np.arange(3), pool
        ).tolist() == [0, 1, 2]


@given(sets_of_few)
@settings(max_examples=100, deadline=None)
def test_content_hashes_equal_their_twin(sets: Sets) -> None:
    with Pool(1) as pool:
        docs = np.arange(len(sets), dtype=np.int32)
        hashes = content_hashes(packed(sets), docs, pool, Space())
    assert hashes.tolist() == [reference_clusters.hash_set(values) for values in sets]
    pairs = np.array(list(product(range(len(sets)), repeat=2)), np.int32)
    out = np.empty(len(pairs), np.uint64)
    edge_kernels.pair_hashes(hashes, pairs[:, 0].copy(), pairs[:, 1].copy(), out)
    expected = [reference_clusters.pair_hash(int(hashes[a]), int(hashes[b])) for a, b in pairs]
    assert out.tolist() == expected


@pytest.mark.parametrize("limit", [3, 40, 10_000])
def test_edges_come_in_descending_order(limit: int) -> None:
    """In blocks of any size; with a few similarities, classes are cut again by hashes."""
    rng = np.random.default_rng(limit)
    pairs = sorted({tuple(sorted(p)) for p in rng.integers(0, 60, size=(500, 2)).tolist()})
    values = rng.choice([0.6, 0.6 + 1e-12, 0.75, 1.0], size=len(pairs))
    hashes = rng.integers(0, 2**64, size=60, dtype=np.uint64)
    hashes[30:40] = hashes[30]  # documents of equal contents
    found = [(a, b, s) for (a, b), s in zip(pairs, values.tolist(), strict=True)]
    expected = sorted(
        found,
        key=lambda e: (
            -e[2],
            reference_clusters.pair_hash(int(hashes[e[0]]), int(hashes[e[1]])),
            *e[:2],
        ),
    )
    shuffled = [*found, *found[:20]]
    random.Random(limit).shuffle(shuffled)
    parts = [edges_of(shuffled[i::3]).parts()[0] for i in range(3)]
    for gone in (set(), set(range(10))):
        blocks = list(
            descending(
                parts,
                hashes,
                lambda a, b, gone=gone: ~(np.isin(a, list(gone)) & np.isin(b, list(gone))),
                Space(),
                limit,
            )
        )
        got = [e for block in blocks for e in zip(*(c.tolist() for c in block), strict=True)]
        left = [e for e in expected if e[0] in gone and e[1] in gone]
        assert [e for e in got if e not in left] == [e for e in expected if e not in left]
        assert len(found) <= limit or not gone or not set(got) & set(left)
        equal = 45  # pairs of the ten documents of equal contents, which can't be told apart
        assert all(len(block[0]) <= max(limit, equal) for block in blocks)


@pytest.mark.parametrize("spread", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("block", [7, 1 << 22])
def test_bounded_mst_equals_its_twin(
    monkeypatch: pytest.MonkeyPatch, spread: float, block: int
) -> None:
    defaults = (block,)
    monkeypatch.setattr(descending_module.descending, "__defaults__", defaults)
    for seed in range(1 if SLOW else 4):
        sets = families(seed, 30 if SLOW else 120, spread, size=20)
        found = reference.join(sets, EDGE)
        twin = reference_clusters.bounded_mst(sets, found, TREE)
        for threads in (1, 3):
            with Pool(threads) as pool:
                got = bounded_mst(packed(sets), edges_of(found), TREE, pool)
            assert got.labels.tolist() == twin.roots()
            assert (got.unions, got.refused) == (twin.unions, twin.refused)
            assert got.low.tolist() == twin.low
        assert least_within(sets, got.labels) >= TREE


@pytest.mark.parametrize("cluster", ["bounded", "bounded-mst"])
@pytest.mark.parametrize("second", [False, True])
@given(
    sets=sets_of_few, edge=st.sampled_from([0.3, 0.5, 0.8]), tree=st.sampled_from([0.0, 0.2, 0.3])
)
@settings(max_examples=60, deadline=None)
def test_the_guarantee(cluster: str, second: bool, sets: Sets, edge: float, tree: float) -> None:
    found = reference.join(sets, edge)
    with Pool(1) as pool:
        settings_ = {"edge_threshold": edge, "tree_threshold": tree}
        plain = made(cluster, sets, found, pool, **settings_)
        labels = made(cluster, sets, found, pool, second, **settings_)
    assert least_within(sets, labels) >= tree
    assert cross(labels, found) <= cross(plain, found)
    assert all(any(group <= other for other in partition(labels)) for group in partition(plain))


graphs = st.integers(2, 30).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] < p[1]),
            max_size=60,
            unique=True,
        ).map(sorted),
    )
)


def weighted(pairs: list[tuple[int, int]], seed: int) -> Found:
    chance = random.Random(seed)
    return [(a, b, chance.choice([0.5, 0.7, chance.uniform(0.5, 1)])) for a, b in pairs]


@given(graphs, st.integers(0, 9))
@settings(max_examples=150, deadline=None)
def test_components_and_modularity_equal_those_of_networkx(
    graph: tuple[int, list[tuple[int, int]]], seed: int
) -> None:
    documents, pairs = graph
    found = weighted(pairs, seed)
    known = graph_of(found, documents)
    sets: Sets = [[i] for i in range(documents)]
    with Pool(1) as pool:
        labels = made("components", sets, found, pool)
    assert partition(labels) == {frozenset(c) for c in networkx.connected_components(known)}
    if found:
        some = (
            np.random.default_rng(seed)
            .integers(0, min(5, documents), size=documents)
            .astype(np.int32)
        )
        for clusters in (labels, some):
            expected = networkx.community.modularity(known, partition(clusters), weight="weight")
            assert modularity(clusters, edges_of(found)) == pytest.approx(expected, abs=1e-12)
    else:
        assert np.isnan(modularity(labels, edges_of(found)))


def test_components_of_bands_equal_those_of_edges() -> None:
    sets = families(1, 40 if SLOW else 200, 0.5)
    found = reference.join(sets, EDGE)
    spec = Spec(cluster="components", edge_threshold=EDGE, tree_threshold=TREE)
    with Pool(2) as pool:
        grown = Clustering(packed(sets), spec, pool)
        edges = edges_of(found)
        grown.add_edges(edges.a, edges.b, edges.similarity)
        assert partition(grown.roots()) == partition(made("components", sets, found, pool))


def test_louvain_finds_communities() -> None:
    """As good as networkx finds, and better than one cluster for each component."""
    known = networkx.connected_caveman_graph(8, 6)
    found = sorted(
        (*sorted(pair), value)
        for pair, value in zip(known.edges, np.linspace(0.6, 1, len(known.edges)), strict=True)
    )
    sets: Sets = [[i] for i in range(len(known))]
    with Pool(1) as pool:
        labels = made("louvain", sets, found, pool)
        components = made("components", sets, found, pool)
    edges = edges_of(found)
    theirs = networkx.community.louvain_communities(graph_of(found, len(known)), seed=1)
    other = np.zeros(len(known), np.int32)
    for number, docs in enumerate(theirs):
        other[list(docs)] = number
    assert modularity(labels, edges) >= modularity(other, edges) - 0.01
    assert modularity(labels, edges) > modularity(components, edges) + 0.5
    for docs in partition(labels):
        assert min(docs) == labels[min(docs)]


def test_louvain_is_repeatable_and_leaves_random_numbers_alone() -> None:
    chance = random.Random(3)
    pairs = sorted({(min(p), max(p)) for p in (chance.sample(range(300), 2) for _ in range(900))})
    edges = edges_of(weighted(pairs, 3))
    random.seed(5)
    expected = [random.random() for _ in range(3)]
    random.seed(5)
    results = [louvain(edges, 300, seed) for seed in (1, 2, 1)]
    assert [random.random() for _ in range(3)] == expected
    assert np.array_equal(results[0], results[2])
    assert not np.array_equal(results[0], results[1])
    # igraph draws from Python's generator again.
    random.seed(6)
    first = igraph.Graph.Erdos_Renyi(n=50, m=100).get_edgelist()
    random.seed(6)
    assert igraph.Graph.Erdos_Renyi(n=50, m=100).get_edgelist() == first


def test_without_igraph_louvain_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(DependencyError, match="louvain needs the package igraph") as error:
        louvain(edges_of([(0, 1, 1.0)]), 2)
    assert error.value.hint == "pip install 'neardup[graph]'"


def any_order(sets: Sets, seed: int) -> tuple[Sets, np.ndarray]:
    """The documents in another order, and which each of them was."""
    names = np.random.default_rng(seed).permutation(len(sets))
    return [sets[i] for i in names], names


@pytest.mark.parametrize(
    ("cluster", "second"), [("bounded-mst", False), ("bounded-mst", True), ("components", False)]
)
@pytest.mark.parametrize("spread", [0.2, 0.4, 0.6])
def test_the_order_of_documents_does_not_matter(cluster: str, second: bool, spread: float) -> None:
    """Also with equal sets, and with many equal similarities."""
    for seed in range(1 if SLOW else 6):
        sets = families(seed, 30 if SLOW else 150, spread, size=16)
        sets += sets[:10] + sets[:5]
        results = []
        for order in range(4):
            mine, names = any_order(sets, order)
            with Pool(1) as pool:
                labels = made(cluster, mine, reference.join(mine, EDGE), pool, second)
            results.append(partition(labels, names))
        # Equal documents are in one cluster, so that it does not matter which is which.
        assert all(result == results[0] for result in results)


def test_the_order_of_bands_and_edges_does_not_matter() -> None:
    sets = families(4, 40 if SLOW else 200, 0.5)
    found = reference.join(sets, EDGE)
    results = []
    for seed in range(3):
        random.Random(seed).shuffle(found)
        log = EdgeLog(len(sets), Space())
        for part in range(5):
            log.add(*edges_of(found[part::5]).parts()[0])
            log.settle()
        with Pool(1) as pool:
            for cluster in ("bounded-mst", "bounded", "components", "star", "louvain"):
                spec = Spec(cluster=cluster, edge_threshold=EDGE, tree_threshold=TREE)
                priority = np.arange(len(sets), dtype=np.int64)
                results.append(cluster_edges(spec, log, packed(sets), priority, pool).tolist())
    assert results[:5] == results[5:10] == results[10:]


def test_what_it_takes_is_counted() -> None:
    sets = families(4, 40 if SLOW else 200, 0.5)
    found = reference.join(sets, EDGE)
    twin = reference_clusters.bounded_mst(sets, found, TREE)
    held, edges, counts = packed(sets), edges_of(found), Counts()
    spec = Spec(cluster="bounded-mst", edge_threshold=EDGE, tree_threshold=TREE, second_round=True)
    with Pool(1) as pool:
        labels = cluster_edges(spec, edges, held, np.arange(len(sets)), pool, counts)
        assert (counts.unions, counts.refused) == (twin.unions, twin.refused)
        before = counts.verified
        merged = merge_clusters(spec, labels, edges, held, pool, counts)
        alone = merge_clusters(spec.replace(second_round=False), labels, edges, held, pool)
    assert before == counts.root_comparisons
    assert counts.verified == before + counts.second_comparisons > before
    assert len(partition(merged)) == len(partition(labels)) - counts.second_merged
    assert alone is labels
