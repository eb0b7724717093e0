"""What runs in Spark's Python workers: the stages of the package, over partitions of Arrow batches.

Each function is given to ``DataFrame.mapInArrow``. What it returns is a function of the rows of its
partition, in whatever order they come, so that a task that is run again returns the same.
"""

from __future__ import annotations

import gc
import importlib.metadata
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup import __version__
from neardup.arrays import ArrowArray, array_of, numbers
from neardup.cluster.components import connected
from neardup.errors import DependencyError, InputError
from neardup.match.bucketing import bucket_bands, plausible
from neardup.recipe import Recipe
from neardup.spec import Spec
from neardup.stages import bucket_stage, cluster_stage, match_stage, sketch_stage
from neardup.stages.batches import Batches, binary_of, columns_of, fixed_lists_of, lists_of, words
from neardup.threads import Pool

Rows = Iterator[pa.RecordBatch]
#: A document in a bucket, while it is shuffled. Of the key 6 bytes do: keys that are equal by
#: chance only cause more documents to be looked at together.
_ENTRY = np.dtype([("high", "<u4"), ("low", "<u2"), ("doc", "<i8")])
#: Columns that mark documents which come first in keep order.
_MARKS = ("earlier", "old")
#: Makes keys of different bands differ.
_BAND = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Work:
    """What all tasks of a job know.

    Attributes:
        spec: What is asked for.
        recipe: How texts become band keys.
        versions: See `versions`, on the driver.
    """

    spec: Spec
    recipe: Recipe
    versions: tuple[tuple[str, str], ...]

    @property
    def order(self) -> list[tuple[str, Any]]:
        """The keep order: columns and directions."""
        how = self.spec.keep.partition(":")[0]
        best = [] if how == "first" else [("best", "ascending" if how == "min" else "descending")]
        return [*best, ("id", "ascending")]


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of all that a result depends on, by name."""
    names = ("numpy", "numba", "pyarrow", "PyStemmer")
    python = ".".join(platform.python_version_tuple()[:2])
    libraries = ((name, importlib.metadata.version(name)) for name in names)
    return (("neardup", __version__), ("Python", python), *libraries)


def check_versions(batches: Batches, work: Work) -> Rows:
    """Return the rows, but refuse to work where versions are not those of the driver.

    Raises:
        DependencyError: The message names the first that differs.
    """
    for (name, driver), (_, here) in zip(work.versions, versions(), strict=True):
        if driver != here:
            message = f"{name} is {driver} on the driver and {here} on an executor"
            raise DependencyError(message, "install the same versions on all machines")
    yield from batches


def sketch(batches: Batches, work: Work) -> Rows:
    """Turn ``text`` to sketches. Other columns stay: ``doc``, ``id``, and what orders documents."""
    for batch in check_versions(batches, work):
        columns: dict[str, Any] = {n: batch.column(n) for n in batch.schema.names}
        text = columns.pop("text")
        if work.spec.keep == "longest":
            columns["best"] = pc.fill_null(pc.utf8_length(text), 0).cast(pa.int64())
        for made in sketch_stage.sketch([batch], work.recipe):
            keys: Any = made.column("keys")
            columns |= {name: made.column(name) for name in ("tokens", "shingles")}
            columns |= {name: made.column(name).cast(pa.binary()) for name in ("hash", "bitmap")}
            rows = numbers(keys.flatten()).reshape(-1, work.recipe.num_bands)
            yield _rows(**columns, keys=binary_of(rows).cast(pa.binary()))


def _rows(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def run(batches: Batches, task: Callable[..., Rows], **given: Any) -> Rows:
    """Run a task in a worker. After each one Spark collects garbage among all objects but these."""
    gc.freeze()
    yield from task(batches, **given)


def _whole(task: Callable[..., Rows]) -> Callable[..., Rows]:
    """Give a task all rows of its partition as one table; of a partition without rows, nothing."""

    @wraps(task)
    def run(batches: Batches, **given: Any) -> Rows:
        if rows := [batch for batch in batches if batch.num_rows]:
            yield from task(pa.Table.from_batches(rows), **given)

    return run


@_whole
def exact(rows: pa.Table, work: Work) -> Rows:
    """Find exact duplicates in all documents of some hashes: ``id``, and ``first`` of its group."""
    table = _in_order(rows, work.order)
    docs, ids = array_of(np.arange(len(table))), _column(table, "id")
    hashes = _rows(doc=docs, hash=_column(table, "hash").cast(pa.binary(16)))
    for found in bucket_stage.exact([hashes]):
        others: Any = found.filter(pc.not_equal(found.column("doc"), found.column("first")))
        yield _rows(id=ids.take(others["doc"]), first=ids.take(others["first"]))


def spread(batches: Batches, shares: int) -> Rows:
    """Put band keys with their documents into one row for each of some shares of all keys."""
    for batch in batches:
        keys = _words(batch.column("keys"))
        keys = (keys ^ np.arange(keys.shape[1], dtype=np.uint64) * _BAND).ravel()
        share = (keys % np.uint64(shares)).astype(np.int32)
        order = np.argsort(share, kind="stable")
        entries = np.empty(len(keys), _ENTRY)
        entries["high"], entries["low"] = keys >> np.uint64(32), keys & np.uint64(0xFFFF)
        entries["doc"] = np.repeat(numbers(batch.column("doc")), len(keys) // batch.num_rows)
        entries = entries[order]
        parts = np.split(entries, np.cumsum(np.bincount(share, minlength=shares))[:-1])
        values = pa.array([part.tobytes() for part in parts], pa.binary())
        yield _rows(share=array_of(np.arange(shares, dtype=np.int32)), entries=values)


def forest(batches: Batches) -> Rows:
    """Join the documents of all buckets of some shares: ``doc``, and ``root`` of its tree."""
    parts = [value.as_buffer() for batch in batches for value in batch.column("entries")]
    entries = np.concatenate([np.empty(0, _ENTRY), *(np.frombuffer(p, _ENTRY) for p in parts)])
    key = entries["high"].astype(np.uint64) << np.uint64(16) | entries["low"]
    order = np.argsort(key, kind="stable")
    key, docs = key[order], entries["doc"][order]
    same = np.flatnonzero(key[1:] == key[:-1])
    yield from _components(docs[same], docs[same + 1], roots=False)


def union(batches: Batches) -> Rows:
    """Join the trees of all shares: ``doc``, and ``root`` of its component, roots included."""
    a, b = columns_of(batches, "doc", "root")
    yield from _components(a, b, roots=True)


def _components(a: np.ndarray, b: np.ndarray, roots: bool) -> Rows:
    docs = np.unique(np.concatenate([a, b]))
    x, y = (np.searchsorted(docs, some).astype(np.int32) for some in (a, b))
    root = docs[connected(x, y, len(docs))]
    rows = slice(None) if roots else root != docs
    yield _rows(doc=array_of(docs[rows]), root=array_of(root[rows]))


@_whole
def mark(table: pa.Table, work: Work) -> Rows:
    """Leave out the documents of whole components that are not similar to any other."""
    table = _in_order(table, [("doc", "ascending")])  # roots must not depend on which came first
    keys, doc = _words(_column(table, "keys")), numbers(_column(table, "doc"))
    with Pool(1) as pool:
        bands = bucket_bands(lambda band: keys[:, band], work.recipe.num_bands, pool)
        sizes, bitmaps = numbers(_column(table, "shingles")), _words(_column(table, "bitmap"))
        rows = np.flatnonzero(plausible(bands, sizes, bitmaps, work.spec.threshold, pool))
        keys, a, b = keys[rows], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for band in bucket_bands(lambda band: keys[:, band], work.recipe.num_bands, pool):
            a.append(np.repeat(band.members[band.starts[:-1]], np.diff(band.starts)))
            b.append(band.members)
    root = doc[rows[connected(np.concatenate(a), np.concatenate(b), len(rows))]]
    left = table.drop_columns(["root", "doc", "bitmap"]).take(array_of(rows))
    yield from left.append_column("root", array_of(root)).combine_chunks().to_batches()


def sets(batches: Batches, work: Work) -> Rows:
    """Turn ``text`` to ``set``: the sorted 64-bit hashes of its shingles. ``doc`` is the root."""
    for batch in batches:
        for found in sketch_stage.sets([batch], work.recipe):
            lists: Any = found.column("shingles")
            offsets = array_of(numbers(lists.offsets) * 8)
            buffers = [None, offsets.buffers()[1], lists.values.buffers()[1]]
            made = pa.Array.from_buffers(pa.large_binary(), len(lists), buffers)
            yield _rows(root=batch["doc"], id=batch["id"], set=made.cast(pa.binary()))


@_whole
def solve(given: pa.Table, work: Work) -> Rows:
    """Compare the documents of whole components.

    Args:
        given: ``id``, ``keys``, ``set``, and ``best`` where documents are ordered by it; keys and
            set of a document may be in two rows. Documents that are marked ``old`` are kept. With
            ``earlier``, each ``root`` is compared by itself, and only what is a duplicate of a
            document that is marked by it is reported.
        work: What all tasks know.

    Yields:
        Removed documents, and others that are not the first of their cluster: ``id``, ``other``
        that it is a duplicate of, ``similarity``, ``cluster``. Where pairs are listed, ``edge``
        marks them: ``id``, ``other``, ``similarity``.
    """
    if "earlier" not in given.column_names:
        yield from _solve(given, work)
        return
    for root in pc.unique(given["root"]):
        yield from _solve(given.filter(pc.equal(given["root"], root)), work)


def _solve(given: pa.Table, work: Work) -> Rows:
    spec = work.spec
    table = _in_order(given.filter(pc.is_valid(given["keys"])).drop_columns("set"), work.order)
    if not len(table):
        return
    earlier = "earlier" in table.column_names
    marks = [name for name in _MARKS if name in table.column_names]
    first = int(numbers(_column(table, marks[0])).sum()) if marks else 0
    ids: Any = _column(table, "id")
    with_set = given.filter(pc.is_valid(given["set"])).select(["id", "set"])
    place: Any = pc.index_in(ids, value_set=_column(with_set, "id"))
    if place.null_count:
        message = "a document of the sketches is not in the input any more"
        raise InputError(message, "start again, with another checkpoint")
    own = np.arange(len(table))
    named = _rows(doc=array_of(own), keys=fixed_lists_of(_words(_column(table, "keys"))))
    buckets = list(bucket_stage.bucket(bucket_stage.band_rows([named])))
    lists = _lists_of(_column(with_set, "set").take(place))
    shingles = pa.RecordBatch.from_arrays([array_of(own), lists], schema=sketch_stage.SETS)
    other, similarity = _resolved(buckets, shingles, spec.threshold, first, not earlier)
    cluster = np.where(other < 0, own, other)
    if spec.enumerates and not earlier:
        (edges,) = match_stage.pairs(buckets, [shingles], spec.threshold)
        yield _rows(
            id=ids.take(edges.column("a")),
            other=ids.take(edges.column("b")),
            similarity=edges.column("similarity"),
            cluster=pa.nulls(len(edges), ids.type),
            edge=array_of(np.ones(len(edges), np.bool_)),
        )
        if spec.cluster != "star":
            needed = [shingles] if spec.cluster == "bounded" else []
            (found,) = cluster_stage.cluster([edges], needed, spec.cluster, spec.minimum_in_cluster)
            cluster[numbers(found.column("doc"))] = numbers(found.column("cluster"))
    rows = np.flatnonzero((other >= 0) | (cluster != own))
    kept = other[rows] < 0
    yield _rows(
        id=ids.take(array_of(rows)),
        other=ids.take(array_of(other[rows], null=kept)),
        similarity=array_of(similarity[rows], null=kept),
        cluster=ids.take(array_of(cluster[rows])),
        edge=array_of(np.zeros(len(rows), np.bool_)),
    )


def _resolved(
    buckets: list[pa.RecordBatch], sets: pa.RecordBatch, threshold: float, first: int, rest: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return of what each document is a duplicate, -1 where it is kept, and their similarity.

    The first documents are kept, even if they are similar to each other; the rest are compared
    with them, and with each other if that is asked for.
    """
    other, similarity = np.full(len(sets), -1), np.full(len(sets), np.nan)

    def compare(docs: np.ndarray, last: int) -> np.ndarray:
        some = sets if len(docs) == len(sets) else sets.take(array_of(docs))
        (answer,) = match_stage.resolve(buckets, [some], threshold)
        found: Any = answer.column("duplicate_of")
        target = numbers(found.fill_null(-1))
        rows = (docs >= first) & (target >= 0) & (target < last)
        rows &= (other[docs] < 0) | (target < other[docs])
        other[docs[rows]] = target[rows]
        similarity[docs[rows]] = numbers(answer.column("similarity").fill_null(0.0))[rows]
        return target

    left, new = np.arange(first), np.arange(first, len(sets))
    while len(left):  # those of them that are similar to another one take turns
        left = left[compare(np.append(left, new), first)[: len(left)] >= 0]
    if rest and (other[new] < 0).any():
        compare(new[other[new] < 0], len(sets))
    return other, similarity


def _in_order(rows: pa.Table, order: list[tuple[str, Any]]) -> pa.Table:
    marks: Any = [(name, "descending") for name in _MARKS if name in rows.column_names]
    return rows.take(pc.sort_indices(rows, [*marks, *order]))


def _column(table: pa.Table, name: str) -> Any:
    """Return a column as one array; of binary values, one that may have more than 2 GB."""
    column: Any = table.column(name)
    if pa.types.is_binary(column.type):
        column = column.cast(pa.large_binary())
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _words(values: Any) -> np.ndarray:
    """Return binary values of one length as uint64[n, words]."""
    width = pc.binary_length(values)[0].as_py() if len(values) else 8
    return words(values.cast(pa.binary(width)))


def _lists_of(values: Any) -> ArrowArray:
    """Return large binary values as lists of numbers."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    return lists_of(
        np.frombuffer(data or b"", np.uint64)[ends[0] // 8 : ends[-1] // 8], (ends - ends[0]) // 8
    )
