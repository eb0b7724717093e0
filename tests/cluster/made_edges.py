"""Shingle sets, edges and graphs that tests of clusters are made of."""

from __future__ import annotations

import hashlib
import random
from itertools import combinations
from pathlib import Path

import numpy as np
import reference_unions as reference
from hypothesis import strategies as st
from numba import config

from neardup.cluster.edges import Edges
from neardup.kernels.jaccard import Sets as PackedSets
from neardup.kernels.jaccard import fill_bitmaps

# Without the JIT, kernels take a thousand times as long.
SLOW = bool(config.DISABLE_JIT)
Sets = list[list[int]]
Found = list[tuple[int, int, float]]

EDGE, TREE = 0.55, 0.3


def families(seed: int, documents: int, spread: float, size: int = 40) -> Sets:
    """Sets in families of different tightness, some equal, some unrelated, one empty."""
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 2**64, size=60 * size, dtype=np.uint64)
    bases = [rng.choice(words, size=size, replace=False) for _ in range(max(1, documents // 12))]
    sets = []
    for _ in range(documents):
        base = bases[rng.integers(len(bases))]
        lost = rng.random(size) < rng.random() * spread
        own = rng.choice(words, size=int(lost.sum()))
        sets.append(sorted({int(v) for v in np.concatenate([base[~lost], own])}))
    sets[-1] = []
    return sets


def edited_texts(seed: int, documents: int, share: float) -> Sets:
    """Sets of three words each, of copies of a real text with up to a share of words replaced."""
    words = (Path(__file__).parents[2] / "LICENSE").read_text().lower().split()[:400]
    chance = random.Random(seed)
    sets = []
    for _ in range(documents):
        rate = chance.random() * share
        text = [chance.choice(words) if chance.random() < rate else word for word in words]
        triples = {" ".join(text[i : i + 3]) for i in range(len(text) - 2)}
        hashes = (hashlib.blake2b(t.encode(), digest_size=8).digest() for t in triples)
        sets.append(sorted(int.from_bytes(digest, "little") for digest in hashes))
    return sets


def packed(sets: Sets) -> PackedSets:
    size = np.array([len(s) for s in sets], dtype=np.int32)
    begin = np.cumsum(size, dtype=np.int64) - size
    values = np.array([v for s in sets for v in s] or [0], dtype=np.uint64)
    bitmaps = np.zeros((len(sets), 4), dtype=np.uint64)
    fill_bitmaps(values, begin, size, True, bitmaps)
    return PackedSets(values, begin, size, bitmaps)


def contents(documents: int, seed: int = 0) -> np.ndarray:
    """Hashes of contents, all different."""
    return np.random.default_rng(seed).integers(2**64, size=documents, dtype=np.uint64)


def edges_of(found: Found) -> Edges:
    """Edges in any order."""
    a, b, similarity = zip(*found, strict=True) if found else ((), (), ())
    columns = np.array(a, np.int32), np.array(b, np.int32), np.array(similarity, np.float64)
    return Edges.gather([columns])


def listed(edges: Edges) -> Found:
    return list(zip(edges.a.tolist(), edges.b.tolist(), edges.similarity.tolist(), strict=True))


def mapped(edges: Edges, folder: Path) -> Edges:
    """The same edges in files."""
    columns = []
    for name in ("a", "b", "similarity"):
        np.save(folder / f"{name}.npy", getattr(edges, name))
        columns.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return Edges(*columns)


def partition(labels: np.ndarray, names: np.ndarray | None = None) -> set[frozenset[int]]:
    """The clusters as sets of documents, under other names if they are given."""
    groups: dict[int, set[int]] = {}
    for doc, label in enumerate(labels.tolist()):
        groups.setdefault(label, set()).add(doc if names is None else int(names[doc]))
    return {frozenset(group) for group in groups.values()}


def lowest_within(sets: Sets, labels: np.ndarray) -> float:
    """The lowest similarity of two documents of one cluster, by brute force."""
    return min(
        (
            reference.jaccard(sets[a], sets[b])
            for group in partition(labels)
            for a, b in combinations(sorted(group), 2)
        ),
        default=1.0,
    )


def chain(length: int, similarity: float = 0.75) -> Edges:
    """Each document with the next one."""
    docs = np.arange(length, dtype=np.int32)
    return Edges(docs[:-1], docs[1:], np.full(length - 1, similarity))


def weighted(pairs: list[tuple[int, int]], seed: int) -> Found:
    """Edges with similarities of which many are equal."""
    chance = random.Random(seed)
    return [(a, b, chance.choice([0.5, 0.7, chance.uniform(0.5, 1)])) for a, b in pairs]


sets_of_few = st.lists(
    st.lists(st.integers(1, 40), max_size=12, unique=True).map(
        lambda values: sorted(value * 0x9E3779B97F4A7C15 % 2**64 for value in values)
    ),
    min_size=2,
    max_size=8,
)

graphs = st.integers(2, 30).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] < p[1]),
            max_size=60,
            unique=True,
        ),
    )
)
