"""A new batch and an old corpus as one: the old documents come first in keep order, and stay."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import ArrowArray
from neardup.corpora.corpus import InputCorpus, naming
from neardup.corpora.decided import Decided, matches_of, table_of
from neardup.corpora.old_documents import EarlierDocuments, OldFirst
from neardup.deduplication.beginning import Beginning
from neardup.deduplication.comparing import Comparing, RunAnswer
from neardup.deduplication.documents.metadata import CorpusMetadata, gather
from neardup.deduplication.documents.order_notes import order_notes
from neardup.deduplication.documents.ordering import document_order, keep_order
from neardup.deduplication.job import Job
from neardup.deduplication.keys import BandKeys
from neardup.deduplication.local import note_sizes, scratch_of, sketch_all
from neardup.deduplication.warming import Warming
from neardup.memory_plan import COMPILER, DOCUMENT, MemoryPlan, Workload, plan_memory
from neardup.recipe import Recipe
from neardup.sketch.document_groups import groups_of, note_on_groups
from neardup.state import open_store
from neardup.state.band_store import Header
from neardup.threads import Pool


@dataclass
class Both:
    """A batch, and an old corpus that it is compared with.

    Attributes:
        job: Input, settings and clock of the batch.
        corpus: The batch.
        old: The old corpus.
        recipe: How texts become band keys.
        only: Whether only documents similar to the old corpus are removed; then all pairs are
            listed.
    """

    job: Job
    corpus: InputCorpus
    old: EarlierDocuments
    recipe: Recipe
    only: bool = False

    def plan(self) -> MemoryPlan:
        """Divide the memory.

        Raises:
            SpecError: It does not suffice.
        """
        old, resources = self.old.load, self.job.resources
        new = self.corpus.workload(resources.threads, self.recipe.shingle)
        plan = plan_memory(
            Workload(
                documents=old.documents + new.documents,
                text=old.text + new.text,
                columns=old.columns + new.columns,
                num_bands=self.recipe.num_bands,
                threads=new.threads,
                char=new.char,
                edges=self.only,
                partition=max(old.partition, new.partition),
                rows=max(old.rows, new.rows),
                ignored=new.ignored,
            ),
            resources.bytes,
        )
        plan.check()
        return plan

    def decide(self, plan: MemoryPlan, folder: Path | None = None) -> Decided:
        """Decide which documents of the batch are new; large arrays go to files in a folder.

        All old documents stay, and come first in keep order. A document of the batch is removed if
        it is similar to one of them, or to one of the batch that is kept before it.

        Raises:
            ColumnError: The column of `keep` is missing.
            DuplicateIdError: Two documents have the same id.
            InputError: An input has changed, or can't be read.
        """
        job, reader = self.job, OldFirst(self.old.reader, self.corpus.reader)
        job = replace(job, spec=job.spec.replace(cluster="star", pairs="kept", tree_threshold=None))
        clock, store = job.clock, open_store("memory")
        scratch = scratch_of(job, store, plan, folder)
        store.create(Header(self.recipe.digest, self.recipe.num_bands, self.recipe.as_dict()))
        with closing(Warming(job.spec)) as warming, Pool(plan.threads) as pool:
            warming.begin(aside=scratch.left > COMPILER)
            beginning = Beginning(self.recipe, plan)
            documents, parts = sketch_all(job, store, reader, beginning, pool)
            scratch.shrink(DOCUMENT * max(0, documents - plan.workload.documents))
            with clock.stage("metadata", documents):
                metadata = gather(parts, documents, scratch, reader.old_partitions)
                note_sizes(clock, metadata)
                old = self._enter(metadata, reader.old_partitions)
                rank, notes = self._rank(metadata, old)
            for each in (self.old.reader, self.corpus.reader):
                each.source.check_unchanged()
            keys = BandKeys(store, scratch)
            common = reader, scratch, pool, warming, old, self.only
            answer = Comparing(job, self.recipe, metadata, rank, keys, *common).run()
        reader.give_cached()
        return self._decided(answer, old, notes)

    def _enter(self, metadata: CorpusMetadata, partitions: int) -> int:
        """Give both corpora their metadata; return the number of old documents."""
        if self.old.corpus is not None:
            with naming("old_"):
                columns = metadata.old_columns or pa.table({})
                self.old.corpus.fill(metadata, slice(0, partitions), columns)
                self.old.corpus.ids()
        self.corpus.fill(metadata, slice(partitions, None), metadata.columns)
        self.corpus.ids()
        return int(metadata.ends[partitions - 1]) if partitions else 0

    def _rank(self, metadata: CorpusMetadata, old: int) -> tuple[np.ndarray, list[str]]:
        """Return int32[documents], the ranks of all documents in keep order, and notes on them."""
        corpus, spec = self.corpus, self.job.spec
        columns: dict[str, Any] = {name: corpus.column(name) for name in corpus.extra}
        table, new = pa.table(columns), metadata.documents - old
        notes = self._text_notes() + ([] if self.only else order_notes(table, spec))
        if (within := self.recipe.within) is not None:
            none = int(np.count_nonzero(groups_of(corpus.column(within), within) == 0))
            notes += note_on_groups(none, within)
        rank = np.arange(metadata.documents, dtype=np.int32)
        if new and not self.only:
            rank[old:] = old + keep_order(table, new, spec, document_order(table, spec))
        return rank, notes

    def _text_notes(self) -> list[str]:
        of_old = [] if self.old.corpus is None else self.old.corpus.text_notes("old corpus")
        return of_old + self.corpus.text_notes()

    def _decided(self, answer: RunAnswer, old: int, notes: list[str]) -> Decided:
        of, similarity = answer.duplicate_of[old:].astype(np.int64), answer.similarity[old:]
        if self.only:  # equal documents in the batch stay
            similarity = np.where(of < old, similarity, np.nan)
            of[of >= old] = -1
        how = np.where(of < 0, -1, answer.how[old:]).astype(np.int8)
        in_old = (of >= 0) & (of < old)
        named, rows = np.unique(of[in_old], return_inverse=True)
        target = np.where(of < 0, -1, of - old)
        target[in_old] = len(of) + rows
        table, kept = table_of(self.corpus, target, similarity, how, self.old.ids(named))
        matches, found = None, 0
        if self.only:
            matches, found = self._matches(answer, old)
        return Decided(table, kept, how, matches, found, old, self.recipe, notes)

    def _matches(self, answer: RunAnswer, old: int) -> tuple[pa.Table, int]:
        """Return the table of similar pairs, and how many old documents are in it."""
        edges, docs, first = answer.edges, answer.docs, answer.first
        assert edges is not None
        # An old document represents new ones where nothing else may be similar to any of them.
        equal = np.unique(first[old:][first[old:] < old])
        new = np.concatenate([docs[edges.b], equal])
        of = np.concatenate([docs[edges.a], equal])
        similarity = np.concatenate([edges.similarity, np.ones(len(equal))])
        doc, of, similarity = _expanded(new, of, similarity, first, old)
        order = np.lexsort((of, doc))
        old_ids: ArrowArray = self.old.ids(of[order])
        return matches_of(self.corpus, doc[order], old_ids, similarity[order]), len(np.unique(of))


def _expanded(
    new: np.ndarray, of: np.ndarray, similarity: np.ndarray, first: np.ndarray, old: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs of all documents for those of the ones that represent them.

    Args:
        new: int[n]: documents that represent new ones.
        of: int[n]: documents that represent old ones.
        similarity: float64[n]: of each pair.
        first: int32[documents]: the document that represents each.
        old: Old documents, which come first.

    Returns:
        int64[m], positions of new documents in the batch, int64[m], of old ones, float64[m].
    """
    news, low_new, count_new = _members(first[old:], new)
    olds, low_old, count_old = _members(first[:old], of)
    count = count_new * count_old
    pair = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
    i, j = np.divmod(within, count_old[pair])
    return news[low_new[pair] + i], olds[low_old[pair] + j], similarity[pair]


def _members(
    first: np.ndarray, representing: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return documents ordered by the one that represents them; where those of some begin; counts.

    All are int64[].
    """
    order = np.argsort(first, kind="stable")
    low, high = (np.searchsorted(first[order], representing, side) for side in ("left", "right"))
    return order, low, high - low
