"""Pairs that a person has marked: their answers stay, and many of them also set the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from neardup.cluster.methods import connected
from neardup.linkage.blocks.record_blocks import Candidates
from neardup.linkage.decision.weights.model import Differing, Model, probability

T = TypeVar("T")

#: Marked pairs from which on weights are fitted to them.
ENOUGH = 50
#: Standard deviations of factor, shift, and the part of each field that differs.
_FACTOR, _SHIFT, _DIFFER = 0.3, 1.5, 3.0
#: Least factor: marked pairs are doubtful ones, and others are not.
_LEAST = 0.5
#: Steps of Newton's method.
_STEPS = 50


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

    def rows(self, found: Candidates) -> np.ndarray:
        """Return int64[pairs]: which candidates they are; -1 for none."""
        rows = np.full(len(self.a), -1, np.int64)
        if not len(found.a):
            return rows
        bounds = (np.searchsorted(found.a, self.a, side) for side in ("left", "right"))
        for k, (low, high) in enumerate(zip(*(of.tolist() for of in bounds), strict=True)):
            row = low + int(np.searchsorted(found.b[low:high], self.b[k]))
            if row < high and found.b[row] == self.b[k]:
                rows[k] = row
        return rows


def labels_of(marks: Sequence[tuple[T, T, bool]], ids: Sequence[T]) -> Labels | None:
    """Return the marks of two of some ids, by their positions; None without any."""
    rows = {id_: k for k, id_ in enumerate(ids)}
    known = [
        (*sorted((rows[a], rows[b])), match) for a, b, match in marks if a in rows and b in rows
    ]
    if not known:
        return None
    a, b, match = np.array(sorted(known), np.int64).T
    return Labels(a, b, match > 0)


def contradiction(labels: Labels) -> tuple[int, int, int] | None:
    """Return three records of which the first and last are none, and one by the second; or None.

    >>> contradiction(Labels(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([1, 1, 0]) > 0))
    (0, 1, 2)
    """
    docs, at = np.unique(np.concatenate([labels.a, labels.b]), return_inverse=True)
    a, b = np.split(at.reshape(-1), 2)
    of = connected(a[labels.match], b[labels.match], len(docs))
    wrong = np.flatnonzero(~labels.match & (of[a] == of[b]))
    if not len(wrong):
        return None
    x, z = int(a[wrong[0]]), int(b[wrong[0]])
    near: dict[int, list[int]] = {}
    for one, two in zip(a[labels.match].tolist(), b[labels.match].tolist(), strict=True):
        near.setdefault(one, []).append(two)
        near.setdefault(two, []).append(one)
    # The last record before z on a shortest way from x.
    before, reached = {x: x}, [x]
    for doc in reached:
        for other in near.get(doc, ()):
            if other not in before:
                before[other] = doc
                reached.append(other)
    return int(docs[x]), int(docs[before[z]]), int(docs[z])


def fitted(model: Model, log_odds: np.ndarray, classes: np.ndarray, match: np.ndarray) -> Model:
    """Fit factor and shift of log odds, and a part of each field that differs, to marked pairs.

    Too few of them, or those of one kind, leave the model as it is: they would be separated by any
    field, and say nothing about others.

    Args:
        model: Match weights.
        log_odds: float64[marked]: by these.
        classes: int8[marked, fields]: classes of agreement.
        match: bool[marked]: the answers.
    """
    if len(match) < ENOUGH or match.all() or not match.any():
        return model
    differing = Differing(1.0, 0.0, (0.0,) * classes.shape[1])
    differ = differing.of(classes)
    rows = np.column_stack([differing.clipped(log_odds), np.ones(len(match)), differ])
    start = np.append([1.0, 0.0], np.zeros(classes.shape[1]))
    kept = 1 / np.append([_FACTOR, _SHIFT], np.full(classes.shape[1], _DIFFER)) ** 2
    # That a field differs is never evidence for a match, whatever the pairs that were marked.
    lowest = np.append([_LEAST, -np.inf], np.full(classes.shape[1], -np.inf))
    highest = np.append([np.inf, np.inf], np.zeros(classes.shape[1]))
    found, y = start, match.astype(np.float64)
    for _ in range(_STEPS):
        p = probability(rows @ found)
        gradient = rows.T @ (y - p) - kept * (found - start)
        hessian = (rows * np.maximum(p * (1 - p), 1e-9)[:, None]).T @ rows + np.diag(kept)
        stays = ((found <= lowest) & (gradient < 0)) | ((found >= highest) & (gradient > 0))
        free, step = np.flatnonzero(~stays), np.zeros(len(found))
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        before, found = found, np.clip(found + np.clip(step, -1.0, 1.0), lowest, highest)
        if np.abs(found - before).max() < 1e-9:
            break
    factor, shift, *parts = (round(float(of), 9) for of in found)
    return model._replace(by_labels=Differing(factor, shift, tuple(parts)))
