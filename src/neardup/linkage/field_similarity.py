"""Similarities of the records of a pair: of each field, and in total."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.cluster.edges import batches
from neardup.kernels.record_pairs import (
    EXACT,
    NOT_HERE,
    SETS,
    classify,
    compare_values,
    weigh_shared,
)
from neardup.linkage.blocks.record_blocks import record_weight
from neardup.linkage.decision.weights.agreement_classes import EDGES, EQUAL
from neardup.linkage.decision.words import word_share, word_similarity
from neardup.linkage.features import Features
from neardup.linkage.fields import LinkSpec
from neardup.linkage.record_files import Records
from neardup.linkage.swapped_fields import swap
from neardup.threads import Pool

_KINDS = {"exact": EXACT, "numeric": NOT_HERE}
#: Pairs that a thread compares together: their values stay in its cache.
_STEP = 1 << 11
#: Pairs after which the progress is said.
_COUNTED = 1 << 17


class Pairs(NamedTuple):
    """Pairs of records, int32[pairs] twice, and threads to look at them."""

    a: np.ndarray
    b: np.ndarray
    pool: Pool


class Compared(NamedTuple):
    """Similarities of some pairs.

    Attributes:
        similarity: float64[pairs]: of the records, to nine decimals.
        by_field: float32[pairs, k]: similarity of each field; NaN where a value is missing.
        classes: int8[pairs, k]: class of agreement of each field.
        swapped: bool[pairs, k]: values that were compared with those of another field; None if no
            field is swapped.
    """

    similarity: np.ndarray
    by_field: np.ndarray
    classes: np.ndarray
    swapped: np.ndarray | None = None


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
        spec: Settings of the call.
        a: int32[pairs].
        b: int32[pairs].
        pool: Threads.
    """
    by_field = pool.empty((len(a), len(spec.fields)), np.float32)
    similarity, classes = pool.empty(len(a), np.float64), pool.empty(by_field.shape, np.int8)
    swapped = pool.empty(by_field.shape, np.bool_) if features.swapped else None
    mixture = _mixture(features, spec)
    shared = {
        kind: (share, _Overlap.of(features, kind, pool))
        for kind, share in mixture
        if kind != "fields"
    }
    fields = dict(mixture).get("fields", 0.0)

    def work(first: int, last: int) -> None:
        part, (x, y) = by_field[first:last], (a[first:last], b[first:last])
        _compare_fields(features, spec, x, y, part)
        if swapped is not None:
            swapped[first:last] = False
            swap(features, x, y, part, swapped[first:last])
        total = fields * _of_fields(part, features, spec) if fields else np.zeros(len(x))
        for share, overlap in shared.values():
            total += share * overlap.similarity(x, y)
        # The order of the two records may change the last bits.
        similarity[first:last] = np.clip(np.round(total, 9), 0.0, 1.0)
        _classify(features, part, x, y, classes[first:last])

    with pool.stage("compare", len(a), "pairs") as advance:
        for low in range(0, len(a), _COUNTED):
            high = min(low + _COUNTED, len(a))
            pool.ranges(work, high, _STEP, low)
            advance(high - low)
    return Compared(similarity, by_field, classes, swapped)


def compared_of(
    features: Features,
    similarity: np.ndarray,
    by_field: np.ndarray,
    found: Pairs,
) -> Compared:
    """Return the similarities and classes of pairs that were compared before."""
    return Compared(similarity, by_field, _classes(features, by_field, found))


def with_words(
    compared: Compared, records: Records, features: Features, spec: LinkSpec, found: Pairs
) -> Compared:
    """Return the same with values of several words compared by their words, too.

    The similarity of the records stays. The share of the words is one half, or less where values
    have fewer than two.

    Args:
        compared: Similarities.
        records: The records.
        features: Theirs.
        spec: Settings of the call.
        found: Pairs, and threads.
    """
    a, b, pool = found
    by_field = pool.empty(compared.by_field.shape, np.float32)
    by_field[...] = compared.by_field
    for k, field in enumerate(spec.fields):
        share = word_share(features.words[k])
        if share:
            words = word_similarity(records.columns[k], field, a, b, pool)
            for rows in batches(len(a)):
                before = by_field[rows, k]
                mixed = (1 - share) * before + share * words[rows]
                stays = np.isnan(words[rows])
                if compared.swapped is not None:
                    stays |= compared.swapped[rows, k]
                by_field[rows, k] = np.where(stays, before, mixed)
    return compared._replace(by_field=by_field, classes=_classes(features, by_field, found))


def _mixture(features: Features, spec: LinkSpec) -> list[tuple[str, float]]:
    """Return the similarities of which the scalar is the mean, with their shares."""
    if spec.similarity != "mixed":
        return [(spec.similarity, 1.0)]
    # Rare shingles say much of sentences, and little of names.
    share = word_share(features.wordiness)
    return [("fields", 1 - share), *([("idf", share)] if share else [])]


def _of_fields(by_field: np.ndarray, features: Features, spec: LinkSpec) -> np.ndarray:
    mean, total = _mean(by_field, field_weights(features, spec))
    # Fields without two distinct values weigh nothing, unless there are no others.
    constant = np.flatnonzero(total == 0)
    factors = np.array([field.weight for field in spec.fields])
    mean[constant] = _mean(by_field[constant], factors)[0]
    return mean


def _classes(features: Features, by_field: np.ndarray, found: Pairs) -> np.ndarray:
    out: np.ndarray = found.pool.empty(by_field.shape, np.int8)
    _classify(features, by_field, found.a, found.b, out)
    return out


def _classify(
    features: Features, by_field: np.ndarray, a: np.ndarray, b: np.ndarray, out: np.ndarray
) -> None:
    classify(by_field, features.hashes, EDGES, EQUAL, a, b, 0, len(a), out)


def _mean(by_field: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return float64[pairs] twice: weighted means over fields that are not NaN, and weights."""
    of = np.where(np.isnan(by_field), 0, weights.astype(np.float32))
    total = of.sum(axis=1, dtype=np.float64)
    agreed = np.nansum(of * by_field, axis=1, dtype=np.float64)
    return np.divide(agreed, total, out=np.zeros(len(total)), where=total > 0), total


def _compare_fields(
    features: Features, spec: LinkSpec, a: np.ndarray, b: np.ndarray, out: np.ndarray
) -> None:
    """Write the similarity of each field of pairs to float32[pairs, fields]."""
    kinds = np.array([_KINDS.get(field.compare, SETS) for field in spec.fields])
    compare_values(features.values, features.hashes, kinds, a, b, 0, len(a), out)
    for numeric, k in enumerate(np.flatnonzero(kinds == NOT_HERE).tolist()):
        x, y = features.numbers[a, numeric], features.numbers[b, numeric]
        there = np.flatnonzero((features.hashes[a, k] != 0) & (features.hashes[b, k] != 0))
        out[there, k] = _near(x[there], y[there])


def _near(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return 1 less the difference over the larger of two numbers; 0 where signs differ."""
    larger = np.maximum(np.abs(x), np.abs(y))
    apart = np.divide(np.abs(x - y), larger, out=np.zeros(len(x)), where=larger > 0)
    return np.asarray(np.maximum(0.0, 1.0 - apart))


class _Overlap(NamedTuple):
    """Weighted Jaccard similarity of complete records.

    A field that is missing in one of them is left out of the union by its share, which is that of
    its length in the other record.

    Attributes:
        features: Whose weights are those of the shingles.
        weight: float64[records]: of all shingles of each.
        present: bool[records, fields]: which values are there.
    """

    features: Features
    weight: np.ndarray
    present: np.ndarray

    @classmethod
    def of(cls, features: Features, kind: str, pool: Pool) -> _Overlap:
        """Prepare records; rare shingles weigh more by ``"idf"``."""
        if kind != "idf":
            features = features._replace(weights=np.ones_like(features.weights))
        return cls(features, record_weight(features, pool), features.present)

    def similarity(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return float64[pairs]: that of the records ``a`` and ``b``, int32[pairs]."""
        features, weight, shared = self.features, self.weight, np.empty(len(a))
        weigh_shared(features.records, features.weights, a, b, 0, len(a), shared)
        total = weight[a] + weight[b] - shared
        uneven = np.flatnonzero((self.present[a] != self.present[b]).any(axis=1))
        x, y = a[uneven], b[uneven]
        for one, other in ((x, y), (y, x)):
            total[uneven] -= weight[one] * self._missing_share(one, other)
        total = np.maximum(total, shared)
        return np.asarray(np.divide(shared, total, out=np.zeros(len(a)), where=total > 0))

    def _missing_share(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return which share of a record's length is in fields that the other one does not have."""
        sizes = self.features.values.size.reshape(self.present.shape)[one]
        unshared = np.where(self.present[other], 0, sizes).sum(axis=1)
        return np.asarray(unshared / np.maximum(sizes.sum(axis=1), 1))
