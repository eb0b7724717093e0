"""Steps of finding passages: memory and threads, and the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from neardup.copied_passages.finding import Inputs
from neardup.copied_passages.passage_spec import CutSpec, PassageSpec
from neardup.copied_passages.result import make
from neardup.copied_passages.work import Work
from neardup.deduplication.clock import Clock, Event
from neardup.frame.command import Made, Means, Steps
from neardup.memory_plan import PrivatePeak, least_for_passages, require_memory
from neardup.options.how_read import OpenInput
from neardup.spec import plain_values
from neardup.threads import Pool, available_cores
from neardup.values.json_values import JSON

#: Changes with the rows and the records of a run that is not complete: others can't be continued.
_STORED_FORM = 7
#: Bytes, unless a caller names another number.
MEMORY = 1_000_000_000


@dataclass(frozen=True)
class PassageSteps(Steps):
    """Inputs and settings of a call."""

    inputs: Inputs
    spec: PassageSpec
    cutting: CutSpec
    by: Sequence[str] = ()  # columns by whose values totals are listed
    format: str | None = None  # of the clean corpus; None for that of the input
    compression: str | None = None
    memory: int | None = None  # bytes
    threads: int | None = None
    texts: bool = True  # of boilerplate, in its table
    tables: str = "parquet"  # their format

    @property
    def reads(self) -> Sequence[OpenInput]:
        return self.inputs.all

    def manifest(self) -> dict[str, JSON]:
        return {
            **self.identity(),
            "passages": plain_values(self.spec),
            "cut": plain_values(self.cutting),
            "by": list(self.by),
            "texts": self.texts,
            "output": [self.format, self.compression, self.tables],
            "stored_form": _STORED_FORM,
        }

    def least(self, threads: int) -> int:
        """The private bytes that a run with so many threads takes by itself, about."""
        size = sum(corpus.source.total_bytes or 0 for corpus in self.inputs.all)
        return least_for_passages(size, threads)

    def check(self) -> None:
        """Raise SpecError where the memory that is allowed does not suffice."""
        if self.memory is not None:
            require_memory(self.memory, self.least(1), "one thread", "allow more memory")

    def resources(self) -> tuple[int, int]:
        """Return the memory in bytes, and the number of threads that it suffices for."""
        threads = self.threads or available_cores()
        if self.memory is None:
            return max(MEMORY, self.least(threads)), threads
        while threads > 1 and self.least(threads) > self.memory:
            threads -= 1
        return self.memory, threads

    @contextmanager
    def work(self, means: Means) -> Iterator[Made]:
        self.check()
        with self.searching(means) as work:
            made = make(self.inputs, self.spec, self.cutting, work, self.by, self.texts)
            made.record["output"]["tables"] = self.tables
            with self.inputs.unchanged():
                yield made.written(self.format, self.compression, work)

    @contextmanager
    def searching(self, means: Means) -> Iterator[Work]:
        """Give the resources of a search."""
        memory, threads = self.resources()
        clock, state = means.clock, means.state
        if threads < (every := self.threads or available_cores()):
            note = f"{threads} of {every} threads, as the memory allows"
            clock.emit(Event("find anchors", note=note))
        manifest = folder = None
        if state is not None:
            manifest, folder = self.manifest(), state.scratch_folder("passages")
        with Pool(threads) as pool:
            arguments = pool, clock, memory, folder, state, manifest, means.peak
            with closing(Work(*arguments, is_limit=self.memory is not None)) as work:
                yield work


def count_of(steps: PassageSteps) -> tuple[dict[str, int], Work]:
    """Search for passages in a sample; return the counts, and the resources that it took."""
    with PrivatePeak() as peak, steps.searching(Means(Clock(), peak)) as work:
        made = make(steps.inputs, steps.spec, steps.cutting, work)
        counts: dict[str, int] = made.record["counts"]
        return counts, work
