"""The bound of bench/growing.py: no rule that leaves old records where they are is better."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path

import numpy as np
import pytest

from neardup.inspect.agreement import pair_counts

BENCH = Path(__file__).parents[2] / "bench"


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
