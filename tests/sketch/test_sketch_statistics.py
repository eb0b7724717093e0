"""What signatures estimate, and what bands find."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neardup.sketch.bands import candidate_probability
from neardup.sketch.sketcher import Signer, band_keys
from neardup.sketch.texts import Ragged

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

    The mean of n estimates has standard error at most s = sqrt(J (1 - J) / k / n): it must be
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
        signatures = Signer(k, scheme, seed)(sets)[:, :k]
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
        found.append((keys[0::2] == keys[1::2]).any(axis=1))
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
        assert np.array_equal(one[:, :40], two[:, :40])
        other = Signer(40, scheme, seed=1)(Ragged(values, np.array([0, 50], dtype=np.int64)))
        assert not np.array_equal(one, other)


def test_bands_are_independent_of_each_other() -> None:
    """The keys of two bands never collide by being made of the same entries."""
    signatures = np.full((2, 12), 7, dtype=np.uint32)
    keys = band_keys(signatures, 4, 3)
    assert len(set(keys[0].tolist())) == 4
    assert np.array_equal(keys[0], keys[1])
