"""Lets tests import `experiments`, which is not in the package; small sizes for them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments.notes import near_duplicates, synthetic_notes
from experiments.sizes import Sizes

#: All that the page needs, of as little as possible.
QUICK = Sizes(
    notes=60,
    few=5,
    many=40,
    bands=(10, 50),
    rows=(1, 2),
    draws=2,
    job_bands=(10, 50),
    job_notes=(100, 200),
    job_words=(75, 150),
    base_notes=100,
    rounds=2,
    passes=1,
    lines=60,
    adverts=80,
    stored=(0, 500, 1_000, 2_000),
)


@pytest.fixture(scope="session")
def notes() -> list[str]:
    """Some of each kind: printouts, forms, chains, free text and near-duplicates."""
    every = synthetic_notes()[:40]
    return every + near_duplicates(every, 30, (0.0, 0.2), seed=1)


@pytest.fixture
def quick() -> Sizes:
    return QUICK
