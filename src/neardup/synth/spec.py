"""What a made corpus depends on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from neardup.errors import SpecError

__all__ = ["SynthSpec"]

#: Named with what is made; a change of what a spec gives gets a new one.
RECIPE = "synth/1"

MAX_DOCUMENTS = 2**31 - 1
MAX_VOCABULARY = 2**20
MAX_WORDS = 100_000


def _check(condition: bool, message: str, hint: str = "") -> None:
    if not condition:
        raise SpecError(message, hint)


def _whole(name: str, value: object, low: int, high: int) -> None:
    _check(
        isinstance(value, int) and not isinstance(value, bool) and low <= value <= high,
        f"{name} is {value!r}; expected a whole number from {low} to {high}",
    )


def _share(name: str, value: object) -> None:
    _check(
        isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1,
        f"{name} is {value!r}; expected a number in [0, 1]",
    )


def _pair(name: str, value: object) -> tuple[Any, Any]:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise SpecError(f"{name} is {value!r}; expected two numbers, the lower first")
    items = tuple(value)
    _check(len(items) == 2, f"{name} is {items!r}; expected two numbers, the lower first")
    return items[0], items[1]


@dataclass(frozen=True, slots=True)
class SynthSpec:
    """Everything that a made corpus depends on; neither threads nor formats do.

    Shares are of all documents and met exactly, to the nearest document. What is neither near,
    exact nor in a family is an original; position 0 always is one. Near-duplicates and exact
    copies are made from originals before them, never from each other.

    Attributes:
        documents: Number of documents, 1 to 2**31 - 1.
        seed: 0 to 2**63 - 1.
        near: Share of near-duplicates.
        exact: Share of exact copies.
        changed: Least and greatest share of its source's words that a near-duplicate changes
            (replaces, deletes, or puts a new word before); uniform between them.
        family: Size of each template family, 2 or more; None for one family of a twentieth of
            all documents (none where that is below 2), and () for none. A member is 200 words of
            boilerplate and 20 slots of one word, whatever ``words`` says.
        family_values: How many values each slot has, 1 to ``vocabulary``; the value of rank r has
            weight 1/r. With 1000, two members differ in nearly all slots; with 2 they agree in
            5 of 9, and their Jaccard similarity by 5-word shingles lies astride 0.7.
        words: Least and greatest number of words (between white space) of all other documents;
            the mean of originals is at a third of the range.
        vocabulary: Number of different words, 100 to 2**20; frequency falls as 1/rank.

    Raises:
        SpecError: A field is out of range, or there are more documents of the kinds asked for
            than documents.

    >>> SynthSpec(1000).counts
    {'original': 650, 'near': 200, 'exact': 100, 'family': 50}
    """

    documents: int
    seed: int = 0
    near: float = 0.2
    exact: float = 0.1
    changed: tuple[float, float] = (0.0, 0.2)
    family: tuple[int, ...] | None = None
    family_values: int = 1000
    words: tuple[int, int] = (50, 800)
    vocabulary: int = 50_000

    def __post_init__(self) -> None:
        _whole("documents", self.documents, 1, MAX_DOCUMENTS)
        _whole("seed", self.seed, 0, 2**63 - 1)
        _share("near", self.near)
        _share("exact", self.exact)
        low, high = _pair("changed", self.changed)
        _share("least share changed", low)
        _share("greatest share changed", high)
        _check(low <= high, f"changed is {low}:{high}; expected the lower share first")
        object.__setattr__(self, "changed", (float(low), float(high)))
        fewest, most = _pair("words", self.words)
        _whole("least number of words", fewest, 5, MAX_WORDS)
        _whole("greatest number of words", most, 5, MAX_WORDS)
        _check(fewest <= most, f"words is {fewest}:{most}; expected the lower number first")
        object.__setattr__(self, "words", (fewest, most))
        _whole("vocabulary", self.vocabulary, 100, MAX_VOCABULARY)
        _whole("family values", self.family_values, 1, self.vocabulary)
        if self.family is None:
            twentieth = self.documents // 20
            object.__setattr__(self, "family", (twentieth,) if twentieth >= 2 else ())
        else:
            _check(
                isinstance(self.family, Iterable) and not isinstance(self.family, str | bytes),
                f"family is {self.family!r}; expected the sizes of the families",
                "for example (5000, 200), or () for none",
            )
            object.__setattr__(self, "family", tuple(self.family))
        for size in self.families:
            _whole("family size", size, 2, MAX_DOCUMENTS)
        counts = self.counts
        _check(
            counts["original"] >= 1,
            f"{counts['near']} near-duplicates, {counts['exact']} exact copies and "
            f"{counts['family']} family members leave no original among {self.documents} documents",
            "lower the shares or the family sizes; one original at least is needed",
        )

    @property
    def families(self) -> tuple[int, ...]:
        """Sizes of the families; ``family`` with the default resolved."""
        return self.family or ()

    @property
    def counts(self) -> dict[str, int]:
        """How many documents of each kind the corpus holds."""
        near, exact = round(self.near * self.documents), round(self.exact * self.documents)
        family = sum(self.families)
        original = self.documents - near - exact - family
        return {"original": original, "near": near, "exact": exact, "family": family}

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as they are stored with what was made, and digested."""
        return {"recipe": RECIPE, **dataclasses.asdict(self)}

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the canonical JSON of all fields; equal specs, equal digests."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(b"neardup synth\0" + text.encode()).hexdigest()
