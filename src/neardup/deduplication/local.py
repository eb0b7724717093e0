"""One machine: a source to an answer, with threads, bounded memory, and stored progress."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.cluster.edges import Edges
from neardup.deduplication.beginning import (
    Beginning,
    begin,
    check_documents,
    note_in_manifest,
    store_of,
)
from neardup.deduplication.clock import Clock, Event
from neardup.deduplication.comparing import Comparing, RunAnswer
from neardup.deduplication.documents.identifiers import Ids, check_ids, id_array, joined_ids
from neardup.deduplication.documents.metadata import (
    CorpusMetadata,
    PartitionMetadata,
    about_partition,
    gather,
    no_rows,
)
from neardup.deduplication.documents.ordering import document_order, keep_order, require_stored
from neardup.deduplication.job import Job
from neardup.deduplication.keys import BandKeys
from neardup.deduplication.reading import Reader, as_compared
from neardup.deduplication.warming import Warming
from neardup.files.scratch import Disk, Scratch, Slabs
from neardup.io.source import Documents, Partition
from neardup.memory_plan import COMPILER, DOCUMENT, KEY, MemoryPlan, available_memory
from neardup.recipe import Recipe
from neardup.sketch.bands import advice_on_bands
from neardup.sketch.sketcher import Sketcher
from neardup.state.band_store import BandStore
from neardup.state.memory_store import MemoryStore
from neardup.state.shards import Shard, require_division, shards_of
from neardup.threads import Pool

#: Partitions that are stored at once, where their sketches have no more bytes.
_TOGETHER, _TOGETHER_BYTES = 8, 64 << 20
#: Words of 8 bytes of a sketch besides its keys.
_WORDS = 8
#: Bytes of metadata up to which it is not read from the store again.
_METADATA = 16 << 20
#: Memory from which on a second process has its part, whatever the input needs.
_FOR_TWO = 6 * COMPILER
#: Steps of the run state: an array each, and the other values, which come last.
_ARRAYS, _ANSWER = "arrays", "answer"
_NAMES = ("first", "duplicate_of", "similarity", "cluster", "how", "docs")
_VALUES = ("counts", "bucket_sizes", "candidates_by_band", "pairs_by_similarity")


@dataclass
class Outcome:
    """The answer of a run, and everything that its output is written from."""

    job: Job
    reader: Reader
    corpus: CorpusMetadata
    answer: RunAnswer
    recipe: Recipe
    ids: Ids
    order: np.ndarray | None  # see `document_order`
    store: dict[str, Any]  # where the band keys were, and its bytes
    scratch: Scratch
    threads: int | None = None  # that fit into the memory; None for all cores
    sketches: BandStore | None = None  # the store, open, where it is in memory
    locations: pa.Table | None = None  # ``file`` and ``row`` of each, where only a table has them

    def __getstate__(self) -> dict[str, Any]:
        # Listeners stay here.
        resources = replace(self.job.resources, progress=False)
        return {**vars(self), "job": replace(self.job, resources=resources, clock=Clock())}

    def numbers(self) -> np.ndarray:
        """Return int64[documents]: the number of each document, by position."""
        found = np.arange(self.corpus.documents)
        if self.order is not None:
            found[self.order] = np.arange(self.corpus.documents)
        return found


def run(job: Job, reader: Reader | None = None) -> Outcome:
    """Run a job; ``reader`` has gone through its source before."""
    with closing(Warming(job.spec)) as warming:
        return _run(job, reader or Reader(job.source), warming)


def _run(job: Job, reader: Reader, warming: Warming) -> Outcome:
    clock, store = job.clock, store_of(job)
    # Sketches in memory stay with the run, for another threshold.
    sketches = store if isinstance(store, MemoryStore) else None
    with store if sketches is None else nullcontext():
        # With memory for two processes, kernels are compiled while the input is looked at.
        if available_memory(job.resources.bytes) >= _FOR_TWO:
            warming.begin(aside=True)
        with clock.stage("begin"):
            beginning = begin(job, store, reader)
        recipe, plan = beginning.recipe, beginning.plan
        folder = None if job.state is None else job.state.folder
        scratch = scratch_of(job, store, plan, folder)
        # (A second process has private memory of its own.)
        warming.begin(aside=scratch.left > COMPILER)
        with Pool(plan.threads) as pool:
            documents, parts = sketch_all(job, store, reader, beginning, pool)
            # More than was estimated, or nothing was known of the size then.
            scratch.shrink(DOCUMENT * max(0, documents - plan.workload.documents))
            with clock.stage("metadata", documents):
                corpus = gather(parts, documents, scratch)
                if not documents:
                    corpus = corpus._replace(columns=no_rows(job))
                note_sizes(clock, corpus)
                ids = _ids(job, corpus)
                if job.resources.run is not None:
                    require_stored(corpus.columns, job.spec)
                    note_in_manifest(job, recipe)
                order = document_order(corpus.columns, job.spec)
                rank = keep_order(corpus.columns, documents, job.spec, order)
            job.source.check_unchanged()
            about_store = {"store": job.resources.public_store, "bytes": store.size()}
            answer = _answered(job, documents)
            if answer is None:
                keys = BandKeys(store, scratch)
                common = reader, scratch, pool, warming
                answer = Comparing(job, recipe, corpus, rank, keys, *common).run()
                _keep_answer(job, answer)
    return Outcome(
        job,
        reader,
        corpus,
        answer,
        recipe,
        joined_ids(ids, scratch),
        order,
        about_store,
        scratch,
        plan.threads,
        sketches,
    )


def scratch_of(job: Job, store: BandStore, plan: MemoryPlan, folder: Path | None) -> Scratch:
    """Return what makes the arrays of a run, whose files go to a folder; of a store in memory too.

    Fewer threads than were asked for are noted.
    """
    scratch = Scratch(plan.arrays, Disk(folder))
    if isinstance(store, MemoryStore):
        store.slabs = Slabs(scratch.empty)
    if plan.threads < plan.workload.threads:
        note = f"{plan.threads} of {plan.workload.threads} threads, as the memory allows"
        job.clock.emit(Event("begin", note=note))
    return scratch


def sketch_all(
    job: Job, store: BandStore, reader: Reader, beginning: Beginning, pool: Pool
) -> tuple[int, Iterator[PartitionMetadata]]:
    """Sketch all documents into a store; return how many there are, and the metadata of them.

    Raises:
        InputError: There are too many.
        SpecError: The memory does not suffice for as many.
    """
    parts = _Sketching(job, store, reader, beginning, pool).run()
    entries = store.partitions()
    documents = sum(entry.documents for entry in entries.values())
    check_documents(documents)
    if note := advice_on_bands(job.spec, documents):
        job.clock.emit(Event("read and sketch", note=note))

    def metadata() -> Iterator[PartitionMetadata]:
        if not parts:
            for number in entries:
                yield PartitionMetadata.unpack(store.metadata(number), store.url)
        while parts:
            yield parts.pop(0)

    return documents, metadata()


def note_sizes(clock: Clock, corpus: CorpusMetadata) -> None:
    """Note the bytes that were read, and those of the texts."""
    clock.sizes["read and sketch"] = sum(size for _, _, size in corpus.partitions)
    clock.sizes["text"] = corpus.text


class _Sketching:
    """The first pass: texts to sketches, partition by partition into the store."""

    def __init__(
        self, job: Job, store: BandStore, reader: Reader, beginning: Beginning, pool: Pool
    ) -> None:
        self._job, self._store, self._reader, self._pool = job, store, reader, pool
        self._head = beginning.head
        self._sketcher = Sketcher(beginning.recipe)
        # Bytes of documents that may still be cached.
        self._free = beginning.plan.cached if reader.caches else 0
        self._lock = threading.Lock()
        load = beginning.plan.workload
        self._check = beginning.plan.check_read
        self._small = load.rows * (load.num_bands + _WORDS) * KEY * _TOGETHER <= _TOGETHER_BYTES

    def run(self, shard: Shard | None = None) -> list[PartitionMetadata]:
        """Sketch the partitions that are not in the store yet.

        Returns the metadata of all partitions; none where it is large, or a part of it was in
        the store already.
        """
        job, store = self._job, self._store
        there = store.partitions()
        if job.resources.run is not None and shard is None:
            return []  # others have sketched it
        found: list[PartitionMetadata] = []
        total = size = 0
        read = sum(entry.documents for entry in there.values())
        with job.clock.stage("read and sketch", self._reader.total_bytes, "bytes") as advance:

            def items() -> Iterator[tuple[int, Partition, Documents | None]]:
                nonlocal total
                for number, partition, documents in self._partitions():
                    total = number + 1
                    if number in there or (shard is not None and not shard.has(number)):
                        advance(partition.size)
                    else:
                        if documents is None:
                            partition.ask()
                        yield number, partition, documents

            most = 0 if self._small else self._pool.threads + 1
            sketched = self._pool.ordered(lambda item: self._sketch(*item), items(), most)
            # To wait until a disk has each by itself would take longer than to sketch it.
            while batch := list(islice(sketched, _TOGETHER if self._small else 1)):
                with store.together():
                    for number, part, keys in batch:
                        store.put(number, keys, part.pack())
                for _, part, _ in batch:
                    size += part.table.nbytes
                    read += len(part.table)
                    found.append(part)
                    advance(part.size)
                if size > _METADATA:
                    found.clear()
                if shard is None:
                    self._check(read)
        if shard is not None:
            store.note(f"shard {shard}", json.dumps({"partitions": total}))
        return [] if there or shard is not None or size > _METADATA else found

    def _partitions(self) -> Iterator[tuple[int, Partition, Documents | None]]:
        """Yield all partitions once, the first ones with their documents, which were read."""
        head = self._head
        while head is not None and head.parts:
            yield head.parts.pop(0)
        for number, partition in self._reader.partitions() if head is None else head.rest:
            yield number, partition, None

    def _sketch(
        self, number: int, partition: Partition, documents: Documents | None
    ) -> tuple[int, PartitionMetadata, np.ndarray]:
        if documents is None:
            documents = partition.read(self._job.needed)
        size = documents.text.nbytes + documents.columns.nbytes
        with self._lock:  # looked at and subtracted in one step
            fits = size <= self._free
            self._free -= size if fits else 0
        if fits:
            self._reader.cached[number] = documents
        sketches = self._sketcher(as_compared(documents, self._sketcher.recipe.within))
        part = about_partition(self._job, partition, documents, sketches)
        return number, part, np.ascontiguousarray(sketches.keys.T)


def sketch_shard(job: Job, shard: Shard) -> dict[str, int]:
    """Put the sketches of one shard of a corpus into a store that several processes can reach.

    Partitions that are there already are not sketched again. Returns ``partitions`` and
    ``documents`` of this shard, and ``of``, the partitions of the corpus.
    """
    reader = Reader(job.source)
    with store_of(job) as store:
        beginning = begin(job, store, reader, shared=True)
        require_division(store, shard)
        with Pool(beginning.plan.threads) as pool:
            _Sketching(job, store, reader, beginning, pool).run(shard)
        job.source.check_unchanged()
        mine = [entry for n, entry in store.partitions().items() if shard.has(n)]
        return {
            "partitions": len(mine),
            "documents": sum(entry.documents for entry in mine),
            "of": shards_of(store)[shard],
        }


def _ids(job: Job, corpus: CorpusMetadata) -> Ids:
    """Return the users' ids, once they are known to be unique."""
    name = job.source.id_column
    if name is None:
        return None
    ids = id_array(corpus.columns.column(name), name)

    def describe(position: int) -> str:
        (file,), (row,) = corpus.records_of(np.array([position]))
        where = f"{job.source.files[file].path}: " if file >= 0 else ""
        return f"{where}record {row + 1}"

    check_ids(ids, name, describe, job.input.secret_ids)
    return ids


def _keep_answer(job: Job, answer: RunAnswer) -> None:
    state, edges = job.state, answer.edges
    if state is None:
        return
    arrays = [getattr(answer, name) for name in _NAMES]
    arrays += [] if edges is None else [edges.a, edges.b, edges.similarity]
    arrays += [] if answer.in_clusters is None else [answer.in_clusters]
    for number, array in enumerate(arrays):
        state.put(_ARRAYS, number, np.ascontiguousarray(array), array.dtype.str)
    state.put(_ANSWER, 0, about={name: getattr(answer, name) for name in _VALUES})


def _answered(job: Job, documents: int) -> RunAnswer | None:
    """Return the answer of an interrupted run, if it had one already."""
    state = job.state
    if state is None or not state.done(_ANSWER):
        return None
    about: Any = state.about(_ANSWER, 0)
    found = [
        np.frombuffer(state.get(_ARRAYS, number), str(state.about(_ARRAYS, number)))
        for number in sorted(state.done(_ARRAYS))
    ]
    arrays: dict[str, Any] = dict(zip(_NAMES, found, strict=False))
    more = found[len(_NAMES) :]
    in_clusters = more.pop().reshape(-1, 3) if job.spec.pairs == "count" else None
    edges = Edges(*more) if more else None
    job.clock.emit(Event("resolve", documents, documents, note="the answer was stored before"))
    return RunAnswer(**arrays, edges=edges, in_clusters=in_clusters, **about)
