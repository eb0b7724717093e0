"""How well two values agree, in a few classes, and how often pairs are in each of these."""

from __future__ import annotations

import numpy as np

#: Where the classes of similarity begin; those below the first are class 0. The last class has
#: equal values only.
EDGES = np.array([0.15, 0.3, 0.45, 0.6, 0.75, 0.9], np.float32)
CLASSES, EQUAL = 8, 7
#: No class: a value is missing.
MISSING = -1
#: Added to the count of each class: none is impossible.
PRIOR = 0.5
#: Weights of pairs are multiples of this: their sums do not depend on the order of the pairs.
_UNIT = 2.0**-28


def exact(weights: np.ndarray) -> np.ndarray:
    """Return weights as multiples of a unit: their sums are the same in any order."""
    return np.asarray(np.round(weights / _UNIT) * _UNIT)


def counted(classes: np.ndarray, weights: np.ndarray, count: int = CLASSES) -> np.ndarray:
    """Return float64[count]: the weight of the pairs in each class.

    Args:
        classes: int8[pairs].
        weights: float64[pairs].
        count: Number of classes.
    """
    there = classes >= 0
    return np.bincount(classes[there], weights[there], count).astype(np.float64)


def shares(counts: np.ndarray) -> np.ndarray:
    """Return the shares of counts, none of them zero."""
    return np.asarray((counts + PRIOR) / (counts.sum() + PRIOR * len(counts)))


def monotone_weights(m: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the logarithm of m / u of each class, which never falls with the similarity.

    Neighbouring classes whose ratios fall are pooled (pool adjacent violators).

    Args:
        m: float64[classes]: share of the matches that is in each class.
        u: float64[classes]: that of the pairs of different records.

    Examples:
        >>> weights = monotone_weights(np.array([0.1, 0.2, 0.7]), np.array([0.3, 0.6, 0.1]))
        >>> np.round(np.exp(weights), 3).tolist()
        [0.333, 0.333, 7.0]
    """
    pools: list[list[float]] = []
    for matches, others in zip(m.tolist(), u.tolist(), strict=True):
        pools.append([matches, others, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [x + y for x, y in zip(pools[-1], last, strict=True)]
    return np.concatenate([[np.log(one / two)] * int(size) for one, two, size in pools])
