"""What signatures estimate, what bands find, and what the tuner chooses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neardup.core.band import band_keys
from neardup.core.shingle import Ragged
from neardup.core.sign import Signer
from neardup.core.tune import bands_for_recall, candidate_probability, choose_bands, expected_pairs
from neardup.errors import SpecError

SEED = 20170401


def pairs_of_sets(rng: np.random.Generator, size: int, common: int, pairs: int) -> Ragged:
    """Pairs of sets of ``size`` random values each that share ``common`` of them."""
    rows = []
    for _ in range(pairs):
        values = rng.integers(0, 2**64, size=2 * size - common, dtype=np.uint64)
        rows += [values[:size], values[size - common :]]
    offsets = np.arange(2 * pairs + 1, dtype=np.int64) * size
    return Ragged(np.concatenate(rows), offsets)


@pytest.mark.parametrize("scheme", ["affine32/1", "oph32/1"])
@pytest.mark.parametrize(
    ("size", "pairs"),
    [(5, 4000), (20, 3000), (100, 1500), (1000, 400), (10_000, 60), (100_000, 12)],
)
@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
def test_estimates_are_unbiased_and_as_sharp_as_promised(
    scheme: str, size: int, pairs: int, share: float
) -> None:
    """n pairs with seed 20170401, k = 128 hashes; J from 1/9 to 9/11.

    The mean of n estimates has standard error at most s = sqrt(J (1 - J) / k / n): it must lie
    within 4.5 s of J (a false alarm once in 10**5 for each of 36 cases). The variance of one is at
    most J (1 - J) / k; the sample variance of n normal values exceeds v by a factor of
    1 + 4.5 sqrt(2 / (n - 1)) as rarely.
    """
    k = 128
    common = max(1, round(size * share))
    expected = common / (2 * size - common)
    rng = np.random.default_rng([SEED, size, common])
    # Several seeds, so that the functions are as random as the sets.
    estimates = []
    for seed in range(4):
        sets = pairs_of_sets(rng, size, common, pairs // 4)
        signatures = Signer(k, scheme, seed)(sets)
        estimates.append((signatures[0::2] == signatures[1::2]).mean(axis=1))
    values = np.concatenate(estimates)
    n = len(values)
    variance = expected * (1 - expected) / k
    assert abs(values.mean() - expected) <= 4.5 * math.sqrt(variance / n), (values.mean(), expected)
    assert values.var(ddof=1) <= variance * (1 + 4.5 * math.sqrt(2 / (n - 1)))


@pytest.mark.parametrize("scheme", ["affine32/1", "oph32/1"])
@pytest.mark.parametrize("size", [10, 200])
def test_bands_find_what_the_formula_says(scheme: str, size: int) -> None:
    """n = 4,000 pairs; the share found has standard error sqrt(p (1 - p) / n), within 4.5 of it.

    Functions are shared by 1,000 pairs each, of other sets, which leaves pairs independent.
    """
    num_bands, rows = 17, 4
    common = round(size * 0.7)
    exact = common / (2 * size - common)
    rng = np.random.default_rng([SEED, size])
    found = []
    for seed in range(4):
        signatures = Signer(num_bands * rows, scheme, seed)(pairs_of_sets(rng, size, common, 1000))
        keys = band_keys(signatures, num_bands, rows)
        found.append((keys[:, 0::2] == keys[:, 1::2]).any(axis=0))
    share = np.concatenate(found).mean()
    p = candidate_probability(exact, num_bands, rows)
    assert abs(share - p) <= 4.5 * math.sqrt(p * (1 - p) / 4000), (share, p)


def test_signatures_do_not_depend_on_order_or_repetition() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**64, size=50, dtype=np.uint64)
    twice = np.concatenate([values[::-1], values])
    for scheme in ("affine32/1", "oph32/1"):
        signer = Signer(40, scheme)
        one = signer(Ragged(values, np.array([0, 50], dtype=np.int64)))
        two = signer(Ragged(twice, np.array([0, 100], dtype=np.int64)))
        assert np.array_equal(one, two)
        other = Signer(40, scheme, seed=1)(Ragged(values, np.array([0, 50], dtype=np.int64)))
        assert not np.array_equal(one, other)


@pytest.mark.parametrize("threshold", [0.2, 0.3, 0.5, 0.7, 0.75, 0.8, 0.9, 0.95, 1.0])
@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99, 0.999])
def test_the_choice_always_reaches_the_recall(threshold: float, recall: float) -> None:
    rng = np.random.default_rng(0)
    a, b = np.triu_indices(200, k=1)
    for similarities in (np.zeros(len(a)), rng.beta(2, 5, size=len(a)), rng.random(len(a))):
        try:
            choice = choose_bands(threshold, recall, expected_pairs(a, b, similarities))
        except SpecError:
            assert bands_for_recall(threshold, recall, 1) > 1024
            continue
        got = candidate_probability(threshold, choice.num_bands, choice.rows)
        assert got == choice.recall >= recall
        fewer = candidate_probability(threshold, choice.num_bands - 1, choice.rows)
        assert choice.num_bands == 1 or fewer < recall


def test_the_rule_of_areas_is_not_used() -> None:
    """Elsewhere 128 hashes at 0.8 give 9 bands of 13 rows, which find 40 % of the pairs at 0.8."""
    assert candidate_probability(0.8, 9, 13) == pytest.approx(0.40, abs=0.01)
    assert choose_bands(0.8, 0.99).recall >= 0.99


def test_more_pairs_below_the_threshold_ask_for_more_rows() -> None:
    a, b = np.triu_indices(500, k=1)
    none = choose_bands(0.7, 0.99, expected_pairs(a, b, np.zeros(len(a))))
    family = np.where((a < 100) & (b < 100), 0.4, 0.0)
    some = choose_bands(0.7, 0.99, expected_pairs(a, b, family))
    assert some.rows > none.rows


def test_an_impossible_recall_is_refused() -> None:
    with pytest.raises(SpecError, match="more than 1024 hashes"):
        choose_bands(0.001, 0.9999)
    with pytest.raises(SpecError):
        choose_bands(0.7, 1.0)
