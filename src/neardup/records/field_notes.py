"""Warnings about the fields before anything is compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import strings_of
from neardup.records.features import Features
from neardup.records.fields import LinkSpec
from neardup.records.record_files import Records

#: Share of the records without a value from which on a field counts as empty in most of them.
_EMPTY = 0.5
#: Words that stand for no value, and the share of the records from which on they are noted.
_PLACEHOLDERS = (b"NA", b"N/A", b"N.A.", b"#N/A", b"NULL", b"NONE", b"NAN", b"NIL", b"UNKNOWN")
_PLACED = 0.01
_WITHOUT = {"digits": "has no digit", "numeric": "has no number"}


def field_notes(records: Records, features: Features, spec: LinkSpec) -> Iterator[str]:
    """Name the fields without a value in most records, and those whose values stand for none."""
    first = records.first
    for source, rows in zip(records.names, (slice(first), slice(first, None)), strict=False):
        for k, field in enumerate(spec.fields):
            missing = 1 - features.present[rows, k].mean()
            if missing > _EMPTY:
                what = _WITHOUT.get(field.compare, "is empty")
                yield f"{source}: the field {field.name!r} {what} in {missing:.0%} of the records"
            placed = _placeholders(records.columns[k][rows])
            if placed >= _PLACED and field.compare in ("text", "exact"):
                yield (
                    f"{source}: the field {field.name!r} holds NA or the like in {placed:.0%} of "
                    "the records, and these agree; leave such values empty"
                )


def _placeholders(column: pa.LargeStringArray) -> float:
    """Return the share of the records whose value is a word that stands for none."""
    words = strings_of(list(_PLACEHOLDERS)).cast(column.type)
    trimmed: Any = pc.ascii_upper(pc.utf8_trim_whitespace(column))
    found: Any = pc.mean(pc.is_in(trimmed, value_set=words))
    return float(found.as_py())
