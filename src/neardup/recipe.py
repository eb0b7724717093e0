"""Recipe: how a text becomes band keys. Equal recipes make comparable keys, on any machine."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from neardup.errors import RecipeError
from neardup.spec import (
    SCHEMES,
    ShingleSpec,
    Spec,
    check_integer,
    keywords_checked,
    plain_values,
    with_shingle,
)
from neardup.values.json_values import differences

#: Version of the tokeniser: its rules, and Unicode 15.1.0. Other tables get another number.
TOKENS = "2"


@keywords_checked
@dataclass(frozen=True, slots=True)
class Recipe:
    """All that a document's band keys depend on besides its text.

    Files, numbers of documents and thresholds are no part of it. So keys of different corpora, days
    and machines can be compared.

    Attributes:
        shingle: How a text becomes a set of shingles.
        scheme: Signature scheme with its version; versions are never redefined.
        seed: Seed of the hash functions.
        num_bands: Bands; 0 for an exact join, which has none.
        rows: Signature entries in a band; 0 without bands.
        versions: Versions of libraries that the keys depend on, by name.
        within: Column of the groups: only documents with equal values have equal keys.
        threshold: Of a run or an index: its threshold, which `neardup.Index.create` takes over. It
            is not compared, not stored, and no part of the digest.
    """

    shingle: ShingleSpec = field(default_factory=ShingleSpec)
    scheme: str = SCHEMES["affine32"]
    seed: int = 0
    num_bands: int = 0
    rows: int = 0
    versions: tuple[tuple[str, str], ...] = ()
    within: str | None = None
    threshold: float | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Which raises SpecError for values out of range.
        spec = Spec(self.shingle, self.scheme, self.seed, within=self.within)
        object.__setattr__(self, "shingle", spec.shingle)
        check_integer("`num_bands`", self.num_bands, 0, 2**31 - 1)
        check_integer("`rows`", self.rows, 0, 2**31 - 1)
        if not self.versions:
            versions = [("tokens", TOKENS)]
            if self.shingle.stem is not None:
                import Stemmer

                versions.append(("snowball", Stemmer.version()))
            object.__setattr__(self, "versions", tuple(sorted(versions)))

    @property
    def num_hashes(self) -> int:
        """Entries of a signature."""
        return self.num_bands * self.rows

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, which JSON can represent.

        >>> Recipe.from_dict(Recipe(num_bands=17, rows=4).as_dict()).rows
        4
        """
        values = {**plain_values(self), "versions": dict(self.versions)}
        return {name: value for name, value in values.items() if name != "threshold"}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Recipe":
        """Make a recipe from a result of `as_dict`."""
        found = with_shingle(values, "versions")
        return cls(**{**found, "versions": tuple(sorted(found["versions"].items()))})

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all fields; equal recipes, equal digests."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(b"neardup recipe 1\0" + text.encode()).hexdigest()

    def require_same(self, other: "Recipe", where: str) -> None:
        """Refuse another recipe, since its keys can't be compared with those of this one.

        Args:
            other: The recipe that is asked for.
            where: What this recipe belongs to, for the message.

        Raises:
            RecipeError: They differ; the message names the fields.
        """
        made, asked = (dict(recipe.versions).get("tokens") for recipe in (self, other))
        if made != asked:
            message = f"{where} was made with tokens/{made}, and this run uses tokens/{asked}"
            raise RecipeError(message, "make it again")
        if found := differences(self.as_dict(), other.as_dict()):
            message = f"{where} has another recipe: {found}"
            raise RecipeError(message, "use the same settings and versions, or make it again")

    def require_usable(self, where: str) -> None:
        """Refuse a recipe that the versions installed today don't follow.

        Args:
            where: What this recipe belongs to, for the message.

        Raises:
            RecipeError: A version differs; the message names it.
        """
        self.require_same(dataclasses.replace(self, versions=()), where)
