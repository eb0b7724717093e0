"""Bands and rows for points of the S-curve that a user asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from neardup.core.tune import (
    band_cost,
    candidate_probability,
    similarity_at,
    steepest,
)
from neardup.errors import SpecError

__all__ = ["Choice", "Point", "Tuning", "solve", "tune"]

#: As in `neardup.Spec`.
MAX_HASHES, MAX_BANDS, MAX_ROWS = 8192, 4096, 64
#: Probabilities whose similarities are told of each choice.
TOLD = (0.001, 0.5, 0.99)


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the S-curve that is asked for.

    From a probability of 0.5 on, it means *at least*: pairs of this similarity are to be found.
    Below, it means *at most*: they are not to be compared.

    Attributes:
        similarity: In (0, 1).
        probability: In (0, 1).

    Raises:
        SpecError: One of them is out of range.
    """

    similarity: float
    probability: float

    def __post_init__(self) -> None:
        for name in ("similarity", "probability"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and 0 < float(value) < 1):
                raise SpecError(
                    f"{name} of a point is {value!r}; expected more than 0 and less than 1",
                    "for example 0.5:0.99, similarity 0.5 with probability 99 %",
                )

    @classmethod
    def parse(cls, text: str) -> Point:
        """Make a point from ``"SIMILARITY:PROBABILITY"``.

        >>> Point.parse("0.5:0.99")
        Point(similarity=0.5, probability=0.99)
        """
        similarity, _, probability = text.partition(":")
        try:
            return cls(float(similarity), float(probability))
        except SpecError:
            raise
        except ValueError as error:
            raise SpecError(
                f"a point is {text!r}; expected SIMILARITY:PROBABILITY",
                "for example 0.5:0.99, similarity 0.5 with probability 99 %",
            ) from error

    @property
    def at_least(self) -> bool:
        """Whether at least this probability is asked for, and not at most."""
        return self.probability >= 0.5

    def missed_by(self, probability: float) -> float:
        """Return by which factor the pairs lost, or compared, are more than asked for.

        1 where the point is met; ``(1 - probability) / (1 - asked)`` for *at least*,
        ``probability / asked`` for *at most*.
        """
        if self.at_least:
            return max(1.0, (1 - probability) / (1 - self.probability))
        return max(1.0, probability / self.probability)

    def __str__(self) -> str:
        return f"{self.similarity:g}:{self.probability:g}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Bands and rows, and what they give.

    Attributes:
        num_bands, rows: The choice.
        points: What was asked for.
    """

    num_bands: int
    rows: int
    points: tuple[Point, ...] = ()

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
        """The points that are not met."""
        return tuple(
            point
            for point, probability in zip(self.points, self.probabilities, strict=True)
            if point.missed_by(probability) > 1
        )

    @property
    def steepest(self) -> float:
        """The similarity at which the S-curve rises fastest."""
        return steepest(self.num_bands, self.rows)

    def probability(self, similarity: float) -> float:
        """P(candidate) of a pair of this similarity."""
        return candidate_probability(similarity, self.num_bands, self.rows)

    def similarity_at(self, probability: float) -> float:
        """The similarity of pairs that become candidates with this probability."""
        return similarity_at(probability, self.num_bands, self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        missed = self.missed
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
                    "met": point not in missed,
                }
                for point, probability in zip(self.points, self.probabilities, strict=True)
            ],
            "similarity_at": {f"{p:g}": self.similarity_at(p) for p in TOLD},
            "steepest": self.steepest,
            "satisfied": not missed if self.points else None,
        }


@dataclass(frozen=True, slots=True)
class Tuning:
    """What `tune` found.

    Attributes:
        points: What was asked for.
        num_hashes: Length of the signature.
        choices: The cheapest first, or the nearest first if none satisfies all points.
        satisfied: Whether the choices satisfy all points; None where none are asked for.
        longer: If they don't: the shortest signature's choice that does, up to 8,192 hashes; None
            where none does.
    """

    points: tuple[Point, ...]
    num_hashes: int
    choices: tuple[Choice, ...]
    satisfied: bool | None
    longer: Choice | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "num_hashes": self.num_hashes,
            "satisfied": self.satisfied,
            "choices": [choice.as_dict() for choice in self.choices],
            "longer": None if self.longer is None else self.longer.as_dict(),
        }


def tune(
    points: Iterable[Point | str | tuple[float, float]] = (),
    num_hashes: int = 128,
    choices: Sequence[tuple[int, int]] = (),
) -> Tuning:
    """Find the bands and rows that satisfy points of the S-curve 1 - (1 - s**rows)**num_bands.

    For each number of rows the equation is solved for the number of bands, at every point; all
    whole numbers between the two bounds satisfy the points. The cheapest come first, by the cost of
    hashing, grouping and comparing in vain that `neardup.choose_bands` uses.

    If no choice satisfies all points, the whole signature is used: for each number of rows as many
    bands as it holds, those first that satisfy the points that are asked for as *at least*, and of
    these the one that misses the others by the least factor.

    Args:
        points: `Point`, ``"0.5:0.99"`` or ``(0.5, 0.99)``: similarity and probability. From 0.5 on
            the probability is to be reached, below it is not to be exceeded.
        num_hashes: Length of the signature; ``num_bands * rows`` is at most that, 1 to 8,192.
        choices: ``(num_bands, rows)`` to be looked at instead of searched for.

    Raises:
        SpecError: A number out of range, points that contradict each other, or neither points nor
            choices.

    Examples:
        >>> best = tune(["0.5:0.99", "0.05:0.001"]).choices[0]
        >>> best.num_bands, best.rows, [round(p, 3) for p in best.probabilities]
        (42, 3, [0.996, 0.005])
    """
    asked = tuple(_point(p) for p in points)
    _check_whole(num_hashes, "num_hashes", MAX_HASHES)
    if choices:
        looked_at = tuple(_choice(choice, asked) for choice in choices)
        longest = max(c.num_hashes for c in looked_at)
        satisfied = not any(c.missed for c in looked_at) if asked else None
        return Tuning(asked, longest, looked_at, satisfied)
    _check(bool(asked), "nothing is asked for", "give a point such as 0.5:0.99, or bands and rows")
    found = solve(asked, num_hashes)
    if found:
        return Tuning(asked, num_hashes, tuple(found), True)
    longer = min(solve(asked, MAX_HASHES), key=lambda c: (c.num_hashes, c.num_bands), default=None)
    return Tuning(asked, num_hashes, tuple(_nearest(asked, num_hashes)), False, longer)


def solve(points: Sequence[Point], num_hashes: int) -> list[Choice]:
    """Return all choices that satisfy all points with so many hashes, the cheapest first.

    Raises:
        SpecError: Points that contradict each other.
    """
    least = [p for p in points if p.at_least]
    most = [p for p in points if not p.at_least]
    for low in least:
        for high in most:
            _check(
                low.similarity > high.similarity,
                f"the points {low} and {high} contradict each other",
                "the more similar a pair, the more probably it is found",
            )
    edge = min((p.similarity for p in least), default=1.0)
    found: list[tuple[float, int, Choice]] = []
    for rows in range(1, min(num_hashes, MAX_ROWS) + 1):
        first = max((_bands_at_least(p, rows) for p in least), default=1)
        last = min((_bands_at_most(p, rows) for p in most), default=MAX_BANDS)
        cost = band_cost(rows, edge)
        found += [
            (bands * cost, rows, Choice(bands, rows, tuple(points)))
            for bands in range(first, min(last, num_hashes // rows) + 1)
        ]
    return [choice for _, _, choice in sorted(found, key=lambda f: f[:2])]


def _bands_at_least(point: Point, rows: int) -> int:
    """The fewest bands of so many rows that reach the point; one too many if none do."""
    if candidate_probability(point.similarity, MAX_BANDS, rows) < point.probability:
        return MAX_BANDS + 1
    bands = max(1, math.floor(_root(point, rows)) - 1)
    while candidate_probability(point.similarity, bands, rows) < point.probability:
        bands += 1
    return bands


def _bands_at_most(point: Point, rows: int) -> int:
    """The most bands of so many rows that do not exceed the point; 0 if even one does."""
    if candidate_probability(point.similarity, MAX_BANDS, rows) <= point.probability:
        return MAX_BANDS
    bands = math.ceil(_root(point, rows)) + 1
    while bands and candidate_probability(point.similarity, bands, rows) > point.probability:
        bands -= 1
    return bands


def _root(point: Point, rows: int) -> float:
    """The number of bands, not a whole one, with which the curve goes through the point."""
    return math.log1p(-point.probability) / math.log1p(-(point.similarity**rows))


def _nearest(points: tuple[Point, ...], num_hashes: int) -> list[Choice]:
    """The whole signature in bands of each number of rows, those nearest to the points first."""
    choices = [
        Choice(min(MAX_BANDS, num_hashes // rows), rows, points)
        for rows in range(1, min(num_hashes, MAX_ROWS) + 1)
    ]

    def distance(choice: Choice) -> tuple[float, float]:
        missed = [
            (p.at_least, p.missed_by(probability))
            for p, probability in zip(points, choice.probabilities, strict=True)
        ]
        return (
            max((by for least, by in missed if least), default=1.0),
            max((by for least, by in missed if not least), default=1.0),
        )

    return sorted(choices, key=distance)


def _point(value: Point | str | tuple[float, float]) -> Point:
    if isinstance(value, Point):
        return value
    if isinstance(value, str):
        return Point.parse(value)
    return Point(*_two(value, "a point", "similarity and probability, such as (0.5, 0.99)"))


def _choice(value: tuple[int, int], points: tuple[Point, ...]) -> Choice:
    num_bands, rows = _two(value, "a choice", "bands and rows, such as (42, 3)")
    _check_whole(num_bands, "bands", MAX_BANDS)
    _check_whole(rows, "rows", MAX_ROWS)
    return Choice(int(num_bands), int(rows), points)


def _two(value: Any, what: str, expected: str) -> tuple[Any, Any]:
    try:
        first, second = value
    except (TypeError, ValueError) as error:
        raise SpecError(f"{what} is {value!r}; expected {expected}") from error
    return first, second


def _check_whole(value: Any, name: str, most: int) -> None:
    holds = isinstance(value, Integral) and 1 <= int(value) <= most
    _check(holds, f"{name} is {value!r}; expected a whole number, 1 to {most}")


def _check(holds: bool, message: str, hint: str = "") -> None:
    if not holds:
        raise SpecError(message, hint)
