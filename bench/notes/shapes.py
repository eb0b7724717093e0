"""What a synthetic corpus depends on, and the named shapes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from neardup.errors import SpecError
from neardup.spec import check_integer, check_probability

#: Stored with every corpus. A change of the texts that a spec gives needs another version.
VERSION = "synth/2"
#: Shares of near-duplicates and of exact copies, and the similarities of a family of a twentieth.
SHAPES: dict[str, tuple[float, ...]] = {
    "few": (0.0, 0.02),
    "mixed": (0.2, 0.1, 0.4),
    "above": (0.0, 0.02, 0.9),
    "around": (0.3, 0.02, 0.65, 0.75),
    "below": (0.0, 0.02, 0.4),
}


def _check_range(name: str, ends: tuple[float, float], low: float, high: float) -> None:
    if not low <= ends[0] <= ends[1] <= high:
        raise SpecError(f"{name} is {ends}; expected a range in {low:g} to {high:g}")


@dataclass(frozen=True, slots=True)
class Family:
    """Notes of one template: fixed text with slots, each filled with one of some values.

    Similarity is Jaccard on sets of five successive words. About nine of ten pairs of members are
    between ``low`` and ``high``. A range wider than about 0.3 is not filled.
    """

    size: int  # number of members, 2 or more
    low: float = 0.4  # lower end of the similarity of two members, 0.05 to 0.99
    high: float | None = None  # upper end, ``low`` to 0.99; None for ``low``

    def __post_init__(self) -> None:
        low, high = float(self.low), float(self.low if self.high is None else self.high)
        check_integer("size of a family", self.size, 2, 2**31 - 1)
        _check_range("similarity of a family", (low, high), 0.05, 0.99)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def template(self) -> tuple[int, int, int]:
        """Return the numbers of words, slots, and values of a slot (0: any word).

        Two members that differ in d slots, 5 words or more apart, share all but 5 d of their T
        shingles: J = (1 - x) / (1 + x) with x = 5 d / T. Slots agree with some probability q, so
        x has the mean 5 n (1 - q) / T and the variance 25 n q (1 - q) / T**2 for n slots; q and
        T are chosen for a standard deviation of the half range / 1.65 (90 % of a normal law).
        """
        lowest, highest = ((1 - j) / (1 + j) for j in (self.high or self.low, self.low))
        middle, deviation = (lowest + highest) / 2, (highest - lowest) / 3.3
        shingles, agree, values = 250.0, 0.0, 0
        if deviation > 0:
            limit = min(5 / 9, 1 - middle)  # of two values; and slots are 5 words apart
            shingles = min(shingles, max(40.0, 5 * middle * limit / deviation**2))
            wanted = min(limit, deviation**2 * shingles / (5 * middle))
            total = square = 0.0
            while values < 2 or (square / total**2 > wanted and values < 1000):
                values += 1
                total, square = total + 1 / values, square + 1 / values**2
            agree = square / total**2  # of two draws, where value r has the weight 1 / r
        slots = max(1, round(shingles * middle / 5 / (1 - agree)))
        return round(5 * slots * (1 - agree) / middle) + 4, slots, values


@dataclass(frozen=True, slots=True)
class SynthSpec:
    """Everything that a synthetic corpus depends on; threads and file formats are no part of it.

    Shares are of all documents. What is neither a near-duplicate nor an exact copy nor a member of
    a family is an original. Near-duplicates and exact copies are derived from originals.

    >>> SynthSpec(1000).counts
    {'original': 650, 'near': 200, 'exact': 100, 'family': 50}
    """

    documents: int  # 1 to 2**31 - 1
    seed: int = 0  # to 2**63 - 1
    near: float = 0.2  # share of near-duplicates
    exact: float = 0.1  # share of exact copies
    # Lowest and highest share of its source's words that a near-duplicate changes (eight of ten
    # replaced, the others deleted or inserted); uniform between the two.
    changed: tuple[float, float] = (0.0, 0.2)
    families: tuple[Family, ...] | None = None  # None for one of a twentieth of all, at 0.4
    words: tuple[int, int] = (50, 800)  # of a document in no family; the mean is at a third
    vocabulary: int = 50_000  # different words, 100 to 100,000; frequency falls as 1 / rank

    def __post_init__(self) -> None:
        check_integer("documents", self.documents, 1, 2**31 - 1)
        check_integer("seed", self.seed, 0, 2**63 - 1)
        for name, share in (("near", self.near), ("exact", self.exact)):
            check_probability(name, share, low_open=False, high_open=False)
        low, high = self.changed
        object.__setattr__(self, "changed", (float(low), float(high)))
        _check_range("changed", self.changed, 0, 1)
        _check_range("words", self.words, 5, 100_000)
        check_integer("vocabulary", self.vocabulary, 100, 100_000)
        if self.families is None:
            size = self.documents // 20
            object.__setattr__(self, "families", (Family(size),) if size > 1 else ())
        if self.counts["original"] < 1:
            raise SpecError(
                f"no original is left among {self.documents} documents: {self.counts}",
                "lower the shares or the sizes of families",
            )

    @classmethod
    def shaped(cls, shape: str, documents: int, seed: int = 0, **changes: Any) -> SynthSpec:
        """Return the spec of a shape of ``SHAPES``; ``changes`` are fields that replace its own.

        >>> SynthSpec.shaped("around", 1000).counts
        {'original': 630, 'near': 300, 'exact': 20, 'family': 50}
        """
        near, exact, *likeness = SHAPES[shape]
        size = documents // 20
        families = (Family(size, *likeness),) if likeness and size > 1 else ()
        fields: dict[str, Any] = {"near": near, "exact": exact, "families": families}
        return cls(documents, seed, **{**fields, **changes})

    @property
    def counts(self) -> dict[str, int]:
        near, exact = round(self.near * self.documents), round(self.exact * self.documents)
        family = sum(f.size for f in self.families or ())
        original = self.documents - near - exact - family
        return {"original": original, "near": near, "exact": exact, "family": family}

    def as_dict(self) -> dict[str, Any]:
        return {"version": VERSION, **dataclasses.asdict(self)}
