"""How often each value is there: that two records share a rare one is strong evidence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.linkage.features import Features
from neardup.threads import Pool

_MIX = np.uint64(0x9E3779B97F4A7C15)


class ValueCounts(NamedTuple):
    """Records by value of each field.

    Attributes:
        counts: int32[n, k]: records that have the value of this one; 0 where it is missing.
        present: int64[k]: records that have a value.
        equal: float64[k]: pairs of records whose values are equal.
    """

    counts: np.ndarray
    present: np.ndarray
    equal: np.ndarray

    @property
    def scale(self) -> np.ndarray:
        """float64[k]: the logarithm of the other records that have a value."""
        return np.asarray(np.log(np.maximum(self.present - 1.0, 1.0)))

    def rarity(self, a: np.ndarray, b: np.ndarray, field: int) -> np.ndarray:
        """Return float64[pairs]: how rare the values of pairs are, as a logarithm.

        It is the mean of 1 / share, the share being that of the other records that have the value.
        A match that differs by an error has the value of one record as the true one, and any error
        in the other: how likely that is depends on the true value only. Two records that differ
        have both values by chance. The odds are therefore those of one value, either of the two.
        """
        x, y = (np.maximum(self.counts[of, field] - 1.0, 0.5) for of in (a, b))
        return np.asarray(np.log((1 / x + 1 / y) / 2) + self.scale[field])


def value_counts(features: Features, pool: Pool) -> ValueCounts:
    """Count the records by value."""
    columns = list(pool.ordered(_counts, features.hashes.T))
    counts = np.column_stack([column for column, _ in columns])
    equal = np.array([pairs for _, pairs in columns])
    return ValueCounts(counts, (counts > 0).sum(axis=0), equal)


def equal_pairs(hashes: np.ndarray) -> float:
    """Return the number of pairs of equal values, of uint64[n]; 0 is no value."""
    ordered = np.sort(hashes)
    ordered = ordered[int(np.searchsorted(ordered, np.uint64(1))) :]
    ends = np.flatnonzero(ordered[1:] != ordered[:-1])
    size = np.diff(ends, prepend=-1, append=len(ordered) - 1).astype(np.float64)
    return float((size * (size - 1) / 2).sum())


def both(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Return uint64[n]: a hash of two values; 0 where one is missing."""
    mixed = (one * _MIX) ^ (two + (one >> np.uint64(32)))
    return np.asarray(np.where((one != 0) & (two != 0), mixed | np.uint64(1), np.uint64(0)))


def row_hashes(features: Features) -> np.ndarray:
    """Return uint64[n]: a hash of all values of each record."""
    found = np.zeros(len(features.hashes), np.uint64)
    for column in features.hashes.T:
        found = (found ^ column) * _MIX
        found ^= found >> np.uint64(32)
    return found


def _counts(hashes: np.ndarray) -> tuple[np.ndarray, float]:
    values, which, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    counts[values == 0] = 0
    of = counts.astype(np.float64)
    return counts.astype(np.int32)[which.reshape(-1)], float((of * (of - 1) / 2).sum())
