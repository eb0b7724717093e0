"""What a run found, as Arrow tables in the user's ids, a slice at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.core.edges import EdgeLog, Edges
from neardup.core.threads import Pool, ahead
from neardup.corpus import Documents, conform, unify
from neardup.errors import OutputSizeError
from neardup.run.facts import Column
from neardup.run.pipeline import Outcome

__all__ = [
    "clean_schema",
    "clean_tables",
    "clusters_schema",
    "clusters_tables",
    "edges_schema",
    "edges_tables",
]

#: Rows and bytes of text after which a table of the clean corpus ends. Counted in documents, not
#: in chunks, so that the file does not depend on how the input was cut.
_ROWS, _BYTES = 1 << 16, 1 << 25
#: Rows of a table of clusters or edges.
_SLICE = 1 << 18
#: Edges that ``pairs="all"`` may give before it is refused.
MOST_EDGES = 100_000_000


def clusters_schema(ids: Column) -> Any:
    """Return the schema of `clusters_tables`."""
    return pa.schema(
        [
            ("doc", pa.int64()),
            ("doc_id", ids.type),
            ("cluster", pa.int64()),
            ("kept", pa.bool_()),
            ("kept_by", ids.type),
            ("similarity", pa.float64()),
        ]
    )


def clusters_tables(outcome: Outcome, ids: Column) -> Iterator[Any]:
    """Yield one row per document in input order.

    Columns: ``doc`` int64, ``doc_id``, ``cluster`` int64 (lowest position in it), ``kept`` bool,
    ``kept_by`` (id of the kept document that this one repeats; null where kept), ``similarity``
    float64 (exact, to ``kept_by``; null where kept).
    """
    schema = clusters_schema(ids)
    for first in range(0, len(outcome.kept_by), _SLICE):
        rows = slice(first, first + _SLICE)
        kept_by = outcome.kept_by[rows]
        kept = kept_by < 0
        yield pa.Table.from_arrays(
            [
                pa.array(np.arange(first, first + len(kept), dtype=np.int64)),
                ids.slice(first, first + len(kept)),
                pa.array(outcome.cluster[rows].astype(np.int64)),
                pa.array(kept),
                ids.take(kept_by),
                pa.array(outcome.similarity[rows], mask=kept),
            ],
            schema=schema,
        )


def edges_schema(ids: Column) -> Any:
    """Return the schema of `edges_tables`."""
    return pa.schema(
        [
            ("doc_a", pa.int64()),
            ("doc_b", pa.int64()),
            ("doc_id_a", ids.type),
            ("doc_id_b", ids.type),
            ("similarity", pa.float64()),
        ]
    )


def edges_tables(outcome: Outcome, ids: Column, every: bool) -> Iterator[Any]:
    """Yield the verified pairs at or above the edge threshold, sorted by position.

    Columns: ``doc_a`` < ``doc_b`` int64, ``doc_id_a``, ``doc_id_b``, ``similarity`` float64.

    Args:
        outcome: What a run found.
        ids: Ids of all documents.
        every: Give each pair of exact duplicates, and each of theirs with others; else each exact
            duplicate has one edge, with the first document equal to it.

    Raises:
        OutputSizeError: ``every`` would give more than `MOST_EDGES` edges.
    """
    schema = edges_schema(ids)
    edges = _all_edges(outcome) if every else _star_edges(outcome)
    for table in _sliced(edges):
        yield pa.Table.from_arrays(
            [
                pa.array(table.a.astype(np.int64)),
                pa.array(table.b.astype(np.int64)),
                ids.take(table.a),
                ids.take(table.b),
                pa.array(table.similarity),
            ],
            schema=schema,
        )


def _sliced(log: EdgeLog) -> Iterator[Edges]:
    """Cut and join blocks of edges to slices, whatever the blocks were."""
    waiting = Edges()
    for block in log.blocks():
        waiting = Edges(
            np.concatenate([waiting.a, block.a]),
            np.concatenate([waiting.b, block.b]),
            np.concatenate([waiting.similarity, block.similarity]),
        )
        first = 0
        while len(waiting) - first >= _SLICE:
            yield _rows(waiting, first, first + _SLICE)
            first += _SLICE
        waiting = _rows(waiting, first, len(waiting))
    if len(waiting):
        yield waiting


def _rows(edges: Edges, first: int, last: int) -> Edges:
    rows = slice(first, last)
    return Edges(edges.a[rows], edges.b[rows], edges.similarity[rows])


def _star_edges(outcome: Outcome) -> EdgeLog:
    """The edges, and one for each exact duplicate."""
    log = EdgeLog(len(outcome.first), outcome.space)
    for edges in outcome.edges.blocks():
        log.add(edges.a, edges.b, edges.similarity)
        log.settle()
    first = outcome.first
    for low in range(0, len(first), _SLICE):
        docs = np.arange(low, min(low + _SLICE, len(first)), dtype=np.int32)
        repeats = docs[first[docs] != docs]
        log.add(first[repeats], repeats, np.ones(len(repeats)))
    return log


def _all_edges(outcome: Outcome) -> EdgeLog:
    """All pairs of equal documents, and every edge for each of the documents equal to its ends."""
    first = outcome.first
    # Documents group by group, lowest first; a single one is a group as well.
    members = np.argsort(first, kind="stable").astype(np.int32)
    size = np.bincount(first, minlength=len(first)).astype(np.int64)
    starts = np.cumsum(size) - size
    rank = np.arange(len(first)) - starts[first[members]]
    total = int(rank.sum())
    for edges in outcome.edges.blocks():
        total += int((size[edges.a] * size[edges.b]).sum())
    if total > MOST_EDGES:
        raise OutputSizeError(
            f"pairs=all would write {total:,} edges, most of them between exact duplicates; "
            f"at most {MOST_EDGES:,} are written",
            "use --pairs collapsed, which gives one edge for each exact duplicate",
        )
    log = EdgeLog(len(first), outcome.space)
    # Within a group each document with those before it; across an edge all with all.
    for low, high in _limited(rank):
        some = rank[low:high]
        late = np.repeat(members[low:high], some)
        early = members[np.repeat(starts[first[members[low:high]]], some) + _count_up(some)]
        log.add(early, late, np.ones(len(early)))
        log.settle()
    for edges in outcome.edges.blocks():
        across = size[edges.a] * size[edges.b]
        for low, high in _limited(across):
            a, b, some = edges.a[low:high], edges.b[low:high], across[low:high]
            place = _count_up(some)
            width = np.repeat(size[b], some)
            left = members[np.repeat(starts[a], some) + place // width]
            right = members[np.repeat(starts[b], some) + place % width]
            log.add(
                np.minimum(left, right),
                np.maximum(left, right),
                np.repeat(edges.similarity[low:high], some),
            )
            log.settle()
    return log


def _limited(counts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield ranges whose counts sum up to a million or so."""
    ends = np.cumsum(counts)
    low = 0
    while low < len(counts):
        before = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + (1 << 20), side="right")))
        yield low, high
        low = high


def _count_up(counts: np.ndarray) -> np.ndarray:
    """Return 0, 1, ... up to each count, one behind the other."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def clean_schema(outcome: Outcome) -> Any:
    """Return the schema of the clean corpus: all columns of the input."""
    return unify(outcome.facts.schemas)


def clean_tables(outcome: Outcome, threads: int | None = None, skip: int = 0) -> Iterator[Any]:
    """Yield the kept documents with all their columns, in input order, read from the source again.

    Args:
        outcome: What a run found.
        threads: Threads that read.
        skip: Kept documents to leave out, from the first on; as many as whole tables had.

    Raises:
        InputError: The source is no longer what it was.
    """
    with Pool(threads) as pool:
        yield from ahead(_in_tables(_kept_of_chunks(outcome, pool, skip)))


def _kept_of_chunks(outcome: Outcome, pool: Pool, skip: int) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield (table, bytes of each text) of the kept documents of each chunk."""
    schema, facts = clean_schema(outcome), outcome.facts
    start = 0
    if skip:  # the first document that is wanted yet
        kept = np.flatnonzero(outcome.kept_by < 0)
        start = int(kept[skip]) if skip < len(kept) else facts.documents
    first_chunk = int(np.searchsorted(facts.ends, start, side="right"))

    def rows(chunk: int) -> np.ndarray:
        if chunk >= len(facts.ends):
            return np.zeros(0, dtype=np.int64)
        first, last = facts.chunk_rows(chunk)
        found = np.flatnonzero(outcome.kept_by[first:last] < 0)
        return found[found >= start - first]

    def count(chunk: int) -> int:
        first, last = facts.chunk_rows(chunk)
        return last - first

    def work(chunk: int, mine: np.ndarray, documents: Documents) -> tuple[Any, np.ndarray]:
        lengths = facts.lengths[facts.chunk_rows(chunk)[0] :][mine]
        return conform(documents.table, schema), lengths

    found: Iterable[Any] = outcome.source.again(rows, count, pool, work, first_chunk, schema)
    return (item for item in found if item is not None)


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
