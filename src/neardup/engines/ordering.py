"""The order of the documents, and the order in which they are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import numbers
from neardup.engines.metadata import Corpus
from neardup.errors import ColumnError
from neardup.spec import Spec

__all__ = ["document_order", "keep_order"]


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
        # CSV has no numbers: if all are numbers, they are compared as numbers.
        for target in (pa.int64(), pa.float64()):
            try:
                column = column.cast(target)
                break
            except pa.ArrowInvalid:
                continue
    direction: Any = "descending" if descending else "ascending"
    try:
        if dense:
            ranks: Any = pc.rank(column, sort_keys=direction, tiebreaker="dense")
            return numbers(ranks, np.int64)
        found: Any = pc.sort_indices(pa.table({"value": column}), [("value", direction)])
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise ColumnError(f"column {name!r} of type {column.type} can't be ordered") from error
    return numbers(found, np.int64)
