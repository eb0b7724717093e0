"""What an audit counts: the partners of each sampled document, and which of them were found.

All counts are whole numbers, so that threads may add to them in any order.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

import numpy as np

from neardup.core.intervals import Estimate, estimate

__all__ = ["TALLY_BYTES", "Class", "Missed", "Seen", "Tally", "limits_of"]

#: Memory that a sampled document takes here, at most, in bytes: 24 in each of 20 classes.
TALLY_BYTES = 480
#: Similarities and probabilities are summed up as whole multiples of one over this.
_SCALE = 100_000_000
#: Where the classes of the observed curve begin.
_GRID = [k / 20 for k in range(2, 21)]


def limits_of(edge_threshold: float, least: float) -> np.ndarray:
    """Return where classes of similarity begin and end: twentieths, and the edge threshold.

    A class lies as a whole below the edge threshold, or not below it.

    Args:
        edge_threshold: One of the limits.
        least: The first one, if it is below the others.

    Returns:
        float64[classes + 1].
    """
    # A limit so near to the threshold would be a class with hardly a pair in it.
    grid = [x for x in _GRID if abs(x - edge_threshold) >= 0.01 or x == 1]
    limits = np.unique([*grid, edge_threshold, least])
    return np.append(limits, 1.0) if edge_threshold == 1 else limits  # a class of 1 alone


class Seen(NamedTuple):
    """Pairs of a sampled document and any other.

    Attributes:
        document: int32[pairs]: row of the sampled one.
        similarity: float64[pairs]: exact.
        predicted: float64[pairs]: probability that they share a bucket.
        met: bool[pairs]: whether they do.
        found: bool[pairs]: whether the run found them.
        together: bool[pairs]: whether they are in one cluster.
        once: bool[pairs]: true for one of the two rows of a pair of two sampled documents, and for
            every other pair.
    """

    document: np.ndarray
    similarity: np.ndarray
    predicted: np.ndarray
    met: np.ndarray
    found: np.ndarray
    together: np.ndarray
    once: np.ndarray


class Class(NamedTuple):
    """A class of similarity.

    Attributes:
        begin, end: From, and up to but without; the last one is with 1.
        similarity: Mean of its pairs.
        pairs: Pairs of a sampled document and any other, each once.
        predicted: Share of pairs that were to share a bucket; a mean over documents.
        met: Share of pairs that did, with what the draw of the hashes leaves to chance.
        found: Share of a document's partners that were found; of no document below the edge
            threshold.
    """

    begin: float
    end: float
    similarity: float
    pairs: int
    predicted: float
    met: Estimate
    found: Estimate


class Tally:
    """Counts pairs by sampled document and class of similarity. Threads may share it.

    What is said of a document counts all its partners. What is said of pairs counts each pair once,
    with one of its sampled documents.

    Args:
        documents: Sampled documents.
        limits: From `limits_of`.
        edge_threshold: From here on a pair is a true one.
        tree_threshold: Least similarity within a cluster.

    Attributes:
        near: Pairs of one cluster that reach the tree threshold.
    """

    def __init__(
        self, documents: int, limits: np.ndarray, edge_threshold: float, tree_threshold: float
    ) -> None:
        self.limits = limits
        self._true = int(np.searchsorted(limits, edge_threshold))
        self._tree = tree_threshold
        classes = len(limits) - 1
        # A document has fewer than 2**31 others.
        self._partners, self._found, self._pairs, self._met = (
            np.zeros((documents, classes), dtype=np.int32) for _ in range(4)
        )
        self._predicted = np.zeros((documents, classes), dtype=np.int64)
        self._similarity = np.zeros(classes, dtype=np.int64)
        self._expected = self.near = 0
        self._lock = threading.Lock()

    def add(self, seen: Seen) -> None:
        """Count some pairs."""
        classes = len(self.limits) - 1
        kind = np.searchsorted(self.limits[:-1], seen.similarity, side="right") - 1
        cell = seen.document.astype(np.int64) * classes + kind
        once = seen.once
        predicted, similarity = (
            np.rint(share * _SCALE).astype(np.int64) for share in (seen.predicted, seen.similarity)
        )
        expected = int(predicted[kind >= self._true].sum())
        near = int((once & seen.together & (seen.similarity >= self._tree)).sum())
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray | int]] = [
            (self._partners.reshape(-1), cell, 1),
            (self._found.reshape(-1), cell[seen.found], 1),
            (self._pairs.reshape(-1), cell[once], 1),
            (self._met.reshape(-1), cell[once & seen.met], 1),
            (self._predicted.reshape(-1), cell[once], predicted[once]),
            (self._similarity, kind[once], similarity[once]),
        ]
        with self._lock:
            self._expected += expected
            self.near += near
            for counts, places, what in parts:
                np.add.at(counts, places, what)

    @property
    def partners(self) -> np.ndarray:
        """int64[documents]: others that reach the edge threshold with each."""
        return self._partners[:, self._true :].sum(axis=1, dtype=np.int64)

    @property
    def pairs(self) -> int:
        """True pairs, each once."""
        return int(self._pairs[:, self._true :].sum(dtype=np.int64))

    @property
    def found(self) -> np.ndarray:
        """int64[documents]: of those, how many were found."""
        return self._found[:, self._true :].sum(axis=1, dtype=np.int64)

    def recall(self, sampled: float, weighted: bool = False) -> Estimate:
        """Return the share of partners that was found; see `neardup.core.intervals.estimate`."""
        return estimate(self.found, self.partners, sampled, weighted)

    def expected(self) -> float:
        """Return the share of all partners that was to be found, by their similarities."""
        partners = int(self.partners.sum())
        return self._expected / _SCALE / partners if partners else math.nan

    def classes(self, sampled: float) -> list[Class]:
        """Return the classes that have pairs, by similarity.

        Args:
            sampled: Share of all documents that is in the sample. It makes what was found surer, as
                a fact of this corpus; not what met, which tells of a probability over all draws of
                the hashes, of which this is one.
        """
        told = []
        for k in np.flatnonzero(self._pairs.sum(axis=0)).tolist():
            pairs = self._pairs[:, k]
            total = int(pairs.sum(dtype=np.int64))
            partners = self._partners[:, k]
            true = partners if k >= self._true else np.zeros_like(partners)
            told.append(
                Class(
                    begin=float(self.limits[k]),
                    end=float(self.limits[k + 1]),
                    similarity=int(self._similarity[k]) / _SCALE / total,
                    pairs=total,
                    predicted=estimate(self._predicted[:, k] / _SCALE, pairs, 0.0).share,
                    met=estimate(self._met[:, k], pairs, 0.0),
                    found=estimate(self._found[:, k], true, sampled),
                )
            )
        return told


class Missed:
    """The most similar of the pairs that were not found, and how many there are. For many threads.

    Args:
        most: How many pairs are held.

    Attributes:
        total: Pairs that were not found.
        unmet: Of those, pairs that never shared a bucket.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = [np.zeros(0, t) for t in (np.int64, np.int64, np.float64, np.bool_)]
        self.total = self.unmet = 0
        self._lock = threading.Lock()

    def add(self, a: np.ndarray, b: np.ndarray, similarity: np.ndarray, met: np.ndarray) -> None:
        """Add pairs, each once.

        Args:
            a, b: int64[pairs]: positions.
            similarity: float64[pairs].
            met: bool[pairs]: whether the two shared a bucket.
        """
        new = [np.minimum(a, b), np.maximum(a, b), similarity, met]
        with self._lock:
            self.total += len(new[0])
            self.unmet += int((~new[3]).sum())
            held = [np.concatenate(both) for both in zip(self._held, new, strict=True)]
            order = np.lexsort((held[1], held[0], -held[2]))[: self._most]
            self._held = [column[order] for column in held]

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return (lower position, higher one, similarity, met), the most similar first."""
        a, b, similarity, met = self._held
        return a, b, similarity, met
