"""Two texts beside each other, and paths of edges."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import numpy as np
import pytest

import neardup
from neardup.core.path import best_path


def shingles(text: str, n: int) -> set[tuple[str, ...]]:
    words = text.lower().split()
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def test_figures_are_those_of_sets() -> None:
    spec = neardup.Spec().replace(n=2, edge_threshold=0.5, tree_threshold=0.2)
    a, b = "the cat sat on the mat today", "the cat sat on a mat today or not"
    found = neardup.compare(a, b, spec)
    one, two = shingles(a, 2), shingles(b, 2)
    assert (found.shared, found.only_a, found.only_b) == (
        len(one & two),
        len(one - two),
        len(two - one),
    )
    assert found.similarity == len(one & two) / len(one | two)
    assert found.similarity == neardup.similarity(a, b, spec.shingle)
    assert found.containment_a == len(one & two) / len(one)
    assert found.containment_b == len(one & two) / len(two)
    assert (found.tokens_a, found.tokens_b, found.equal) == (7, 9, None)
    assert not found.duplicates
    assert found.as_dict()["duplicates"] is False


@pytest.mark.parametrize(
    ("a", "b", "equal", "duplicates"),
    [
        ("one two three", "one two three", "bytes", True),
        ("one two three", "One, two: THREE!", "tokens", True),
        ("one two three", "one two four", None, False),
        ("", "", "bytes", False),
        ("", "...", None, False),
        ("one", "", None, False),
    ],
)
def test_equal_texts_and_empty_ones(a: str, b: str, equal: str | None, duplicates: bool) -> None:
    found = neardup.compare(a, b)
    assert (found.equal, found.duplicates) == (equal, duplicates)
    assert (found.similarity == 1) is duplicates


def test_bags_and_stems_count() -> None:
    spec = neardup.Spec().replace(n=1)
    assert neardup.compare("well well", "well", spec).similarity == 1
    assert neardup.compare("well well", "well", spec.replace(bag=True)).similarity == 0.5
    assert neardup.compare("walks", "walked", spec).similarity == 0
    assert neardup.compare("walks", "walked", spec.replace(stem="english")).similarity == 1


def test_paths_are_shortest_and_then_strongest() -> None:
    """Against all shortest paths that networkx lists, in small graphs of any shape."""
    draw = random.Random(7)
    found = 0
    for _ in range(200):
        graph = nx.gnp_random_graph(draw.randrange(2, 10), 0.35, seed=draw.randrange(1 << 30))
        for _, _, about in graph.edges(data=True):
            about["weight"] = draw.randrange(1, 10) / 10
        start, end = draw.sample(sorted(graph), 2)
        edges = list(graph.edges(data="weight"))
        draw.shuffle(edges)
        a, b = (np.array([e[i] * 7 for e in edges], dtype=np.int64) for i in (0, 1))
        weights = np.array([e[2] for e in edges], dtype=np.float64)
        path = best_path(a, b, weights, start * 7, end * 7)
        if not nx.has_path(graph, start, end):
            assert len(path.docs) == len(path.similarity) == 0
            continue
        found += 1
        docs = (path.docs // 7).tolist()
        assert (docs[0], docs[-1]) == (start, end)
        assert len(docs) == len(nx.shortest_path(graph, start, end))
        steps = [graph[u][v]["weight"] for u, v in itertools.pairwise(docs)]
        assert steps == path.similarity.tolist()
        assert min(steps) == max(
            min(graph[u][v]["weight"] for u, v in itertools.pairwise(way))
            for way in nx.all_shortest_paths(graph, start, end)
        )
    assert found > 50
