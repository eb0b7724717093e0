"""From a request to a job, and from a job to its result."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from neardup.deduplication.beginning import drop_store
from neardup.deduplication.clock import Clock
from neardup.deduplication.job import Job, needed_columns
from neardup.deduplication.local import Outcome, run, sketch_shard
from neardup.errors import SpecError
from neardup.files.given_path import GivenPath
from neardup.frame.command import Made, Means, Request, Steps
from neardup.frame.execute import execute
from neardup.frame.storage import Storage
from neardup.io.opening import accepted, given_paths
from neardup.io.remote import Url
from neardup.options.how_read import how_read
from neardup.options.option_groups import Reading, Resources, Writing
from neardup.results.made_of_run import DEDUP, check_writing, made_of
from neardup.spec import Spec
from neardup.state.run_state import RunState
from neardup.state.shards import Shard
from neardup.threads import Pool
from neardup.values.json_values import JSON


@dataclass(frozen=True)
class DedupRequest:
    """The arguments of a call, checked and grouped."""

    source: Any  # see `neardup.dedup`
    #: Files, folders, patterns and URLs that are asked for; none for a frame.
    given: list[Url | GivenPath] = field(init=False)
    reading: Reading = field(default_factory=Reading)
    spec: Spec = field(default_factory=Spec)
    resources: Resources = field(default_factory=Resources)
    writing: Writing = field(default_factory=Writing)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", accepted(self.source))
        object.__setattr__(self, "given", given_paths(self.source) or [])

    def job(self, state: RunState | None = None) -> Job:
        """Open the source, and return the job."""
        folder = None if state is None else state.scratch_folder("inputs")
        columns = needed_columns(self.spec, None)
        items = self.spec.shingle.unit == "item"
        asked = how_read(self.reading, items)
        source, reading = asked.open_sized(self.source, columns, folder)
        check_writing(self.writing, source)
        how = {"given": list(map(str, self.given)), **reading.as_dict()}
        output = self.writing.as_dict()
        return Job(source, self.spec, self.resources, how, self.clock, state, output)

    def run(self) -> Storage:
        """Run; see `execute`."""
        if self.writing.out is not None:
            asked = self
        elif self.resources.shared:
            raise SpecError("`store` is outside this process, and `out` is not given")
        else:
            asked = dataclasses.replace(self, writing=Writing(clean=False))

        def steps(state: RunState | None) -> Steps:
            return DedupSteps(asked.job(state), asked.writing)

        return execute(Request(DEDUP, self.given, asked.writing, self.clock, steps))


@dataclass
class DedupSteps(Steps):
    """A run over an open source."""

    job: Job
    writing: Writing

    @property
    def jobs(self) -> Sequence[Job]:
        return [self.job]

    def manifest(self) -> dict[str, JSON]:
        return self.job.manifest()

    @contextmanager
    def work(self, means: Means) -> Iterator[Made]:
        outcome = run(self.job)
        with Pool(outcome.threads) as pool:
            yield made_of(outcome, self.writing, pool)

    def close(self, done: bool) -> bool:
        resources = self.job.resources
        if not resources.shared or not (done or resources.run is None):
            return False
        return not drop_store(self.job)


@dataclass
class _Saving(Steps):
    """A run in memory that is written to a folder."""

    outcome: Outcome
    about: dict[str, Any]
    writing: Writing

    @property
    def jobs(self) -> Sequence[Job]:
        return [self.outcome.job]

    def manifest(self) -> dict[str, JSON]:
        return self.outcome.job.manifest()

    @contextmanager
    def work(self, means: Means) -> Iterator[Made]:
        names = ("seconds", "peak_memory", "peak_private_memory")
        used = {name: self.about[name] for name in names}
        with Pool(self.outcome.threads) as pool:
            yield made_of(self.outcome, self.writing, pool, **used)


def save(
    outcome: Outcome, about: dict[str, Any], out: str | os.PathLike[str], writing: Writing
) -> Storage:
    """Write the results of a run in memory, of which this is the record, to a folder or a URL."""
    check_writing(writing, outcome.job.source)
    writing = dataclasses.replace(writing, out=out)
    job = dataclasses.replace(outcome.job, output=writing.as_dict())
    saving = _Saving(dataclasses.replace(outcome, job=job), about, writing)
    again = dataclasses.replace(DEDUP, resumes=False)
    return execute(Request(again, job.given, writing, job.clock, lambda _: saving))


def sketch_into_store(request: DedupRequest, shard: Shard) -> dict[str, int]:
    """Put the sketches of a shard into a store that several processes can reach."""
    if request.resources.run is None:
        raise SpecError("`run` is not given; a run in a shared store needs a name", "run='notes'")
    job = request.job()
    if not job.source.rereadable:
        raise SpecError("a pipe can't be read in shards", "write it to a file")
    return sketch_shard(job, shard)
