"""Buckets and sets to the duplicates, each with the kept document, and to pairs."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import array_of
from neardup.kernels.jaccard import Sets
from neardup.kernels.resolving import Buckets
from neardup.match.bucketing import BandBuckets, bucket_documents
from neardup.match.pairs import edges_of, pairs_of_buckets
from neardup.match.resolve import NO_LIMITS, Limits
from neardup.match.resolve import resolve as resolve_numbers
from neardup.match.verifying import content_order, make_sets
from neardup.sketch.texts import joined
from neardup.spark.stages.batches import Batches, Rows, columns_of, ragged, schema_of
from neardup.threads import Pool

#: Schema of `resolve`: ``duplicate_of`` and ``similarity`` are null for a kept document.
ANSWERS = schema_of(doc=pa.int64(), duplicate_of=pa.int64(), similarity=pa.float64())
#: Schema of `pairs`: ``a`` comes before ``b`` in keep order.
EDGES = schema_of(a=pa.int64(), b=pa.int64(), similarity=pa.float64())


def _sets(batches: Batches) -> tuple[np.ndarray, Sets]:
    """Return documents, int64[m], ascending, and their sets."""
    batches = list(batches)
    (docs,) = columns_of(batches, "doc")
    order = np.argsort(docs, kind="stable")
    made = make_sets(joined(ragged(batch.column("shingles")) for batch in batches))
    return docs[order], made.take(order)


def _buckets(batches: Batches, docs: np.ndarray, rank: np.ndarray) -> Buckets:
    """Return the buckets of some documents, as numbers in the order of their ranks."""
    batches = list(batches)
    (band_of,) = columns_of(batches, "band")
    every, offsets = joined((ragged(batch.column("docs")) for batch in batches), np.int64)
    bucket = np.repeat(np.arange(len(band_of)), np.diff(offsets))
    there = np.isin(every, docs)

    def of_band(band: int) -> BandBuckets:
        in_band = np.flatnonzero(there & (band_of[bucket] == band))
        members = rank[np.searchsorted(docs, every[in_band])]
        members = members[np.lexsort((members, bucket[in_band]))]
        # A bucket of which no set is there is none.
        starts = np.unique(np.searchsorted(bucket[in_band], np.arange(len(band_of) + 1)))
        return BandBuckets(members, starts.astype(np.int32))

    bands = np.unique(band_of).tolist()
    return bucket_documents(map(of_band, bands), len(docs), len(bands))


def resolve(
    buckets: Batches, sets: Batches, threshold: float, threads: int = 1, limits: Limits = NO_LIMITS
) -> Rows:
    """Decide which documents are kept, and of which one each removed document is a duplicate.

    Takes buckets, of schema `neardup.spark.stages.bucket_stage.BUCKETS`, and the sets of their
    documents, of schema `neardup.spark.stages.sketch_stage.SETS`; of those whose set is not there,
    nothing is said. Those of an old corpus, which ``limits`` counts, are the lowest. Yields one
    batch of schema `ANSWERS`. Threads don't change the result.
    """
    docs, made = _sets(sets)
    numbered = _buckets(buckets, docs, np.arange(len(docs), dtype=np.int32))
    with Pool(threads) as pool:
        answer, _ = resolve_numbers(made, numbered, threshold, pool, limits)
    kept = answer.duplicate_of < 0
    columns = [
        array_of(docs),
        array_of(docs[answer.duplicate_of], null=kept),
        array_of(answer.similarity, null=kept),
    ]
    yield pa.RecordBatch.from_arrays(columns, schema=ANSWERS)


def pairs(
    buckets: Batches,
    sets: Batches,
    threshold: float,
    threads: int = 1,
    answers: Batches = (),
) -> Rows:
    """List the pairs that share a bucket and reach the threshold, in one sorted batch of `EDGES`.

    Arguments are as for `resolve`. The pairs of ``answers``, which it returned, are listed, too.
    """
    docs, made = _sets(sets)
    order = content_order(made)
    by_content = _buckets(buckets, docs, np.argsort(order).astype(np.int32))
    with Pool(threads) as pool:
        listed = pairs_of_buckets(made.take(order), by_content, threshold, pool)
    edges = edges_of(listed, order)
    duplicate_of, similarity = np.full(len(docs), -1, np.int32), np.full(len(docs), np.nan)
    for batch in answers:
        there = pc.is_valid(batch.column("duplicate_of"))
        doc, other, how = columns_of([batch.filter(there)], "doc", "duplicate_of", "similarity")
        among = np.isin(doc, docs)
        rows = np.searchsorted(docs, doc[among])
        duplicate_of[rows] = np.searchsorted(docs, other[among])
        similarity[rows] = how[among]
    if (duplicate_of >= 0).any():
        edges = edges.with_answers(duplicate_of, similarity)
    columns = docs[edges.a], docs[edges.b], edges.similarity
    yield pa.RecordBatch.from_arrays([array_of(column) for column in columns], schema=EDGES)
