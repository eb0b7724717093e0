"""Bounded disjoint sets by themselves: over candidate pairs, and along a maximum spanning tree.

Clusters in which every two documents are guaranteed to reach the tree threshold, though few of them
were compared: Jaccard distance obeys the triangle inequality, so that each root can keep a lower
bound of its similarity with any document of its tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.core.descending import descending
from neardup.core.edges import EdgeLog, Edges, Triple
from neardup.core.forest import Forest, room_for
from neardup.core.space import Space
from neardup.core.threads import Pool
from neardup.core.verify import ShingleSets
from neardup.kernels import bounded as kernels
from neardup.kernels.sets import hash_sets

__all__ = [
    "Bounded",
    "BoundedPairs",
    "bounded",
    "bounded_in_order",
    "bounded_mst",
    "content_hashes",
]

#: Candidate pairs that are gone through together.
_BLOCK = 1 << 20
#: Of a tie of roots: more edges than that are as good.
_DEGREE_BITS = 24


@dataclass
class Bounded:
    """Clusters, and what they took.

    Attributes:
        labels: int32[documents]: the root of each document's tree.
        low: float64[documents]: for a root, a lower bound of its similarity with every document of
            its tree; any two of them have a similarity of ``2 * low - 1`` at least.
        unions: Clusters merged.
        refused: Edges that joined two clusters which may not merge.
        root_comparisons: Pairs of roots whose similarity had to be computed to decide that.
    """

    labels: np.ndarray
    low: np.ndarray
    unions: int
    refused: int
    root_comparisons: int


@dataclass
class BoundedPairs(Bounded):
    """Clusters of candidate pairs.

    Attributes:
        edges: Pairs that were compared and reach the edge threshold.
        compared: Candidate pairs that were compared.
        saved: Candidate pairs that were in one cluster by then, and were not compared.
    """

    edges: Edges
    compared: int
    saved: int


def bounded(
    sets: ShingleSets,
    a: np.ndarray,
    b: np.ndarray,
    edge_threshold: float,
    tree_threshold: float,
    space: Space | None = None,
) -> BoundedPairs:
    """Make clusters of candidate pairs, as published.

    Pairs are taken in the order given. If the documents are in one cluster already, the pair is not
    compared. Else their exact similarity is computed, and if it reaches the edge threshold, the two
    clusters merge, unless a similarity below the tree threshold would be possible in the new one.

    Args:
        sets: Shingle sets of all documents in the pairs.
        a, b: int32[pairs]: documents of the candidate pairs, in any order.
        edge_threshold: Least similarity of an edge.
        tree_threshold: Least similarity that any two documents of a cluster are to have.
        space: Where arrays lie.

    Examples:
        >>> import numpy as np
        >>> from neardup import ShingleSpec, shingle_sets
        >>> texts = ["a b c d e f", "a b c d e g", "a b c d h g", "x y z"]
        >>> sets = ShingleSets.of(shingle_sets(texts, ShingleSpec(n=1)))
        >>> a, b = np.array([0, 1, 0, 0], np.int32), np.array([1, 2, 2, 3], np.int32)
        >>> found = bounded(sets, a, b, 0.7, 0.2)
        >>> found.labels.tolist(), found.compared, found.saved
        ([0, 0, 0, 3], 3, 1)

    Source: "Deduplication in a massive clinical note dataset", Shenoy et al. 2017, section 6.
    """
    forest = Forest(sets, space or Space())
    a, b = (np.ascontiguousarray(column, dtype=np.int32) for column in (a, b))
    found: list[Triple] = []
    saved = 0
    for low in range(0, len(a), _BLOCK):
        pairs = slice(low, low + _BLOCK)
        out = room_for(len(a[pairs]))
        edges, skipped, compared, unions, refused = kernels.bounded(
            a[pairs],
            b[pairs],
            edge_threshold,
            tree_threshold,
            forest.state(len(a[pairs])),
            sets.arrays,
            out,
        )
        forest.note(unions, compared, refused)
        saved += skipped
        found.append((out[0][:edges].copy(), out[1][:edges].copy(), out[2][:edges].copy()))
    return BoundedPairs(
        **vars(_clusters(forest)), edges=Edges.gather(found), compared=len(a) - saved, saved=saved
    )


def bounded_in_order(
    sets: ShingleSets,
    edges: EdgeLog | Edges,
    tree_threshold: float | None,
    pool: Pool,
    space: Space | None = None,
) -> Bounded:
    """Make clusters by taking edges in their order: by the lower position, then by the higher one.

    Args:
        sets: Shingle sets of all documents in the edges.
        edges: Pairs that reach the edge threshold, with their exact similarities.
        tree_threshold: As for `bounded`; None for whatever is connected.
        pool: Threads.
        space: Where arrays lie.
    """
    forest = Forest(sets, space or Space())
    for block in edges.blocks():
        # In a thread, because the main one has to listen for Ctrl-C.
        work = partial(forest.unite, (block.a, block.b, block.similarity), tree_threshold)
        pool.submit(work).result()
    return _clusters(forest)


def bounded_mst(
    sets: ShingleSets,
    edges: EdgeLog | Edges,
    tree_threshold: float,
    pool: Pool | None = None,
    space: Space | None = None,
) -> Bounded:
    """Make bounded clusters by taking edges in descending order of similarity.

    The unions are those of a maximum spanning tree, as far as the bound lets them. Of two roots of
    equal rank the one with more edges stays a root, since the bound is less loose where a root lies
    in the middle. All other ties are broken by what the documents hold, so that the clusters do not
    depend on the order of the documents, nor on the order in which the edges were found.

    Args:
        sets: Shingle sets of all documents in the edges.
        edges: Pairs that reach the edge threshold, with their exact similarities.
        tree_threshold: Least similarity that any two documents of a cluster are to have.
        pool: Threads.
        space: Where arrays lie.
    """
    space = space or Space()
    if pool is None:
        with Pool() as pool:
            return bounded_mst(sets, edges, tree_threshold, pool, space)
    degrees = _degrees(edges, space)
    hashes = content_hashes(sets, np.flatnonzero(degrees).astype(np.int32), pool, space)
    forest = Forest(sets, space, _roots_first(degrees, hashes, space))

    def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return forest.roots(a) != forest.roots(b)

    for block in descending(edges.parts(), hashes, apart, space):
        # In a thread, because the main one has to listen for Ctrl-C.
        pool.submit(partial(forest.unite, block, tree_threshold)).result()
    return _clusters(forest)


def _clusters(forest: Forest) -> Bounded:
    return Bounded(
        forest.roots(), forest.low, forest.unions, forest.refused, forest.root_comparisons
    )


def _degrees(edges: EdgeLog | Edges, space: Space) -> np.ndarray:
    """Return int32[m]: edges of each document, up to the last one that has any."""
    last = max(
        (int(column.max()) for p in edges.parts() for column in p[:2] if len(column)), default=-1
    )
    degrees = space.zeros(last + 1, np.int32)
    for a, b, _ in edges.parts():
        for docs in (a, b):
            for low in range(0, len(docs), _BLOCK):
                found, counts = np.unique(docs[low : low + _BLOCK], return_counts=True)
                degrees[found] += counts.astype(np.int32)
    return degrees


def _roots_first(degrees: np.ndarray, hashes: np.ndarray, space: Space) -> np.ndarray:
    """Return uint64[documents]: the lower, the rather a root; more edges first, then by hash."""
    keys = space.empty(len(hashes), np.uint64)
    np.right_shift(hashes, np.uint64(_DEGREE_BITS), out=keys)
    few = np.uint64((1 << _DEGREE_BITS) - 1) - np.minimum(
        degrees.astype(np.uint64), np.uint64((1 << _DEGREE_BITS) - 1)
    )
    keys[: len(degrees)] |= few << np.uint64(64 - _DEGREE_BITS)
    return keys


def content_hashes(sets: ShingleSets, docs: np.ndarray, pool: Pool, space: Space) -> np.ndarray:
    """Return uint64[documents]: a hash of the shingle set of some documents, 0 for the others.

    Args:
        sets: Their shingle sets.
        docs: int32[m], distinct.
        pool: Threads.
        space: Where the hashes lie.
    """
    out = space.zeros(len(sets.size), np.uint64)
    pool.ranges(lambda first, last: hash_sets(*sets.arrays, docs[first:last], out), len(docs))
    return out
