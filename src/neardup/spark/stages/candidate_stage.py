"""Band keys to documents that must be compared together, by machines that each have some keys.

    spread   doc, keys                    -> share, entries   rows of a share go to one machine
    forest   entries                      -> doc, root        trees of the documents of some shares
    union    doc, root                    -> doc, root        components: all trees, joined
    mark     doc, keys, shingles, bitmap  -> doc, root        of complete components

A ``share`` is a part of the key space. A ``root`` is the lowest document of a tree or a component,
and its label. Components are of candidates, which `mark` cuts into smaller ones.
"""

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, numbers, words
from neardup.cluster.methods import connected
from neardup.kernels.bits import TOKEN_MULTIPLIER
from neardup.match.bucketing import bucket_bands, plausible
from neardup.spark.stages.batches import Batches, Rows, columns_of, one_batch, schema_of
from neardup.threads import Pool

#: Schema of `spread`, whose entries are those of `_ENTRY`, and of the other stages.
SHARES = schema_of(share=pa.int32(), entries=pa.binary())
ROOTS = schema_of(doc=pa.int64(), root=pa.int64())
#: A document in a bucket, while it is shuffled. Of the key 6 bytes do: keys that are equal by
#: chance only cause more documents to be looked at together.
_ENTRY = np.dtype([("high", "<u4"), ("low", "<u2"), ("doc", "<i8")])


def spread(batches: Batches, shares: int) -> Rows:
    """Put band keys with their documents into one row for each of some shares of all keys."""
    for batch in batches:
        keys = words(batch.column("keys"))
        keys = (keys ^ np.arange(keys.shape[1], dtype=np.uint64) * TOKEN_MULTIPLIER).ravel()
        share = (keys % np.uint64(shares)).astype(np.int32)
        order = np.argsort(share, kind="stable")
        entries = np.empty(len(keys), _ENTRY)
        entries["high"], entries["low"] = keys >> np.uint64(32), keys & np.uint64(0xFFFF)
        entries["doc"] = np.repeat(numbers(batch.column("doc")), len(keys) // batch.num_rows)
        entries = entries[order]
        parts = np.split(entries, np.cumsum(np.bincount(share, minlength=shares))[:-1])
        values = pa.array([part.tobytes() for part in parts], pa.binary())
        columns = [array_of(np.arange(shares, dtype=np.int32)), values]
        yield pa.RecordBatch.from_arrays(columns, schema=SHARES)


def forest(batches: Batches) -> Rows:
    """Join the documents of all buckets of some shares; roots themselves are left out."""
    parts = [value.as_buffer() for batch in batches for value in batch.column("entries")]
    entries = np.concatenate([np.empty(0, _ENTRY), *(np.frombuffer(p, _ENTRY) for p in parts)])
    key = entries["high"].astype(np.uint64) << np.uint64(16) | entries["low"]
    order = np.argsort(key, kind="stable")
    key, docs = key[order], entries["doc"][order]
    same = np.flatnonzero(key[1:] == key[:-1])
    found, root = _components(docs[same], docs[same + 1])
    yield _roots(found[root != found], root[root != found])


def union(batches: Batches) -> Rows:
    """Join the trees of all shares to components, in which each root has a row, too."""
    yield _roots(*_components(*columns_of(batches, "doc", "root")))


def mark(batches: Batches, threshold: float) -> Rows:
    """Leave out documents that can't be similar to any other; the rest is in smaller components.

    The batches have all documents of some components, in any order.
    """
    batch = one_batch(batches)
    order = np.argsort(numbers(batch.column("doc")))  # roots must not depend on which came first
    doc, keys = numbers(batch.column("doc"))[order], words(batch.column("keys"))[order]
    sizes, bitmaps = numbers(batch.column("shingles"))[order], words(batch.column("bitmap"))[order]
    with Pool(1) as pool:
        bands = bucket_bands(lambda band: keys[:, band], keys.shape[1], pool)
        rows = np.flatnonzero(plausible(bands, sizes, bitmaps, threshold, pool))
        keys, a, b = keys[rows], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for band in bucket_bands(lambda band: keys[:, band], keys.shape[1], pool):
            a.append(np.repeat(band.members[band.starts[:-1]], np.diff(band.starts)))
            b.append(band.members)
    root = connected(np.concatenate(a), np.concatenate(b), len(rows))
    yield _roots(doc[rows], doc[rows[root]])


def _components(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    docs = np.unique(np.concatenate([a, b]))
    x, y = (np.searchsorted(docs, ends).astype(np.int32) for ends in (a, b))
    return docs, docs[connected(x, y, len(docs))]


def _roots(doc: np.ndarray, root: np.ndarray) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([array_of(doc), array_of(root)], schema=ROOTS)
