"""What a run found, as Arrow tables in the users' ids, a slice at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.cluster.edges import Allocate, Edges, Triple, batches
from neardup.engines.local import Outcome
from neardup.errors import OutputSizeError
from neardup.io.columns import strings_of
from neardup.stages.identifiers import take_ids

#: Rows of a slice.
_ROWS = 1 << 18
#: Edges that are written at most.
_MOST_EDGES = 100_000_000
#: What an annotated corpus has besides its own columns.
ADDED = ("cluster", "kept", "duplicate_of", "similarity", "cluster_size")


def id_type(outcome: Outcome) -> pa.DataType:
    """Return the type of the ids: int64, uint64, large_string or large_binary."""
    return pa.int64() if outcome.ids is None else outcome.ids.type


def column_types(ids: pa.DataType) -> dict[str, pa.DataType]:
    """Return the types of all columns of all tables, for readers of CSV."""
    numbers = ("doc", "cluster", "row", "position", "doc_a", "doc_b", "cluster_size")
    named = ("doc_id", "duplicate_of", "id_a", "id_b")
    types: dict[str, pa.DataType] = {"kept": pa.bool_(), "similarity": pa.float64()}
    types["file"] = pa.large_string()
    return types | dict.fromkeys(numbers, pa.int64()) | dict.fromkeys(named, ids)


def _schema(outcome: Outcome, names: Sequence[str], null: Sequence[str] = ()) -> pa.Schema:
    types = column_types(id_type(outcome))
    return pa.schema([pa.field(name, types[name], nullable=name in null) for name in names])


def clusters_schema(outcome: Outcome) -> pa.Schema:
    has_places = _has_places(outcome) or outcome.places is not None
    places = ("file", "row") if has_places else ()
    null = ("duplicate_of", "similarity")
    return _schema(outcome, ("doc", "doc_id", "cluster", "kept", *null, *places), null)


def cluster_tables(outcome: Outcome) -> Iterator[pa.Table]:
    """Yield a row for each document, in the order of the documents.

    ``doc`` is its number, ``cluster`` that of the first document of its cluster in keep order,
    ``duplicate_of`` the id of the kept document that a removed one is a duplicate of, and
    ``similarity`` that of the two; both are null for a kept document. Of files, ``file`` is the
    name of its file, as in the clean corpus, and ``row`` its place among the records, from 0.
    """
    files = outcome.job.source.files if _has_places(outcome) else []
    names = strings_of([file.name.encode(errors="replace") for file in files])
    numbers = outcome.numbers()
    schema = clusters_schema(outcome)
    for first in range(0, outcome.corpus.documents, _ROWS):
        last = min(first + _ROWS, outcome.corpus.documents)
        positions = np.arange(first, last) if outcome.order is None else outcome.order[first:last]
        columns: list[Any] = [
            array_of(np.arange(first, last)),
            take_ids(outcome.ids, positions),
            *_answers(outcome, numbers, positions),
            *(_places(outcome, names, positions) if files else []),
        ]
        if outcome.places is not None and not files:
            columns += outcome.places.slice(first, last - first).columns
        yield pa.Table.from_arrays(columns, schema=schema)


def _answers(outcome: Outcome, numbers: np.ndarray, positions: np.ndarray) -> list[Any]:
    """Return ``cluster``, ``kept``, ``duplicate_of`` and ``similarity`` of some documents."""
    answer = outcome.answer
    duplicate_of = answer.duplicate_of[positions]
    kept = duplicate_of < 0
    return [
        array_of(numbers[answer.cluster[positions]]),
        array_of(kept),
        take_ids(outcome.ids, duplicate_of),
        array_of(answer.similarity[positions], null=kept),
    ]


def _has_places(outcome: Outcome) -> bool:
    return bool(outcome.job.source.files and outcome.corpus.places)


def _places(outcome: Outcome, names: Any, positions: np.ndarray) -> list[Any]:
    files, rows = outcome.corpus.places_of(positions)
    if outcome.job.source.format == "text":  # a file is a document, and a partition has several
        files, rows = (files + rows).astype(np.int32), np.zeros_like(rows)
    return [names.take(array_of(files)), array_of(rows)]


#: Where each document is in the input: of documents that have another order.
ORDER_SCHEMA = pa.schema(
    [pa.field(name, pa.int64(), nullable=False) for name in ("doc", "position")]
)


def order_tables(order: np.ndarray) -> Iterator[pa.Table]:
    """Yield a row for each document: its number, and its place in the input, see `Outcome`."""
    for first in range(0, len(order), _ROWS):
        positions = order[first : first + _ROWS]
        columns = [array_of(np.arange(first, first + len(positions))), array_of(positions)]
        yield pa.Table.from_arrays(columns, schema=ORDER_SCHEMA)


def edges_schema(outcome: Outcome) -> pa.Schema:
    return _schema(outcome, ("doc_a", "doc_b", "id_a", "id_b", "similarity"))


def edge_tables(outcome: Outcome) -> Iterator[pa.Table]:
    """Yield a row for each pair that reaches the threshold, ``doc_a < doc_b``, sorted.

    With ``pairs="all"`` these are all pairs, of which there may be 100 million. Else one document
    stands for a group of exact duplicates, and each of the others has one edge, to that one.
    """
    numbers = outcome.numbers()
    edges = _all_edges(outcome, numbers)
    by_number = outcome.order
    schema = edges_schema(outcome)
    for first in range(0, len(edges), _ROWS):
        rows = slice(first, first + _ROWS)
        a, b = edges.a[rows], edges.b[rows]
        at_a, at_b = (a, b) if by_number is None else (by_number[a], by_number[b])
        yield pa.Table.from_arrays(
            [
                array_of(a.astype(np.int64)),
                array_of(b.astype(np.int64)),
                take_ids(outcome.ids, at_a),
                take_ids(outcome.ids, at_b),
                array_of(edges.similarity[rows]),
            ],
            schema=schema,
        )


def _all_edges(outcome: Outcome, numbers: np.ndarray) -> Edges:
    """Return edges between documents by their numbers, exact duplicates included."""
    answer = outcome.answer
    edges = answer.edges
    assert edges is not None
    first = answer.first
    others = np.flatnonzero(first != np.arange(len(first)))
    if outcome.job.spec.pairs == "all" and len(others):
        a, b = answer.docs[edges.a], answer.docs[edges.b]
        found = [(_expanded(first, others, a, b, edges.similarity), numbers)]
    else:
        duplicates = (first[others], others, np.ones(len(others)))
        listed = (edges.a, edges.b, edges.similarity)
        found = [(listed, numbers[answer.docs]), (duplicates, numbers)]
    empty = outcome.scratch.empty
    return Edges.gather([_numbered(pairs, names, empty) for pairs, names in found], empty)


def _numbered(pairs: Triple, names: np.ndarray, empty: Allocate) -> Triple:
    """Return pairs with other numbers for the documents, the lower one first."""
    a, b, similarity = pairs
    low, high = empty(len(a), np.int32), empty(len(a), np.int32)
    for rows in batches(len(a)):
        x, y = names[a[rows]], names[b[rows]]
        np.minimum(x, y, out=low[rows], casting="same_kind")
        np.maximum(x, y, out=high[rows], casting="same_kind")
    return low, high, similarity


def _expanded(
    first: np.ndarray, others: np.ndarray, a: np.ndarray, b: np.ndarray, similarity: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all pairs of documents for the pairs of those that stand for exact duplicates."""
    order = np.argsort(first, kind="stable")
    sizes = np.bincount(first, minlength=len(first)).astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    groups = np.unique(first[others])
    within = int((sizes[groups] * (sizes[groups] - 1) // 2).sum())
    total = within + int((sizes[a] * sizes[b]).sum())
    if total > _MOST_EDGES:
        raise OutputSizeError(
            f"{total:,} pairs reach the threshold; at most {_MOST_EDGES:,} are written",
            "leave out pairs='all', or raise `threshold`",
        )
    parts_a, parts_b, parts_s = [], [], []
    for group in groups.tolist():
        members = order[starts[group] : starts[group] + sizes[group]]
        i, j = np.triu_indices(len(members), k=1)
        parts_a.append(members[i])
        parts_b.append(members[j])
        parts_s.append(np.ones(len(i)))
    # Each pair (a, b) becomes all pairs of a document of the one group and one of the other.
    counts = sizes[a] * sizes[b]
    pair = np.repeat(np.arange(len(a)), counts)
    within_pair = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = sizes[b][pair]
    parts_a.append(order[starts[a][pair] + within_pair // np.maximum(width, 1)])
    parts_b.append(order[starts[b][pair] + within_pair % np.maximum(width, 1)])
    parts_s.append(similarity[pair])
    return np.concatenate(parts_a), np.concatenate(parts_b), np.concatenate(parts_s)


def added_schema(outcome: Outcome) -> pa.Schema:
    return _schema(outcome, ADDED, ADDED)


def added_fields(
    outcome: Outcome, numbers: np.ndarray, sizes: np.ndarray, positions: np.ndarray
) -> pa.Table:
    """Return what an annotated corpus has besides its own columns, of documents by position.

    ``numbers`` are `Outcome.numbers`; ``sizes``, int64[documents], are those of the clusters, by
    their first document.
    """
    size = array_of(sizes[outcome.answer.cluster[positions]])
    columns = [*_answers(outcome, numbers, positions), size]
    return pa.Table.from_arrays(columns, schema=added_schema(outcome))
