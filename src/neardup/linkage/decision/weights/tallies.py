"""How often pairs are in each class of agreement, and in those of two fields together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels.record_pairs import tally_classes
from neardup.linkage.decision.weights.agreement_classes import CLASSES, EQUAL, shares
from neardup.threads import Pool

#: Coarse classes of the classes of agreement.
COARSE = np.array([0, 0, 1, 1, 2, 2, 2, 3, -1], np.int8)
LEVELS, SAME = 4, 3
#: Pairs that a thread counts together.
STEP = 1 << 16


class WeightTally(NamedTuple):
    """Weights of some pairs, added up.

    Attributes:
        single: float64[fields, classes + 1]: by the class of each field; the last one has those of
            missing values.
        double: float64[fields, fields, levels + 1, levels + 1]: by the coarse classes of two
            fields, the first of which is before the second.
    """

    single: np.ndarray
    double: np.ndarray

    def shares(self) -> tuple[np.ndarray, ...]:
        """Return the share of the pairs in each class, of each field; none of them zero."""
        return tuple(shares(of[:CLASSES]) for of in self.single)

    def equal(self, *fields: int) -> float:
        """Return the weight of the pairs that are equal in one field, or in two."""
        if len(fields) == 1:
            return float(self.single[fields[0], EQUAL])
        one, two = sorted(fields)
        return float(self.double[one, two, SAME, SAME])


def tally(classes: np.ndarray, weights: np.ndarray, pool: Pool | None = None) -> WeightTally:
    """Add up the weights of pairs.

    Args:
        classes: int8[pairs, fields].
        weights: float64[pairs]: what each counts, a multiple of the unit of `exact`.
        pool: Threads.
    """

    def part(first: int, last: int) -> WeightTally:
        found = nothing(classes.shape[1])
        tally_classes(classes[first:last], weights[first:last], COARSE, *found)
        return found

    parts = pool.ranges(part, len(classes), STEP) if pool else [part(0, len(classes))]
    total = nothing(classes.shape[1])
    for one in parts:
        for sums, more in zip(total, one, strict=True):
            sums += more
    return total


def nothing(fields: int) -> WeightTally:
    """Return the tally of no pairs."""
    levels = LEVELS + 1
    return WeightTally(np.zeros((fields, CLASSES + 1)), np.zeros((fields, fields, levels, levels)))
