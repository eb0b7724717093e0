"""The chain of stages over two processes, each of which gets some of the batches."""

from __future__ import annotations

import importlib
import multiprocessing
import random
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from neardup import Recipe
from neardup.arrays import numbers, words
from neardup.sketch.texts import Ragged
from neardup.spark.stages.batches import ragged

Batches = list[pa.RecordBatch]


def call(module: str, name: str, inputs: list[Batches], settings: dict[str, Any]) -> Batches:
    """Call a stage in another process; all that it needs was pickled."""
    stage = getattr(importlib.import_module(f"neardup.spark.stages.{module}"), name)
    return list(stage(*inputs, **settings))


@dataclass
class Chain:
    """Two processes, and the batches that go from one stage to the next in any order.

    Attributes:
        recipe: How.
        chance: Shuffles batches and rows.
    """

    recipe: Recipe
    chance: random.Random
    _pool: ProcessPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(2, spawn)

    def close(self) -> None:
        self._pool.shutdown()

    def each(
        self, module: str, name: str, halves: Iterable[list[Batches]], **settings: Any
    ) -> Batches:
        """Call a stage in both processes; return all batches in any order."""
        pending = [self._pool.submit(call, module, name, half, settings) for half in halves]
        found = [batch for future in pending for batch in future.result()]
        self.chance.shuffle(found)
        return found

    def shuffled(self, batches: Batches) -> Batches:
        """The same rows in other batches and in another order."""
        rows = pa.Table.from_batches(batches)
        order = list(range(rows.num_rows))
        self.chance.shuffle(order)
        rows = rows.take(pa.array(order, pa.int64())).combine_chunks()
        out: list[Batches] = []
        low = 0
        while low < len(order):
            high = low + self.chance.randint(1, 1 + len(order) // 5)
            out.append(rows.slice(low, high - low).to_batches())
            low = high
        found = [batch for part in out for batch in part]
        return found or batches[:1]

    def split(
        self, batches: Batches, side: Callable[[pa.RecordBatch], np.ndarray]
    ) -> tuple[Batches, Batches]:
        """Rows for the one process and for the other, by a number for each row."""
        mixed = self.shuffled(batches)
        sides = [side(batch) % 2 == 1 for batch in mixed]
        one = [b.filter(pa.array(s)) for b, s in zip(mixed, sides, strict=True)]
        two = [b.filter(pa.array(~s)) for b, s in zip(mixed, sides, strict=True)]
        return one, two

    def sketches(self, texts: Batches) -> Batches:
        mixed = self.shuffled(texts)
        halves = [[mixed[0::2]], [mixed[1::2]]]
        return self.each("sketch_stage", "sketch", halves, recipe=self.recipe)

    def firsts(self, sketches: Batches) -> dict[int, int]:
        """The document that stands for each one; equal hashes go to one process."""
        filled = [b.filter(pa.compute.greater(b.column("tokens"), 0)) for b in sketches]
        rows = [b.select(["doc", "hash"]) for b in filled]
        halves = self.split(rows, lambda b: words(b.column("hash"))[:, 0] >> np.uint64(7))
        found = self.each("bucket_stage", "exact", [[half] for half in halves])
        table = pa.Table.from_batches(found)
        return dict(zip(table["doc"].to_pylist(), table["first"].to_pylist(), strict=True))

    def buckets(self, sketches: Batches, chosen: set[int]) -> Batches:
        """Equal keys of a band go to one process."""
        kept = [b.filter(pa.array([d in chosen for d in b["doc"].to_pylist()])) for b in sketches]
        rows = self.each("bucket_stage", "band_rows", [[kept[0::2]], [kept[1::2]]])
        halves = self.split(
            rows, lambda b: numbers(b.column("key")) + numbers(b.column("band")).astype(np.uint64)
        )
        return self.each("bucket_stage", "bucket", [[half] for half in halves])

    def sets(self, texts: Batches, chosen: set[int]) -> Batches:
        kept = [b.filter(pa.array([d in chosen for d in b["doc"].to_pylist()])) for b in texts]
        mixed = self.shuffled(kept)
        halves = [[mixed[0::2]], [mixed[1::2]]]
        return self.each("sketch_stage", "sets", halves, recipe=self.recipe)

    def by_component(self, pairs: Iterable[tuple[int, int]]) -> Callable[[np.ndarray], np.ndarray]:
        """A number for documents: the same for all that are connected."""
        label: dict[int, int] = {}

        def find(x: int) -> int:
            while label.setdefault(x, x) != x:
                x = label[x]
            return x

        for a, b in pairs:
            x, y = find(a), find(b)
            label[max(x, y)] = min(x, y)
        return lambda docs: np.array([find(int(d)) for d in docs], dtype=np.int64)

    def per_component(
        self, module: str, name: str, links: Batches, sets: Batches, **settings: Any
    ) -> Batches:
        """Call a stage of buckets (or edges) and sets for whole components in each process."""
        column = "docs" if "docs" in links[0].schema.names else "a"
        pairs: list[tuple[int, int]] = []
        for batch in links:
            if column == "a":
                pairs += zip(batch["a"].to_pylist(), batch["b"].to_pylist(), strict=True)
            else:
                pairs += [(docs[0], d) for docs in batch["docs"].to_pylist() for d in docs]
        number = self.by_component(pairs)

        def side(batch: pa.RecordBatch) -> np.ndarray:
            if column == "a":
                return number(numbers(batch.column("a")))
            lists: Ragged = ragged(batch.column("docs"))
            return number(lists.values[lists.offsets[:-1]])

        of_links = self.split(links, side)
        of_sets = self.split(sets, lambda b: number(numbers(b.column("doc"))))
        halves = [[one, two] for one, two in zip(of_links, of_sets, strict=True)]
        return self.each(module, name, halves, **settings)
