"""The order of the documents, and the order in which they are kept."""

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of, is_text, numbers
from neardup.errors import ColumnError, StoreError
from neardup.io.columns import string_scalar
from neardup.spec import LENGTH, Spec
from neardup.stages.number_text import EXACT, NUMBER, REMEDY


def require_stored(columns: pa.Table, spec: Spec) -> None:
    """Raise StoreError for sketches of other processes without the columns of the keep order."""
    for setting, value, name in (
        ("order_by", spec.order_by, spec.order and spec.order.column),
        ("keep", spec.keep, keep_column(spec)),
    ):
        there = not name or name in columns.column_names
        if not there or (name == LENGTH and columns.column(LENGTH).null_count):  # of some shards
            raise StoreError(
                f"`{setting}` is {value!r}, and the sketches have no values of it",
                f"sketch again with {setting}={value!r}, as another `run`",
            )


def keep_column(spec: Spec) -> str:
    """Return the column whose values order documents; empty where the order of the input does."""
    return LENGTH if spec.keep == "longest" else spec.keep_column


def document_order(table: pa.Table, spec: Spec) -> np.ndarray | None:
    """Return int64[documents]: positions in the order of ``order_by``; None for the input's."""
    if spec.order is None:
        return None
    return np.argsort(_ranks(table, spec.order.column, "order_by", None, spec.order.descending))


def keep_order(table: pa.Table, documents: int, spec: Spec, order: np.ndarray | None) -> np.ndarray:
    """Return int32[documents]: ranks; of two similar documents that of the lower rank is kept.

    Where ``keep`` does not decide, ``order`` does, see `document_order`.
    """
    rank = np.arange(documents, dtype=np.int32)
    if name := keep_column(spec):
        descending = not spec.keep.startswith("min:")
        rank = _ranks(table, name, "keep", order, descending)
    if order is None:
        return rank
    by_position = np.empty_like(rank)
    by_position[order] = rank
    return by_position


def _ranks(
    table: pa.Table, name: str, setting: str, order: np.ndarray | None, descending: bool = False
) -> np.ndarray:
    """Return int32[documents]: ranks of the values of a column, from 0, in ``order``.

    Of equal values the first has the lowest; nulls are last.
    """
    if name not in table.column_names:
        raise ColumnError(f"`{setting}` names a column that is not there: {name!r}")
    column: Any = table.column(name)
    column = values_of(column if order is None else column.take(array_of(order)))
    if pa.types.is_null(column.type):  # of JSON lines, none of which has a value
        column = column.cast(pa.int64())
    if pa.types.is_float16(column.type):  # which Arrow can't order
        column = column.cast(pa.float32())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _as_numbers(column, name)
    direction: Any = "descending" if descending else "ascending"
    try:
        found: Any = pc.rank(column, sort_keys=direction, tiebreaker="first")
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:  # lists, structs
        raise ColumnError(f"column {name!r} of type {column.type} can't be ordered") from error
    return numbers(found, np.int32) - np.int32(1)


def values_of(column: Any) -> Any:
    """Return a column without a dictionary, in which empty text is no value."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not is_text(column.type):
        return column
    empty: Any = pc.equal(column, string_scalar(""))
    if not pc.any(empty).as_py():
        return column
    return pc.if_else(empty, pa.nulls(1, column.type)[0], column)


def _as_numbers(column: Any, name: str) -> Any:
    """Return strings as numbers if all of them are; CSV has no others."""
    if not pc.all(pc.match_substring_regex(column, NUMBER), min_count=0).as_py():
        return column
    with suppress(pa.ArrowInvalid):
        return column.cast(pa.int64())
    found = column.cast(pa.float64())
    largest: Any = pc.max(pc.abs(found.filter(pc.is_finite(found))))
    if (largest.as_py() or 0.0) < EXACT:
        return found
    # As float64, different integers would become equal.
    try:
        return column.cast(pa.decimal256(76, 38))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:  # more than 76 digits; 1e300
        message = f"column {name!r} contains numbers as text that can't be compared exactly"
        raise ColumnError(message, REMEDY) from error
