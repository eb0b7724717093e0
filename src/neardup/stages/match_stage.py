"""Buckets and sets to what is a duplicate of what, and to pairs."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, numbers
from neardup.cluster.edges import Allocate, Edges
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Buckets
from neardup.match.bucketing import BandBuckets, bucket_documents
from neardup.match.pairs import Found, pairs_of_buckets
from neardup.match.resolve import resolve as resolve_numbers
from neardup.match.verifying import content_order, make_sets
from neardup.sketch.texts import Ragged, joined
from neardup.stages.batches import Batches, Rows, columns_of, ragged, schema_of
from neardup.threads import Pool

#: Schema of `resolve`: ``duplicate_of`` and ``similarity`` are null for a kept document.
ANSWERS = schema_of(doc=pa.int64(), duplicate_of=pa.int64(), similarity=pa.float64())
#: Schema of `pairs`: ``a`` comes before ``b`` in keep order.
EDGES = schema_of(a=pa.int64(), b=pa.int64(), similarity=pa.float64())


class _Documents(NamedTuple):
    docs: np.ndarray  # int64[m], ascending
    sets: Sets
    buckets: Ragged  # documents of each bucket
    bands: np.ndarray  # int32[buckets]: the band of each


def numbered(docs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the place of each value in the sorted ``docs``, as int32."""
    return np.searchsorted(docs, values).astype(np.int32)


def _gather(buckets: Batches, sets: Batches) -> _Documents:
    buckets, sets = list(buckets), list(sets)
    (docs,) = columns_of(sets, "doc")
    (bands,) = columns_of(buckets, "band")
    order = np.argsort(docs, kind="stable")
    made = make_sets(joined(ragged(b.column("shingles")) for b in sets)).take(order)
    members = joined((ragged(b.column("docs")) for b in buckets), np.int64)
    return _Documents(docs[order], made, members, bands)


def _buckets(found: _Documents, rank: np.ndarray) -> Buckets:
    """Return the buckets with documents as numbers, in the order of their ranks."""
    docs, bands = found.buckets.values, np.unique(found.bands)
    bucket = np.repeat(np.arange(len(found.bands)), np.diff(found.buckets.offsets))
    there = np.isin(docs, found.docs)

    def of_band(band: int) -> BandBuckets:
        some = np.flatnonzero(there & (found.bands[bucket] == band))
        members = rank[numbered(found.docs, docs[some])]
        members = members[np.lexsort((members, bucket[some]))]
        # A bucket of which no set is there is none.
        starts = np.unique(np.searchsorted(bucket[some], np.arange(len(found.bands) + 1)))
        return BandBuckets(members.astype(np.int32), starts.astype(np.int32))

    return bucket_documents(map(of_band, bands.tolist()), len(found.docs), len(bands))


def resolve(buckets: Batches, sets: Batches, threshold: float, threads: int = 1) -> Rows:
    """Decide what is kept, and what each removed document is a duplicate of.

    Takes buckets, see `neardup.stages.bucket_stage.BUCKETS`, and the sets of their documents, see
    `neardup.stages.sketch_stage.SETS`; of those whose set is not there, nothing is said. Yields one
    batch of schema `ANSWERS`. Threads don't change the result.
    """
    found = _gather(buckets, sets)
    rank = np.arange(len(found.docs), dtype=np.int32)
    with Pool(threads) as pool:
        answer = resolve_numbers(found.sets, _buckets(found, rank), threshold, pool)
    kept = answer.duplicate_of < 0
    columns = [
        array_of(found.docs),
        array_of(found.docs[answer.duplicate_of], null=kept),
        array_of(answer.similarity, null=kept),
    ]
    yield pa.RecordBatch.from_arrays(columns, schema=ANSWERS)


def resolve_new(
    buckets: Batches, sets: Batches, threshold: float, old: int, among: bool = True
) -> Rows:
    """Decide as `resolve` does, but the first ``old`` documents stay, even if they are similar.

    The others are compared with them, and if ``among`` with each other. ``sets`` are one batch of
    documents 0, 1, ..., all in keep order.
    """
    buckets, (every,) = list(buckets), sets
    other, similarity = np.full(len(every), -1), np.full(len(every), np.nan)

    def compare(docs: np.ndarray, last: int) -> np.ndarray:
        some = every if len(docs) == len(every) else every.take(array_of(docs))
        (answer,) = resolve(buckets, [some], threshold)
        found: Any = answer.column("duplicate_of")
        target = numbers(found.fill_null(-1))
        rows = (docs >= old) & (target >= 0) & (target < last)
        rows &= (other[docs] < 0) | (target < other[docs])
        other[docs[rows]] = target[rows]
        similarity[docs[rows]] = numbers(answer.column("similarity").fill_null(0.0))[rows]
        return target

    left, new = np.arange(old), np.arange(old, len(every))
    while len(left):  # those of them that are similar to another one take turns
        left = left[compare(np.append(left, new), old)[: len(left)] >= 0]
    if among and (other[new] < 0).any():
        compare(new[other[new] < 0], len(every))
    kept = other < 0
    columns = [every.column("doc"), array_of(other, null=kept), array_of(similarity, null=kept)]
    yield pa.RecordBatch.from_arrays(columns, schema=ANSWERS)


def pairs(buckets: Batches, sets: Batches, threshold: float, threads: int = 1) -> Rows:
    """List the pairs that share a bucket and reach the threshold, in one sorted batch of `EDGES`.

    Arguments are as for `resolve`.
    """
    found = _gather(buckets, sets)
    order = content_order(found.sets)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    with Pool(threads) as pool:
        by_content, buckets_there = found.sets.take(order), _buckets(found, rank)
        listed = pairs_of_buckets(by_content, buckets_there, threshold, pool)
    edges = edges_of(listed, order)
    columns = found.docs[edges.a], found.docs[edges.b], edges.similarity
    yield pa.RecordBatch.from_arrays([array_of(column) for column in columns], schema=EDGES)


def edges_of(found: Found, order: np.ndarray, allocate: Allocate = np.empty) -> Edges:
    """Return pairs, overwritten, as edges between the documents that ``order`` has for numbers."""
    order = order.astype(np.int32)
    for a, b, _ in found.parts:
        x, y = order[a], order[b]
        np.minimum(x, y, out=a)
        np.maximum(x, y, out=b)
    return Edges.gather(found.parts, allocate)
