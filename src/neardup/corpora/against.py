"""A new batch against an old corpus, and within itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import ArrowArray, array_of
from neardup.corpora.corpus import InputCorpus
from neardup.engines.identifiers import take_ids
from neardup.engines.order_notes import order_notes
from neardup.engines.ordering import LENGTH, document_order, keep_order
from neardup.index.bodies import Id
from neardup.index.inserting import resolve_sketched
from neardup.index.transactions import BATCH, Core, Sketched, joined_sketches
from neardup.match.resolve import Limits
from neardup.spec import Spec


class OldCorpus(NamedTuple):
    """An index of the documents that stay.

    Attributes:
        core: The index.
        spec: Settings; ``keep``, ``order_by`` and ``max_bucket`` are for the batch.
        ids: Returns the ids that users know, of those that the index knows.
        only: Whether only documents similar to it are removed; then all pairs are listed.
    """

    core: Core
    spec: Spec
    ids: Callable[[list[Id]], ArrowArray]
    only: bool = False


class Decided(NamedTuple):
    """Which documents of a batch are new.

    Attributes:
        table: A row for each document: ``doc``, ``doc_id``, ``cluster``, ``kept``,
            ``duplicate_of``, ``similarity``, and ``in_old``, whether ``duplicate_of`` is a document
            of the old corpus.
        kept: bool[n].
        matches: ``doc``, ``doc_id``, ``old_id`` and ``similarity`` of all similar pairs, if they
            were asked for.
        old_found: Documents of the old corpus among these.
        notes: On the order of the documents, and on files without text.
    """

    table: pa.Table
    kept: np.ndarray
    matches: pa.Table | None
    old_found: int
    notes: list[str]


def decide(corpus: InputCorpus, old: OldCorpus) -> Decided:
    """Decide which documents of a batch are new.

    All documents of the old corpus stay, and come first in keep order. A document of the batch is
    removed if it is similar to one of them, or else to one of the batch that is kept before it.
    Others may write to the old corpus meanwhile; documents that come are not compared.

    Args:
        corpus: The batch, not read yet.
        old: The old corpus.

    Raises:
        ColumnError: The column of `keep` is missing.
        DuplicateIdError: Two documents have the same id.
    """
    core, total = old.core, 0
    of_old: list[Id] = []
    rows_of_old, left, lengths = [], [], []
    similarities, known = [np.empty(0)], list[Sketched]()
    pairs: list[tuple[np.ndarray, list[Id], np.ndarray]] = []
    with core.reading() as state:
        end = state.next
    for _, partition in corpus.reader.partitions():
        documents = corpus.read(partition)
        corpus.enter(*corpus.about(partition, documents))
        lengths.append(pc.utf8_length(documents.text))
        for low in range(0, len(documents.text), BATCH):
            texts = documents.text.slice(low, BATCH)
            sketched = core.sketched(texts)
            # Others write between two batches: later documents are no part of the old corpus.
            with core.reading():
                found = core.matches(sketched, core.threshold, first=not old.only)
            known_before = np.flatnonzero(found.doc < end)
            names = [found.id[i] for i in known_before.tolist()]
            row, alike = found.row[known_before], found.similarity[known_before]
            if old.only:
                pairs.append((total + row, names, alike))
            # Of each row the first one: documents ascend within it.
            row, first = np.unique(row, return_index=True)
            similarity = np.full(len(texts), np.nan)
            similarity[row] = alike[first]
            of_old += [names[i] for i in first.tolist()]
            rows_of_old.append(total + row)
            rows = np.flatnonzero(np.isnan(similarity))
            left.append(total + rows)
            if not old.only:
                known.append(sketched.take(rows))
            similarities.append(similarity)
            total += len(texts)
    similarity = np.concatenate(similarities)
    # Positions of the documents of the batch, then of those of the old corpus that are named.
    target = np.full(total, -1)
    if rows_of_old:
        target[np.concatenate(rows_of_old)] = total + np.arange(len(of_old))
    notes = corpus.text_notes()
    if known:
        rows = np.concatenate(left)
        columns: dict[str, Any] = {name: corpus.column(name) for name in corpus.extra}
        columns[LENGTH] = pa.chunked_array(lengths)
        table = pa.table(columns)
        notes += order_notes(table, old.spec)
        rank = keep_order(table, total, old.spec, document_order(table, old.spec))
        order = np.argsort(rank[rows])
        limits = Limits(old.spec.max_bucket)
        removed, of, how = resolve_sketched(core, joined_sketches(known), order, limits)
        target[rows[removed]], similarity[rows[removed]] = rows[of], how
    table, kept = _table(corpus, target, similarity, old.ids(of_old))
    if not old.only:
        return Decided(table, kept, None, 0, notes)
    doc = np.concatenate([np.empty(0, np.int64), *(row for row, _, _ in pairs)])
    names = [name for _, named, _ in pairs for name in named]
    columns = {
        "doc": array_of(doc),
        "doc_id": take_ids(corpus.ids(), doc),
        "old_id": old.ids(names),
        "similarity": array_of(np.concatenate([np.empty(0), *(alike for _, _, alike in pairs)])),
    }
    return Decided(table, kept, pa.table(columns), len(set(names)), notes)


def _table(
    corpus: InputCorpus, target: np.ndarray, similarity: np.ndarray, of_old: ArrowArray
) -> tuple[pa.Table, np.ndarray]:
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
            "in_old": array_of(in_old),
        }
    )
    return table, kept


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
