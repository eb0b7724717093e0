"""Which document is derived from which: in the numbers asked for, at random places."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from bench.notes import SHAPES, Family, SynthSpec, truth
from bench.notes.ragged import ragged_draws
from neardup.errors import SpecError
from neardup.synth.synthetic_words import Stream, permute, stream_keys

MASK = 2**64 - 1


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 1000, 4097])
def test_permutation_and_its_inverse(size: int) -> None:
    places = np.arange(size)
    for seed in range(3):
        moved = permute(places, size, seed)
        assert sorted(moved.tolist()) == places.tolist()
        assert (permute(moved, size, seed, back=True) == places).all()


def test_permutation_of_two_billion() -> None:
    size = 2**31 - 1
    places = np.array([0, 1, 12345, size - 1])
    moved = permute(places, size, 9)
    assert moved.min() >= 0 and moved.max() < size
    assert (permute(moved, size, 9, back=True) == places).all()


def test_draws_are_those_of_plain_integers() -> None:
    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        return z ^ (z >> 31)

    golden, seed, places, counts = 0x9E3779B97F4A7C15, 2**63 - 1, [0, 7, 2**40], [3, 0, 5]
    outer = mix((seed + Stream.TEXT * golden) & MASK)
    keys = [mix(outer ^ mix((place + golden) & MASK)) for place in places]
    assert stream_keys(seed, Stream.TEXT, np.array(places)).tolist() == keys
    expected = []
    for key, count in zip(keys, counts, strict=True):
        for i in range(count):
            x = (key + i * 0x9E3779B9) % 2**32
            x = (x ^ x >> 16) * 0x21F0AAAD % 2**32 ^ key >> 32
            x = (x ^ x >> 15) * 0x735A2D97 % 2**32
            expected.append(x ^ x >> 16)
    found = ragged_draws(np.array(keys, np.uint64), np.array(counts))
    assert found.tolist() == expected


def test_draws_are_uniform_and_independent_of_their_neighbours() -> None:
    keys = stream_keys(1, Stream.TEXT, np.arange(1000))
    draws = ragged_draws(keys, np.full(1000, 256)).reshape(1000, 256) / 2**32
    counts = np.histogram(draws, bins=256, range=(0, 1))[0]
    # Chi square with 255 degrees of freedom: mean 255, standard deviation 22.6; six of them.
    assert ((counts - 1000) ** 2 / 1000).sum() < 255 + 6 * 22.6
    for one, two in ((draws[:, :-1], draws[:, 1:]), (draws[:-1], draws[1:])):
        assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 6 / math.sqrt(one.size)


@pytest.mark.parametrize("seed", range(3))
def test_kinds_come_in_the_numbers_asked_for(seed: int) -> None:
    families = (Family(700), Family(30))
    spec = SynthSpec(10_000, seed=seed, near=0.15, exact=0.05, families=families)
    table = truth(spec)
    counts = {"original": 7270, "near": 1500, "exact": 500, "family": 730}
    assert Counter(table["kind"].to_pylist()) == counts == spec.counts
    assert Counter(table["family"].drop_null().to_pylist()) == {0: 700, 1: 30}


def rows_of(spec: SynthSpec) -> list[dict[str, Any]]:
    return truth(spec).to_pylist()


def test_sources_are_originals_and_spread() -> None:
    rows = rows_of(SynthSpec(20_000, seed=1))
    derived = [row for row in rows if row["kind"] in ("near", "exact")]
    assert len(derived) == 6000
    assert {rows[row["source"]]["kind"] for row in derived} == {"original"}
    assert all(row["source_id"] == rows[row["source"]]["id"] for row in derived)
    for values in ("source", "doc"):  # uniform: 0.5 of all, standard error 0.0037
        assert abs(np.mean([row[values] for row in derived]) / 20_000 - 0.5) < 0.02
    shares = Counter(row["source"] for row in derived)
    assert 1 < max(shares.values()) < 12  # Poisson with mean 0.46
    originals = [row for row in rows if row["kind"] == "original"]
    assert all(row["source"] is row["source_id"] is row["changed"] is None for row in originals)


def test_changed_is_uniform_over_the_range() -> None:
    changed = truth(SynthSpec(20_000, seed=3))["changed"].drop_null().to_numpy()
    assert changed.size == 4000
    assert changed.min() >= 0 and changed.max() <= 0.2
    # Uniform on [0, 0.2]: mean 0.1, standard error 0.2 / sqrt(12 * 4000) = 0.0009; five of them.
    assert abs(changed.mean() - 0.1) < 0.0046
    deciles = np.histogram(changed, bins=10, range=(0, 0.2))[0]
    assert deciles.min() > 300 and deciles.max() < 500  # 400 expected, standard deviation 19


def test_one_member_stands_for_its_family() -> None:
    rows = rows_of(SynthSpec(3000, seed=5, families=(Family(100), Family(50))))
    for family, size in enumerate((100, 50)):
        members = [row for row in rows if row["family"] == family]
        assert len(members) == size
        heads = [row["doc"] for row in members if row["source"] is None]
        assert len(heads) == 1
        assert {row["source"] for row in members} == {None, heads[0]}


def test_another_seed_is_another_corpus() -> None:
    one, two = (truth(SynthSpec(1000, seed=seed))["kind"].to_pylist() for seed in (0, 1))
    assert one != two


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str) -> None:
    spec = SynthSpec.shaped(shape, 1000, seed=3)
    near = {"mixed": 200, "around": 300}.get(shape, 0)
    family = 0 if shape == "few" else 50
    assert spec.counts["near"] == near and spec.counts["family"] == family
    assert spec.counts["exact"] == (100 if shape == "mixed" else 20)
    ends = {"above": (0.9, 0.9), "around": (0.65, 0.75)}.get(shape, (0.4, 0.4))
    assert all((f.low, f.high) == ends for f in spec.families or ())


def test_mixed_is_the_default() -> None:
    assert SynthSpec.shaped("mixed", 1000) == SynthSpec(1000)
    assert SynthSpec(1000) == SynthSpec(1000, families=(Family(50, 0.4, 0.4),), changed=(0, 0.2))
    assert SynthSpec(30).families == ()  # a family of one would be no family
    assert SynthSpec.shaped("few", 100, near=0.5).counts["near"] == 50


@pytest.mark.parametrize(
    "fields",
    [
        {"documents": 0},
        {"documents": 2**31},
        {"documents": 1.5},
        {"seed": -1},
        {"near": -0.1},
        {"near": float("nan")},
        {"near": 0.6, "exact": 0.4},
        {"exact": 1.1},
        {"changed": (0.2, 0.1)},
        {"changed": (0.0, 1.2)},
        {"families": (Family(1000),)},
        {"words": (4, 10)},
        {"words": (20, 10)},
        {"words": (50, 10**6)},
        {"vocabulary": 99},
        {"vocabulary": 100_001},
    ],
    ids=str,
)
def test_settings_out_of_range(fields: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        SynthSpec(**{"documents": 1000, **fields})


@pytest.mark.parametrize(
    "fields", [(1,), (2.5,), (20, 0.01), (20, 0.995), (20, 0.5, 0.4), (20, float("nan"))], ids=str
)
def test_families_out_of_range(fields: tuple[Any, ...]) -> None:
    with pytest.raises(SpecError):
        Family(*fields)
