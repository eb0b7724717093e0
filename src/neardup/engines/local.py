"""One machine: a source to an answer, with threads, bounded memory, and what survives a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from neardup.cluster.edges import Edges
from neardup.engines.beginning import (
    Beginning,
    Head,
    begin,
    choose_recipe,
    join_shared,
    no_documents,
)
from neardup.engines.clock import Event
from neardup.engines.comparing import Answer, Comparing
from neardup.engines.identifiers import Ids, check_ids, id_array
from neardup.engines.job import Job, Shard
from neardup.engines.memory import DOCUMENT, Scratch
from neardup.engines.metadata import (
    Corpus,
    Needs,
    PartitionMetadata,
    about_partition,
    gather,
    pack,
    unpack,
)
from neardup.engines.ordering import document_order, keep_order, require_stored
from neardup.engines.reading import Reader
from neardup.engines.warming import Warming
from neardup.errors import InputError, StoreError
from neardup.io.source import Documents, Partition
from neardup.recipe import Recipe
from neardup.sketch.sketcher import Sketcher
from neardup.state.band_store import BandStore, Entry
from neardup.threads import Pool

_ANSWER, _EDGES = "answer", "edges"
_ARRAYS = {
    "first": np.int32,
    "duplicate_of": np.int32,
    "similarity": np.float64,
    "cluster": np.int32,
    "docs": np.int32,
}


@dataclass
class Outcome:
    """What a run found, and what it takes to write it down.

    Attributes:
        job: What was asked for.
        reader: Of the source.
        corpus: The documents.
        answer: What was found.
        recipe: How band keys were made.
        ids: The users' ids.
        order: int64[documents]: positions in the order of the documents; None for that of the
            input.
        store: Where the band keys were, its layout, and its bytes.
        scratch: Where large arrays go.
    """

    job: Job
    reader: Reader
    corpus: Corpus
    answer: Answer
    recipe: Recipe
    ids: Ids
    order: np.ndarray | None
    store: dict[str, Any]
    scratch: Scratch

    def numbers(self) -> np.ndarray:
        """Return int64[documents]: the number of each document, by position."""
        if self.order is None:
            return np.arange(self.corpus.documents)
        found = np.empty(self.corpus.documents, dtype=np.int64)
        found[self.order] = np.arange(self.corpus.documents)
        return found


def run(job: Job) -> Outcome:
    """Find near-duplicates and decide what is kept.

    Raises:
        InputError: The input can't be used; its subclasses say why.
        SpecError: It can't be done in the memory given.
        ResumeError: The run folder holds another run, or is damaged.
        StoreError: The store can't be used.
        OutputError: The disk is full.
    """
    reader = Reader(job.source)
    warming = Warming(job.spec, job.clock)
    try:
        return _run(job, reader, warming)
    finally:
        warming.stop()


def _run(job: Job, reader: Reader, warming: Warming) -> Outcome:
    clock = job.clock
    with Pool(job.resources.threads) as pool:
        with clock.stage("choose bands"):
            beginning = begin(job, reader, pool)
        recipe = beginning.recipe
        with beginning.store as store:
            parts = _Sketching(job, reader, recipe, store, pool).run(beginning)
            entries = store.partitions()
            documents = sum(entry.documents for entry in entries.values())
            if documents == 0:
                raise no_documents(job)
            if documents >= 2**31:
                raise InputError(
                    f"the input holds {documents:,} documents; a run takes at most {2**31 - 1:,}"
                )
            plan = beginning.plan
            arrays = plan.arrays
            if beginning.head is None:  # nothing was known of the size then
                arrays = max(0, arrays - DOCUMENT * documents)
            scratch = Scratch(arrays, None if job.state is None else job.state.folder)
            with clock.stage("metadata", documents):
                corpus = gather(parts or _stored(store, entries), documents, scratch)
                clock.sizes["read and sketch"] = sum(size for _, _, size in corpus.places)
                clock.sizes["text"] = corpus.text
                ids = _ids(job, corpus)
                if job.resources.run is not None:
                    _require_stored(job, corpus)
                order = document_order(corpus, job.spec)
                rank = keep_order(corpus, job.spec, order)
            job.source.check_unchanged()
            stored = {
                "store": job.resources.public_store,
                "layout": store.layout,
                "bytes": store.size(),
            }
            answer = _answered(job, documents)
            if answer is None:
                with clock.stage("compile"):
                    warming.finish()
                keys = _Keys(store, entries, documents, scratch)
                answer = Comparing(
                    job.spec,
                    recipe,
                    corpus,
                    rank,
                    keys.band,
                    reader,
                    scratch,
                    pool,
                    clock,
                    job.state,
                ).run()
                _keep_answer(job, answer)
    return Outcome(job, reader, corpus, answer, recipe, ids, order, stored, scratch)


class _Sketching:
    """The first pass: texts to sketches, partition by partition into the store."""

    def __init__(
        self, job: Job, reader: Reader, recipe: Recipe, store: BandStore, pool: Pool
    ) -> None:
        self._job, self._reader, self._recipe = job, reader, recipe
        self._store, self._pool = store, pool
        self._sketcher = Sketcher(recipe)
        # The columns of JSON lines have to be known before the first is written in another format.
        converted = job.output.get("format") not in (None, "jsonl")
        self._needs = Needs(
            job.wanted,
            job.spec.keep == "longest",
            converted and job.source.format in ("jsonl", "mixed"),
        )
        self._room = 0

    def run(self, beginning: Beginning, shard: Shard | None = None) -> list[PartitionMetadata]:
        """Sketch what is not in the store yet.

        Returns:
            The metadata of all partitions; empty where some of it was in the store already.
        """
        job, store = self._job, self._store
        there = store.partitions()
        if job.resources.run is not None and shard is None:
            return []  # others have sketched it
        head = beginning.head
        self._room = beginning.plan.held if job.source.format != "text" else 0
        found: list[PartitionMetadata] = []
        total = 0
        with job.clock.stage("read and sketch", job.source.total_bytes, "bytes") as advance:

            def items() -> Iterator[tuple[int, Partition, Documents | None]]:
                nonlocal total
                for number, partition, documents in _all(head, self._reader):
                    total = number + 1
                    if number in there or (shard is not None and not shard.has(number)):
                        advance(partition.size)
                    else:
                        yield number, partition, documents

            for number, part, keys in self._pool.ordered(lambda item: self._sketch(*item), items()):
                store.put(number, keys, pack(part))
                found.append(part)
                advance(part.size)
            store.flush()
        if shard is not None:
            store.note(f"shard {shard}", json.dumps({"partitions": total}))
        return [] if there or shard is not None else found

    def _sketch(
        self, number: int, partition: Partition, documents: Documents | None
    ) -> tuple[int, PartitionMetadata, np.ndarray]:
        job = self._job
        if documents is None:
            documents = partition.read(job.wanted)
        if self._room > 0:
            self._room -= documents.text.nbytes + documents.columns.nbytes
            self._reader.held[number] = documents
        sketches = self._sketcher(documents.text)
        part = about_partition(partition, documents, sketches, self._needs)
        return number, part, np.ascontiguousarray(sketches.keys.T)


def _all(head: Head | None, reader: Reader) -> Iterator[tuple[int, Partition, Documents | None]]:
    """Yield all partitions, the first ones with what was read of them; once."""
    if head is None:
        for number, partition in reader.partitions():
            yield number, partition, None
        return
    while head.parts:
        yield head.parts.pop(0)
    for number, partition in head.rest:
        yield number, partition, None


def sketch_shard(job: Job, shard: Shard) -> dict[str, int]:
    """Put the sketches of one shard of a corpus into a store that several processes can reach.

    Partitions that are there already are not sketched again.

    Returns:
        ``partitions`` and ``documents`` of this shard, and ``of``, the partitions of the corpus.

    Raises:
        InputError: The input can't be used; its subclasses say why.
        StoreError: The store can't be used, or has a run of that name for something else.
    """
    reader = Reader(job.source)
    with Pool(job.resources.threads) as pool:
        head = Head.read(reader, job.wanted)
        recipe = choose_recipe(job, head)
        store, plan = join_shared(job, head, recipe, pool.threads)
        with store:
            beginning = Beginning(recipe, plan, store, head)
            _Sketching(job, reader, recipe, store, pool).run(beginning, shard)
            job.source.check_unchanged()
            mine = {n: entry for n, entry in store.partitions().items() if shard.has(n)}
            about = json.loads(store.notes()[f"shard {shard}"])
            return {
                "partitions": len(mine),
                "documents": sum(entry.documents for entry in mine.values()),
                "of": about["partitions"],
            }


def _stored(store: BandStore, entries: dict[int, Entry]) -> Iterator[PartitionMetadata]:
    for number in sorted(entries):
        yield unpack(store.metadata(number), store.url)


class _Keys:
    """Band keys of all documents, from memory where they fit.

    Args:
        store: Where they are.
        entries: Its partitions.
        documents: Of all partitions.
        scratch: Where they are kept, while there is room in memory.
    """

    def __init__(
        self, store: BandStore, entries: dict[int, Entry], documents: int, scratch: Scratch
    ) -> None:
        self._store, self._documents, self._scratch = store, documents, scratch
        sizes = [entries[number].documents for number in sorted(entries)]
        self._ends = np.cumsum(sizes)
        self._held: dict[int, np.ndarray] = {}

    def band(self, band: int) -> np.ndarray:
        """Return uint64[documents]: the keys of a band."""
        if band in self._held:
            return self._held[band]
        hold = self._scratch.fits(4 * 8 * self._documents)  # and leaves room for others
        keys = (self._scratch.empty if hold else np.empty)(self._documents, np.uint64)
        for number, part in self._store.band(band):
            end = int(self._ends[number])
            keys[end - len(part) : end] = part
        if hold:
            self._held[band] = keys
        return keys


def _require_stored(job: Job, corpus: Corpus) -> None:
    """Refuse sketches of others that lack what the documents are ordered by."""
    try:
        require_stored(corpus, job.spec)
    except StoreError:
        if job.state is not None:
            job.state.manifest = {}  # there is nothing to resume
        raise


def _ids(job: Job, corpus: Corpus) -> Ids:
    """Return the users' ids, once they are known to be unique."""
    name = job.source.id_column
    if name is None:
        return None
    ids = id_array(corpus.columns.column(name), name)

    def place(position: int) -> str:
        file, row = corpus.place(position)
        where = f"{job.source.files[file].path}: " if file >= 0 else ""
        return f"{where}record {row + 1}"

    check_ids(ids, name, place, job.secret_ids)
    return ids


def _keep_answer(job: Job, answer: Answer) -> None:
    """Store what was found, and give up what it was made of, unless that is to be kept."""
    if job.state is None:
        return
    edges = answer.edges
    if edges is not None:
        for number, column in enumerate((edges.a, edges.b, edges.similarity)):
            job.state.put(_EDGES, number, np.ascontiguousarray(column).data.cast("B"))
    about = asdict(answer) if edges is None else {**vars(answer)}
    about = {
        name: about[name] for name in ("counts", "bucket_sizes", "candidates_by_band", "quality")
    }
    about["edges"] = edges is not None
    arrays = [np.ascontiguousarray(getattr(answer, name)) for name in _ARRAYS]
    about["sizes"] = [len(array) for array in arrays]
    job.state.put(_ANSWER, 0, [array.data.cast("B") for array in arrays], about)
    if not job.resources.keep_run:
        job.state.discard("sets")


def _answered(job: Job, documents: int) -> Answer | None:
    """Return what an interrupted run has found already, if it has."""
    if job.state is None or 0 not in job.state.done(_ANSWER):
        return None
    about: Any = job.state.about(_ANSWER, 0)
    data = job.state.get(_ANSWER, 0)
    found: dict[str, Any] = {}
    start = 0
    for (name, dtype), size in zip(_ARRAYS.items(), about.pop("sizes"), strict=True):
        end = start + size * np.dtype(dtype).itemsize
        found[name] = np.frombuffer(data[start:end], dtype=dtype)
        start = end
    edges = None
    if about.pop("edges"):
        columns = [
            np.frombuffer(job.state.get(_EDGES, number), dtype=dtype)
            for number, dtype in enumerate((np.int32, np.int32, np.float64))
        ]
        edges = Edges(*columns)
    job.clock.emit(Event("resolve", documents, documents, note="the answer was stored before"))
    return Answer(**found, edges=edges, **about)
