"""Twins of the kernels that make and measure clusters, in plain Python.

The definitions, like those in ``reference.py``. Never imported by the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from neardup.kernels.reference import jaccard, mix

__all__ = ["Tree", "bounded", "bounded_mst", "hash_set", "pair_hash", "quality", "second_round"]

_MASK = 2**64 - 1
_MULTIPLIER = 0x9E3779B97F4A7C15

Sets = Sequence[Sequence[int]]
Edge = tuple[int, int, float]


def hash_set(values: Sequence[int]) -> int:
    """Hash a set as a whole."""
    return mix((len(values) * _MULTIPLIER + sum(mix(v) for v in values)) & _MASK)


def pair_hash(one: int, other: int) -> int:
    """Hash an unordered pair of hashes."""
    return mix((max(one, other) * _MULTIPLIER & _MASK) ^ min(one, other))


class Tree:
    """Bounded disjoint sets (Shenoy et al. 2017, section 6)."""

    def __init__(self, sets: Sets, tree_threshold: float, keys: Sequence[int]) -> None:
        self.sets, self.tree_threshold, self.keys = sets, tree_threshold, keys
        self.parent = list(range(len(sets)))
        self.rank = [0] * len(sets)
        self.low = [1.0] * len(sets)
        self.refused = self.unions = 0

    def find(self, x: int) -> int:
        return x if self.parent[x] == x else self.find(self.parent[x])

    def unite(self, a: int, b: int) -> None:
        x, y = self.find(a), self.find(b)
        if x == y:
            return
        similarity = jaccard(self.sets[x], self.sets[y])
        if self.low[x] + self.low[y] + similarity - 2 < self.tree_threshold:
            self.refused += 1
            return
        child, root = sorted((x, y), key=lambda z: (self.rank[z], -self.keys[z], -z))
        self.rank[root] += self.rank[child] == self.rank[root]
        self.parent[child] = root
        self.low[root] = min(self.low[root], self.low[child] - (1 - similarity))
        self.unions += 1

    def roots(self) -> list[int]:
        return [self.find(x) for x in range(len(self.sets))]


def bounded(
    sets: Sets, pairs: Sequence[tuple[int, int]], edge_threshold: float, tree_threshold: float
) -> tuple[Tree, list[Edge], int]:
    """Candidate pairs in their order: the trees, the edges, and the pairs not compared."""
    tree = Tree(sets, tree_threshold, [0] * len(sets))
    edges: list[Edge] = []
    saved = 0
    for a, b in pairs:
        if tree.find(a) == tree.find(b):
            saved += 1
            continue
        similarity = jaccard(sets[a], sets[b])
        if similarity >= edge_threshold:
            edges.append((min(a, b), max(a, b), similarity))
            tree.unite(a, b)
    return tree, edges, saved


def bounded_mst(sets: Sets, edges: Sequence[Edge], tree_threshold: float) -> Tree:
    """All edges from the most similar down; ties by their number, then by what documents hold."""
    keys = [hash_set(values) for values in sets]
    degrees = [sum(doc in edge[:2] for edge in edges) for doc in range(len(sets))]
    ranks = [(2**24 - 1 - d) << 40 | key >> 24 for d, key in zip(degrees, keys, strict=True)]
    tree = Tree(sets, tree_threshold, ranks)
    for a, b, _ in sorted(edges, key=lambda e: (-e[2], pair_hash(keys[e[0]], keys[e[1]]), *e[:2])):
        tree.unite(a, b)
    return tree


def second_round(
    sets: Sets,
    labels: Sequence[int],
    edges: Sequence[Edge],
    tree_threshold: float,
    budget: int,
) -> tuple[list[list[int]], dict[str, int]]:
    """Look at all pairs of clusters for the next one to compare, each time."""
    hashes = [hash_set(values) for values in sets]
    clusters = [  # documents of each in the order in which they are compared
        sorted((d for d in range(len(labels)) if labels[d] == label), key=hashes.__getitem__)
        for label in sorted(set(labels))
    ]
    keys = [sum(hashes[d] for d in docs) & _MASK for docs in clusters]
    joined: dict[tuple[int, int], tuple[float, int]] = {}  # documents: similarity, tie
    for a, b, similarity in edges:
        c, d = (next(i for i, docs in enumerate(clusters) if x in docs) for x in (a, b))
        joined[a, b] = -similarity, pair_hash(keys[c], keys[d])
    unfit: list[tuple[int, int]] = []  # documents too far from each other
    done = {"merged": 0, "checked": 0, "comparisons": 0, "left_out": 0}
    while True:
        of = {d: i for i, docs in enumerate(clusters) for d in docs}
        apart = {frozenset((of[a], of[b])) for a, b in unfit}
        pairs = sorted(
            (len(clusters[of[a]]) * len(clusters[of[b]]), *order, of[a], of[b])
            for (a, b), order in joined.items()
            if of[a] != of[b] and frozenset((of[a], of[b])) not in apart
        )
        if not pairs:
            break
        cost, _, _, c, d = pairs[0]
        if cost > budget - done["comparisons"]:
            done["left_out"] = len({frozenset(pair[3:]) for pair in pairs})
            break
        front, back = sorted((c, d), key=keys.__getitem__)
        done["checked"] += 1
        for a, b in ((a, b) for a in clusters[front] for b in clusters[back]):
            done["comparisons"] += 1
            if jaccard(sets[a], sets[b]) < tree_threshold:
                unfit.append((a, b))
                break
        else:
            done["merged"] += 1
            clusters.append(clusters[front] + clusters[back])
            keys.append((keys[front] + keys[back]) & _MASK)
            for i in sorted((c, d), reverse=True):
                del clusters[i], keys[i]
    return clusters, done


def quality(
    sets: Sets,
    labels: Sequence[int],
    edge_threshold: float,
    tree_threshold: float,
) -> tuple[int, int, int]:
    """Pairs within clusters: at the edge threshold, between, and below the tree threshold."""
    high = mid = low = 0
    for a, b in combinations(range(len(labels)), 2):
        if labels[a] == labels[b]:
            similarity = jaccard(sets[a], sets[b])
            high += similarity >= edge_threshold
            mid += tree_threshold <= similarity < edge_threshold
            low += similarity < tree_threshold
    return high, mid, low
