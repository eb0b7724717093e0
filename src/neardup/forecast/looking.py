"""Look at as much of a source as some seconds allow; choose documents by their content."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.deduplication.beginning import Head
from neardup.deduplication.job import Job
from neardup.deduplication.reading import as_compared
from neardup.io.source import Partition, Source
from neardup.recipe import Recipe
from neardup.sketch.document_groups import group_values
from neardup.sketch.texts import text_buffers
from neardup.sketch.tokenising import Tokeniser
from neardup.threads import Pool
from neardup.tuning import TUNING

#: Formats that can be entered anywhere; others are read from their beginning.
_SPREAD = ("jsonl", "parquet", "arrow", "text", "frame")
#: Groups of partitions, each of them all over the source, after which the time is looked at.
_GROUPS = 16
#: Files that were read to their end from which on these are all over a source.
_MANY_FILES = 10
#: Documents by which kernels are loaded, before time counts.
_WARM = 64


class ReadPart(NamedTuple):
    """The documents of a partition, without their texts."""

    hashes: np.ndarray  # uint64[n]: of their tokens
    units: np.ndarray  # uint64[n]: their smallest shingles
    tokens: np.ndarray  # int32[n]; 0 for a document that is compared with none
    sizes: np.ndarray  # int64[n]: bytes
    empty: int
    columns: int  # bytes of ids and other columns
    size: int  # bytes of the file


@dataclass
class Looked:
    """A source, or the part of it that was read.

    Attributes:
        sample: ``all`` of it, parts from all over it (``spread``), or its beginning (``head``).
        share: The part of it, 0 to 1.
        scale: How much larger the source is; 1 where that is unknown.
        hashes, units, tokens, sizes: Of each document, see `ReadPart`.
        counts: Documents of each partition.
        empty: Documents without a token.
        columns: Bytes of ids and other columns.
        partition: Bytes of texts and columns in the largest partition; ``rows`` are its documents.
    """

    sample: str
    share: float
    scale: float
    hashes: np.ndarray
    units: np.ndarray
    tokens: np.ndarray
    sizes: np.ndarray
    counts: list[int]
    empty: int
    columns: int
    partition: int
    rows: int
    _again: Callable[[], Iterable[Partition]]

    @property
    def documents(self) -> int:
        return len(self.tokens)

    @property
    def text(self) -> int:
        return int(self.sizes.sum())

    @property
    def parts(self) -> np.ndarray:
        """int64[documents]: the number of the partition of each."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def seen(self) -> float:
        """The share that was read of the documents that a range is about."""
        return self.share if self.sample == "spread" else 1.0

    def different(self) -> np.ndarray:
        """Return the first of all documents with the same tokens, in an order by chance."""
        filled = np.flatnonzero(self.tokens)
        return filled[np.unique(self.hashes[filled], return_index=True)[1]]

    def table(self, job: Job, rows: np.ndarray) -> pa.Table:
        """Read some documents again, by position, ascending: ``text``, and their groups."""
        within = job.spec.within
        names = () if within is None else (within,)
        tables = [pa.table({name: pa.array([], pa.large_string()) for name in ("text", *names)})]
        starts = np.cumsum([0, *self.counts])
        bounds = np.searchsorted(rows, starts).tolist()

        def read(part: Partition, low: int, high: int, start: int, end: int) -> pa.Table:
            taken_rows = rows[low:high] - start
            if within is None:
                return pa.table({"text": part.texts(taken_rows, end - start)})
            found, taken = part.read(names), array_of(taken_rows)
            groups = group_values(found.columns.column(within), within).take(taken)
            return pa.table({"text": found.text.take(taken), within: groups})

        ends = starts[1:].tolist()
        spans = zip(self._again(), bounds, bounds[1:], starts.tolist(), ends, strict=False)
        taken_spans = (span for span in spans if span[2] > span[1])
        with Pool(job.resources.threads) as pool:
            tables += pool.ordered(lambda span: read(*span), taken_spans)
        return pa.concat_tables(tables).combine_chunks()


def _by_files(source: Source, counts: Mapping[int, int]) -> Iterator[Partition]:
    """Yield so many first partitions of some files, in the order of the input."""
    for file in sorted(counts):
        yield from itertools.islice(source.partitions(file), counts[file])


def look(job: Job, recipe: Recipe, head: Head, pool: Pool, at_once: int, most: int) -> Looked:
    """Read what can be read in some seconds: all of the source, or parts from all over it.

    Args:
        job: Of the run.
        recipe: How texts are compared.
        head: The first partitions.
        pool: Threads.
        at_once: Partitions that are read at once.
        most: After so many documents it ends.
    """
    source = job.source
    tokeniser = Tokeniser(recipe.shingle, grouped=recipe.within is not None)
    for _ in tokeniser.ranges(as_compared(head.read[0], recipe.within).slice(0, _WARM)):
        pass
    anywhere = source.format in _SPREAD and all(file.is_plain for file in source.files)
    small = (source.total_bytes or TUNING.small_source) < TUNING.small_source
    began, by_files = time.monotonic(), False
    every = list[tuple[Any, ReadPart, Partition | None]]()
    size = count = text = 0
    parts: Iterable[tuple[Any, Partition]]  # with what gives them the order of the input
    if not source.rereadable:
        parts = ((0, part) for _, part, *_ in itertools.chain[Any](head.parts, head.rest))
    elif anywhere or small:
        known = list(source.partitions())
        known = list(source.partitions())

        def fits() -> bool:
            times = len(known) / max(1, len(every))
            passed = time.monotonic() - began
            return bool(every) and passed * times < TUNING.looked_seconds and count * times < most

        parts = ((number, known[number]) for number in _everywhere(len(known), fits))
    else:
        order, by_files = np.random.default_rng(0).permutation(len(source.files)), True
        parts = ((file, part) for file in order.tolist() for part in source.partitions(file))

    def read(item: tuple[Any, Partition]) -> tuple[Any, ReadPart, Partition | None]:
        # What comes out of a file step by step does not stay in memory.
        return item[0], _part(item[1], job, tokeniser), None if by_files else item[1]

    counted = _Counted(parts)
    for one in pool.ordered(read, counted, at_once):
        every.append(one)
        part = one[1]
        size, count = size + part.size, count + len(part.tokens)
        text += int(part.sizes.sum())
        late = time.monotonic() - began > TUNING.looked_seconds
        if late or count >= most or (not source.rereadable and text >= TUNING.sampled_text):
            break
    complete = counted.ended and len(every) == counted.number
    share = 1.0 if complete else min(1.0, size / (source.total_bytes or math.inf))
    every.sort(key=lambda one: one[0])
    found = [part for _, part, _ in every]
    files = Counter(number for number, *_ in every)
    spread = source.rereadable and (not by_files or len(files) > _MANY_FILES)
    again = [part for *_, part in every if part is not None]
    largest = max(found, key=lambda of: of.sizes.sum() + of.columns)
    return Looked(
        "all" if complete else "spread" if spread else "head",
        share,
        1.0 if complete or not share else 1 / share,
        np.concatenate([of.hashes for of in found]),
        np.concatenate([of.units for of in found]),
        np.concatenate([of.tokens for of in found]),
        np.concatenate([of.sizes for of in found]),
        [len(of.tokens) for of in found],
        sum(of.empty for of in found),
        sum(of.columns for of in found),
        int(largest.sizes.sum()) + largest.columns,
        max(len(of.tokens) for of in found),
        functools.partial(_by_files, source, files) if by_files else lambda: again,
    )


class _Counted:
    """Items of an iterator: how many there were, and whether it has ended."""

    def __init__(self, items: Iterable[tuple[Any, Partition]]) -> None:
        self._items, self.number, self.ended = items, 0, False

    def __iter__(self) -> Iterator[tuple[Any, Partition]]:
        for item in self._items:
            self.number += 1
            yield item
        self.ended = True


def _everywhere(number: int, fits: Callable[[], bool]) -> Iterator[int]:
    """Yield the numbers of partitions, some at a time, which ascend, from all over the source.

    All the rest ascends, too, once it fits: slices of a row group are decoded one after another.
    """
    order = np.random.default_rng(0).permutation(number)
    done, step = 0, -(-number // _GROUPS)
    while done < number:
        last = number if fits() else done + step
        yield from np.sort(order[done:last]).tolist()
        done = last


def _part(partition: Partition, job: Job, tokeniser: Tokeniser) -> ReadPart:
    documents = partition.read(job.needed)
    text = as_compared(documents, job.spec.within)
    number = len(text)
    hashes, units = np.zeros((number, 2), np.uint64), np.zeros(number, np.uint64)
    tokens, without = np.zeros(number, np.int32), 0
    for rows, found, groups in tokeniser.ranges(text):
        tokens[rows] = found.offsets[1:] - found.offsets[:-1]
        values, offsets = tokeniser.shingles(found, hashes[rows])
        filled = np.flatnonzero(offsets[1:] > offsets[:-1])
        if len(filled):
            smallest = np.minimum.reduceat(values, offsets[filled])
            units[rows.start + filled] = smallest
        if groups is not None:
            hashes[rows] ^= groups[:, None]
            units[rows] ^= groups
            without += int(np.count_nonzero(groups == 0))
    sizes = np.diff(text_buffers(documents.text)[1])
    empty = int(np.count_nonzero(tokens == 0)) - without
    about = empty, documents.columns.nbytes, partition.size
    return ReadPart(hashes[:, 0].copy(), units, tokens, sizes, *about)
