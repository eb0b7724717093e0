"""How a run begins: anew, where it was interrupted, or from what was signed beforehand."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from neardup.core.threads import Pool
from neardup.core.tune import Bands
from neardup.errors import StoreError
from neardup.run.difference import difference
from neardup.run.events import Event
from neardup.run.job import Job, guess, header_of, open_run_store
from neardup.run.memory import HELD, default_memory, show
from neardup.run.parts import Recipe, choose, require_documents
from neardup.run.planning import foresee_run
from neardup.run.sampling import Headed
from neardup.run.signing import Head, finished_parts, note_shard, sign_parts
from neardup.run.source import Source
from neardup.run.storage import Shard, Storage
from neardup.stores import BandStore, Header, open_store

__all__ = ["Start", "begin", "drop_store", "sign", "signed_run"]


@dataclass(frozen=True)
class Start:
    """What a run begins with, or goes on with."""

    recipe: Recipe
    part_chunks: int
    store: BandStore
    head: Head | None
    #: Bytes of documents that are held in memory; the others are read again when they are needed.
    held: int = 0


def begin(job: Job, source: Source, pool: Pool) -> Start:
    """Begin a run, go on with one that was interrupted, or with one that was signed beforehand."""
    folder, storage = job.folder, job.storage
    if folder is not None and folder.begun:
        folder.compare(job.manifest())
        about = folder.manifest
        job.origin = about["origin"]
        job.predicted = about["predicted"]
        bands = about["bands"] and Bands(*about["bands"])
        recipe = Recipe.of(job.spec, bands, job.columns)
        part_chunks = about["part_chunks"]
        # A store that was named is taken as it is named now, with user and password.
        url = about["resolved_store"] if storage.store == "auto" else storage.store
        room = (storage.memory or default_memory()) - about["least"]
        store = open_run_store(job, url, folder, max(0, room) // 2)
        if storage.name is None and folder.count("sign") == 0:
            _create_or_open(store, header_of(job, recipe, part_chunks))  # killed before any note
        else:
            store.open(about["header"])
        if job.prepare is not None:
            job.prepare()
        return Start(recipe, part_chunks, store, None)
    if storage.name is not None:
        store = open_run_store(job, storage.store, None, None)
        about = store.open().about
        bands = about["bands"] and Bands(*about["bands"])
        recipe = Recipe.of(job.spec, bands, job.columns)
        header = header_of(job, recipe, about["part_chunks"])
        found = difference(json.loads(json.dumps(header.about)), about)
        if found:
            raise StoreError(
                f"run {storage.name}: {found}",
                "give the input and settings that it was signed with",
            )
        finished_parts(store)
        if job.prepare is not None:
            job.prepare()
        if job.foreseen:
            first = Headed(*Head(source, pool).sample())
            plan = guess(
                job, list(first.documents), first.size, first.whole, bands, pool.threads, True
            )
            job.predicted = foresee_run(job, recipe, first, plan, pool)
        if folder is not None:
            folder.begin(_manifest(job, recipe, about["part_chunks"], storage.public_store, header))
        return Start(recipe, about["part_chunks"], store, None)
    head = Head(source, pool)
    if job.prepare is not None:
        job.prepare()
    documents, size, whole = head.sample()
    bands = None if job.edges is not None else choose(job.spec, documents, pool)
    recipe = Recipe.of(job.spec, bands, job.columns)
    count = sum(len(d.text) for d in documents)
    require_documents(count, [file.path for file in job.corpus.inputs])
    plan = guess(job, documents, size, whole, bands, pool.threads, folder is not None)
    plan.check()
    if plan.needed > plan.memory:
        job.stages.emit(
            Event(
                "read and sign",
                note=f"about {show(plan.needed)} would be needed to hold everything in memory, and "
                f"{show(plan.memory)} may be used; the band matrix goes to "
                + ("files" if plan.store == "memory" else plan.store),
            )
        )
    if job.foreseen and job.origin is None:
        job.predicted = foresee_run(job, recipe, Headed(documents, size, whole), plan, pool)
    documents.clear()
    part_chunks = job.part_chunks(count, size)
    header = header_of(job, recipe, part_chunks)
    if folder is not None:
        folder.begin(_manifest(job, recipe, part_chunks, plan.store, header, plan.least))
    # The other half is for the arrays of the run.
    url = plan.store if storage.store == "auto" else storage.store
    store = open_run_store(job, url, folder, (plan.memory - plan.least) // 2)
    _create_anew(store, header)
    fits = plan.store == "memory" and plan.needed <= plan.memory
    return Start(recipe, part_chunks, store, head, HELD if fits else 0)


def _manifest(
    job: Job, recipe: Recipe, part_chunks: int, store: str, header: Header, least: int = 0
) -> dict[str, Any]:
    """What is written down when a run begins."""
    return {
        **job.manifest(),
        "digest": job.spec.digest,
        "bands": recipe.bands and list(recipe.bands),
        "part_chunks": part_chunks,
        "resolved_store": store,
        "run_name": job.run_name,
        "header": header.digest,
        "origin": job.origin,
        "predicted": job.predicted,
        "least": least,
    }


def sign(job: Job, shard: Shard) -> dict[str, int]:
    """Put one shard of a corpus into a store that several processes can reach.

    Parts that are there already are not made again.

    Args:
        job: Its storage has the name of the run.
        shard: Which share of the parts is done here.

    Returns:
        Parts and documents of this shard, and parts of the corpus, by name.

    Raises:
        InputError: The input can't be used; its leaves say why.
        StoreError: The store can't be used, or has a run of that name for something else.
    """
    source = Source(job.corpus)
    with Pool(job.threads) as pool:
        head = Head(source, pool)
        if job.prepare is not None:
            job.prepare()
        documents, size, _ = head.sample()
        count = sum(len(d.text) for d in documents)
        require_documents(count, [file.path for file in job.corpus.inputs])
        recipe = Recipe.of(job.spec, choose(job.spec, documents, pool), job.columns)
        part_chunks = job.part_chunks(count, size)
        header = header_of(job, recipe, part_chunks)
        with open_run_store(job, job.storage.store, None, None) as store:
            _create_or_open(store, header)
            there = store.parts()
            with job.stages.stage("read and sign", job.corpus.total_bytes, "bytes") as advance:
                parts = sign_parts(
                    head.chunks(),
                    recipe,
                    store,
                    part_chunks,
                    lambda part: shard.has(part) and part not in there,
                    pool,
                    lambda *_: None,
                    advance,
                    lambda _: None,
                )
            job.corpus.check_unchanged()
            note_shard(store, shard, parts)
            mine = {part: entry for part, entry in store.parts().items() if shard.has(part)}
            return {
                "parts": len(mine),
                "documents": sum(entry.documents for entry in mine.values()),
                "of": parts,
            }


def _create_or_open(store: BandStore, header: Header) -> None:
    """Several processes may begin one run: the first makes it, the others join."""
    try:
        store.create(header)
    except StoreError as error:
        try:
            store.open(header.digest)
        except StoreError as other:
            found = difference(json.loads(json.dumps(header.about)), store.open().about)
            if not found:
                raise other from error
            raise StoreError(
                f"{store.url}: this run was begun otherwise: {found}",
                "give the same input and settings to each shard, or another name to --run",
            ) from error


def _create_anew(store: BandStore, header: Header) -> None:
    """Begin a band matrix; one of the same run that was given up makes room for it."""
    try:
        store.open(header.digest)
    except StoreError:
        pass  # there is none; or it is another's, which is not touched: creating will refuse
    else:
        store.drop()
    store.create(header)


def signed_run(storage: Storage) -> dict[str, Any]:
    """Return what a named run was signed with: spec, inputs, and how they are read.

    Raises:
        StoreError: There is no run of that name.
    """
    with open_store(storage.store, design=storage.design, run=storage.name or "") as store:
        return store.open().about


def drop_store(job: Job) -> None:
    """Remove what a run left in a store outside its folder; what is another's stays."""
    with open_run_store(job, job.storage.store, None, None) as store, suppress(StoreError):
        if store.open().about.get("run") == job.run_name:
            store.drop()
