"""Pairs that a person has marked: they set the shares of matches, and where the threshold is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.linkage.blocks.record_blocks import Candidates
from neardup.linkage.decision.weights.agreement_classes import counted, shares
from neardup.linkage.decision.weights.model import Model, probability

#: Matches that labels need to set m; the weight of seeds next to them.
_ENOUGH, _SEEDS = 10, 10.0
#: Steps of Newton's method, and what keeps the calibration near that without labels.
_STEPS, _KEPT = 50, 1.0


class Labels(NamedTuple):
    """Pairs that are known, by numbers of records.

    Attributes:
        a: int64[pairs].
        b: int64[pairs], ``a < b``.
        match: bool[pairs].
    """

    a: np.ndarray
    b: np.ndarray
    match: np.ndarray


class Marked(NamedTuple):
    """Candidates that are known.

    Attributes:
        rows: int64[known]: which candidates.
        match: bool[known].
    """

    rows: np.ndarray
    match: np.ndarray

    def put(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[candidates]: weights of seeds, replaced by labels."""
        found = weights.copy()
        found[self.rows] = self.match
        return found


def marked(labels: Labels, found: Candidates) -> Marked:
    """Return the candidates that are known; others of the labels teach nothing."""
    if not len(found.a) or not len(labels.a):
        return Marked(np.empty(0, np.int64), np.empty(0, np.bool_))
    rows = np.full(len(labels.a), -1, np.int64)
    bounds = (np.searchsorted(found.a, labels.a, side) for side in ("left", "right"))
    for k, (low, high) in enumerate(zip(*(of.tolist() for of in bounds), strict=True)):
        row = low + int(np.searchsorted(found.b[low:high], labels.b[k]))
        if row < high and found.b[row] == labels.b[k]:
            rows[k] = row
    there = rows >= 0
    return Marked(rows[there], labels.match[there])


def learn_m(
    known: Marked, classes: np.ndarray, m: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...]:
    """Return m of each field from the marked matches, if they are enough; else that of the seeds.

    Args:
        known: Candidates that are known.
        classes: int8[candidates, fields].
        m: By the seeds; it counts as some more matches.
    """
    if known.match.sum() < _ENOUGH:
        return m
    rows = known.rows[known.match]
    one = np.ones(len(rows))
    return tuple(
        shares(counted(column[rows], one) + _SEEDS * of)
        for column, of in zip(classes.T, m, strict=True)
    )


def calibrated(model: Model, log_odds: np.ndarray, known: Marked) -> Model:
    """Fit factor and shift of log odds to labels, by logistic regression.

    Without labels of both kinds the model stays.
    """
    if known.match.all() or not known.match.any():
        return model
    x, y = log_odds[known.rows], known.match.astype(np.float64)
    # Log odds far from 0 would change only probabilities near 0 and 1.
    x = np.clip(x, -20, 20)
    rows = np.column_stack([x, np.ones(len(x))])
    start = np.array([1.0, 0.0])
    fitted = start
    for _ in range(_STEPS):
        p = probability(rows @ fitted)
        # A weak prior at factor 1: labels that separate fully would ask for an infinite one.
        gradient = rows.T @ (y - p) - _KEPT * np.array([1.0, 0.0]) * (fitted - start)
        weight = np.maximum(p * (1 - p), 1e-9)
        hessian = (rows * weight[:, None]).T @ rows + np.diag([_KEPT, 1e-6])
        step = np.linalg.solve(hessian, gradient)
        fitted = fitted + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-9:
            break
    factor = max(float(fitted[0]), 0.05)
    return model._replace(factor=round(factor, 9), shift=round(float(fitted[1]), 9))
