"""The definition of the result, in plain Python: enumerate pairs, compare sets, walk in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations


def jaccard(a: set[Hashable], b: set[Hashable]) -> float:
    """Similarity of two sets; 0 where both are empty."""
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if a or b else 0.0


def pairs_in_buckets(keys: Sequence[Iterable[Hashable]]) -> set[tuple[int, int]]:
    """All pairs of documents that share a bucket.

    Args:
        keys: For each document, what names its buckets, such as (band, key).
    """
    buckets: dict[Hashable, list[int]] = defaultdict(list)
    for doc, names in enumerate(keys):
        for name in names:
            buckets[name].append(doc)
    return {pair for docs in buckets.values() for pair in combinations(docs, 2)}


def edges(
    sets: Sequence[set[Hashable]], pairs: Iterable[tuple[int, int]], threshold: float
) -> dict[tuple[int, int], float]:
    """Pairs that reach the threshold, with their similarities."""
    found = {(a, b): jaccard(sets[a], sets[b]) for a, b in pairs}
    return {pair: s for pair, s in found.items() if s >= threshold}


def resolve(
    documents: int, edges: dict[tuple[int, int], float], old: int = 0
) -> tuple[list[int], list[float | None]]:
    """Rule 2: (the kept document that each removed one is a duplicate of, or -1; similarity).

    Args:
        documents: How many, numbered in keep order.
        edges: Pairs that reach the threshold.
        old: The first so many documents are kept, whatever they are similar to.
    """
    neighbours: dict[int, list[int]] = {}
    for a, b in edges:
        neighbours.setdefault(b, []).append(a)
        neighbours.setdefault(a, []).append(b)
    duplicate_of, similarity = [-1] * documents, [None] * documents
    kept: set[int] = set()
    for doc in range(documents):
        before = sorted(n for n in neighbours.get(doc, []) if n in kept)
        if before and doc >= old:
            duplicate_of[doc] = before[0]
            similarity[doc] = edges[before[0], doc]
        else:
            kept.add(doc)
    return duplicate_of, similarity


def components(documents: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """For each document the lowest one that it is connected with."""
    label = list(range(documents))
    for a, b in edges:
        low, high = sorted((label[a], label[b]))
        if low != high:
            label = [low if value == high else value for value in label]
    return label


def keep_order(values: Sequence[tuple[object, ...]]) -> list[int]:
    """Positions, the one that is kept rather first; ties by position."""
    return sorted(range(len(values)), key=lambda i: (values[i], i))


def whole_result(
    tokens: Sequence[tuple[str, ...]],
    sets: Sequence[set[Hashable]],
    keys: Sequence[Sequence[int]] | None,
    order: Sequence[int],
    threshold: float,
) -> tuple[list[int], list[float | None], dict[tuple[int, int], float]]:
    """The result of a run by position, from the definition alone.

    Args:
        tokens: Of each document; none for an empty one.
        sets: Shingles of each document.
        keys: Band keys of each document; None where every pair counts.
        order: Positions in keep order.
        threshold: Similarity that makes an edge.

    Returns:
        (the kept document of each removed one, or -1; their similarity; all edges by position).
    """
    filled = [p for p in order if tokens[p]]
    names = [list(enumerate(keys[p])) if keys is not None else ["all"] for p in filled]
    found = edges([sets[p] for p in filled], pairs_in_buckets(names), threshold)
    duplicate_of, similarity = resolve(len(filled), found)
    of, how = [-1] * len(tokens), [None] * len(tokens)
    for number, position in enumerate(filled):
        if duplicate_of[number] >= 0:
            of[position] = filled[duplicate_of[number]]
            how[position] = similarity[number]
    between = {(filled[a], filled[b]): s for (a, b), s in found.items()}
    return of, how, between
