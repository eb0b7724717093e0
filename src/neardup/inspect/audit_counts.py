"""Counts of an audit: integers, which threads may add to in any order, one at a time."""

from collections.abc import Iterator
from typing import TypedDict

import numpy as np

from neardup.recipe import Recipe
from neardup.sketch.bands import candidate_probability
from neardup.values.intervals import estimate

#: Memory that a sampled document takes here, at most, in bytes: 16 in each of 20 classes.
COUNTER_BYTES = 360
#: Pairs that are listed at most; all are counted.
LISTED = 10_000
#: Similarities and probabilities are summed up as integral multiples of one over this.
_SCALE = 100_000_000


class CurveClass(TypedDict):
    """Pairs of a class of similarity: how many share a bucket, predicted and observed."""

    begin: float
    end: float
    similarity: float
    pairs: int
    documents: int
    predicted: float
    observed: float
    observed_low: float
    observed_high: float


def class_limits(threshold: float, lowest: float) -> np.ndarray:
    """Return the limits of classes of similarity: twentieths, and the threshold."""
    # A limit so near to the threshold would be a class with hardly a pair in it.
    grid = [k / 20 for k in range(2, 20) if abs(k / 20 - threshold) >= 0.01]
    limits = np.unique([*grid, threshold, lowest, 1.0])
    return np.append(limits, 1.0) if threshold == 1 else limits  # a class for 1 only


class Tally:
    """Counts pairs by sampled document and class of similarity."""

    def __init__(self, documents: int, threshold: float, lowest: float, recipe: Recipe) -> None:
        self._threshold, self._recipe = threshold, recipe
        self._limits = class_limits(threshold, lowest)
        classes = len(self._limits) - 1
        #: int64[documents]: others that reach the threshold with each, and those that were found.
        self.neighbours, self.found = (np.zeros(documents, dtype=np.int64) for _ in range(2))
        self.pairs = self._expected = 0
        #: int64[2, documents, classes]: pairs, and those that share a bucket.
        self._counts = np.zeros((2, documents, classes), dtype=np.int64)
        self._similarity = np.zeros(classes, dtype=np.int64)

    def chance(self, similarity: np.ndarray) -> np.ndarray:
        """Return the probability that pairs share a bucket; 1 without bands."""
        bands, rows = self._recipe.num_bands, self._recipe.rows
        return candidate_probability(similarity, bands, rows) if bands else np.ones_like(similarity)

    def add(
        self,
        query: np.ndarray,
        similarity: np.ndarray,
        shared: np.ndarray,
        found: np.ndarray,
        once: np.ndarray,
    ) -> None:
        """Count pairs of a sampled document, row ``query``, and any other one.

        ``shared`` and ``found`` say whether they share a bucket and were found; ``once`` is false
        for the second of two rows of a pair of sampled documents.
        """
        kind = np.searchsorted(self._limits[:-1], similarity, side="right") - 1
        true, units = similarity >= self._threshold, np.rint(similarity * _SCALE).astype(np.int64)
        self.pairs += int((true & once).sum())
        self._expected += int(np.rint(self.chance(similarity[true]) * _SCALE).sum())
        np.add.at(self._similarity, kind[once], units[once])
        np.add.at(self.neighbours, query[true], 1)
        np.add.at(self.found, query[true & found], 1)
        for counts, rows in zip(self._counts, (once, once & shared), strict=True):
            np.add.at(counts, (query[rows], kind[rows]), 1)

    def expected(self) -> float | None:
        """Return the share that was to be found, by the similarities; None without true pairs."""
        neighbours = int(self.neighbours.sum())
        return self._expected / _SCALE / neighbours if neighbours else None

    def curve(self) -> Iterator[CurveClass]:
        """Yield the classes of similarity that have pairs.

        Intervals are of a probability over all draws of the hash functions, of which the run is
        one: they don't depend on how large the sample is.
        """
        pairs, shared = self._counts
        for k in np.flatnonzero(pairs.sum(axis=0)).tolist():
            total = int(pairs[:, k].sum())
            mean = int(self._similarity[k]) / _SCALE / total
            observed = estimate(shared[:, k], pairs[:, k], 0.0)
            yield {
                "begin": float(self._limits[k]),
                "end": float(self._limits[k + 1]),
                "similarity": mean,
                "pairs": total,
                "documents": observed.number,
                "predicted": float(self.chance(np.array(mean))),
                "observed": observed.share,
                "observed_low": observed.low,
                "observed_high": observed.high,
            }


class PairList:
    """The most similar of some pairs, and their ``total`` number."""

    def __init__(self, limit: int = LISTED) -> None:
        self._limit = limit
        self._top = [np.zeros(0, kind) for kind in (np.int64, np.int64, np.float64, np.bool_)]
        self.total = 0

    def add(self, a: np.ndarray, b: np.ndarray, similarity: np.ndarray, shared: np.ndarray) -> None:
        new = [np.minimum(a, b), np.maximum(a, b), similarity, shared]
        self.total += len(a)
        top = [np.concatenate(both) for both in zip(self._top, new, strict=True)]
        order = np.lexsort((top[1], top[0], -top[2]))[: self._limit]
        self._top = [column[order] for column in top]

    def rows(self) -> list[tuple[int, int, float, bool]]:
        """Return (lower document, higher one, similarity, shared), the most similar first."""
        return list(zip(*(column.tolist() for column in self._top), strict=True))
