"""Similarities of the records of a pair: of each field, and in total."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.match.verifying import similarities
from neardup.records.blocking import shared_weight
from neardup.records.features import Features
from neardup.records.fields import LinkSpec
from neardup.threads import Pool


class Compared(NamedTuple):
    """Similarities of some pairs.

    Attributes:
        similarity: float64[pairs]: what decides.
        by_field: float32[pairs, k]: similarity of each field; NaN where a value is missing.
    """

    similarity: np.ndarray
    by_field: np.ndarray


def field_weights(features: Features, spec: LinkSpec) -> np.ndarray:
    """Return float64[k]: the logarithm of the distinct values of each field, times its factor."""
    factors = np.array([field.weight for field in spec.fields])
    return np.asarray(factors * np.log(np.maximum(features.distinct, 1)))


def compare(
    features: Features, spec: LinkSpec, a: np.ndarray, b: np.ndarray, pool: Pool
) -> Compared:
    """Compare the records of pairs; a field that is missing in one of them does not count.

    Args:
        features: Of the records.
        spec: What is asked for.
        a: int32[pairs].
        b: int32[pairs].
        pool: Threads.
    """
    by_field = _by_field(features, spec, a, b, pool)
    found = []
    if spec.similarity in ("fields", "mixed"):
        mean, total = _mean(by_field, field_weights(features, spec))
        # Fields without two distinct values weigh nothing, unless there are no others.
        constant = np.flatnonzero(total == 0)
        factors = np.array([field.weight for field in spec.fields])
        mean[constant] = _mean(by_field[constant], factors)[0]
        found.append(mean)
    if spec.similarity in ("idf", "mixed"):
        found.append(_overlap(features, a, b, pool))
    if spec.similarity == "record":
        plain = features._replace(weights=np.ones_like(features.weights))
        found.append(_overlap(plain, a, b, pool))
    return Compared(np.clip(np.mean(found, axis=0), 0.0, 1.0), by_field)


def _mean(by_field: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return float64[pairs] twice: weighted means over fields that are not NaN, and weights."""
    of = np.where(np.isnan(by_field), 0, weights.astype(np.float32))
    total = of.sum(axis=1, dtype=np.float64)
    agreed = np.nansum(of * by_field, axis=1, dtype=np.float64)
    return np.divide(agreed, total, out=np.zeros(len(total)), where=total > 0), total


def _by_field(
    features: Features, spec: LinkSpec, a: np.ndarray, b: np.ndarray, pool: Pool
) -> np.ndarray:
    out = np.full((len(a), len(spec.fields)), np.nan, np.float32)
    numeric = 0
    for k, field in enumerate(spec.fields):
        x, y = features.hashes[a, k], features.hashes[b, k]
        there = np.flatnonzero((x != 0) & (y != 0))
        if field.compare == "exact":
            out[there, k] = x[there] == y[there]
        elif field.compare == "numeric":
            column = features.numbers[:, numeric]
            numeric += 1
            out[there, k] = _near(column[a[there]], column[b[there]])
        else:
            x, y = (pair[there].astype(np.int64) * len(spec.fields) + k for pair in (a, b))
            out[there, k] = similarities(features.values, x, y, 0.0, pool)
    return out


def _near(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return 1 less the difference over the larger of two numbers; 0 where signs differ."""
    larger = np.maximum(np.abs(x), np.abs(y))
    apart = np.divide(np.abs(x - y), larger, out=np.zeros(len(x)), where=larger > 0)
    return np.asarray(np.maximum(0.0, 1.0 - apart))


def _overlap(features: Features, a: np.ndarray, b: np.ndarray, pool: Pool) -> np.ndarray:
    """Return the weighted Jaccard similarity of whole records.

    Of what the two have together, a field that is missing in one of them takes its share, which is
    that of its length in the other record.
    """
    shared, total = shared_weight(features, a, b, pool)
    uneven = np.flatnonzero((features.present[a] != features.present[b]).any(axis=1))
    x, y = a[uneven], b[uneven]
    for one, other in ((x, y), (y, x)):
        own, _ = shared_weight(features, one, one, pool)
        total[uneven] -= own * _missing_share(features, one, other)
    total = np.maximum(total, shared)
    return np.asarray(np.divide(shared, total, out=np.zeros(len(a)), where=total > 0))


def _missing_share(features: Features, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return which share of a record's length is in fields that the other one does not have."""
    sizes = features.values.size.reshape(features.hashes.shape)[one]
    alone = np.where(features.present[other], 0, sizes).sum(axis=1)
    return np.asarray(alone / np.maximum(sizes.sum(axis=1), 1))
