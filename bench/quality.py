"""Recall and precision of what a tool found, against the exact join of all pairs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq


class Found(NamedTuple):
    """What a tool found.

    Attributes:
        cluster: int64[documents].
        kept: bool[documents].
        a: int64[pairs], first document of each pair that the tool itself named.
        b: int64[pairs], second document.
    """

    cluster: np.ndarray
    kept: np.ndarray
    a: np.ndarray
    b: np.ndarray


def columns(path: Path, *names: str) -> list[np.ndarray]:
    found = pq.read_table(path, columns=list(names))
    return [found[name].to_numpy() for name in names]


def read_neardup(output: Path) -> Found:
    """Of a finished `neardup dedup` of documents without ids; pairs are those with duplicate_of."""
    path = output / "clusters.parquet"
    doc, cluster, kept, duplicate_of = columns(path, "doc", "cluster", "kept", "duplicate_of")
    order = np.argsort(doc)
    kept = kept[order].astype(bool)
    removed = doc[order][~kept].astype(np.int64)
    return Found(cluster[order], kept, removed, duplicate_of[order][~kept].astype(np.int64))


def read_peer(output: Path) -> Found:
    """Of a peer's script; the first document of each cluster is kept."""
    row, cluster = columns(output, "row", "cluster")
    cluster = cluster[np.argsort(row)]
    kept = np.zeros(len(cluster), bool)
    kept[np.unique(cluster, return_index=True)[1]] = True
    return Found(cluster, kept, *columns(output.with_suffix(".pairs"), "a", "b"))


def exact_groups(corpus: Path) -> np.ndarray:
    """For each document the first one with the same words, in lower case; itself if it has none.

    Texts without a word are kept, and are no duplicates of each other.
    """
    word, first = re.compile(r"\w+"), {}
    texts = (t for b in pq.ParquetFile(corpus).iter_batches(columns=["text"]) for t in b["text"])
    found = (tuple(word.findall((text.as_py() or "").lower())) for text in texts)
    groups = (first.setdefault(hash(words), i) if words else i for i, words in enumerate(found))
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


@dataclass(frozen=True)
class Truth:
    """The pairs of documents whose exact similarity reaches the threshold.

    Attributes:
        documents: Number of documents.
        keys: int64[pairs], ascending: lower position * documents + higher one.
    """

    documents: int
    keys: np.ndarray

    @classmethod
    def read(cls, edges: Path, corpus: Path) -> Truth:
        """From the edges of `neardup dedup --method allpairs --pairs all`.

        neardup compares one document of each group of exact copies; here each of its pairs becomes
        one for every two copies, and copies of each other become pairs too.
        """
        group = exact_groups(corpus)
        n = len(group)
        x, y = (group[side] for side in columns(edges, "doc_a", "doc_b"))
        order = np.argsort(group, kind="stable")
        count = np.bincount(group, minlength=n)
        start = np.cumsum(count) - count
        total = count[x] * count[y]
        index = np.arange(total.sum()) - np.repeat(np.cumsum(total) - total, total)
        x, y = np.repeat(x, total), np.repeat(y, total)
        a, b = order[start[x] + index // count[y]], order[start[y] + index % count[y]]
        inside = pairs_within(group)
        keys = np.unique(
            pair_keys(np.concatenate([a, inside[0]]), np.concatenate([b, inside[1]]), n)
        )
        return cls(n, keys[keys // n != keys % n])

    def holds(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return member(pair_keys(a, b, self.documents), self.keys)

    def score(self, found: Found) -> dict[str, Any]:
        """Return what the result is worth.

        recall: true pairs of which at most one document is kept. precision: removed documents that
        have a true pair with a kept one. pair_recall: true pairs in one cluster, or named as pairs.
        pair_precision: named pairs that are true.
        """
        a, b = self.keys // self.documents, self.keys % self.documents
        together = found.cluster[a] == found.cluster[b]
        together |= member(self.keys, np.unique(pair_keys(found.a, found.b, self.documents)))
        covered = np.zeros(self.documents, bool)
        covered[a[found.kept[b]]] = True
        covered[b[found.kept[a]]] = True
        return {
            "true_pairs": len(self.keys),
            "removed": int((~found.kept).sum()),
            "recall": share(~(found.kept[a] & found.kept[b])),
            "precision": share(covered[~found.kept]),
            "pair_recall": share(together),
            "pairs": len(found.a),
            "pair_precision": share(self.holds(found.a, found.b)),
        }


def pair_keys(a: np.ndarray, b: np.ndarray, documents: int) -> np.ndarray:
    return np.minimum(a, b).astype(np.int64) * documents + np.maximum(a, b)


def member(keys: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    if len(ordered) == 0:
        return np.zeros(len(keys), bool)
    return ordered[np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)] == keys


def share(flags: np.ndarray) -> float:
    return float(flags.mean()) if len(flags) else 1.0
