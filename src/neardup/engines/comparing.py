"""From sketches to what is a duplicate of what: buckets, sets, answers, pairs, clusters."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from neardup.cluster.edges import Edges
from neardup.cluster.methods import counts_of, kept_set, star
from neardup.engines.job import Job
from neardup.engines.metadata import Corpus
from neardup.engines.reading import Reader, SetBuilder
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Buckets
from neardup.match.bucketing import (
    BandBuckets,
    bucket_bands,
    bucket_documents,
    one_bucket,
    plausible,
)
from neardup.match.pairs import Found, join, pairs_of_buckets
from neardup.match.resolve import Limits, resolve
from neardup.match.verifying import content_order
from neardup.memory import Scratch
from neardup.recipe import Recipe
from neardup.sketch.tokenising import Tokeniser
from neardup.stages.bucket_stage import first_of_equal
from neardup.stages.clock import Watch
from neardup.stages.cluster_stage import clusters_of, expand_to_duplicates
from neardup.stages.match_stage import edges_of
from neardup.threads import Pool


@dataclass
class Answer:
    """What was found, by position of the documents in the input."""

    first: np.ndarray  # int32[documents]: the document that stands for all with the same tokens
    duplicate_of: np.ndarray  # int32[documents]: -1 where a document is kept
    similarity: np.ndarray  # float64[documents]: of the two; NaN where a document is kept
    cluster: np.ndarray  # int32[documents]: the first document, in keep order, of the cluster
    docs: np.ndarray  # int32[m]: documents that were compared, in keep order
    edges: Edges | None  # between numbers in ``docs``; None where pairs were not listed
    counts: dict[str, int]  # by name, see `neardup.output.record`
    #: Number of buckets by size, all bands together: {"2": ..., "3-4": ...}.
    bucket_sizes: dict[str, int] = field(default_factory=dict)
    #: Pairs in one bucket, in each band.
    candidates_by_band: list[int] = field(default_factory=list)


@dataclass
class Comparing:
    """All that comparing needs."""

    job: Job
    recipe: Recipe
    corpus: Corpus
    rank: np.ndarray  # int32[documents]: in keep order
    keys_of: Callable[[int], np.ndarray]  # uint64[documents] of a band; from several threads
    reader: Reader
    scratch: Scratch
    pool: Pool

    def __post_init__(self) -> None:
        self.spec, self.clock = self.job.spec, self.job.clock

    def run(self) -> Answer:
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
                "skipped": corpus.skipped,
            },
        )
        self._choose(answer)
        sets = self._sets(answer)
        self._decide(answer, sets)
        expand_to_duplicates(first, answer.duplicate_of, answer.similarity)
        answer.counts |= counts_of(answer.duplicate_of, answer.cluster)
        return answer

    def _bands(self, docs: np.ndarray) -> Iterable[BandBuckets]:
        bands = self.recipe.num_bands
        return bucket_bands(lambda band: self.keys_of(band)[docs], bands, self.pool)

    def _choose(self, answer: Answer) -> None:
        """Leave only the documents that may be similar to another one."""
        if not self.recipe.num_bands:
            answer.counts["candidates"] = len(answer.docs) * (len(answer.docs) - 1) // 2
            return
        classes = np.zeros(32, np.int64)  # buckets of up to 2**k documents
        with self.clock.stage("buckets", self.recipe.num_bands, "bands") as advance:

            def counted() -> Iterator[BandBuckets]:
                for band in self._bands(answer.docs):
                    answer.candidates_by_band.append(band.candidates)
                    k = np.ceil(np.log2(np.diff(band.starts))).astype(np.int64)
                    classes[...] += np.bincount(k, minlength=32)
                    advance(1)
                    yield band

            docs = answer.docs
            sizes, bitmaps = self.corpus.shingles[docs], self.corpus.bitmaps[docs]
            marked = plausible(counted(), sizes, bitmaps, self.spec.threshold, self.pool)
        answer.docs = docs[marked]
        answer.counts["candidates"] = sum(answer.candidates_by_band)
        for k, count in enumerate(classes.tolist()):
            if count:
                name = "2" if k == 1 else f"{2 ** (k - 1) + 1}-{2**k}"
                answer.bucket_sizes[name] = count

    def _sets(self, answer: Answer) -> Sets:
        """Read the texts of those again and make their shingle sets."""
        answer.counts["compared_documents"] = len(answer.docs)
        with self.clock.stage("shingle sets", len(answer.docs)) as advance:
            tokeniser = Tokeniser(self.recipe.shingle)
            builder = SetBuilder(self.corpus, answer.docs, tokeniser, self.scratch)
            sets = builder.build(self.reader, self.pool, advance)
        self.clock.sizes["shingle sets"] = sets.values.nbytes
        return sets

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
            _add(counts, found.compared, found.ruled_out, found.not_compared)
            counts["edges"] = len(answer.edges)
        if answer.edges is not None and not counts["not_compared"] and spec.max_bucket is None:
            # All pairs are there: they decide, without another comparison.
            with self.clock.stage("resolve", len(docs)):
                kept = kept_set(answer.edges, len(docs))
            duplicate_of, similarity = kept.duplicate_of, kept.similarity
        else:
            with self.clock.stage("resolve", len(docs)) as advance:
                buckets = self._buckets(docs)
                watch = Watch(self.clock, "resolve", _largest(buckets), len(docs), advance)
                limits = Limits(spec.max_bucket, self.scratch.empty)
                done = resolve(sets, buckets, spec.threshold, self.pool, limits, watch)
            duplicate_of, similarity = done.duplicate_of, done.similarity
            _add(counts, done.compared, done.ruled_out, done.not_compared)
        removed = np.flatnonzero(duplicate_of >= 0)
        answer.duplicate_of[docs[removed]] = docs[duplicate_of[removed]]
        answer.similarity[docs[removed]] = similarity[removed]
        with self.clock.stage("clusters", len(docs)):
            labels = star(duplicate_of)
            if answer.edges is not None and spec.cluster != "star":
                lowest = spec.minimum_in_cluster
                labels = clusters_of(spec.cluster, answer.edges, sets, lowest, self.pool, spec.seed)
            cluster = np.arange(self.corpus.documents, dtype=np.int32)
            cluster[docs] = docs[labels]
            answer.cluster = cluster[answer.first]

    def _pairs(self, docs: np.ndarray, sets: Sets) -> tuple[Found, Edges]:
        threshold, empty = self.spec.threshold, self.scratch.empty
        with self.clock.stage("pairs", len(docs)) as advance:
            if not self.recipe.num_bands:
                order = np.arange(len(docs))
                watch = Watch(self.clock, "pairs", len(docs), len(docs), advance)
                found = join(sets, threshold, self.pool, empty, watch)
            else:
                order = content_order(sets)
                buckets = self._buckets(docs[order])
                watch = Watch(self.clock, "pairs", _largest(buckets), len(docs), advance)
                by_content = sets.take(order)
                found = pairs_of_buckets(by_content, buckets, threshold, self.pool, empty, watch)
            return found, edges_of(found, order, empty)


def _largest(buckets: Buckets) -> int:
    return int(np.diff(buckets.starts).max(initial=0))


def _add(counts: dict[str, int], compared: int, ruled_out: int, not_compared: int) -> None:
    more = {"pairs_compared": compared, "pairs_ruled_out": ruled_out, "not_compared": not_compared}
    counts |= {name: counts.get(name, 0) + number for name, number in more.items()}
