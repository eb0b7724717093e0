"""Random pairs of records, which hardly ever are one: what agreement by chance looks like."""

from __future__ import annotations

import numpy as np

from neardup.linkage.decision.weights.frequencies import row_hashes
from neardup.linkage.features import Features

#: Pairs that are drawn.
DRAWN = 120_000


def random_pairs(features: Features) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs of records: int32[pairs] twice.

    Draws are from the records in the order of their content. The same values give the same pairs of
    values, in any order of the records.
    """
    order = np.argsort(row_hashes(features), kind="stable").astype(np.int32)
    one, two = np.random.default_rng(0).integers(len(order), size=(2, DRAWN))
    differ = one != two
    return order[one[differ]], order[two[differ]]
