"""Kernels of clusters of records, next to the obvious."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference_merging_clusters as reference

from neardup.kernels import merging_clusters as kernels

UNITS, FAR = 30, -40


class Made:
    """Units, some of them fixed, and pairs between them, several of some."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        every = [p for p in itertools.combinations(range(UNITS), 2) if rng.random() < 0.3]
        self.pairs = [every[k] for k in rng.integers(0, len(every), 2 * len(every))]
        self.values = rng.integers(1, 90, len(self.pairs)).tolist()
        self.size = rng.integers(1, 3, UNITS).tolist()
        self.fixed = [k < 4 for k in range(UNITS)]

    def between(self, values: list[int]) -> kernels.Between:
        a, b = np.array(self.pairs, np.int32).T
        slots = 2 << len(a).bit_length()
        between = kernels.Between(
            np.arange(UNITS, dtype=np.int32),
            np.array(self.size),
            np.array(self.fixed),
            np.zeros(slots, np.uint64),
            np.zeros(slots, np.int64),
            np.zeros(UNITS + 1, np.int64),
            np.full(UNITS, -1, np.int32),
            np.zeros(UNITS, np.int32),
            np.zeros(UNITS, np.int64),
            np.zeros(2 * len(a), np.int32),
        )
        kernels.add_between(a, b, np.array(values), between)
        return between


def groups(of: list[int] | np.ndarray) -> list[list[int]]:
    roots = list(map(int, of))
    while any(roots[k] != k for k in roots):
        roots = [roots[k] for k in roots]
    return sorted(np.flatnonzero(np.array(roots) == root).tolist() for root in set(roots))


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_pairs(seed: int) -> None:
    made = Made(seed)
    between = made.between(made.values)
    expected = reference.add_between(made.pairs, made.values)
    found = {
        (int(key >> np.uint64(32)), int(key & np.uint64(2**32 - 1))): int(value)
        for key, value in zip(between.keys, between.sums, strict=True)
        if key
    }
    assert found == {(x, y): v for x in expected for y, v in expected[x].items() if x < y}
    for unit in range(UNITS):
        near = between.near[between.begin[unit] : between.begin[unit + 1]].tolist()
        assert set(near) == set(expected[unit])


@pytest.mark.parametrize("seed", range(20))
def test_units_are_merged_by_their_mean(seed: int) -> None:
    made = Made(seed)
    between, count = made.between(made.values), len(made.pairs)
    kernels.merge_by_mean(between, FAR, np.empty(count), np.empty((count, 2), np.int32))
    near = reference.add_between(made.pairs, made.values)
    expected = reference.merge_by_mean(near, FAR, made.size, made.fixed)
    assert groups(between.of) == groups(expected)
    assert 4 < len(set(expected)) < UNITS


@pytest.mark.parametrize("seed", range(20))
def test_units_are_merged_if_all_their_pairs_are_there(seed: int) -> None:
    made = Made(seed)
    one = [1] * len(made.pairs)
    between, order = made.between(one), np.random.default_rng(seed).permutation(len(one))
    a, b = np.array(made.pairs, np.int32).T
    kernels.merge_complete(between, a, b, order)
    near = reference.add_between(made.pairs, one)
    pairs = [made.pairs[k] for k in order]
    expected = reference.merge_complete(near, pairs, made.size, made.fixed)
    assert groups(between.of) == groups(expected)
    assert 4 < len(set(expected)) < UNITS
