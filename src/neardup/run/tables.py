"""What a run found, as Arrow tables in the user's ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.core.cluster import Edges
from neardup.core.threads import Pool, ahead
from neardup.corpus import conform, unify
from neardup.errors import ColumnError, DuplicateIdError, OutputError
from neardup.run.parts import Part
from neardup.run.pipeline import Outcome

__all__ = ["clean_schema", "clean_tables", "clusters_table", "document_ids", "edges_table"]

#: Rows and bytes of text after which a table of the clean corpus ends. Counted in documents, not
#: in chunks, so that the file does not depend on how the input was cut.
_ROWS, _BYTES = 1 << 16, 1 << 25
_ID_HINT = "leave --id out to use positions as ids"
_LONGEST_ID = 100  # characters of an id that a message shows
#: Edges that ``pairs="all"`` may give before it is refused; while they are sorted they take about
#: 60 bytes each.
MOST_EDGES = 100_000_000


def document_ids(outcome: Outcome, id_column: str | None, secret: bool = False) -> Any:
    """Return the ids of all documents as one Arrow array (int64 positions without a column).

    Args:
        outcome: What a run found.
        id_column: Column that holds them.
        secret: They are texts, which no message may quote.

    Raises:
        ColumnError: Values of a type that can't be told apart, such as lists.
        DuplicateIdError: Two documents have the same id, or one has none.
    """
    count = len(outcome.cluster)
    if id_column is None:
        return pa.array(np.arange(count, dtype=np.int64))
    tables = [p.columns.select([id_column]) for p in outcome.parts]
    schema = unify([t.schema for t in tables])
    ids = pa.chunked_array(
        [chunk for t in tables for chunk in conform(t, schema).column(0).chunks],
        schema.field(0).type,
    )
    if pa.types.is_dictionary(ids.type):
        ids = ids.cast(ids.type.value_type)
    if pa.types.is_string(ids.type) or pa.types.is_string_view(ids.type):
        ids = ids.cast(pa.large_string())  # more than 2 GB of ids in one array
    if pa.types.is_binary(ids.type) or pa.types.is_binary_view(ids.type):
        ids = ids.cast(pa.large_binary())
    ids = ids.combine_chunks()
    if ids.null_count:
        row = int(np.flatnonzero(pc.is_null(ids).to_numpy(zero_copy_only=False))[0])
        origin, place = _place(outcome, row)
        raise DuplicateIdError(f"{origin}{place} has no id in column {id_column!r}", _ID_HINT)
    values = ids.storage if isinstance(ids, pa.ExtensionArray) else ids
    try:
        distinct = pc.count_distinct(values).as_py()
    except pa.ArrowNotImplementedError as error:
        raise ColumnError(
            f"column {id_column!r} holds {ids.type}, which can't be an id", _ID_HINT
        ) from error
    if distinct < count:
        codes = pc.dictionary_encode(values).indices.to_numpy()
        first = np.unique(codes, return_index=True)[1]
        again = np.ones(count, dtype=np.bool_)
        again[first] = False
        row = int(np.flatnonzero(again)[0])
        origin, place = _place(outcome, row)
        other, before = _place(outcome, int(first[codes[row]]))
        raise DuplicateIdError(
            f"{origin}{place} has the id {'' if secret else _shown(ids[row])}of "
            f"{'' if other == origin else other}{before} in column {id_column!r}; "
            "ids must be unique",
            _ID_HINT,
        )
    return ids


def _place(outcome: Outcome, row: int) -> tuple[str, str]:
    """Return the file of a document and its number in it, as messages name them."""
    seen: dict[str, int] = {}
    for part in outcome.parts:
        count, origin = len(part.tokens), part.origin
        if row < count:
            number = seen.get(origin, 0) + row + 1
            return (f"{origin}: ", f"record {number}") if origin else ("", f"document {number}")
        row -= count
        seen[origin] = seen.get(origin, 0) + count
    raise IndexError(row)


def _shown(value: Any) -> str:
    text = repr(value.as_py())
    return (text if len(text) <= _LONGEST_ID else text[:_LONGEST_ID] + "...") + " "


def clusters_table(outcome: Outcome, ids: Any) -> Any:
    """Return one row per document in input order.

    Columns: ``doc`` int64, ``doc_id``, ``cluster`` int64 (lowest position in it), ``kept`` bool,
    ``kept_by`` (id of the kept document that this one repeats; null where kept), ``similarity``
    float64 (exact, to ``kept_by``; null where kept).
    """
    kept = outcome.kept_by < 0
    return pa.table(
        {
            "doc": pa.array(np.arange(len(kept), dtype=np.int64)),
            "doc_id": ids,
            "cluster": pa.array(outcome.cluster.astype(np.int64)),
            "kept": pa.array(kept),
            "kept_by": ids.take(pa.array(outcome.kept_by.astype(np.int64), mask=kept)),
            "similarity": pa.array(outcome.similarity, mask=kept),
        }
    )


def edges_table(outcome: Outcome, ids: Any, every: bool) -> Any:
    """Return the verified pairs at or above the edge threshold, sorted by position.

    Columns: ``doc_a`` < ``doc_b`` int64, ``doc_id_a``, ``doc_id_b``, ``similarity`` float64.

    Args:
        outcome: What a run found.
        ids: Ids of all documents.
        every: Give each pair of exact duplicates, and each of theirs with others; else each exact
            duplicate has one edge, with the first document equal to it.

    Raises:
        OutputError: ``every`` would give more than `MOST_EDGES` edges.
    """
    a, b, similarity = _all_edges(outcome) if every else _star_edges(outcome)
    edges = Edges.gather([(a, b, similarity)])
    a, b, similarity = edges.a, edges.b, edges.similarity
    return pa.table(
        {
            "doc_a": pa.array(a.astype(np.int64)),
            "doc_b": pa.array(b.astype(np.int64)),
            "doc_id_a": ids.take(pa.array(a)),
            "doc_id_b": ids.take(pa.array(b)),
            "similarity": pa.array(similarity),
        }
    )


def _star_edges(outcome: Outcome) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, edges = outcome.first, outcome.edges
    repeats = np.flatnonzero(first != np.arange(len(first)))
    return (
        np.concatenate([edges.a, first[repeats]]),
        np.concatenate([edges.b, repeats.astype(np.int32)]),
        np.concatenate([edges.similarity, np.ones(len(repeats))]),
    )


def _all_edges(outcome: Outcome) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, edges = outcome.first, outcome.edges
    # Documents group by group, lowest first; a single one is a group as well.
    members = np.argsort(first, kind="stable").astype(np.int32)
    size = np.bincount(first, minlength=len(first)).astype(np.int64)
    starts = np.cumsum(size) - size
    rank = np.arange(len(first)) - starts[first[members]]
    across = size[edges.a] * size[edges.b]
    total = int(rank.sum() + across.sum())
    if total > MOST_EDGES:
        raise OutputError(
            f"pairs=all would write {total:,} edges, most of them between exact duplicates; "
            f"at most {MOST_EDGES:,} are written",
            "use --pairs collapsed, which gives one edge for each exact duplicate",
        )
    # Within a group each document with those before it; across an edge all with all.
    early = members[np.repeat(starts[first[members]], rank) + _count_up(rank)]
    late = np.repeat(members, rank)
    place = _count_up(across)
    width = np.repeat(size[edges.b], across)
    left = members[np.repeat(starts[edges.a], across) + place // width]
    right = members[np.repeat(starts[edges.b], across) + place % width]
    return (
        np.concatenate([early, np.minimum(left, right)]),
        np.concatenate([late, np.maximum(left, right)]),
        np.concatenate([np.ones(len(early)), np.repeat(edges.similarity, across)]),
    )


def _count_up(counts: np.ndarray) -> np.ndarray:
    """Return 0, 1, ... up to each count, one behind the other."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def clean_schema(outcome: Outcome) -> Any:
    """Return the schema of the clean corpus: all columns of the input."""
    return unify([p.schema for p in outcome.parts])


def clean_tables(outcome: Outcome, threads: int | None = None) -> Iterator[Any]:
    """Yield the kept documents with all their columns, in input order, read from the source again.

    Args:
        outcome: What a run found.
        threads: Threads that read.

    Raises:
        InputError: The source is no longer what it was.
    """
    with Pool(threads) as pool:
        yield from ahead(_in_tables(_kept_of_parts(outcome, pool)))


def _kept_of_parts(outcome: Outcome, pool: Pool) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield (table, bytes of each text) of the kept documents of each part."""
    schema = clean_schema(outcome)
    kept = outcome.kept_by < 0
    ends = np.cumsum([len(p.tokens) for p in outcome.parts])

    def work(item: tuple[Part, int]) -> tuple[Any, np.ndarray]:
        part, end = item
        rows = np.flatnonzero(kept[end - len(part.tokens) : end])
        return conform(part.again(rows).table, schema), part.lengths[rows]

    return pool.ordered(work, zip(outcome.parts, ends.tolist(), strict=True))


def _in_tables(parts: Iterator[tuple[Any, np.ndarray]]) -> Iterator[Any]:
    """Cut and join tables, so that how the input was cut can't be seen any more."""
    waiting: list[Any] = []
    rows = size = 0
    for table, lengths in parts:
        ends = np.cumsum(lengths, dtype=np.int64)
        first = 0
        while first < len(lengths):
            before = int(ends[first - 1]) if first else 0
            # The row with which the table at hand is full, by rows or by bytes.
            full = min(first + _ROWS - rows, int(np.searchsorted(ends, before + _BYTES - size)) + 1)
            last = min(full, len(lengths))
            waiting.append(table.slice(first, last - first))
            rows, size = rows + last - first, size + int(ends[last - 1]) - before
            if last == full:
                yield _joined(waiting)
                waiting = []
                rows = size = 0
            first = last
    if waiting:
        yield _joined(waiting)


def _joined(tables: list[Any]) -> Any:
    return pa.concat_tables(tables).combine_chunks()
