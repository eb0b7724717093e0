"""From sketches to answers and clusters: buckets, sets, pairs."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from neardup.cluster.disjoint_sets import disjoint_sets
from neardup.cluster.edges import Edges, batches
from neardup.cluster.methods import counts_of, kept_set, star
from neardup.deduplication.clock import Event, Watch
from neardup.deduplication.documents.metadata import CorpusMetadata
from neardup.deduplication.job import Job
from neardup.deduplication.keys import BandKeys
from neardup.deduplication.reading import Reader, SetBuilder
from neardup.deduplication.warming import Warming
from neardup.files.scratch import Scratch
from neardup.io.source import Skipped
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Buckets
from neardup.match import bucketing
from neardup.match.bucketing import BandBuckets, bands_at_once, bucket_bands, plausible
from neardup.match.pair_counts import CLASSES, PairTallying, Represented
from neardup.match.pairs import (
    FoundPairs,
    PairCounts,
    count_candidates,
    edges_of,
    join,
    pairs_of_buckets,
    pairs_with_old,
)
from neardup.match.resolve import Limits, resolve
from neardup.match.verifying import content_order
from neardup.recipe import Recipe
from neardup.sketch.tokenising import Tokeniser
from neardup.stages.clustering import clusters_of
from neardup.stages.exact import (
    counts_of_kinds,
    expand_to_duplicates,
    first_of_equal,
    how_alike,
)
from neardup.threads import Pool
from neardup.tuning import TUNING


@dataclass
class RunAnswer:
    """For each document, by position in the input, the one that it is a duplicate of, and more."""

    first: np.ndarray  # int32[documents]: the document that represents all with the same tokens
    duplicate_of: np.ndarray  # int32[documents]: -1 where a document is kept
    similarity: np.ndarray  # float64[documents]: of the two; NaN where a document is kept
    cluster: np.ndarray  # int32[documents]: the first document, in keep order, of the cluster
    how: np.ndarray  # int8[documents]: how the two are alike, see `neardup.stages.exact.HOW`
    docs: np.ndarray  # int32[m]: documents that were compared, in keep order
    edges: Edges | None  # between numbers in ``docs``; None where pairs were not listed
    counts: dict[str, int]  # by name, see `neardup.output.record`
    #: Number of buckets by size, all bands together: {"2": ..., "3-4": ...}.
    bucket_sizes: dict[str, int] = field(default_factory=dict)
    #: Pairs in one bucket, in each band.
    candidates_by_band: list[int] = field(default_factory=list)
    #: Pairs that were counted, by the lowest similarity of their class.
    pairs_by_similarity: dict[str, int] = field(default_factory=dict)
    #: int64[rows, 3]: the same in clusters: first document, class, pairs; None if not counted.
    in_clusters: np.ndarray | None = None


@dataclass
class Comparing:
    job: Job
    recipe: Recipe
    corpus: CorpusMetadata
    rank: np.ndarray  # int32[documents]: in keep order
    keys: BandKeys
    reader: Reader
    scratch: Scratch
    pool: Pool
    warming: Warming  # has begun
    old: int = 0  # the first so many documents, by position and by rank, stay
    only: bool = False  # list all pairs with old ones, and compare the others with no others

    def __post_init__(self) -> None:
        self.spec, self.clock = self.job.spec, self.job.clock

    def run(self) -> RunAnswer:
        spec, corpus, rank = self.spec, self.corpus, self.rank
        documents = corpus.documents
        self.groups: np.ndarray | None = None
        with self.clock.stage("equal documents", documents):
            if (within := self.recipe.within) is not None:
                self.groups = corpus.groups(within, self.scratch)
            filled = np.flatnonzero(corpus.tokens).astype(np.int32)
            identity = corpus.hashes
            if spec.only_same:
                identity = np.stack([corpus.contents, corpus.hashes[:, 0]], axis=1)
            first = first_of_equal(identity, filled, rank)
            docs = filled[:0] if spec.only_same else filled[first[filled] == filled]
            if spec.keep != "first" or spec.order_by is not None:
                docs = docs[np.argsort(rank[docs])]
        without_group = 0 if self.groups is None else int(np.count_nonzero(self.groups == 0))
        answer = RunAnswer(
            first,
            self.scratch.filled(documents, np.int32, -1),
            self.scratch.filled(documents, np.float64, np.nan),
            np.empty(0, np.int32),
            np.empty(0, np.int8),
            docs,
            None,
            {
                "documents": documents,
                "empty": documents - len(filled) - without_group,
                "short": int(((corpus.tokens > 0) & (corpus.tokens < spec.shingle.n)).sum()),
                "tokens": int(corpus.tokens.sum(dtype=np.int64)),
                "shingles": int(corpus.shingles.sum(dtype=np.int64)),
                "equal_tokens": int((first != np.arange(documents, dtype=np.int32)).sum()),
                "encoding_replaced": corpus.replaced,
                **Skipped.total(corpus.skipped).counts(),
            },
        )
        if self.groups is not None:
            answer.counts["without_group"] = without_group
        if self.recipe.num_bands:
            self._choose(answer)
        else:
            answer.counts["candidates"] = len(docs) * (len(docs) - 1) // 2
        if self.old:
            self._part(answer)
        with self.clock.stage("compile"):
            self.warming.finish()
        self._decide(answer, self._sets(answer))
        expand_to_duplicates(first, answer.duplicate_of, answer.similarity)
        answer.counts |= counts_of(answer.duplicate_of, answer.cluster)
        answer.how = how_alike(answer.duplicate_of, corpus.hashes, corpus.contents)
        answer.counts |= counts_of_kinds(answer.how)
        return answer

    def _bands(self, docs: np.ndarray, numbers: np.ndarray | None = None) -> Iterator[BandBuckets]:
        """Yield the buckets of some documents, which may have other ``numbers``, int32[n]."""
        keys_of, bands = self.keys.of(docs), self.recipe.num_bands
        at_once = bands_at_once(len(docs), self.pool, self.scratch.left)
        yield from bucket_bands(keys_of, bands, self.pool, numbers, at_once)

    def _choose(self, answer: RunAnswer) -> None:
        """Leave only the documents that may be similar to another one."""
        docs, classes = answer.docs, np.zeros(32, np.int64)  # buckets of up to 2**k documents
        with self.clock.stage("buckets", self.recipe.num_bands, "bands") as advance:

            def counted() -> Iterator[BandBuckets]:
                for band in self._bands(docs, docs):
                    answer.candidates_by_band.append(band.candidates)
                    k = np.ceil(np.log2(np.diff(band.starts))).astype(np.int64)
                    classes[...] += np.bincount(k, minlength=32)
                    advance(1)
                    yield band

            about = self.corpus.shingles, self.corpus.bitmaps
            # A root is compared with the documents of its set's buckets, whatever is theirs.
            least = 0.0 if self.spec.cluster == "disjoint-sets" else self.spec.threshold
            marked = plausible(counted(), *about, least, self.pool)
        bucketing.check_buckets(int(classes.sum()))  # before any text is read again
        answer.docs = docs[marked[docs]]
        answer.counts["candidates"] = sum(answer.candidates_by_band)
        for k in np.flatnonzero(classes).tolist():
            name = "2" if k == 1 else f"{2 ** (k - 1) + 1}-{2**k}"
            answer.bucket_sizes[name] = int(classes[k])

    def _part(self, answer: RunAnswer) -> None:
        """Compare new documents themselves that an old one with equal tokens represents.

        It need not be their first near-duplicate: an old document stays, whatever it is similar to.
        """
        first, docs, rank = answer.first, answer.docs, self.rank
        marked = np.zeros(len(first), np.bool_)
        marked[docs] = True
        new = self.old + np.flatnonzero((first[self.old :] < self.old) & marked[first[self.old :]])
        new = new[np.argsort(rank[new])].astype(np.int32)
        _, rows, group = np.unique(first[new], return_index=True, return_inverse=True)
        first[new] = new[rows][group]
        docs = np.concatenate([docs, new[rows]])
        answer.docs = docs[np.argsort(rank[docs])]

    def _sets(self, answer: RunAnswer) -> Sets:
        """Read the texts of those again and make their shingle sets."""
        answer.counts["compared_documents"] = len(answer.docs)
        with self.clock.stage("shingle sets", len(answer.docs)) as advance:
            tokeniser = Tokeniser(self.recipe.shingle, grouped=self.groups is not None)
            given = self.corpus, answer.docs, tokeniser, self.scratch, self.groups
            builder = SetBuilder(*given)
            sets = builder.build(self.reader, self.pool, advance)
        self.clock.sizes["shingle sets"] = sets.values.nbytes
        return sets

    def _buckets(self, docs: np.ndarray) -> Buckets:
        if not self.recipe.num_bands:
            return bucketing.one_bucket(len(docs))
        bands, empty = self.recipe.num_bands, self.scratch.empty
        return bucketing.bucket_documents(self._bands(docs), len(docs), bands, empty)

    def _decide(self, answer: RunAnswer, sets: Sets) -> None:
        spec, docs, counts = self.spec, answer.docs, answer.counts
        old = int(np.count_nonzero(docs < self.old))
        if spec.enumerates or self.only:
            found, edges = (
                self._pairs_with_old(docs, sets, old) if self.only else self._pairs(docs, sets)
            )
            _add(counts, found)
            answer.edges = edges
        with self.clock.stage("resolve", len(docs)) as advance:
            every = not counts.get("not_compared") and spec.max_bucket is None
            if answer.edges is not None and (every or self.only):
                # All pairs are there: they decide, without another comparison.
                decided = kept_set(answer.edges, len(docs))
            else:
                buckets = self._buckets(docs)
                watch = Watch(self.clock, "resolve", _largest(buckets), len(docs), advance)
                limits = Limits(spec.max_bucket, old, scratch=self.scratch)
                decided, pairs = resolve(sets, buckets, spec.threshold, self.pool, limits, watch)
                _add(counts, pairs)
                if answer.edges is not None:
                    found_by = decided.duplicate_of, decided.similarity, self.scratch.empty
                    answer.edges = answer.edges.with_answers(*found_by)
        removed = np.flatnonzero(decided.duplicate_of >= 0)
        answer.duplicate_of[docs[removed]] = docs[decided.duplicate_of[removed]]
        answer.similarity[docs[removed]] = decided.similarity[removed]
        if answer.edges is not None and not self.only:
            counts["edges"] = _listed(answer, answer.edges, spec.pairs == "all")
        with self.clock.stage("clusters", len(docs)):
            labels = star(decided.duplicate_of)
            if spec.cluster == "disjoint-sets":
                labels = self._disjoint_sets(answer, sets)
            elif answer.edges is not None and spec.cluster != "star":
                lowest = spec.minimum_in_cluster
                labels = clusters_of(spec.cluster, answer.edges, sets, lowest, self.pool, spec.seed)
            cluster = np.arange(self.corpus.documents, dtype=np.int32)
            cluster[docs] = docs[labels]
            answer.cluster = cluster[answer.first]
        if spec.pairs == "count":
            self._count(answer, sets, labels)

    def _count(self, answer: RunAnswer, sets: Sets, labels: np.ndarray) -> None:
        """Count all pairs, those of equal documents included."""
        docs, counts, sizes = answer.docs, answer.counts, np.bincount(answer.first)
        with self.clock.stage("count pairs", len(docs)) as advance:
            buckets = self._buckets(docs)
            of = Represented(sizes[docs], labels.astype(np.int32))
            tallying = PairTallying(sets, buckets, self.spec.threshold, of, self.scratch.empty)
            expected = tallying.expected_seconds(self.pool)
            if expected > TUNING.estimate_after:
                note = f"to count all pairs takes up to {expected:,.0f} s"
                self.clock.emit(Event("count pairs", 0, len(docs), note=note))
            found = tallying.run(self.pool, lambda documents, pairs: advance(documents))
        equal = np.flatnonzero(sizes > 1)
        of_equal = sizes[equal] * (sizes[equal] - 1) // 2
        clusters, row = np.unique(
            np.concatenate([docs[found.within[:, 0]], answer.cluster[equal]]), return_inverse=True
        )
        table = np.zeros((len(clusters), CLASSES + 1), np.int64)
        many = len(found.within)
        np.add.at(table, (row[:many], found.within[:, 1]), found.within[:, 2])
        np.add.at(table[:, CLASSES], row[many:], of_equal)
        at, k = np.nonzero(table)
        answer.in_clusters = np.stack([clusters[at], k, table[at, k]], axis=1)
        found.classes[CLASSES] += of_equal.sum()
        lowest = int(self.spec.threshold * CLASSES)
        answer.pairs_by_similarity = {
            f"{k / CLASSES:g}": int(found.classes[k]) for k in range(lowest, CLASSES + 1)
        }
        counts["pairs"], counts["pairs_in_clusters"] = int(found.classes.sum()), int(table.sum())
        counts["pairs_compared"] += found.compared
        counts["pairs_ruled_out"] += found.ruled_out

    def _disjoint_sets(self, answer: RunAnswer, sets: Sets) -> np.ndarray:
        spec, buckets, empty = self.spec, self._buckets(answer.docs), self.scratch.empty
        thresholds = spec.threshold, spec.minimum_in_cluster
        found = disjoint_sets(sets, buckets, *thresholds, self.pool, allocate=empty)
        pairs = count_candidates(buckets, self.pool, empty)
        answer.counts |= {
            "candidate_pairs": pairs,
            "set_pairs_compared": found.compared,
            "set_pairs_saved": pairs - found.compared,
        }
        answer.counts["not_compared"] += found.not_compared
        return found.labels

    def _pairs(self, docs: np.ndarray, sets: Sets) -> tuple[FoundPairs, Edges]:
        bands, empty = self.recipe.num_bands, self.scratch.empty
        with self.clock.stage("pairs", len(docs)) as advance:
            order = content_order(sets) if bands else np.arange(len(docs))
            buckets = self._buckets(docs[order])
            watch = Watch(self.clock, "pairs", _largest(buckets), len(docs), advance)
            common = self.spec.threshold, self.pool, empty, watch
            if bands:
                found = pairs_of_buckets(sets.take(order, empty), buckets, *common)
            else:
                found = join(sets, *common)
            return found, edges_of(found, order, empty)

    def _pairs_with_old(self, docs: np.ndarray, sets: Sets, old: int) -> tuple[FoundPairs, Edges]:
        with self.clock.stage("pairs", len(docs) - old) as advance:
            buckets = self._buckets(docs)
            watch = Watch(self.clock, "pairs", _largest(buckets), len(docs) - old, advance)
            empty = self.scratch.empty
            common = self.spec.threshold, self.pool, empty, watch
            found = pairs_with_old(sets, buckets, old, *common)
            return found, Edges.gather(found.parts, empty)


def _listed(answer: RunAnswer, edges: Edges, every: bool) -> int:
    """Return how many edges there are, those of equal documents included."""
    docs, first = answer.docs, answer.first
    if not every:
        # An equal document has an edge to the first of its group, and to its ``duplicate_of``.
        others = np.flatnonzero(first != np.arange(len(first)))
        removed = int((answer.duplicate_of[first[others]] >= 0).sum())
        return len(edges) + len(others) + removed
    sizes = np.bincount(first)
    within = int((sizes * (sizes - 1) // 2).sum())
    for rows in batches(len(edges)):
        within += int((sizes[docs[edges.a[rows]]] * sizes[docs[edges.b[rows]]]).sum())
    return within


def _largest(buckets: Buckets) -> int:
    return int(np.diff(buckets.starts).max(initial=0))


def _add(counts: dict[str, int], found: PairCounts) -> None:
    done = found.compared, found.ruled_out, found.not_compared
    names = ("pairs_compared", "pairs_ruled_out", "not_compared")
    counts |= {name: counts.get(name, 0) + more for name, more in zip(names, done, strict=True)}
