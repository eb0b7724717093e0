"""Disjoint sets that grow by edges, with or without the bound of the Jaccard distance."""

from __future__ import annotations

import numpy as np
from numba import njit

from neardup.kernels.clusters import find
from neardup.kernels.hashing import mix
from neardup.kernels.sets import jaccard

__all__ = ["bounded", "relink", "unite"]


@njit(cache=True, nogil=True)
def _link(parent, rank, low, child, root, similarity):
    if rank[child] == rank[root]:
        rank[root] += np.uint8(1)
    parent[child] = root
    low[root] = min(low[root], low[child] - (1.0 - similarity))


@njit(cache=True, nogil=True)
def relink(children, roots, similarity, parent, rank, low):
    """Make again, in order, the unions that `unite` logged."""
    for i in range(children.shape[0]):
        _link(parent, rank, low, children[i], roots[i], similarity[i])


@njit(cache=True, nogil=True)
def _goes_under(x, y, rank, key):
    """Return whether root ``x`` is linked under root ``y``, rather than the other way round.

    The lower rank goes under the higher one. On a tie the greater key does, if documents have
    keys, else the later document: never the order of the pair.
    """
    if rank[x] != rank[y]:
        return rank[x] < rank[y]
    if key.shape[0] > 0 and key[x] != key[y]:
        return key[x] > key[y]
    return x > y


@njit(cache=True, nogil=True)
def _may_unite(a, b, x, y, similarity, tree_threshold, low, refused, sets):
    """Decide whether the trees of roots ``x`` and ``y``, joined by the edge (a, b), may merge.

    They may if the least possible similarity of any two of their documents,
    ``low[x] + low[y] + sim(x, y) - 2``, is not below the tree threshold (Shenoy et al. 2017,
    section 6). ``low`` only falls, so that two roots that were refused once stay refused; they are
    compared once.

    Returns:
        (whether they may, similarity of the roots or -1, whether it was computed here).
    """
    if min(x, y) == min(a, b) and max(x, y) == max(a, b):
        return low[x] + low[y] + similarity - 2.0 >= tree_threshold, similarity, False
    mask = np.uint64(refused.shape[0] - 1)
    key = np.uint64(min(x, y)) << np.uint64(32) | np.uint64(max(x, y))
    at = mix(key) & mask  # as `neardup.kernels.buckets.rehash` places it
    while refused[at] != 0 and refused[at] != key:
        at = (at + np.uint64(1)) & mask
    if refused[at] == key:
        return False, -1.0, False
    values, begin, size = sets
    sim = jaccard(values, begin, size, x, y, 0.0)
    if low[x] + low[y] + sim - 2.0 >= tree_threshold:
        return True, sim, True
    refused[at] = key
    return False, sim, True


@njit(cache=True, nogil=True)
def unite(a, b, similarity, tree_threshold, bound, state, sets, out, log):
    """Apply, in order, the unions of edges.

    Args:
        a, b: int32[pairs].
        similarity: float64[pairs].
        tree_threshold: See the spec.
        bound: False for plain connected components.
        state: (parent int32[documents], rank uint8[documents], low float64[documents],
            refused uint64[], an open-addressing set with room for all pairs, key uint64[documents]
            that decides where ranks are equal, empty for the position).
        sets: (values, begin, size), see `neardup.kernels.sets`.
        out: (int32[pairs], int32[pairs], float64[pairs]), out: pairs of roots compared here that
            were not the pair itself, with their similarity.
        log: (int32[pairs], int32[pairs], float64[pairs]), out: the unions made: root that was
            linked, root that it was linked to, their similarity.

    Returns:
        (unions made, pairs of roots compared, pairs refused).
    """
    parent, rank, low, refused, key = state
    out_a, out_b, out_similarity = out
    unions = 0
    compared = 0
    refusals = 0
    for i in range(a.shape[0]):
        x, y = find(parent, a[i]), find(parent, b[i])
        if x == y:
            continue
        sim = similarity[i]
        if bound:
            may, sim, new = _may_unite(
                a[i], b[i], x, y, similarity[i], tree_threshold, low, refused, sets
            )
            if new:
                out_a[compared], out_b[compared] = min(x, y), max(x, y)
                out_similarity[compared] = sim
                compared += 1
            if not may:
                refusals += 1
                continue
        if _goes_under(y, x, rank, key):
            x, y = y, x
        _link(parent, rank, low, x, y, sim)
        log[0][unions], log[1][unions], log[2][unions] = x, y, sim
        unions += 1
    return unions, compared, refusals


@njit(cache=True, nogil=True)
def bounded(a, b, edge_threshold, tree_threshold, state, sets, out):
    """Go through candidate pairs in order, and compare those that are not in one set by then.

    Args:
        a, b: int32[pairs], candidates.
        edge_threshold: Least similarity of an edge.
        tree_threshold, state, sets: As for `unite`.
        out: (int32[pairs], int32[pairs], float64[pairs]), out: the edges.

    Returns:
        (edges, pairs that needed no comparison, pairs of roots compared, unions, edges refused).
    """
    parent, rank, low, refused, key = state
    values, begin, size = sets
    out_a, out_b, out_similarity = out
    edges = 0
    saved = 0
    roots = 0
    unions = 0
    refusals = 0
    for i in range(a.shape[0]):
        x, y = find(parent, a[i]), find(parent, b[i])
        if x == y:
            saved += 1
            continue
        sim = jaccard(values, begin, size, a[i], b[i], edge_threshold)
        if sim < edge_threshold:
            continue
        out_a[edges], out_b[edges] = min(a[i], b[i]), max(a[i], b[i])
        out_similarity[edges] = sim
        edges += 1
        may, sim, new = _may_unite(a[i], b[i], x, y, sim, tree_threshold, low, refused, sets)
        roots += new
        if not may:
            refusals += 1
            continue
        if _goes_under(y, x, rank, key):
            x, y = y, x
        _link(parent, rank, low, x, y, sim)
        unions += 1
    return edges, saved, roots, unions, refusals
