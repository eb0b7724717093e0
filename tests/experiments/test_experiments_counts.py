"""What the experiments count, against loops over all pairs."""

from __future__ import annotations

import itertools
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from experiments import accuracy, clustering
from experiments.notes import Source, made_notes, near_duplicates
from experiments.pairs import NEVER, SHINGLE, Pairs, count_errors, first_bands, predicted_errors
from neardup import Signer, band_keys, candidate_probability, shingle_sets, sign

Similarities = dict[tuple[int, int], float]


def compared(texts: list[str]) -> Similarities:
    """The similarity of all pairs, by sets of Python."""
    sets = shingle_sets(texts, SHINGLE)
    ends = itertools.pairwise(sets.offsets.tolist())
    members = [frozenset(sets.values[low:high].tolist()) for low, high in ends]
    return {
        (i, j): len(members[i] & members[j]) / len(members[i] | members[j])
        for i, j in combinations(range(len(members)), 2)
    }


@pytest.fixture(scope="module")
def notes() -> list[str]:
    """Some of each kind: printouts, forms, chains and free text."""
    every = made_notes()
    return every[:40] + near_duplicates(every[:40], 30, (0.0, 0.2), seed=1)


@pytest.fixture(scope="module")
def pairs(notes: list[str]) -> Pairs:
    return Pairs(notes)


@pytest.fixture(scope="module")
def truth(notes: list[str]) -> Similarities:
    return compared(notes)


def met(notes: list[str], num_bands: int, rows: int) -> set[tuple[int, int]]:
    """Pairs that share a key in some band, by comparing all keys."""
    keys = band_keys(sign(notes, Signer(num_bands * rows), SHINGLE), num_bands, rows)
    return {
        (i, j) for i, j in combinations(range(len(notes)), 2) if (keys[:, i] == keys[:, j]).any()
    }


def test_pairs_are_all_pairs_with_their_similarity(pairs: Pairs, truth: Similarities) -> None:
    listed = list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    assert dict(zip(listed, pairs.similarity.tolist(), strict=True)) == truth
    assert sum(value > 0.4 for value in truth.values()) > 20
    assert pairs.index(pairs.a, pairs.b).tolist() == list(range(len(listed)))


@pytest.mark.parametrize(("num_bands", "rows"), [(3, 1), (20, 2), (10, 4)])
def test_first_bands(pairs: Pairs, num_bands: int, rows: int) -> None:
    first = first_bands(pairs, 20, rows)
    found = {(int(pairs.a[i]), int(pairs.b[i])) for i in np.flatnonzero(first < num_bands)}
    assert found == met(pairs.texts, num_bands, rows)
    assert set(np.unique(first)) <= {*range(20), NEVER}


@pytest.mark.parametrize("threshold", [0.2, 0.4])
def test_errors(pairs: Pairs, truth: Similarities, threshold: float) -> None:
    candidates = met(pairs.texts, 10, 4)
    false = sum(truth[pair] < threshold for pair in candidates)
    missed = sum(value >= threshold and pair not in candidates for pair, value in truth.items())
    candidate = first_bands(pairs, 10, 4) < 10
    assert count_errors(pairs.similarity, candidate, threshold) == (false, missed)
    assert missed > 0
    expected = [0.0, 0.0]
    for value in truth.values():
        chance = candidate_probability(value, 10, 4)
        expected[value >= threshold] += 1 - chance if value >= threshold else chance
    found = predicted_errors(pairs.similarity, 10, 4, threshold)
    assert found == pytest.approx(expected)


def test_accuracy_of_a_source(notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "BANDS", range(10, 31, 10))
    source = Source("some", "some", notes)
    found = accuracy.accuracy(source)
    texts = notes + near_duplicates(notes, 10, (0.1, 0.1), seed=2)
    truth = compared(texts)
    assert found["pairs"] == len(truth)
    settings = {(r["edge_threshold"], r["rows"], r["bands"]): r for r in found["rows"]}
    assert set(settings) == set(product(accuracy.THRESHOLDS, range(1, 6), (10, 20, 30)))
    for rows, num_bands in ((1, 10), (2, 30), (5, 20)):
        candidates = met(texts, num_bands, rows)
        for threshold in accuracy.THRESHOLDS:
            row = settings[threshold, rows, num_bands]
            true = {pair for pair, value in truth.items() if value >= threshold}
            assert found["true"][str(threshold)] == len(true)
            assert row["candidates"] == len(candidates)
            assert (row["false"], row["missed"]) == (len(candidates - true), len(true - candidates))


def test_clusters_of_a_source(notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "DUPLICATES", 30)
    monkeypatch.setattr(clustering, "EDGES", (0.6, 0.75))
    found = clustering.clustering(Source("some", "some", notes))
    texts = notes + near_duplicates(notes, 30, (0.0, 0.2), seed=3)
    values = list(compared(texts).values())
    rows: list[dict[str, Any]] = found["rows"]
    assert {row["method"] for row in rows} == set(clustering.METHODS)
    assert found["candidates"]["34 x 4"] == len(met(texts, 34, 4))
    for row in rows:
        high = sum(value >= row["edge_threshold"] for value in values)
        mid = sum(value >= clustering.TREE for value in values) - high
        assert row["exact"]
        assert row["same_high"] + row["different_high"] == high
        assert row["same_mid"] + row["different_mid"] == mid
        if row["method"].startswith("bounded"):
            assert row["same_low"] == 0
        if row["method"] == "bounded":
            assert row["saved"] + row["compared"] >= row["candidates"] > row["saved"] > 0


def test_candidates_find_what_the_edge_threshold_asks_for() -> None:
    assert candidate_probability(min(clustering.EDGES), *clustering.CANDIDATES[0]) >= 0.99
