"""Which documents of a batch are new, as tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import ArrowArray, array_of
from neardup.corpora.corpus import InputCorpus
from neardup.deduplication.documents.identifiers import take_ids
from neardup.output.tables import how_column
from neardup.recipe import Recipe


class Decided(NamedTuple):
    """Which documents of a batch are new.

    Attributes:
        table: A row for each document: ``doc``, ``doc_id``, ``cluster``, ``kept``,
            ``duplicate_of``, ``similarity``, ``how`` the two are alike, and ``in_old``, whether
            ``duplicate_of`` is a document of the old corpus.
        kept: bool[n].
        how: int8[n]: positions in `neardup.stages.exact.HOW`; -1 for kept documents, and where it
            is not known, since the other one is in an index that stores no texts.
        matches: ``doc``, ``doc_id``, ``old_id`` and ``similarity`` of all similar pairs, if they
            were asked for.
        old_found: Documents of the old corpus among these.
        old_documents: Documents of the old corpus.
        recipe: How texts became band keys.
        notes: On the order of the documents, and on files without text.
    """

    table: pa.Table
    kept: np.ndarray
    how: np.ndarray
    matches: pa.Table | None
    old_found: int
    old_documents: int
    recipe: Recipe
    notes: list[str]


def table_of(
    corpus: InputCorpus,
    target: np.ndarray,
    similarity: np.ndarray,
    how: np.ndarray,
    of_old: ArrowArray,
) -> tuple[pa.Table, np.ndarray]:
    """Return the table of a batch, and bool[n], which of its documents are kept.

    Args:
        corpus: The batch.
        target: int[n]: of each document the one that it is a duplicate of: -1 for none; one of the
            batch by its position; one of the old corpus by n and its row in ``of_old``.
        similarity: float64[n]: of the two.
        how: int8[n], see `Decided`.
        of_old: Ids of documents of the old corpus.
    """
    documents = len(target)
    kept, in_old = target < 0, target >= documents
    of_new = take_ids(corpus.ids(), np.arange(documents))
    both: Any = pa.concat_arrays(_of_one_type(of_new, of_old))
    table = pa.table(
        {
            "doc": array_of(np.arange(documents)),
            "doc_id": of_new,
            "cluster": array_of(np.where(kept, np.arange(documents), target), null=in_old),
            "kept": array_of(kept),
            "duplicate_of": both.take(array_of(target, null=kept)),
            "similarity": array_of(similarity, null=kept),
            "how": how_column(how),
            "in_old": array_of(in_old),
        }
    )
    return table, kept


def matches_of(
    corpus: InputCorpus, docs: np.ndarray, old_ids: ArrowArray, similarity: np.ndarray
) -> pa.Table:
    """Return the table of similar pairs, whose documents of the batch are int64[pairs]."""
    columns: dict[str, Any] = {
        "doc": array_of(docs),
        "doc_id": take_ids(corpus.ids(), docs),
        "old_id": old_ids,
        "similarity": array_of(similarity),
    }
    return pa.table(columns)


def _of_one_type(of_new: Any, of_old: Any) -> list[Any]:
    """Return the ids of a batch and of an old corpus in one type, as text if no other fits."""
    types = of_new.type, of_old.type
    kinds = [types[0]] if types[0] == types[1] or not len(of_old) else [pa.large_string()]
    if all(pa.types.is_integer(kind) for kind in types):
        kinds = [types[0], types[1], pa.large_string()]
    elif pa.large_binary() in types:
        kinds = [pa.large_binary()]
    for kind in kinds:
        try:
            return [_cast(ids, kind) for ids in (of_new, of_old)]
        except pa.ArrowInvalid:  # a number that the other type does not have
            if kind == kinds[-1]:
                raise
    raise AssertionError("the last type fits all ids")


def _cast(ids: Any, kind: pa.DataType) -> Any:
    if kind == pa.large_binary() and pa.types.is_integer(ids.type):
        ids = ids.cast(pa.large_string())
    return ids.cast(kind)
