"""The stages of the package in Spark's Python workers, over partitions of Arrow batches.

Each function is given to ``DataFrame.mapInArrow``. Its result depends on the rows of its partition,
not on their order: a task that is run again returns the same.
"""

import gc
import importlib.metadata
import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup import __version__
from neardup.arrays import array_of, binary_of, numbers, words
from neardup.errors import DependencyError, InputError
from neardup.match.resolve import Limits
from neardup.recipe import Recipe
from neardup.spark.stages import batches as arrow
from neardup.spark.stages import (
    bucket_stage,
    candidate_stage,
    cluster_stage,
    match_stage,
    sketch_stage,
)
from neardup.spark.stages.batches import Batches, Rows, one_batch
from neardup.spec import Spec

Versions = tuple[tuple[str, str], ...]
#: Columns that mark documents which come first in keep order.
_MARKS = ("earlier", "old")
#: Components are taken together until they have this part of the bytes of a task.
_PARTS = 4


@cache
def versions() -> Versions:
    """Return the versions of all that a result depends on, by name."""
    names = ("numpy", "numba", "pyarrow", "PyStemmer")
    python = ".".join(platform.python_version_tuple()[:2])
    libraries = ((name, importlib.metadata.version(name)) for name in names)
    return (("neardup", __version__), ("Python", python), *libraries)


def run(batches: Batches, task: Callable[..., Rows], driver: Versions, **given: Any) -> Rows:
    """Run a task; raise DependencyError where a version is not that of the driver."""
    for (name, there), (_, here) in zip(driver, versions(), strict=True):
        if there != here:
            message = f"{name} is {there} on the driver and {here} on an executor"
            raise DependencyError(message, "install the same versions on all machines")
    gc.freeze()  # after each task Spark collects garbage among all objects but these
    yield from task(batches, **given)


def nothing(batches: Batches) -> Rows:
    """Return the rows as they are; fails where an executor lacks a package."""
    yield from batches


def sketch(batches: Batches, spec: Spec, recipe: Recipe) -> Rows:
    """Turn ``text`` to sketches. Other columns stay: ``doc``, ``id``, and that of `keep`."""
    for batch in batches:
        columns: dict[str, Any] = {n: batch.column(n) for n in batch.schema.names}
        text, _ = columns.pop("text"), columns.pop("group", None)
        if spec.keep == "longest":
            columns["best"] = pc.fill_null(pc.utf8_length(text), 0).cast(pa.int64())
        (made,) = sketch_stage.sketch([batch], recipe)
        keys: Any = made["keys"]
        columns |= {name: made[name] for name in ("tokens", "shingles", "content")}
        columns |= {name: made[name].cast(pa.binary()) for name in ("hash", "bitmap")}
        rows = numbers(keys.flatten()).reshape(-1, recipe.num_bands)
        yield _rows(**columns, keys=binary_of(rows).cast(pa.binary()))


def _rows(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def order_of(spec: Spec) -> list[tuple[str, Any]]:
    """Return the keep order: columns and directions."""
    how = spec.keep.partition(":")[0]
    best = [] if how == "first" else [("best", "ascending" if how == "min" else "descending")]
    return [*best, ("id", "ascending")]


def in_order(rows: pa.RecordBatch, spec: Spec) -> pa.RecordBatch:
    """Sort rows with ``id``, ``best`` and marks in the keep order."""
    marks: Any = [(name, "descending") for name in _MARKS if name in rows.schema.names]
    return rows.take(pc.sort_indices(rows, [*marks, *order_of(spec)]))


def _filled(batches: Batches) -> list[pa.RecordBatch]:
    """Return the batches of a partition that have rows."""
    return [batch for batch in batches if batch.num_rows]


def exact(batches: Batches, spec: Spec) -> Rows:
    """Find exact duplicates in all documents of some hashes: ``id``, and ``first`` of its group."""
    if rows := _filled(batches):
        given = in_order(one_batch(rows), spec)
        hashes = _rows(doc=array_of(np.arange(len(given))), hash=given["hash"].cast(pa.binary(16)))
        (found,) = bucket_stage.exact([hashes])
        others: Any = found.filter(pc.not_equal(found["doc"], found["first"]))
        ids = given["id"]
        yield _rows(id=ids.take(others["doc"]), first=ids.take(others["first"]))


def mark(batches: Batches, spec: Spec, task_bytes: int) -> Rows:
    """See `neardup.spark.stages.candidate_stage.mark`; other columns stay.

    Rows are sorted by ``root``. Documents are numbered by row: ``doc``, a hash of the id, may be
    that of another document, too. A root that two components have joins them, which does no harm.
    """
    for rows in arrow.groups_of(batches, "root", task_bytes // _PARTS):
        table = pa.Table.from_batches(rows)
        table = table.take(pc.sort_indices(table, [("doc", "ascending"), ("id", "ascending")]))
        numbered = table.set_column(
            table.column_names.index("doc"), "doc", array_of(np.arange(len(table)))
        )
        (found,) = candidate_stage.mark(numbered.to_batches(), spec.threshold)
        left, roots = table.take(found["doc"]), table["doc"].take(found["root"])
        root = table.column_names.index("root")
        yield from left.set_column(root, "root", roots).combine_chunks().to_batches()


def sets(batches: Batches, recipe: Recipe) -> Rows:
    """Turn ``text`` to ``set``: the sorted 64-bit hashes of its shingles. ``doc`` is the root."""
    for batch in batches:
        (found,) = sketch_stage.sets([batch], recipe)
        lists: Any = found["shingles"]
        offsets = array_of(numbers(lists.offsets) * 8)
        buffers = [None, offsets.buffers()[1], lists.values.buffers()[1]]
        made = pa.Array.from_buffers(pa.large_binary(), len(lists), buffers)
        yield _rows(root=batch["doc"], id=batch["id"], set=made.cast(pa.binary()))


def solve(batches: Batches, spec: Spec, task_bytes: int) -> Rows:
    """Compare the documents of complete components.

    Rows are sorted by ``root``. They have ``id``, ``keys``, ``set``, and ``best`` where documents
    are ordered by it; keys and set of a document may be in two rows. Documents that are marked
    ``old`` are kept. With ``earlier``, each ``root`` is compared by itself, and only duplicates of
    documents that are marked by it are reported.

    Yields removed documents, and others that are not the first of their cluster: ``id``, ``other``
    that it is a duplicate of, ``similarity``, ``cluster``. Where pairs are listed, ``edge`` marks
    them: ``id``, ``other``, ``similarity``.
    """
    for rows in arrow.groups_of(batches, "root", task_bytes // _PARTS):
        batch = one_batch(rows)
        if "earlier" not in batch.schema.names:
            yield from _solve(batch, spec)
        else:
            for root in pc.unique(batch["root"]):
                yield from _solve(batch.filter(pc.equal(batch["root"], root)), spec)


def _solve(batch: pa.RecordBatch, spec: Spec) -> Rows:
    """Compare the documents of a batch, whose rows have keys, a set, or both."""
    names = [name for name in batch.schema.names if name != "set"]
    documents = batch.select(names).filter(pc.is_valid(batch["keys"]))
    if not len(documents):
        return
    documents = in_order(documents, spec)
    marks = [name for name in _MARKS if name in names]
    old = int(numbers(documents[marks[0]]).sum()) if marks else 0
    limits = Limits(old=old, among="earlier" not in marks)
    ids, doc = documents["id"], np.arange(len(documents))
    with_keys = _rows(doc=array_of(doc), keys=arrow.fixed_lists_of(words(documents["keys"])))
    buckets = list(bucket_stage.bucket(bucket_stage.band_rows([with_keys])))
    shingles = _sets_of(ids, batch)
    (answer,) = match_stage.resolve(buckets, [shingles], spec.threshold, limits=limits)
    duplicate_of: Any = answer["duplicate_of"]
    target = numbers(duplicate_of.fill_null(-1))
    cluster = np.where(target < 0, doc, target)
    if spec.enumerates and limits.among:
        (edges,) = match_stage.pairs(buckets, [shingles], spec.threshold, answers=[answer])
        a, b, none = ids.take(edges["a"]), ids.take(edges["b"]), pa.nulls(len(edges), ids.type)
        yield _found(True, a, b, edges["similarity"], none)
        if spec.cluster != "star":
            needed = [shingles] if spec.cluster == "bounded" else []
            (labels,) = cluster_stage.cluster(
                [edges], needed, spec.cluster, spec.minimum_in_cluster
            )
            cluster[numbers(labels["doc"])] = numbers(labels["cluster"])
    rows = array_of(np.flatnonzero((target >= 0) | (cluster != doc)))
    others, clusters = (ids.take(of.take(rows)) for of in (duplicate_of, array_of(cluster)))
    yield _found(False, ids.take(rows), others, answer["similarity"].take(rows), clusters)


def _sets_of(ids: Any, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the sets of documents, of schema `sketch_stage.SETS`, in the order of their ids.

    Raises:
        InputError: A document has no set.
    """
    with_set = batch.filter(pc.is_valid(batch["set"]))
    row: Any = pc.index_in(ids, value_set=with_set["id"])
    if row.null_count:
        message = "a document of the sketches is not in the input any more"
        raise InputError(message, "start again, with another checkpoint")
    binary: Any = with_set["set"].take(row)
    _, ends, data = binary.buffers()
    offsets = np.frombuffer(ends, np.int64, len(binary) + 1) // 8
    lists = arrow.lists_of(np.frombuffer(data or b"", np.uint64, offsets[-1]), offsets)
    doc = array_of(np.arange(len(ids)))
    return pa.RecordBatch.from_arrays([doc, lists], schema=sketch_stage.SETS)


def _found(edge: bool, id: Any, other: Any, similarity: Any, cluster: Any) -> pa.RecordBatch:
    marks = array_of(np.full(len(id), edge))
    return _rows(id=id, other=other, similarity=similarity, cluster=cluster, edge=marks)
