"""From a request to a job, and from a job to its result."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from neardup.deduplication.beginning import drop_store
from neardup.deduplication.clock import Clock
from neardup.deduplication.documents.text_notes import IF_LINES, one_text
from neardup.deduplication.job import Job, needed_columns
from neardup.deduplication.local import Outcome, run, sketch_shard
from neardup.errors import InputError, SpecError
from neardup.frame.command import Made, Means, Request, Saving, Steps
from neardup.frame.execute import execute
from neardup.frame.storage import Storage
from neardup.io.opening import accepted, given_paths
from neardup.options.how_read import OpenInput, how_read
from neardup.options.option_groups import Reading, Resources, Writing
from neardup.results.made_of_run import DEDUP, check_writing, made_of
from neardup.spec import Spec, check_similarity
from neardup.state.run_state import RunState
from neardup.state.shards import Shard
from neardup.values.json_values import JSON


@dataclass(frozen=True)
class DedupRequest:
    """The arguments of a call, checked and grouped."""

    source: Any  # see `neardup.dedup`
    reading: Reading = field(default_factory=Reading)
    spec: Spec = field(default_factory=Spec)
    resources: Resources = field(default_factory=Resources)
    writing: Writing = field(default_factory=Writing)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", accepted(self.source))

    def job(self, state: RunState | None = None) -> Job:
        """Open the source, and return the job."""
        items, memory = self.spec.shingle.unit == "item", self.resources.bytes
        how = how_read(self.reading, items=items, memory=memory)
        found = OpenInput.open(self.source, how, needed_columns(self.spec, None), state)
        check_writing(self.writing, found.source)
        return Job(found, self.spec, self.resources, self.clock, state, self.writing.as_dict())

    def run(self) -> Storage:
        """Run; see `execute`."""
        if self.writing.out is not None:
            asked = self
        elif self.resources.shared:
            raise SpecError("`store` is outside this process, and `out` is not given")
        else:
            asked = dataclasses.replace(self, writing=Writing(clean=False))

        def steps(state: RunState | None) -> Steps:
            job = asked.job(state)
            if note := one_text(job.source):
                parts = "to compare parts of one text: `neardup passages`"
                nothing = "and there is nothing to compare it with"
                raise InputError(f"{note}, {nothing}", f"{IF_LINES}; {parts}")
            return DedupSteps(job, asked.writing)

        given = given_paths(self.source) or []
        return execute(Request(DEDUP, given, asked.writing, self.clock, steps))


@dataclass
class DedupSteps(Steps):
    """A run over an open source."""

    job: Job
    writing: Writing

    @property
    def reads(self) -> Sequence[OpenInput]:
        return [self.job.input]

    def manifest(self) -> dict[str, JSON]:
        return self.job.manifest()

    def work(self, means: Means) -> AbstractContextManager[Made]:
        if not self.job.spec.boilerplate:
            return made_of(run(self.job), self.writing)
        if self.job.resources.run is not None:
            raise SpecError(
                "`boilerplate` is looked for before documents are sketched, and `run` has sketches",
                "leave one of them out",
            )
        from neardup.api.boilerplate import without_boilerplate

        job, reader = without_boilerplate(self.job, means)
        return made_of(run(job, reader), self.writing)

    def close(self, done: bool) -> bool:
        resources = self.job.resources
        if not resources.shared or not (done or resources.run is None):
            return False
        return not drop_store(self.job)


def save(
    outcome: Outcome, about: dict[str, Any], out: str | os.PathLike[str], writing: Writing
) -> Storage:
    """Write the results of a run in memory, of which this is the record, to a folder or a URL."""
    check_writing(writing, outcome.job.source)
    writing = dataclasses.replace(writing, out=out)
    job = dataclasses.replace(outcome.job, output=writing.as_dict())
    outcome = dataclasses.replace(outcome, job=job)
    saving = Saving(partial(made_of, outcome, writing), job.manifest(), about, [job.input])
    again = dataclasses.replace(DEDUP, resumes=False)
    return execute(Request(again, job.input.given, writing, job.clock, lambda _: saving))


def sketch_into_store(request: DedupRequest, shard: Shard) -> dict[str, int]:
    """Put the sketches of a shard into a store that several processes can reach."""
    check_similarity(request.spec, "sketching")
    if request.resources.run is None:
        raise SpecError("`run` is not given; a run in a shared store needs a name", "run='notes'")
    check_similarity(request.spec, "a sketch")
    job = request.job()
    if not job.source.rereadable:
        raise SpecError("a pipe can't be read in shards", "write it to a file")
    return sketch_shard(job, shard)
