"""Section 3.6: both methods find the pairs that share an entry, in runs of any size."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from experiments import lists


@pytest.mark.parametrize("run", [1, 7, 10_000])
def test_both_methods_find_what_shares_an_entry(run: int) -> None:
    signed = np.random.default_rng(1).integers(0, 40, (30, 6)).astype(np.uint32)
    expected = {(a, b) for a, b in combinations(range(30), 2) if (signed[a] == signed[b]).any()}
    assert lists.by_lists(signed) == lists.by_sorting(signed, run) == expected
    assert 0 < len(expected) < 30 * 29 // 2


def test_no_notes_have_no_candidates() -> None:
    none = np.empty((0, 6), np.uint32)
    assert lists.by_lists(none) == lists.by_sorting(none) == set()


def test_the_chance_is_better_than_even() -> None:
    found = lists.chance(1000)
    assert abs(found["predicted"] - 0.634) < 0.001
    assert abs(found["found"] / found["pairs"] - found["predicted"]) < 0.06
