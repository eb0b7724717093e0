"""Pairs that a person has marked, read from a file, a table or a list."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import ColumnError, InputError, SpecError, UnknownIdError, hint_instead
from neardup.io.frames import are_records
from neardup.linkage.decision.labels import Labels, contradiction
from neardup.linkage.record_files import Records
from neardup.options.option_groups import Reading
from neardup.results.ground_truth import GroundTruth, KnownIds, read_truth
from neardup.values.readable import counted

#: Remedies: labels have no other names of columns, and no row is left out.
_COLUMNS = "labels have the columns id_a, id_b and duplicate, which is true or false"
_FILE = f"{_COLUMNS}; a file is read by its ending, CSV with commas or semicolons, in UTF-8"
_UNKNOWN = "rows are counted without the header; leave out those with other ids"
_SEVERAL = (
    f"{_UNKNOWN}; records of several files that have positions, or the same ids, are a:17 and b:4, "
    "with the letters of the files"
)
_ACROSS = "leave these out, or link within the files too"


def read_labels(given: Any, records: Records) -> Labels:
    """Read marked pairs: two ids, and whether they match.

    Args:
        given: A file or a table with the columns ``id_a``, ``id_b`` and ``duplicate``, or a list of
            an id, another one, and a bool. Ids are `Records.marked_ids`; of two files with their
            own ids, the first id may be that in the first file, and the second that in the second.
        records: The records.

    Raises:
        InputError: It can't be read, names ids that no record has, or contradicts itself.
        SpecError: A list has other items.
    """
    if isinstance(given, list | tuple | set) and not are_records(given):
        rows = [tuple(row) if isinstance(row, list | tuple) else (row,) for row in given]
        if not all(len(row) == 3 and isinstance(row[2], bool | np.bool_) for row in rows):
            raise SpecError(
                "`labels` has an item that is not two ids and a bool",
                'for example [("p1", "p7", True), ("p2", "p9", False)]',
            )
        a, b, match = list(zip(*rows, strict=True)) or [(), (), ()]
        columns = (_one_type(a), _one_type(b), list(match))
        given = pa.table(dict(zip(("id_a", "id_b", "duplicate"), columns, strict=True)))
    try:
        a, b, match = _found(records, given)
    except UnknownIdError as error:
        hint = _SEVERAL if len(records.sizes) > 1 else _UNKNOWN
        raise UnknownIdError(_of_labels(error), hint) from error
    except InputError as error:
        raise type(error)(_of_labels(error), error.hint) from error
    if len(records.ids) > 1:
        of = records.file
        within = np.flatnonzero(of[a] == of[b])
        if len(within):
            said = f"`labels` have {counted(len(within), 'pair')} of two records of one file, but "
            raise InputError(f"{said}pairs are across files only", _ACROSS)
    marked = np.column_stack([np.minimum(a, b), np.maximum(a, b), match])
    marked = marked[(a != b) | (match == 0)]  # that a record is itself says nothing
    a, b, match = np.unique(marked, axis=0).T
    labels = Labels(a, b, match > 0)
    require_consistent(labels, [id for part in records.public_ids for id in part.to_pylist()])
    return labels


def require_consistent(labels: Labels, ids: Sequence[Any]) -> None:
    """Refuse labels by which two records, of these ids, are one and are not."""
    wrong = contradiction(labels)
    if wrong is None:
        return
    x, y, z = (repr(ids[doc]) for doc in wrong)
    said = f"{x} and {z} are marked as a match and as none"
    if len({*wrong}) == 3:
        said = f"{x} is {y}, and {y} is {z}, by other marks, and {x} and {z} are marked as none"
    error = InputError(f"`labels` contradict each other: {said}", "take back one of these marks")
    raise error.private("`labels` contradict each other")


def _one_type(values: Sequence[Any]) -> list[Any]:
    """Return values as they are, or as text where Arrow has no one type for them."""
    if len({*map(type, values)}) == 1 and not any(isinstance(v, int) and v >> 63 for v in values):
        return [*values]
    return [None if value is None else str(value) for value in values]


def _found(records: Records, given: Any) -> np.ndarray:
    """Return int64[3, marks]: both records of each mark, and whether they match."""
    # Pages and tables of doubtful pairs have the last ones, people may write the first ones.
    named = [records.ids, records.public_ids, (records.marked_ids,)]
    unknown, found = list[UnknownIdError](), list[np.ndarray]()
    for ids in named if len(records.ids) > 1 or records.private_ids else named[:1]:
        try:
            known = _read(ids, given)
        except UnknownIdError as error:
            unknown.append(error)
        else:
            if (known.others < 0).any():
                raise InputError("`labels` have a row without its second id", _COLUMNS)
            second = known.others + (records.sizes[0] if len(ids) > 1 else 0)
            found.append(np.stack([known.docs, second, known.right]))
    if not found:
        raise unknown[0]
    if any((other != found[0]).any() for other in found):
        raise InputError(
            "`labels` are of other records by ids than by FILE:ID or rows", "give other ids"
        )
    return found[0]


def _read(ids: Sequence[Any], given: Any) -> GroundTruth:
    of = KnownIds(ids[0], "the linkage", True, ids[-1])
    is_file = isinstance(given, str | os.PathLike)
    with hint_instead(_FILE if is_file else _COLUMNS):
        try:
            return read_truth(of, given, None, "judged")
        except ColumnError:
            # Spreadsheets write semicolons in many countries.
            with suppress(ColumnError, SpecError):
                if is_file:
                    return read_truth(of, given, None, "judged", how=Reading(delimiter=";"))
            raise


def _of_labels(error: Exception) -> str:
    """Return a message on the truth as one on labels, which name records."""
    return str(error).replace("the truth: row", "`labels`: row").replace("no document", "no record")
