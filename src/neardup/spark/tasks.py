"""What runs in Spark's Python workers: the stages of the package, over partitions of Arrow batches.

Each function is given to ``DataFrame.mapInArrow``. What it returns is a function of the rows of its
partition, in whatever order they come, so that a task that is run again returns the same.
"""

from __future__ import annotations

import gc
import importlib.metadata
import platform
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup import __version__
from neardup.arrays import ArrowArray, array_of, numbers
from neardup.errors import DependencyError, InputError
from neardup.recipe import Recipe
from neardup.spec import Spec
from neardup.stages import bucket_stage, candidate_stage, cluster_stage, match_stage, sketch_stage
from neardup.stages.batches import Batches, binary_of, fixed_lists_of, lists_of, one_batch, words

Rows = Iterator[pa.RecordBatch]
Versions = tuple[tuple[str, str], ...]


@cache
def versions() -> Versions:
    """Return the versions of all that a result depends on, by name."""
    names = ("numpy", "numba", "pyarrow", "PyStemmer")
    python = ".".join(platform.python_version_tuple()[:2])
    libraries = ((name, importlib.metadata.version(name)) for name in names)
    return (("neardup", __version__), ("Python", python), *libraries)


def run(batches: Batches, task: Callable[..., Rows], driver: Versions, **given: Any) -> Rows:
    """Run a task, but refuse to work where versions are not those of the driver.

    Raises:
        DependencyError: The message names the first that differs.
    """
    for (name, there), (_, here) in zip(driver, versions(), strict=True):
        if there != here:
            message = f"{name} is {there} on the driver and {here} on an executor"
            raise DependencyError(message, "install the same versions on all machines")
    gc.freeze()  # after each task Spark collects garbage among all objects but these
    yield from task(batches, **given)


def sketch(batches: Batches, spec: Spec, recipe: Recipe) -> Rows:
    """Turn ``text`` to sketches. Other columns stay: ``doc``, ``id``, and what orders documents."""
    for batch in batches:
        columns: dict[str, Any] = {n: batch.column(n) for n in batch.schema.names}
        text = columns.pop("text")
        if spec.keep == "longest":
            columns["best"] = pc.fill_null(pc.utf8_length(text), 0).cast(pa.int64())
        for made in sketch_stage.sketch([batch], recipe):
            keys: Any = made.column("keys")
            columns |= {name: made.column(name) for name in ("tokens", "shingles")}
            columns |= {name: made.column(name).cast(pa.binary()) for name in ("hash", "bitmap")}
            rows = numbers(keys.flatten()).reshape(-1, recipe.num_bands)
            yield _rows(**columns, keys=binary_of(rows).cast(pa.binary()))


def _rows(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def mark(batches: Batches, spec: Spec) -> Rows:
    """See `neardup.stages.candidate_stage.mark`; other columns stay."""
    for whole in _whole(batches):
        for found in candidate_stage.mark([whole], spec.threshold):
            left = whole.take(pc.index_in(found["doc"], value_set=whole["doc"]))
            gone = ("doc", "root", "bitmap")
            rest = {name: left[name] for name in left.schema.names if name not in gone}
            yield _rows(**rest, root=found["root"])


def sets(batches: Batches, recipe: Recipe) -> Rows:
    """Turn ``text`` to ``set``: the sorted 64-bit hashes of its shingles. ``doc`` is the root."""
    for batch in batches:
        for found in sketch_stage.sets([batch], recipe):
            lists: Any = found.column("shingles")
            offsets = array_of(numbers(lists.offsets) * 8)
            buffers = [None, offsets.buffers()[1], lists.values.buffers()[1]]
            made = pa.Array.from_buffers(pa.large_binary(), len(lists), buffers)
            yield _rows(root=batch["doc"], id=batch["id"], set=made.cast(pa.binary()))


def order_of(spec: Spec) -> list[tuple[str, Any]]:
    """Return the keep order: columns and directions."""
    how = spec.keep.partition(":")[0]
    best = [] if how == "first" else [("best", "ascending" if how == "min" else "descending")]
    return [*best, ("id", "ascending")]


def solve(batches: Batches, spec: Spec) -> Rows:
    """Compare the documents of whole components.

    Args:
        batches: ``id``, ``keys``, ``set``, and ``best`` where documents are ordered by it; keys and
            set of a document may be in two rows. Documents that are marked ``old`` are kept. With
            ``earlier``, each ``root`` is compared by itself, and only what is a duplicate of a
            document that is marked by it is reported.
        spec: What is asked for.

    Yields:
        Removed documents, and others that are not the first of their cluster: ``id``, ``other``
        that it is a duplicate of, ``similarity``, ``cluster``. Where pairs are listed, ``edge``
        marks them: ``id``, ``other``, ``similarity``.
    """
    for whole in _whole(batches):
        if "earlier" not in whole.schema.names:
            yield from _solve(whole, spec)
            continue
        for root in pc.unique(whole["root"]):
            yield from _solve(whole.filter(pc.equal(whole["root"], root)), spec)


def _solve(whole: pa.RecordBatch, spec: Spec) -> Rows:
    given = whole.filter(pc.is_valid(whole["keys"]))
    if not len(given):
        return
    marks = [name for name in ("earlier", "old") if name in given.schema.names]
    among, old = "earlier" not in marks, int(numbers(given[marks[0]]).sum()) if marks else 0
    order: Any = [*((name, "descending") for name in marks), *order_of(spec)]
    places = pc.sort_indices(given, order)
    ids, keys = given["id"].take(places), given["keys"].take(places)
    with_set = whole.filter(pc.is_valid(whole["set"]))
    place: Any = pc.index_in(ids, value_set=with_set["id"])
    if place.null_count:
        message = "a document of the sketches is not in the input any more"
        raise InputError(message, "start again, with another checkpoint")
    own = np.arange(len(ids))
    named = _rows(doc=array_of(own), keys=fixed_lists_of(words(keys)))
    buckets = list(bucket_stage.bucket(bucket_stage.band_rows([named])))
    lists = _lists_of(with_set["set"].take(place))
    shingles = pa.RecordBatch.from_arrays([array_of(own), lists], schema=sketch_stage.SETS)
    (answer,) = match_stage.resolve_new(buckets, [shingles], spec.threshold, old, among)
    found: Any = answer["duplicate_of"]
    other = numbers(found.fill_null(-1))
    cluster = np.where(other < 0, own, other)
    if spec.enumerates and among:
        (edges,) = match_stage.pairs(buckets, [shingles], spec.threshold)
        yield _rows(
            id=ids.take(edges["a"]),
            other=ids.take(edges["b"]),
            similarity=edges["similarity"],
            cluster=pa.nulls(len(edges), ids.type),
            edge=array_of(np.ones(len(edges), np.bool_)),
        )
        if spec.cluster != "star":
            needed = [shingles] if spec.cluster == "bounded" else []
            (of,) = cluster_stage.cluster([edges], needed, spec.cluster, spec.minimum_in_cluster)
            cluster[numbers(of["doc"])] = numbers(of["cluster"])
    rows = array_of(np.flatnonzero((other >= 0) | (cluster != own)))
    yield _rows(
        id=ids.take(rows),
        other=ids.take(found.take(rows)),
        similarity=answer["similarity"].take(rows),
        cluster=ids.take(array_of(cluster).take(rows)),
        edge=array_of(np.zeros(len(rows), np.bool_)),
    )


def _whole(batches: Batches) -> Rows:
    """Put all rows of a partition into one batch; there is none without rows."""
    if rows := [batch for batch in batches if batch.num_rows]:
        yield one_batch(rows)


def _lists_of(values: Any) -> ArrowArray:
    """Return large binary values as lists of numbers."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    return lists_of(
        np.frombuffer(data or b"", np.uint64)[ends[0] // 8 : ends[-1] // 8], (ends - ends[0]) // 8
    )
