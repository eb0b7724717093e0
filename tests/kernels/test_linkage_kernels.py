"""Kernels of pairs of records, next to the obvious."""

from __future__ import annotations

import numpy as np
import pytest
import reference_record_pairs as reference

from neardup.kernels import record_pairs as kernels
from neardup.kernels.jaccard import Sets

RECORDS, FIELDS, PAIRS = 40, 3, 300
NONE = -1


class Made:
    """Records with a few values per field, some missing, and pairs of them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        known = [sorted(set(self.rng.integers(0, 30, 6).tolist())) for _ in range(8)]
        which = self.rng.integers(-1, 8, (RECORDS, FIELDS))
        members = [known[of] if of >= 0 else [] for of in which.ravel().tolist()]
        self.members = [set(of) for of in members]
        self.hashes = np.where(which < 0, 0, which + 1).astype(np.uint64)
        begin = np.cumsum([0, *map(len, members)])[:-1]
        values = np.array([v for of in members for v in of], np.uint64)
        size = np.array([*map(len, members)], np.int32)
        self.sets = Sets(values, begin.astype(np.int64), size, np.zeros((0, 1), np.uint64))
        self.a, self.b = self.rng.integers(0, RECORDS, (2, PAIRS)).astype(np.int32)

    def compared(self, kinds: list[int]) -> np.ndarray:
        out = np.zeros((PAIRS, FIELDS), np.float32)
        how = np.array(kinds)
        for first, last in ((0, 100), (100, PAIRS)):
            kernels.compare_values(self.sets, self.hashes, how, self.a, self.b, first, last, out)
        return out


@pytest.mark.parametrize("seed", range(3))
def test_values_are_compared(seed: int) -> None:
    made = Made(seed)
    kinds = [kernels.SETS, kernels.EXACT, kernels.NOT_HERE]
    found = made.compared(kinds)
    for pair, (a, b) in enumerate(zip(made.a.tolist(), made.b.tolist(), strict=True)):
        sets = made.members[a * FIELDS], made.members[b * FIELDS]
        expected = reference.compare_values(*sets, exact=False)
        assert found[pair, 0] == pytest.approx(expected, nan_ok=True)
        expected = reference.compare_values(made.hashes[a, 1], made.hashes[b, 1], exact=True)
        assert found[pair, 1] == pytest.approx(expected, nan_ok=True)
    assert np.isnan(found[:, 2]).all() and not np.isnan(found[:, 0]).all()


@pytest.mark.parametrize("seed", range(3))
def test_fields_are_compared_crosswise(seed: int) -> None:
    made = Made(seed)
    straight = made.compared([kernels.SETS] * FIELDS)
    found, swapped = straight.copy(), np.zeros(straight.shape, np.bool_)
    fields = made.sets, made.hashes, 0, 1, 0.6, 0.9
    kernels.compare_swapped(*fields, made.a, made.b, 0, PAIRS, found, swapped)
    for pair in range(PAIRS):
        a, b = int(made.a[pair]) * FIELDS, int(made.b[pair]) * FIELDS
        sets = made.members[a : a + 2], made.members[b : b + 2]
        expected = reference.compare_swapped(*sets, straight[pair, :2].tolist(), 0.6, 0.9)
        assert swapped[pair].tolist() == [expected is not None] * 2 + [False]
        wanted = straight[pair, :2] if expected is None else expected
        assert found[pair, :2] == pytest.approx(np.array(wanted, np.float32), nan_ok=True)
    assert 5 < swapped[:, 0].sum() < PAIRS
    back, again = straight.copy(), np.zeros(straight.shape, np.bool_)
    kernels.compare_swapped(*fields, made.b, made.a, 0, PAIRS, back, again)
    assert np.array_equal(back, found, equal_nan=True)


def test_classes_and_weights() -> None:
    made = Made(5)
    similarity = made.compared([kernels.SETS] * FIELDS)
    edges, classes = np.array([0.1, 0.25], np.float32), np.zeros(similarity.shape, np.int8)
    kernels.classify(similarity, made.hashes, edges, 3, made.a, made.b, 0, PAIRS, classes)
    for pair, k in np.ndindex(PAIRS, FIELDS):
        of, equal = (
            similarity[pair, k],
            made.hashes[made.a[pair], k] == made.hashes[made.b[pair], k],
        )
        expected = NONE if np.isnan(of) else 3 if equal else int((edges <= of).sum())
        assert classes[pair, k] == expected
    assert set(classes.ravel().tolist()) == {NONE, 0, 1, 2, 3}

    weights = made.rng.normal(size=(FIELDS, 5))
    weights[:, NONE] = 0
    coarse = np.array([0, 0, 1, 1, NONE], np.int8)
    ratios = np.zeros((2, 3, 3))
    ratios[:, :2, :2] = made.rng.normal(size=(2, 2, 2))
    one, two, total = np.array([0, 1]), np.array([1, 2]), np.ones(PAIRS)
    # Of two files, a view may leave out the last column.
    more = np.column_stack([classes, np.full(PAIRS, 2, np.int8)])
    kernels.add_weights(more, weights, ratios, coarse, one, two, total)
    counts = made.rng.integers(1, 9, (RECORDS, FIELDS)).astype(np.int32)
    scale, typical = made.rng.normal(size=FIELDS), made.rng.normal(size=(FIELDS, 5))
    typical[:, [0, NONE]] = np.nan
    rare = np.zeros(PAIRS)
    kernels.add_rarity(classes, made.a, made.b, counts, scale, typical, rare)
    for pair in range(PAIRS):
        of = classes[pair].tolist()
        expected = 1 + reference.add_weights(of, weights, ratios, coarse, ((0, 1), (1, 2)))
        assert total[pair] == pytest.approx(expected)
        of_both = [counts[made.a[pair]].tolist(), counts[made.b[pair]].tolist()]
        added = reference.add_rarity(of, of_both, scale, typical)
        assert rare[pair] == pytest.approx(added)


def test_values_that_are_equal_crosswise_are_counted() -> None:
    made = Made(6)
    made.hashes[:, 1] = np.where(made.hashes[:, 1] > 3, 0, made.hashes[:, 1])
    fields, counts = np.array([[0, 0, 1], [1, 2, 2]]), np.ones(3, np.int64)
    for first, last in ((0, 120), (120, PAIRS)):
        kernels.count_crosswise(made.hashes, *fields, made.a, made.b, first, last, counts)
    a, b = (made.hashes[of].tolist() for of in (made.a, made.b))
    for k, (one, two) in enumerate(fields.T.tolist()):
        expected = sum(
            reference.count_crosswise(*pair, one, two) for pair in zip(a, b, strict=True)
        )
        assert counts[k] == 1 + expected
    assert counts.max() > 1


def test_classes_are_tallied() -> None:
    rng, coarse = np.random.default_rng(8), np.array([0, 0, 1, NONE], np.int8)
    classes = rng.integers(NONE, 3, (PAIRS, FIELDS)).astype(np.int8)
    weights = rng.integers(0, 5, PAIRS) / 4
    single, double = np.zeros((FIELDS, 4)), np.zeros((FIELDS, FIELDS, 3, 3))
    for part in (slice(100), slice(100, None)):
        kernels.tally_classes(classes[part], weights[part], coarse, single, double)
    singles, doubles = reference.tally_classes(classes.tolist(), weights.tolist(), coarse)
    for (k, of), expected in singles.items():
        assert single[k, of] == expected
    for (one, two, x, y), expected in doubles.items():
        assert double[one, two, x, y] == expected
    assert single.sum() == FIELDS * weights.sum() and double.sum() == 3 * weights.sum()


def test_sets_are_weighed() -> None:
    made = Made(7)
    weights = made.rng.random(16).astype(np.float32)
    total, shared = np.zeros(RECORDS * FIELDS), np.zeros(PAIRS)
    kernels.weigh_sets(made.sets, weights, 0, len(total), total)
    kernels.weigh_shared(made.sets, weights, made.a, made.b, 0, PAIRS, shared)
    for members, weight in zip(made.members, total.tolist(), strict=True):
        assert weight == pytest.approx(reference.weigh_sets(members, weights))
    for pair, (a, b) in enumerate(zip(made.a.tolist(), made.b.tolist(), strict=True)):
        expected = reference.weigh_shared(made.members[a], made.members[b], weights)
        assert shared[pair] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_the_lowest_keys_are_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 12, (2, 200)).astype(np.int32)
    keys, room = rng.integers(0, 50, 200).astype(np.uint64), rng.integers(0, 9, 12)
    begin = np.append(0, np.cumsum(room))
    heaps, filled = np.zeros(begin[-1], np.uint64), np.zeros(12, np.int64)
    for part in (slice(0, 70), slice(70, 200)):
        kernels.keep_lowest(keys[part], a[part], b[part], begin, filled, heaps)
    expected = reference.keep_lowest(keys.tolist(), a.tolist(), b.tolist(), room.tolist())
    for record, of in enumerate(expected):
        found = heaps[begin[record] : begin[record] + filled[record]].tolist()
        assert sorted(found) == of
        assert not of or found[0] == of[-1]
