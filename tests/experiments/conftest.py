"""Lets tests import `experiments`, which is not in the package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments.notes import near_duplicates, synthetic_notes


@pytest.fixture(scope="session")
def notes() -> list[str]:
    """Some of each kind: printouts, forms, chains, free text and near-duplicates."""
    every = synthetic_notes()[:40]
    return every + near_duplicates(every, 30, (0.0, 0.2), seed=1)
