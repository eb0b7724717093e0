"""The main job: documents to verified clusters, with what is kept of each.

Each stage is a function of what the one before it left in the store, in the run folder or in
arrays; stages that left it on the disk are not repeated after a crash.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from neardup.core.cluster import Counts
from neardup.core.edges import EdgeLog, Triple
from neardup.core.exact import first_of_group, same_bytes
from neardup.core.keep import keep
from neardup.core.quality import quality
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.core.tune import Bands
from neardup.corpus import Chunk, Documents
from neardup.errors import ResumeError
from neardup.run.begin import Start, begin
from neardup.run.clustering import BandBuckets, cluster, find_buckets, found_edges
from neardup.run.facts import ChunkFacts, Facts, gather
from neardup.run.folder import RunFolder
from neardup.run.ids import check_ids
from neardup.run.job import Job, exact_estimate
from neardup.run.parts import given_bands, require_documents
from neardup.run.priority import priorities
from neardup.run.sets import make_sets
from neardup.run.signing import finished_parts, sign_parts
from neardup.run.source import Source

__all__ = ["Found", "Outcome", "run"]

#: The step after which only the outputs are left to write.
_FOUND = "found"


@dataclass
class Found:
    """What a run found, by position of the documents. Arrays may lie in mapped files.

    Attributes:
        first: int32[documents]: first document with the same tokens.
        cluster: int32[documents]: lowest position in the cluster.
        kept_by: int32[documents]: the kept document that a removed one repeats; -1 where kept.
        similarity: float64[documents]: exact similarity of the two; NaN where kept.
        edges: Between first documents, see ``first``.
        counts: Comparisons.
        totals: Documents at each stage, by name. ``candidates`` are pairs in one bucket; a pair
            that meets in several bands counts in each.
        bucket_sizes: Number of buckets by size, all bands together: {"2": ..., "3-4": ...}.
        candidates_by_band: Pairs in one bucket, in each band.
        quality: Of the clusters of first documents, see `neardup.core.quality.Quality`.
    """

    first: np.ndarray
    cluster: np.ndarray
    kept_by: np.ndarray
    similarity: np.ndarray
    edges: EdgeLog
    counts: Counts
    totals: dict[str, int]
    bucket_sizes: dict[str, int]
    candidates_by_band: list[int]
    quality: dict[str, Any]

    def save(self, folder: RunFolder, keep: bool) -> None:
        """Keep it in the run folder; give up what it was made of, unless that is to be kept."""
        names = ("first", "cluster", "kept_by", "similarity")
        folder.save(
            _FOUND,
            0,
            lambda: {name: getattr(self, name) for name in names},
            counts=asdict(self.counts),
            totals=self.totals,
            bucket_sizes=self.bucket_sizes,
            candidates_by_band=self.candidates_by_band,
            quality=self.quality,
        )
        for stage in () if keep else ("sets", "band"):
            folder.discard(stage)

    @classmethod
    def load(cls, folder: RunFolder, documents: int, space: Space) -> Found:
        """Return what `save` kept.

        Raises:
            ResumeError: It is damaged.
        """
        about = folder.about(_FOUND)
        return cls(
            **folder.load(_FOUND),
            edges=found_edges(folder, documents, space),
            counts=Counts(**about["counts"]),
            totals=about["totals"],
            bucket_sizes=about["bucket_sizes"],
            candidates_by_band=about["candidates_by_band"],
            quality=about["quality"],
        )


@dataclass
class Outcome(Found):
    """What a run found, and what it takes to write it down.

    Attributes:
        source: The corpus.
        facts: What is known of its documents.
        bands: What was chosen; None without banding.
        store: Where the band matrix was, its design, and its bytes.
        passes: Ranges of keys in which a band was grouped.
        space: Where large arrays go.
    """

    source: Source
    facts: Facts
    bands: Bands | None
    store: dict[str, Any]
    passes: int
    space: Space


def run(job: Job) -> Outcome:
    """Find the clusters of a corpus.

    Raises:
        InputError: The input can't be used; its leaves say why.
        SpecError: It can't be done in the memory given.
        ResumeError: The run folder holds another run, or is damaged.
        StoreError: The store can't be used.
        OutputError: The disk is full.
    """
    source = Source(job.corpus)
    folder, stages = job.folder, job.stages
    with Pool(job.threads) as pool:
        start = begin(job, source, pool)
        recipe = start.recipe
        with start.store as store:
            if job.storage.name is None:
                _sign(job, source, start, pool)
                parts = len(store.parts())
            else:
                parts = finished_parts(store)
            entries = store.parts()
            count = sum(entry.documents for entry in entries.values())
            require_documents(count, [file.path for file in job.corpus.inputs])
            plan = exact_estimate(job, recipe, count, entries, store, pool.threads)
            # What the store holds in memory is not there for arrays.
            share = 2 if store.url.startswith("memory") else 1
            space = Space(
                None if plan.needed <= plan.memory else plan.budget // share,
                None if folder is None else folder.path,
            )
            with stages.stage("exact duplicates", count):
                facts = gather(
                    (store.facts(part) for part in range(parts)),
                    count,
                    store.url,
                    space,
                    None if folder is None else folder.path,
                )
                stages.sizes["read and sign"] = facts.size
                check_ids(facts, job.corpus.id_column, job.secret_ids, space, plan.passes)
            kind = "sqlite" if store.url.startswith("sqlite:") else "memory"
            stored = {
                "store": job.storage.public_store if job.storage.shared else kind,
                "design": store.design,
                "bytes": store.size(),
            }
            if folder is not None and folder.done(_FOUND):
                found = Found.load(folder, count, space)
            else:
                found = _find(job, start, source, facts, plan.passes, space, pool)
                if folder is not None:
                    job.disk = folder.size()
                    found.save(folder, job.storage.keep_run)
    return Outcome(
        **vars(found),
        source=source,
        facts=facts,
        bands=recipe.bands or given_bands(job.spec),
        store=stored,
        passes=plan.passes,
        space=space,
    )


def _find(
    job: Job,
    start: Start,
    source: Source,
    facts: Facts,
    passes: int,
    space: Space,
    pool: Pool,
) -> Found:
    """Group, verify and cluster what is signed, and decide what is kept."""
    folder, stages, recipe = job.folder, job.stages, start.recipe
    count, tokens = facts.documents, facts.tokens
    with stages.stage("exact duplicates", count):
        filled = np.flatnonzero(tokens).astype(np.int32)
        first = first_of_group(facts.sequence_hashes, filled, passes)
        of_bytes = same_bytes(first, facts.byte_hashes)
        facts.forget_hashes()
        docs = filled[first[filled] == filled]
    priority, leader = priorities(facts, job.spec, first)
    known = None if job.edges is None else _between_first(job.edges(), first, space)
    # Sets that another run left lie in the order of all that met there.
    ready = job.origin is not None and "shingle sets" in job.origin["taken"]
    bands = BandBuckets(folder, space)
    if recipe.bands is not None and (known is None or ready):
        bands = find_buckets(
            start.store, count, docs, recipe.num_bands, passes, folder, space, pool, stages
        )
    job.corpus.check_unchanged()
    met = space.zeros(count, np.bool_)
    if known is not None and not ready:
        for block in known.blocks():
            met[block.a] = met[block.b] = True
    elif recipe.bands is None:
        met[docs] = True
    for band in bands:
        met[band.members] = True
    with stages.stage("shingle sets", count) as advance:
        sets = make_sets(
            source, facts, recipe, met, start.part_chunks, folder, space, pool, advance
        )
    labels, edges, counts = cluster(
        bands, sets, docs, priority, job.spec, folder, space, pool, stages, known
    )
    with stages.stage("quality", count):
        found = quality(labels, edges, sets, job.spec, pool, space=space)
    with stages.stage("keep", count):
        answer = keep(labels, priority, sets, job.spec.edge_threshold, pool)
    # From first documents to all: what holds for one of equal documents holds for each of them,
    # and of those only the leader can be kept.
    kept_by, similarity = answer.kept_by[first], answer.similarity[first]
    repeats = (kept_by < 0) & (leader[first] != np.arange(count, dtype=np.int32))
    kept_by = np.where(kept_by >= 0, leader[kept_by], np.int32(-1))
    kept_by[repeats] = leader[first][repeats]
    similarity[repeats] = 1.0
    lowest = np.full(count, count, dtype=np.int32)
    np.minimum.at(lowest, labels[docs], docs)
    final = np.arange(count, dtype=np.int32)
    final[filled] = lowest[labels[first[filled]]]
    sizes = np.bincount(final)
    totals = {
        "documents": count,
        "empty": count - len(filled),
        "short": int(((tokens > 0) & (tokens < job.spec.shingle.n)).sum()),
        "tokens": int(tokens.sum(dtype=np.int64)),
        "shingles": int(facts.shingles.sum(dtype=np.int64)),
        "exact_duplicates": len(filled) - len(docs),
        "equal_bytes": of_bytes,
        "encoding_replaced": facts.replaced,
        "candidates": sum(bands.candidates_by_band),
        "sets": int((sets.size > 0).sum()),
        "clusters": int((sizes > 0).sum()),
        "clusters_of_two_or_more": int((sizes > 1).sum()),
        "largest_cluster": int(sizes.max()),
        "kept": int((kept_by < 0).sum()),
        "removed": int((kept_by >= 0).sum()),
        "kept_unsure": answer.unsure,
    }
    sizes_of = bands.classes()
    met_by_band = bands.candidates_by_band
    return Found(
        *(first, final, kept_by, similarity, edges, counts),
        *(totals, sizes_of, met_by_band, asdict(found)),
    )


def _between_first(edges: Iterable[Triple], first: np.ndarray, space: Space) -> EdgeLog:
    """Return those edges that lie between documents which stand for all that are equal to them."""
    known = EdgeLog(len(first), space)
    for a, b, similarity in edges:
        rows = (first[a] == a) & (first[b] == b)
        known.add(a[rows], b[rows], similarity[rows])
        known.settle()
    return known


def _sign(job: Job, source: Source, start: Start, pool: Pool) -> None:
    """Put all parts into the store that are not there yet."""
    folder, store = job.folder, start.store
    there = store.parts()
    if folder is not None:
        for part in there:
            if not folder.done("sign", part):
                folder.mark("sign", part)  # it was stored, and the process killed before the note
        folder.settle()
        for part in range(folder.count("sign")):
            if part not in there:
                raise ResumeError(
                    f"{store.url}: part {part} is missing", "start again with --overwrite"
                )
    room = start.held

    def hold(number: int, chunk: Chunk, documents: Documents, facts: ChunkFacts) -> None:
        nonlocal room
        if chunk.worth_holding and room > 0:
            room -= documents.table.nbytes + documents.text.nbytes
            source.held[number] = documents

    def stored(part: int) -> None:
        if folder is not None:
            folder.mark("sign", part)
            folder.settle()

    chunks = (
        start.head.chunks()
        if start.head is not None
        else ((number, chunk, None) for number, chunk in source.chunks())
    )
    with job.stages.stage("read and sign", job.corpus.total_bytes, "bytes") as advance:
        if folder is not None and folder.done("signed"):
            advance(job.corpus.total_bytes or 0)
            return
        sign_parts(
            chunks,
            start.recipe,
            store,
            start.part_chunks,
            lambda part: part not in there,
            pool,
            hold,
            advance,
            stored,
        )
        if folder is not None:
            folder.mark("signed")
            folder.settle()
