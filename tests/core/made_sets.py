"""Shingle sets that tests of clusters are made of."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from hypothesis import strategies as st
from numba import config

from neardup.core.band import Buckets
from neardup.core.edges import Edges
from neardup.core.shingle import Ragged
from neardup.core.verify import ShingleSets
from neardup.kernels import reference

# Stepped through without the JIT, kernels take a thousand times as long.
SLOW = bool(config.DISABLE_JIT)
Sets = list[list[int]]
Found = list[tuple[int, int, float]]


def families(seed: int, documents: int, spread: float, size: int = 40) -> list[list[int]]:
    """Sets in families of different tightness, some equal, some strangers, some empty."""
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 2**64, size=60 * size, dtype=np.uint64)
    bases = [rng.choice(words, size=size, replace=False) for _ in range(max(1, documents // 12))]
    sets = []
    for _ in range(documents):
        base = bases[rng.integers(len(bases))]
        lost = rng.random(size) < rng.random() * spread
        own = rng.choice(words, size=int(lost.sum()))
        sets.append(sorted({int(v) for v in np.concatenate([base[~lost], own])}))
    if documents > 3:
        sets[-1] = []
    return sets


def packed(sets: list[list[int]]) -> ShingleSets:
    offsets = np.cumsum([0] + [len(s) for s in sets]).astype(np.int64)
    values = np.array([v for s in sets for v in s] or [0], dtype=np.uint64)
    return ShingleSets.of(Ragged(values, offsets))


def in_buckets(rng: np.random.Generator, sets: list[list[int]], bands: int) -> list[Buckets]:
    """Buckets as one-row bands make them: by a random minimum of each set."""
    out = []
    for _ in range(bands):
        salt = int(rng.integers(2**63))
        groups: dict[int, list[int]] = {}
        for doc, values in enumerate(sets):
            if values:
                groups.setdefault(min(reference.mix(v ^ salt) for v in values), []).append(doc)
        kept = [groups[key] for key in sorted(groups) if len(groups[key]) > 1]
        members = np.array([d for g in kept for d in g], dtype=np.int32)
        starts = np.cumsum([0] + [len(g) for g in kept]).astype(np.int32)
        out.append(Buckets(members, starts))
    return out


def met(bands: list[Buckets]) -> set[tuple[int, int]]:
    return {
        pair
        for members, starts in bands
        for first, last in pairwise(starts)
        for pair in combinations(members[first:last].tolist(), 2)
    }


sets_of_few = st.lists(
    st.lists(st.integers(1, 40), max_size=12, unique=True).map(
        lambda s: sorted(reference.mix(v) for v in s)
    ),
    min_size=2,
    max_size=8,
)
thresholds = st.sampled_from([0.05, 0.3, 0.5, 0.7, 0.9, 1.0])


def edges_of(found: Found) -> Edges:
    return Edges(
        np.array([e[0] for e in found], np.int32),
        np.array([e[1] for e in found], np.int32),
        np.array([e[2] for e in found], np.float64),
    )


def partition(labels: np.ndarray, names: np.ndarray | None = None) -> set[frozenset[int]]:
    """The clusters as sets of documents, under other names if they are given."""
    groups: dict[int, set[int]] = {}
    for doc, label in enumerate(labels.tolist()):
        groups.setdefault(label, set()).add(doc if names is None else int(names[doc]))
    return {frozenset(group) for group in groups.values()}


def least_within(sets: Sets, labels: np.ndarray) -> float:
    """The least similarity of two documents of one cluster, by brute force."""
    return min(
        (
            reference.jaccard(sets[a], sets[b])
            for group in partition(labels)
            for a, b in combinations(sorted(group), 2)
        ),
        default=1.0,
    )


def cross(labels: np.ndarray, found: Found) -> int:
    return sum(bool(labels[a] != labels[b]) for a, b, _ in found)
