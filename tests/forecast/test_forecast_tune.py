"""Bands and rows for points of the S-curve, against what brute force finds."""

from __future__ import annotations

import pytest

import neardup
from neardup.errors import SpecError
from neardup.forecast.tune import Choice, Point, by_bands, solve, tune
from neardup.sketch.bands import candidate_probability, choose_bands


def test_clinical_choice() -> None:
    """42 bands of 3 rows, as others chose for clinical notes with 128 hashes."""
    found = neardup.tune(["0.5:0.99", "0.05:0.001"], num_hashes=128)
    best = found.choices[0]
    assert (best.num_bands, best.rows) == (42, 3)
    assert best.probabilities == pytest.approx((1 - (1 - 0.5**3) ** 42, 1 - (1 - 0.05**3) ** 42))
    assert [round(100 * p, 1) for p in best.probabilities] == [99.6, 0.5]
    # Nothing of that length has both; it is said which point is missed, and what would have both.
    assert not found.satisfied
    assert best.missed == (Point(0.05, 0.001),)
    assert found.longer is not None
    assert not found.longer.missed
    assert found.longer.num_hashes == min(
        b * r
        for r in range(1, 20)
        for b in range(1, 300)
        if 1 - (1 - 0.5**r) ** b >= 0.99 and 1 - (1 - 0.05**r) ** b <= 0.001
    )


@pytest.mark.parametrize(
    ("points", "num_hashes"),
    [
        ([(0.5, 0.99)], 128),
        ([(0.5, 0.99), (0.05, 0.01)], 128),
        ([(0.8, 0.95), (0.5, 0.1), (0.9, 0.999)], 200),
        ([(0.3, 0.01)], 64),
        ([(0.7, 0.5)], 1),
        ([(0.999, 0.9999), (0.001, 1e-9)], 100),
        ([(0.8, 0.99), (0.79, 0.01)], 256),
    ],
)
def test_solve_finds_all_and_only_what_satisfies(
    points: list[tuple[float, float]], num_hashes: int
) -> None:
    found = solve([Point(*p) for p in points], num_hashes)
    expected = {
        (b, r)
        for r in range(1, min(64, num_hashes) + 1)
        for b in range(1, num_hashes // r + 1)
        if all(
            candidate_probability(s, b, r) >= p if p >= 0.5 else candidate_probability(s, b, r) <= p
            for s, p in points
        )
    }
    assert {(c.num_bands, c.rows) for c in found} == expected
    assert len(found) == len(expected)
    assert tune(points, num_hashes).satisfied == bool(expected)


def test_cheapest_is_what_dedup_would_choose() -> None:
    for similarity, recall in ((0.7, 0.99), (0.5, 0.99), (0.8, 0.999)):
        best = tune([(similarity, recall)], 1024).choices[0]
        assert (best.num_bands, best.rows) == choose_bands(similarity, recall)[:2]


def test_fewer_bands_of_the_same_rows_are_cheaper() -> None:
    for rows in (3, 4):
        bands = [c.num_bands for c in tune([(0.7, 0.99)]).choices if c.rows == rows]
        assert len(bands) > 1
        assert bands == sorted(bands)


def test_without_a_solution_recall_goes_first() -> None:
    found = tune([(0.9, 0.999), (0.8, 0.01), (0.1, 1e-6)], 100)
    assert not found.satisfied
    assert found.choices[0].probabilities[0] >= 0.999
    assert all(c.num_bands == 100 // c.rows for c in found.choices)


def test_no_length_will_do() -> None:
    assert tune([(0.8, 0.99), (0.799, 0.01)], 128).longer is None


@pytest.mark.parametrize("similarity", [1e-300, 1e-9, 0.5, 1 - 1e-16])
@pytest.mark.parametrize("probability", [1e-300, 0.4, 0.5, 1 - 1e-16])
def test_extreme_points(similarity: float, probability: float) -> None:
    for choice in tune([(similarity, probability)], 128).choices:
        assert choice.num_hashes <= 128


def test_given_choices() -> None:
    found = tune(["0.5:0.99"], choices=[(42, 3), (17, 4)])
    assert [(c.num_bands, c.rows) for c in found.choices] == [(42, 3), (17, 4)]
    assert [bool(c.missed) for c in found.choices] == [False, True]
    assert not found.satisfied
    told = found.choices[0].as_dict()["similarity_at"]
    assert told == pytest.approx({"0.001": 0.02877, "0.5": 0.2539, "0.99": 0.47004}, abs=1e-4)
    assert tune(choices=[(42, 3)]).choices == (Choice(42, 3),)


def test_as_other_packages_compute_it() -> None:
    """textreuse's lsh_probability(h, b, s), with h hashes in b bands."""
    h, b = 126, 42
    for s in (0.05, 0.25, 0.5, 0.8):
        assert Choice(b, h // b).probability(s) == pytest.approx(1 - (1 - s ** (h / b)) ** b)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": ["0.5"]}, "'0.5'; expected SIMILARITY:PROBABILITY"),
        ({"points": ["a:b"]}, "'a:b'; expected"),
        ({"points": ["1:0.9"]}, "similarity of a point is 1.0"),
        ({"points": ["0.5:1"]}, "probability of a point is 1.0"),
        ({"points": ["nan:0.5"]}, "similarity of a point is nan"),
        ({"points": []}, "nothing is asked for"),
        (
            {"points": ["0.5:0.9"], "num_hashes": 0},
            "`num_hashes` is 0; expected an integer from 1 to 8192",
        ),
        ({"points": ["0.3:0.9", "0.5:0.1"]}, "0.3:0.9 and 0.5:0.1 contradict each other"),
        ({"choices": [(0, 3)]}, "`num_bands` is 0"),
        ({"choices": [(3, 65)]}, "`rows` is 65"),
    ],
)
def test_refused(arguments: dict, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        tune(**arguments)


def test_bands_at_fixed_similarities() -> None:
    """Of m = 360 hashes, as the tutorial on records draws it at .25 and .75."""
    found = by_bands([0.25, 0.75], 360)
    bands = [row["num_bands"] for row in found]
    assert bands == sorted(set(bands)) and bands[-1] == 360
    by = {row["num_bands"]: row for row in found}
    assert [by[b]["rows"] for b in (18, 60, 90, 120)] == [20, 6, 4, 3]
    low, high = zip(*(by[b]["probabilities"] for b in (60, 90, 120)), strict=True)
    assert [round(p, 4) for p in low] == [0.0145, 0.2969, 0.8489] and min(high) > 0.9999
    for wrong in ([1.5], [-0.1]):
        with pytest.raises(SpecError, match="a similarity is"):
            by_bands(wrong)
