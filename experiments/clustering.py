"""Section 10: what disjoint sets exclude from comparison, put together, and separate.

The notes and 500 near-duplicates with up to a fifth of their words changed. The tree threshold is
0.4, the (edge) threshold goes from 0.6 to 0.95. The similarities of all pairs of documents are
known, so that what the clusters separate is counted, and not only what banding found of it. All is
done with the bands of the paper, and with those that neardup would take.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from experiments.modularity import modularity
from experiments.notes import Source, near_duplicates
from experiments.pairs import SHINGLE, Pairs, first_band_of
from experiments.paper import BANDS as PAPER_BANDS
from experiments.paper import THRESHOLDS
from experiments.published import Published, bounded_in_given_order
from experiments.second_round import second_round, similarity_matrix
from experiments.sizes import FULL, Sizes
from neardup.cluster.disjoint_sets import disjoint_sets
from neardup.cluster.edges import Edges
from neardup.cluster.methods import louvain
from neardup.kernels.resolving import Buckets
from neardup.match.bucketing import bucket_bands, bucket_documents
from neardup.sketch.sketcher import band_keys, signatures
from neardup.spark.stages.cluster_stage import clusters_of
from neardup.threads import Pool

__all__ = [
    "BANDS",
    "LOUVAIN",
    "MAIN",
    "METHODS",
    "OFFERED",
    "PAPER_BANDS",
    "PUBLISHED",
    "ROOTS",
    "ROOTS_SKIPPED",
    "SECOND",
    "SETTINGS",
    "TREE",
    "clustering",
    "named",
]

TREE = 0.4
#: The threshold of table 7.
MAIN = 0.75
#: The fewest bands of 4 rows that find a pair at the lowest threshold with a probability of 0.99.
BANDS = (34, 4)
SETTINGS = (PAPER_BANDS, BANDS)
CHANGED = (0.0, 0.2)
PUBLISHED, LOUVAIN = "disjoint sets, published order", "Louvain of candidates"
ROOTS, ROOTS_SKIPPED = "disjoint sets, roots of a bucket", "the same, united ones skipped"
SECOND = "disjoint sets, second round"
#: The readings of section 6.5, what `--cluster` gives, and what tables 5 to 7 compare with.
OFFERED = ("bounded", "star", "components", "louvain")
METHODS = (PUBLISHED, ROOTS, ROOTS_SKIPPED, SECOND, *OFFERED, LOUVAIN)


def named(bands: tuple[int, int]) -> str:
    """Return the name of bands and rows: of files, and of tables."""
    return "{} x {}".format(*bands)


class Candidates(NamedTuple):
    """The candidate pairs of some documents, in the order of bands.

    Attributes:
        buckets: Of all bands.
        rows: int64[candidates]: where they are in `Pairs`.
        graph: Those with a similarity above 0, as edges.
        similarity: float64[documents, documents], of all pairs.
    """

    buckets: Buckets
    rows: np.ndarray
    graph: Edges
    similarity: np.ndarray

    @classmethod
    def of(cls, pairs: Pairs, num_bands: int, rows: int) -> Candidates:
        """Find them."""
        signed = signatures(pairs.texts, num_bands * rows, shingle=SHINGLE)
        keys = band_keys(signed, num_bands, rows)
        first = first_band_of(pairs, keys)
        found = np.flatnonzero(first < num_bands)
        found = found[np.argsort(first[found], kind="stable")]
        some = found[pairs.similarity[found] > 0]
        graph = Edges.gather([(pairs.a[some], pairs.b[some], pairs.similarity[some])])
        matrix = similarity_matrix(len(pairs.texts), pairs.a, pairs.b, pairs.similarity)
        with Pool() as pool:
            bands = bucket_bands(lambda band: keys[:, band], num_bands, pool)
            buckets = bucket_documents(bands, len(keys), num_bands)
        return cls(buckets, found, graph, matrix)


class Clusters(NamedTuple):
    """Clusters, and what they took.

    Attributes:
        labels: int32[documents].
        compared: Pairs of documents whose similarity was computed.
        excluded: Candidate pairs that were not compared; of readings that compare roots, which may
            be no candidates, how many fewer pairs are compared than there are candidates.
        tried: Pairs of clusters that a second round compared.
        merged: How many of these merged.
    """

    labels: np.ndarray
    compared: int
    excluded: int
    tried: int = 0
    merged: int = 0


def clustering(source: Source, sizes: Sizes = FULL, seed: int = 1) -> dict[str, Any]:
    """Count for one draw of a source.

    The first draw has all methods at all thresholds, others what the verdicts need.

    Returns:
        ``documents``, ``notes``, ``duplicates``; ``settings``: by the name of bands and rows,
        ``candidates``, and ``rows``: a line for each threshold and clustering.
    """
    changed = near_duplicates(source.notes, sizes.many, CHANGED, seed=seed + 2)
    pairs = Pairs(source.notes + changed)
    settings = {}
    for bands in SETTINGS:
        candidates = Candidates.of(pairs, *bands)
        settings[named(bands)] = {
            "candidates": len(candidates.rows),
            "rows": list(_lines(pairs, candidates, full=seed == 1)),
        }
    return {
        "documents": len(pairs.texts),
        "notes": len(source.notes),
        "duplicates": sizes.many,
        "settings": settings,
    }


def _lines(pairs: Pairs, candidates: Candidates, full: bool) -> Iterator[dict[str, Any]]:
    """Yield a line for each threshold and method."""
    # The same for all thresholds.
    communities = Clusters(
        louvain(candidates.graph, len(pairs.texts)), len(candidates.rows), excluded=0
    )
    for threshold in THRESHOLDS:
        for method, found in _clusters(pairs, candidates, threshold, full):
            yield _line(pairs, candidates, found, threshold, method)
        yield _line(pairs, candidates, communities, threshold, LOUVAIN)


def _clusters(
    pairs: Pairs, candidates: Candidates, threshold: float, full: bool
) -> Iterator[tuple[str, Clusters]]:
    """Yield the clusters of each method but Louvain of candidates."""
    count = len(candidates.rows)
    published = _published(pairs, candidates, threshold)
    compared = published.compared + published.root_comparisons
    yield PUBLISHED, Clusters(published.labels, compared, published.saved)
    if full or threshold == MAIN:
        for method, again in ((ROOTS, True), (ROOTS_SKIPPED, False)):
            given = pairs.sets, candidates.buckets, threshold, TREE
            with Pool() as pool:
                read = disjoint_sets(*given, pool, again=again)
            yield method, Clusters(read.labels, read.compared, count - read.compared)
        again = second_round(published.labels, published.edges, candidates.similarity, TREE)
        took = compared + again.compared
        yield SECOND, Clusters(again.labels, took, published.saved, again.tried, again.merged)
    edges = candidates.graph.at_least(threshold)
    with Pool() as pool:
        for method in OFFERED if full else OFFERED[:1]:
            labels = clusters_of(method, edges, pairs.sets, TREE, pool)
            yield method, Clusters(labels, count, 0)  # all similarities of candidates are needed


def _published(pairs: Pairs, candidates: Candidates, threshold: float) -> Published:
    a, b = pairs.a[candidates.rows], pairs.b[candidates.rows]
    return bounded_in_given_order(pairs.sets, a, b, threshold, TREE)


def _line(
    pairs: Pairs, candidates: Candidates, found: Clusters, threshold: float, method: str
) -> dict[str, Any]:
    """Count pairs by category: of the candidates, and of all documents."""
    same = np.asarray(found.labels[pairs.a] == found.labels[pairs.b])
    kinds = {
        "high": pairs.similarity >= threshold,
        "mid": (pairs.similarity >= TREE) & (pairs.similarity < threshold),
        "low": pairs.similarity < TREE,
    }
    rows = candidates.rows
    sizes = np.bincount(found.labels)
    return {
        "threshold": threshold,
        "method": method,
        "compared": found.compared,
        "excluded": found.excluded,
        **{f"same_{name}": int((same & kind)[rows].sum()) for name, kind in kinds.items()},
        "different_high": int((~same & kinds["high"])[rows].sum()),
        **{f"all_same_{name}": int((same & kind).sum()) for name, kind in kinds.items()},
        "all_different_high": int((~same & kinds["high"]).sum()),
        "modularity": round(modularity(found.labels, candidates.graph) or 0.0, 6),
        "clusters": int((sizes > 1).sum()),
        "singletons": int((sizes == 1).sum()),
        "largest": int(sizes.max()),
        "tried": found.tried,
        "merged": found.merged,
    }
