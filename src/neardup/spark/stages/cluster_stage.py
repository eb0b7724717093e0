"""Edges to clusters."""

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.cluster.edges import Edges
from neardup.match.verifying import make_sets
from neardup.sketch.texts import Ragged, joined
from neardup.spark.stages.batches import Batches, Rows, columns_of, ragged, schema_of
from neardup.stages.clustering import clusters_of
from neardup.threads import Pool

#: Schema of `cluster`: the first document, in keep order, of each one's cluster.
CLUSTERS = schema_of(doc=pa.int64(), cluster=pa.int64())


def cluster(
    edges: Batches,
    sets: Batches,
    method: str,
    tree_threshold: float = 0.0,
    seed: int = 0,
    threads: int = 1,
) -> Rows:
    """Cluster the documents that have an edge, in one batch of schema `CLUSTERS`.

    Takes edges, of schema `neardup.spark.stages.match_stage.EDGES`, in any order, and the sets of
    their documents, of schema `neardup.spark.stages.sketch_stage.SETS`, empty where the method
    needs none. The other arguments are those of `clusters_of`. Threads don't change the result.
    """
    a, b, similarity = columns_of(edges, "a", "b", "similarity")
    docs = np.unique(np.concatenate([a, b]))
    sets = list(sets)
    # Each document has an empty set as well, which counts where there is no other before it.
    empty = Ragged(np.empty(0, np.uint64), np.zeros(len(docs) + 1, np.int64))
    every = make_sets(joined([*(ragged(batch.column("shingles")) for batch in sets), empty]))
    found, rows = np.unique(np.concatenate([*columns_of(sets, "doc"), docs]), return_index=True)
    rows = rows[np.isin(found, docs)]
    made = every.take(rows)
    numbered = [np.searchsorted(docs, ends).astype(np.int32) for ends in (a, b)]
    gathered = Edges.gather([(numbered[0], numbered[1], similarity)])
    with Pool(threads) as pool:
        labels = clusters_of(method, gathered, made, tree_threshold, pool, seed)
    yield pa.RecordBatch.from_arrays([array_of(docs), array_of(docs[labels])], schema=CLUSTERS)
