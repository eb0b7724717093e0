"""How many bands of how many rows: recall first, then the lowest cost."""

from __future__ import annotations

import math

import numpy as np
import pytest

import neardup
from neardup import candidate_probability, choose_bands
from neardup.errors import SpecError
from neardup.sketch.bands import (
    COMMON,
    COMMON_SHORT,
    Bands,
    advice_on_bands,
    band_cost,
    bands_for_recall,
    recipe_for,
    similarity_at,
    steepest,
)
from neardup.spec import PRESETS, Spec, preset

CURVES = [(1, 1), (1, 4), (2, 1), (7, 1), (17, 4), (42, 3), (64, 2), (5, 24), (400, 12)]
#: Mean similarities of unrelated documents.
COMMONS = (COMMON, COMMON_SHORT, 0.2)


@pytest.mark.parametrize(("num_bands", "rows"), CURVES)
def test_candidate_probability(num_bands: int, rows: int) -> None:
    grid = np.linspace(0, 1, 101)
    found = candidate_probability(grid, num_bands, rows)
    assert isinstance(found, np.ndarray)
    for similarity, probability in zip(grid.tolist(), found.tolist(), strict=True):
        assert probability == pytest.approx(1 - (1 - similarity**rows) ** num_bands, abs=1e-12)
        one = candidate_probability(similarity, num_bands, rows)
        assert isinstance(one, float)
        assert one == probability
    # Where the plain formula has lost all digits.
    assert candidate_probability(1e-9, 3, 2) == pytest.approx(3e-18, rel=1e-9)


@pytest.mark.parametrize(("num_bands", "rows"), CURVES)
def test_similarity_at_is_the_inverse(num_bands: int, rows: int) -> None:
    for probability in (1e-9, 0.001, 0.1, 0.5, 0.99, 0.999999):
        similarity = similarity_at(probability, num_bands, rows)
        assert 0 < similarity <= 1
        assert 1 - (1 - similarity**rows) ** num_bands == pytest.approx(probability, rel=1e-6)
    assert similarity_at(1, num_bands, rows) == 1


@pytest.mark.parametrize(("num_bands", "rows"), CURVES)
def test_steepest_is_where_the_slope_is_greatest(num_bands: int, rows: int) -> None:
    s = np.linspace(0, 1, 200_001)
    slope = num_bands * rows * s ** (rows - 1) * (1 - s**rows) ** (num_bands - 1)
    assert steepest(num_bands, rows) == pytest.approx(s[slope.argmax()], abs=1e-5)


@pytest.mark.parametrize("threshold", [0.2, 0.3, 0.5, 0.7, 0.75, 0.8, 0.9, 0.95, 1.0])
@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("common", COMMONS)
def test_the_choice_always_reaches_the_recall(
    threshold: float, recall: float, common: float
) -> None:
    for documents in (1, 1_000_000, 10**9):
        try:
            choice = choose_bands(threshold, recall, documents, common)
        except SpecError:
            assert bands_for_recall(threshold, recall, 1) > 1024
            continue
        found = candidate_probability(threshold, choice.num_bands, choice.rows)
        assert found == choice.recall >= recall
        if choice.num_bands > 1:
            assert candidate_probability(threshold, choice.num_bands - 1, choice.rows) < recall
        assert choice.num_bands * choice.rows <= 1024


@pytest.mark.parametrize("common", COMMONS)
@pytest.mark.parametrize("documents", [10**6, 10**8])
def test_the_choice_is_the_cheapest_of_all(common: float, documents: int) -> None:
    """By trying every number of rows."""
    threshold, recall = 0.7, 0.99
    choice = choose_bands(threshold, recall, documents, common)
    cheapest = min(
        band_cost(Bands(b, r, 0.0), threshold, documents, common)
        for r in range(1, 30)
        if (b := bands_for_recall(threshold, recall, r)) * r <= 1024
    )
    assert band_cost(choice, threshold, documents, common) == cheapest


def test_bands_for_recall_is_the_smallest_number() -> None:
    for threshold in (0.1, 0.5, 0.7, 0.95):
        for recall in (0.5, 0.9, 0.99, 1 - 1e-6):
            for rows in (1, 2, 5, 9):
                found = bands_for_recall(threshold, recall, rows)
                assert candidate_probability(threshold, found, rows) >= recall
                if 1 < found < 10**6:  # above that, rounding hides what one more changes
                    assert candidate_probability(threshold, found - 1, rows) < recall
    assert bands_for_recall(1.0, 0.99, 7) == 1


def test_the_rule_of_areas_is_not_used() -> None:
    """Elsewhere 128 hashes at 0.8 give 9 bands of 13 rows, which find 40 % of the pairs at 0.8."""
    assert candidate_probability(0.8, 9, 13) == pytest.approx(0.40, abs=0.01)
    assert choose_bands(0.8, 0.99).recall >= 0.99


def test_more_documents_or_pairs_below_the_threshold_ask_for_more_rows() -> None:
    """The cost of false candidates grows with the square of the corpus."""
    rows = [choose_bands(0.7, 0.99, 10**power).rows for power in (4, 6, 8, 10)]
    assert rows == sorted(rows) and rows[0] < rows[-1]
    long, short = (choose_bands(0.7, 0.99, 10**6, common) for common in (COMMON, COMMON_SHORT))
    assert long.rows < short.rows


@pytest.mark.parametrize(
    ("threshold", "recall"), [(0.0, 0.9), (1.1, 0.9), (0.7, 0.0), (0.7, 1.0), (math.nan, 0.5)]
)
def test_what_is_out_of_range_is_refused(threshold: float, recall: float) -> None:
    with pytest.raises(SpecError, match=r"expected a number in \(0, 1"):
        choose_bands(threshold, recall)


def test_an_impossible_recall_is_refused() -> None:
    with pytest.raises(SpecError, match="more than 1024 hashes"):
        choose_bands(0.001, 0.9999)


def test_the_bands_do_not_depend_on_the_input(kernels: None) -> None:
    """A family at the head of the input, a large corpus or another order chooses no others."""
    rng = np.random.default_rng(2)
    template = " ".join(f"t{i}" for i in range(8))
    family = [f"{template} {' '.join(f'x{v}' for v in rng.integers(0, 9, 3))}" for _ in range(512)]
    strangers = [" ".join(f"w{v}" for v in rng.integers(0, 10**6, 12)) for _ in range(1488)]
    found = [
        neardup.dedup(texts, shingle="word:2", **settings).recipe
        for texts in (family + strangers, strangers + family, strangers[:1])
        for settings in ({}, {"keep": "longest"})
    ]
    index = neardup.Index.create(shingle="word:2")
    assert {*found, index.recipe} == {recipe_for(Spec().replace(n=2))}


@pytest.mark.parametrize("name", PRESETS)
def test_the_choice_of_each_preset_is_pinned(name: str) -> None:
    """What it chooses is what two corpora, and two engines, can be compared by."""
    chosen = recipe_for(preset(name))
    pinned = {"web": (17, 4), "clinical": (13, 4), "records": (72, 4)}
    assert (chosen.num_bands, chosen.rows) == pinned[name]


def test_very_many_documents_are_advised_to_say_so() -> None:
    assert "bands are chosen for 5,000,000" in advice_on_bands(Spec(), 200_000_000)
    assert not advice_on_bands(Spec(), 100_000_000)
    for spec in (Spec(documents=10), Spec(num_bands=3, rows=3), Spec(method="allpairs")):
        assert not advice_on_bands(spec, 10**9)
