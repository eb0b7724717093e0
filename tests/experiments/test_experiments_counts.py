"""What the experiments count, against loops over all pairs."""

from __future__ import annotations

import itertools
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from experiments import accuracy, clustering
from experiments.claims import CLUSTERING, row_of
from experiments.notes import Source, near_duplicates
from experiments.pairs import NEVER, SHINGLE, Pairs, errors, first_bands
from experiments.sizes import Sizes
from experiments.verdicts import judged
from neardup import Spec, band_keys, candidate_probability, dedup, shingle_sets, signatures
from neardup.cluster.methods import connected
from neardup.sketch.bands import bands_for_recall

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
def pairs(notes: list[str]) -> Pairs:
    return Pairs(notes)


@pytest.fixture(scope="module")
def truth(notes: list[str]) -> Similarities:
    return compared(notes)


def candidates(notes: list[str], num_bands: int, rows: int) -> set[tuple[int, int]]:
    """Pairs that share a key in some band, by comparing all keys."""
    keys = band_keys(signatures(notes, num_bands * rows, shingle=SHINGLE), num_bands, rows)
    return {(i, j) for i, j in combinations(range(len(notes)), 2) if (keys[i] == keys[j]).any()}


def test_pairs_are_all_pairs_with_their_similarity(pairs: Pairs, truth: Similarities) -> None:
    listed = list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    assert dict(zip(listed, pairs.similarity.tolist(), strict=True)) == truth
    assert sum(value > 0.4 for value in truth.values()) > 20
    assert pairs.index(pairs.a, pairs.b).tolist() == list(range(len(listed)))


@pytest.mark.parametrize(("num_bands", "rows"), [(3, 1), (20, 2), (10, 4)])
def test_first_bands(pairs: Pairs, num_bands: int, rows: int) -> None:
    first = first_bands(pairs, 20, rows)
    found = {(int(pairs.a[i]), int(pairs.b[i])) for i in np.flatnonzero(first < num_bands)}
    assert found == candidates(pairs.texts, num_bands, rows)
    assert set(np.unique(first)) <= {*range(20), NEVER}


@pytest.mark.parametrize("threshold", [0.2, 0.4])
def test_errors(pairs: Pairs, truth: Similarities, threshold: float) -> None:
    found = candidates(pairs.texts, 10, 4)
    false = sum(truth[pair] < threshold for pair in found)
    missed = sum(value >= threshold and pair not in found for pair, value in truth.items())
    counted = errors(pairs.similarity, first_bands(pairs, 10, 4) < 10, threshold)
    assert counted == (false, missed) and missed > 0
    mean = [0.0, 0.0]
    for value in truth.values():
        chance = candidate_probability(value, 10, 4)
        mean[value >= threshold] += 1 - chance if value >= threshold else chance
    predicted = errors(pairs.similarity, candidate_probability(pairs.similarity, 10, 4), threshold)
    assert predicted == pytest.approx(mean)


def test_accuracy_of_a_source(notes: list[str]) -> None:
    found = accuracy.accuracy(Source("some", "some", notes), Sizes(bands=(10, 20, 30)))
    texts = notes + near_duplicates(notes, 10, (0.1, 0.1), seed=2)
    truth = compared(texts)
    assert found["pairs"] == len(truth)
    settings = {(r["threshold"], r["rows"], r["bands"]): r for r in found["rows"]}
    assert set(settings) == set(product(accuracy.THRESHOLDS, range(1, 6), (10, 20, 30)))
    for rows, num_bands in ((1, 10), (2, 30), (5, 20)):
        some = candidates(texts, num_bands, rows)
        for threshold in accuracy.THRESHOLDS:
            row = settings[threshold, rows, num_bands]
            true = {pair for pair, value in truth.items() if value >= threshold}
            assert found["true"][str(threshold)] == len(true)
            assert row["candidates"] == len(some)
            assert (row["false"], row["missed"]) == (len(some - true), len(true - some))


@pytest.mark.long
def test_clusters_of_a_source(notes: list[str]) -> None:
    found = clustering.clustering(Source("some", "some", notes), Sizes(many=30))
    texts = notes + near_duplicates(notes, 30, (0.0, 0.2), seed=3)
    truth = compared(texts)
    assert set(found["settings"]) == {"50 x 2", "34 x 4"}
    for bands in clustering.SETTINGS:
        setting = found["settings"][clustering.named(bands)]
        some = candidates(texts, *bands)
        assert setting["candidates"] == len(some)
        assert {row["method"] for row in setting["rows"]} == set(clustering.METHODS)
        for row in setting["rows"]:
            check_row(row, truth, some, len(texts))


def check_row(
    row: dict[str, Any], truth: Similarities, some: set[tuple[int, int]], documents: int
) -> None:
    high = {pair for pair, value in truth.items() if value >= row["threshold"]}
    assert row["same_high"] + row["different_high"] == len(high & some)
    assert row["all_same_high"] + row["all_different_high"] == len(high)
    assert 0 <= row["singletons"] <= documents - 2 * row["clusters"]
    if row["method"].startswith(("disjoint", "the same", "bounded")):
        assert row["all_same_low"] == 0
    if row["method"] == clustering.PUBLISHED:
        assert row["excluded"] + row["compared"] >= len(some) > row["excluded"] > 0
    if row["method"] in (clustering.ROOTS, clustering.ROOTS_SKIPPED):
        assert row["excluded"] + row["compared"] == len(some)
    if row["method"] == "components":
        assert row["all_different_high"] == len(high - some)
        edges = np.array(sorted(high & some)).reshape(-1, 2)
        sizes = np.bincount(connected(edges[:, 0], edges[:, 1], documents))
        assert (row["clusters"], row["largest"]) == ((sizes > 1).sum(), sizes.max())
        assert row["singletons"] == (sizes == 1).sum()


def test_further_draws_have_what_verdicts_need(notes: list[str]) -> None:
    found = clustering.clustering(Source("some", "some", notes), Sizes(many=30), seed=2)
    for setting in found["settings"].values():
        judged(CLUSTERING, setting)
        assert not {"star", "louvain"} & {row["method"] for row in setting["rows"]}


def test_bounded_clusters_are_those_of_a_run(notes: list[str]) -> None:
    """The clusters that the experiments count are what the product gives."""
    distinct = list(dict.fromkeys(notes))
    found = clustering.clustering(Source("some", "some", distinct), Sizes(many=0))
    num_bands, rows = clustering.BANDS
    spec = Spec(SHINGLE, threshold=clustering.MAIN, num_bands=num_bands, rows=rows)
    for method in clustering.OFFERED:
        run = dedup(distinct, spec=spec.replace(cluster=method))
        sizes = np.bincount(run.labels)
        row = row_of(found["settings"]["34 x 4"], method)
        assert (row["clusters"], row["largest"]) == ((sizes > 1).sum(), sizes.max())


def test_candidates_find_what_the_lowest_threshold_asks_for() -> None:
    num_bands, rows = clustering.BANDS
    assert bands_for_recall(min(clustering.THRESHOLDS), 0.99, rows) == num_bands
