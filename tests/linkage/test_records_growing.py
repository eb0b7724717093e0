"""The bound of bench/growing.py: no rule that leaves old records where they are is better."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path

import numpy as np
import pytest
from made_records import made_persons

import neardup
from neardup.cluster.agreement import pair_counts
from neardup.linkage.decision.clusters import follow_clusters

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.long
def test_no_rule_reaches_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way to put three new records into the clusters of four old ones, or into new ones."""
    monkeypatch.syspath_prepend(str(BENCH))
    bound = importlib.import_module("growing").bound
    rng, reached = np.random.default_rng(4), 0
    for _ in range(40):
        half, every = rng.integers(0, 3, 4), rng.integers(0, 3, 7)
        best = 0.0
        for added in itertools.product(range(6), repeat=3):  # from 3 on they are new clusters
            labels = np.append(half, added)
            best = max(best, pair_counts(labels, every).scores()["f1"] or 0.0)
        assert best <= bound(half, every) + 1e-9
        reached += best > bound(half, every) - 1e-9
    assert reached > 20


def test_half_then_the_rest_is_as_near_to_one_linkage_as_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    growing = importlib.import_module("growing")
    table, _ = made_persons(800, seed=7, near=0.5)
    fields = ["given_name", "surname"]
    one = neardup.link(table, id="id", fields=fields).clusters["cluster"].to_numpy()
    first = neardup.link(table.slice(0, 400), id="id", fields=fields)
    index = first.index()
    new = neardup.link(table.slice(400), against=index)
    half, grown = (found.clusters["cluster"].to_numpy() for found in (first, index))
    assert grown[:400].tolist() == half.tolist()
    assert new.clusters["cluster"].to_pylist() == grown[400:].tolist()
    # Some clusters of the first half would have been others.
    assert pair_counts(half, one[:400]).scores()["f1"] < 1
    agreed = pair_counts(grown, one).scores()["f1"]
    assert agreed == pytest.approx(growing.bound(half, one))


def test_new_records_follow_the_majority() -> None:
    rng = np.random.default_rng(8)
    for _ in range(500):
        old, every = rng.integers(0, 4, 6), rng.integers(0, 4, 10)
        head, tail = every[:6], every[6:].tolist()
        found = follow_clusters(every, old, np.arange(100, 104))
        joined = {of: 100 + tail.index(of) for of in tail}
        surplus: dict[int, list[tuple[int, int]]] = {of: [] for of in tail}
        for name in set(old.tolist()):
            inside = {of: int(np.sum((old == name) & (head == of))) for of in tail}
            outside = {of: int(np.sum(old == name)) - count for of, count in inside.items()}
            half = [of for of in inside if inside[of] >= outside[of] and inside[of]]
            if half:
                of = min(half, key=lambda of: (-tail.count(of), of))
                surplus[of].append((inside[of] - outside[of], -name))
        joined |= {of: -max(several)[1] for of, several in surplus.items() if several}
        assert found.tolist() == [joined[of] for of in tail]
