"""How fast this machine does what a run does: measured in a moment, on documents of the corpus."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.core.band import buckets
from neardup.core.shingle import shingle_sets
from neardup.core.threads import Pool
from neardup.corpus import Chunk, Corpus, Documents, TableWriter
from neardup.errors import NeardupError
from neardup.run.parts import Recipe, sign_chunk
from neardup.run.sampling import shortened

__all__ = ["ENOUGH", "SOME", "Rates", "Trial", "chunks_to_time", "measure"]

#: Share of the documents of a chunk that is read again to see how long it takes.
SOME = 0.16
#: Bytes that tell how long one of them takes; of fewer, most of the time goes into the call.
ENOUGH = 1 << 16
#: Keys that are grouped to see how long it takes, at most, and at least.
_KEYS, _LEAST_KEYS = 1 << 20, 1 << 14
#: Seconds of a key on the machine of the benchmarks, among the fewest, and how they grow with them.
_GROUP, _GROUP_POWER = 2.6e-8, 0.13
#: Bytes that are written to see how long it takes, at most.
_WRITTEN = 16 << 20


@dataclass(frozen=True)
class Rates:
    """Seconds of one thread, but for ``disk``. Those by default are of the machine that the
    benchmarks were made on.

    Attributes:
        read: To parse a byte of the source.
        again: To pass over a byte of the source and parse a share `SOME` of its documents.
        sign: To tokenise, shingle and sign a byte of text.
        learn: To stem a token that is met for the first time.
        sets: To make sets of a byte of text.
        group: To put a key into its bucket.
        write: To write a byte of a table.
        disk: Until a byte that was written is safely on the disk.
        slow: How much slower this machine is taken to be in what is not measured, which depends on
            texts and options less than on the memory: as much as in grouping keys.
        measured: Whether they were measured here and now.
    """

    read: float = 4.7e-9
    again: float = 1.5e-9
    sign: float = 7.6e-9
    learn: float = 8e-6
    sets: float = 7e-9
    group: float = 2e-8
    write: float = 8e-10
    disk: float = 8e-10
    slow: float = 1.0
    measured: bool = False


@dataclass(frozen=True)
class Trial:
    """How much is timed.

    Attributes:
        chunks: Chunks that are read, by all threads at the same time.
        chunk_bytes: Bytes of each.
        signed: Bytes of text that are signed of each, at most.
    """

    chunks: int
    chunk_bytes: int
    signed: int


def chunks_to_time(corpus: Corpus, trial: Trial) -> list[Chunk]:
    """Return chunks that cost to read what those of a run do; none where there are none to spare.

    Raises:
        InputError: The source can't be read.
    """
    if not corpus.rereadable or not corpus.inputs:
        return []
    first = list(islice(corpus.chunks(), trial.chunks))
    spread = corpus.spread(trial.chunks, trial.chunk_bytes)
    found = [] if spread is None or spread.whole else spread.chunks
    if found and type(found[0]) is type(first[0]):
        return found[: trial.chunks]
    return first


def measure(
    chunks: Sequence[Chunk],
    trial: Trial,
    recipe: Recipe,
    documents: float,
    place: Path | None,
    pool: Pool,
) -> Rates:
    """Time the work itself on a few chunks.

    Args:
        chunks: As `chunks_to_time` gives them.
        trial: How much of them is signed.
        recipe: What documents become; most of their tokens are known to its stemmer.
        documents: How many the corpus has, about.
        place: Folder on the disk that will be written to; None to write nothing.
        pool: Threads.

    Raises:
        InputError: A chunk can't be read.
    """
    rates = _time_grouping(documents)
    # Memory that a thread touches for the first time takes longer than all else: not counted.
    cold = list(islice(cycle(chunks), pool.threads)) if chunks else []
    found = pool.ordered(
        lambda chunk: _time_chunk(chunk, recipe, trial.signed), iter([*cold, *chunks])
    )
    timed = [t for t in islice(found, len(cold), None) if t is not None]
    if not timed:
        return rates

    def rate(name: str, of: str) -> float:
        # The median: a moment in which others were at work makes one chunk take several times as
        # long, and hardly ever most of them.
        each = [t.seconds[name] / t.sizes[of] for t in timed if t.sizes[of] >= ENOUGH]
        return statistics.median(each) if each else float(getattr(rates, name))

    rates = replace(
        rates,
        read=rate("read", "source"),
        again=rate("again", "source"),
        sign=rate("sign", "signed"),
        sets=rate("sets", "some"),
        measured=True,
    )
    return rates if place is None else _time_writing(rates, timed[0].table, place)


@dataclass(frozen=True)
class _Timed:
    seconds: dict[str, float]
    sizes: dict[str, int]
    table: Any


def _time_chunk(chunk: Chunk, recipe: Recipe, most: int) -> _Timed | None:
    clock = time.perf_counter
    chunk.read()  # what comes from the disk here and there comes several times as fast in order
    times = [clock()]
    documents = chunk.read()
    times.append(clock())
    count = len(documents.text)
    if not count or not chunk.size:
        return None
    text = shortened(documents.text)[0]
    part = slice(0, max(1, min(count, count * most // max(1, text.nbytes))))
    signed = Documents(documents.table[part], text[part], 0)
    sign_chunk(chunk.size, signed, recipe)
    times.append(clock())
    rows = np.unique(np.linspace(0, count - 1, max(1, int(SOME * count))).astype(np.int64))
    some = shortened(chunk.read_again(rows, count).text)[0]
    times.append(clock())
    shingle_sets(some, recipe.shingle, recipe.stemmer)
    times.append(clock())
    names = ("read", "sign", "again", "sets")
    return _Timed(
        dict(zip(names, np.diff(times).tolist(), strict=True)),
        {"source": chunk.size, "signed": signed.text.nbytes, "some": some.nbytes},
        documents.table,
    )


def _time_grouping(documents: float) -> Rates:
    """Group keys, as many as there are documents."""
    keys = int(min(max(documents, _LEAST_KEYS), _KEYS))
    random = np.random.default_rng(0).integers(0, 1 << 63, keys, dtype=np.uint64) << np.uint64(1)
    begin = time.perf_counter()
    buckets(random)
    group = (time.perf_counter() - begin) / keys
    return Rates(group=group, slow=group / (_GROUP * (keys / _LEAST_KEYS) ** _GROUP_POWER))


def _time_writing(rates: Rates, table: Any, place: Path) -> Rates:
    """Write a table to a file that nobody sees, and wait until it is on the disk."""
    table = table.slice(0, max(1, min(len(table), len(table) * _WRITTEN // max(1, table.nbytes))))
    try:
        with tempfile.TemporaryDirectory(dir=place) as folder:
            path = Path(folder) / "rate.parquet"
            begin = time.perf_counter()
            with TableWriter(path, table.schema, "parquet", "none") as writer:
                writer.write(table)
            written = time.perf_counter()
            with path.open("rb+") as file:
                os.fsync(file.fileno())
            size = max(1, path.stat().st_size)
            disk = time.perf_counter() - written
            return replace(rates, write=(written - begin) / size, disk=disk / size)
    except (OSError, NeardupError, pa.ArrowException):
        return rates  # a disk that can't be written to is the business of the run
