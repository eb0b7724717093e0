"""Shortest paths along edges, against plain Python and networkx."""

from __future__ import annotations

from itertools import pairwise

import networkx
import numpy as np
import pytest
import reference_unions as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from made_edges import SLOW, chain, edges_of, graphs, weighted

from common import tries
from neardup.cluster.methods import components, spanning

Graph = tuple[int, list[tuple[int, int]]]


@pytest.mark.jit_off
@given(graphs, st.integers(0, 9))
@settings(max_examples=30 if SLOW else tries(50, 200), deadline=None)
def test_trees_equal_their_reference(graph: Graph, seed: int) -> None:
    n, pairs = graph
    found = weighted(pairs, seed)
    edges = edges_of(found)
    rng = np.random.default_rng(seed)
    labels = components(edges, n)
    if seed % 2:  # edges between clusters are left out
        labels = (labels * 2 + rng.integers(0, 2, size=n)).astype(np.int32)
    roots = np.array([rng.choice(np.flatnonzero(labels == x)) for x in np.unique(labels)[:4]])
    tree = spanning(edges, labels, roots)
    expected = reference.spanning(found, labels.tolist(), roots.tolist())
    got = zip(tree.parent.tolist(), tree.steps.tolist(), strict=True)
    assert list(got) == [best[:2] for best in expected]
    similarity = {frozenset(edge[:2]): edge[2] for edge in found}
    for doc, parent in enumerate(tree.parent.tolist()):
        last = similarity[frozenset((doc, parent))] if parent >= 0 else np.nan
        assert tree.similarity[doc] == pytest.approx(last, abs=0, nan_ok=True)
        before = tree.minimum[parent] if parent >= 0 else 1.0
        assert tree.minimum[doc] == np.fmin(before, last)


@given(graphs, st.integers(0, 9), st.data())
@settings(max_examples=200, deadline=None)
def test_a_path_is_one_of_the_shortest_with_the_highest_minimum(
    graph: Graph, seed: int, data: st.DataObject
) -> None:
    n, pairs = graph
    found = weighted(pairs, seed)
    start, end = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    known = networkx.Graph()
    known.add_nodes_from(range(n))
    known.add_weighted_edges_from(found)
    tree = spanning(edges_of(found), np.zeros(n, np.int32), np.array([start]))
    if not networkx.has_path(known, start, end):
        assert tree.steps[end] == -1
        return
    docs = [end]
    while docs[-1] != start:
        assert tree.similarity[docs[-1]] == known.edges[docs[-1], tree.parent[docs[-1]]]["weight"]
        docs.append(tree.parent[docs[-1]])
    every = networkx.all_shortest_paths(known, start, end)
    lowest = [min((known.edges[p]["weight"] for p in pairwise(way)), default=1.0) for way in every]
    assert networkx.shortest_path_length(known, start, end) == tree.steps[end] == len(docs) - 1
    assert tree.minimum[end] == max(lowest)


def test_a_long_chain_takes_linear_time() -> None:
    length = 500 if SLOW else 1_000_000
    edges = chain(length)
    tree = spanning(edges, np.zeros(length, np.int32), np.array([length // 2]))
    assert tree.steps[[0, -1]].tolist() == [length // 2, length - 1 - length // 2]
    assert tree.minimum[[0, length // 2]].tolist() == [0.75, 1.0]
