"""Edges to clusters, and from documents that stand for exact duplicates to all."""

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of
from neardup.cluster.bounded import Bound, bounded
from neardup.cluster.edges import Edges
from neardup.cluster.methods import components, kept_set, louvain, star
from neardup.errors import SpecError
from neardup.kernels.jaccard import Sets
from neardup.match.verifying import content_hashes, make_sets
from neardup.sketch.texts import Ragged, joined
from neardup.spec import CLUSTERINGS
from neardup.stages.batches import Batches, Rows, columns_of, ragged, schema_of
from neardup.threads import Pool

#: Schema of `cluster`: the first document, in keep order, of each one's cluster.
CLUSTERS = schema_of(doc=pa.int64(), cluster=pa.int64())


def clusters_of(
    method: str, edges: Edges, sets: Sets, tree_threshold: float, pool: Pool, seed: int = 0
) -> np.ndarray:
    """Label each document, int32[m], with the first one of its cluster, by one of `CLUSTERINGS`.

    Sets and ``tree_threshold`` are for ``"bounded"``, ``seed`` is for ``"louvain"``.
    """
    n = len(sets.size)
    if method == "star":
        return star(kept_set(edges, n).duplicate_of)
    if method == "components":
        return components(edges, n)
    if method == "louvain":
        return louvain(edges, n, seed)
    if method != "bounded":
        raise SpecError(f"cluster is {method!r}; expected one of {', '.join(CLUSTERINGS)}")
    return bounded(edges, n, Bound(content_hashes(sets), sets, tree_threshold, pool)).labels


def cluster(
    edges: Batches,
    sets: Batches,
    method: str,
    tree_threshold: float = 0.0,
    seed: int = 0,
    threads: int = 1,
) -> Rows:
    """Cluster the documents that have an edge, in one batch of schema `CLUSTERS`.

    Takes edges, see `neardup.stages.match_stage.EDGES`, in any order, and the sets of their
    documents, see `neardup.stages.sketch_stage.SETS`, empty where the method needs none. The other
    arguments are those of `clusters_of`. Threads don't change the result.
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


def expand_to_duplicates(
    first: np.ndarray, duplicate_of: np.ndarray, similarity: np.ndarray
) -> None:
    """Say of exact duplicates what holds for the one that stands for them, in place.

    That one is the ``first`` of them in keep order. If it is kept (``duplicate_of`` is -1), the
    others are its duplicates; if not, all of them are duplicates of the same kept document.
    """
    others = np.flatnonzero(first != np.arange(len(first)))
    stands = first[others]
    kept = duplicate_of[stands] < 0
    duplicate_of[others] = np.where(kept, stands, duplicate_of[stands])
    similarity[others] = np.where(kept, 1.0, similarity[stands])
