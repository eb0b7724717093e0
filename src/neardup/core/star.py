"""Star clustering: by priority, a document joins the first kept one that is near enough."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from neardup.core.band import Buckets
from neardup.core.cluster import Counts
from neardup.core.edges import EdgeLog, Edges
from neardup.core.space import Space
from neardup.core.verify import ShingleSets
from neardup.kernels import clusters as kernels
from neardup.spec import Spec

__all__ = ["star_of_buckets", "star_of_edges"]


def star_of_buckets(
    bands: Iterable[Buckets],
    sets: ShingleSets,
    priority: np.ndarray,
    spec: Spec,
    counts: Counts,
    space: Space | None = None,
) -> tuple[np.ndarray, EdgeLog]:
    """Cluster by stars without listing all pairs: each document meets only kept ones.

    Args:
        bands: Buckets of every band; gone through twice.
        sets: Shingle sets of all documents in them.
        priority: int64[documents], a permutation; lower goes first.
        spec: For the edge threshold.
        counts: Comparisons are added here.
        space: Where arrays go.

    Returns:
        (int32[documents]: the kept document that each joins, itself where it is kept; the edges).
    """
    space = space or Space()
    documents = len(priority)
    places = space.zeros(documents, np.int64)
    buckets = largest = 0
    for members, starts in bands:
        np.add.at(places, members, 1)
        buckets += len(starts) - 1
        largest = max(largest, int(np.diff(starts).max(initial=0)))
    docs = np.flatnonzero(places).astype(np.int32)
    starts_of = space.zeros(documents + 1, np.int64)
    np.cumsum(places, out=starts_of[1:])
    ends = places
    ends[...] = starts_of[:-1]
    total = int(starts_of[-1])
    doc_buckets = space.empty(total, np.int64)
    first = 0
    for members, starts in bands:
        kernels.fill_places(members, starts, first, ends, doc_buckets)
        first += len(starts) - 1
    scratch = (
        space.filled(buckets, np.int64, -1),
        space.empty(total, np.int64),
        space.empty(total, np.int32),
        space.filled(documents, np.int32, -1),
        space.empty(documents, np.int64),
        space.empty(documents, np.int32),
    )
    out = tuple(space.empty(len(docs), t) for t in (np.int32, np.int32, np.float64))
    centre = space.arange(documents, np.int32)
    found, comparisons = kernels.star(
        docs[np.argsort(priority[docs])],
        priority,
        starts_of,
        doc_buckets,
        scratch,
        sets.arrays,
        sets.filter(spec.edge_threshold),
        spec.edge_threshold,
        centre,
        out,
    )
    counts.verified += comparisons
    counts.unions += found
    counts.largest_bucket = largest
    edges = EdgeLog(documents, space)
    edges.add(*(array[:found] for array in out))
    return centre, edges


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
