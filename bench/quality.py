"""Recall and precision of what a tool found, against the exact join of all pairs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

SAMPLE = 1_000_000


def columns(path: Path, *names: str) -> list[np.ndarray]:
    found = pq.read_table(path, columns=list(names))
    return [found[name].to_numpy().astype(np.int64, copy=False) for name in names]


def read_neardup(output: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(cluster of each document, pairs a, pairs b) of a finished `neardup dedup`."""
    doc, cluster = columns(output / "clusters.parquet", "doc", "cluster")
    clusters = np.empty(len(doc), np.int64)
    clusters[doc] = cluster
    return clusters, *columns(output / "edges.parquet", "doc_a", "doc_b")


def read_peer(output: Path) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    row, cluster = columns(output, "row", "cluster")
    clusters = np.empty(len(row), np.int64)
    clusters[row] = cluster
    pairs = output.with_suffix(".pairs")
    if not pairs.exists():
        return clusters, None, None
    return clusters, *columns(pairs, "a", "b")


def exact_groups(corpus: Path) -> np.ndarray:
    """For each document the first one with the same sequence of words, in lower case."""
    word, first = re.compile(r"\w+"), {}
    texts = (t for b in pq.ParquetFile(corpus).iter_batches(columns=["text"]) for t in b["text"])
    groups = (
        first.setdefault(hash(tuple(word.findall(text.as_py().lower()))), i)
        for i, text in enumerate(texts)
    )
    return np.fromiter(groups, np.int64)


def pairs_within(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs (a < b) of positions with equal labels."""
    order = np.argsort(labels, kind="stable")
    change = np.flatnonzero(np.diff(labels[order])) + 1
    starts = np.concatenate([[0], change, [len(order)]]).astype(np.int64)
    ends = np.repeat(starts[1:], np.diff(starts))
    later = ends - np.arange(len(order)) - 1  # members of the group after each position
    a = np.repeat(np.arange(len(order)), later)
    b = a + 1 + np.arange(len(a)) - np.repeat(np.cumsum(later) - later, later)
    return order[a], order[b]


def sample_within(
    labels: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different positions with equal labels: all of them, or a uniform sample."""
    order = np.argsort(labels, kind="stable")
    _, starts, counts = np.unique(labels[order], return_index=True, return_counts=True)
    weights = counts * (counts - 1) // 2
    total = int(weights.sum())
    if total <= size:
        return pairs_within(labels)
    group = np.searchsorted(np.cumsum(weights), rng.integers(0, total, size), side="right")
    i = rng.integers(0, counts[group])
    j = (i + 1 + rng.integers(0, counts[group] - 1)) % counts[group]
    return order[starts[group] + i], order[starts[group] + j]


@dataclass(frozen=True)
class Truth:
    """The pairs of documents whose exact similarity reaches the threshold.

    Attributes:
        a, b: int64[pairs], the positions of each pair, the lower first.
        family: bool[documents], whether a document is of the template family.
        keys: int64[pairs], ascending: `pair_keys` of a and b.
    """

    a: np.ndarray
    b: np.ndarray
    family: np.ndarray
    keys: np.ndarray

    @classmethod
    def read(cls, edges: Path, corpus: Path) -> Truth:
        """From the edges of `neardup dedup --method allpairs --pairs all`, and synth's own truth.

        neardup joins one document of each group of exact copies; here each of its pairs becomes
        one for every two copies, and copies of each other become pairs too.
        """
        group = exact_groups(corpus)
        x, y = columns(edges, "doc_a", "doc_b")
        x, y = group[x], group[y]
        order = np.argsort(group, kind="stable")
        count = np.bincount(group, minlength=len(group))
        start = np.cumsum(count) - count
        total = count[x] * count[y]
        index = np.arange(total.sum()) - np.repeat(np.cumsum(total) - total, total)
        x, y = np.repeat(x, total), np.repeat(y, total)
        a, b = order[start[x] + index // count[y]], order[start[y] + index % count[y]]
        inside = pairs_within(group)
        a, b = np.concatenate([a, inside[0]]), np.concatenate([b, inside[1]])
        keys = np.unique(pair_keys(a, b, len(group)))
        keys = keys[keys // len(group) != keys % len(group)]
        kind = pq.read_table(corpus.with_suffix(".truth.parquet"), columns=["kind"])["kind"]
        family = pc.equal(kind, "family").to_numpy()
        return cls(keys // len(group), keys % len(group), family, keys)

    @property
    def documents(self) -> int:
        return len(self.family)

    def holds(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return member(pair_keys(a, b, self.documents), self.keys)

    def score(
        self, clusters: np.ndarray, a: np.ndarray | None, b: np.ndarray | None
    ) -> dict[str, Any]:
        """Recall; precision of the pairs given; precision of the pairs that clusters imply.

        Most true pairs are pairs of the family, so recall is given without them too.
        """
        found = clusters[self.a] == clusters[self.b]
        if a is not None and not found.all():
            given = np.unique(pair_keys(a, b, self.documents))
            found |= member(self.keys, given)
        inside = sample_within(clusters, SAMPLE, np.random.default_rng(0))
        return {
            "true_pairs": len(self.keys),
            "recall": share(found),
            "recall_outside_family": share(found[~(self.family[self.a] & self.family[self.b])]),
            "pairs": None if a is None else len(a),
            "precision": None if a is None else share(self.holds(a, b)),
            "precision_in_clusters": share(self.holds(*inside)),
            "clusters": len(np.unique(clusters)),
        }


def pair_keys(a: np.ndarray, b: np.ndarray, documents: int) -> np.ndarray:
    return np.minimum(a, b) * documents + np.maximum(a, b)


def member(keys: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    if len(ordered) == 0:
        return np.zeros(len(keys), bool)
    return ordered[np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)] == keys


def share(flags: np.ndarray) -> float:
    return float(flags.mean()) if len(flags) else 1.0
