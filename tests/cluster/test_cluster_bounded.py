"""Bounded clusters: references, the guarantee, and what they must not depend on."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import reference_unions as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from made_edges import (
    EDGE,
    SLOW,
    TREE,
    Found,
    Sets,
    chain,
    contents,
    edges_of,
    edited_texts,
    families,
    lowest_within,
    mapped,
    packed,
    partition,
    sets_of_few,
)

from common import Tune, tries
from experiments.published import bounded_in_given_order
from neardup.cluster.bounded import Bound, Bounded, bounded
from neardup.cluster.descending import descending
from neardup.cluster.edges import Edges
from neardup.cluster.methods import components
from neardup.kernels.jaccard import Sets as PackedSets
from neardup.threads import Pool


def clustered(
    sets: Sets, found: Found, content: np.ndarray, tree_threshold: float = TREE, threads: int = 1
) -> Bounded:
    with Pool(threads) as pool:
        return bounded(
            edges_of(found), len(sets), Bound(content, packed(sets), tree_threshold, pool)
        )


@pytest.mark.jit_off
@given(sets_of_few, st.sampled_from([0.3, 0.5, 0.8]), st.sampled_from([0.0, 0.2, 0.3]))
@settings(max_examples=30 if SLOW else tries(50, 200), deadline=None)
def test_bounded_equals_its_reference_on_small_sets(sets: Sets, edge: float, tree: float) -> None:
    found = reference.join(sets, edge)
    content = contents(len(sets))
    got = clustered(sets, found, content, tree)
    known = reference.bounded(sets, found, content.tolist(), tree)
    assert got.labels.tolist() == known.labels()
    assert (got.unions, got.refused) == (known.unions, known.refused)
    assert lowest_within(sets, got.labels) >= tree


@pytest.mark.jit_off
@pytest.mark.parametrize("spread", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("batch", [50, 1 << 21])
def test_bounded_equals_its_reference(tune: Tune, spread: float, batch: int) -> None:
    """In batches of any size, with any number of threads, whatever is remembered as refused."""
    tune(edges=batch)
    refused = 0
    for seed in range(1 if SLOW else tries(2, 4)):
        sets = families(seed, 30 if SLOW else 120, spread, size=20)
        found = reference.join(sets, EDGE)
        content = contents(len(sets), seed)
        known = reference.bounded(sets, found, content.tolist(), TREE)
        loose = reference.bounded(sets, found, content.tolist(), 0.1)
        for threads, remembered in ((1, 1 << 18), (3, 1)):
            tune(refused_roots=remembered)
            for tree, expected in ((TREE, known), (0.1, loose)):
                got = clustered(sets, found, content, tree, threads)
                assert got.labels.tolist() == expected.labels()
                assert (got.unions, got.refused) == (expected.unions, expected.refused)
                assert lowest_within(sets, got.labels) >= tree
        refused += known.refused
    assert SLOW or spread < 0.4 or refused > 0


@pytest.mark.long
@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("spread", [0.2, 0.4, 0.6])
def test_neither_the_order_of_documents_nor_that_of_edges_matters(
    spread: float, distinct: bool
) -> None:
    """Also with equal sets, of distinct contents or not, and with many equal similarities."""
    for seed in range(1 if SLOW else tries(2, 5)):
        sets = families(seed, 30 if SLOW else 150, spread, size=16)
        sets += sets[:10] + sets[:5]
        content = contents(len(sets), seed)
        if not distinct:
            content = content[[sets.index(values) for values in sets]]
        results = []
        for order in range(4):
            names = np.random.default_rng(order).permutation(len(sets))
            mine = [sets[i] for i in names]
            found = reference.join(mine, EDGE)
            random.Random(order).shuffle(found)
            got = clustered(mine, found, content[names])
            results.append((partition(got.labels, names), got.unions, got.refused))
            assert all(min(group) == got.labels[min(group)] for group in partition(got.labels))
        assert all(result == results[0] for result in results)


def test_a_component_does_not_depend_on_the_others() -> None:
    one, other = families(1, 30 if SLOW else 90, 0.5), families(2, 30 if SLOW else 90, 0.5)
    content = contents(len(one) + len(other))
    alone = clustered(one, reference.join(one, EDGE), content[: len(one)])
    both = clustered(one + other, reference.join(one + other, EDGE), content)
    assert partition(alone.labels) == partition(both.labels[: len(one)])


@pytest.mark.parametrize("kind", ["texts", "chain"])
def test_the_bound_holds_where_components_break_it(kind: str) -> None:
    """Any two documents of a cluster reach 0.4, as the preset for clinical notes asks for."""
    count = 40 if SLOW else 150
    if kind == "texts":
        sets = edited_texts(1, count, 0.15)
    else:  # each has 40 shingles of a long text, 4 further on than the one before
        sets = [list(range(i * 4, i * 4 + 40)) for i in range(count)]
    found = reference.join(sets, 0.6)
    got = clustered(sets, found, contents(count), 0.4)
    assert lowest_within(sets, got.labels) >= 0.4
    assert SLOW or lowest_within(sets, components(edges_of(found), count)) < 0.4
    assert 1 < np.bincount(got.labels).max() < count
    assert len(partition(got.labels)) < 0.7 * count
    assert got.refused > 0


@pytest.mark.parametrize("batch", [3, 40, 10_000])
def test_edges_come_in_descending_order(batch: int, tune: Tune) -> None:
    """In batches of any size; with a few similarities, they are cut by hashes."""
    tune(edges=batch)
    rng = np.random.default_rng(batch)
    pairs = sorted({tuple(sorted(p)) for p in rng.integers(0, 60, size=(500, 2)).tolist()})
    values = rng.choice([0.6, 0.6 + 1e-12, 0.75, 1.0, 1e-9], size=len(pairs))
    content = contents(60)
    content[30:40] = content[30]  # documents of equal contents
    found = [(a, b, s) for (a, b), s in zip(pairs, values.tolist(), strict=True) if a < b]
    expected = reference.descending(found, content.tolist())
    for together in (set(), set(range(10))):
        parent = np.arange(60, dtype=np.int32)
        parent[list(together)] = min(together, default=0)
        with Pool(2) as pool:
            parts = list(descending(edges_of(found), content, parent, pool))
        got = [e for part in parts for e in zip(*(c.tolist() for c in part), strict=True)]
        assert got == [e for e in expected if not (e[0] in together and e[1] in together)]
        # 45 pairs of ten documents of equal contents can't be told apart.
        assert all(len(part[0]) <= max(batch, 45) for part in parts)


def test_mapped_edges_give_the_same(tmp_path: Path) -> None:
    sets = families(3, 30 if SLOW else 120, 0.5)
    edges, content = edges_of(reference.join(sets, EDGE)), contents(len(sets))
    files = mapped(edges, tmp_path)
    with Pool(2) as pool:
        ours, theirs = (
            bounded(some, len(sets), Bound(content, packed(sets), TREE, pool))
            for some in (edges, files)
        )
    assert np.array_equal(ours.labels, theirs.labels)


@pytest.mark.long
def test_a_long_chain_takes_linear_time() -> None:
    length = 1000 if SLOW else 1_000_000
    values = (np.arange(length, dtype=np.uint64)[:, None] + np.arange(3, dtype=np.uint64)).ravel()
    sets = PackedSets(
        values,
        np.arange(length) * 3,
        np.full(length, 3, np.int32),
        np.zeros((length, 1), np.uint64),
    )
    edges = chain(length, 0.5)
    with Pool(1) as pool:
        got = bounded(edges, length, Bound(contents(length), sets, 0.2, pool))
    # Neighbours have two of their three shingles in common, the next but one has only one.
    assert np.bincount(got.labels).max() == 2
    assert got.unions + got.refused == length - 1


def test_of_nothing_nothing_is_made() -> None:
    sets: Sets = [[1, 2], [], [3]]
    got = clustered(sets, [], contents(3))
    assert (got.labels.tolist(), got.unions, got.refused) == ([0, 1, 2], 0, 0)
    none = np.zeros(0, np.int32)
    given_order = bounded_in_given_order(packed(sets), none, none, EDGE, TREE)
    assert (given_order.labels.tolist(), given_order.compared, given_order.saved) == (
        [0, 1, 2],
        0,
        0,
    )
    assert len(given_order.edges) == 0


@pytest.mark.jit_off
@given(sets_of_few, st.sampled_from([0.3, 0.5, 0.7]), st.sampled_from([0.0, 0.2, 0.3]), st.data())
@settings(max_examples=30 if SLOW else tries(37, 150), deadline=None)
def test_the_published_order_equals_its_reference(
    sets: Sets, edge: float, tree: float, data: st.DataObject
) -> None:
    docs = st.integers(0, len(sets) - 1)
    drawn = data.draw(st.lists(st.tuples(docs, docs).filter(lambda p: p[0] != p[1]), max_size=40))
    a, b = (np.array([pair[i] for pair in drawn], np.int32) for i in (0, 1))
    got = bounded_in_given_order(packed(sets), a, b, edge, tree)
    known, edges, saved = reference.bounded_in_given_order(sets, drawn, edge, tree)
    assert got.labels.tolist() == known.labels()
    assert (got.unions, got.refused) == (known.unions, known.refused)
    assert (got.compared, got.saved) == (len(drawn) - saved, saved)
    found = zip(got.edges.a.tolist(), got.edges.b.tolist(), got.edges.similarity, strict=True)
    assert list(found) == sorted(set(edges))


@pytest.mark.parametrize("spread", [0.1, 0.5, 0.9])
def test_the_published_order_saves_comparisons_and_keeps_the_bound(spread: float) -> None:
    sets = families(2, 40 if SLOW else 150, spread)
    pairs = [p for p in combinations(range(len(sets)), 2) if sets[p[0]] and sets[p[1]]]
    random.Random(1).shuffle(pairs)
    a, b = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    got = bounded_in_given_order(packed(sets), a, b, EDGE, TREE)
    known, edges, saved = reference.bounded_in_given_order(sets, pairs, EDGE, TREE)
    assert (got.labels.tolist(), got.saved, len(got.edges)) == (known.labels(), saved, len(edges))
    assert spread > 0.5 or got.saved > 0
    assert lowest_within(sets, got.labels) >= TREE


@pytest.mark.jit_off
@pytest.mark.parametrize("tree", [0.55, 0.6, 0.61])
def test_roots_of_equal_sets_unite_exactly_up_to_the_bound(tree: float) -> None:
    """The bound is 0.8 + 0.8 + 1 - 2."""
    sets: Sets = [list(range(18)), list(range(2, 20))] * 2
    pairs = [(0, 1), (2, 3), (1, 3)]
    a, b = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    got = bounded_in_given_order(packed(sets), a, b, 0.7, tree)
    known = reference.bounded_in_given_order(sets, pairs, 0.7, tree)[0]
    assert got.labels.tolist() == known.labels()
    assert got.labels.max() == (0 if tree <= 0.6 else 2)


@pytest.mark.jit_off
def test_what_is_remembered_as_refused_does_not_refuse_others(
    tune: Tune,
) -> None:
    tune(refused_roots=1)
    apart: Sets = [list(range(first, first + 18)) for first in (100, 102, 101, 103)]
    equal: Sets = [list(range(18)), list(range(2, 20))] * 2
    pairs = [(0, 1), (2, 3), (1, 3), (4, 5), (6, 7), (5, 7), (1, 2)]
    a, b = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    got = bounded_in_given_order(packed(apart + equal), a, b, 0.7, 0.55)
    assert got.labels.tolist() == [0, 0, 2, 2, 4, 4, 4, 4]
    # The second edge between the first two clusters needs no comparison of their roots.
    assert (got.refused, got.root_comparisons) == (2, 2)


def test_wrong_documents_are_refused() -> None:
    sets = packed([[1], [1]])
    with pytest.raises(ValueError, match="documents 1 to 2; expected 0 to 1"):
        bounded_in_given_order(sets, np.array([0, 1]), np.array([1, 2]), EDGE, TREE)
    with Pool(1) as pool, pytest.raises(ValueError, match="sorted and distinct"):
        bounded(Edges([0, 0], [1, 1], [1.0, 1.0]), 2, Bound(contents(2), sets, TREE, pool))
