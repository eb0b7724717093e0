"""What the calls of an index are given, as settings of its parts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from neardup.errors import RecipeError, SpecError
from neardup.index.incoming import Reading
from neardup.recipe import Recipe
from neardup.sketch.bands import candidate_probability
from neardup.spec import Spec
from neardup.spec import preset as settings_of

#: What happens where an index has an id already.
Conflict = Literal["error", "replace", "skip"]
#: What a committed document survives.
Durable = Literal["power", "process"]


def asked_spec(spec: Spec | None, preset: str | None, **given: Any) -> Spec:
    """Return a preset, or a spec, with those values that were given."""
    if spec is not None and (preset is not None or not isinstance(spec, Spec)):
        raise SpecError("give a neardup.Spec as `spec`, or a `preset`; not both")
    base = spec or settings_of(preset or "web")
    return base.replace(**{name: value for name, value in given.items() if value is not None})


def agreed(asked: Spec, recipe: Recipe, shingle_asked: object) -> Spec:
    """Return settings that agree with a recipe."""
    if shingle_asked and asked.shingle != recipe.shingle:
        raise RecipeError(
            f"the recipe has the shingle {recipe.shingle}, and {asked.shingle} was asked for",
            "leave `shingle` out, or give another recipe",
        )
    if recipe.num_bands and asked.num_bands is None:
        found = candidate_probability(asked.threshold, recipe.num_bands, recipe.rows)
        if found < asked.recall - 1e-9:
            raise RecipeError(
                f"the recipe's {recipe.num_bands} bands of {recipe.rows} rows find {found:.1%} of "
                f"the pairs at threshold {asked.threshold:g}; expected {asked.recall:.1%}",
                "raise `threshold`, lower `recall`, or give a recipe for this threshold",
            )
    return asked.replace(shingle=recipe.shingle)


def is_power(durable: str) -> bool:
    """Return whether what is committed survives a power failure."""
    if durable not in ("power", "process"):
        raise SpecError(f"`durable` is {durable!r}; expected 'power' or 'process'")
    return durable == "power"


def how_read(text: str | Sequence[str], id: str | None) -> Reading:
    """Return how a table is read."""
    return Reading((text,) if isinstance(text, str) else tuple(text), id)


def is_file(source: Any) -> bool:
    """Return whether a source is a file, or several."""
    paths = source if isinstance(source, list | tuple) else [source]
    return bool(paths) and isinstance(paths[0], os.PathLike)
