"""Bands and rows for points of the S-curve that a user asks for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.errors import SpecError, spelled
from neardup.sketch.bands import (
    COMMON,
    DOCUMENTS,
    Bands,
    band_cost,
    candidate_probability,
    similarity_at,
    steepest,
)
from neardup.spec import check_integer, check_probability
from neardup.values.shown import Shown

#: As in `neardup.Spec`.
_MAX_HASHES, _MAX_BANDS, _MAX_ROWS = 8192, 4096, 64
#: Probabilities whose similarities are reported of each choice.
REPORTED = (0.001, 0.5, 0.99)
_EXAMPLE = "for example 0.5:0.99, similarity 0.5 with probability 99 %"


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the S-curve: at least this probability from 0.5 on, at most this one below.

    Raises:
        SpecError: One of the two is not in (0, 1).
    """

    similarity: float
    probability: float

    def __post_init__(self) -> None:
        for name in ("similarity", "probability"):
            value = getattr(self, name)
            check_probability(f"the {name} of a point", value, low_open=True, high_open=True)

    @classmethod
    def of(cls, value: "Point | str | tuple[float, float]") -> "Point":
        """Make a point from ``"SIMILARITY:PROBABILITY"``, or from the two numbers.

        >>> Point.of("0.5:0.99")
        Point(similarity=0.5, probability=0.99)
        """
        if isinstance(value, Point):
            return value
        try:
            both = value.split(":") if isinstance(value, str) else value
            similarity, probability = map(float, both)
        except (TypeError, ValueError) as error:
            expected = "expected SIMILARITY:PROBABILITY"
            raise SpecError(f"a point is {spelled(value)}; {expected}", _EXAMPLE) from error
        return cls(similarity, probability)

    @property
    def at_least(self) -> bool:
        """Whether at least this probability is asked for, and not at most."""
        return self.probability >= 0.5

    def missed_by(self, probability: float) -> float:
        """Return by which factor more pairs are lost, or compared, than asked for; at least 1."""
        if self.at_least:
            return max(1.0, (1 - probability) / (1 - self.probability))
        return max(1.0, probability / self.probability)

    def __str__(self) -> str:
        return f"{self.similarity:g}:{self.probability:g}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Bands and rows, and their probabilities."""

    num_bands: int
    rows: int  # signature entries in a band
    points: tuple[Point, ...] = ()  # the points asked for

    @property
    def num_hashes(self) -> int:
        """Signature entries that the bands take."""
        return self.num_bands * self.rows

    @property
    def probabilities(self) -> tuple[float, ...]:
        """P(candidate) at each of the points."""
        return tuple(self.probability(p.similarity) for p in self.points)

    @property
    def missed(self) -> tuple[Point, ...]:
        """The points that are not satisfied."""
        pairs = zip(self.points, self.probabilities, strict=True)
        return tuple(point for point, probability in pairs if point.missed_by(probability) > 1)

    def probability(self, similarity: float) -> float:
        """P(candidate) of a pair of this similarity."""
        return candidate_probability(similarity, self.num_bands, self.rows)

    def similarity_at(self, probability: float) -> float:
        """The similarity of pairs that become candidates with this probability."""
        return similarity_at(probability, self.num_bands, self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        missed, pairs = self.missed, zip(self.points, self.probabilities, strict=True)
        return {
            "num_bands": self.num_bands,
            "rows": self.rows,
            "num_hashes": self.num_hashes,
            "points": [
                {
                    "similarity": point.similarity,
                    "asked": "at least" if point.at_least else "at most",
                    "asked_probability": point.probability,
                    "probability": probability,
                    "satisfied": point not in missed,
                }
                for point, probability in pairs
            ],
            "similarity_at": {f"{p:g}": self.similarity_at(p) for p in REPORTED},
            "steepest": steepest(self.num_bands, self.rows),
            "satisfied": not missed if self.points else None,
        }


@dataclass(frozen=True, slots=True, repr=False)
class TunedBands(Shown):
    """Result of `tune`."""

    shown_as = "tune", "bands"
    points: tuple[Point, ...]  # the points asked for
    num_hashes: int  # length of the signature
    choices: tuple[Choice, ...]  # the cheapest first, or the nearest if none satisfies all points
    satisfied: bool | None  # whether the choices satisfy all points; None where none are asked for
    longer: Choice | None = None  # if not: that of the shortest signature that does, if one does

    def __repr__(self) -> str:
        first = self.choices[0]
        what = "" if self.satisfied is not False else ", none of which satisfies all points"
        return (
            f"<TunedBands: {len(self.choices):,} choices{what}; the first is {first.num_bands} "
            f"bands of {first.rows} rows>"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "num_hashes": self.num_hashes,
            "satisfied": self.satisfied,
            "choices": [choice.as_dict() for choice in self.choices],
            "longer": self.longer and self.longer.as_dict(),
        }


def tune(
    points: Iterable[Point | str | tuple[float, float]] = (),
    num_hashes: int = 128,
    choices: Sequence[tuple[int, int]] = (),
) -> TunedBands:
    """Find the bands and rows that satisfy points of the S-curve 1 - (1 - s**rows)**num_bands.

    The cheapest come first, by the cost by which a run chooses its bands. If no choice satisfies
    all points, the complete signature is used: for each number of rows as many bands as fit,
    those first that satisfy the points that are asked for as *at least*, and of these the one that
    misses the others by the smallest factor.

    Args:
        points: `Point`, ``"0.5:0.99"`` or ``(0.5, 0.99)``: similarity and probability. From 0.5 on
            the probability is to be reached, below it is not to be exceeded.
        num_hashes: Length of the signature; ``num_bands * rows`` is at most that, 1 to 8,192.
        choices: ``(num_bands, rows)`` to be looked at instead of searched for.

    Raises:
        SpecError: A number is out of range, points contradict each other, or there are neither
            points nor choices.

    Examples:
        >>> best = tune(["0.5:0.99", "0.05:0.001"]).choices[0]
        >>> best.num_bands, best.rows, [round(p, 3) for p in best.probabilities]
        (42, 3, [0.996, 0.005])
    """
    asked = tuple(map(Point.of, points))
    check_integer("`num_hashes`", num_hashes, 1, _MAX_HASHES)
    if choices:
        given = tuple(_checked(choices, asked))
        longest = max(c.num_hashes for c in given)
        return TunedBands(
            asked, longest, given, not any(c.missed for c in given) if asked else None
        )
    if not asked:
        raise SpecError("nothing is asked for", "give a point such as 0.5:0.99, or bands and rows")
    found = solve(asked, num_hashes)
    if found:
        return TunedBands(asked, num_hashes, tuple(found), True)
    longer = min(solve(asked, _MAX_HASHES), key=lambda c: (c.num_hashes, c.num_bands), default=None)
    every = range(1, min(num_hashes, _MAX_ROWS) + 1)
    complete = [Choice(min(_MAX_BANDS, num_hashes // rows), rows, asked) for rows in every]
    return TunedBands(asked, num_hashes, tuple(sorted(complete, key=_distance)), False, longer)


def by_bands(
    similarities: Sequence[float], num_hashes: int = 128, choices: Sequence[tuple[int, int]] = ()
) -> list[dict[str, Any]]:
    """Return the shares of candidates at fixed similarities, by the number of bands.

    Args:
        similarities: Similarities, each in [0, 1].
        num_hashes: Length of the signature, which is cut into as many bands as fit.
        choices: ``(num_bands, rows)`` instead of these.

    Returns:
        For each number of bands: ``num_bands``, ``rows`` (as many as fit), and ``probabilities``,
        one for each similarity.

    Raises:
        SpecError: A number is out of range.

    Examples:
        >>> {r["num_bands"]: round(r["probabilities"][0], 4) for r in by_bands([0.25], 360)}[90]
        0.2969
    """
    check_integer("`num_hashes`", num_hashes, 1, _MAX_HASHES)
    for similarity in similarities:
        check_probability("a similarity", similarity, low_open=False, high_open=False)
    every = range(1, min(num_hashes, _MAX_ROWS) + 1)
    most = {min(_MAX_BANDS, num_hashes // rows): rows for rows in every}
    found = _checked(choices) if choices else [Choice(*one) for one in sorted(most.items())]
    return [
        {
            "num_bands": choice.num_bands,
            "rows": choice.rows,
            "probabilities": [choice.probability(s) for s in similarities],
        }
        for choice in found
    ]


def _checked(choices: Sequence[tuple[int, int]], asked: tuple[Point, ...] = ()) -> list[Choice]:
    for num_bands, rows in choices:
        check_integer("`num_bands`", num_bands, 1, _MAX_BANDS)
        check_integer("`rows`", rows, 1, _MAX_ROWS)
    return [Choice(num_bands, rows, asked) for num_bands, rows in choices]


def solve(points: Sequence[Point], num_hashes: int) -> list[Choice]:
    """Return all choices that satisfy all points with so many hashes, the cheapest first."""
    lower = [p for p in points if p.at_least]
    for low in lower:
        for high in points:
            if not high.at_least and low.similarity <= high.similarity:
                what = f"the points {low} and {high} contradict each other"
                raise SpecError(what, "the more similar a pair, the more probably it is found")
    threshold = min((p.similarity for p in lower), default=1.0)
    found: list[tuple[float, int, Choice]] = []
    for rows in range(1, min(num_hashes, _MAX_ROWS) + 1):
        bands = np.arange(1, min(_MAX_BANDS, num_hashes // rows) + 1)
        fits = np.ones(len(bands), dtype=np.bool_)
        for point in points:
            # As `candidate_probability`, of many bands.
            with np.errstate(divide="ignore"):
                chance = -np.expm1(bands * np.log1p(-(np.float64(point.similarity) ** rows)))
            asked = point.probability
            fits &= chance >= asked if point.at_least else chance <= asked
        for number in bands[fits].tolist():
            cost = band_cost(Bands(number, rows, 0.0), threshold, DOCUMENTS, COMMON)
            found.append((cost, rows, Choice(number, rows, tuple(points))))
    return [choice for _, _, choice in sorted(found, key=lambda f: f[:2])]


def _distance(choice: Choice) -> tuple[float, ...]:
    """Return by which factors a choice misses points, those to be reached first."""
    pairs = list(zip(choice.points, choice.probabilities, strict=True))
    return tuple(
        max((p.missed_by(found) for p, found in pairs if p.at_least == kind), default=1.0)
        for kind in (True, False)
    )
