"""Where to cut a histogram of similarities that has two modes, without any label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Classes of the histogram, and classes of those that are drawn.
_CLASSES, DRAWN = 200, 40
#: Width of the Gaussian that smooths it, in similarity.
_WIDTH = 0.02
#: Pairs from here on are equal records: they are no part of a mode.
_EQUAL = 0.995
#: Up to so many times the density at the bottom, one half of the pairs are as those at the bottom.
_FOOT = 1.5
#: Depth of a valley, as the logarithm of the lower of its two modes over the bottom.
_DEPTH = 0.25
#: Pairs that a histogram needs, and the threshold without one.
_PAIRS, _DEFAULT = 30, 0.5


@dataclass(frozen=True)
class Threshold:
    """The similarity from which on two records are one, and where it comes from.

    Attributes:
        value: The threshold.
        kind: ``"given"``; ``"valley"``; ``"shoulder"`` where the histogram has one mode and a bend;
            ``"default"`` where there are too few pairs for a histogram.
        bottom: Similarity at the bottom of the valley; None without one.
        modes: Similarities of the modes below and above it; None without a valley.
        counts: int64[40]: candidates by similarity, in classes of 0.025.
    """

    value: float
    kind: str
    bottom: float | None
    modes: tuple[float, float] | None
    counts: np.ndarray


def given(value: float, similarity: np.ndarray) -> Threshold:
    """Return a threshold that was asked for."""
    return Threshold(value, "given", None, None, _histogram(similarity, DRAWN))


def find_valley(similarity: np.ndarray, lowest: float) -> Threshold:
    """Find the valley between the pairs of different records and those of one.

    The histogram is smoothed. Of all its minima from ``lowest`` on, the bottom is the one that is
    deepest below the lower of the modes on its two sides, by the logarithm of the density. The
    threshold is at the foot of the slope to the left of it, as there about half of the pairs are
    matches, if those are as dense as at the bottom.

    Args:
        similarity: float64[pairs]: of the candidates.
        lowest: Below this similarity candidates are incomplete, so that a minimum means nothing.
    """
    drawn = _histogram(similarity, DRAWN)
    some = similarity[similarity < _EQUAL]
    if len(some) < _PAIRS:
        return Threshold(_DEFAULT, "default", None, None, drawn)
    density = _smoothed(_histogram(some, _CLASSES)) * _CLASSES / DRAWN
    height = np.log1p(density)
    left, right = np.maximum.accumulate(height), np.maximum.accumulate(height[::-1])[::-1]
    depth = np.minimum(left, right) - height
    begin = int(lowest * _CLASSES)
    depth[:begin] = 0
    if depth.max() >= _DEPTH:
        deepest = np.flatnonzero(depth >= depth.max() - 1e-3)
        bottom = int(deepest[0] + deepest[-1]) // 2
        kind = "valley"
        modes = int(height[:bottom].argmax()), bottom + int(height[bottom:].argmax())
    else:
        kind, modes = "shoulder", None
        top = max(begin, int(height.argmax()))
        end = max(top + 2, int(np.quantile(some, 0.99) * _CLASSES))
        bottom = top + 1 + int(np.gradient(height)[top + 1 : end].argmax())
    foot = bottom
    while foot > 0 and density[foot - 1] <= _FOOT * density[bottom] + 1:
        foot -= 1
    if kind == "shoulder" and foot < begin:
        return Threshold(_DEFAULT, "default", None, None, drawn)
    centres = None if modes is None else tuple((mode + 0.5) / _CLASSES for mode in modes)
    place = (bottom + 0.5) / _CLASSES if kind == "valley" else None
    return Threshold(foot / _CLASSES, kind, place, centres, drawn)  # type: ignore[arg-type]


def _histogram(similarity: np.ndarray, classes: int) -> np.ndarray:
    return np.histogram(similarity, classes, (0.0, 1.0))[0].astype(np.int64)


def _smoothed(counts: np.ndarray) -> np.ndarray:
    """Return a histogram after a Gaussian filter; it is mirrored at its ends."""
    reach = int(4 * _WIDTH * _CLASSES)
    x = np.arange(-reach, reach + 1) / (_WIDTH * _CLASSES)
    kernel = np.exp(-(x**2) / 2)
    return np.convolve(np.pad(counts, reach, "symmetric"), kernel / kernel.sum(), "valid")
