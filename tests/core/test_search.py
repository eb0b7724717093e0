"""The exact search against its twin, and what is counted of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from neardup.core import search as search_module
from neardup.core.intervals import estimate, wilson
from neardup.core.search import Index, take
from neardup.core.shingle import Ragged
from neardup.core.tally import TALLY_BYTES, Missed, Seen, Tally, limits_of
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.kernels import reference
from neardup.kernels.clusters import find_all
from neardup.kernels.search import share_a_band, unite

# Stepped through without the JIT, kernels take a thousand times as long.
SLOW = bool(config.DISABLE_JIT)

some_sets = st.lists(
    st.lists(st.integers(1, 30), max_size=12, unique=True).map(
        lambda s: sorted(reference.mix(v) for v in s)
    ),
    max_size=8,
)


def packed(sets: list[list[int]]) -> Ragged:
    offsets = np.cumsum([0] + [len(s) for s in sets]).astype(np.int64)
    return Ragged(np.array([v for s in sets for v in s], dtype=np.uint64), offsets)


def searched(
    documents: list[list[int]], queries: list[list[int]], least: float
) -> list[tuple[int, int, float]]:
    index = Index(ShingleSets.of(packed(queries)))
    return [
        pair
        for some in index.search(packed(documents), least)
        for pair in zip(*(column.tolist() for column in some), strict=True)
    ]


@given(some_sets, some_sets, st.sampled_from([0.01, 0.1, 1 / 3, 0.5, 0.7, 1.0]))
@settings(max_examples=300, deadline=None)
def test_partners_equal_their_twin(
    documents: list[list[int]], queries: list[list[int]], least: float
) -> None:
    found = searched(documents, queries, least)
    assert sorted(found) == reference.partners(documents, queries, least)


@given(some_sets, some_sets)
@settings(max_examples=100, deadline=None)
def test_with_every_shingle_dense(documents: list[list[int]], queries: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "_DENSE_LEAST", 0)
        patch.setattr(search_module, "_DENSE_SHARE", 0.0)
        found = searched(documents, queries, 0.1)
    assert sorted(found) == reference.partners(documents, queries, 0.1)


def family(rng: np.random.Generator, size: int, common: np.ndarray, own: int) -> list[list[int]]:
    """Sets with a template in common, most of it."""
    return [
        sorted(
            {
                *common[rng.random(len(common)) < 0.9].tolist(),
                *rng.integers(1, 2**64, size=own, dtype=np.uint64).tolist(),
            }
        )
        for _ in range(size)
    ]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_template_that_overflows_bytes_and_blocks(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than 255 shingles that all queries have, more pairs than are given at once."""
    monkeypatch.setattr(search_module, "_PAIRS", 100)
    rng = np.random.default_rng(4)
    common = rng.integers(1, 2**64, size=600, dtype=np.uint64)
    queries = family(rng, 10 if SLOW else 70, common, 30)
    documents = [*family(rng, 6 if SLOW else 90, common, 300), [], *queries[:5]]
    index = Index(ShingleSets.of(packed(queries)))
    whole = packed(documents)

    def work(first: int, last: int) -> list[tuple[int, int, float]]:
        part = take(whole, np.arange(first, last))
        return [
            (first + doc, query, similarity)
            for some in index.search(part, 0.3)
            for doc, query, similarity in zip(*(c.tolist() for c in some), strict=True)
        ]

    with Pool(threads) as pool:
        found = [pair for part in pool.ranges(work, len(documents), step=10) for pair in part]
    expected = reference.partners(documents, queries, 0.3)
    assert len(expected) >= len(queries) * (len(documents) - 1)
    assert sorted(found) == expected


@given(
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=20),
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=20),
)
@settings(max_examples=100, deadline=None)
def test_unite_equals_its_twin(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    parent = np.arange(15, dtype=np.int32)
    for pairs in (one, two):
        ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        unite(parent, ends[:, 0].copy(), ends[:, 1].copy())
    find_all(parent, np.arange(15, dtype=np.int32), parent)
    assert parent.tolist() == reference.unite(range(15), [*one, *two])


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_share_a_band_equals_its_twin(data: st.DataObject) -> None:
    bands = data.draw(st.integers(1, 4))
    keys = st.lists(
        st.lists(st.integers(0, 3), min_size=bands, max_size=bands), min_size=1, max_size=5
    )
    one, two = data.draw(keys), data.draw(keys)
    pairs = [(a, b) for a in range(len(one)) for b in range(len(two))]
    a, b = np.array(pairs, dtype=np.int32).T.copy()
    out = np.zeros(len(pairs), dtype=np.bool_)
    share_a_band(np.array(one, dtype=np.uint64), np.array(two, dtype=np.uint64), a, b, out)
    assert out.tolist() == reference.share_a_band(one, two, pairs)


def test_wilson_is_what_the_formula_gives() -> None:
    # Brown, Cai, DasGupta 2001: the ends solve (p - share)^2 = z^2 p (1 - p) / n.
    for share, number in ((0.0, 10), (0.3, 7.5), (0.5, 40), (0.99, 1000), (1.0, 12)):
        low, high = wilson(share, number)
        assert 0 <= low <= share <= high <= 1
        for end in (low, high):
            if end not in (0.0, 1.0):
                away = (end - share) ** 2 - 1.959963984540054**2 * end * (1 - end) / number
                assert abs(away) < 1e-12
    assert wilson(0.0, 10)[0] == 0.0 and wilson(1.0, 10)[1] == 1.0
    assert wilson(0.7, 0) == (0.0, 1.0)
    assert wilson(0.7, math.inf) == (0.7, 0.7)


def test_estimates_count_documents_not_pairs() -> None:
    hits, of = np.array([1, 0, 98, 0]), np.array([1, 1, 98, 0])
    mean = estimate(hits, of, 0.0)
    assert (mean.share, mean.number) == (2 / 3, 3)
    assert (mean.low, mean.high) == wilson(2 / 3, 3)
    of_pairs = estimate(hits, of, 0.0, weighted=True)
    assert of_pairs.share == 0.99
    assert (of_pairs.low, of_pairs.high) == wilson(0.99, 100**2 / (98**2 + 2))
    assert of_pairs.low < 0.3  # one document has nearly all pairs, so that little is known
    whole = estimate(hits, of, 1.0)
    assert whole.low == whole.share == whole.high
    none = estimate(hits[3:], of[3:], 0.5)
    assert math.isnan(none.share) and (none.low, none.high, none.number) == (0.0, 1.0, 0)


@pytest.mark.parametrize("sampled", [0.05, 0.5])
def test_intervals_hold_the_truth_as_often_as_they_say(sampled: float) -> None:
    """Populations whose documents have one to twenty pairs, found and lost together mostly."""
    rng = np.random.default_rng(9)
    held = {False: 0, True: 0}
    rounds = 400
    for _ in range(rounds):
        size = 2000
        of = np.where(rng.random(size) < 0.4, rng.geometric(0.5, size).clip(max=20), 0)
        hits = rng.binomial(of, np.where(rng.random(size) < 0.1, 0.2, 0.97))
        chosen = rng.choice(size, int(sampled * size), replace=False)
        for weighted in held:
            truth = estimate(hits, of, 1.0, weighted).share
            seen = estimate(hits[chosen], of[chosen], sampled, weighted)
            held[weighted] += seen.low <= truth <= seen.high
    # Three standard errors below 95 %; above is allowed, since the bound on the variance is one.
    assert min(held.values()) / rounds > 0.95 - 3 * math.sqrt(0.05 * 0.95 / rounds), held


@pytest.mark.parametrize("edge", [0.04, 0.1, 0.5, 0.705, 0.72, 0.95, 0.995, 1.0])
def test_classes_lie_on_one_side_of_the_edge_threshold(edge: float) -> None:
    least = min(0.1, edge)
    limits = limits_of(edge, least)
    assert limits[0] == least and limits[-1] == 1 and edge in limits
    assert (np.diff(limits) >= 0.0049).all() or edge >= 0.99
    tally = Tally(1, limits, edge, 0.0)
    values = np.unique([*np.linspace(least, 1, 400), edge])
    nothing = np.zeros(len(values), dtype=np.bool_)
    rows = np.zeros(len(values), dtype=np.int32)
    tally.add(Seen(rows, values, values, nothing, values >= edge, nothing, ~nothing))
    assert tally.partners[0] == tally.found[0] == (values >= edge).sum() > 0
    classes = tally.classes(0.0)
    assert sum(c.pairs for c in classes) == len(values)
    # As many as the memory is counted for, at most.
    assert 24 * (len(limits) - 1) <= TALLY_BYTES
    for kind in classes:
        assert (kind.found.number == 1) == (kind.begin >= edge)
        within = (values >= kind.begin) & ((values < kind.end) | (kind.end == 1))
        if edge == 1 and kind.end == 1:
            within = values == 1 if kind.begin == 1 else within & (values < 1)
        assert kind.pairs == within.sum()
        assert kind.similarity == pytest.approx(values[within].mean(), abs=1e-7)
        assert kind.predicted == pytest.approx(values[within].mean(), abs=1e-7)


def test_tally_counts_as_a_loop_does() -> None:
    rng = np.random.default_rng(1)
    limits = limits_of(0.7, 0.1)
    tally = Tally(6, limits, 0.7, 0.4)
    everything = []
    for _ in range(5):
        n = 40
        part = Seen(
            rng.integers(0, 5, n).astype(np.int32),
            rng.uniform(0.1, 1, n),
            rng.random(n),
            *(rng.random(n) < 0.5 for _ in range(4)),
        )
        tally.add(part)
        everything += list(zip(*(c.tolist() for c in part), strict=True))
    for doc in range(6):
        mine = [row for row in everything if row[0] == doc]
        assert tally.partners[doc] == sum(row[1] >= 0.7 for row in mine)
        assert tally.found[doc] == sum(row[1] >= 0.7 and row[4] for row in mine)
    assert tally.near == sum(row[1] >= 0.4 and row[5] and row[6] for row in everything)
    assert tally.pairs == sum(row[1] >= 0.7 and row[6] for row in everything)
    chances = [row[2] for row in everything if row[1] >= 0.7]
    assert tally.expected() == pytest.approx(np.mean(chances), abs=1e-6)
    for kind in tally.classes(1.0):
        every = [row for row in everything if kind.begin <= row[1] < kind.end]
        rows = [row for row in every if row[6]]
        assert kind.pairs == len(rows)
        docs = sorted({row[0] for row in rows})
        met = [np.mean([row[3] for row in rows if row[0] == doc]) for doc in docs]
        assert kind.met.share == pytest.approx(np.mean(met)) and kind.met.number == len(docs)
        assert (kind.met.low, kind.met.high) == wilson(kind.met.share, len(docs))
        if kind.begin >= 0.7:
            docs = sorted({row[0] for row in every})
            found = [np.mean([row[4] for row in every if row[0] == doc]) for doc in docs]
            assert kind.found.low == kind.found.share == pytest.approx(np.mean(found))


def test_the_most_similar_of_the_missed_pairs_are_held() -> None:
    everything = [(5, 3, 0.8), (3, 7, 0.9), (9, 1, 0.7), (9, 5, 0.95)]
    for order in (everything, everything[::-1]):
        missed = Missed(3)
        for pair in order:
            a, b, similarity = (np.array([x]) for x in pair)
            missed.add(a, b, similarity, similarity > 0.85)
        assert (missed.total, missed.unmet) == (4, 2)
        held = [column.tolist() for column in missed.pairs()]
        assert held == [[5, 3, 3], [9, 7, 5], [0.95, 0.9, 0.8], [True, True, False]]
