"""Which fields agree together in pairs of different records: a tree of dependences.

The tree has the pairs of fields with the highest mutual information (C. K. Chow, C. N. Liu.
Approximating discrete probability distributions with dependence trees. IEEE Transactions on
Information Theory, 1968). Its ratios are shrunk, as one stray match is no dependence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.linkage.decision.weights.tallies import COARSE, LEVELS, WeightTally

#: Added to observed and expected counts.
SHRINK = 5.0


class Dependence(NamedTuple):
    """Two fields that depend on one another.

    Attributes:
        one: Number of a field.
        two: That of the other.
        strength: Mutual information of the two, in nats, of shrunk ratios.
        ratios: float64[4, 4]: the logarithm of how often two coarse classes are together, over how
            often they would be if the fields were independent.
    """

    one: int
    two: int
    strength: float
    ratios: np.ndarray

    def of(self, classes: np.ndarray) -> np.ndarray:
        """Return float64[pairs]: log odds that the agreement of both fields counts twice.

        Args:
            classes: int8[pairs, fields].
        """
        return np.asarray(
            self._padded()[COARSE[classes[:, self.one]], COARSE[classes[:, self.two]]]
        )

    def _padded(self) -> np.ndarray:
        # With a last row and column of zeros, which -1, a missing value, selects.
        return np.pad(self.ratios, ((0, 1), (0, 1)))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**self._asdict(), "ratios": self.ratios.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Dependence:
        """Make a dependence from what `as_dict` returned."""
        return cls(**{**values, "ratios": np.array(values["ratios"])})


def learn_tree(tally: WeightTally, fields: int) -> tuple[Dependence, ...]:
    """Find the tree of dependences of some pairs of different records.

    Args:
        tally: Of the pairs, by how sure it is that they differ.
        fields: How many of the first ones are in the tree.
    """
    found = []
    for one in range(fields):
        for two in range(one + 1, fields):
            observed = tally.double[one, two, :LEVELS, :LEVELS]
            total = observed.sum()
            if total <= 0:
                continue
            expected = observed.sum(axis=1)[:, None] * observed.sum(axis=0) / total
            ratios = shrunk(observed, expected)
            strength = float((observed * ratios).sum() / total)
            if strength > 0:
                found.append(Dependence(one, two, strength, ratios))
    tree, group = [], list(range(fields))
    for edge in sorted(found, key=lambda edge: (-edge.strength, edge.one, edge.two)):
        old, new = group[edge.two], group[edge.one]
        if old != new:
            group = [new if of == old else of for of in group]
            tree.append(edge)
    return tuple(tree)


def shrunk(observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the logarithm of observed over expected counts, near 0 where both are small."""
    return np.asarray(np.log((observed + SHRINK) / (expected + SHRINK)))
