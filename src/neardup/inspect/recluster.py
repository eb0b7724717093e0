"""A finished run with other settings and the same bands.

The result is that of a full run with the new settings and the recipe of the old one. The tables of
the run decide it where they can, and no clean corpus is wanted. Else the texts are read again, and
sketched unless the sketches are in memory, or in a run folder that was kept.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup import __version__
from neardup.cluster.edges import Edges
from neardup.cluster.methods import components, counts_of, kept_set, star
from neardup.deduplication.clock import Clock, Event
from neardup.deduplication.comparing import RunAnswer
from neardup.deduplication.documents.metadata import CorpusMetadata
from neardup.deduplication.job import Job, needed_columns
from neardup.deduplication.local import Outcome, run
from neardup.deduplication.reading import Reader
from neardup.errors import ColumnError, InputError, ResumeError, SpecError, StoreError
from neardup.files.given_path import GivenPath
from neardup.files.scratch import Scratch
from neardup.frame.command import Made, Means, Request, Steps
from neardup.frame.execute import execute
from neardup.frame.storage import Storage
from neardup.io.formats.column_paths import type_at
from neardup.io.remote import Url, located
from neardup.io.source import Columns, Layout, Partition, Source
from neardup.options.how_read import HowRead, OpenInput
from neardup.options.option_groups import Resources, Writing
from neardup.result_record.dedup_record import SET_COUNTS
from neardup.results.made_of_run import DEDUP, check_writing, made_of
from neardup.results.results import Results
from neardup.sketch.bands import candidate_probability
from neardup.spec import BOUNDED, LENGTH, Spec
from neardup.stages.exact import NEAR, counts_of_kinds
from neardup.state.band_store import BandStore
from neardup.state.run_state import RUN_FOLDER, RunState
from neardup.values.json_values import JSON

RECLUSTER = replace(DEDUP, name="recluster", begins="begin", resumes=False)


class MissingSource(Source):
    """An input that can't be read again; whoever reads it gets the error."""

    def __init__(self, error: InputError) -> None:
        self._error, self.columns, self.id_column = error, Columns(), None
        self.files, self.format, self.total_bytes, self.rereadable = [], "frame", None, True

    def partitions(self, file: int | None = None) -> Iterator[Partition]:
        raise self._error

    def layout(self, file: int) -> Layout:
        raise self._error


def what_is_needed(results: Results, spec: Spec) -> str:
    """Return why the tables do not decide the result of other settings; empty if they do.

    With all edges, those that reach the new threshold are the edges of the new run. Without them,
    the kept set stays as it is if no removed document falls below the threshold: otherwise one that
    is kept then may remove others, and which ones is not in the tables.
    """
    old, counts = results.spec, results.record["counts"]
    if "not_compared" not in counts:
        return "the tables of a job on Apache Spark do not suffice"
    if spec.pairs == "count":
        return "pairs are counted from the texts"
    if spec.threshold < old.threshold:
        return f"a threshold below {old.threshold:g}, that of the run, needs the texts"
    if spec.keep != old.keep:
        return "another `keep` needs the texts"
    if _edges_decide(results, spec):
        return ""
    if spec.enumerates or spec.cluster != "star":
        return "edges or clusters of other settings need the texts"
    similarity = results.array("similarity")
    below = int((similarity < spec.threshold).sum())
    if not below:
        return ""
    which = f"{below:,} of {counts['removed']:,} removed documents"
    has = f"have a similarity below {spec.threshold:g}: the texts are needed"
    lowest = f"up to {float(np.nanmin(similarity)):.4f} they are not"
    return f"{which} {has}; {lowest}, nor after a run with `pairs`='all'"


def lower_threshold(results: Results, spec: Spec) -> str:
    """Return a warning about a threshold below that of the run; empty where nothing is missed."""
    recipe = results.recipe
    if spec.threshold >= results.spec.threshold or not recipe.num_bands:
        return ""
    chance = candidate_probability(spec.threshold, recipe.num_bands, recipe.rows)
    if chance >= spec.recall:  # as after a reclustering at a higher threshold
        return ""
    return (
        f"warning: the bands were chosen for {results.spec.threshold:g}; of the pairs at "
        f"{spec.threshold:g} they find {100 * chance:.1f} % (predicted); run dedup again with "
        f"`threshold`={spec.threshold:g} to find the others"
    )


def _edges_decide(results: Results, spec: Spec) -> bool:
    """Return whether all edges are listed, among all documents, in keep order."""
    old, counts = results.spec, results.record["counts"]
    every = old.enumerates and old.max_bucket is None and not counts["not_compared"]
    # Else one document has the edges of those with equal tokens.
    listed = old.pairs == "all" and (spec.pairs == "all" or not spec.enumerates)
    each = listed or not counts["equal_tokens"]
    # Else the tables don't say how a document is alike to another one than its `duplicate_of`.
    equal = counts["same"] + counts["equal_words"]
    each = each and (spec.threshold == old.threshold or equal == counts["equal_tokens"])
    return every and each and spec.keep == "first" and spec.cluster in ("star", "components")


def outcome_of(results: Results, job: Job) -> Outcome:
    """Return the result of the job's settings, see `what_is_needed`."""
    spec, n, old = job.spec, results.documents, results.record
    edges = None
    if _edges_decide(results, spec):
        table = results.edges(["doc_a", "doc_b", "similarity"])
        assert table is not None
        every = Edges(*(np.asarray(column.to_numpy()) for column in table.columns))
        edges = every.at_least(spec.threshold)
        duplicate_of, similarity = kept_set(edges, n)
    else:
        duplicate_of, similarity = results.duplicate_of, results.array("similarity")
    how = np.where(duplicate_of == results.duplicate_of, results.how, np.int8(NEAR))
    cluster = star(duplicate_of)
    if edges is not None and spec.cluster == "components":
        cluster = components(edges, n)
    # Tables are by the numbers of documents, an answer by their positions in the input.
    positions = np.arange(n) if results.positions_of is None else results.positions_of
    by_position = np.argsort(positions)
    counts = {**old["counts"], **counts_of(duplicate_of, cluster), **counts_of_kinds(how)}
    listed = edges if spec.enumerates else None
    for name in ("edges", "pairs", "pairs_in_clusters", *SET_COUNTS):
        counts.pop(name, None)
    counts |= {} if listed is None else {"edges": len(listed)}
    target = np.append(positions, -1)[duplicate_of].astype(np.int32)
    answer = RunAnswer(
        first=np.arange(n, dtype=np.int32),
        duplicate_of=target[by_position],
        similarity=similarity[by_position],
        cluster=positions[cluster][by_position].astype(np.int32),
        how=how[by_position],
        docs=positions.astype(np.int32),
        edges=listed,
        counts=counts,
        bucket_sizes=old["bucket_sizes"],
        candidates_by_band=old["candidates_by_band"],
    )
    ids: Any = results.ids.take(by_position)
    ends, none, zeros = np.array([n]), np.zeros(0, np.uint64), np.zeros(n, np.int32)
    with suppress(InputError):
        ends = results.input.ends
    text = old["bytes"].get("text", 0)
    corpus = CorpusMetadata(none, none, zeros, zeros, none, pa.table({}), ends, [], text, 0, [], [])
    rows = None
    with suppress(InputError):  # of frames there are none
        rows = results.clusters(["file", "row"])
    reader, order, store = Reader(job.source), results.positions_of, old["store"]
    found = job, reader, corpus, answer, results.recipe, ids, order, store, Scratch()
    return Outcome(*found, job.resources.threads, locations=rows)


def changed(spec: Spec, tree_threshold: float | None = None, **changes: Any) -> Spec:
    """Return a spec with changes, of which None changes nothing."""
    given = {name: value for name, value in changes.items() if value is not None}
    bounded = given.get("cluster", spec.cluster) in BOUNDED
    if bounded and tree_threshold is None and spec.tree_threshold is not None:
        tree_threshold = min(spec.tree_threshold, given.get("threshold", spec.threshold))
    return spec.replace(tree_threshold=None).replace(**given, tree_threshold=tree_threshold)


@dataclass
class Reclustering(Steps):
    """A run that is done again with other settings; see `neardup.DedupRun.recluster`."""

    results: Results
    spec: Spec  # its bands are ignored, since those of the run stay
    resources: Resources
    writing: Writing
    clock: Clock
    #: The data used: ``tables`` only, ``sketches`` and the input, or ``input`` only.
    used: str = "input"

    def run(self) -> Storage:
        """Do it, in memory, or into a folder or to a URL."""
        if self.writing.out is None:
            self.writing = Writing(clean=False)
        else:
            self._refuse_itself(located(self.writing.out))
        given = self.results.read_from
        return execute(Request(RECLUSTER, given, self.writing, self.clock, lambda _: self))

    def _refuse_itself(self, target: Url | GivenPath) -> None:
        old = self.results.folder
        same = isinstance(target, Url) and target.rstrip("/") == self.results.name
        if isinstance(target, GivenPath) and old is not None:
            same = target.path.resolve().is_relative_to(old.resolve())
        if same:
            raise SpecError(f"{target} is the run itself, or in its folder", "name another output")

    @property
    def files(self) -> Sequence[Any]:
        return self.results.inputs

    @property
    def comparable(self) -> bool:
        return bool(self.results.record.get("source"))

    def manifest(self) -> dict[str, JSON]:
        spec, output = self.spec.as_dict(), self.writing.as_dict()
        about: dict[str, JSON] = {"run": self.results.record.get("asked"), "spec": spec}
        return {"recluster": about | {"neardup": __version__, "output": output}}

    def work(self, means: Means) -> AbstractContextManager[Made]:
        outcome = self._outcome(means.state)
        return made_of(outcome, self.writing, **self._about())

    def _about(self) -> dict[str, Any]:
        """Return further members of the record, also of an input that is gone for now."""
        about = {"recluster": {"run": self.results.name, "used": self.used}}
        if self.used != "tables":
            return about
        names = ("source", "frame", "texts_digest", "secret_ids", "private_ids")
        of_input = {name: self.results.record[name] for name in names}
        return about | of_input | {"notes": self.results.record.get("notes", [])}

    def _outcome(self, state: RunState | None) -> Outcome:
        spec = self.spec
        needed = what_is_needed(self.results, spec)
        # Where sketches and texts are in memory, a run is as quick, and complete.
        if not (needed or self.writing.clean or self.results.storage.made):
            self.used = "tables"
            try:
                opened = self._input()
            except InputError as error:  # raised when it is read
                opened = OpenInput(MissingSource(error), {"private_ids": self.results.private_ids})
            return outcome_of(self.results, self._job(opened, state))
        try:
            job = self._job(self._input(), state)
        except InputError as error:
            needed = needed or "only tables can be written without it; leave out the clean corpus"
            error.hint = f"{error.hint}; {needed}" if error.hint else needed
            raise
        check_writing(self.writing, job.source)
        if note := lower_threshold(self.results, spec):
            self.clock.emit(Event("begin", note=note))
        with self._sketches(job) as sketches:
            self.used = "input" if sketches is None else "sketches"
            return run(replace(job, sketches=sketches))

    def _input(self) -> OpenInput:
        return replace(self.results.input.opened, source=self.results.source)

    def _job(self, opened: OpenInput, state: RunState | None) -> Job:
        needed, source = needed_columns(self.spec, None), opened.source
        if needed and source.files and source.rereadable:  # reading checks that they are there
            source = HowRead.of(opened.how).open(self.results.read_from, needed)
        elif needed and not isinstance(source, MissingSource):
            schema = source.schema()
            names = [name for name in needed if name != LENGTH]
            missing = [n for n in names if schema is not None and type_at(schema, n) is None]
            if missing:
                raise ColumnError(f"the input has no column {min(missing)!r}")
        recipe, output = self.results.recipe, self.writing.as_dict()
        opened = OpenInput(source, opened.how, needed)
        return Job(opened, self.spec, self.resources, self.clock, state, output, recipe)

    @contextmanager
    def _sketches(self, job: Job) -> Iterator[BandStore | None]:
        """Give the sketches of the run, if they have all that the new settings need; else None."""
        results, new, id_column = self.results, self.spec, job.source.id_column
        old = results.spec
        needed = set(needed_columns(new, id_column)) - set(needed_columns(old, id_column))
        if needed:
            yield None
            return
        folder = None if results.folder is None else results.folder / RUN_FOLDER
        if folder is None or not RunState.exists(folder):
            yield None if results.storage.made is None else results.storage.made.sketches
            return
        try:
            with RunState.open(folder) as before:
                known, store = before.manifest, None
                if known["neardup"] == __version__ and known["store"] in ("auto", "sqlite"):
                    store = before.band_store()
                    store.open(results.recipe.digest, results.recipe.as_dict())
                yield store
        except (ResumeError, StoreError) as error:
            hint = f"wait for a run at work there; if it is damaged, remove {folder}; "
            hint += "the run then reads the input again"
            raise ResumeError(error.message, hint) from error
