"""Estimate of the result, memory, disk and time of finding passages, from a sample."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from neardup.copied_passages.finding import Inputs
from neardup.copied_passages.passage_spec import CutSpec, PassageSpec
from neardup.copied_passages.passage_steps import MEMORY, PassageSteps, count_of
from neardup.corpora.corpus import InputCorpus
from neardup.io.source import Partition
from neardup.memory_plan import least_for_passages
from neardup.options.option_groups import Reading
from neardup.tuning import TUNING
from neardup.values.shown import Shown

#: A run takes between so many times the time of the sample, scaled, and so many seconds to start.
_FASTEST, _SLOWEST, _START = 0.5, 3.0, (0.7, 2.0)
#: Bytes in temporary files of a copied word none of whose runs is stored with others; bytes in
#: memory of a document, and of any corpus.
_MOST, _DOCUMENT, _BASE = 24, 12, 200_000_000


class PassageLimits(NamedTuple):
    memory: int | None = None  # bytes
    threads: int | None = None


@dataclass(frozen=True, repr=False)
class PassagePlan(Shown):
    """Estimate of the result, memory, disk and time of finding passages.

    Attributes:
        documents: About how many there are, as ``text`` (bytes) and ``words``.
        sampled: Documents that were looked at.
        copied_share: Share of their words that is copied from another of them, or within them. The
            corpus has about so much at least: most sources are not in the sample.
        memory: Bytes of private memory, at most.
        disk: Bytes of temporary files: with the share of the sample, and if all is copied.
        seconds: Range of the time on this machine.
    """

    shown_as = "passages", "plan"

    documents: int
    text: int
    words: int
    sampled: int
    copied_share: float
    memory: int
    disk: tuple[int, int]
    seconds: tuple[float, float]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan_passages(corpus: InputCorpus, spec: PassageSpec, limits: PassageLimits) -> PassagePlan:
    """Estimate from some 20,000 documents; nothing is written.

    Args:
        corpus: The input.
        spec: What counts as copied.
        limits: Memory and threads of the run.

    Raises:
        SpecError: The memory does not suffice.
    """
    PassageSteps(Inputs(corpus), spec, CutSpec(), **limits._asdict()).check()
    begin = time.monotonic()
    table, documents, text, scale = _sample(corpus, spec.columns)
    read = time.monotonic() - begin
    sample = InputCorpus.open(table, Reading(), spec.columns)
    begin = time.monotonic()
    steps = PassageSteps(Inputs(sample), spec, CutSpec(), **limits._asdict())
    counts, work = count_of(steps)
    took = time.monotonic() - begin
    seconds = read + took * documents / max(1, len(table))
    rows = {"rows": work.rows, "in_memory": work.spilled}
    plan = _estimate(counts | rows, (documents, text, scale), seconds, limits)
    least = least_for_passages(plan.text, 1)
    return replace(plan, memory=max(plan.memory, least))


def _sample(corpus: InputCorpus, names: tuple[str, ...]) -> tuple[pa.Table, int, int, float]:
    """Return some documents, how many were read, their bytes, and how much larger the source is."""
    source = corpus.source
    parts: Iterable[Partition] = (part for _, part in corpus.reader.partitions())
    tables: list[pa.Table] = []
    documents = text = size = 0
    complete = True
    for part in itertools.islice(parts, TUNING.sampled_partitions):
        found = part.read(names)
        columns: dict[str, Any] = {name: found.columns.column(name) for name in names}
        tables.append(pa.table({"text": found.text, **columns}))
        documents, text = documents + len(found.text), text + found.text.nbytes
        size += part.size
        if documents >= TUNING.sampled_documents or text >= TUNING.sampled_text:
            complete = source.total_bytes is not None and size >= source.total_bytes
            break
    scale = 1.0 if complete else max(1.0, (source.total_bytes or 0) / max(1, size))
    table = pa.concat_tables(tables) if tables else pa.table({"text": pa.array([], pa.string())})
    share = TUNING.sampled_documents / max(1, documents), TUNING.sampled_text / max(1, text)
    # The first ones, as copies are often close to their sources.
    return table.slice(0, math.ceil(len(table) * min(1.0, *share))), documents, text, scale


def _estimate(
    counts: dict[str, int], read: tuple[int, int, float], seconds: float, limits: PassageLimits
) -> PassagePlan:
    documents, text, scale = read
    sampled = max(1, counts["documents"])
    growth = documents * scale / sampled
    words = round(counts["words"] * growth)
    share = counts["copied_words"] / max(1, counts["words"])
    # Rows that fit in memory are in no file.
    rows = round(counts["rows"] * growth)
    low, high = (
        size if size > counts["in_memory"] else 0
        for size in (rows, rows + round(_MOST * words * (1 - share)))
    )
    given = limits.memory or MEMORY
    memory = min(given, _BASE + given * 3 // 4) + _DOCUMENT * round(documents * scale)
    times = (seconds * scale * k + s for k, s in zip((_FASTEST, _SLOWEST), _START, strict=True))
    fastest, slowest = (round(each, 1) for each in times)
    return PassagePlan(
        documents=round(documents * scale),
        text=round(text * scale),
        words=words,
        sampled=counts["documents"],
        copied_share=round(share, 4),
        memory=memory,
        disk=(low, high),
        seconds=(fastest, slowest),
    )
