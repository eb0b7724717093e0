"""A new batch against an index, and within itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import ArrowArray, strings_of
from neardup.corpora.corpus import InputCorpus
from neardup.corpora.decided import Decided, matches_of, table_of
from neardup.deduplication.documents.order_notes import order_notes
from neardup.deduplication.documents.ordering import document_order, keep_order
from neardup.deduplication.reading import as_compared
from neardup.index.answers import id_values
from neardup.index.inserting import resolve_sketched
from neardup.index.storing.bodies import Id, unpack_text
from neardup.index.storing.transactions import Core, Sketched, joined_sketches
from neardup.index.storing.verified import Matches
from neardup.match.resolve import Limits
from neardup.sketch.document_groups import groups_of, note_on_groups
from neardup.spec import Spec
from neardup.stages.exact import NEAR, how_of_pairs
from neardup.tuning import TUNING


class OldIndex(NamedTuple):
    """An index of the documents that stay.

    Attributes:
        core: The index.
        spec: Settings.
        only: Whether only documents similar to it are removed; then all pairs are listed.
    """

    core: Core
    spec: Spec
    only: bool = False

    @property
    def documents(self) -> int:
        """Documents that it has now."""
        with self.core.reading() as state:
            return state.documents

    def ids(self, ids: list[Id]) -> ArrowArray:
        """Return ids of its documents as an array of their type."""
        return id_values(ids, self.core.catalogue.state().ids)


def decide(corpus: InputCorpus, old: OldIndex, advance: Callable[[int], None]) -> Decided:
    """Decide which documents of a batch are new.

    All documents of the index stay, and come first in keep order. A document of the batch is
    removed if it is similar to one of them, or else to one of the batch that is kept before it.
    Others may write to the index meanwhile; documents that come are not compared.

    Args:
        corpus: The batch, not read yet.
        old: The index.
        advance: Is called with the bytes of the batch that were done since.

    Raises:
        ColumnError: The column of `keep` is missing.
        DuplicateIdError: Two documents have the same id.
    """
    core, total, within = old.core, 0, old.core.recipe.within
    of_old: list[Id] = []
    rows_of_old, left = [], []
    similarities, kinds, known = [np.empty(0)], [np.empty(0, np.int8)], list[Sketched]()
    pairs: list[tuple[np.ndarray, list[Id], np.ndarray]] = []
    with core.reading() as state:
        end = state.next
    for _, partition in corpus.reader.partitions():
        documents = corpus.read(partition)
        corpus.enter(*corpus.about(partition, documents))
        every = as_compared(documents, within)
        for low in range(0, len(every), TUNING.inserted_documents):
            texts = every.slice(low, TUNING.inserted_documents)
            sketched = core.sketched(texts)
            # Others write between two batches: later documents are no part of the old corpus.
            with core.reading():
                found = core.matches(sketched, core.threshold, first=not old.only)
                known_before = np.flatnonzero(found.doc < end)
                # Of each row the first one: documents ascend within it.
                _, first = np.unique(found.row[known_before], return_index=True)
                kinds.append(_how_alike(core, sketched, found, known_before[first]))
            names = [found.id[i] for i in known_before.tolist()]
            row, alike = found.row[known_before], found.similarity[known_before]
            if old.only:
                pairs.append((total + row, names, alike))
            similarity = np.full(len(texts), np.nan)
            similarity[row[first]] = alike[first]
            of_old += [names[i] for i in first.tolist()]
            rows_of_old.append(total + row[first])
            rows = np.flatnonzero(np.isnan(similarity))
            left.append(total + rows)
            if not old.only:
                known.append(sketched.take(rows))
            similarities.append(similarity)
            total += len(texts)
        advance(partition.size)
    similarity, how = np.concatenate(similarities), np.concatenate(kinds)
    # Positions of the documents of the batch, then of those of the old corpus that are named.
    target = np.full(total, -1)
    if rows_of_old:
        target[np.concatenate(rows_of_old)] = total + np.arange(len(of_old))
    notes = corpus.text_notes()
    if within is not None:
        none = int(np.count_nonzero(groups_of(corpus.column(within), within) == 0))
        notes += note_on_groups(none, within)
    if known:
        rows = np.concatenate(left)
        columns: dict[str, Any] = {name: corpus.column(name) for name in corpus.extra}
        table = pa.table(columns)
        notes += order_notes(table, old.spec)
        rank = keep_order(table, total, old.spec, document_order(table, old.spec))
        order = np.argsort(rank[rows])
        limits = Limits(old.spec.max_bucket)
        sketched = joined_sketches(known)
        removed, of, alike = resolve_sketched(core, sketched, order, limits)
        target[rows[removed]], similarity[rows[removed]] = rows[of], alike
        how[rows[removed]] = how_of_pairs(*(sketched.identity(docs) for docs in (removed, of)))
    table, kept = table_of(corpus, target, similarity, how, old.ids(of_old))
    matches, named = None, set[Id]()
    if old.only:
        doc = np.concatenate([np.empty(0, np.int64), *(row for row, _, _ in pairs)])
        ids = [name for _, names, _ in pairs for name in names]
        alike = np.concatenate([np.empty(0), *(alike for _, _, alike in pairs)])
        matches, named = matches_of(corpus, doc, old.ids(ids), alike), set(ids)
    return Decided(table, kept, how, matches, len(named), old.documents, core.recipe, notes)


def _how_alike(core: Core, batch: Sketched, found: Matches, pairs: np.ndarray) -> np.ndarray:
    """Return of each text how it is alike to the document of some pairs, see `Decided.how`."""
    how = np.full(len(batch.sketches.tokens), -1, np.int8)
    equal = found.similarity[pairs] == 1
    how[found.row[pairs[~equal]]] = NEAR
    pairs = pairs[equal]
    if core.stores_texts and len(pairs):
        docs, rows = np.unique(found.doc[pairs], return_inverse=True)
        bodies = {row.doc: row.body for row in core.catalogue.fetch(docs.tolist())}
        old = core.sketched(strings_of([unpack_text(bodies[doc]) for doc in docs.tolist()]))
        how[found.row[pairs]] = how_of_pairs(batch.identity(found.row[pairs]), old.identity(rows))
    return how
