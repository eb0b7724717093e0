"""The exact search equals comparing all pairs; intervals hold what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference_searching as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from common import Tune, tries
from neardup.kernels.bits import splitmix
from neardup.match.exact_search import ExactSearch, taken
from neardup.match.verifying import make_sets
from neardup.sketch.texts import Ragged
from neardup.threads import Pool
from neardup.tuning import TUNING
from neardup.values.intervals import estimate, wilson

# Stepped through without the JIT, kernels take a thousand times as long.
SLOW = bool(config.DISABLE_JIT)


def mixed(value: int) -> int:
    """An evenly distributed hash."""
    return int(splitmix(np.uint64(7), np.uint64(value)))


some_sets = st.lists(
    st.lists(st.integers(1, 30), max_size=12, unique=True).map(
        lambda s: sorted(mixed(v) for v in s)
    ),
    max_size=8,
)


def packed(sets: list[list[int]]) -> Ragged:
    offsets = np.cumsum([0] + [len(s) for s in sets]).astype(np.int64)
    return Ragged(np.array([v for s in sets for v in s], dtype=np.uint64), offsets)


def searched(
    documents: list[list[int]], queries: list[list[int]], minimum: float, contained: bool = False
) -> list[tuple[int, int, float]]:
    search = ExactSearch(make_sets(packed(queries)))
    return [
        pair
        for some in search(packed(documents), minimum, contained)
        for pair in zip(*(column.tolist() for column in some), strict=True)
    ]


@pytest.mark.jit_off
@given(some_sets, some_sets, st.sampled_from([0.01, 0.1, 1 / 3, 0.5, 0.7, 1.0]), st.booleans())
@settings(max_examples=20 if SLOW else tries(75, 300), deadline=None)
def test_search_equals_its_reference(
    documents: list[list[int]], queries: list[list[int]], minimum: float, contained: bool
) -> None:
    found = searched(documents, queries, minimum, contained)
    assert sorted(found) == reference.overlaps(documents, queries, minimum, contained)


@pytest.mark.jit_off
@given(some_sets, some_sets, st.booleans())
@settings(max_examples=20 if SLOW else tries(75, 300), deadline=None)
def test_with_every_shingle_dense(
    documents: list[list[int]], queries: list[list[int]], contained: bool
) -> None:
    with TUNING.replaced(dense_queries=0, dense_share=0):
        found = searched(documents, queries, 0.1, contained)
    assert sorted(found) == reference.overlaps(documents, queries, 0.1, contained)


def family(rng: np.random.Generator, size: int, common: int, own: int) -> list[list[int]]:
    """Sets with a template in common, of which each has some."""
    template = rng.integers(1, 2**63, common, dtype=np.uint64)
    return [
        sorted(
            {*rng.permutation(template)[: common - k % 7].tolist(), *rng.integers(1, 2**63, own)}
        )
        for k in range(size)
    ]


@pytest.mark.skipif(SLOW, reason="too many for plain Python")
def test_a_template_of_more_shingles_than_a_byte_holds() -> None:
    rng = np.random.default_rng(1)
    documents = [[int(v) for v in s] for s in family(rng, 120, 700, 40)]
    queries = documents[:40]
    found = searched(documents, queries, 0.3)
    assert sorted(found) == reference.overlaps(documents, queries, 0.3) and len(found) == 4800


def test_many_threads_and_little_room(tune: Tune) -> None:
    """Each thread has its own counters; all pairs of a document are reported at once."""
    tune(reported_pairs=1)
    rng = np.random.default_rng(2)
    count = 12 if SLOW else 80
    documents = [[int(v) for v in s] for s in family(rng, count, 50, 30)]
    search = ExactSearch(make_sets(packed(documents)))
    expected = reference.overlaps(documents, documents, 0.2)

    def part(low: int, high: int) -> list[tuple[int, int, float]]:
        found = []
        for some in search(packed(documents[low:high]), 0.2):
            assert len(set(some.doc.tolist())) == 1
            found += zip(
                (some.doc + low).tolist(),
                some.query.tolist(),
                some.similarity.tolist(),
                strict=True,
            )
        return found

    with Pool(3) as pool:
        parts = pool.ranges(part, count, step=7)
    assert sorted(pair for some in parts for pair in some) == expected


def test_sets_are_taken_in_any_order() -> None:
    sets = [[1, 2], [], [3], [4, 5, 6]]
    for source in (packed(sets), make_sets(packed(sets))):
        some = taken(source, np.array([3, 1, 0, 3]))
        assert some.values.tolist() == [4, 5, 6, 1, 2, 4, 5, 6]
        assert some.offsets.tolist() == [0, 3, 3, 5, 8]


def test_wilson_by_its_definition() -> None:
    """Its ends solve (p - share)^2 = z^2 p (1 - p) / n."""
    for share, number in ((0.3, 10), (0.99, 200), (0.5, 3.7)):
        for end in wilson(share, number):
            z = 1.959963984540054
            assert (end - share) ** 2 == pytest.approx(z * z * end * (1 - end) / number)
    assert wilson(0.4, 0) == (0, 1) and wilson(0.4, math.inf) == (0.4, 0.4)
    assert wilson(0.0, 50)[0] == 0 and wilson(1.0, 50)[1] == 1


def test_intervals_of_a_sample_hold_the_share_of_the_whole() -> None:
    """2,000 draws of 60 of 400 documents; three standard errors below 95 %."""
    rng = np.random.default_rng(3)
    of = rng.geometric(0.4, 400) - 1
    hits = rng.binomial(of, rng.beta(4, 1, 400))
    rounds, sampled = 2000, 60 / 400
    for weighted in (False, True):
        filled = of > 0
        truth = hits.sum() / of.sum() if weighted else (hits[filled] / of[filled]).mean()
        held = 0
        for _ in range(rounds):
            chosen = rng.choice(400, 60, replace=False)
            seen = estimate(hits[chosen], of[chosen], sampled, weighted)
            held += seen.low <= truth <= seen.high
        assert held / rounds > 0.95 - 3 * math.sqrt(0.05 * 0.95 / rounds)
    whole = estimate(hits, of, 1.0, True)
    assert whole.low == whole.share == whole.high == hits.sum() / of.sum()
    assert math.isnan(estimate(hits[:0], of[:0], 0.0).share)
