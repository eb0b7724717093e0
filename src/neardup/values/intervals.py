"""How certain a share is that was observed in a sample."""

import math
from typing import NamedTuple

import numpy as np

#: 97.5 % quantile of the standard normal distribution: for intervals of 95 %.
_Z = 1.959963984540054


def wilson(share: float, number: float) -> tuple[float, float]:
    """Return the 95 % score interval of a share, of 0 to 1.

    The number of independent observations need not be an integer. With 0 nothing is known.

    >>> low, high = wilson(0.9, 50)
    >>> round(low, 4), round(high, 4)
    (0.7864, 0.9565)

    Source: E. B. Wilson. Probable inference, the law of succession, and statistical inference.
    Journal of the American Statistical Association 22, 1927.
    """
    if number <= 0:
        return 0.0, 1.0
    if math.isinf(number):
        return share, share
    square = _Z**2 / number
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(square * share * (1 - share) + square**2 / 4) / (1 + square)
    # Rounding must not move the ends of 0 and 1.
    low = 0.0 if share <= 0 else max(0.0, middle - half)
    high = 1.0 if share >= 1 else min(1.0, middle + half)
    return low, high


class Estimate(NamedTuple):
    """A mean of shares, with its 95 % interval."""

    share: float  # the mean; NaN of none
    low: float
    high: float
    number: int  # how many shares there are


def estimate(hits: np.ndarray, of: np.ndarray, sampled: float, weighted: bool = False) -> Estimate:
    """Estimate a share from a sample of documents, each of which has some pairs.

    Documents are counted, each with its share of hits: the pairs of one document are found or
    missed together. The variance of shares is at most that of yes and no with the same mean, so
    that the interval is too wide rather than too narrow.

    ``hits`` and ``of`` are int64[documents]: pairs that are hits, and all pairs; documents without
    any don't count. ``sampled`` is the share of all documents that is in the sample; 0 where the
    question is not only about this corpus. If ``weighted``, documents are weighted by their pairs:
    the share of all pairs. The effective number is the square of the sum of weights over the sum of
    their squares (L. Kish, 1965).
    """
    there = of > 0
    hits, of = hits[there].astype(np.float64), of[there].astype(np.float64)
    number = len(of)
    if number == 0:
        return Estimate(math.nan, 0.0, 1.0, 0)
    if weighted:
        share, effective = float(hits.sum() / of.sum()), float(of.sum() ** 2 / (of**2).sum())
    else:
        share, effective = float((hits / of).mean()), float(number)
    # Finite population correction.
    left = 1 - sampled
    low, high = wilson(share, effective / left if left > 0 else math.inf)
    return Estimate(share, low, high, number)
