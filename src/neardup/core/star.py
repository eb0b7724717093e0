"""Star clustering: by priority, a document joins the first kept one that is near enough."""

from __future__ import annotations

import numpy as np

from neardup.core.band import Buckets
from neardup.core.cluster import Counts, Edges
from neardup.core.verify import ShingleSets
from neardup.kernels import clusters as kernels
from neardup.spec import Spec

__all__ = ["star_of_buckets", "star_of_edges"]


def star_of_buckets(
    bands: list[Buckets], sets: ShingleSets, priority: np.ndarray, spec: Spec, counts: Counts
) -> tuple[np.ndarray, Edges]:
    """Cluster by stars without listing all pairs: each document meets only kept ones.

    Args:
        bands: Buckets of every band.
        sets: Shingle sets of all documents in them.
        priority: int64[documents], a permutation; lower goes first.
        spec: For the edge threshold.
        counts: Comparisons are added here.

    Returns:
        (int32[documents]: the kept document that each joins, itself where it is kept; the edges).
    """
    documents = len(priority)
    members = np.concatenate([b.members for b in bands])
    sizes = np.concatenate([np.diff(b.starts) for b in bands])
    bucket = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(documents + 1))
    docs = np.unique(members)
    out = tuple(np.empty(len(docs), dtype) for dtype in (np.int32, np.int32, np.float64))
    centre = np.arange(documents, dtype=np.int32)
    found, comparisons = kernels.star(
        docs[np.argsort(priority[docs])],
        priority,
        starts,
        bucket[order],
        np.full(len(sizes), -1, dtype=np.int64),
        sets.arrays,
        sets.filter(spec.edge_threshold),
        spec.edge_threshold,
        centre,
        out,
    )
    counts.verified += comparisons
    counts.unions += found
    counts.largest_bucket = int(sizes.max(initial=0))
    a, b, similarity = (array[:found] for array in out)
    return centre, Edges.gather([(a, b, similarity)])


def star_of_edges(edges: Edges, priority: np.ndarray) -> np.ndarray:
    """Cluster by stars: by priority, a document joins the first kept one it has an edge with.

    Args:
        edges: Pairs that reach the threshold.
        priority: int64[documents]; lower goes first, all different.

    Returns:
        int32[documents]: the kept document that each joins, itself where it is kept.
    """
    ends = np.concatenate([edges.a, edges.b])
    others = np.concatenate([edges.b, edges.a])
    order = np.lexsort((priority[others], ends))
    starts = np.searchsorted(ends[order], np.arange(len(priority) + 1))
    centre = np.arange(len(priority), dtype=np.int32)
    docs = np.unique(edges.a if len(edges) == 0 else ends)
    kernels.star_of_edges(docs[np.argsort(priority[docs])], starts, others[order], centre)
    return centre
