"""Reference of `neardup.kernels.unions` and of what is built on it, in plain Python.

The definitions that the fast ones must equal, bit for bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from neardup.testing import definition

__all__ = [
    "Tree",
    "bounded",
    "bounded_in_given_order",
    "components",
    "descending",
    "jaccard",
    "join",
    "kept_set",
    "pair_hash",
    "spanning",
    "unite_bounded",
    "unite_roots",
]

Sets = Sequence[Sequence[int]]
Edge = tuple[int, int, float]


def jaccard(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the similarity of two sets; 0 where either is empty."""
    shared = len(set(one) & set(other))
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def join(sets: Sets, threshold: float) -> list[Edge]:
    """Return all pairs that reach a threshold, sorted."""
    pairs = ((a, b, jaccard(sets[a], sets[b])) for a, b in combinations(range(len(sets)), 2))
    return [edge for edge in pairs if edge[2] >= threshold]


def kept_set(edges: Sequence[Edge], n: int) -> list[tuple[int, float]]:
    """Go through documents in order: the first kept neighbour and its similarity; else (-1, -1)."""
    near = {frozenset(edge[:2]): edge[2] for edge in edges}
    found: list[tuple[int, float]] = []
    for d in range(n):
        earlier = [e for e in range(d) if found[e][0] < 0 and frozenset((d, e)) in near]
        found.append((earlier[0], near[frozenset((d, earlier[0]))]) if earlier else (-1, -1.0))
    return found


def components(pairs: Sequence[tuple[int, int]], n: int) -> list[int]:
    """Rename the higher of two labels to the lower one, for each pair."""
    labels = list(range(n))
    for a, b in pairs:
        low, high = sorted((labels[a], labels[b]))
        labels = [low if label == high else label for label in labels]
    return labels


def pair_hash(one: int, other: int) -> int:
    """Hash an unordered pair of hashes of contents."""
    mixed = max(one, other) * 0x9E3779B97F4A7C15 % 2**64 ^ min(one, other)
    return mixed >> 1


def descending(edges: Sequence[Edge], content: Sequence[int]) -> list[Edge]:
    """Sort edges: the most similar first, then by contents, then by numbers."""
    return sorted(edges, key=lambda e: (-e[2], pair_hash(content[e[0]], content[e[1]]), *e[:2]))


class Tree:
    """Bounded disjoint sets (Shenoy et al. 2017, section 6)."""

    def __init__(
        self, sets: Sets, tree_threshold: float, degree: Sequence[int], content: Sequence[int]
    ) -> None:
        self.sets, self.tree_threshold = sets, tree_threshold
        self.degree, self.content = degree, content
        self.parent = list(range(len(sets)))
        self.rank = [0] * len(sets)
        self.low = [1.0] * len(sets)
        self.refused = self.unions = 0

    def find(self, x: int) -> int:
        return x if self.parent[x] == x else self.find(self.parent[x])

    def labels(self) -> list[int]:
        """Return the lowest document of each tree."""
        roots = [self.find(x) for x in range(len(self.parent))]
        return [roots.index(root) for root in roots]


def unite_bounded(tree: Tree, a: int, b: int) -> None:
    """Unite the trees of two documents that have an edge, where the bound permits it."""
    x, y = tree.find(a), tree.find(b)
    if x == y:
        return
    similarity = jaccard(tree.sets[x], tree.sets[y])
    if tree.low[x] + tree.low[y] + similarity - 2 < tree.tree_threshold:
        tree.refused += 1
        return
    child, root = sorted((x, y), key=lambda z: (tree.rank[z], tree.degree[z], -tree.content[z], -z))
    tree.rank[root] += tree.rank[child] == tree.rank[root]
    tree.parent[child] = root
    tree.low[root] = min(tree.low[root], tree.low[child] - (1 - similarity))
    tree.unions += 1


def unite_roots(
    sets: Sets, keys: Any, threshold: float, tree_threshold: float, again: bool = False
) -> tuple[list[int], int]:
    """Return labels of disjoint sets, and pairs compared; of keys, uint64[documents, bands]."""
    names = [list(enumerate(row)) for row in keys.tolist()]
    taken = [docs for _, docs in sorted(definition.buckets_of(names).items())]
    given = [set(one) for one in sets], taken, threshold, tree_threshold
    labels, compared = definition.disjoint_sets(*given, again=again)
    return labels, len(compared)


def bounded(
    sets: Sets, edges: Sequence[Edge], content: Sequence[int], tree_threshold: float
) -> Tree:
    """All edges from the most similar down."""
    degree = [sum(d in edge[:2] for edge in edges) for d in range(len(sets))]
    tree = Tree(sets, tree_threshold, degree, content)
    for a, b, _ in descending(edges, content):
        unite_bounded(tree, a, b)
    return tree


def bounded_in_given_order(
    sets: Sets, pairs: Sequence[tuple[int, int]], threshold: float, tree_threshold: float
) -> tuple[Tree, list[Edge], int]:
    """Candidate pairs in their order: the trees, the edges, and the pairs not compared."""
    tree = Tree(sets, tree_threshold, [0] * len(sets), range(len(sets)))
    edges: list[Edge] = []
    saved = 0
    for a, b in pairs:
        if tree.find(a) == tree.find(b):
            saved += 1
            continue
        similarity = jaccard(sets[a], sets[b])
        if similarity >= threshold:
            edges.append((min(a, b), max(a, b), similarity))
            unite_bounded(tree, a, b)
    return tree, edges, saved


def spanning(
    edges: Sequence[Edge], labels: Sequence[int], roots: Sequence[int]
) -> list[tuple[int, int, float]]:
    """Return parent, steps and distance of each document, level by level; (-1, -1, 0) elsewhere."""
    near: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for a, b, similarity in edges:
        if labels[a] == labels[b]:
            near[a].append((b, similarity))
            near[b].append((a, similarity))
    found = [(-1, -1, 0.0)] * len(labels)
    minimum = [1.0] * len(labels)
    level = sorted(roots)
    for root in level:
        found[root] = (-1, 0, 0.0)
    steps = 0
    while level:
        steps += 1
        # Best last: highest minimum, then highest similarity, then lowest parent.
        offers = sorted(
            (min(minimum[u], similarity), similarity, -u, v)
            for u in level
            for v, similarity in near[u]
            if found[v][1] < 0
        )
        best = {v: (low, similarity, -u) for low, similarity, u, v in offers}
        for v, (low, similarity, u) in best.items():
            found[v], minimum[v] = (u, steps, found[u][2] + 1 - similarity), low
        level = sorted(best)
    return found
