"""Bands and rows for points of the S-curve that a user asks for."""

from collections.abc import Iterable, Iterator, Sequence
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
_STRIPS = 512
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
    similarities: tuple[float, ...] = ()  # those whose probabilities are asked for

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

    @property
    def threshold(self) -> float:
        """The similarity from which on pairs are to be found: of a point, else (1/b)^(1/r)."""
        lower = [point.similarity for point in self.points if point.at_least]
        return min(lower, default=float((1 / self.num_bands) ** (1 / self.rows)))

    def errors(self, threshold: float | None = None) -> tuple[float, float]:
        """Return the areas of error on both sides of a threshold; of `threshold` by default.

        They are the shares of false candidates and of missed pairs among pairs of which each
        similarity is as frequent as any other.

        Raises:
            SpecError: The threshold is not in [0, 1].
        """
        threshold = self.threshold if threshold is None else threshold
        check_probability("threshold", threshold, low_open=False, high_open=False)
        below = _area(self, 0.0, threshold)
        return below, (1 - threshold) - _area(self, threshold, 1.0)

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
            "similarities": [
                {"similarity": s, "probability": self.probability(s)} for s in self.similarities
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
    given: bool = False  # whether the bands were given, or all with similarities asked for
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
    num_hashes: int | None = None,
    *,
    bands: int | Sequence[int] = (),
    rows: int | Sequence[int] = (),
    similarity: float | Sequence[float] = (),
) -> TunedBands:
    """Find the bands and rows that satisfy points of the S-curve 1 - (1 - s**rows)**num_bands.

    The cheapest come first, by the cost by which a run chooses its bands. If no choice satisfies
    all points, the complete signature is used: for each number of rows as many bands as fit,
    those first that satisfy the points that are asked for as *at least*, and of these the one that
    misses the others by the smallest factor.

    Args:
        points: `Point`, ``"0.5:0.99"`` or ``(0.5, 0.99)``: similarity and probability. From 0.5 on
            the probability is to be reached, below it is not to be exceeded.
        num_hashes: Length of the signature; bands times rows are at most that, 1 to 8,192; 128 by
            default.
        bands: These bands are looked at, instead of searched for; one number, or several.
        rows: Rows of these bands, as many numbers.
        similarity: The probabilities at these similarities are asked for, each in [0, 1]: of the
            bands given, or of each number of bands, as many rows as fit.

    Returns:
        The choices. ``plot()`` draws the curve of the first one, with both areas of error.

    Raises:
        SpecError: A number is out of range, points contradict each other, or there are neither
            points nor bands nor similarities.

    Examples:
        >>> best = tune(["0.5:0.99", "0.05:0.001"]).choices[0]
        >>> best.num_bands, best.rows, [round(p, 3) for p in best.probabilities]
        (42, 3, [0.996, 0.005])
        >>> twenty = tune(bands=20, rows=5, similarity=[0.3, 0.8]).choices[0]
        >>> [round(twenty.probability(s), 4) for s in twenty.similarities]
        [0.0475, 0.9996]
    """
    asked = tuple(map(Point.of, points))
    similarities, every_bands, every_rows = map(_several, (similarity, bands, rows))
    if len(every_bands) != len(every_rows):
        counts = f"{len(every_bands)} times, and `rows` {len(every_rows)} times"
        raise SpecError(f"`bands` is given {counts}", "give both, equally often")
    if every_bands and num_hashes is not None:
        raise SpecError("`num_hashes` is given with bands and rows", "leave one out")
    if similarities and asked:
        raise SpecError("`similarity` and `at` ask for different tables", "leave one of them out")
    for one in similarities:
        check_probability("a similarity", one, low_open=False, high_open=False)
    num_hashes = 128 if num_hashes is None else num_hashes
    check_integer("`num_hashes`", num_hashes, 1, _MAX_HASHES)
    every = range(1, min(num_hashes, _MAX_ROWS) + 1)
    if similarities and not every_bands:
        most = {min(_MAX_BANDS, num_hashes // rows): rows for rows in every}
        every_bands, every_rows = zip(*sorted(most.items()), strict=True)
    if every_bands:
        given = tuple(_checked(every_bands, every_rows, asked, similarities))
        longest = max(c.num_hashes for c in given)
        satisfied = not any(c.missed for c in given) if asked else None
        return TunedBands(asked, longest, given, satisfied, given=True)
    if not asked:
        raise SpecError("nothing is asked for", "give a point such as 0.5:0.99, or bands and rows")
    found = solve(asked, num_hashes)
    if found:
        return TunedBands(asked, num_hashes, tuple(found), True)
    longer = min(solve(asked, _MAX_HASHES), key=lambda c: (c.num_hashes, c.num_bands), default=None)
    complete = [Choice(min(_MAX_BANDS, num_hashes // rows), rows, asked) for rows in every]
    return TunedBands(
        asked, num_hashes, tuple(sorted(complete, key=_distance)), False, longer=longer
    )


def _several(given: Any) -> tuple[Any, ...]:
    """Return one value, or several, as a tuple."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    return tuple(given) if several else (given,)


def _checked(
    bands: Sequence[int],
    rows: Sequence[int],
    asked: tuple[Point, ...],
    similarities: tuple[float, ...],
) -> Iterator[Choice]:
    for num_bands, number in zip(bands, rows, strict=True):
        check_integer("`bands`", num_bands, 1, _MAX_BANDS)
        check_integer("`rows`", number, 1, _MAX_ROWS)
        yield Choice(num_bands, number, asked, similarities)


def _area(choice: Choice, low: float, high: float) -> float:
    """Return the area below a curve, by Gauss and Legendre in many strips."""
    ends = np.linspace(low, high, _STRIPS + 1)
    at, weights = np.polynomial.legendre.leggauss(8)
    half = (ends[1:] - ends[:-1])[:, None] / 2
    found = candidate_probability(ends[:-1, None] + half * (at + 1), choice.num_bands, choice.rows)
    return float((found * weights * half).sum())


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
