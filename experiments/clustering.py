"""Section 10: what disjoint sets exclude from comparison, hold together, and separate.

The notes and 500 near-duplicates with up to a fifth of their words changed. The tree threshold is
0.4, the (edge) threshold goes from 0.6 to 0.95. The similarities of all pairs of documents are
known, so that what the clusters separate is counted, and not only what banding found of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from experiments.notes import Source, near_duplicates, synthetic_notes
from experiments.pairs import NEVER, Pairs, first_bands
from experiments.paper import THRESHOLDS
from experiments.published import bounded_in_given_order
from experiments.sizes import FULL, Sizes
from neardup.cluster.edges import Edges, batches
from neardup.cluster.methods import louvain
from neardup.spark.stages.cluster_stage import clusters_of
from neardup.threads import Pool

__all__ = ["BANDS", "MAIN", "METHODS", "TREE", "WIDE_BANDS", "clustering", "other_draws"]

TREE = 0.4
#: The threshold of table 7.
MAIN = 0.75
#: Bands and rows: the fewest of 4 rows that find a pair at the lowest threshold with a probability
#: of 0.99; and those of section 9.1, which find far more distant pairs.
BANDS, WIDE_BANDS = (34, 4), (50, 2)
CHANGED = (0.0, 0.2)
PUBLISHED, LOUVAIN = "disjoint sets, published order", "Louvain of candidates"
METHODS = (PUBLISHED, "bounded", "star", "components", "louvain", LOUVAIN)


class Candidates(NamedTuple):
    """The candidate pairs of some documents, in the order of bands.

    Attributes:
        rows: int64[candidates]: where they are in `Pairs`.
        graph: Those with a similarity above 0, as edges.
    """

    rows: np.ndarray
    graph: Edges

    @classmethod
    def of(cls, pairs: Pairs, num_bands: int, rows: int) -> Candidates:
        """Find them."""
        first = first_bands(pairs, num_bands, rows)
        found = np.flatnonzero(first != NEVER)
        found = found[np.argsort(first[found], kind="stable")]
        some = found[pairs.similarity[found] > 0]
        graph = Edges.gather([(pairs.a[some], pairs.b[some], pairs.similarity[some])])
        return cls(found, graph)


class Clusters(NamedTuple):
    """Clusters, and what they took.

    Attributes:
        labels: int32[documents].
        compared: Pairs of documents whose similarity was computed.
        excluded: Candidate pairs that were not compared.
    """

    labels: np.ndarray
    compared: int
    excluded: int


def clustering(source: Source, sizes: Sizes = FULL) -> dict[str, Any]:
    """Count for one source.

    Returns:
        ``documents``, ``notes``, ``duplicates``, ``candidates``; ``rows``: a line for each
        threshold and clustering; ``wide``: candidates and pairs excluded with `WIDE_BANDS`.
    """
    pairs = Pairs(source.notes + near_duplicates(source.notes, sizes.many, CHANGED, seed=3))
    candidates = Candidates.of(pairs, *BANDS)
    wide = Candidates.of(pairs, *WIDE_BANDS)
    lines = [
        {"threshold": threshold, "method": method, **_line(pairs, candidates, found, threshold)}
        for threshold in THRESHOLDS
        for method, found in _clusters(pairs, candidates, threshold)
    ]
    return {
        "documents": len(pairs.texts),
        "notes": len(source.notes),
        "duplicates": sizes.many,
        "candidates": len(candidates.rows),
        "wide": {
            "candidates": len(wide.rows),
            "excluded": _published(pairs, wide, MAIN).excluded,
        },
        "rows": lines,
    }


def other_draws(sizes: Sizes = FULL) -> list[dict[str, Any]]:
    """Return what disjoint sets do to other synthetic notes, so that one draw is not all.

    Returns:
        For each seed and threshold up to `MAIN`: ``seed``, ``threshold``, ``candidates``,
        ``excluded`` in the published order, and ``separated``: high pairs in different sets, in
        the published order and from the most similar edge down.
    """
    lines = []
    for seed in range(2, 2 + sizes.draws):
        notes = synthetic_notes(seed)[: sizes.notes]
        pairs = Pairs(notes + near_duplicates(notes, sizes.many, CHANGED, seed=seed + 2))
        candidates = Candidates.of(pairs, *BANDS)
        for threshold in THRESHOLDS[: THRESHOLDS.index(MAIN) + 1]:
            published = _published(pairs, candidates, threshold)
            with Pool() as pool:
                edges = candidates.graph.at_least(threshold)
                ordered = clusters_of("bounded", edges, pairs.sets, TREE, pool)
            high = pairs.similarity >= threshold
            lines.append(
                {
                    "seed": seed,
                    "threshold": threshold,
                    "candidates": len(candidates.rows),
                    "excluded": published.excluded,
                    "separated": [
                        int((high & ~_same(pairs, labels)).sum())
                        for labels in (published.labels, ordered)
                    ],
                }
            )
    return lines


def _clusters(
    pairs: Pairs, candidates: Candidates, threshold: float
) -> Iterator[tuple[str, Clusters]]:
    """Yield the clusters of each method."""
    yield PUBLISHED, _published(pairs, candidates, threshold)
    edges = candidates.graph.at_least(threshold)
    compared = len(candidates.rows)  # all others need to know all similarities of candidates
    with Pool() as pool:
        for method in METHODS[1:-1]:
            labels = clusters_of(method, edges, pairs.sets, TREE, pool)
            yield method, Clusters(labels, compared, 0)
    yield LOUVAIN, Clusters(louvain(candidates.graph, len(pairs.texts)), compared, 0)


def _published(pairs: Pairs, candidates: Candidates, threshold: float) -> Clusters:
    a, b = pairs.a[candidates.rows], pairs.b[candidates.rows]
    found = bounded_in_given_order(pairs.sets, a, b, threshold, TREE)
    return Clusters(found.labels, found.compared + found.root_comparisons, found.saved)


def _same(pairs: Pairs, labels: np.ndarray) -> np.ndarray:
    return np.asarray(labels[pairs.a] == labels[pairs.b])


def _line(
    pairs: Pairs, candidates: Candidates, found: Clusters, threshold: float
) -> dict[str, Any]:
    """Count pairs by category: of the candidates, and of all documents."""
    same = _same(pairs, found.labels)
    kinds = {
        "high": pairs.similarity >= threshold,
        "mid": (pairs.similarity >= TREE) & (pairs.similarity < threshold),
        "low": pairs.similarity < TREE,
    }
    rows = candidates.rows
    sizes = np.bincount(found.labels)
    return {
        "compared": found.compared,
        "excluded": found.excluded,
        **{f"same_{name}": int((same & kind)[rows].sum()) for name, kind in kinds.items()},
        "different_high": int((~same & kinds["high"])[rows].sum()),
        **{f"all_same_{name}": int((same & kind).sum()) for name, kind in kinds.items()},
        "all_different_high": int((~same & kinds["high"]).sum()),
        "modularity": round(modularity(found.labels, candidates.graph) or 0.0, 6),
        "clusters": int((sizes > 1).sum()),
        "largest": int(sizes.max()),
    }


def modularity(labels: np.ndarray, edges: Edges) -> float | None:
    """Return the modularity of clusters in the graph of the edges, weighted by similarity.

    The share of the weight within clusters, less that if the ends of edges were joined at random:
    -1/2 to 1, None without edges. Labels are int32[n], 0 to n - 1.

    Source: M. E. J. Newman. Analysis of weighted networks. Physical Review E 70, 2004.
    """
    degrees, inside = np.zeros(len(labels)), 0.0
    for rows in batches(len(edges)):
        x, y, similarity = labels[edges.a[rows]], labels[edges.b[rows]], edges.similarity[rows]
        inside += float(similarity[x == y].sum())
        for ends in (x, y):
            degrees += np.bincount(ends, similarity, len(labels))
    total = float(degrees.sum())  # twice the weight of all edges
    if total == 0:
        return None
    return 2 * inside / total - float(np.square(degrees / total).sum())
