"""Who is kept rather: the order that ``keep`` asks for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import ColumnError
from neardup.run.facts import Facts
from neardup.spec import Spec

__all__ = ["priorities"]


def priorities(facts: Facts, spec: Spec, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank the documents, and lead each group of equal ones by its best.

    Args:
        facts: The documents.
        spec: ``keep`` is looked at.
        first: int32[documents]: first document with the same tokens.

    Returns:
        (int64[documents], a permutation: priority of each first document is that of its group's
        best; int32[documents]: for a first document, the best of its group).

    Raises:
        ColumnError: The column to keep by is not there, or can't be ordered.
    """
    count = len(first)
    leader = np.arange(count, dtype=np.int32)
    rank = np.arange(count, dtype=np.int64)
    if spec.keep == "first":
        return rank, leader
    if spec.keep == "longest":
        order = np.argsort(-facts.characters.astype(np.int64), kind="stable")
    else:
        how, _, name = spec.keep.partition(":")
        order = _order_by(facts, name, descending=how == "max")
    rank[order] = np.arange(count)
    # Best of each group: the first of its documents in the order.
    groups, at = np.unique(first[order], return_index=True)
    leader[groups] = order[at]
    # A group stands where its best stands; the two change places so that all stay different.
    best = rank[leader[groups]]
    rank[leader[groups]] = rank[groups]
    rank[groups] = best
    return rank, leader


def _order_by(facts: Facts, name: str, descending: bool) -> np.ndarray:
    """Return the positions in order of a column, ties by position, nulls last."""
    if name not in facts.columns:
        raise ColumnError(
            f"{facts.origins[0] or 'the input'}: keep names a column that is not there: {name!r}",
            "columns are " + ", ".join(facts.schemas[0].names),
        )
    held = facts.columns[name]
    column = pa.chunked_array(held.chunks, held.type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # CSV has no numbers: if all are numbers, they are compared as numbers.
        for type in (pa.int64(), pa.float64(), pa.large_string()):
            try:
                column = column.cast(type)
                break
            except pa.ArrowInvalid:
                continue
    try:
        order = pc.array_sort_indices(
            column.combine_chunks(),
            order="descending" if descending else "ascending",
            null_placement="at_end",
        )
    except pa.ArrowNotImplementedError as error:
        raise ColumnError(f"column {name!r} of type {column.type} can't be ordered") from error
    return order.to_numpy().astype(np.int32)
