"""Fields whose values are swapped in some records: given name and surname.

Where two values of a pair of records are equal crosswise more often than chance would have it, the
two fields are compared crosswise, too.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from neardup.kernels.record_pairs import compare_swapped, count_crosswise
from neardup.linkage.features import Features
from neardup.linkage.fields import LinkSpec
from neardup.threads import Pool

#: Pairs that show that two fields are swapped; and how many more these are than chance makes.
_FEWEST, _BY_CHANCE, _DEVIATIONS = 5, 2.0, 3.0
#: Mean of the crosswise similarities from which on values are swapped, and their similarity
#: next to that of others: two equal ones are in the highest class of unequal values.
_ALIKE, _FACTOR = 0.6, 0.9
_STEP = 1 << 14


def find_swapped(
    features: Features, spec: LinkSpec, a: np.ndarray, b: np.ndarray, pool: Pool
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of text fields whose values are swapped in some records.

    Args:
        features: Of the records.
        spec: Settings of the call; where shingles are tagged by their fields, none is swapped.
        a: int32[pairs]: the first record of each candidate.
        b: int32[pairs]: the second.
        pool: Threads.
    """
    if spec.tagged:
        return ()
    text = [k for k, field in enumerate(spec.fields) if field.compare == "text"]
    hashes, tried, found = features.hashes, list(combinations(text, 2)), []
    first_of, second_of = np.array(tried, np.int64).reshape(-1, 2).T.copy()

    def count(first: int, last: int) -> np.ndarray:
        counts = np.zeros(len(tried), np.int64)
        count_crosswise(hashes, first_of, second_of, a, b, first, last, counts)
        return counts

    counts = sum(pool.ranges(count, len(a), _STEP), np.zeros(len(tried), np.int64))
    for (one, two), both in zip(tried, counts.tolist(), strict=True):
        if both < _FEWEST:
            continue
        chance = _by_chance(hashes[:, one], hashes[:, two])
        if both >= _BY_CHANCE * chance + _DEVIATIONS * chance**0.5:
            found.append((one, two))
    return tuple(found)


def _by_chance(x: np.ndarray, y: np.ndarray) -> float:
    """Return how many pairs of records would be equal crosswise if the fields were independent.

    Args:
        x: uint64[records]: hashes of the values of a field; 0 for a missing one.
        y: The same of the other.
    """
    (known, times), (others, often) = (np.unique(of[of != 0], return_counts=True) for of in (x, y))
    _, one, two = np.intersect1d(known, others, assume_unique=True, return_indices=True)
    equal = float((times[one].astype(np.float64) * often[two]).sum())
    return equal * equal / (2 * max(float(len(x)) ** 2, 1.0))


def swap(
    features: Features, a: np.ndarray, b: np.ndarray, by_field: np.ndarray, found: np.ndarray
) -> None:
    """Compare the fields that are swapped crosswise, and keep the more similar ones.

    Args:
        features: Of the records.
        a: int32[pairs].
        b: int32[pairs].
        by_field: float32[pairs, fields]: similarities, which are changed.
        found: bool[pairs, fields]: gets True for those that were changed.
    """
    for fields in features.swapped:
        compare_swapped(
            *(features.values, features.hashes, *fields, _ALIKE, _FACTOR),
            *(a, b, 0, len(a), by_field, found),
        )
