"""Blocks of single fields in an index, and how often it has each value."""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.linkage.blocks.field_blocks import of_one_field
from neardup.linkage.blocks.record_blocks import record_keys
from neardup.linkage.decision.weights.frequencies import ValueCounts, both
from neardup.linkage.features import Features, make_features
from neardup.linkage.fields import LinkSpec
from neardup.sketch.bands import Bands, bands_for_recall
from neardup.threads import Pool

#: Rows of a band of a field, whose values are short.
_ROWS = 3


class KnownValues(NamedTuple):
    """Values that several records have.

    Attributes:
        hashes: uint64[] for each field, ascending.
        counts: int32[] for each field: records that have them.
        present: Records that have a value, for each field.
    """

    hashes: list[np.ndarray]
    counts: list[np.ndarray]
    present: list[int]

    def to_bytes(self) -> bytes:
        """Return hashes and counts as bytes."""
        out = io.BytesIO()
        columns = {f"h{k}": hashes for k, hashes in enumerate(self.hashes)}
        columns |= {f"c{k}": counts for k, counts in enumerate(self.counts)}
        np.savez(out, allow_pickle=False, **columns)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, present: list[int]) -> KnownValues:
        """Make them from what `to_bytes` returned."""
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            fields = range(len(present))
            return cls([found[f"h{k}"] for k in fields], [found[f"c{k}"] for k in fields], present)

    def of(self, features: Features, new: int) -> ValueCounts:
        """Count the values of records of an index, and of new ones after them.

        Args:
            features: Of these records.
            new: Number of the first new one.
        """
        counts = np.zeros(features.hashes.shape, np.int32)
        present = np.array(self.present, np.int64)
        for k, column in enumerate(features.hashes.T):
            known = np.zeros(len(column), np.int64)
            if len(self.hashes[k]):
                at = np.minimum(np.searchsorted(self.hashes[k], column), len(self.hashes[k]) - 1)
                known = np.where(self.hashes[k][at] == column, self.counts[k][at], 0)
            known[:new] = np.maximum(known[:new], 1)
            values, more = np.unique(column[new:], return_counts=True)
            at = np.searchsorted(values, column) if len(values) else np.zeros(len(column), int)
            at = np.minimum(at, max(len(values) - 1, 0))
            if len(values):
                known += np.where(values[at] == column, more[at], 0)
            counts[:, k] = np.where(column != 0, known, 0)
            present[k] += int((column[new:] != 0).sum())
        return ValueCounts(counts, present, np.zeros(len(present)))


def known_values(features: Features, values: ValueCounts) -> KnownValues:
    """Return the values that several records have."""
    hashes, counts = [], []
    for k, column in enumerate(features.hashes.T):
        several = values.counts[:, k] > 1
        found, first = np.unique(column[several], return_index=True)
        hashes.append(found)
        counts.append(values.counts[several, k][first])
    return KnownValues(hashes, counts, values.present.tolist())


def field_keys(
    features: Features,
    columns: tuple[pa.LargeStringArray, ...],
    spec: LinkSpec,
    fields: tuple[int, ...],
    pool: Pool,
) -> np.ndarray:
    """Return uint64[records, keys]: by which records are candidates by one or two fields.

    A key is 0 where a value is missing.
    """
    if len(fields) == 2:
        one, two = (features.hashes[:, k] for k in fields)
        return both(one, two)[:, None]
    (k,) = fields
    field = spec.fields[k]
    if field.compare == "exact":
        return features.hashes[:, k : k + 1]
    single = of_one_field(field, spec)
    assert single.block_at is not None
    bands = Bands(bands_for_recall(single.block_at, single.recall, _ROWS), _ROWS, single.recall)
    of_field = make_features((columns[k],), single, pool)
    # All shingles are hashed, as which ones are common depends on the other records.
    none, rows = np.zeros(1, np.bool_), np.arange(len(columns[k]))
    found = record_keys(of_field.records, rows, none, bands, single.seed, pool) | np.uint64(1)
    return np.asarray(np.where(features.hashes[:, k : k + 1] != 0, found, np.uint64(0)))
