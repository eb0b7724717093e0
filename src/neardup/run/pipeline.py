"""The main job: documents to verified clusters, with what is kept of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from neardup.core.band import Buckets, buckets
from neardup.core.cluster import Clustering, Counts, Edges
from neardup.core.exact import first_of_group, same_bytes
from neardup.core.join import join
from neardup.core.keep import keep
from neardup.core.shingle import Stemmer, shingle_sets
from neardup.core.star import star_of_buckets, star_of_edges
from neardup.core.threads import Pool
from neardup.core.tune import Bands
from neardup.core.verify import ShingleSets
from neardup.corpus import Chunk, Corpus, Documents
from neardup.kernels.sets import fill_bitmaps
from neardup.run.events import Stages
from neardup.run.parts import SAMPLE, Part, Plan, make_part, make_plan, require_documents
from neardup.run.priority import priorities
from neardup.spec import Spec

__all__ = ["Outcome", "run"]

#: Bytes of text that are held in memory; what exceeds them is read again when it is needed.
_HELD = 160 << 20
#: Bytes of the source that are read while the kernels are loaded.
_EARLY = 32 << 20


@dataclass
class Outcome:
    """What a run found, by position of the documents.

    Attributes:
        parts: Chunks of the corpus, in order.
        first: int32[documents]: first document with the same tokens.
        cluster: int32[documents]: lowest position in the cluster.
        kept_by: int32[documents]: the kept document that a removed one repeats; -1 where kept.
        similarity: float64[documents]: exact similarity of the two; NaN where kept.
        edges: Between first documents, see ``first``.
        bands: What was chosen; None without banding.
        counts: Comparisons.
        totals: Documents at each stage, by name. ``candidates`` are pairs in one bucket; a pair
            that meets in several bands counts in each.
        bucket_sizes: Number of buckets by size, all bands together: {2: ..., "3-4": ...}.
    """

    parts: list[Part]
    first: np.ndarray
    cluster: np.ndarray
    kept_by: np.ndarray
    similarity: np.ndarray
    edges: Edges
    bands: Bands | None
    counts: Counts
    totals: dict[str, int] = field(default_factory=dict)
    bucket_sizes: dict[str, int] = field(default_factory=dict)


def run(
    corpus: Corpus,
    spec: Spec,
    stages: Stages,
    threads: int | None = None,
    prepare: Callable[[], None] | None = None,
) -> Outcome:
    """Find the clusters of a corpus in memory.

    Args:
        corpus: The documents.
        spec: What is asked for.
        stages: Clock and events.
        threads: Threads; None for the cores there are.
        prepare: Called while the first chunks are read.

    Raises:
        InputError: The input can't be used; its leaves say why.
    """
    with Pool(threads) as pool:
        chunks = corpus.chunks()
        early: deque[tuple[Chunk, Future[Documents]]] = deque()
        size = 0
        while size < _EARLY and len(early) < 64 and (chunk := next(chunks, None)) is not None:
            early.append((chunk, pool.submit(chunk.read)))
            size += chunk.size
        columns = tuple(
            dict.fromkeys(name for name in (corpus.id_column, spec.keep.partition(":")[2]) if name)
        )
        if prepare is not None:
            prepare()
        with stages.stage("read and sign", corpus.total_bytes, "bytes") as advance:
            parts, plan = _read(early, chunks, spec, columns, pool, advance)
        stages.sizes["read and sign"] = sum(p.size for p in parts)
        count = sum(len(p.tokens) for p in parts)
        require_documents(count, [file.path for file in corpus.inputs])
        with stages.stage("exact duplicates", count):
            tokens = np.concatenate([p.tokens for p in parts])
            filled = np.flatnonzero(tokens).astype(np.int32)
            first = first_of_group(np.concatenate([p.sequence_hashes for p in parts]), filled)
            of_bytes = same_bytes(first, np.concatenate([p.byte_hashes for p in parts]))
            docs = filled[first[filled] == filled]
        priority, leader = priorities(parts, spec, first)
        bands = _buckets(parts, plan, docs, stages, pool)
        corpus.check_unchanged()
        sets = _sets(
            parts, plan, docs if plan.bands is None else _members(bands, count), pool, stages
        )
        cluster, edges, counts = _cluster(bands, sets, docs, priority, spec, stages, pool)
        with stages.stage("keep", count):
            answer = keep(cluster, priority, sets, spec.edge_threshold, pool)
    # From first documents to all: what holds for one of equal documents holds for each of them,
    # and of those only the leader can be kept.
    kept_by, similarity = answer.kept_by[first], answer.similarity[first]
    repeats = (kept_by < 0) & (leader[first] != np.arange(count))
    kept_by = np.where(kept_by >= 0, leader[kept_by], -1)
    kept_by[repeats] = leader[first][repeats]
    similarity[repeats] = 1.0
    lowest = np.full(count, count, dtype=np.int32)
    np.minimum.at(lowest, cluster[docs], docs)
    labels = np.arange(count, dtype=np.int32)
    labels[filled] = lowest[cluster[first[filled]]]
    sizes = np.unique(labels, return_counts=True)[1]
    totals = {
        "documents": count,
        "empty": count - len(filled),
        "short": int(((tokens > 0) & (tokens < spec.shingle.n)).sum()),
        "tokens": int(tokens.sum(dtype=np.int64)),
        "shingles": int(sum(int(p.shingles.sum(dtype=np.int64)) for p in parts)),
        "exact_duplicates": len(filled) - len(docs),
        "equal_bytes": of_bytes,
        "encoding_replaced": sum(p.replaced for p in parts),
        "candidates": sum(_pairs_in(b) for b in bands),
        "sets": int((sets.size > 0).sum()),
        "clusters": len(sizes),
        "clusters_of_two_or_more": int((sizes > 1).sum()),
        "largest_cluster": int(sizes.max()),
        "kept": int((kept_by < 0).sum()),
        "removed": int((kept_by >= 0).sum()),
        "kept_unsure": answer.unsure,
    }
    return Outcome(
        parts,
        first,
        labels,
        kept_by.astype(np.int32),
        similarity,
        edges,
        plan.bands,
        counts,
        totals,
        _bucket_sizes(bands),
    )


def _read(
    early: deque[tuple[Chunk, Future[Documents]]],
    chunks: Iterator[Chunk],
    spec: Spec,
    columns: tuple[str, ...],
    pool: Pool,
    advance: Callable[[int], None],
) -> tuple[list[Part], Plan]:
    """Turn each chunk into band keys as it comes.

    Args:
        early: The first chunks, which are being read.
        chunks: The others.
        spec: What is asked for.
        columns: Columns that the run needs later.
        pool: Threads.
        advance: Told the bytes that are done.
    """
    stemmer = None
    if spec.shingle.stem is not None:
        stemmer = Stemmer(spec.shingle.stem, spec.shingle.keep_case)
    head: list[Documents] = []
    count = 0
    for _, future in early:
        head.append(future.result())
        count += len(head[-1].text)
        if count >= SAMPLE:
            break
    while count < SAMPLE and (chunk := next(chunks, None)) is not None:
        head.append(chunk.read())
        count += len(head[-1].text)
        done: Future[Documents] = Future()
        done.set_result(head[-1])
        early.append((chunk, done))
    plan = make_plan(spec, head, stemmer, columns, pool)
    head.clear()

    def work(item: tuple[Chunk, Future[Documents] | None]) -> Part:
        chunk, future = item
        # A chunk that was begun early was begun before this, so that waiting for it can't block.
        return make_part(chunk, chunk.read() if future is None else future.result(), plan)

    def items() -> Iterator[tuple[Chunk, Future[Documents] | None]]:
        while early:
            yield early.popleft()
        for chunk in chunks:
            yield chunk, None

    parts = []
    room = _HELD
    for part in pool.ordered(work, items()):
        room -= int(part.lengths.sum(dtype=np.int64)) * part.chunk.worth_holding
        if room < 0 or not part.chunk.worth_holding:
            part.held = None
        parts.append(part)
        advance(part.size)
    return parts, plan


def _buckets(
    parts: list[Part], plan: Plan, docs: np.ndarray, stages: Stages, pool: Pool
) -> list[Buckets]:
    if plan.bands is None:
        return []
    num_bands = plan.bands.num_bands
    with stages.stage("band", num_bands, "bands") as advance:
        found = []
        for band in pool.ordered(
            lambda band: buckets(np.concatenate([p.keys[band] for p in parts]), docs),
            range(num_bands),
        ):
            found.append(band)
            advance(1)
    for part in parts:
        part.keys = np.empty((0, len(part.tokens)), dtype=np.uint64)  # no longer needed
    return found


def _members(bands: list[Buckets], count: int) -> np.ndarray:
    """Return the documents that share a bucket with another: those whose sets are needed."""
    met = np.zeros(count, dtype=np.bool_)
    for band in bands:
        met[band.members] = True
    return np.flatnonzero(met).astype(np.int32)


def _sets(
    parts: list[Part], plan: Plan, docs: np.ndarray, pool: Pool, stages: Stages
) -> ShingleSets:
    """Make the shingle sets of some documents, by reading and shingling their texts again.

    Most documents meet no other, so that this costs less than keeping all sets, or all texts, from
    the start: memory that is touched for the first time is slower than parsing.
    """
    sizes = np.concatenate([p.shingles for p in parts])
    begin = np.zeros(len(sizes), dtype=np.int64)
    wanted = np.zeros(len(sizes), dtype=np.int64)
    wanted[docs] = sizes[docs]
    np.cumsum(wanted[:-1], out=begin[1:])
    values = np.empty(int(wanted.sum()), dtype=np.uint64)
    size = np.zeros(len(sizes), dtype=np.int32)
    bitmaps = np.zeros((len(sizes), 4), dtype=np.uint64)
    offsets = np.cumsum([0] + [len(p.tokens) for p in parts])

    def work(item: tuple[int, Part]) -> int:
        base, part = item
        low, high = np.searchsorted(docs, (base, base + len(part.tokens)))
        if high > low:
            mine = docs[low:high]
            text = part.again((mine - base).astype(np.int64)).text
            sets = shingle_sets(text, plan.shingle, plan.stemmer)
            lengths = np.diff(sets.offsets)
            size[mine] = lengths
            # Sets are shorter than the room that was left for them; each goes to its own place.
            shift = np.repeat(begin[mine] - sets.offsets[:-1], lengths)
            values[np.arange(len(sets.values)) + shift] = sets.values
            fill_bitmaps(values, begin, size, mine, bitmaps)
        return len(part.tokens)

    with stages.stage("shingle sets", len(sizes)) as advance:
        for done in pool.ordered(work, zip(offsets.tolist(), parts, strict=False)):
            advance(done)
    return ShingleSets(values, begin, size, bitmaps)


def _cluster(
    bands: list[Buckets],
    sets: ShingleSets,
    docs: np.ndarray,
    priority: np.ndarray,
    spec: Spec,
    stages: Stages,
    pool: Pool,
) -> tuple[np.ndarray, Edges, Counts]:
    """Return (int32[documents] label of each document's cluster, edges, counts)."""
    with stages.stage("verify and cluster", max(1, len(bands)), "bands") as advance:
        if spec.cluster == "star" and spec.pairs == "collapsed" and spec.method == "lsh":
            counts = Counts()
            centre, edges = star_of_buckets(bands, sets, priority, spec, counts)
            advance(len(bands))
            return centre, edges, counts
        clustering = Clustering(sets, spec, pool)
        for members, starts in bands:
            clustering.add_band(members, starts)
            advance(1)
        if spec.method == "allpairs":
            pairs = join(sets, docs, spec.edge_threshold, pool)
            clustering.counts.verified += pairs.comparisons
            clustering.add_edges(pairs.a, pairs.b, pairs.similarity)
        edges = clustering.edges()
        if spec.cluster == "star":
            return star_of_edges(edges, priority), edges, clustering.counts
        return clustering.roots(), edges, clustering.counts


def _pairs_in(band: Buckets) -> int:
    """Count the pairs of documents that share a bucket of a band."""
    sizes = np.diff(band.starts).astype(np.int64)
    return int((sizes * (sizes - 1)).sum()) // 2


def _bucket_sizes(bands: list[Buckets]) -> dict[str, int]:
    """Count buckets by size, in classes that double."""
    sizes = np.concatenate([np.diff(b.starts) for b in bands] or [np.zeros(0, dtype=np.int32)])
    classes: dict[str, int] = {}
    low, high = 2, 2
    while (sizes >= low).any():
        classes[str(low) if low == high else f"{low}-{high}"] = int(
            ((sizes >= low) & (sizes <= high)).sum()
        )
        low, high = high + 1, high * 2
    return classes
