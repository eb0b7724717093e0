"""Groups of exact duplicates, and buckets of documents that share a band key."""

from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, words
from neardup.spark.stages.batches import Batches, Rows, columns_of, lists_of, schema_of
from neardup.stages.exact import first_of_equal

#: Schema of `exact`: ``first`` is the first document in keep order with the same tokens.
FIRSTS = schema_of(doc=pa.int64(), first=pa.int64())
#: Schema of `bucket`: documents of each bucket, in keep order.
BUCKETS = schema_of(band=pa.int32(), docs=pa.large_list(pa.int64()))


def exact(batches: Batches) -> Rows:
    """Find groups of exact duplicates among documents with tokens, in one batch of schema `FIRSTS`.

    Batches have ``doc`` int64 and ``hash`` of 16 bytes: all documents that have one of the hashes.
    """
    batches = list(batches)
    (doc,) = columns_of(batches, "doc")
    hashes = np.concatenate(
        [np.empty((0, 2), np.uint64), *(words(b.column("hash")) for b in batches)]
    )
    rank = np.empty(len(doc), dtype=np.int64)
    rank[np.argsort(doc, kind="stable")] = np.arange(len(doc))
    first = doc[first_of_equal(hashes, np.arange(len(doc), dtype=np.int32), rank)]
    yield pa.RecordBatch.from_arrays([array_of(doc), array_of(first)], schema=FIRSTS)


def band_rows(batches: Batches) -> Rows:
    """Turn batches of `sketch_schema` into rows ``band``, ``key``, ``doc``, for `bucket`."""
    for batch in batches:
        keys: Any = batch.column("keys")
        width: int = keys.type.list_size
        docs = np.repeat(columns_of([batch], "doc")[0], width)
        bands = np.tile(np.arange(width, dtype=np.int32), len(keys))
        yield pa.RecordBatch.from_arrays(
            [array_of(bands), keys.flatten(), array_of(docs)], names=["band", "key", "doc"]
        )


def bucket(batches: Batches) -> Rows:
    """Group documents by band and key: buckets of two and more, in one batch of schema `BUCKETS`.

    Batches have ``band`` int32, ``key`` uint64, ``doc`` int64: all rows of the keys that are there.
    """
    band, key, doc = columns_of(batches, "band", "key", "doc")
    order = np.lexsort((doc, key, band))
    band, key, doc = band[order], key[order], doc[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (band[1:] != band[:-1]) | (key[1:] != key[:-1])
    starts = np.append(np.flatnonzero(new), len(order))
    sizes = np.diff(starts)
    shared = sizes > 1
    offsets = np.concatenate([[0], np.cumsum(sizes[shared])])
    members = doc[np.repeat(shared, sizes)]
    yield pa.RecordBatch.from_arrays(
        [array_of(band[starts[:-1]][shared].astype(np.int32)), lists_of(members, offsets)],
        schema=BUCKETS,
    )
