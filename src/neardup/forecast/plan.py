"""Estimates of a run, from a sample of its documents; nothing is written."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

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
from neardup.frame.shown import Shown
from neardup.io.opening import open_source
from neardup.io.source import Columns, Partition
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
from neardup.sketch.document_groups import group_values
from neardup.sketch.texts import as_text
from neardup.threads import Pool
from neardup.tuning import TUNING
from neardup.values.intervals import wilson

#: Formats that can be entered anywhere; others are sampled from their beginning.
_SPREAD = ("jsonl", "parquet", "arrow", "text", "frame")
#: Documents that kernels are compiled and loaded with.
_WARM = 64
#: Bytes of a document in the run folder and in the tables, without keys and ids.
_METADATA, _ROW = 60, 20


class Share(NamedTuple):
    """A share of the sampled documents, 0 to 1, with its 95 % interval."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, number: int) -> "Share":
        share = hits / number if number else 0.0
        return cls(share, *wilson(share, number))


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """Estimated duplicates, memory and disk of a run.

    Shares of duplicates are those in the sample. A duplicate whose original is not in the sample is
    not seen. So the corpus has at least this share; and at most about this share divided by that of
    the documents that were sampled.

    The fields are in ``docs/formats.md``, JSON of plan.
    """

    shown_as = "dedup", "plan"

    documents: int
    exact: bool
    text: int
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
    """Estimate duplicates, memory and disk of a run, from some 20,000 documents.

    Nothing is written. Fewer documents are compared where that would take long. A source
    that can be read only once is read. An input without documents has an empty estimate.

    Raises:
        SpecError: The memory does not suffice for the sample.
    """
    with Pool(job.resources.threads) as pool:
        head = Head.of(Reader(job.source), job.needed)
        recipe = recipe_of(job)
        if not head.documents:
            return _nothing(job, recipe, pool.threads)
        threads = pool.threads
        most, comparing = _memory_for(job, recipe, head, threads)
        looked = _look(job, head, pool, most)
    # The memory suffices for a sample.
    sampled = dataclasses.replace(job, recipe=recipe, resources=Resources(threads=comparing))
    _measured(sampled, looked, _WARM)
    first = TUNING.compared_documents
    outcome = _measured(sampled, looked, first)
    # Where nearly all documents share a bucket, work grows with the square of their number.
    counts = outcome.answer.counts
    pairs = counts["pairs_compared"] + counts["pairs_ruled_out"]
    work = pairs * counts["shingles"] // counts["documents"]  # shingles to go through, at most
    size = int(first * math.sqrt(TUNING.compared_shingles / max(1, work)))
    if size >= 2 * first and len(looked.texts) > first:
        outcome = _measured(sampled, looked, size)
    return _estimate(job, looked, outcome, threads)


def _nothing(job: Job, recipe: Recipe, threads: int) -> Plan:
    """Return the estimate of an input without documents."""
    char = job.spec.shingle.unit == "char"
    load = Workload(0, 0, 0, recipe.num_bands, threads, char, job.spec.enumerates, 0, 0, False)
    memory, none = plan_memory(load, job.resources.bytes), Share(0.0, 0.0, 0.0)
    return Plan(
        documents=0,
        exact=True,
        text=0,
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


class _Looked(NamedTuple):
    sample: str
    complete: bool  # all of the source was read
    texts: pa.Table  # some of each partition: ``text``, and the column of the groups
    documents: int  # of all of them
    text: int  # bytes
    columns: int  # bytes
    scale: float  # how much larger the source is; 1 where that is unknown
    partition: int  # bytes of texts and columns in the largest partition
    rows: int  # documents of that partition


def _look(job: Job, head: Head, pool: Pool, most: int) -> _Looked:
    """Read partitions from all over the source, or from its beginning; ``most`` at once."""
    source = job.source
    anywhere = source.format in _SPREAD and all(file.is_plain for file in source.files)
    small, limit = TUNING.small_source, TUNING.sampled_documents
    spread = source.rereadable and (anywhere or (source.total_bytes or small) < small)
    every: Iterable[Any] = itertools.chain(head.parts, head.rest)
    parts: Iterable[Partition] = (partition for _, partition, *_ in every)
    if spread:
        known = list(source.partitions())
        first = max((len(found.text) for found in head.read), default=0)
        numbers = _spread_order(len(known), -(-limit // max(1, first)))
        parts = (known[number] for number in numbers)
    texts: list[pa.Table] = []
    within = job.spec.within
    documents = text = columns = size = partition = rows = 0
    reads = pool.ordered(lambda part: (part.read(job.needed), part.size), parts, most)
    for found, of in reads:
        columns_of: dict[str, Any] = {"text": found.text}
        if within is not None:
            columns_of[within] = group_values(found.columns.column(within), within)
        texts.append(pa.table(columns_of))
        documents, text = documents + len(found.text), text + found.text.nbytes
        columns, size = columns + found.columns.nbytes, size + of
        partition = max(partition, found.text.nbytes + found.columns.nbytes)
        rows = max(rows, len(found.text))
        enough = documents >= limit or text >= TUNING.sampled_text
        if enough or len(texts) >= TUNING.sampled_partitions:
            complete = source.total_bytes is not None and size >= source.total_bytes
            break
    else:
        complete = True
    scale = 1.0 if complete else max(1.0, (source.total_bytes or 0) / max(1, size))
    share = min(1.0, limit / max(1, documents), TUNING.sampled_text / max(1, text))
    sampled = pa.concat_tables([part.slice(0, math.ceil(len(part) * share)) for part in texts])
    sample = "spread" if spread or complete else "head"
    about = documents, text, columns, scale, partition, rows
    return _Looked(sample, complete, sampled.combine_chunks(), *about)


def _memory_for(job: Job, recipe: Recipe, head: Head, threads: int) -> tuple[int, int]:
    """Return how many partitions may be read at once, and how many threads compare the sample.

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
    return min(fit, 2 * threads + 1), comparing.threads


def _spread_order(number: int, begin: int = 0) -> list[int]:
    """Return all numbers in an order in which the first ones, however many, are spread evenly.

    Only the ``begin`` first ones ascend: slices of a row group are decoded one after another.
    """
    golden = (math.sqrt(5) - 1) / 2  # whose multiples fill 0 to 1 most evenly
    order: list[int] = np.argsort(np.arange(number) * golden % 1).tolist()
    return sorted(order[:begin]) + order[begin:]


def _measured(job: Job, looked: _Looked, size: int) -> Outcome:
    """Run on so many of the texts in memory."""
    last = len(looked.texts) - 1
    docs = np.unique(np.linspace(0, last, min(size, last + 1)).astype(np.int64))
    table = looked.texts.take(array_of(docs))
    spec = job.spec.replace(keep="first", order_by=None)
    source = open_source(table, Columns(extra=() if spec.within is None else (spec.within,)))
    clock = Clock(job.clock.listener)
    return run(Job(OpenInput(source, {}), spec, job.resources, clock, recipe=job.recipe))


def _estimate(job: Job, looked: _Looked, outcome: Outcome, threads: int) -> Plan:
    counts, recipe, spec = outcome.answer.counts, outcome.recipe, job.spec
    tokens, sampled = outcome.corpus.tokens, outcome.corpus.documents
    filled = sampled - counts["empty"] - counts.get("without_group", 0)
    different = filled - counts["equal_tokens"]
    compared = Share.of(counts["compared_documents"], different)
    read = looked.documents, looked.text, looked.columns
    documents, text, columns = (round(looked.scale * n) for n in read)
    growth = documents / sampled
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
    sets = 8 * counts["shingles"] * compared.share * growth
    kept = counts["kept"] / sampled
    output = round((job.source.total_bytes or text) * kept + documents * _ROW + 2 * columns)
    low, median, high = np.percentile(tokens, [5, 50, 95]).tolist()
    return Plan(
        documents=documents,
        exact=looked.complete,
        text=text,
        sampled=sampled,
        sample="all" if looked.complete and sampled == documents else looked.sample,
        tokens={"median": median, "low": low, "high": high},
        empty=counts["empty"] / sampled,
        short=counts["short"] / sampled,
        equal_tokens=Share.of(counts["equal_tokens"], filled),
        near_duplicates=Share.of(counts["removed"] - counts["equal_tokens"], different),
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
        warnings=(*_one_text(job), *advice(outcome, as_text(looked.texts["text"]), documents)),
    )
