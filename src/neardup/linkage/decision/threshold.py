"""Where a histogram of similarities that has two modes separates them, without any label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.cluster.edges import Allocate, batches

#: Classes of the histogram, and classes of those that are drawn.
_CLASSES, DRAWN = 200, 40
#: Width of the Gaussian that smooths it, in similarity.
_WIDTH = 0.02
#: Pairs under the filter, over the density: for a Gaussian, 2 sqrt(pi) times its width.
_FILTER = 2 * np.sqrt(np.pi) * _WIDTH * DRAWN
#: Pairs from here on are equal records: they are no part of a mode.
_EQUAL = 0.995
#: Up to so many times the density at the bottom, one half of the pairs are as those at the bottom.
_FOOT = 1.5
#: Depth of a valley, as the logarithm of the lower of its two modes over the bottom.
_DEPTH = 0.25
#: The lower mode is so many standard deviations higher than the bottom, by the square roots of the
#: numbers of pairs under the filter; that of different records is at most so similar, and the
#: bottom too: a minimum that is only below a mode of equal records is no valley.
_SURE, _DIFFERENT, _HIGHEST = 2.5, 0.6, 0.8
#: Pairs that a histogram needs, and the threshold without one.
_PAIRS, _DEFAULT = 30, 0.5


@dataclass(frozen=True)
class Threshold:
    """The similarity that separates records that differ from others, and where it comes from.

    Attributes:
        value: The threshold: at the foot of the valley; without one that of nearly all seeds.
        kind: ``"index"``, that of an index; ``"valley"``; ``"none"`` where the histogram has no
            valley; ``"few"`` where there are too few pairs for a histogram; ``"matches"`` where its
            one mode is above the default, as if all candidates were matches.
        bottom: Similarity at the bottom of the valley; None without one.
        modes: Similarities of the modes below and above it; None without a valley.
        counts: int64[40]: candidates by similarity, in classes of 0.025.
    """

    value: float
    kind: str
    bottom: float | None
    modes: tuple[float, float] | None
    counts: np.ndarray


def index_threshold(value: float, similarity: np.ndarray) -> Threshold:
    """Return the threshold of an index, for some pairs."""
    return Threshold(value, "index", None, None, _histogram(similarity, DRAWN))


def find_valley(similarity: np.ndarray, lowest: float, empty: Allocate = np.empty) -> Threshold:
    """Find the valley between the pairs of different records and those of one.

    The histogram is smoothed. Of all its minima from ``lowest`` on, the bottom is the one that is
    deepest below the lower of the modes on its two sides, by the logarithm of the density. Minima
    that chance may have made, and those between two modes of matches, or of different records, do
    not count; but where equal records are the only upper mode, a minimum that chance may have made
    is the bottom. The threshold is at the foot of the slope to the left of it, as there about half
    of the pairs are matches, if those are as dense as at the bottom.

    Args:
        similarity: float64[pairs]: of the candidates.
        lowest: Below this similarity candidates are incomplete, and minima mean nothing.
        empty: Makes large arrays.
    """
    drawn = _histogram(similarity, DRAWN)
    unequal = _below(similarity, _EQUAL, empty)
    if len(unequal) < _PAIRS:
        return Threshold(_DEFAULT, "few", None, None, drawn)
    begin = int(lowest * _CLASSES)
    # Equal records may be the only mode above the valley.
    first: np.ndarray | None = None
    for part in (unequal, similarity):
        density = _density(part)
        height = np.log1p(density)
        below = np.maximum.accumulate(density)
        lower = np.minimum(below, np.maximum.accumulate(density[::-1])[::-1])
        depth = np.log1p(lower) - height
        # On the slope to a minimum further up, there is none.
        end = int(_HIGHEST * _CLASSES)
        while end > begin and density[end - 1] > density[end]:
            end -= 1
        depth[:begin] = depth[end:] = 0
        # The variance of the square root of a count is 1/4.
        sure = np.sqrt(2 * _FILTER) * (np.sqrt(lower) - np.sqrt(density)) >= _SURE
        different = density[: int(_DIFFERENT * _CLASSES)]
        depth[below > different.max()] = 0
        # Most pairs are of different records: below their highest mode there are only such pairs.
        depth[: int(different.argmax())] = 0
        found, depth = depth, np.where(sure, depth, 0)
        if depth.max() >= _DEPTH:
            # Equal records are certainly a mode: a few that are like them may be one too.
            depth = depth if first is None or first.max() < _DEPTH else first
            deepest = np.flatnonzero(depth >= depth.max() - 1e-3)
            bottom = int(deepest[0] + deepest[-1]) // 2
            modes = int(height[:bottom].argmax()), bottom + int(height[bottom:].argmax())
            return Threshold(
                _foot(density, bottom) / _CLASSES,
                "valley",
                (bottom + 0.5) / _CLASSES,
                ((modes[0] + 0.5) / _CLASSES, (modes[1] + 0.5) / _CLASSES),
                drawn,
            )
        first = found
    density = _density(unequal)
    if density.argmax() >= _DEFAULT * _CLASSES:
        return Threshold(_DEFAULT, "matches", None, None, drawn)
    return Threshold(_DEFAULT, "none", None, None, drawn)


def _below(values: np.ndarray, limit: float, empty: Allocate) -> np.ndarray:
    """Return the values below a limit."""
    found, end = empty(len(values), np.float64), 0
    for rows in batches(len(values)):
        lower = values[rows][values[rows] < limit]
        found[end : end + len(lower)] = lower
        end += len(lower)
    return np.asarray(found[:end])


def _foot(density: np.ndarray, bottom: int) -> int:
    """Return the first class of those that are hardly denser than the bottom, next to it."""
    # Of few pairs, not further up than half of the slope.
    half = (density[bottom] + density[: bottom + 1].max()) / 2
    limit, foot = min(_FOOT * density[bottom] + 1, half), bottom
    while foot > 0 and density[foot - 1] <= limit:
        foot -= 1
    return foot


def _density(similarity: np.ndarray) -> np.ndarray:
    """Return the smoothed number of pairs in each class, as if classes were those drawn."""
    return _smoothed(_histogram(similarity, _CLASSES)) * (_CLASSES / DRAWN)


def _histogram(similarity: np.ndarray, classes: int) -> np.ndarray:
    return np.histogram(similarity, classes, (0.0, 1.0))[0].astype(np.int64)


def _smoothed(counts: np.ndarray) -> np.ndarray:
    """Return a histogram after a Gaussian filter; it is mirrored at its ends."""
    reach = int(4 * _WIDTH * _CLASSES)
    x = np.arange(-reach, reach + 1) / (_WIDTH * _CLASSES)
    kernel = np.exp(-(x**2) / 2)
    return np.convolve(np.pad(counts, reach, "symmetric"), kernel / kernel.sum(), "valid")
