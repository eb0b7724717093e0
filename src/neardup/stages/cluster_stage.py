"""Edges to clusters, and from documents that stand for exact duplicates to all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from neardup.arrays import array_of, numbers
from neardup.cluster.bounded import Bound
from neardup.cluster.edges import Edges
from neardup.cluster.methods import cluster_edges
from neardup.kernels.jaccard import Sets
from neardup.match.verifying import content_hashes, make_sets
from neardup.sketch.texts import Ragged
from neardup.stages.batches import Batches, columns_of, ragged, schema_of
from neardup.threads import Pool

#: Schema of `cluster`: the first document, in keep order, of each one's cluster.
CLUSTERS = schema_of(doc=pa.int64(), cluster=pa.int64())


def clusters_of(
    method: str, edges: Edges, sets: Sets, tree_threshold: float, pool: Pool, seed: int = 0
) -> np.ndarray:
    """Label each document, int32[m], with the first one of its cluster, see `cluster_edges`."""
    bound = None
    if method == "bounded":
        bound = Bound(content_hashes(sets), sets, tree_threshold, pool)
    return cluster_edges(method, edges, len(sets.size), bound, seed)


def cluster(
    edges: Batches,
    sets: Batches,
    method: str,
    tree_threshold: float = 0.0,
    seed: int = 0,
    threads: int = 1,
) -> Iterator[pa.RecordBatch]:
    """Cluster the documents that have an edge, in one batch of schema `CLUSTERS`.

    Args:
        edges: See `neardup.stages.match_stage.EDGES`, in any order.
        sets: Sets of all documents that have an edge, see `neardup.stages.sketch_stage.SETS`; empty
            where the method needs none.
        method: ``"star"``, ``"bounded"``, ``"components"`` or ``"louvain"``.
        tree_threshold: For ``"bounded"``.
        seed: For ``"louvain"``.
        threads: Threads; they don't change the result.
    """
    a, b, similarity = columns_of(edges, "a", "b", "similarity")
    docs = np.unique(np.concatenate([a, b]))
    rows = {int(d): r for batch in sets for d, r in _sets_by_doc(batch)}
    lists = [rows.get(d, np.empty(0, np.uint64)) for d in docs.tolist()]
    offsets = np.concatenate([[0], np.cumsum([len(r) for r in lists])]).astype(np.int64)
    made = make_sets(Ragged(np.concatenate([np.empty(0, np.uint64), *lists]), offsets))
    numbered = [np.searchsorted(docs, ends).astype(np.int32) for ends in (a, b)]
    gathered = Edges.gather([(numbered[0], numbered[1], similarity)])
    with Pool(threads) as pool:
        labels = clusters_of(method, gathered, made, tree_threshold, pool, seed)
    yield pa.RecordBatch.from_arrays([array_of(docs), array_of(docs[labels])], schema=CLUSTERS)


def _sets_by_doc(batch: pa.RecordBatch) -> Iterator[tuple[int, np.ndarray]]:
    found = ragged(batch.column("shingles"))
    for i, doc in enumerate(numbers(batch.column("doc")).tolist()):
        yield doc, found.values[found.offsets[i] : found.offsets[i + 1]]


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
