"""Every clustering by its name, and Louvain by itself."""

from __future__ import annotations

import random
import sys

import networkx
import numpy as np
import pytest
import reference_unions as reference
from made_edges import EDGE, SLOW, TREE, edges_of, families, packed, partition, weighted

from neardup.cluster.bounded import Bound, bounded
from neardup.cluster.methods import components, kept_set, louvain, star
from neardup.errors import DependencyError, SpecError
from neardup.match.verifying import content_hashes
from neardup.spark.stages.cluster_stage import clusters_of
from neardup.spec import CLUSTERINGS
from neardup.threads import Pool

#: Those that edges are enough for; disjoint sets are made from buckets.
OF_EDGES = [name for name in CLUSTERINGS if name != "disjoint-sets"]


def test_each_method_is_found_by_its_name() -> None:
    sets = families(1, 40 if SLOW else 150, 0.5)
    sets += [list(range(i * 4, i * 4 + 40)) for i in range(60)]  # a chain
    n, edges, made = len(sets), edges_of(reference.join(sets, EDGE)), packed(sets)
    with Pool(1) as pool:
        bound = Bound(content_hashes(made), made, TREE, pool)
        got = {name: clusters_of(name, edges, made, TREE, pool, 3) for name in OF_EDGES}
        expected = {
            "star": star(kept_set(edges, n).duplicate_of),
            "bounded": bounded(edges, n, bound).labels,
            "components": components(edges, n),
            "louvain": louvain(edges, n, 3),
        }
        none = edges_of([])
        for method in OF_EDGES:
            assert np.array_equal(got[method], expected[method])
            assert got[method].dtype == np.int32
            # Each cluster is named by its lowest document, and lies within one component.
            assert all(min(c) == got[method][min(c)] for c in partition(got[method]))
            assert np.array_equal(expected["components"][got[method]], expected["components"])
            assert clusters_of(method, none, made, TREE, pool).tolist() == list(range(n))
    assert len({tuple(labels) for labels in got.values()}) == len(OF_EDGES)


def test_what_is_unknown_is_named() -> None:
    with (
        Pool(1) as pool,
        pytest.raises(SpecError, match="cluster is 'stars'; expected one of star, bounded,"),
    ):
        clusters_of("stars", edges_of([(0, 1, 1.0)]), packed([[1], [1]]), TREE, pool)


def test_louvain_finds_communities() -> None:
    """As good as networkx finds, and better than one cluster for each component."""
    known = networkx.connected_caveman_graph(8, 6)
    found = sorted(
        (*sorted(pair), value)
        for pair, value in zip(known.edges, np.linspace(0.6, 1, len(known.edges)), strict=True)
    )
    edges, n = edges_of(found), len(known)
    known.add_weighted_edges_from(found)
    labels = louvain(edges, n)
    other = np.zeros(n, np.int32)
    for number, docs in enumerate(networkx.community.louvain_communities(known, seed=1)):
        other[list(docs)] = number
    ours, theirs, connected = (
        networkx.community.modularity(known, partition(found))
        for found in (labels, other, components(edges, n))
    )
    assert ours >= theirs - 0.01
    assert ours > connected + 0.5


def test_louvain_is_repeatable_and_leaves_random_numbers_alone() -> None:
    chance = random.Random(3)
    pairs = sorted({(min(p), max(p)) for p in (chance.sample(range(300), 2) for _ in range(900))})
    found = weighted(pairs, 3)
    edges = edges_of(found)
    random.seed(5)
    expected = [random.random() for _ in range(3)]
    random.seed(5)
    results = [louvain(edges, 300, seed) for seed in (1, 2, 1)]
    assert [random.random() for _ in range(3)] == expected
    assert np.array_equal(results[0], results[2])
    assert not np.array_equal(results[0], results[1])
    # Neither the order in which edges are found nor documents without edges matter.
    chance.shuffle(found)
    assert np.array_equal(louvain(edges_of(found), 300, 1), results[0])
    assert np.array_equal(louvain(edges, 500, 1)[:300], results[0])
    # igraph draws from Python's generator again.
    random.seed(6)
    igraph = pytest.importorskip("igraph")  # late: it imports Matplotlib
    first = igraph.Graph.Erdos_Renyi(n=50, m=100).get_edgelist()
    random.seed(6)
    assert igraph.Graph.Erdos_Renyi(n=50, m=100).get_edgelist() == first


def test_without_igraph_louvain_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(DependencyError, match="louvain needs the package igraph") as error:
        louvain(edges_of([(0, 1, 1.0)]), 2)
    assert error.value.hint == "pip install 'neardup[graph]'"
