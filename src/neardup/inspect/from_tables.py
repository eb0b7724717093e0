"""A higher threshold from the tables of a run alone, where these decide it exactly."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.cluster.edges import Edges
from neardup.cluster.methods import components, counts_of, kept_set, star
from neardup.engines.comparing import Answer
from neardup.engines.job import Job
from neardup.engines.local import Outcome
from neardup.engines.metadata import Corpus
from neardup.engines.reading import Reader
from neardup.errors import InputError
from neardup.io.source import Columns, Layout, Partition, Source
from neardup.memory import Scratch
from neardup.output.results import Results
from neardup.spec import Spec


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
    """Return why the tables do not decide what a run of other settings finds; empty if they do.

    With all edges, those that reach the new threshold are the edges of the new run. Without them,
    the kept set stays as it is if no removed document falls below the threshold: otherwise one that
    is kept then may remove others, and which ones is not in the tables.
    """
    old, counts = results.spec, results.record["counts"]
    if spec.threshold < old.threshold:
        return f"a threshold below {old.threshold:g}, that of the run, needs the texts"
    if spec.keep != old.keep:
        return "another `keep` needs the texts"
    if _edges_decide(results, spec):
        return ""
    if spec.enumerates:
        return "edges or clusters of other settings need the texts"
    below = int((results.array("similarity") < spec.threshold).sum())
    if below:
        lowest = float(np.nanmin(results.array("similarity")))
        return (
            f"{below:,} of {counts['removed']:,} removed documents have a similarity below "
            f"{spec.threshold:g}, so that the texts are needed; up to {lowest:.4f} they are not, "
            "nor after a run with `pairs`='all'"
        )
    return ""


def _edges_decide(results: Results, spec: Spec) -> bool:
    """Return whether all edges are listed, among all documents, in keep order."""
    old, counts = results.spec, results.record["counts"]
    every = old.enumerates and old.max_bucket is None and not counts["not_compared"]
    # Else one document has the edges of its exact duplicates.
    listed = old.pairs == "all" and (spec.pairs == "all" or not spec.enumerates)
    each = listed or not counts["exact_duplicates"]
    return every and each and spec.keep == "first" and spec.cluster in ("star", "components")


def outcome_of(results: Results, job: Job) -> Outcome:
    """Return what a run of the job's settings finds, see `what_is_needed`."""
    spec, n, old = job.spec, results.documents, results.record
    edges = None
    if _edges_decide(results, spec):
        table = results.edges(["doc_a", "doc_b", "similarity"])
        assert table is not None
        every = Edges(*(np.asarray(column.to_numpy()) for column in table.columns))
        edges = every.at_least(spec.threshold)
        kept = kept_set(edges, n)
        duplicate_of, similarity = kept.duplicate_of, kept.similarity
    else:
        duplicate_of, similarity = results.duplicate_of, results.array("similarity")
    cluster = star(duplicate_of)
    if edges is not None and spec.cluster == "components":
        cluster = components(edges, n)
    # Documents go by their numbers here, and by their places in the input in an answer.
    places = np.arange(n) if results.positions_of is None else results.positions_of
    by_place = np.argsort(places)
    counts = {**old["counts"], **counts_of(duplicate_of, cluster)}
    counts |= {} if edges is None else {"edges": len(edges)}
    target = np.append(places, -1)[duplicate_of].astype(np.int32)
    found = target[by_place], similarity[by_place], places[cluster][by_place].astype(np.int32)
    listed, about = edges if spec.enumerates else None, ("bucket_sizes", "candidates_by_band")
    documents, ranks = np.arange(n, dtype=np.int32), places.astype(np.int32)
    answer = Answer(documents, *found, ranks, listed, counts, *(old[name] for name in about))
    ids: Any = results.ids.take(by_place)
    rows = None
    with suppress(InputError):  # of frames there are none
        rows = results.clusters(["file", "row"])
    made = job, Reader(job.source), _corpus(results), answer, results.recipe, ids
    return Outcome(*made, results.positions_of, old["store"], Scratch(), places=rows)


def _corpus(results: Results) -> Corpus:
    n, none = results.documents, np.zeros(0, np.uint64)
    try:
        ends = results.ends
    except InputError:
        ends = np.array([n])
    zeros, text = np.zeros(n, np.int32), results.record["bytes"].get("text", 0)
    return Corpus(none, zeros, zeros, none, pa.table({}), ends, [], text, 0, 0)
