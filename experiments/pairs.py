"""Pairs of a few notes: all similarities, the band they first share, and errors of banding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.match.bucketing import candidate_pairs
from neardup.match.verifying import make_sets, similarities
from neardup.sketch.sketcher import band_keys, signatures
from neardup.sketch.tokenising import shingle_sets
from neardup.spec import preset
from neardup.threads import Pool

__all__ = ["NEVER", "SHINGLE", "Errors", "Pairs", "errors", "first_band_of", "first_bands"]

#: What the paper compares: stems of eight consecutive words.
SHINGLE = preset("clinical").shingle
#: First band of a pair that shares a bucket in none.
NEVER = np.iinfo(np.int32).max


class Pairs:
    """All pairs of some texts with their exact similarity.

    Args:
        texts: The texts.

    Attributes:
        sets: Shingle sets of the texts.
        a: int32[n (n - 1) / 2]: the first document of each pair, in order.
        b: int32[n (n - 1) / 2]: the other one.
        similarity: float64[n (n - 1) / 2].
    """

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.sets = make_sets(shingle_sets(texts, SHINGLE))
        a, b = np.triu_indices(len(texts), k=1)
        self.a, self.b = a.astype(np.int32), b.astype(np.int32)
        with Pool() as pool:
            found = similarities(self.sets, self.a, self.b, 0.0, pool)
        self.similarity = np.maximum(found, 0.0)

    def index(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the places of pairs in `a` and `b`: int64[pairs]."""
        a, b = a.astype(np.int64), b.astype(np.int64)
        return np.asarray(a * (2 * len(self.texts) - a - 1) // 2 + b - a - 1)


def first_bands(pairs: Pairs, num_bands: int, rows: int) -> np.ndarray:
    """Return the first band in which each pair shares a bucket, or `NEVER`: int32[pairs].

    Signatures that are longer begin like shorter ones, so that one pass answers for all numbers
    of bands: a pair is a candidate with b bands if its first band is below b.

    Args:
        pairs: The texts.
        num_bands: The highest number of bands of interest.
        rows: Signature entries in a band.
    """
    keys = band_keys(signatures(pairs.texts, num_bands * rows, shingle=SHINGLE), num_bands, rows)
    return first_band_of(pairs, keys)


def first_band_of(pairs: Pairs, keys: np.ndarray) -> np.ndarray:
    """Return the same from the band keys of the texts, uint64[texts, bands]."""
    first = np.full(len(pairs.a), NEVER, dtype=np.int32)
    for band in reversed(range(keys.shape[1])):
        first[pairs.index(*candidate_pairs(keys[:, band : band + 1]))] = band
    return first


class Errors(NamedTuple):
    """What banding gets wrong.

    Attributes:
        false: Candidates below the threshold.
        missed: Pairs that reach it and are no candidates.
    """

    false: float
    missed: float


def errors(similarity: np.ndarray, chance: np.ndarray, threshold: float) -> Errors:
    """Count errors, or predict the mean of their number.

    Args:
        similarity: float64[pairs].
        chance: Probability that each pair is a candidate: float64[pairs]; or bool[pairs], whether
            it is.
        threshold: Lowest similarity of a true pair.
    """
    true = similarity >= threshold
    return Errors(float(chance[~true].sum()), float(true.sum() - chance[true].sum()))
