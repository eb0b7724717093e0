"""Estimates of a run, from a sample of its documents; nothing is written."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.deduplication.beginning import Head, recipe_of
from neardup.deduplication.clock import Clock
from neardup.deduplication.documents.text_notes import IF_LINES, one_text
from neardup.deduplication.job import Job
from neardup.deduplication.local import Outcome, run
from neardup.deduplication.reading import Reader
from neardup.forecast.advice import Advice, advice
from neardup.forecast.looking import Looked, look
from neardup.io.opening import open_source
from neardup.io.source import Columns
from neardup.memory_plan import (
    BASE,
    THREAD,
    Workload,
    available_memory,
    plan_memory,
    require_memory,
    show_size,
)
from neardup.options.how_read import OpenInput
from neardup.options.option_groups import Resources
from neardup.recipe import Recipe
from neardup.sketch.bands import candidate_probability
from neardup.sketch.texts import as_text
from neardup.threads import Pool
from neardup.tuning import TUNING
from neardup.values.intervals import wilson
from neardup.values.shown import Shown

#: Bytes of a document in the run folder and in the tables, without keys and ids.
_METADATA, _ROW = 60, 20
#: Bytes of memory of a document that is looked at.
_LOOKED = 100


class Share(NamedTuple):
    """A share of documents, 0 to 1, and the range in which that of all documents is, to 95 %."""

    share: float
    low: float
    high: float

    @classmethod
    def within(cls, low: float, high: float, number: float, read: float = 1) -> Share:
        """Return the range of a share that is between two limits in a sample.

        ``number`` are the independent observations; ``read`` is the share of all documents among
        which the documents that these are duplicates of were looked for.
        """
        most = min(1.0, wilson(high, number)[1] / read)
        return cls((low + high) / 2, wilson(low, number)[0], most)


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """Estimated duplicates, memory and disk of a run.

    Documents are chosen by their content over all that was read: copies are together, however
    far apart they are. Of a part from all over the input, the range of a share takes in
    that the other copies may be in the rest; of its beginning, it is that of the beginning.

    The fields are in ``docs/formats.md``, JSON of plan.
    """

    shown_as = "dedup", "plan"

    documents: int
    exact: bool
    text: int
    read: float
    sampled: int
    sample: str
    tokens: dict[str, float]
    empty: float
    short: float
    equal_tokens: Share
    near_duplicates: Share
    compared: Share
    num_bands: int
    rows: int
    predicted_recall: float
    memory: int
    memory_minimum: int
    memory_wanted: int
    threads: int
    disk: int
    disk_output: int
    warnings: tuple[Advice, ...]

    def as_dict(self) -> dict[str, Any]:
        values = asdict(self)
        for name in ("equal_tokens", "near_duplicates", "compared"):
            values[name] = getattr(self, name)._asdict()
        return values


def plan(job: Job) -> Plan:
    """Estimate duplicates, memory and disk of a run, from what can be read in some seconds.

    Nothing is written. Some 20,000 documents are compared, and fewer where that would take long. A
    source that can be read only once is read. An input without documents has an empty estimate.

    Raises:
        SpecError: The memory does not suffice for the sample.
    """
    with Pool(job.resources.threads) as pool:
        head = Head.of(Reader(job.source), job.needed)
        recipe = recipe_of(job)
        if not head.documents:
            return _nothing(job, recipe, pool.threads)
        threads = pool.threads
        most, comparing, documents = _memory_for(job, recipe, head, threads)
        looked = look(job, recipe, head, pool, most, documents)
    # The memory suffices for a sample.
    sampled = dataclasses.replace(job, recipe=recipe, resources=Resources(threads=comparing))
    return _estimate(job, looked, _Samples.of(sampled, looked), threads)


def _nothing(job: Job, recipe: Recipe, threads: int) -> Plan:
    """Return the estimate of an input without documents."""
    char = job.spec.shingle.unit == "char"
    load = Workload(0, 0, 0, recipe.num_bands, threads, char, job.spec.enumerates, 0, 0, False)
    memory, none = plan_memory(load, job.resources.bytes), Share(0.0, 0.0, 0.0)
    return Plan(
        documents=0,
        exact=True,
        text=0,
        read=1.0,
        sampled=0,
        sample="all",
        tokens={"median": 0.0, "low": 0.0, "high": 0.0},
        empty=0.0,
        short=0.0,
        equal_tokens=none,
        near_duplicates=none,
        compared=none,
        num_bands=recipe.num_bands,
        rows=recipe.rows,
        predicted_recall=_recall(job, recipe),
        memory=memory.memory,
        memory_minimum=memory.minimum,
        memory_wanted=memory.minimum,
        threads=threads,
        disk=0,
        disk_output=0,
        warnings=(),
    )


def _one_text(job: Job) -> Iterator[Advice]:
    if note := one_text(job.source):
        yield Advice("one text", f"{note}; {IF_LINES}", 1)


def _recall(job: Job, recipe: Recipe) -> float:
    if not recipe.num_bands:
        return 1.0
    return candidate_probability(job.spec.threshold, recipe.num_bands, recipe.rows)


def _memory_for(job: Job, recipe: Recipe, head: Head, threads: int) -> tuple[int, int, int]:
    """Return how many partitions may be read at once, threads for the sample, and documents.

    Raises:
        SpecError: The memory does not suffice for one of each.
    """
    memory = available_memory(job.resources.bytes)
    largest = max(found.text.nbytes + found.columns.nbytes for found in head.read)
    text = min(
        TUNING.sampled_text,
        int(sum(found.text.nbytes for found in head.read) * head.scale(job.source.total_bytes)),
    )
    char = job.spec.shingle.unit == "char"
    documents = TUNING.sampled_documents
    about = min(text, TUNING.partition_bytes), documents, job.spec.shingle.ignores
    load = Workload(documents, text, 0, recipe.num_bands, threads, char, False, *about)
    comparing = plan_memory(load, memory)
    # The head, and the partition that is read now, which takes twice its size.
    reading = BASE + THREAD + 3 * largest
    if job.resources.bytes is not None:
        what = f"{documents:,} documents, and a partition of {show_size(largest)}"
        require_memory(memory, max(reading, comparing.minimum), what)
    fit = 1 + max(0, memory - reading) // (THREAD + 2 * largest)
    looked = max(TUNING.sampled_documents, (memory - reading) // (2 * _LOOKED))
    return min(fit, 2 * threads + 1), comparing.threads, min(looked, TUNING.looked_documents)


class _ComparedRows(NamedTuple):
    """Documents that were compared, and the answer."""

    rows: np.ndarray  # their positions, ascending
    texts: pa.LargeStringArray
    outcome: Outcome


@dataclass(frozen=True)
class _Compared:
    """Documents in memory, any of which are compared."""

    job: Job
    rows: np.ndarray  # their positions, ascending
    table: pa.Table  # ``text``, and the column of the groups

    def __call__(self, rows: np.ndarray) -> _ComparedRows:
        """Compare some of them, by position."""
        rows = np.sort(rows)
        table = self.table.take(array_of(np.searchsorted(self.rows, rows)))
        spec = self.job.spec.replace(keep="first", order_by=None)
        columns = Columns(extra=() if spec.within is None else (spec.within,))
        source = OpenInput(open_source(table, columns), {})
        clock = Clock(self.job.clock.listener)
        of = Job(source, spec, self.job.resources, clock, recipe=self.job.recipe)
        return _ComparedRows(rows, as_text(table["text"]), run(of))

    def sized(self, rows: np.ndarray) -> _ComparedRows:
        """Compare these, or fewer of them where that would take long."""
        first = TUNING.compared_documents
        sample = self(_spread(rows, first))
        # Where nearly all documents share a bucket, work grows with the square of their number.
        counts = sample.outcome.answer.counts
        pairs = counts["pairs_compared"] + counts["pairs_ruled_out"]
        work = pairs * counts["shingles"] // counts["documents"]  # shingles to go through, at most
        size = int(first * math.sqrt(TUNING.compared_shingles / max(1, work)))
        return self(_spread(rows, size)) if size >= 2 * first and len(rows) > first else sample


def _spread(rows: np.ndarray, most: int) -> np.ndarray:
    last = len(rows) - 1
    return rows[np.unique(np.linspace(0, last, min(most, last + 1)).astype(np.int64))]


class _Samples(NamedTuple):
    """Documents that were compared: all, or those that were chosen, and those like them."""

    chosen: _ComparedRows
    equal: Share
    near: Share
    compared: int  # documents

    @classmethod
    def of(cls, job: Job, looked: Looked) -> Self:
        every, different = np.arange(looked.documents), looked.different()
        equal, most, text = _equal(looked, different), TUNING.sampled_documents, looked.text
        few = len(every) <= most and text <= TUNING.sampled_text
        sizes = np.cumsum(looked.sizes[different])
        chosen = different[: min(most, 1 + int((sizes <= TUNING.sampled_text // 2).sum()))]
        chosen = every if few else chosen if len(chosen) else every[:1]
        alike = _alike(looked, different, most)
        rows = np.union1d(chosen, alike.rows)
        compare = _Compared(job, rows, looked.table(job, rows))
        sample = compare.sized(chosen)
        if few and len(sample.rows) == len(every):
            removed = sample.outcome.answer.duplicate_of[different] >= 0
            return cls(sample, equal, _range(looked, different, removed), len(every))
        if len(sample.rows) < len(chosen):  # more would take long
            alike = _alike(looked, different, len(sample.rows))
        both = compare(alike.rows)
        near = _near(looked, alike, both)
        return cls(sample, equal, near, len(np.union1d(sample.rows, both.rows)))


class _Alike(NamedTuple):
    """Documents with the same smallest shingle, which near-duplicates mostly have, together."""

    rows: np.ndarray  # of some such units, by position
    firsts: np.ndarray  # documents that were chosen by chance
    units: np.ndarray  # int64[]: of each
    chosen: np.ndarray  # int64[n]: those of the documents that were chosen by chance
    numbers: np.ndarray  # int64[units]: documents of each


def _alike(looked: Looked, different: np.ndarray, most: int) -> _Alike:
    """Choose units by documents that are ordered by chance, and some documents of each unit."""
    _, unit, numbers = np.unique(looked.units[different], return_inverse=True, return_counts=True)
    # The rank of each document in its unit.
    order = np.argsort(unit, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    few = rank < TUNING.sampled_alike
    size = np.bincount(unit, np.where(few, looked.sizes[different], 0))
    number = np.minimum(numbers, TUNING.sampled_alike)
    begins = rank == 0  # the first ones of their units, which bring all others along
    documents, text = (np.cumsum(np.where(begins, of[unit], 0)) for of in (number, size))
    last = int(((documents <= most) & (text <= TUNING.sampled_text // 2)).sum())
    chosen = unit[: max(1, last)]
    taken = np.flatnonzero(few & np.isin(unit, chosen))
    return _Alike(different[taken], different[: len(chosen)], unit[taken], chosen, numbers)


def _near(looked: Looked, alike: _Alike, sample: _ComparedRows) -> Share:
    """Estimate the share of near-duplicates among different documents.

    Of a chosen document the share in its unit counts, between two limits. The lower one is that in
    the documents of the unit that were compared. Two documents of similarity J have the same
    smallest shingle with probability J: a near-duplicate counts 1 / J times in the upper one.
    Of a unit of which one in k documents was compared, it counts k times, up to those that were
    not compared.
    """
    answer, units = sample.outcome.answer, len(alike.numbers)
    unit, removed = alike.units[np.argsort(alike.rows)], answer.duplicate_of >= 0
    weights = np.where(removed, 1 / np.where(removed, answer.similarity, 1), 0)
    compared, near, most = (np.bincount(unit, of, units) for of in (removed >= 0, removed, weights))
    every, seen = int(alike.numbers.sum()), np.maximum(compared, 1)
    low, high, times = near / seen, most / seen, alike.numbers / seen
    high = np.where(
        times > 1, np.minimum(high * times, 1 - (compared - near) / alike.numbers), high
    )
    if len(alike.rows) == every:
        high = low
    lows, highs = low[alike.chosen], np.clip(high, low, 1)[alike.chosen]
    rest = 1 - len(lows) / every
    number = len(lows) / rest if rest else math.inf
    if (times > 1).any():
        number = min(number, _independent(highs, alike.chosen))
    return _range(looked, alike.firsts, lows, highs, number)


def _equal(looked: Looked, different: np.ndarray) -> Share:
    """Estimate the share of documents that have the tokens of an earlier one."""
    filled = np.flatnonzero(looked.tokens)
    copies = np.searchsorted(looked.hashes[different], looked.hashes[filled])
    # Of a document: all with its tokens but one are duplicates.
    return _range(looked, filled, (1 - 1 / np.maximum(1, np.bincount(copies)))[copies])


def _range(
    looked: Looked,
    rows: np.ndarray,
    low: np.ndarray,
    high: np.ndarray | None = None,
    number: float = math.inf,
) -> Share:
    """Return the range of the mean of shares of documents, by position, that have two limits.

    ``number`` are independent observations, if all of the source was read.
    """
    if not len(rows):
        return Share(0.0, 0.0, 0.0)
    least, most = (float(each.mean()) for each in (low, low if high is None else high))
    if looked.sample == "spread":
        number = min(number, _independent(low, looked.parts[rows]))
    return Share.within(least, most, number, looked.seen)


def _independent(shares: np.ndarray, groups: np.ndarray) -> float:
    """Return the number of independent observations whose mean is as certain as that of groups.

    Where all are alike, that is the number of groups.
    """
    number, mean = len(shares), float(shares.mean())
    numbers = np.bincount(groups)
    count = int(np.count_nonzero(numbers))
    if count < 2:
        return count
    square = float((np.bincount(groups, shares - mean) ** 2).sum()) * count / (count - 1)
    return min(number, mean * (1 - mean) * number**2 / square) if square else count


def _estimate(job: Job, looked: Looked, samples: _Samples, threads: int) -> Plan:
    sample, recipe, spec = samples.chosen, samples.chosen.outcome.recipe, job.spec
    counts, sampled, tokens = sample.outcome.answer.counts, len(sample.rows), looked.tokens
    none = counts["empty"] + counts.get("without_group", 0)
    there = sampled - none - counts["equal_tokens"]
    share = counts["compared_documents"] / max(1, there)
    every = len(looked.different())
    seen = looked.seen * there / max(1, every)
    number = math.inf if there == every else there
    number = min(number, len(looked.counts)) if looked.sample == "spread" else number
    compared = Share.within(share, share, number, max(seen, 1e-9))
    equal, near = samples.equal, samples.near
    read = looked.documents, looked.text, looked.columns
    documents, text, columns = (round(looked.scale * n) for n in read)
    char = spec.shingle.unit == "char"
    load = Workload(
        documents,
        text,
        columns,
        recipe.num_bands,
        threads,
        char,
        spec.enumerates,
        looked.partition,
        looked.rows,
        spec.shingle.ignores,
    )
    memory = plan_memory(load, job.resources.bytes)
    sets = 8 * counts["shingles"] * share * documents / sampled
    filled = np.count_nonzero(tokens) / looked.documents
    kept = 1 - filled * (1 - (1 - equal.share) * (1 - near.share))
    output = round((job.source.total_bytes or text) * kept + documents * _ROW + 2 * columns)
    low, median, high = np.percentile(tokens, [5, 50, 95]).tolist()
    short = int(((tokens > 0) & (tokens < spec.shingle.n)).sum()) / looked.documents
    empty = looked.empty / looked.documents
    warned = advice(sample.outcome, sample.texts, tokens, empty, documents)
    return Plan(
        documents=documents,
        exact=looked.sample == "all",
        text=text,
        read=looked.share,
        sampled=samples.compared,
        sample=looked.sample,
        tokens={"median": median, "low": low, "high": high},
        empty=empty,
        short=short,
        equal_tokens=equal,
        near_duplicates=near,
        compared=compared,
        num_bands=recipe.num_bands,
        rows=recipe.rows,
        predicted_recall=_recall(job, recipe),
        memory=memory.memory,
        memory_minimum=memory.minimum,
        memory_wanted=round(memory.minimum + 2 * memory.keys + sets + text),
        threads=threads,
        disk=round(output + documents * _METADATA + memory.keys + columns + sets),
        disk_output=output,
        warnings=(*_one_text(job), *warned),
    )
