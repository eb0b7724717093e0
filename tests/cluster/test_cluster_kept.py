"""The kept set and connected components, against plain Python and networkx."""

from __future__ import annotations

from pathlib import Path

import networkx
import numpy as np
import pytest
import reference_unions as reference
from hypothesis import given, settings
from made_edges import SLOW, chain, edges_of, graphs, mapped, partition, weighted

from common import tries
from neardup.cluster.edges import Edges
from neardup.cluster.methods import components, connected, kept_set, lowest, star

Graph = tuple[int, list[tuple[int, int]]]


@pytest.mark.jit_off
@given(graphs)
@settings(max_examples=30 if SLOW else tries(75, 300), deadline=None)
def test_the_kept_set_equals_its_reference(graph: Graph) -> None:
    n, pairs = graph
    found = weighted(pairs, n)
    kept = kept_set(edges_of(found), n)
    similarity = np.where(np.isnan(kept.similarity), -1.0, kept.similarity)
    got = list(zip(kept.duplicate_of.tolist(), similarity.tolist(), strict=True))
    assert got == reference.kept_set(found, n)
    labels = star(kept.duplicate_of)
    assert labels.dtype == kept.duplicate_of.dtype == np.int32
    assert all(min(group) == labels[min(group)] for group in partition(labels))


def test_nothing_found_is_left_and_everything_removed_has_its_reason() -> None:
    rng = np.random.default_rng(1)
    n = 300 if SLOW else 20_000
    pairs = np.unique(np.sort(rng.integers(0, n, size=(3 * n, 2)), axis=1), axis=0)
    a, b = pairs[pairs[:, 0] < pairs[:, 1]].T
    edges = Edges(a, b, rng.uniform(0.7, 1, size=len(a)))
    kept, similarity = kept_set(edges, n)
    assert not ((kept[edges.a] < 0) & (kept[edges.b] < 0)).any()
    removed = np.flatnonzero(kept >= 0)
    assert len(removed) > n / 2
    assert (kept[removed] < removed).all() and (kept[kept[removed]] < 0).all()
    known = {(x, y): s for x, y, s in zip(a, b, edges.similarity, strict=True)}
    assert all(similarity[d] == known[kept[d], d] for d in removed)


@pytest.mark.jit_off
@given(graphs)
@settings(max_examples=30 if SLOW else tries(50, 200), deadline=None)
def test_components_equal_their_reference_and_networkx(graph: Graph) -> None:
    n, pairs = graph
    labels = components(edges_of(weighted(pairs, 0)), n)
    assert labels.tolist() == reference.components(pairs, n)
    known = networkx.Graph(pairs)
    known.add_nodes_from(range(n))
    assert partition(labels) == {frozenset(group) for group in networkx.connected_components(known)}
    # The same of pairs in any order and of another type.
    some = np.array(pairs, np.int64).reshape(-1, 2)[::-1]
    assert np.array_equal(connected(some[:, 1].copy(), some[:, 0].copy(), n), labels)


@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_a_long_chain_takes_linear_time(order: str) -> None:
    """Without recursion, whatever the order of its edges."""
    length = 1000 if SLOW else 1_000_000
    edges = chain(length)
    rows = {
        "ascending": slice(None),
        "descending": slice(None, None, -1),
        "random": np.random.default_rng(0).permutation(length - 1),
    }[order]
    assert not connected(edges.a[rows].copy(), edges.b[rows].copy(), length).any()
    kept = kept_set(edges, length).duplicate_of
    assert (kept[::2] < 0).all() and np.array_equal(kept[1::2], np.arange(0, length, 2))


def test_mapped_edges_give_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    found = sorted({(int(a), int(a + d), 0.9) for a, d in rng.integers(1, 40, size=(300, 2))})
    edges = edges_of(found)
    files = mapped(edges, tmp_path)
    for ours, theirs in zip(kept_set(edges, 90), kept_set(files, 90), strict=True):
        assert np.array_equal(ours, theirs, equal_nan=True)
    assert np.array_equal(components(edges, 90), components(files, 90))


def test_wrong_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="documents 1 to 7; expected 0 to 2"):
        kept_set(Edges([0, 1], [1, 7], [1.0, 1.0]), 3)
    for a, b in (([0, 3], [1, 1]), ([0, -1], [1, 1])):
        with pytest.raises(ValueError, match="expected 0 to 2"):
            connected(np.array(a), np.array(b), 3)
    # Edges that are not sorted would be gone through in another order.
    with pytest.raises(ValueError, match="sorted"):
        kept_set(Edges([1, 0], [2, 1], [1.0, 1.0]), 3)


def test_labels_are_named_by_the_lowest_document() -> None:
    assert lowest(np.array([3, 1, 3, 1, 0])).tolist() == [0, 1, 0, 1, 4]
    assert lowest(np.zeros(0, np.int32)).tolist() == []
