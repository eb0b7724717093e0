"""From sketches to what is a duplicate of what: buckets, sets, answers, pairs, clusters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from neardup.cluster.edges import Edges
from neardup.cluster.kept import kept_set, star
from neardup.cluster.quality import Measure, quality
from neardup.engines.clock import Clock, Event
from neardup.engines.memory import Scratch
from neardup.engines.metadata import Corpus
from neardup.engines.reading import Reader
from neardup.engines.shingle_sets import SetBuilder
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Buckets
from neardup.match.bucketing import (
    BandBuckets,
    bucket_bands,
    bucket_documents,
    one_bucket,
    plausible,
)
from neardup.match.pairs import Found, PairSink, join, pairs_of_buckets
from neardup.match.resolve import resolve
from neardup.match.verifying import content_order
from neardup.recipe import Recipe
from neardup.sketch.tokenising import Tokeniser
from neardup.spec import Spec
from neardup.stages.bucket_stage import first_of_equal
from neardup.stages.cluster_stage import clusters_of, expand_to_duplicates
from neardup.stages.match_stage import edges_of
from neardup.state.run_state import RunState
from neardup.threads import Pool

#: Seconds of comparing after which a run estimates how long it takes, and from which on it says so.
_PATIENCE, _LONG = 5.0, 120.0


@dataclass
class Answer:
    """What was found, by position of the documents in the input.

    Attributes:
        first: int32[documents]: the document that stands for all with the same tokens.
        duplicate_of: int32[documents]: the kept document that a removed one is a duplicate of; -1
            where it is kept.
        similarity: float64[documents]: exact similarity of the two; NaN where it is kept.
        cluster: int32[documents]: the first document, in keep order, of each one's cluster.
        docs: int32[m]: documents that were compared, in keep order.
        edges: Pairs of them that reach the threshold, as numbers in ``docs``; None where they were
            not listed.
        counts: Numbers by name, see `neardup.output.record`.
        bucket_sizes: Number of buckets by size, all bands together: {"2": ..., "3-4": ...}.
        candidates_by_band: Pairs in one bucket, in each band.
        quality: What can be said of the clusters; empty where pairs were not listed.
    """

    first: np.ndarray
    duplicate_of: np.ndarray
    similarity: np.ndarray
    cluster: np.ndarray
    docs: np.ndarray
    edges: Edges | None
    counts: dict[str, int]
    bucket_sizes: dict[str, int] = field(default_factory=dict)
    candidates_by_band: list[int] = field(default_factory=list)
    quality: dict[str, Any] = field(default_factory=dict)


@dataclass
class Comparing:
    """All that comparing needs.

    Attributes:
        spec: What is asked for.
        recipe: How band keys were made.
        corpus: The documents.
        rank: int32[documents]: rank in keep order.
        keys_of: Returns the keys of a band, uint64[documents]; called in several threads.
        reader: Of the source.
        scratch: Where arrays go.
        pool: Threads.
        clock: Time and events.
        state: What the run has done so far; None to keep nothing.
    """

    spec: Spec
    recipe: Recipe
    corpus: Corpus
    rank: np.ndarray
    keys_of: Callable[[int], np.ndarray]
    reader: Reader
    scratch: Scratch
    pool: Pool
    clock: Clock
    state: RunState | None = None

    def run(self) -> Answer:
        """Group, compare and decide."""
        spec, corpus, rank = self.spec, self.corpus, self.rank
        documents = corpus.documents
        with self.clock.stage("exact duplicates", documents):
            filled = np.flatnonzero(corpus.tokens).astype(np.int32)
            first = first_of_equal(corpus.hashes, filled, rank)
            docs = filled[first[filled] == filled]
            if spec.keep != "first" or spec.order_by is not None:
                docs = docs[np.argsort(rank[docs])]
        answer = Answer(
            first,
            self.scratch.filled(documents, np.int32, -1),
            self.scratch.filled(documents, np.float64, np.nan),
            np.empty(0, np.int32),
            docs,
            None,
            {
                "documents": documents,
                "empty": documents - len(filled),
                "short": int(((corpus.tokens > 0) & (corpus.tokens < spec.shingle.n)).sum()),
                "tokens": int(corpus.tokens.sum(dtype=np.int64)),
                "shingles": int(corpus.shingles.sum(dtype=np.int64)),
                "exact_duplicates": int((first != np.arange(documents)).sum()),
                "encoding_replaced": corpus.replaced,
            },
        )
        self._choose(answer)
        sets = self._sets(answer)
        self._decide(answer, sets)
        expand_to_duplicates(first, answer.duplicate_of, answer.similarity)
        removed = answer.duplicate_of >= 0
        answer.counts["kept"] = documents - int(removed.sum())
        answer.counts["removed"] = int(removed.sum())
        sizes = np.bincount(answer.cluster, minlength=documents)
        answer.counts["clusters"] = int((sizes > 0).sum())
        answer.counts["clusters_of_two_or_more"] = int((sizes > 1).sum())
        answer.counts["largest_cluster"] = int(sizes.max(initial=0))
        return answer

    def _bands(self, docs: np.ndarray) -> Iterator[BandBuckets]:
        keys_of = self.keys_of
        yield from bucket_bands(lambda band: keys_of(band)[docs], self.recipe.num_bands, self.pool)

    def _choose(self, answer: Answer) -> None:
        """Leave only the documents that may be similar to another one."""
        if not self.recipe.num_bands:
            answer.counts["candidates"] = len(answer.docs) * (len(answer.docs) - 1) // 2
            return
        classes: dict[int, int] = {}
        with self.clock.stage("buckets", self.recipe.num_bands, "bands") as advance:

            def counted() -> Iterator[BandBuckets]:
                for band in self._bands(answer.docs):
                    answer.candidates_by_band.append(band.candidates)
                    sizes, counts = np.unique(_class(np.diff(band.starts)), return_counts=True)
                    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
                        classes[size] = classes.get(size, 0) + count
                    advance(1)
                    yield band

            docs, corpus = answer.docs, self.corpus
            marked = plausible(
                counted(),
                corpus.shingles[docs],
                corpus.bitmaps[docs],
                self.spec.threshold,
                self.pool,
            )
        answer.docs = docs[marked]
        answer.counts["candidates"] = sum(answer.candidates_by_band)
        answer.bucket_sizes = {_name(size): classes[size] for size in sorted(classes)}

    def _sets(self, answer: Answer) -> Sets:
        """Read the texts of those again and make their shingle sets."""
        answer.counts["compared_documents"] = len(answer.docs)
        with self.clock.stage("shingle sets", len(answer.docs)) as advance:
            tokeniser = Tokeniser(self.recipe.shingle)
            builder = SetBuilder(self.corpus, answer.docs, tokeniser, self.scratch, self.state)
            self.clock.sizes["shingle sets"] = builder.bytes
            return builder.build(self.reader, self.pool, advance)

    def _buckets(self, docs: np.ndarray) -> Buckets:
        if not self.recipe.num_bands:
            return one_bucket(len(docs))
        return bucket_documents(
            self._bands(docs), len(docs), self.recipe.num_bands, self.scratch.empty
        )

    def _decide(self, answer: Answer, sets: Sets) -> None:
        spec, docs, counts = self.spec, answer.docs, answer.counts
        if spec.enumerates:
            found, answer.edges = self._pairs(docs, sets)
            counts["pairs_compared"] = found.compared
            counts["pairs_ruled_out"] = found.ruled_out
            counts["not_compared"] = found.not_compared
            counts["edges"] = len(answer.edges)
        if answer.edges is not None and not counts["not_compared"] and spec.max_bucket is None:
            # All pairs are there: they decide, without another comparison.
            with self.clock.stage("resolve", len(docs)):
                kept = kept_set(answer.edges, len(docs))
            duplicate_of, similarity = kept.duplicate_of, kept.similarity
        else:
            with self.clock.stage("resolve", len(docs)) as advance:
                buckets = self._buckets(docs)
                watch = _Watch(self.clock, "resolve", np.diff(buckets.starts), len(docs), advance)
                done = resolve(
                    sets, buckets, spec.threshold, self.pool, spec.max_bucket, watch.advance
                )
            duplicate_of, similarity = done.duplicate_of, done.similarity
            for name, more in (
                ("pairs_compared", done.compared),
                ("pairs_ruled_out", done.ruled_out),
                ("not_compared", done.not_compared),
            ):
                counts[name] = counts.get(name, 0) + more
        removed = np.flatnonzero(duplicate_of >= 0)
        answer.duplicate_of[docs[removed]] = docs[duplicate_of[removed]]
        answer.similarity[docs[removed]] = similarity[removed]
        with self.clock.stage("clusters", len(docs)):
            labels = star(duplicate_of)
            if answer.edges is not None:
                if spec.cluster != "star":
                    labels = clusters_of(
                        spec.cluster,
                        answer.edges,
                        sets,
                        spec.minimum_in_cluster,
                        self.pool,
                        spec.seed,
                    )
                measure = Measure(spec.threshold, spec.minimum_in_cluster)
                found_quality = quality(labels, answer.edges, sets, measure, self.pool)
                answer.quality = asdict(found_quality)
            cluster = np.arange(self.corpus.documents, dtype=np.int32)
            cluster[docs] = docs[labels]
            answer.cluster = cluster[answer.first]

    def _pairs(self, docs: np.ndarray, sets: Sets) -> tuple[Found, Edges]:
        spec = self.spec
        sink = PairSink(self.scratch.empty)
        with self.clock.stage("pairs", len(docs)) as advance:
            if not self.recipe.num_bands:
                order = np.arange(len(docs))
                sizes = np.array([len(docs)])
                watch = _Watch(self.clock, "pairs", sizes, len(docs), advance)
                found = join(sets, spec.threshold, self.pool, sink, watch.advance)
            else:
                order = content_order(sets)
                by_content = Sets(
                    sets.values, sets.begin[order], sets.size[order], sets.bitmaps[order]
                )
                buckets = self._buckets(docs[order])
                sizes = np.diff(buckets.starts)
                watch = _Watch(self.clock, "pairs", sizes, len(docs), advance)
                found = pairs_of_buckets(
                    by_content, buckets, spec.threshold, self.pool, sink, watch.advance
                )
            return found, edges_of(found, order, self.scratch.empty)


class _Watch:
    """Passes on how far comparing is, and says once why it will take long.

    Args:
        clock: Gets the note.
        stage: What is under way, ``pairs`` or ``resolve``.
        sizes: int[buckets]: members of each bucket.
        documents: Documents to compare.
        advance: Called with the number of documents done since.
    """

    def __init__(
        self,
        clock: Clock,
        stage: str,
        sizes: np.ndarray,
        documents: int,
        advance: Callable[[int], None],
    ) -> None:
        self._clock, self._stage, self._documents, self._advance = clock, stage, documents, advance
        self._largest = int(sizes.max(initial=0))
        self._begin = time.monotonic()
        self._done = 0
        self._said = False

    def advance(self, documents: int, pairs: int) -> None:
        self._done += documents
        self._advance(documents)
        passed = time.monotonic() - self._begin
        if self._said or passed < _PATIENCE:
            return
        # In a family that is kept, each document is compared with more than the one before it.
        whole = passed * (self._documents / self._done) ** 2
        if whole > _LONG:
            self._said = True
            note = (
                f"this may take {whole / 60:,.0f} minutes: {self._largest:,} documents share a "
                f"bucket, and {pairs:,} pairs were compared so far"
            )
            if self._stage == "resolve":  # where pairs are listed it does not
                note += "; `max_bucket` limits that"
            self._clock.emit(Event(self._stage, self._done, self._documents, note=note))


def _class(sizes: np.ndarray) -> np.ndarray:
    """Return the class of each bucket size, a power of two that it does not exceed: 2, 4, 8, ..."""
    return np.asarray(np.left_shift(1, np.ceil(np.log2(sizes)).astype(np.int64)))


def _name(size: int) -> str:
    return "2" if size == 2 else f"{size // 2 + 1}-{size}"
