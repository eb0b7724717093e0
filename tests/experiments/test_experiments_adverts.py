"""The synthetic advertisements: what two of them have in common."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import adverts

pytestmark = pytest.mark.long


def test_candidates_have_a_spike_near_a_quarter() -> None:
    found = adverts.blog(600)
    histogram = found["histogram"]
    assert sum(histogram) == found["sample"] == found["candidates"]
    around = sum(histogram[4:6])  # from 0.2 to 0.3
    assert around > 0.9 * found["sample"]
    assert histogram[4] > 0 and histogram[5] > 0
    assert sum(histogram[10:]) >= found["pairs"] > 20
    assert found["all_pairs"] == 600 * 599 // 2


def test_as_many_candidates_as_in_the_blog() -> None:
    """7 million of 400,000 adverts: 17.5 candidates for each."""
    found = adverts.blog(3000)
    assert 12 < found["candidates"] / 3000 < 20


def test_adverts_are_the_same_each_time() -> None:
    some = adverts.adverts(200, 1)
    assert some == adverts.adverts(200, 1) != adverts.adverts(200, 2)
    sizes = np.array([len(text.split()) for text in some])
    assert sizes.min() >= 54 + 60 and sizes.max() <= 54 + 100
