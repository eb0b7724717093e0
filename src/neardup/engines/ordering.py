"""The order of the documents, and the order in which they are kept."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import numbers
from neardup.engines.metadata import Corpus
from neardup.errors import ColumnError, StoreError
from neardup.spec import Spec

#: Up to here float64 holds every whole number.
_EXACT = 2.0**53


def require_stored(corpus: Corpus, spec: Spec) -> None:
    """Refuse sketches of other processes without what this run orders the documents by.

    Args:
        corpus: The documents.
        spec: ``keep`` and ``order_by`` are looked at.

    Raises:
        StoreError: It is not in the store; the hint says how to sketch again.
    """
    there = corpus.columns.column_names
    column = spec.keep.partition(":")[2]
    if spec.order_by is not None and spec.order_by not in there:
        setting, value = "order_by", spec.order_by
    elif (spec.keep == "longest" and not len(corpus.lengths)) or (column and column not in there):
        setting, value = "keep", spec.keep
    else:
        return
    raise StoreError(
        f"`{setting}` is {value!r}, and the sketches hold nothing to order documents by it",
        f"sketch again with {setting}={value!r}, as another `run`",
    )


def document_order(corpus: Corpus, spec: Spec) -> np.ndarray | None:
    """Return int64[documents]: positions in the order that the user asks for; None for the input's.

    Args:
        corpus: The documents.
        spec: ``order_by`` is looked at.

    Raises:
        ColumnError: The column is not there, or can't be ordered.
    """
    if spec.order_by is None:
        return None
    return _sorted_by(corpus, spec.order_by, "order_by", descending=False)


def keep_order(corpus: Corpus, spec: Spec, order: np.ndarray | None) -> np.ndarray:
    """Rank the documents: of two similar ones that of the lower rank is kept.

    Args:
        corpus: The documents.
        spec: ``keep`` is looked at.
        order: See `document_order`; it decides where ``keep`` does not.

    Returns:
        int32[documents]: rank by position, a permutation.

    Raises:
        ColumnError: The column to keep by is not there, or can't be ordered.
    """
    documents = corpus.documents
    rank = np.empty(documents, dtype=np.int32)
    numbers = np.arange(documents, dtype=np.int32)
    if order is None:
        rank[...] = numbers
    else:
        rank[order] = numbers
    if spec.keep == "first":
        return rank
    if spec.keep == "longest":
        best = np.lexsort((rank, -corpus.lengths.astype(np.int64)))
    else:
        how, _, name = spec.keep.partition(":")
        by_column = _sorted_by(corpus, name, "keep", descending=how == "max", dense=True)
        best = np.lexsort((rank, by_column))
    rank[best] = numbers
    return rank


def _sorted_by(
    corpus: Corpus, name: str, setting: str, *, descending: bool, dense: bool = False
) -> np.ndarray:
    """Return the positions in the order of a column, nulls last; or the rank of each value."""
    if name not in corpus.columns.column_names:
        raise ColumnError(f"`{setting}` names a column that is not there: {name!r}")
    column: Any = corpus.columns.column(name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_null(kind):  # of JSON lines in which nobody has a value
        column = column.cast(pa.int64())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _as_numbers(column, name)
    direction: Any = "descending" if descending else "ascending"
    try:
        if dense:
            ranks: Any = pc.rank(column, sort_keys=direction, tiebreaker="dense")
            return numbers(ranks, np.int64)
        found: Any = pc.sort_indices(pa.table({"value": column}), [("value", direction)])
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:  # lists, structs
        raise ColumnError(f"column {name!r} of type {column.type} can't be ordered") from error
    return numbers(found, np.int64)


def _as_numbers(column: Any, name: str) -> Any:
    """Return strings as numbers if all of them are; CSV has no others."""
    with suppress(pa.ArrowInvalid):
        return column.cast(pa.int64())
    try:
        found = column.cast(pa.float64())
    except pa.ArrowInvalid:
        return column
    largest: Any = pc.max(pc.abs(found.filter(pc.is_finite(found))))
    if (largest.as_py() or 0.0) < _EXACT:
        return found
    # As float64, different whole numbers would become equal.
    try:
        return column.cast(pa.decimal256(76, 38))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:  # more than 76 digits; 1e300
        raise ColumnError(
            f"column {name!r} holds numbers as text that can't be compared exactly",
            "give it a numeric type, such as float64 in a Parquet file",
        ) from error
