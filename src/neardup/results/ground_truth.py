"""Which documents are duplicates, as a user knows it: pairs of ids, or an id and its group.

Pairs are taken as they are; *links* are pairs of which all that they connect are duplicates, such
as a document and the one that it was copied from. *Judged* pairs have a third column that says
whether they are duplicates; nothing is known of others.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of, is_binary, is_text
from neardup.errors import ColumnError, InputError, SpecError, UnknownIdError
from neardup.io.columns import shown
from neardup.io.frames import are_records
from neardup.options.input_tables import Counted, open_table, read_counted
from neardup.options.option_groups import Reading

KINDS = ("pairs", "links", "groups", "judged")
#: Columns that are looked for, the first that are there; as `neardup` itself writes them, too.
_PAIRS = ("doc_id_a doc_id_b", "id_a id_b", "id_1 id_2", "id1 id2", "a b")
_GROUPS = ("cluster", "cluster_id", "group", "group_id", "label")
_KNOWN: dict[tuple[str, ...], str] = {
    **{tuple(names.split()): "pairs" for names in _PAIRS},
    ("id", "source_id"): "links",
    **{(id, group): "groups" for id in ("doc_id", "id") for group in _GROUPS},
}
#: Third columns that say of each pair whether it is one of duplicates.
_VERDICTS = ("duplicate", "label", "same")
_YES = ("true", "1", "yes", "right", "same", "match")
_NO = ("false", "0", "no", "wrong", "different", "no match")
_NAMES_HINT = "name two with `columns`, and say with `kind` whether they are pairs or groups"

#: A column of a table whose types are not known before it is read.
Column = Any


class KnownIds(NamedTuple):
    """Documents that a truth may name.

    Attributes:
        ids: Those that are named first.
        name: Of the result, in messages.
        secret: Whether no message may have an id.
        second: Those that are named second, where they are others.
    """

    ids: Column
    name: str
    secret: bool = False
    second: Column = None


@dataclass(frozen=True)
class GroundTruth:
    """The ground truth in numbers of documents of a run."""

    kind: str  # one of `KINDS`
    docs: np.ndarray  # int64[rows]: documents named first
    others: np.ndarray  # int64[rows]: groups, or documents named second; -1 for no duplicate
    skipped: int  # rows left out: the run has no document with such an id, or they are too large
    right: np.ndarray  # bool[rows]: whether each pair is one of duplicates


def read_truth(
    there: KnownIds,
    source: Any,
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    missing: str = "error",
    how: Reading | None = None,
) -> GroundTruth:
    """Read pairs of ids, or ids and groups, and find their documents; see `evaluate`.

    ``how`` says how a file is read.
    """
    if kind is not None and kind not in KINDS:
        raise SpecError(f"`kind` is {kind!r}; expected one of {', '.join(KINDS)}")
    if missing not in ("error", "skip"):
        raise SpecError(f"`missing` is {missing!r}; expected error or skip")
    name, (table, left_out) = _read(source, columns, how)
    first, second, kind = _columns(name, table.column_names, columns, kind)
    ids, others = _nulls(table.column(first)), _nulls(table.column(second))
    if ids.null_count:
        row = int(np.argmax(~_valid(ids))) + 1
        raise InputError(f"{name}: row {row} has no {first}", "each row needs an id")
    docs = _numbers(ids, there.ids)
    unknown = docs < 0
    secret = there.secret or (how is not None and how.private_ids)
    later = there.ids if there.second is None else there.second
    try:
        groups = kind == "groups"
        numbers = _group_numbers(others) if groups else _numbers(others, later)
    except pa.ArrowException as error:
        what = f"{name}: {second} is of type {others.type}"
        raise ColumnError(f"{what}, which can't name groups") from error
    if not groups:
        unknown |= (numbers < 0) & _valid(others)
    if unknown.any() and missing == "error":
        row = int(np.argmax(unknown))
        value = _quoted(ids[row] if docs[row] < 0 else others[row], secret)
        what = f"{name}: row {row + 1}: {there.name} has no document with the id{value}"
        others_out = "`missing`='skip' leaves out those with other ids"
        if later is not there.ids:
            others_out = f"the truth of two files is pairs of an id of each; {others_out}"
        raise UnknownIdError(what, f"rows are counted without the header; {others_out}")
    # Without two documents there is nothing that it could name.
    several = min(len(there.ids), len(later)) > (1 if later is there.ids else 0)
    if unknown.all() and len(unknown) and several:
        found = {first: docs} if groups else {first: docs, second: numbers}
        lost = [column for column, rows in found.items() if (rows < 0).all()]
        raise _none_known(name, there.name, lost or list(found))
    right, judged = _verdicts(name, table, kind)
    known = ~unknown & judged
    skipped = left_out.large + left_out.bad + int((~known).sum())
    truth = GroundTruth(kind, docs[known], numbers[known], skipped, right[known])
    if kind == "groups":
        _check_groups(name, truth, there.ids, secret)
    return truth


def truth_ids(
    source: Any,
    known: Sequence[Column],
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    how: Reading | None = None,
) -> list[Column]:
    """Return the ids that the truth names first, and those that it names second, as written.

    Args:
        source: The truth.
        known: large_string[] twice: ids that there are, named first and second.
        columns: See `read_truth`, as for ``kind`` and ``how``.

    Raises:
        InputError: None of the ids of a column is known.
    """
    name, (table, _) = _read(source, columns, how)
    first, second, kind = _columns(name, table.column_names, columns, kind)
    found = []
    for column, there in zip((first, first if kind == "groups" else second), known, strict=True):
        ids: Column = pc.drop_null(_nulls(table.column(column))).cast(pa.large_string())
        if len(there) and len(ids) and (_numbers(ids, there) < 0).all():
            raise _none_known(name, "a candidate", [column])
        found.append(ids)
    return found


def _none_known(name: str, has: str, columns: Sequence[str]) -> InputError:
    """Return the error for a truth of other ids: scores would all be 0."""
    where = " and ".join(map(repr, columns))
    hint = "name other columns with `columns`; ids are positions where the run had no `id`"
    return InputError(f"{name}: none of its rows has ids that {has} has, in {where}", hint)


def _read(source: Any, columns: Sequence[str] | None, how: Reading | None) -> tuple[str, Counted]:
    is_file = isinstance(source, str | os.PathLike)
    name, given = str(source) if is_file else "the truth", source
    what = f"the truth is of type {type(source).__name__}; expected a path, a table or pairs"
    hint = "such as an Arrow table, a frame, a dict of two columns, or a list of pairs of ids"
    if isinstance(source, list | tuple | set) and not are_records(source):
        try:
            a, b = zip(*source, strict=True) if source else ((), ())
            given = pa.table({"a": list(a), "b": list(b)})
        except (TypeError, ValueError, pa.ArrowException) as error:
            raise InputError(what, hint) from error
    if not is_file:
        how = None if how is None else replace(how, skip_large=False, skip_bad=False)
    paths = [column for column in columns or () if set(column) & set(".[")]
    return name, read_counted(open_table(given, how, paths), name)


def _columns(
    name: str, there: list[str], columns: Sequence[str] | None, kind: str | None
) -> tuple[str, str, str]:
    names = ", ".join(shown(column, number) for number, column in enumerate(there[:30]))
    listed = f"its columns are {names}" if there else "it has no columns"
    if columns is None:
        for (first, second), what in _KNOWN.items():
            fits = kind in (None, what) or "groups" not in (kind, what)
            if there.count(first) == there.count(second) == 1 and fits:
                if what == "pairs" and set(there) & set(_VERDICTS):
                    what = "judged"
                return first, second, kind or what
        raise ColumnError(f"{name}: no columns that are known; {listed}", _NAMES_HINT)
    if len(columns) != 2:
        third = f"the third column, {_VERDICTS[0]!r}, needs no name"
        hint = third if kind == "judged" else _NAMES_HINT
        raise SpecError(f"`columns` names {len(columns)}; expected two", hint)
    first, second = columns
    for column in columns:
        if there.count(column) != 1:
            raise ColumnError(f"{name}: no column {column!r}, or several; {listed}", _NAMES_HINT)
    kind = kind or _KNOWN.get((first, second))
    if kind is None:
        what = f"the columns {first} and {second} may be pairs, links or groups"
        raise SpecError(what, "say which with `kind`")
    return first, second, kind


def _verdicts(name: str, table: pa.Table, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return bool[rows] twice: whether each pair is one of duplicates, and whether it is judged."""
    if kind != "judged":
        every = np.ones(table.num_rows, dtype=np.bool_)
        return every, every
    column = next((c for c in _VERDICTS if c in table.column_names), None)
    if column is None:
        raise ColumnError(f"{name}: judged pairs need a column {_VERDICTS[0]!r}", _NAMES_HINT)
    values = ["" if v is None else str(v).strip().lower() for v in table.column(column).to_pylist()]
    wrong = next((row for row, v in enumerate(values) if v and v not in _YES + _NO), None)
    if wrong is not None:
        what = f"{name}: row {wrong + 1}: {column} is neither true nor false"
        raise InputError(what, "write true or false, or leave it empty for a pair of unknown")
    if values and not any(values):
        raise InputError(f"{name}: no row says whether its pair is one", f"{column}: true or false")
    right = np.array([value in _YES for value in values], dtype=np.bool_)
    return right, np.array([value != "" for value in values], dtype=np.bool_)


def _nulls(values: Column) -> Column:
    """Return a column in which an empty string, as CSV has it for nothing, is null."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return pc.if_else(pc.equal(values, pa.scalar("", values.type)), None, values)
    return values


def _valid(values: Column) -> np.ndarray:
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False))


def _numbers(ids: Column, known: Column) -> np.ndarray:
    """Return the documents, -1 where there is none; by type if equal, else as they are written."""
    if ids.type != known.type:
        number = pa.types.is_integer(ids.type) or pa.types.is_floating(ids.type)
        try:
            if number and pa.types.is_integer(known.type):
                ids, known = ids.cast(pa.int64()), known.cast(pa.int64())
            else:
                ids, known = _written(ids), _written(known)
        except pa.ArrowException:
            return np.full(len(ids), -1, dtype=np.int64)
    index: Any = pc.index_in(ids, value_set=known, skip_nulls=True)
    found = np.array(pc.fill_null(index, -1).to_numpy(), dtype=np.int64)
    missing = np.flatnonzero(found < 0)
    if len(missing) and (is_text(ids.type) or is_binary(ids.type)):
        # An id that begins like a formula has an apostrophe before it in a table for spreadsheets.
        mark = "'" if is_text(ids.type) else b"'"
        given = [None if id is None else id.removeprefix(mark) for id in _at(ids, missing)]
        again: Any = pc.index_in(pa.array(given, ids.type), value_set=known, skip_nulls=True)
        found[missing] = pc.fill_null(again, -1).to_numpy()
    return found


def _at(ids: Column, rows: np.ndarray) -> list[Any]:
    found: list[Any] = ids.take(array_of(rows)).to_pylist()
    return found


def _written(ids: Column) -> Column:
    """Return ids as they are written, in bytes, since those of a run need not be UTF-8."""
    is_binary = pa.types.is_binary(ids.type) or pa.types.is_large_binary(ids.type)
    return (ids if is_binary else ids.cast(pa.large_string())).cast(pa.large_binary())


def _group_numbers(groups: Column) -> np.ndarray:
    encoded: Any = pc.dictionary_encode(groups).combine_chunks()
    return np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(), dtype=np.int64)


def _check_groups(name: str, truth: GroundTruth, ids: Column, secret: bool) -> None:
    order = np.argsort(truth.docs, kind="stable")
    docs, groups = truth.docs[order], truth.others[order]
    twice = (docs[1:] == docs[:-1]) & (groups[1:] != groups[:-1])
    if twice.any():
        doc = int(docs[int(np.argmax(twice))])
        which = f"the id{_quoted(ids[doc], secret)} of document {doc}"
        hint = "each document belongs to one group at most"
        raise InputError(f"{name}: {which} is in two groups", hint)


def _quoted(id: Any, secret: bool) -> str:
    return "" if secret else f" {str(id)[:100]!r}"
