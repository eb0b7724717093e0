"""Values that represent missing ones, such as a date of 1900-01-01: they are taken for missing.

Records agree in such a value without having anything in common. It is far more frequent than all
others of a field that identifies, and the records that have it differ in other fields.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.io.columns import string_scalar
from neardup.linkage.features import Features
from neardup.linkage.fields import LinkSpec
from neardup.linkage.record_files import Records

#: Records that have it at least, and how many times more frequent it is than the next value.
_FEWEST, _OFTEN = 10, 8
#: Share of the pairs of records that agree in another value, up to which these identify.
_SELDOM = 2.0**-10
#: Share of its pairs that may agree in half of the other fields: duplicates of one record, and
#: members of a household, agree in most of them.
_AGREED = 0.25
#: Characters of a value that are shown.
_SHOWN = 40


class Placeholder(NamedTuple):
    """A value that represents a missing one: the number of its field, and its hash."""

    field: int
    value: int


def find_placeholders(features: Features) -> tuple[Placeholder, ...]:
    """Find the values that represent missing ones, at most one in each field."""
    found = []
    for k, column in enumerate(features.hashes.T):
        values, counts = np.unique(column[column != 0], return_counts=True)
        if len(values) < 2:
            continue
        top = int(counts.argmax())
        rest = np.delete(counts, top).astype(np.float64)
        total = rest.sum()
        alike = float((rest * (rest - 1)).sum()) / max(total * (total - 1), 1.0)
        often = counts[top] >= max(_FEWEST, _OFTEN * rest.max())
        if often and alike <= _SELDOM:
            rows = np.flatnonzero(column == values[top])
            if _mostly_agreed(features.hashes[rows], k) <= _AGREED:
                found.append(Placeholder(k, int(values[top])))
    return tuple(found)


def _mostly_agreed(hashes: np.ndarray, but: int) -> float:
    """Return the share of pairs that agree, the median of all other fields; 1 of none."""
    shares = []
    for column in np.delete(hashes, but, axis=1).T:
        counts = np.unique(column[column != 0], return_counts=True)[1].astype(np.float64)
        total = counts.sum()
        if total >= _FEWEST:
            shares.append(float((counts * (counts - 1)).sum() / (total * (total - 1))))
    return float(np.median(shares)) if shares else 1.0


def without_placeholders(
    records: Records, features: Features, found: tuple[Placeholder, ...], spec: LinkSpec
) -> tuple[Records, tuple[str, ...]]:
    """Return records in which some values are missing, and notes on these.

    Args:
        records: The records.
        features: Theirs.
        found: The values.
        spec: Settings of the call.
    """
    columns, notes = list(records.columns), []
    for field, value in found:
        there = features.hashes[:, field] == np.uint64(value)
        if not there.any():
            continue
        shown, column = "", columns[field]
        if not records.private_ids:
            shown = f" {str(column[int(there.argmax())].as_py())[:_SHOWN]!r}"
        notes.append(
            f"the value{shown} of {spec.names[field]} is in {int(there.sum()):,} records that "
            "differ, and is taken for a missing one"
        )
        columns[field] = pc.if_else(array_of(there), string_scalar(""), column)
    return replace(records, columns=tuple(columns), placeholders=found), tuple(notes)
