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
    """Raise StoreError for sketches of other processes without what orders the documents."""
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
    """Return int64[documents]: positions in the order of ``order_by``; None for the input's."""
    if spec.order_by is None:
        return None
    ranks = _ranks(corpus, spec.order_by, "order_by", descending=False)
    return np.argsort(ranks, kind="stable")


def keep_order(corpus: Corpus, spec: Spec, order: np.ndarray | None) -> np.ndarray:
    """Return int32[documents]: ranks; of two similar documents that of the lower rank is kept.

    Where ``keep`` does not decide, ``order`` does, see `document_order`.
    """
    ranks = np.arange(corpus.documents, dtype=np.int32)
    rank = ranks.copy()
    if order is not None:
        rank[order] = ranks
    if spec.keep == "first":
        return rank
    if spec.keep == "longest":
        best = -corpus.lengths.astype(np.int64)
    else:
        how, _, name = spec.keep.partition(":")
        best = _ranks(corpus, name, "keep", descending=how == "max")
    rank[np.lexsort((rank, best))] = ranks
    return rank


def _ranks(corpus: Corpus, name: str, setting: str, *, descending: bool) -> np.ndarray:
    """Return int64[documents]: ranks of the values of a column, nulls last."""
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
        found: Any = pc.rank(column, sort_keys=direction, tiebreaker="dense")
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
