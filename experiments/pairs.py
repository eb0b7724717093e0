"""Pairs of a few notes: all similarities, who meets in which band, and what is counted of that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.core.band import band_keys, candidate_pairs
from neardup.core.shingle import shingle_sets
from neardup.core.sign import Signer, sign
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets, verify
from neardup.spec import ShingleSpec, preset

__all__ = ["NEVER", "SHINGLE", "Errors", "Pairs", "count_errors", "first_bands", "predicted_errors"]

#: What the paper compares: stems of eight words in a row.
SHINGLE: ShingleSpec = preset("clinical").shingle
#: First band of a pair that meets in none.
NEVER = np.iinfo(np.int32).max


class Pairs:
    """All pairs of some texts with their exact similarity.

    Attributes:
        sets: Shingle sets of the texts.
        a, b: int32[n (n - 1) / 2]: the pairs, lower position first, in order.
        similarity: float64[n (n - 1) / 2].
    """

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.sets = ShingleSets.of(shingle_sets(texts, SHINGLE))
        a, b = np.triu_indices(len(texts), k=1)
        self.a, self.b = a.astype(np.int32), b.astype(np.int32)
        with Pool() as pool:
            self.similarity = np.maximum(verify(self.sets, self.a, self.b, 0.0, pool), 0.0)

    def index(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return where pairs lie in `a` and `b`: int64[pairs]."""
        a, b = a.astype(np.int64), b.astype(np.int64)
        return a * (2 * len(self.texts) - a - 1) // 2 + b - a - 1


def first_bands(pairs: Pairs, num_bands: int, rows: int, seed: int = 0) -> np.ndarray:
    """Return the first band in which each pair meets, or `NEVER`: int32[pairs].

    Signatures that are longer begin like shorter ones, so that one pass answers for all numbers
    of bands: a pair is a candidate with b bands if its first band is below b.

    Args:
        pairs: The texts.
        num_bands: The most bands of interest.
        rows: Signature entries in a band.
        seed: Of the hash functions.
    """
    signatures = sign(pairs.texts, Signer(num_bands * rows, seed=seed), SHINGLE)
    first = np.full(len(pairs.a), NEVER, dtype=np.int32)
    for band, keys in enumerate(band_keys(signatures, num_bands, rows)):
        met = pairs.index(*candidate_pairs(keys[None, :]))
        first[met] = np.minimum(first[met], band)
    return first


class Errors(NamedTuple):
    """What banding gets wrong.

    Attributes:
        false: Candidates below the edge threshold.
        missed: Pairs that reach it and are no candidates.
    """

    false: float
    missed: float


def count_errors(similarity: np.ndarray, candidate: np.ndarray, edge_threshold: float) -> Errors:
    """Count false candidates and missed pairs.

    Args:
        similarity: float64[pairs].
        candidate: bool[pairs].
        edge_threshold: Least similarity of a true pair.
    """
    true = similarity >= edge_threshold
    return Errors(int((candidate & ~true).sum()), int((true & ~candidate).sum()))


def predicted_errors(
    similarity: np.ndarray, num_bands: int, rows: int, edge_threshold: float
) -> Errors:
    """Return the mean of `count_errors`, by P(candidate) = 1 - (1 - s**rows)**num_bands.

    Args:
        similarity: float64[pairs].
        num_bands, rows: The bands.
        edge_threshold: Least similarity of a true pair.
    """
    missing = (1.0 - similarity**rows) ** num_bands
    true = similarity >= edge_threshold
    return Errors(float((1.0 - missing[~true]).sum()), float(missing[true].sum()))
