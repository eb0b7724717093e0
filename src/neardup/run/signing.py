"""Documents to band keys, part by part into the store."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import numpy as np

from neardup.core.threads import Pool
from neardup.corpus import Chunk, Documents
from neardup.errors import StoreError
from neardup.run.facts import ChunkFacts, pack
from neardup.run.parts import SAMPLE, Recipe, sign_chunk
from neardup.run.source import Source
from neardup.run.storage import Shard
from neardup.stores import BandStore

__all__ = ["Head", "finished_parts", "note_shard", "sign_parts"]

#: Bytes of the source that are read while the kernels are loaded.
_EARLY = 32 << 20


class Head:
    """The first chunks of a corpus: read while the kernels are loaded, and looked at for a sample.

    Args:
        source: The corpus; what is taken here is not cut again.
        pool: Threads that read.
    """

    def __init__(self, source: Source, pool: Pool) -> None:
        self._chunks = source.chunks()
        self._early: deque[tuple[int, Chunk, Future[Documents]]] = deque()
        size = 0
        while size < _EARLY and len(self._early) < 64:
            item = next(self._chunks, None)
            if item is None:
                break
            self._early.append((*item, pool.submit(item[1].read)))
            size += item[1].size

    def sample(self) -> tuple[list[Documents], int, bool]:
        """Return (chunks that hold `SAMPLE` documents, their bytes, whether that is all)."""
        found: list[Documents] = []
        count = size = 0
        for _, chunk, future in self._early:
            found.append(future.result())
            size += chunk.size
            count += len(found[-1].text)
            if count >= SAMPLE:
                return found, size, False
        while count < SAMPLE and (item := next(self._chunks, None)) is not None:
            number, chunk = item
            found.append(chunk.read())
            size += chunk.size
            count += len(found[-1].text)
            done: Future[Documents] = Future()
            done.set_result(found[-1])
            self._early.append((number, chunk, done))
        return found, size, count < SAMPLE

    def chunks(self) -> Iterator[tuple[int, Chunk, Future[Documents] | None]]:
        """Yield all chunks, the first ones with what is read of them; once."""
        while self._early:
            yield self._early.popleft()
        for number, chunk in self._chunks:
            yield number, chunk, None


def sign_parts(
    chunks: Iterator[tuple[int, Chunk, Future[Documents] | None]],
    recipe: Recipe,
    store: BandStore,
    part_chunks: int,
    wanted: Callable[[int], bool],
    pool: Pool,
    hold: Callable[[int, Chunk, Documents, ChunkFacts], None],
    advance: Callable[[int], None],
    stored: Callable[[int], None],
) -> int:
    """Put the parts of a corpus into a store.

    Args:
        chunks: Number, chunk, and what is read of it already.
        recipe: What documents become.
        store: Where they go.
        part_chunks: Successive chunks that make up a part.
        wanted: Whether a part is to be done; the others are passed over.
        pool: Threads.
        hold: Called with the documents of each chunk, for who wants to keep them.
        advance: Told the bytes that are done, or passed over.
        stored: Called with each part that is in the store.

    Returns:
        Number of parts of the corpus.
    """
    total = 0

    def items() -> Iterator[tuple[int, Chunk, Future[Documents] | None]]:
        nonlocal total
        for number, chunk, future in chunks:
            total = number // part_chunks + 1
            if wanted(number // part_chunks):
                yield number, chunk, future
            else:
                advance(chunk.size)

    def work(
        item: tuple[int, Chunk, Future[Documents] | None],
    ) -> tuple[int, ChunkFacts, np.ndarray]:
        number, chunk, future = item
        # A chunk that was begun early was begun before this, so that waiting for it can't block.
        documents = chunk.read() if future is None else future.result()
        facts, keys = sign_chunk(chunk.size, documents, recipe)
        hold(number, chunk, documents, facts)
        return number, facts, keys

    waiting: list[tuple[ChunkFacts, np.ndarray]] = []
    part = -1

    def put() -> None:
        if waiting:
            facts, keys = zip(*waiting, strict=True)
            store.put(part, np.concatenate(keys, axis=1), pack(facts))
            stored(part)
            waiting.clear()

    # A crash costs the parts that are under way: not more than one for each thread.
    ahead = min(2 * pool.threads, part_chunks * pool.threads - 1)
    for number, facts, keys in pool.ordered(work, items(), ahead):
        if number // part_chunks != part:
            put()
            part = number // part_chunks
        waiting.append((facts, keys))
        advance(facts.size)
        if (number + 1) % part_chunks == 0:
            put()
    put()
    return total


def note_shard(store: BandStore, shard: Shard, parts: int) -> None:
    """Say in the store that a shard is complete.

    Args:
        parts: Number of parts of the whole corpus.
    """
    store.note(f"shard {shard}", json.dumps({"parts": parts}))


def finished_parts(store: BandStore) -> int:
    """Return the number of parts of a corpus that was signed beforehand.

    Raises:
        StoreError: A shard is missing; the message says which.
    """
    shards: dict[int, dict[int, int]] = {}
    for name, text in store.notes().items():
        if name.startswith("shard "):
            shard = Shard.parse(name.removeprefix("shard "))
            shards.setdefault(shard.of, {})[shard.number] = json.loads(text)["parts"]
    if not shards:
        raise StoreError(
            f"{store.url}: no shard of this run is complete", "wait for neardup sign to end"
        )
    # Shards of one number, all of them, make a corpus; others may be left from an earlier try.
    for of, found in shards.items():
        if len(found) == of:
            parts = max(found.values())
            missing = [p for p in range(parts) if p not in store.parts()]
            if missing:
                raise StoreError(f"{store.url}: part {missing[0]} is missing", "sign it again")
            return parts
    of, found = max(shards.items(), key=lambda item: len(item[1]))
    missing_shards = [f"{i}/{of}" for i in range(1, of + 1) if i not in found]
    raise StoreError(
        f"{store.url}: shard {', '.join(missing_shards)} is missing",
        "sign it with neardup sign --shard, then try again",
    )
