"""What a run will find, take and cost, foreseen from a sample of its corpus.

`neardup plan` looks at some 20,000 documents; a run itself at a few thousand, so that ``run.json``
can show what was foreseen beside what came true.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neardup.core.join import join
from neardup.core.threads import Pool, available_cores
from neardup.errors import NeardupError
from neardup.run.expectation import Expected, expect
from neardup.run.job import Job
from neardup.run.meeting import Met
from neardup.run.memory import FACTS, HELD, Estimate, anonymous
from neardup.run.parts import Recipe
from neardup.run.rates import ENOUGH, Rates, Trial, chunks_to_time, measure
from neardup.run.sampling import Effort, Headed, Sample, draw_sample
from neardup.run.timing import Work, stage_seconds, tokens_to_learn

__all__ = ["THOROUGH", "Foresight", "foresee", "foresee_run"]

#: What `neardup plan` looks at.
THOROUGH = Effort(documents=20_000, text=48 << 20, blocks=128, seconds=3.0, strict=True)
#: Of a corpus, a run looks at this share, and at so many bytes of text at least and at most.
_SHARE, _LEAST, _MOST = 1 / 100, 10 << 20, 32 << 20
#: Below, nothing is timed: it would take as long as the work. And nothing is written below the
#: second, in bytes of the source.
_WORTH_TIMING, _WORTH_WRITING = 16 << 20, 64 << 20
#: Chunks that are timed, at most, and bytes of the source for each of them.
_CHUNKS, _EACH = 16, 64 << 20
# Of memory, in bytes: interpreter, libraries and kernels; scratch arrays of a thread, for words and
# for characters; of a document, besides its keys; tables that are being written, and more of them
# for each thread.
_BASE = 180_000_000
_SCRATCH, _SCRATCH_CHAR = 45_000_000, 210_000_000
_DOCUMENT = 200
_TABLES, _TABLES_THREAD = 120_000_000, 40_000_000
#: Of a document in the tables of clusters and edges, compressed.
_ROW = 14
#: Of the first chunks, read early, for each byte of the source.
_EARLY, _PARSED = 32 << 20, 1.6


@dataclass(frozen=True)
class Look:
    """How a run is foreseen.

    Attributes:
        effort: How large a sample is drawn.
        trial: How much of the work is timed.
        place: Folder where writing is timed; None not to.
        safe: What the run does is written down, to be resumed.
    """

    effort: Effort
    trial: Trial
    place: Path | None
    safe: bool


@dataclass(frozen=True)
class Foresight:
    """What is foreseen of a run.

    Attributes:
        sample: What it was foreseen from.
        met: Pairs of the sample that share a bucket.
        expected: What it will find.
        rates: How fast the machine is.
        seconds: Wall seconds by stage.
        memory: Peak of anonymous memory, in bytes.
        disk: Most bytes on the disk while it runs, outputs included.
    """

    sample: Sample
    met: Met
    expected: Expected
    rates: Rates
    seconds: dict[str, float]
    memory: int
    disk: int

    def as_record(self) -> dict[str, Any]:
        """Return what ``run.json`` shows of it."""
        e = self.expected
        return {
            "documents": round(e.documents.value),
            "exact_duplicates": round(e.exact_duplicates.value),
            "candidates": round(e.candidates.value),
            "sets": round(e.met),
            "kept": round(e.kept),
            "recall": round(float(e.recall.value), 6),
            "recall_low": round(float(e.recall.low), 6),
            "recall_high": round(float(e.recall.high), 6),
            "seconds": {name: round(float(value), 4) for name, value in self.seconds.items()},
            "memory": self.memory,
            "disk": self.disk,
            "sample": sample_of(self.sample),
        }


def sample_of(sample: Sample) -> dict[str, Any]:
    """Return how large a sample is, and where it comes from."""
    drawn = sample.drawn
    part = "everywhere" if drawn.everywhere else "begin"
    return {
        "documents": sample.count,
        "bytes": sample.size,
        "blocks": drawn.blocks,
        "of": "all" if sample.exact and drawn.whole else part,
    }


def foresee_run(
    job: Job, recipe: Recipe, head: Headed, plan: Estimate, pool: Pool
) -> dict[str, Any] | None:
    """Foresee a run that is about to begin; None where that can't be done.

    A guess must not cost the run what it is about: an error of ours becomes a warning.

    Args:
        job: The run.
        recipe: What its documents become.
        head: Its first documents.
        plan: What it will take, by these.
        pool: Threads.
    """
    begin = time.perf_counter()
    total = job.corpus.total_bytes or 0
    text = int(min(max(total * _SHARE, _LEAST), _MOST))
    effort = Effort(20_000, text, blocks=32, seconds=2.0, strict=False)
    # More where it is a small share of the run: what else is at work then matters less.
    chunks = min(_CHUNKS, max(2, total // _EACH))
    trial = Trial(chunks, 2 << 20, 1 << 20)
    place = job.folder.path if job.folder is not None and total >= _WORTH_WRITING else None
    try:
        look = Look(effort, trial, place, job.folder is not None)
        found = foresee(job, recipe, head, plan, look, pool)
    except NeardupError:
        return None  # the run will say what is wrong with the input
    except Exception as error:
        kind = type(error).__name__
        warnings.warn(f"the run could not be foreseen: {kind}", RuntimeWarning, stacklevel=2)
        return None
    return {**found.as_record(), "took": round(time.perf_counter() - begin, 4)}


def foresee(
    job: Job, recipe: Recipe, head: Headed, plan: Estimate, look: Look, pool: Pool
) -> Foresight:
    """Foresee what a run will find, take and cost.

    Args:
        job: The run.
        recipe: What its documents become.
        head: Its first documents.
        plan: What it will take, by these.
        look: How much of it is looked at.
        pool: Threads.

    Raises:
        InputError: The input can't be read.
    """
    # What memory there is before the sample: that is what the run begins with.
    early = min(_EARLY, job.corpus.total_bytes or head.size) * _PARSED
    base = max(_BASE, anonymous() - int(early))
    sample = draw_sample(job.corpus, head, recipe, look.effort, pool)
    expected, met = expect(sample, job.spec, recipe, job.corpus.total_bytes, pool)
    rates = Rates()
    if expected.size >= _WORTH_TIMING or look.effort.strict:
        chunks = chunks_to_time(job.corpus, look.trial)
        rates = measure(chunks, look.trial, recipe, expected.documents.value, look.place, pool)
    rates = _with_tokens(rates, sample)
    work = _work(job, recipe, sample, expected, plan, look.safe, pool)
    return Foresight(
        sample=sample,
        met=met,
        expected=expected,
        rates=rates,
        seconds=stage_seconds(expected, rates, work),
        memory=_memory(expected, work, plan, base, job.spec.shingle.unit == "char"),
        disk=_disk(expected, work, plan),
    )


def _with_tokens(rates: Rates, sample: Sample) -> Rates:
    """Add what it takes to stem a token for the first time, which the sample has shown."""
    learned, text = sample.learned[1], sample.looked_at
    if not learned:
        if rates.measured or text < ENOUGH:
            return rates
        return Rates(sign=max(rates.sign / 4, sample.cold / text))
    cold = (sample.cold - rates.sign * text) / learned
    return Rates(**{**vars(rates), "learn": max(rates.learn / 8, cold)})


def _work(
    job: Job,
    recipe: Recipe,
    sample: Sample,
    e: Expected,
    plan: Estimate,
    safe: bool,
    pool: Pool,
) -> Work:
    threads = max(1, min(pool.threads, available_cores()))
    fits = plan.store == "memory" and plan.needed <= plan.memory
    by_name = job.storage.name is not None
    share = min(1.0, HELD / max(1.0, e.table + e.text)) if fits and not by_name else 0.0
    keys = 8 * recipe.num_bands * e.documents.value
    return Work(
        threads=threads,
        num_bands=recipe.num_bands,
        chunk_bytes=job.storage.chunk_bytes,
        held=share if _worth_holding(job) else 0.0,
        mapped=not fits,
        stored=int(keys + FACTS * e.documents.value + e.columns),
        safe=safe,
        tokens=tokens_to_learn(sample.learned, sample.drawn.ratio),
        kernels=job.stages.seconds.get("kernels", 0.0),
        every=job.spec.every_pair,
        second=job.spec.second_round,
        join=_join_seconds(sample, recipe, job.spec.edge_threshold, pool),
        signing=not by_name,
    )


def _worth_holding(job: Job) -> bool:
    """Whether documents are held rather than read again, see `Chunk.worth_holding`."""
    return not all(file.path.endswith(".parquet") for file in job.corpus.inputs)


def _join_seconds(sample: Sample, recipe: Recipe, threshold: float, pool: Pool) -> float:
    """Return how long an exact join of all takes, by those of half and all of some documents."""
    if recipe.bands is not None:
        return 0.0
    docs = np.flatnonzero(sample.tokens)[:4096]
    sets = sample.sets_of(docs, recipe, pool)
    some = np.flatnonzero(sets.size).astype(np.int32)
    seconds = []
    for count in (len(some) // 2, len(some)):
        begin = time.perf_counter()
        join(sets, some[:count], threshold, pool)
        seconds.append(time.perf_counter() - begin)
    power = min(2.0, max(1.0, float(np.log2(max(1e-9, seconds[1]) / max(1e-9, seconds[0])))))
    return float(seconds[1] * (sample.count * sample.drawn.ratio / max(1, len(some))) ** power)


def _memory(e: Expected, work: Work, plan: Estimate, base: int, char: bool) -> int:
    held = work.held * (e.table + e.text)
    scratch = work.threads * (_SCRATCH_CHAR if char else _SCRATCH)
    documents = e.documents.value * _DOCUMENT + (0 if work.mapped else work.stored)
    if not work.num_bands:
        documents += 16 * e.shingles
    tables = min(_TABLES + work.threads * _TABLES_THREAD, 3.5 * e.table)
    # Each token is held as eight bytes, and so is each shingle.
    scratch = min(scratch, (20 if char else 6) * e.size)
    whole = base + scratch + held + documents + tables
    return int(min(whole, max(plan.memory, plan.least)))


def _disk(e: Expected, work: Work, plan: Estimate) -> int:
    stored = work.stored if "://" not in plan.store else 0
    met = e.met / max(1.0, e.documents.value)
    found = 4 * e.met * work.num_bands + 8 * e.shingles * met
    outputs = e.table * e.kept / max(1.0, e.documents.value) + _ROW * e.documents.value + e.columns
    return int(stored + max(found, outputs))
