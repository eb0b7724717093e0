"""Who is made from whom: against a plain Python twin, and in the numbers asked for."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from neardup.synth import SynthSpec, truth

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
LENGTH, SOURCE, SHARE, PERMUTATION = 1, 3, 4, 10


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def key(seed: int, stream: int, index: int) -> int:
    return mix(mix((seed + stream * GOLDEN) & MASK) ^ mix((index + GOLDEN) & MASK))


class Naive:
    """The obvious version of ``plan_range``."""

    def __init__(self, spec: SynthSpec) -> None:
        self.spec = spec
        self.size = spec.documents - 1
        self.bits = max(spec.documents - 2, 0).bit_length()

    def rank(self, position: int) -> int:
        low_bits = self.bits - self.bits // 2
        x = position
        while True:
            high, low = x >> low_bits, x % 2**low_bits
            for turn in range(6):
                if turn % 2:
                    draw = mix(key(self.spec.seed, PERMUTATION, turn) ^ low)
                    high ^= (draw >> 32) % 2 ** (self.bits // 2)
                else:
                    draw = mix(key(self.spec.seed, PERMUTATION, turn) ^ high)
                    low ^= (draw >> 32) % 2**low_bits
            x = high * 2**low_bits + low
            if x < self.size:
                return x

    def role(self, doc: int) -> tuple[str, int | None]:
        if doc == 0:
            return "original", None
        rank = self.rank(doc - 1)
        for family, size in enumerate(self.spec.families):
            if rank < size:
                return "family", family
            rank -= size
        for kind in ("near", "exact"):
            if rank < self.spec.counts[kind]:
                return kind, None
            rank -= self.spec.counts[kind]
        return "original", None

    def source(self, doc: int) -> int:
        state = key(self.spec.seed, SOURCE, doc)
        for _ in range(4096):
            state = (state + GOLDEN) & MASK
            candidate = (mix(state) >> 32) * doc >> 32
            if self.role(candidate)[0] == "original":
                return candidate
        return 0

    def length(self, doc: int) -> int:
        state = key(self.spec.seed, LENGTH, doc)
        draws = []
        for _ in range(5):
            state = (state + GOLDEN) & MASK
            draws.append(mix(state) >> 32)
        low, high = self.spec.words
        return low + (sorted(draws)[1] * (high - low + 1) >> 32)

    def changed(self, doc: int) -> float:
        length = self.length(self.source(doc))
        low, high = self.spec.changed
        share = low + (high - low) * (key(self.spec.seed, SHARE, doc) >> 32) / 2**32
        edits = max(math.floor(share * length + 0.5), math.ceil(low * length - 1e-9))
        return min(edits, math.floor(high * length + 1e-9)) / length

    def rows(self) -> list[dict[str, Any]]:
        roles = [self.role(doc) for doc in range(self.spec.documents)]
        rows = []
        for doc, (kind, family) in enumerate(roles):
            source = None
            if kind in ("near", "exact"):
                source = self.source(doc)
            elif kind == "family":
                first = roles.index((kind, family))
                source = None if first == doc else first
            rows.append(
                {
                    "doc": doc,
                    "id": f"note-{doc:07}",
                    "kind": kind,
                    "source": source,
                    "source_id": None if source is None else f"note-{source:07}",
                    "family": family,
                    "changed": self.changed(doc) if kind == "near" else None,
                }
            )
        return rows


@pytest.mark.parametrize(
    "spec",
    [
        SynthSpec(1),
        SynthSpec(2, family=(), near=0.5),
        SynthSpec(5),
        SynthSpec(500, seed=7),
        SynthSpec(400, seed=2**63 - 1, family=(3, 100, 2), changed=(0.05, 0.1), words=(20, 40)),
        SynthSpec(64, near=0.6, exact=0.38, family=()),
    ],
    ids=repr,
)
def test_truth_is_that_of_the_plain_twin(spec: SynthSpec) -> None:
    assert truth(spec).to_pylist() == Naive(spec).rows()


@pytest.mark.parametrize("seed", range(3))
def test_kinds_come_in_the_numbers_asked_for(seed: int) -> None:
    spec = SynthSpec(10_000, seed=seed, near=0.15, exact=0.05, family=(700, 30))
    table = truth(spec)
    assert Counter(table["kind"].to_pylist()) == {  # exactly, not only about
        "original": 7270,
        "near": 1500,
        "exact": 500,
        "family": 730,
    }
    assert Counter(table["family"].drop_null().to_pylist()) == {0: 700, 1: 30}


def test_sources_are_earlier_originals_and_spread() -> None:
    table = truth(SynthSpec(20_000, seed=1))
    kinds = np.array(table["kind"].to_pylist())
    made = np.isin(kinds, ("near", "exact"))
    sources = table["source"].to_numpy(zero_copy_only=False)[made].astype(np.int64)
    docs = table["doc"].to_numpy()[made]
    assert (sources < docs).all()
    assert (kinds[sources] == "original").all()
    # source / doc is uniform on [0, 1): n = 6000, so its mean is 0.5 with standard error 0.0037.
    assert abs((sources / docs).mean() - 0.5) < 0.02
    # Made documents are spread: the mean position is 0.5 of all, standard error 0.0037.
    assert abs(docs.mean() / 20_000 - 0.5) < 0.02
    assert max(Counter(sources.tolist()).values()) > 1  # one original may have several


def test_changed_is_uniform_over_the_range() -> None:
    changed = truth(SynthSpec(20_000, seed=3))["changed"].drop_null().to_numpy()
    assert changed.size == 4000
    assert changed.min() >= 0 and changed.max() <= 0.2
    # Uniform on [0, 0.2]: mean 0.1, standard error 0.2 / sqrt(12 * 4000) = 0.0009; five of them.
    assert abs(changed.mean() - 0.1) < 0.0046
    deciles = np.histogram(changed, bins=10, range=(0, 0.2))[0]
    assert deciles.min() > 300 and deciles.max() < 500  # 400 expected, standard deviation 19


def test_source_of_a_family_is_its_first_member() -> None:
    rows = truth(SynthSpec(3000, seed=5, family=(100, 50))).to_pylist()
    for family, size in enumerate((100, 50)):
        members = [row for row in rows if row["family"] == family]
        assert len(members) == size
        assert members[0]["source"] is None
        assert {row["source"] for row in members[1:]} == {members[0]["doc"]}


def test_another_seed_is_another_corpus() -> None:
    one, two = (truth(SynthSpec(1000, seed=seed))["kind"].to_pylist() for seed in (0, 1))
    assert one != two
