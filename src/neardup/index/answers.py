"""What an index answers, as Arrow tables, and a walk through its buckets."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import ArrowArray, array_of, strings_of
from neardup.index.bodies import Id
from neardup.index.inserting import Answers
from neardup.index.segments import Entries
from neardup.index.transactions import Core
from neardup.index.verified import Matches

_COLUMNS = ["query", "id", "similarity", "query_contained", "match_contained"]
_NOWHERE = np.empty(0, dtype=np.int64)


def id_values(ids: Sequence[Id | None], kind: str) -> ArrowArray:
    """Return ids as an Arrow array.

    Args:
        ids: Ids; None is null.
        kind: ``"int"``; else they are strings.
    """
    if kind == "int":
        null = np.array([id_ is None for id_ in ids], dtype=np.bool_)
        return array_of(np.array([id_ or 0 for id_ in ids], dtype=np.int64), null=null)
    return strings_of([None if id_ is None else str(id_).encode() for id_ in ids])


def best_first(matches: Matches, top: int | None) -> np.ndarray:
    """Return the order of matches: by row, the most similar first, ties by id; at most ``top``."""
    rows, similarity, ids = matches.row.tolist(), matches.similarity.tolist(), matches.id
    order = sorted(range(len(rows)), key=lambda i: (rows[i], -similarity[i], ids[i]))
    if top is None:
        return np.array(order, dtype=np.int64)
    kept, row, count = [], -1, 0
    for i in order:
        row, count = (rows[i], 1) if rows[i] != row else (row, count + 1)
        if count <= top:
            kept.append(i)
    return np.array(kept, dtype=np.int64)


def matches_table(
    matches: Matches, base: int, names: ArrowArray | None, kind: str, top: int | None = None
) -> pa.Table:
    """Return matches as a table.

    Args:
        matches: What was found.
        base: Number of the first row of the question.
        names: What each row of the question is called; None for its number.
        kind: What ids are.
        top: Matches of a row, at most; None for all.
    """
    if not len(matches.row):  # nearly always
        return _nothing(pa.int64() if names is None else names.type, kind)
    order = best_first(matches, top)
    similarity, own, other = (
        values[order] for values in (matches.similarity, matches.own, matches.other)
    )
    # Both are whole numbers, so that rounding gives back the one that was divided.
    shared = np.rint(similarity * (own + other) / (1 + similarity))
    row: Any = matches.row[order]
    columns = [
        array_of(row + base) if names is None else names.take(array_of(row)),
        id_values([matches.id[i] for i in order.tolist()], kind),
        array_of(similarity),
        array_of(shared / np.maximum(own, 1)),
        array_of(shared / np.maximum(other, 1)),
    ]
    return pa.Table.from_arrays(columns, names=_COLUMNS)


@functools.cache
def _nothing(names: pa.DataType, kind: str) -> pa.Table:
    # `Schema.empty_table` would import pandas.
    asked: Any = id_values([], "str") if names == pa.large_string() else array_of(_NOWHERE, names)
    columns = [asked, id_values([], kind), *[array_of(np.empty(0))] * 3]
    return pa.Table.from_arrays(columns, names=_COLUMNS)


def answers_table(ids: Sequence[Id], answers: Answers, kind: str) -> pa.Table:
    """Return what was decided of some documents as a table."""
    null = np.isnan(answers.similarity)
    return pa.table(
        {
            "id": id_values(ids, kind),
            "kept": array_of(null),
            "duplicate_of": id_values(answers.duplicate_of, kind),
            "similarity": array_of(answers.similarity, null=null),
        }
    )


def buckets_of(core: Core, minimum: int) -> Iterator[list[Id]]:
    """Yield the ids of each bucket of so many documents or more, as they are at the first call.

    Args:
        core: The index.
        minimum: Documents of a bucket, at least.
    """
    with core.reading():
        rows = core.catalogue.rows("SELECT doc, id FROM documents ORDER BY doc")
        there = np.array([doc for doc, _ in rows], dtype=np.int64)
        found = [_shared(part, there, minimum) for part in core.snapshot.entries()]
    ids = [id_ for _, id_ in rows]
    for docs, ends in found:
        places = np.searchsorted(there, docs).tolist()
        first = 0
        for end in ends.tolist():
            yield [ids[place] for place in places[first:end]]
            first = end


def _shared(part: Entries, there: np.ndarray, minimum: int) -> tuple[np.ndarray, np.ndarray]:
    """Return int64[m]: documents by bucket, and int64[buckets]: where each bucket ends."""
    keys, docs = part.keys, part.docs.astype(np.int64)
    stored = np.isin(docs, there)
    keys, docs = keys[stored], docs[stored]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else keys[:0]
    sizes: np.ndarray = np.diff(np.append(first, len(keys)).astype(np.int64))
    large = sizes >= minimum
    return docs[np.repeat(large, sizes)], np.cumsum(sizes[large])
