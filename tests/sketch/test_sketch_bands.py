"""How many bands of how many rows: recall first, then the lowest cost."""

from __future__ import annotations

import math

import numpy as np
import pytest

import neardup
from neardup import candidate_probability, choose_bands
from neardup.errors import SpecError
from neardup.sketch import bands as module
from neardup.sketch.bands import (
    SAMPLE,
    Bands,
    Sample,
    band_cost,
    bands_for_recall,
    rounded_documents,
    sample_pairs,
    similarity_at,
    steepest,
)
from neardup.spec import ShingleSpec

CURVES = [(1, 1), (1, 4), (2, 1), (7, 1), (17, 4), (42, 3), (64, 2), (5, 24), (400, 12)]
CLASSES = 50


def sample_of(copies: dict[float, float], families: dict[float, float]) -> Sample:
    """A sample of 512 documents with these pairs by similarity, and the others without any."""
    families = {0.0: 512 * 511 / 2 - sum(copies.values()) - sum(families.values()), **families}

    def classes(pairs: dict[float, float]) -> np.ndarray:
        counts = np.zeros(CLASSES)
        for similarity, number in pairs.items():
            counts[min(CLASSES - 1, int(similarity * CLASSES))] += number
        return counts

    return Sample(512, 300.0, classes(copies), classes(families))


SAMPLES = {
    "none": None,
    "nothing": sample_of({}, {}),
    "copies": sample_of({0.8: 100, 0.5: 30}, {}),
    "family": sample_of({}, {0.4: 20_000}),
    "astride": sample_of({0.9: 9}, {0.65: 5000, 0.75: 5000}),
}


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
@pytest.mark.parametrize("sample", SAMPLES)
def test_the_choice_always_reaches_the_recall(threshold: float, recall: float, sample: str) -> None:
    for documents in (1, 1_000_000, 10**9):
        try:
            choice = choose_bands(threshold, recall, documents, SAMPLES[sample])
        except SpecError:
            assert bands_for_recall(threshold, recall, 1) > 1024
            continue
        found = candidate_probability(threshold, choice.num_bands, choice.rows)
        assert found == choice.recall >= recall
        if choice.num_bands > 1:
            assert candidate_probability(threshold, choice.num_bands - 1, choice.rows) < recall
        assert choice.num_bands * choice.rows <= 1024


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("documents", [10**6, 10**8])
def test_the_choice_is_the_cheapest_of_all(sample: str, documents: int) -> None:
    """By trying every number of rows."""
    threshold, recall = 0.7, 0.99
    choice = choose_bands(threshold, recall, documents, SAMPLES[sample])
    cheapest = min(
        band_cost(Bands(b, r, 0.0), threshold, documents, SAMPLES[sample])
        for r in range(1, 30)
        if (b := bands_for_recall(threshold, recall, r)) * r <= 1024
    )
    assert band_cost(choice, threshold, documents, SAMPLES[sample]) == cheapest


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
    # Pairs of families grow with the square of the corpus, those of copies don't.
    quiet = choose_bands(0.7, 0.99, 10**4, SAMPLES["nothing"])
    family = choose_bands(0.7, 0.99, 10**4, sample_of({}, {0.4: 20_000}))
    copies = choose_bands(0.7, 0.99, 10**4, sample_of({0.4: 20_000}, {}))
    assert copies.rows == quiet.rows < family.rows


@pytest.mark.parametrize(
    ("threshold", "recall"), [(0.0, 0.9), (1.1, 0.9), (0.7, 0.0), (0.7, 1.0), (math.nan, 0.5)]
)
def test_what_is_out_of_range_is_refused(threshold: float, recall: float) -> None:
    with pytest.raises(SpecError, match=r"expected a number in \(0, 1"):
        choose_bands(threshold, recall)


def test_an_impossible_recall_is_refused() -> None:
    with pytest.raises(SpecError, match="more than 1024 hashes"):
        choose_bands(0.001, 0.9999)


def test_numbers_of_documents_are_rounded_up() -> None:
    """An estimate that is slightly off gives the same bands."""
    for documents, rounded in {
        1: 10**6,
        10**6: 10**6,
        10**6 + 1: 2 * 10**6,
        2_000_001: 5 * 10**6,
        5_000_001: 10**7,
        10**9: 10**9,
        10**9 + 1: 2 * 10**9,
    }.items():
        assert rounded_documents(documents) == rounded


def test_a_sample_tells_copies_from_families() -> None:
    rng = np.random.default_rng(1)

    def text(words: list[str]) -> str:
        return " ".join(words)

    strangers = [text([f"s{i}w{j}" for j in range(60)]) for i in range(100)]
    twice = strangers[:20]
    template = [f"t{j}" for j in range(50)]
    family = [text([*template, *(f"f{i}x{j}" for j in range(10))]) for i in range(40)]
    some = [*strangers, *twice, *family]
    order = rng.permutation(len(some))
    sample = sample_pairs([some[i] for i in order], ShingleSpec(n=2))
    assert sample.documents == 160
    assert sample.copies.sum() == sample.copies[-1] == 20
    pairs = 40 * 39 / 2
    centres = (np.arange(CLASSES) + 0.5) / CLASSES
    # The others have nothing in common, or as much as 128 entries say by chance.
    near = sample.families[centres > 0.3]
    assert near.sum() == pytest.approx(pairs, rel=0.02)
    exact = 49 / (49 + 2 * 10)
    assert (near * centres[centres > 0.3]).sum() / near.sum() == pytest.approx(exact, abs=0.03)


def test_a_sample_is_of_the_first_documents_and_of_limited_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    signatures = neardup.signatures
    monkeypatch.setattr(
        module,
        "signatures",
        lambda text, *a, **k: seen.append(len(text)) or signatures(text, *a, **k),
    )
    short = [f"text number {i} of very many" for i in range(2 * SAMPLE)]
    assert sample_pairs(short, ShingleSpec()).documents == SAMPLE
    long = ["word " * 100_000] * 9
    sample_pairs(long, ShingleSpec())
    sample_pairs([None, "", "x" * 3_000_000, "y"], ShingleSpec())
    assert seen == [SAMPLE, 2, 2]
    assert sample_pairs([None, "", "  "], ShingleSpec()).documents == 0
    assert choose_bands(0.7, 0.99, 10**6, sample_pairs(["", None], ShingleSpec())).rows >= 1
