"""Recipes: all that band keys depend on besides the text, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup.kernels
from neardup import Recipe, ShingleSpec
from neardup.errors import RecipeError
from neardup.sketch.sketcher import Sketcher

STEMMED = Recipe(
    ShingleSpec(n=8, stem="english"),
    "oph32/1",
    5,
    17,
    4,
    (("snowball", "3.0.1"), ("tokens", "2")),
)

PLAIN = "6a75b90447305c06d54d7cab6b184fbeb526f9a0a3deaeb1900978e128a2f80a"
OF_STEMS = "a1f445d2da35c7d5d7bdcef2869e2a263c78cd87cf5cde901624ee1c0267ab20"


def test_digests_never_change() -> None:
    """A store that was written years ago is recognised."""
    plain = Recipe(num_bands=17, rows=4)
    assert plain.versions == (("tokens", "2"),)
    assert plain.digest == PLAIN
    assert STEMMED.digest == OF_STEMS
    # The tables of characters are a part of the version of tokens.
    with np.load(Path(neardup.kernels.__file__ or "").parent / "text" / "unicode.npz") as tables:
        assert str(tables["version"]) == "15.1.0"


@pytest.mark.parametrize("recipe", [Recipe(), Recipe(num_bands=20, rows=5), STEMMED])
def test_recipes_go_through_json_and_pickle(recipe: Recipe) -> None:
    for again in (
        Recipe.from_dict(json.loads(json.dumps(recipe.as_dict()))),
        pickle.loads(pickle.dumps(recipe)),
    ):
        assert again == recipe
        assert again.digest == recipe.digest
        assert hash(again) == hash(recipe)
        again.require_same(recipe, "it")


CHANGES: dict[str, Any] = {
    "scheme": "affine32/1",
    "seed": 6,
    "num_bands": 18,
    "rows": 5,
    "versions": (("snowball", "3.0.2"), ("tokens", "2")),
}
SHINGLES = {
    "n": 9, "stem": "german", "keep_case": True, "nfkc": True, "strip_accents": True,
    "join_hyphens": True, "bag": True,
}  # fmt: skip


@pytest.mark.parametrize("name", [*CHANGES, *SHINGLES])
def test_every_field_counts(name: str) -> None:
    if name in CHANGES:
        other = dataclasses.replace(STEMMED, **{name: CHANGES[name]})
    else:
        shingle = dataclasses.replace(STEMMED.shingle, **{name: SHINGLES[name]})
        other = dataclasses.replace(STEMMED, shingle=shingle)
    assert other.digest != STEMMED.digest
    with pytest.raises(RecipeError) as caught:
        STEMMED.require_same(other, "the store")
    assert str(caught.value).startswith("the store has another recipe: ")
    assert name in str(caught.value)
    assert str(caught.value).count(" was ") == 1  # of nothing else


def test_a_recipe_knows_nothing_of_files_or_thresholds() -> None:
    names = {field.name for field in dataclasses.fields(Recipe) if field.compare}
    assert names == {"shingle", "scheme", "seed", "num_bands", "rows", "within", "versions"}
    # That of a run has its threshold, which an index takes over.
    noted = dataclasses.replace(Recipe(), threshold=0.6)
    assert noted == Recipe() and noted.digest == Recipe().digest
    assert noted.as_dict() == Recipe().as_dict() and set(noted.as_dict()) == names
    with pytest.raises(dataclasses.FrozenInstanceError):
        STEMMED.seed = 1  # type: ignore[misc]


def test_a_field_that_one_of_two_lacks_is_named() -> None:
    unstemmed = Recipe(ShingleSpec(n=8), "oph32/1", 5, 17, 4)
    with pytest.raises(RecipeError) as caught:
        STEMMED.require_same(unstemmed, "it")
    assert 'shingle.stem was "english" and is null' in str(caught.value)
    assert 'versions.snowball was "3.0.1" and is absent' in str(caught.value)


def test_stems_have_a_version() -> None:
    import Stemmer

    assert dict(Recipe(ShingleSpec(stem="english")).versions)["snowball"] == Stemmer.version()


def test_versions_that_are_not_installed_are_refused() -> None:
    Recipe(ShingleSpec(stem="english"), num_bands=9, rows=2).require_usable("it")
    old = Recipe(versions=(("tokens", "0"),))
    says = "it was made with tokens/0, and this run uses tokens/2\nhint: make it again"
    with pytest.raises(RecipeError, match=says):
        old.require_usable("it")


def test_equal_recipes_make_equal_keys() -> None:
    one, two = Recipe(num_bands=9, rows=2), pickle.loads(pickle.dumps(Recipe(num_bands=9, rows=2)))
    texts = ["a b c d e f", "something else"]
    assert (Sketcher(one)(texts).keys == Sketcher(two)(texts[::-1]).keys[::-1]).all()
