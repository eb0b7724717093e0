"""Notes about the fields, and about the decision that was made by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import strings_of
from neardup.linkage.blocks.record_blocks import Candidates
from neardup.linkage.deciding import MatchDecision
from neardup.linkage.decision.rivals import towards
from neardup.linkage.features import Features
from neardup.linkage.fields import LinkSpec
from neardup.linkage.record_files import Records

#: Files that have notes of their own.
_NAMED = 10
#: Share of the records without a value from which on a field counts as empty in most of them.
_EMPTY = 0.5
#: Words that represent a missing value, and the share of the records from which on they are noted.
_PLACEHOLDERS = (b"NA", b"N/A", b"N.A.", b"#N/A", b"NULL", b"NONE", b"NAN", b"NIL", b"UNKNOWN")
_PLACED = 0.01
_WITHOUT = {"digits": "has no digit", "numeric": "has no number"}


def empty_notes(records: Records) -> Iterator[str]:
    """Say so if there is nothing to compare."""
    if not len(records):
        yield "the input has no records"
    elif len(records.sizes) == 1 and len(records) == 1:
        yield "the input has one record, and no other one to compare it with"
    else:
        empty = [n for n, size in zip(records.names, records.sizes, strict=True) if not size]
        for name in empty[:_NAMED]:
            yield f"{name} has no records"
        if len(empty) > _NAMED:
            yield f"{len(empty) - _NAMED:,} more files have no records"


def field_notes(records: Records, features: Features, spec: LinkSpec) -> Iterator[str]:
    """Name the fields without a value in most records, and those with words for missing ones."""
    for source, rows in _sources(records):
        for k, field in enumerate(spec.fields):
            missing = 1 - features.present[rows, k].mean()
            if missing > _EMPTY:
                what = _WITHOUT.get(field.compare, "is empty")
                yield f"{source}: the field {field.name!r} {what} in {missing:.0%} of the records"
            placed = _placeholders(records.columns[k][rows])
            if placed >= _PLACED and field.compare in ("text", "exact"):
                yield (
                    f"{source}: the field {field.name!r} has NA or the like in {placed:.0%} of "
                    "the records, and these agree; leave such values empty"
                )


def constant_fields(records: Records, features: Features, spec: LinkSpec) -> Iterator[str]:
    """Name the fields with one value; the features have the distinct values of these records."""
    if len(records) < 2:
        return
    for source, rows in _sources(records):
        for k, field in enumerate(spec.fields):
            one = features.distinct[k] == 1 and features.present[rows, k].any()
            if one and field.weight:
                yield f"{source}: the field {field.name!r} has one value, which says nothing"


def _sources(records: Records) -> Iterator[tuple[str, slice]]:
    """Yield the names of the files, and which records are theirs; of many, all together."""
    if len(records.sizes) > _NAMED:
        if len(records):
            yield f"{len(records.sizes):,} files", slice(None)
        return
    end = 0
    for name, size in zip(records.names, records.sizes, strict=True):
        if size:
            yield name, slice(end, end + size)
        end += size


def _placeholders(column: pa.LargeStringArray) -> float:
    """Return the share of the records whose value is a word that represents a missing one."""
    words = strings_of(list(_PLACEHOLDERS)).cast(column.type)
    trimmed: Any = pc.ascii_upper(pc.utf8_trim_whitespace(column))
    found: Any = pc.mean(pc.is_in(trimmed, value_set=words))
    return float(found.as_py())


#: Up to this share of records in several pairs, two files may be meant to match one to one.
_SEVERAL = 0.2
#: Share of the candidates that are nearly all.
_NEARLY_ALL = 0.9
_WAYS_OUT = (
    "mark some pairs on the page of the report and give them as `labels`, or give `decide_at`"
)


def decision_notes(
    records: Records, spec: LinkSpec, found: Candidates, decision: MatchDecision, pairs: np.ndarray
) -> tuple[str, ...]:
    """Return the notes on a decision.

    Args:
        records: The records.
        spec: Settings of the call.
        found: The candidates.
        decision: How likely they are matches.
        pairs: int64[]: the candidates that are one record.
    """
    if not found.possible:
        return ()
    notes = []
    if records.across and not spec.one_to_one and len(pairs):
        a, b, _ = towards(found.a[pairs], found.b[pairs], records.apart)
        _, one = np.unique(a, return_counts=True)
        _, two = np.unique(b, return_counts=True)
        several = max((one > 1).mean(), (two > 1).mean())
        if 0 < several < _SEVERAL:
            notes.append(
                f"{several:.1%} of the records that match are in several pairs; if each record has "
                "one at most in each other file, `one_to_one` leaves the best"
            )
    if records.origin is not None and len(pairs):
        name, second = records.origin
        within = int((second[found.a[pairs]] == second[found.b[pairs]]).sum())
        notes.append(
            f"the file has two sources by its column {name!r}, and {within:,} of {len(pairs):,} "
            "pairs are within one of them; give two files to find pairs across them only"
        )
    if not len(pairs):
        at = f"{spec.decide_at:g}"
        notes.append(f"no pair of records has a score of {at} or more: there is no match")
    notes += [
        f"the values of {spec.names[one]} and {spec.names[two]} are swapped in some records; the "
        "two fields are compared crosswise, too"
        for one, two in decision.model.swapped
    ]
    notes += decision.doubts
    kind = decision.threshold.kind
    if kind == "few":
        notes.append(
            f"too few of {len(found.a):,} candidates differ to learn from; the similarity decides, "
            f"from {decision.threshold.value:g} on, which is a guess: look at the pairs around it"
        )
    elif len(pairs) and kind == "matches" and len(pairs) >= _NEARLY_ALL * len(found.a):
        notes.append(
            "nearly all candidates are taken for matches: look at those with low scores; if "
            f"some are none, {_WAYS_OUT}"
        )
    elif kind == "none" or (len(pairs) and kind == "matches"):
        notes.append(
            f"the histogram of similarities has no valley, and matches are uncertain: {_WAYS_OUT}"
        )
    return tuple(notes)
