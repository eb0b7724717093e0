"""The definition of the result in plain Python: enumerate pairs, compare sets, walk in order.

Shingle sets and band keys are those of the recipe. The rest is written for small corpora, as
``docs/method.md`` has it, and shares no code with the engines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.sketch.bands import recipe_for
from neardup.sketch.sketcher import Sketcher
from neardup.sketch.tokenising import shingle_sets
from neardup.spec import LENGTH, ShingleSpec, Spec

#: Documents to their sets of shingles, of which only equality counts.
Shingles = Callable[[Sequence[str | None], ShingleSpec], Sequence[set[Any]]]


class Defined(NamedTuple):
    """The result of a run, by the position of the documents.

    Attributes:
        duplicate_of: The kept document of each removed one; -1 for those that are kept.
        similarity: With that document; None for those that are kept.
        clusters: The document that names the cluster of each; None for clusterings that are not
            defined here.
        edges: Pairs that share a bucket and reach the threshold, with their similarities.
    """

    duplicate_of: list[int]
    similarity: list[float | None]
    clusters: list[int] | None
    edges: dict[tuple[int, int], float]


def jaccard(a: set[Any], b: set[Any]) -> float:
    """Return the similarity of two sets; 0 where both are empty."""
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if a or b else 0.0


def buckets_of(keys: Sequence[Iterable[Any]]) -> dict[Any, list[int]]:
    """Return the documents of each bucket, by its name.

    Args:
        keys: For each document, the names of its buckets, such as (band, key).
    """
    buckets: dict[Any, list[int]] = defaultdict(list)
    for doc, names in enumerate(keys):
        for name in names:
            buckets[name].append(doc)
    return buckets


def pairs_in_buckets(keys: Sequence[Iterable[Any]]) -> set[tuple[int, int]]:
    """Return all pairs of documents that share a bucket; ``keys`` as for `buckets_of`."""
    return {pair for docs in buckets_of(keys).values() for pair in combinations(docs, 2)}


def edges(
    sets: Sequence[set[Any]], pairs: Iterable[tuple[int, int]], threshold: float
) -> dict[tuple[int, int], float]:
    """Return the pairs that reach the threshold, with their similarities."""
    found = {(a, b): jaccard(sets[a], sets[b]) for a, b in pairs}
    return {pair: s for pair, s in found.items() if s >= threshold}


def resolve(
    documents: int, edges: dict[tuple[int, int], float], old: int = 0
) -> tuple[list[int], list[float | None]]:
    """Return (the kept document that each removed one is a duplicate of, or -1; similarity).

    Args:
        documents: Their number; they are numbered in keep order.
        edges: Pairs that reach the threshold.
        old: The first so many documents are kept, in any case.
    """
    neighbours: dict[int, list[int]] = defaultdict(list)
    for a, b in edges:
        neighbours[b].append(a)
        neighbours[a].append(b)
    duplicate_of, similarity = [-1] * documents, list[float | None]([None] * documents)
    kept: set[int] = set()
    for doc in range(documents):
        before = sorted(n for n in neighbours[doc] if n in kept)
        if before and doc >= old:
            duplicate_of[doc] = before[0]
            similarity[doc] = edges[before[0], doc]
        else:
            kept.add(doc)
    return duplicate_of, similarity


def components(documents: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Return for each document the lowest one that it is connected with."""
    label = list(range(documents))
    for a, b in edges:
        low, high = sorted((label[a], label[b]))
        if low != high:
            label = [low if value == high else value for value in label]
    return label


def disjoint_sets(
    sets: Sequence[set[Any]],
    buckets: Iterable[Sequence[int]],
    threshold: float,
    tree_threshold: float,
    *,
    again: bool = False,
) -> tuple[list[int], set[tuple[int, int]]]:
    """Return (for each document the lowest one of its set, pairs that were compared).

    Args:
        sets: Of documents.
        buckets: Documents of each bucket, in the order in which they are taken.
        threshold: Similarity of an edge.
        tree_threshold: Minimum similarity within a set.
        again: Compare roots that have been united in the bucket as well.
    """
    parent, rank, low = list(range(len(sets))), [0] * len(sets), [1.0] * len(sets)
    compared: set[tuple[int, int]] = set()

    def root(x: int) -> int:
        return x if parent[x] == x else root(parent[x])

    def compare(x: int, y: int) -> float:
        compared.add((min(x, y), max(x, y)))
        return jaccard(sets[x], sets[y])

    for bucket in buckets:
        for a, b in combinations(sorted({root(doc) for doc in bucket}), 2):
            x, y = root(a), root(b)
            if (x == y and not again) or compare(a, b) < threshold or x == y:
                continue
            similarity = compare(x, y)
            if low[x] + low[y] + similarity - 2 < tree_threshold:
                continue
            x, y = sorted((x, y), key=lambda z: (-rank[z], z))
            rank[x] += rank[x] == rank[y]
            parent[y], low[x] = x, min(low[x], low[y] - (1 - similarity))
    roots = [root(x) for x in range(len(sets))]
    return [roots.index(x) for x in roots], compared


def shingles_of(texts: Sequence[str | None], shingle: ShingleSpec) -> list[set[Any]]:
    """Return the sets of shingles of texts, as hashes."""
    values, offsets = shingle_sets([text or "" for text in texts], shingle)
    return [set(part.tolist()) for part in np.split(values, offsets[1:-1])][: len(texts)]


def keep_order(documents: pa.Table, spec: Spec, old: int = 0) -> list[int]:
    """Return the positions of documents, the one that is kept rather first.

    Args:
        documents: With ``text``, and the columns that the settings name.
        spec: Settings.
        old: The first so many documents precede all others.
    """
    count = documents.num_rows
    lengths = [len(text or "") for text in documents["text"].to_pylist()]
    ranks: list[Any] = [0] * count
    if (order := spec.order) is not None:
        ordering = lengths if order.column == LENGTH else documents[order.column].to_pylist()
        ascending = sorted({value for value in ordering if value is not None})
        numbers = {value: number for number, value in enumerate(ascending)}
        sign = -1 if order.descending else 1
        ranks = [(v is None, sign * numbers.get(v, 0)) for v in ordering]
    how, _, column = spec.keep.partition(":")
    values = [(False, 0)] * count
    if how == "longest":
        values = [(False, -length) for length in lengths]
    elif column:
        sign = -1 if how == "max" else 1
        values = [(v is None, sign * (v or 0)) for v in documents[column].to_pylist()]
    rest = sorted(range(old, count), key=lambda i: (values[i], ranks[i], i))
    return [*range(old), *rest]


def defined(
    documents: pa.Table, spec: Spec, old: int = 0, shingles: Shingles = shingles_of
) -> Defined:
    """Return the result of a run over documents.

    Args:
        documents: With ``text``, and the columns that the settings name.
        spec: Settings, with which the recipe is the one of `neardup.sketch.bands.recipe_for`.
        old: The first so many documents are an old corpus: they stay.
        shingles: Makes the sets of shingles.
    """
    texts = documents["text"].to_pylist()
    sets, recipe = shingles(texts, spec.shingle), recipe_for(spec)
    order = keep_order(documents, spec, old)
    filled = [p for p in order if sets[p]]
    keys: list[Any] = [["every"]] * len(texts)
    if recipe.num_bands:
        found = Sketcher(replace(recipe, within=None))(
            pa.array([t or "" for t in texts], pa.large_string())
        )
        keys = [list(enumerate(each)) for each in found.keys.tolist()]
    pairs = pairs_in_buckets([keys[p] for p in filled])
    if spec.within is not None:
        groups = [str(v) if v else None for v in documents[spec.within].to_pylist()]
        of_filled = [groups[p] for p in filled]
        pairs = {(a, b) for a, b in pairs if of_filled[a] and of_filled[a] == of_filled[b]}
    between = edges([sets[p] for p in filled], pairs, spec.threshold)
    stay = sum(position < old for position in filled)
    of, how = [-1] * len(texts), list[float | None]([None] * len(texts))
    for position, target, value in zip(filled, *resolve(len(filled), between, stay), strict=True):
        of[position], how[position] = (filled[target] if target >= 0 else -1), value
    clusters = None
    if spec.cluster == "star":
        clusters = [target if target >= 0 else position for position, target in enumerate(of)]
    elif spec.cluster == "disjoint-sets" and spec.within is None:  # keys depend on the group
        clusters = list(range(len(texts)))
        hashes = list(map(tuple, found.hashes.tolist()))
        one = dict[Any, int]()  # equal documents are one: they would raise the rank of its tree
        for position in filled:
            one.setdefault(hashes[position], position)
        every = list(one.values())
        buckets = buckets_of([keys[p] for p in every])
        ordered = [docs for _, docs in sorted(buckets.items())]
        thresholds = spec.threshold, spec.minimum_in_cluster
        labels, _ = disjoint_sets([sets[p] for p in every], ordered, *thresholds)
        united = dict(zip(every, (every[first] for first in labels), strict=True))
        for position in filled:
            clusters[position] = united[one[hashes[position]]]
    elif spec.cluster == "components":
        clusters = list(range(len(texts)))
        for position, first in zip(filled, components(len(filled), between), strict=True):
            clusters[position] = filled[first]
    return Defined(of, how, clusters, {(filled[a], filled[b]): s for (a, b), s in between.items()})
