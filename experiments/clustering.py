"""Section 10: what bounded clusters save, what they hold together, and what they tear apart.

The notes and 500 near-duplicates with up to a fifth of their words changed. The tree threshold is
0.4, the edge threshold goes from 0.6 to 0.95. Whether two documents reach a threshold is known of
all pairs, by the exact join, so that what the clusters tear apart is counted and not only what
banding saw of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from experiments.notes import Source, made_notes, near_duplicates
from experiments.pairs import NEVER, SHINGLE, Pairs, first_bands
from neardup.core.bounded import bounded_in_order
from neardup.core.cluster import bounded, bounded_mst
from neardup.core.edges import Edges
from neardup.core.join import join
from neardup.core.louvain import louvain
from neardup.core.quality import Effort, quality
from neardup.core.second import second_round
from neardup.core.threads import Pool
from neardup.spec import Spec

__all__ = ["CANDIDATES", "EDGE", "EDGES", "METHODS", "TREE", "clustering", "other_notes"]

TREE = 0.4
EDGES = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
#: The edge threshold of the tables.
EDGE = 0.75
#: Bands and rows: what `neardup.choose_bands` takes for the least edge threshold and a recall of
#: 0.99; and those of section 9.1, which find far more distant pairs.
CANDIDATES = ((34, 4), (50, 2))
DUPLICATES = 500
CHANGED = (0.0, 0.2)
METHODS = (
    "bounded",
    "bounded, second round",
    "bounded-mst",
    "bounded-mst, second round",
    "louvain, edges",
    "louvain, candidates",
    "components",
)


class _Found(NamedTuple):
    """Clusters, and what they took.

    Attributes:
        method: Name of the clustering.
        labels: int32[documents].
        compared: Pairs of documents whose similarity was computed.
        saved: Candidate pairs that were not compared.
    """

    method: str
    labels: np.ndarray
    compared: int
    saved: int


def clustering(source: Source) -> dict[str, Any]:
    """Count for one source.

    Returns:
        ``documents``, ``candidates`` by bands, and ``rows``: a line for each setting of the bands,
        edge threshold and clustering, with what `neardup.core.quality.quality` counts.
    """
    texts = source.notes + near_duplicates(source.notes, DUPLICATES, CHANGED, seed=3)
    pairs = Pairs(texts)
    lines = []
    candidates = {}
    with Pool() as pool:
        for num_bands, rows in CANDIDATES:
            met = _in_order(first_bands(pairs, num_bands, rows))
            candidates[f"{num_bands} x {rows}"] = len(met)
            at = EDGES if (num_bands, rows) == CANDIDATES[0] else (EDGE,)
            for edge_threshold in at:
                spec = Spec(shingle=SHINGLE, edge_threshold=edge_threshold, tree_threshold=TREE)
                true = _true_edges(pairs, edge_threshold, pool)
                mid = int((pairs.similarity >= TREE).sum()) - len(true)
                for found in _clusters(pairs, met, spec, pool):
                    measured = quality(
                        found.labels, true, pairs.sets, spec, pool, Effort(len(pairs.a))
                    )
                    line = {
                        "bands": f"{num_bands} x {rows}",
                        "edge_threshold": edge_threshold,
                        "method": found.method,
                        "candidates": len(met),
                        "compared": found.compared,
                        "saved": found.saved,
                        **asdict(measured),
                        "different_mid": mid - measured.same_mid,
                    }
                    line["modularity"] = round(line["modularity"] or 0.0, 6)
                    lines.append(line)
    return {
        "documents": len(texts),
        "notes": len(source.notes),
        "duplicates": DUPLICATES,
        "candidates": candidates,
        "rows": lines,
    }


def other_notes(seeds: range = range(2, 7)) -> list[dict[str, Any]]:
    """Return what bounded sets do to other made notes, so that one draw is not taken for all.

    Args:
        seeds: Of the notes.

    Returns:
        For each seed and edge threshold up to that of the tables: ``seed``, ``edge_threshold``,
        ``candidates``, ``saved`` by `bounded`, and ``different_high`` by name of the bounded ones.
    """
    lines = []
    for seed in seeds:
        notes = made_notes(seed)
        pairs = Pairs(notes + near_duplicates(notes, DUPLICATES, CHANGED, seed=seed + 2))
        met = _in_order(first_bands(pairs, *CANDIDATES[0]))
        for edge_threshold in EDGES[: EDGES.index(EDGE) + 1]:
            spec = Spec(shingle=SHINGLE, edge_threshold=edge_threshold, tree_threshold=TREE)
            with Pool() as pool:
                true = _true_edges(pairs, edge_threshold, pool)
                every = list(itertools.islice(_clusters(pairs, met, spec, pool), 4))
            apart = {
                found.method: int((found.labels[true.a] != found.labels[true.b]).sum())
                for found in every
            }
            lines.append(
                {
                    "seed": seed,
                    "edge_threshold": edge_threshold,
                    "candidates": len(met),
                    "saved": every[0].saved,
                    "different_high": apart,
                }
            )
    return lines


def _in_order(first: np.ndarray) -> np.ndarray:
    """Return the candidates as bands are gone through: int64[candidates], where they lie."""
    met = np.flatnonzero(first != NEVER)
    return met[np.argsort(first[met], kind="stable")]


def _clusters(pairs: Pairs, met: np.ndarray, spec: Spec, pool: Pool) -> Iterator[_Found]:
    """Yield the clusters of each method."""
    a, b, sets = pairs.a[met], pairs.b[met], pairs.sets
    edge_threshold, tree_threshold = spec.edge_threshold, spec.tree_threshold
    published = bounded(sets, a, b, edge_threshold, tree_threshold)
    compared = published.compared + published.root_comparisons
    yield _Found("bounded", published.labels, compared, published.saved)
    labels, done = second_round(published.labels, published.edges, sets, tree_threshold, pool)
    yield _Found("bounded, second round", labels, compared + done.comparisons, published.saved)

    similarity = pairs.similarity[met]
    reach = similarity >= edge_threshold
    edges = Edges.gather([(a[reach], b[reach], similarity[reach])])
    spanning = bounded_mst(sets, edges, tree_threshold, pool)
    compared = len(met) + spanning.root_comparisons
    yield _Found("bounded-mst", spanning.labels, compared, 0)
    labels, done = second_round(spanning.labels, edges, sets, tree_threshold, pool)
    yield _Found("bounded-mst, second round", labels, compared + done.comparisons, 0)

    documents = len(pairs.texts)
    yield _Found("louvain, edges", louvain(edges, documents), len(met), 0)
    some = similarity > 0
    graph = Edges.gather([(a[some], b[some], similarity[some])])
    yield _Found("louvain, candidates", louvain(graph, documents), len(met), 0)
    yield _Found("components", bounded_in_order(sets, edges, None, pool).labels, len(met), 0)


def _true_edges(pairs: Pairs, edge_threshold: float, pool: Pool) -> Edges:
    """Return all pairs that reach the edge threshold, whether banding finds them or not."""
    docs = np.flatnonzero(pairs.sets.size).astype(np.int32)
    found = join(pairs.sets, docs, edge_threshold, pool)
    return Edges(found.a, found.b, found.similarity)
