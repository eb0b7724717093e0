"""The results of a run as Arrow tables with the users' ids, a slice at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.arrays import ArrowArray, array_of, strings_of
from neardup.cluster.edges import Allocate, Edges, Triple, batches
from neardup.deduplication.comparing import RunAnswer
from neardup.deduplication.documents.identifiers import take_ids
from neardup.deduplication.local import Outcome
from neardup.errors import OutputSizeError
from neardup.match.pair_counts import CLASSES
from neardup.stages.exact import HOW
from neardup.tuning import TUNING

#: Edges that are written at most.
_MOST_EDGES = 100_000_000
#: Columns that an annotated corpus has in addition to those of the input.
ADDED = ("cluster", "kept", "duplicate_of", "similarity", "cluster_size")
#: And those that the removed documents have.
OF_REMOVED = ("duplicate_of", "similarity")
_CLUSTERS = ("doc", "doc_id", "cluster", "kept", "duplicate_of", "similarity", "how")
#: Columns, and those of them that may be null.
_COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "clusters": (_CLUSTERS, ("duplicate_of", "similarity", "how")),
    "order": (("doc", "position"), ()),
    "edges": (("doc_a", "doc_b", "id_a", "id_b", "similarity"), ()),
    "pair_counts": (("cluster", "similarity", "pairs"), ()),
    "added": (ADDED, ADDED),
}

Columns: TypeAlias = Callable[[slice], list[Any]]


def id_type(outcome: Outcome) -> pa.DataType:
    """Return the type of the ids: int64, uint64, large_string or large_binary."""
    return pa.int64() if outcome.ids is None else outcome.ids.type


def _column_types(ids: pa.DataType) -> dict[str, pa.DataType]:
    """Return the types of all columns of all tables."""
    numbers = ("doc", "cluster", "row", "position", "doc_a", "doc_b", "cluster_size", "pairs")
    named = ("doc_id", "duplicate_of", "id_a", "id_b")
    types: dict[str, pa.DataType] = {"kept": pa.bool_(), "similarity": pa.float64()}
    types |= dict.fromkeys(("file", "how"), pa.large_string())
    return types | dict.fromkeys(numbers, pa.int64()) | dict.fromkeys(named, ids)


def schema_of(outcome: Outcome, name: str) -> pa.Schema:
    """Return the schema of one of `TABLES`, or of the columns ``added`` to each record."""
    names, null = _COLUMNS[name]
    if name == "clusters" and (_has_files(outcome) or outcome.locations is not None):
        names += ("file", "row")
    types = _column_types(id_type(outcome))
    return pa.schema([pa.field(each, types[each], nullable=each in null) for each in names])


def tables_of(
    outcome: Outcome, name: str, each: Callable[..., Iterator[pa.Table]]
) -> Iterator[pa.Table]:
    """Yield one of `TABLES`, some rows at a time; nothing where it is empty."""
    schema = schema_of(outcome, name)
    rows, columns = TABLES[name](outcome)
    step = TUNING.table_rows
    slices = (slice(first, min(first + step, rows)) for first in range(0, rows, step))

    def made(rows: slice) -> pa.Table:
        return pa.Table.from_arrays(columns(rows), schema=schema)

    return each(made, slices)


def _clusters(outcome: Outcome) -> tuple[int, Columns]:
    """A row for each document, in the order of the documents, see ``docs/formats.md``."""
    files = outcome.job.source.files if _has_files(outcome) else []
    names = strings_of([file.name.encode(errors="replace") for file in files])
    numbers, order = outcome.numbers(), outcome.order

    def columns(rows: slice) -> list[Any]:
        documents = np.arange(rows.start, rows.stop)
        positions = documents if order is None else order[rows]
        found = [array_of(documents), take_ids(outcome.ids, positions)]
        found += [*_answers(outcome, numbers, positions), how_column(outcome.answer.how[positions])]
        if files:
            return found + _file_rows(outcome, names, positions)
        if outcome.locations is None:
            return found
        return found + outcome.locations.slice(rows.start, len(positions)).columns

    return outcome.corpus.documents, columns


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


def how_column(how: np.ndarray) -> ArrowArray:
    """Return the column of `HOW` for their positions there, int8[n]; null for -1."""
    names: Any = strings_of([name.encode() for name in HOW])
    found: ArrowArray = names.take(array_of(how, null=how < 0))
    return found


def _has_files(outcome: Outcome) -> bool:
    return bool(outcome.job.source.files and outcome.corpus.partitions)


def _file_rows(outcome: Outcome, names: Any, positions: np.ndarray) -> list[Any]:
    files, rows = outcome.corpus.records_of(positions)
    if outcome.job.source.format == "text":  # a file is a document, and a partition has several
        files, rows = (files + rows).astype(np.int32), np.zeros_like(rows)
    return [names.take(array_of(files)), array_of(rows)]


def _order(outcome: Outcome) -> tuple[int, Columns]:
    """A row for each document: its number, and its position in the input, see `Outcome`."""
    order = outcome.order
    assert order is not None

    def columns(rows: slice) -> list[Any]:
        return [array_of(np.arange(rows.start, rows.stop)), array_of(order[rows])]

    return len(order), columns


def _pair_counts(outcome: Outcome) -> tuple[int, Columns]:
    """A row for each cluster and class of similarity, which is named by its lowest one."""
    found, numbers = outcome.answer.in_clusters, outcome.numbers()
    assert found is not None
    found = found[np.lexsort((found[:, 1], numbers[found[:, 0]]))]

    def columns(rows: slice) -> list[Any]:
        cluster, k, pairs = found[rows].T
        return [*map(array_of, (numbers[cluster], k / CLASSES, pairs.copy()))]

    return len(found), columns


def _edges(outcome: Outcome) -> tuple[int, Columns]:
    """A row for each pair that reaches the threshold, ``doc_a < doc_b``, sorted.

    With ``pairs="all"`` these are all pairs, of which there may be 100 million. Else one document
    represents a group of equal ones, and each of the others has an edge to that one. The pair
    of a removed document and its ``duplicate_of`` is always there.
    """
    edges, order = _all_edges(outcome), outcome.order

    def columns(rows: slice) -> list[Any]:
        ends = [edges.a[rows].astype(np.int64), edges.b[rows].astype(np.int64)]
        ids = [take_ids(outcome.ids, end if order is None else order[end]) for end in ends]
        return [*map(array_of, ends), *ids, array_of(edges.similarity[rows])]

    return len(edges), columns


def _all_edges(outcome: Outcome) -> Edges:
    """Return edges between documents by their numbers, equal ones included."""
    answer, numbers = outcome.answer, outcome.numbers()
    edges, first = answer.edges, answer.first
    assert edges is not None
    others = np.flatnonzero(first != np.arange(len(first)))
    if outcome.job.spec.pairs == "all" and len(others):
        total = answer.counts["edges"]
        if total > _MOST_EDGES:
            raise OutputSizeError(
                f"{total:,} pairs reach the threshold; at most {_MOST_EDGES:,} are written",
                "leave out pairs='all', or raise `threshold`",
            )
        every = _expanded(answer, edges, total, outcome.scratch.empty)
        found = [(every, numbers)]
    else:
        duplicates = (first[others], others, np.ones(len(others)))
        # If the first one is removed, all of them are duplicates of the same kept document.
        removed = others[answer.duplicate_of[others] != first[others]]
        answers = (answer.duplicate_of[removed], removed, answer.similarity[removed])
        found = [
            ((edges.a, edges.b, edges.similarity), numbers[answer.docs]),
            (duplicates, numbers),
            (answers, numbers),
        ]
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


def _expanded(answer: RunAnswer, edges: Edges, total: int, empty: Allocate) -> Triple:
    """Return all pairs of documents for the pairs of the representatives of equal ones."""
    order = np.argsort(answer.first, kind="stable")
    sizes = np.bincount(answer.first, minlength=len(answer.first)).astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    found = empty(total, np.int32), empty(total, np.int32), empty(total, np.float64)
    end = 0

    def put(*pairs: np.ndarray) -> None:
        nonlocal end
        begin, end = end, end + len(pairs[0])
        for column, values in zip(found, pairs, strict=True):
            column[begin:end] = values

    for group in np.flatnonzero(sizes > 1).tolist():
        members = order[starts[group] : starts[group] + sizes[group]]
        for apart in range(1, len(members)):
            put(members[:-apart], members[apart:], np.ones(len(members) - apart))
    # Each pair (a, b) becomes all pairs of a document of the one group and one of the other.
    for rows in batches(len(edges)):
        a, b = answer.docs[edges.a[rows]], answer.docs[edges.b[rows]]
        similarity = edges.similarity[rows]
        ends = np.cumsum(sizes[a] * sizes[b])
        begins = ends - sizes[a] * sizes[b]
        for part in batches(int(ends[-1])):
            numbers = np.arange(part.start, part.stop)
            pair = np.searchsorted(ends, numbers, side="right")
            i, j = np.divmod(numbers - begins[pair], sizes[b][pair])
            put(order[starts[a][pair] + i], order[starts[b][pair] + j], similarity[pair])
    return found


def added_schema(outcome: Outcome, names: Sequence[str]) -> pa.Schema:
    """Return the schema of some of the columns ``added`` to each record."""
    every = schema_of(outcome, "added")
    return pa.schema([every.field(name) for name in names])


def adding(outcome: Outcome, names: Sequence[str]) -> Callable[[np.ndarray], pa.Table]:
    """Return a function that makes further columns of a corpus, of `ADDED`, by positions."""
    cluster, numbers = outcome.answer.cluster, outcome.numbers()
    schema = schema_of(outcome, "added")
    sizes = np.bincount(cluster, minlength=outcome.corpus.documents)

    def added(positions: np.ndarray) -> pa.Table:
        size = array_of(sizes[cluster[positions]])
        columns = [*_answers(outcome, numbers, positions), size]
        return pa.Table.from_arrays(columns, schema=schema).select(list(names))

    return added


#: Functions for the number of rows of each table, and for its columns. There may be no order, and
#: no edges.
TABLES = {"clusters": _clusters, "order": _order, "edges": _edges, "pair_counts": _pair_counts}
