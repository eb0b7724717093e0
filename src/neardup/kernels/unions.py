"""Clusterings of a list of edges: kept sets, disjoint sets, their bound, and shortest paths.

An edge is a pair of documents ``a < b`` with its similarity. None of these kernels looks at more
than the edges, except for `unite_bounded` and `unite_roots`, which compare shingle sets of roots.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.bits import TOKEN_MULTIPLIER
from neardup.kernels.compiling import inner, kernel
from neardup.kernels.grouping import PAIRS, WINDOW
from neardup.kernels.jaccard import jaccard, may_reach, slack_of
from neardup.kernels.searching import sort_first

# Rounding error that the bound of a comparison of two roots must not suffer from.
_TOLERANCE = 1e-9
#: Slots in which a pair that was compared is looked for.
_PROBES = 16


class Trees(NamedTuple):
    """Disjoint sets of documents whose distance from their root is bounded."""

    parent: np.ndarray  # int32[n]: parent of each document; a root is its own
    rank: np.ndarray  # uint8[n]: for a root, an upper bound of the height of its tree
    low: np.ndarray  # float64[n]: for a root, lower bound of its similarity with its documents
    degree: np.ndarray  # int32[n]: of two roots of equal rank, the higher degree stays a root
    content: np.ndarray  # uint64[n]: hash; where degrees are equal, the lower stays
    refused: np.ndarray  # uint64[2**k]: cache of pairs of roots that were refused


class ComparedRoots(NamedTuple):
    """Pairs that were compared; where there are more than slots, a new one may replace another."""

    pairs: np.ndarray  # uint64[2**k]: the lower document, then 32 bits of the other; 0 if free
    similarity: np.ndarray  # float64[2**k]: of the two


class Tree(NamedTuple):
    """Shortest paths from roots: one entry for each document."""

    parent: np.ndarray  # int32[n]: the document before it on its path; -1 if there is none
    similarity: np.ndarray  # float64[n]: exact similarity to the parent; NaN without one
    steps: np.ndarray  # int32[n]: edges on the path; 0 for roots, -1 where no edges lead there
    minimum: np.ndarray  # float64[n]: lowest similarity on the path; 1 for roots


@kernel
def find(parent, x):
    """Return the root of ``x``, halving the path on the way.

    Args:
        parent: int32[n]: parent of each document; a root is its own.
        x: int: document.
    """
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@kernel
def kept_set(a, b, similarity, duplicate_of, of):
    """Remove each document that has an edge with an earlier kept one.

    Since edges are sorted by ``a``, all edges that lead to a document from earlier ones have been
    seen before the first one that starts from it. ``duplicate_of`` is -1 at the beginning, and
    then the first kept neighbour; ``of`` gets the similarity of the two.

    Args:
        a: int32[edges]: earlier document, ascending.
        b: int32[edges]: later document.
        similarity: float64[edges]: of the two.
        duplicate_of: int32[n]: gets the answers.
        of: float64[n]: gets the similarities.
    """
    for i in range(a.shape[0]):
        if duplicate_of[a[i]] < 0 and duplicate_of[b[i]] < 0:
            duplicate_of[b[i]], of[b[i]] = a[i], similarity[i]


@kernel
def components(a, b, labels):
    """Label each document with the lowest one that pairs, in any order, connect it with.

    Labels are the documents themselves at the beginning, or those of earlier pairs.

    Args:
        a: int[pairs]: the one document.
        b: int[pairs]: the other.
        labels: int32[n]: labels, overwritten.
    """
    for i in range(a.shape[0]):
        x, y = find(labels, a[i]), find(labels, b[i])
        labels[max(x, y)] = min(x, y)
    for x in range(labels.shape[0]):
        # A parent is never higher than its child: the label of the parent is final.
        labels[x] = labels[labels[x]]


@inner
def _join(x, y, similarity, trees):
    """Unite two trees, by their roots and the similarity of these."""
    parent, rank, low, degree, content, _ = trees
    # Below goes the one of lower rank, then of fewer edges, then of higher content or number.
    if (rank[y], degree[y], content[x], x) < (rank[x], degree[x], content[y], y):
        x, y = y, x
    if rank[x] == rank[y]:
        rank[y] += np.uint8(1)
    parent[x] = y
    low[y] = min(low[y], low[x] - (1.0 - similarity))


@kernel
def unite_bounded(a, b, similarity, threshold, tree_threshold, trees, sets):
    """Take edges in their order, and unite the trees of each where the bound permits it.

    Roots ``x`` and ``y`` may unite if ``low[x] + low[y] + sim(x, y) - 2``, a lower bound of the
    similarity of any two of their documents, reaches the tree threshold. ``low`` only decreases, so
    that two roots which were refused once stay refused.

    A similarity of NaN is not known yet: pairs in one tree are not compared, and those below
    ``threshold`` become -1. Returns (unions, pairs refused, pairs of roots compared).

    Args:
        a: int32[edges]: the one document.
        b: int32[edges]: the other.
        similarity: float64[edges]: of the two.
        threshold: float: lowest similarity of an edge.
        tree_threshold: float: lowest similarity within a cluster.
        trees: `Trees` of n documents.
        sets: `neardup.kernels.jaccard.Sets` of n documents.
    """
    parent, low, content, known = trees.parent, trees.low, trees.content, trees.refused
    slots = np.int64(known.shape[0] - 1)
    unions, refused, comparisons = 0, 0, 0
    for i in range(a.shape[0]):
        x, y = np.int64(find(parent, a[i])), np.int64(find(parent, b[i]))
        if x == y:
            continue
        if np.isnan(similarity[i]):
            similarity[i] = jaccard(sets, np.int64(a[i]), np.int64(b[i]), threshold)
            if similarity[i] < threshold:
                continue
        sim = similarity[i]
        if x != a[i] or y != b[i]:
            # The roots' similarity has to be so high; often sizes and bitmaps show that it is not.
            needed = tree_threshold + 2.0 - low[x] - low[y]
            floor = min(1.0, max(0.0, needed - _TOLERANCE))
            pair = np.uint64(min(x, y)) << np.uint64(32) | np.uint64(max(x, y))
            mixed = (content[x] + content[y]) * TOKEN_MULTIPLIER >> np.uint64(20)
            slot = np.int64(mixed) & slots
            if (
                needed > 1.0 + _TOLERANCE
                or known[slot] == pair
                or not may_reach(sets.size, sets.bitmaps, x, y, (1.0 - floor) / (1.0 + floor))
            ):
                refused += 1
                continue
            sim = jaccard(sets, x, y, floor)
            comparisons += 1
            if low[x] + low[y] + sim - 2.0 < tree_threshold:
                known[slot] = pair
                refused += 1
                continue
        elif low[x] + low[y] + sim - 2.0 < tree_threshold:
            refused += 1
            continue
        _join(x, y, sim, trees)
        unions += 1
    return unions, refused, comparisons


@inner
def _compare(x, y, sets, lowest, compared, counts):
    """Return the similarity of two documents, -1 below ``lowest``; computed once, mostly."""
    pair = np.uint64(min(x, y)) << np.uint64(32) | np.uint64(max(x, y))
    mask = compared.pairs.shape[0] - 1
    first = np.int64(pair * TOKEN_MULTIPLIER >> np.uint64(40)) & mask
    slot = first
    for step in range(_PROBES):
        slot = (first + step) & mask
        if compared.pairs[slot] == pair:
            return compared.similarity[slot]
        if compared.pairs[slot] == 0:
            break
    else:
        slot = first
    similarity = -1.0
    if may_reach(sets.size, sets.bitmaps, x, y, slack_of(lowest)):
        similarity = jaccard(sets, x, y, lowest)
    compared.pairs[slot], compared.similarity[slot] = pair, similarity
    counts[0] += 1
    return similarity


@kernel
def unite_roots(
    members,
    starts,
    first,
    last,
    again,
    threshold,
    tree_threshold,
    trees,
    sets,
    compared,
    roots,
    counts,
):
    """Compare the roots of some buckets, pair by pair in the order of their numbers, and unite.

    The bound is that of `unite_bounded`. In a bucket of more than 1,024 roots, each is compared
    with as many that follow it as in `neardup.kernels.grouping.window_pairs`.

    Args:
        members: int32[]: documents of each bucket.
        starts: int[buckets + 1]: where each bucket begins.
        first: int: first bucket.
        last: int: bucket after the last.
        again: bool: compare pairs of roots that have been united in this bucket too.
        threshold: float: similarity from which on two roots unite.
        tree_threshold: float: lowest similarity within a cluster, not above the other.
        trees: `Trees` of n documents.
        sets: `neardup.kernels.jaccard.Sets` of n documents.
        compared: `ComparedRoots`.
        roots: int32[documents of the largest bucket]: working memory.
        counts: int64[2]: get pairs compared, and those of roots left that were not, added.
    """
    parent, low = trees.parent, trees.low
    for bucket in range(first, last):
        size = np.int64(starts[bucket + 1] - starts[bucket])
        for i in range(size):
            roots[i] = find(parent, members[starts[bucket] + i])
        sort_first(roots, size)
        count = np.int64(1)
        for i in range(1, size):
            if roots[i] != roots[count - 1]:
                roots[count] = roots[i]
                count += 1
        window = max(WINDOW, PAIRS // count)
        for i in range(count):
            for j in range(i + 1, min(count, i + 1 + window)):
                x, y = np.int64(find(parent, roots[i])), np.int64(find(parent, roots[j]))
                if x == y and not again:
                    continue
                a, b = np.int64(roots[i]), np.int64(roots[j])
                similarity = _compare(a, b, sets, tree_threshold, compared, counts)
                if similarity < threshold or x == y:
                    continue
                if x != a or y != b:
                    similarity = _compare(x, y, sets, tree_threshold, compared, counts)
                if low[x] + low[y] + similarity - 2.0 >= tree_threshold:
                    _join(x, y, similarity, trees)
        beyond = -window - 1
        for i in range(count):
            beyond += np.int64(parent[roots[i]] == roots[i])
        beyond = max(beyond, 0)
        counts[1] += beyond * (beyond + 1) // 2


@inner
def _extend(u, v, similarity, tree):
    """Offer ``v`` the path over ``u``; return whether it is the first one that leads there."""
    new = tree.steps[v] < 0
    minimum = min(tree.minimum[u], similarity)
    if not new:
        best = tree.minimum[v], tree.similarity[v], -tree.parent[v]
        if tree.steps[v] != tree.steps[u] + 1 or (minimum, similarity, -u) < best:
            return False
    tree.parent[v], tree.similarity[v] = u, similarity
    tree.steps[v], tree.minimum[v] = tree.steps[u] + 1, minimum
    return new


@kernel
def spanning(a, b, similarity, begin_a, by_b, begin_b, labels, queue, count, tree):
    """Find the best path of fewest edges from roots to the other documents of their clusters.

    See `neardup.cluster.methods.spanning` for which one is best. Edges of a document begin at
    ``begin_a`` as ``a`` and, in ``by_b``, edges sorted by ``b``, at ``begin_b``. Edges between
    different labels are left out. ``queue``, int32[n], begins with the ``count`` roots; ``tree``
    is as for documents without a path, but 0 steps for the roots.

    Args:
        a: int32[edges]: the one document, ascending.
        b: int32[edges]: the other.
        similarity: float64[edges]: of the two.
        begin_a: int64[n + 1]: see above.
        by_b: int64[edges]: edges in the order of ``b``.
        begin_b: int64[n + 1]: see above.
        labels: int32[n]: cluster of each document.
        queue: int32[n]: working memory.
        count: int: roots in it.
        tree: `Tree` of n documents.
    """
    head = 0
    while head < count:
        u = queue[head]
        head += 1
        for i in range(begin_a[u], begin_a[u + 1]):
            if labels[b[i]] == labels[u] and _extend(u, b[i], similarity[i], tree):
                queue[count] = b[i]
                count += 1
        for k in range(begin_b[u], begin_b[u + 1]):
            i = by_b[k]
            if labels[a[i]] == labels[u] and _extend(u, a[i], similarity[i], tree):
                queue[count] = a[i]
                count += 1
