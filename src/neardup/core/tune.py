"""How many bands of how many rows: recall first, then the cheapest."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from neardup.errors import SpecError

__all__ = [
    "Bands",
    "band_cost",
    "bands_for_recall",
    "candidate_probability",
    "choose_bands",
    "expected_pairs",
    "similarity_at",
    "steepest",
]

#: Longest signature that is chosen by itself.
MAX_HASHES = 1024

# Cost model, in nanoseconds on one core (measured; only their ratios matter, and only for speed):
# a hash of a document's signature, a band of a document (key, grouping), a pair that is compared, a
# pair that its bitmaps rule out, a document in a giant bucket that is joined as a whole.
_HASH, _BAND, _PAIR, _PRUNED, _JOIN = 14.0, 60.0, 250.0, 3.0, 30_000.0
# The choice must not depend on how the corpus is cut into files, so its size is not asked for:
# the cheapest for this many documents is taken.
_DOCUMENTS = 1_000_000
_CLASSES = 50


class Bands(NamedTuple):
    """A choice of bands.

    Attributes:
        num_bands: Bands.
        rows: Signature entries in a band.
        recall: Probability that a pair exactly at the threshold becomes a candidate.
    """

    num_bands: int
    rows: int
    recall: float


def candidate_probability(similarity: float, num_bands: int, rows: int) -> float:
    """Return P(candidate | similarity) = 1 - (1 - s**rows)**num_bands.

    >>> round(candidate_probability(0.5, 42, 3), 3)
    0.996
    """
    if similarity >= 1:
        return 1.0
    return -math.expm1(num_bands * math.log1p(-(similarity**rows)))


def similarity_at(probability: float, num_bands: int, rows: int) -> float:
    """Return the similarity of pairs that become candidates with this probability.

    The inverse of `candidate_probability`: (1 - (1 - p)**(1/num_bands))**(1/rows).

    >>> round(similarity_at(0.99, 42, 3), 3)
    0.47
    """
    if probability >= 1:
        return 1.0
    return float((-math.expm1(math.log1p(-probability) / num_bands)) ** (1 / rows))


def steepest(num_bands: int, rows: int) -> float:
    """Return the similarity at which P(candidate) rises fastest.

    There the second derivative is 0: ((1 - 1/rows) / (num_bands - 1/rows))**(1/rows). With one row
    the curve is steepest at 0; with one row and one band, a straight line, it is 0 too.

    >>> round(steepest(42, 3), 3)
    0.252
    """
    if rows == 1:
        return 0.0
    return float(((1 - 1 / rows) / (num_bands - 1 / rows)) ** (1 / rows))


def bands_for_recall(threshold: float, recall: float, rows: int) -> int:
    """Return the least number of bands of so many rows that reaches the recall at the threshold.

    >>> bands_for_recall(0.7, 0.99, 4)
    17
    """
    if threshold >= 1:
        return 1
    bands = max(1, math.ceil(math.log1p(-recall) / math.log1p(-(threshold**rows))))
    while candidate_probability(threshold, bands, rows) < recall:  # rounding
        bands += 1
    return bands


def expected_pairs(a: np.ndarray, b: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    """Extrapolate the pairs of a sample to a corpus of a million documents, by similarity.

    What a whole family of documents has in common grows with the square of the corpus; a document
    and its few copies don't. A document that is like fewer than four others of the sample is taken
    as one that has copies.

    Args:
        a, b: int32[pairs]: all pairs of the sample, as positions in it.
        similarity: float64[pairs].

    Returns:
        float64[50]: pairs expected in each class of similarity, of width 0.02.
    """
    size = int(max(b, default=0)) + 1
    alike = similarity >= 0.05
    partners = np.bincount(a[alike], minlength=size) + np.bincount(b[alike], minlength=size)
    copies = alike & (np.minimum(partners[a], partners[b]) < 4)
    square = (_DOCUMENTS / size) ** 2
    expected, _ = np.histogram(
        similarity, bins=_CLASSES, range=(0, 1), weights=np.where(copies, _DOCUMENTS / size, square)
    )
    # A sample says little of what it does not hold: one pair more, more likely a distant one.
    unseen = np.exp(-10 * (np.arange(_CLASSES) + 0.5) / _CLASSES)
    return np.asarray(expected + square * unseen / unseen.sum())


def band_cost(
    rows: int, threshold: float, pairs: np.ndarray | None = None, size: float = 300.0
) -> float:
    """Return what one band of so many rows costs: hashing, grouping, and comparing in vain.

    Args:
        rows: Signature entries in the band.
        threshold: Pairs of lower similarity are compared in vain.
        pairs: float64[50]: pairs by similarity, as made by `expected_pairs`; without it, unrelated
            documents are taken to have three percent in common.
        size: Mean number of shingles of a document.

    Returns:
        Nanoseconds of one core, for a million documents; good for comparing choices only.
    """
    centres = (np.arange(_CLASSES) + 0.5) / _CLASSES
    if pairs is None:
        pairs = np.exp(-35 * centres)
        pairs *= _DOCUMENTS**2 / 2 / pairs.sum()
    wasted = pairs * (centres < threshold)
    # Bitmaps tell pairs apart that are some way below the threshold.
    pair_cost = np.where(centres < threshold - 0.15, _PRUNED, _PAIR)
    # What a band costs for pairs, or, where whole families collide, for a join of them.
    met = wasted * centres**rows
    near = centres > 0.1
    joined = _JOIN * math.sqrt(wasted[near].sum() * 2) + (met * pair_cost)[~near].sum()
    compare = min((met * pair_cost).sum(), joined)
    return _DOCUMENTS * (rows * _HASH * size / 300 + _BAND) + float(compare)


def choose_bands(
    threshold: float, recall: float, pairs: np.ndarray | None = None, size: float = 300.0
) -> Bands:
    """Choose the cheapest bands that find a pair at ``threshold`` with probability ``recall``.

    Every choice looked at reaches the recall; what is weighed is the cost of hashing, of grouping,
    and of comparing the pairs that become candidates without being similar.

    Args:
        threshold: Similarity at which the recall is asked for, in (0, 1].
        recall: Probability, in (0, 1).
        pairs: float64[50]: pairs by similarity, as made by `expected_pairs`; without it, unrelated
            documents are taken to have three percent in common.
        size: Mean number of shingles of a document.

    Returns:
        The choice, with the recall that it gives.

    Raises:
        SpecError: No signature of up to 1,024 hashes reaches the recall.

    Examples:
        >>> choose_bands(0.7, 0.99)
        Bands(num_bands=17, rows=4, recall=0.9906058053057489)
    """
    if not (0 < threshold <= 1 and 0 < recall < 1):
        raise SpecError(f"threshold {threshold}, recall {recall}; expected (0, 1] and (0, 1)")
    best: tuple[float, Bands] | None = None
    for rows in range(1, 33):
        bands = bands_for_recall(threshold, recall, rows)
        if bands * rows > MAX_HASHES:
            break
        cost = bands * band_cost(rows, threshold, pairs, size)
        if best is None or cost < best[0]:
            best = cost, Bands(bands, rows, candidate_probability(threshold, bands, rows))
    if best is None:
        raise SpecError(
            f"a recall of {recall} at similarity {threshold} needs more than {MAX_HASHES} hashes",
            "ask for a lower recall, a higher edge threshold, or --method allpairs",
        )
    return best[1]
