"""Every clustering by its name, and Louvain by itself."""

from __future__ import annotations

import random
import sys

import igraph
import networkx
import numpy as np
import pytest
import reference_unions as reference
from made_edges import EDGE, SLOW, TREE, contents, edges_of, families, packed, partition, weighted

from neardup.cluster.bounded import bounded
from neardup.cluster.components import components
from neardup.cluster.kept import kept_set, star
from neardup.cluster.louvain import louvain
from neardup.cluster.methods import METHODS, Bound, cluster_edges
from neardup.cluster.quality import modularity
from neardup.errors import DependencyError, SpecError
from neardup.threads import Pool


def test_each_method_is_found_by_its_name() -> None:
    sets = families(1, 40 if SLOW else 150, 0.5)
    sets += [list(range(i * 4, i * 4 + 40)) for i in range(60)]  # a chain
    n, edges, content = len(sets), edges_of(reference.join(sets, EDGE)), contents(len(sets))
    with Pool(1) as pool:
        bound = Bound(content, packed(sets), TREE, pool)
        got = {method: cluster_edges(method, edges, n, bound, 3) for method in METHODS}
        expected = {
            "star": star(kept_set(edges, n).duplicate_of),
            "bounded": bounded(edges, n, bound).labels,
            "components": components(edges, n),
            "louvain": louvain(edges, n, 3),
        }
        none = edges_of([])
        for method in METHODS:
            assert np.array_equal(got[method], expected[method])
            assert got[method].dtype == np.int32
            # Each cluster is named by its lowest document, and lies within one component.
            assert all(min(c) == got[method][min(c)] for c in partition(got[method]))
            assert np.array_equal(expected["components"][got[method]], expected["components"])
            assert cluster_edges(method, none, n, bound).tolist() == list(range(n))
    assert len({tuple(labels) for labels in got.values()}) == len(METHODS)


def test_what_is_missing_or_unknown_is_named() -> None:
    edges = edges_of([(0, 1, 1.0)])
    with pytest.raises(SpecError, match="cluster is 'stars'; expected one of star, bounded,"):
        cluster_edges("stars", edges, 2)
    with pytest.raises(SpecError, match="bound is None; the clustering bounded needs it"):
        cluster_edges("bounded", edges, 2)


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
    assert modularity(labels, edges) >= modularity(other, edges) - 0.01
    assert modularity(labels, edges) > modularity(components(edges, n), edges) + 0.5


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
    first = igraph.Graph.Erdos_Renyi(n=50, m=100).get_edgelist()
    random.seed(6)
    assert igraph.Graph.Erdos_Renyi(n=50, m=100).get_edgelist() == first


def test_without_igraph_louvain_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(DependencyError, match="louvain needs the package igraph") as error:
        cluster_edges("louvain", edges_of([(0, 1, 1.0)]), 2)
    assert error.value.hint == "pip install 'neardup[graph]'"
