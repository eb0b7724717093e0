"""Bands and rows for points of the S-curve, against what brute force finds."""

from __future__ import annotations

import numpy as np
import pytest

import neardup
from neardup.errors import SpecError
from neardup.forecast.tune import Choice, Point, solve, tune
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
    found = tune(["0.5:0.99"], bands=[42, 17], rows=[3, 4])
    assert [(c.num_bands, c.rows) for c in found.choices] == [(42, 3), (17, 4)]
    assert [bool(c.missed) for c in found.choices] == [False, True]
    assert not found.satisfied
    told = found.choices[0].as_dict()["similarity_at"]
    assert told == pytest.approx({"0.001": 0.02877, "0.5": 0.2539, "0.99": 0.47004}, abs=1e-4)
    assert tune(bands=42, rows=3).choices == (Choice(42, 3),)


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
        ({"bands": 0, "rows": 3}, "`bands` is 0"),
        ({"bands": [3], "rows": [65]}, "`rows` is 65"),
        ({"bands": "a", "rows": 1}, "`bands` is 'a'; expected an integer"),
        ({"bands": 3}, "`bands` is given 1 times, and `rows` 0 times"),
        ({"bands": 3, "rows": 3, "num_hashes": 9}, "`num_hashes` is given"),
        ({"points": ["0.5:0.9"], "similarity": 0.5}, "ask for different tables"),
        ({"similarity": [0.5, 1.5]}, "a similarity is 1.5"),
        ({"similarity": "0.5"}, "a similarity is '0.5'"),
    ],
)
def test_refused(arguments: dict, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        tune(**arguments)


def test_bands_at_fixed_similarities() -> None:
    """Of m = 360 hashes, as the tutorial on records draws it at .25 and .75."""
    found = tune(similarity=[0.25, 0.75], num_hashes=360)
    bands = [choice.num_bands for choice in found.choices]
    assert bands == sorted(set(bands)) and bands[-1] == 360
    by = {choice.num_bands: choice for choice in found.choices}
    assert [by[b].rows for b in (18, 60, 90, 120)] == [20, 6, 4, 3]
    told = [[p["probability"] for p in by[b].as_dict()["similarities"]] for b in (60, 90, 120)]
    low, high = zip(*told, strict=True)
    assert [round(p, 4) for p in low] == [0.0145, 0.2969, 0.8489] and min(high) > 0.9999


def test_given_bands_at_given_similarities() -> None:
    found = neardup.tune(bands=20, rows=5, similarity=[0.3, 0.8])
    first, second = str(found).splitlines()
    assert first.split() == ["bands", "rows", "s", "=", "0.3", "s", "=", "0.8"]
    assert second.split() == ["20", "5", "0.0475", "0.9996"]
    assert found.satisfied is None and found.num_hashes == 100
    several = neardup.tune(bands=[20, 15], rows=(5, 5), similarity=0.8)
    assert [round(c.probability(0.8), 4) for c in several.choices] == [0.9996, 0.9974]
    assert len(str(neardup.tune(bands=[20, 15], rows=[5, 5])).splitlines()) == 3


def test_areas_of_error() -> None:
    """Against sums of many strips; the threshold is a point that is asked for, else (1/b)^(1/r)."""
    for bands, rows in ((10, 5), (1, 1), (4096, 1), (1, 64), (20, 5)):
        choice = tune(bands=bands, rows=rows).choices[0]
        assert choice.threshold == pytest.approx((1 / bands) ** (1 / rows))
        ends = (np.arange(400_000) + 0.5) / 400_000
        curve = candidate_probability(ends, bands, rows)
        for threshold in (None, 0.0, 0.4, 1.0):
            at = choice.threshold if threshold is None else threshold
            below, above = choice.errors(threshold)
            assert below == pytest.approx(np.where(ends < at, curve, 0).mean(), abs=1e-5)
            assert above == pytest.approx(np.where(ends < at, 0, 1 - curve).mean(), abs=1e-5)
    assert tune(["0.5:0.9"], bands=10, rows=5).choices[0].threshold == 0.5
    with pytest.raises(SpecError, match="threshold is 2"):
        choice.errors(2)


def test_the_curve_is_drawn_with_both_areas() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = neardup.tune(bands=10, rows=5).plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    areas = ["false candidates below 0.631: 0.084", "missed above it: 0.025"]
    assert set(labels) == {"10 bands of 5 rows", *areas}
    mine = pyplot.subplots()[1]
    assert neardup.tune(["0.5:0.99"]).plot(ax=mine) is mine
    pyplot.close("all")
