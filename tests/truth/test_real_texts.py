"""Real texts with exact truth: every edge is true, and as many are found as were asked for.

The texts are not part of the project. They are looked for where ``NEARDUP_DATA`` points, or in
``shared/data`` beside the checkout.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import neardup
from neardup.kernels import reference
from neardup.run import parts
from neardup.spec import ShingleSpec, Spec

DATA = Path(os.environ.get("NEARDUP_DATA") or Path(__file__).parents[3] / "shared" / "data")
SETS = ("mtsamples", "mts_dialog", "license_rules", "textreuse_samples")
STRANGERS = ("aci_bench", "primock57")
UNITS = {"w8": "word:8", "w4": "word:4", "c5": "char:5"}
THRESHOLDS = (0.5, 0.7, 0.8, 0.9)
Pairs = dict[tuple[int, int], float]

pytestmark = pytest.mark.skipif(
    not (DATA / SETS[0] / "docs.parquet").exists(), reason=f"no real texts in {DATA}"
)


@functools.cache
def texts(name: str) -> Any:
    return pq.read_table(DATA / name / "docs.parquet", columns=["text"])


@functools.cache
def words(name: str) -> list[list[str]]:
    """The tokens of each document by plain Python."""
    return [
        theirs(text) if text.isascii() else reference.words(text)
        for text in texts(name)["text"].to_pylist()
    ]


def theirs(text: str) -> list[str]:
    """The words that the truth was made of."""
    return re.findall(r"\w+", text.lower())


@functools.cache
def unlike(name: str) -> frozenset[int]:
    """Documents whose words the truth cuts otherwise: it takes a run of Chinese as one word."""
    column = texts(name)["text"].to_pylist()
    return frozenset(
        row
        for row, (text, ours) in enumerate(zip(column, words(name), strict=True))
        if not text.isascii() and theirs(text) != ours
    )


@pytest.fixture(scope="module", autouse=True)
def samples_are_compared_once() -> Iterator[None]:
    """Keep the similarities of the samples by which bands are chosen.

    They are the same for each threshold, recall, scheme and seed, and take longer than all the
    rest of a run on a few thousand documents.
    """
    known: dict[bytes, np.ndarray] = {}
    verify = parts.verify

    def once(sets: Any, a: Any, b: Any, threshold: float, pool: Any) -> np.ndarray:
        digest = hashlib.blake2b(repr(threshold).encode())
        for array in (sets.values, sets.begin, sets.size, a, b):
            digest.update(array)
        key = digest.digest()
        if key not in known:
            known[key] = verify(sets, a, b, threshold, pool)
        return known[key].copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "verify", once)
        yield


@functools.cache
def truth(name: str, unit: str) -> Pairs:
    table = pq.read_table(DATA / name / f"truth_{unit}.parquet", columns=["a", "b", "jaccard"])
    return {(a, b): j for a, b, j in zip(*(c.to_pylist() for c in table.columns), strict=True)}


def comparable(name: str, unit: str, pairs: Pairs) -> Pairs:
    if unit == "c5":
        return pairs
    return {p: j for p, j in pairs.items() if not unlike(name).intersection(p)}


def found(name: str, unit: str, threshold: float, **settings: Any) -> tuple[Pairs, Any]:
    spec = Spec(
        shingle=ShingleSpec.parse(UNITS[unit]),
        edge_threshold=threshold,
        tree_threshold=settings.pop("tree_threshold", threshold / 2),
        **settings,
    )
    result = neardup.dedup(texts(name), spec=spec)
    columns = (result.edges[c].to_pylist() for c in ("doc_a", "doc_b", "similarity"))
    return {(a, b): j for a, b, j in zip(*columns, strict=True)}, result


def check_edges(edges: Pairs, true: Pairs) -> None:
    for pair, value in edges.items():
        assert pair in true, pair
        assert abs(value - true[pair]) <= 1e-9, pair


def test_few_documents_are_left_out() -> None:
    assert sum(len(unlike(name)) for name in (*SETS, *STRANGERS)) <= 5


@pytest.mark.parametrize("name", [*SETS, *STRANGERS])
@pytest.mark.parametrize("unit", UNITS)
def test_allpairs_finds_exactly_the_truth(name: str, unit: str) -> None:
    for threshold in THRESHOLDS[:: 2 if unit == "c5" else 1]:  # characters take the longest
        edges, _ = found(name, unit, threshold, method="allpairs", pairs="all")
        true = {p: j for p, j in truth(name, unit).items() if j >= threshold}
        got, wanted = comparable(name, unit, edges), comparable(name, unit, true)
        check_edges(got, wanted)
        assert got.keys() == wanted.keys()


@pytest.mark.parametrize("n", [4, 8])
def test_documents_that_the_truth_cuts_otherwise(n: int) -> None:
    """The same question answered by plain Python, for those few."""
    sets = [
        {tuple(w[i : i + n]) for i in range(max(1, len(w) - n + 1))} if w else set()
        for w in words("license_rules")
    ]
    expected = {}
    for a in unlike("license_rules"):
        for b in range(len(sets)):
            if a != b and sets[a] and sets[b]:
                shared = len(sets[a] & sets[b])
                value = shared / (len(sets[a]) + len(sets[b]) - shared)
                if value >= 0.5:
                    expected[min(a, b), max(a, b)] = value
    edges, _ = found("license_rules", f"w{n}", 0.5, method="allpairs", pairs="all")
    got = {p: j for p, j in edges.items() if unlike("license_rules").intersection(p)}
    assert got == expected


@pytest.mark.parametrize(
    "scheme, recall", [("affine32", 0.9), ("affine32", 0.99), ("affine32", 0.999), ("oph32", 0.99)]
)
def test_banding_finds_the_share_that_was_asked_for(scheme: str, recall: float) -> None:
    """Pooled over sets, shingles and thresholds (54,326 pairs), seed 0.

    A pair is found with probability ``recall`` if it lies at the threshold, and more often above.
    If all pairs lay at it and those of one connected component were found or lost together, the
    share found would have the variance r (1 - r) sum(w**2), with w the components' shares of the
    pairs. Most pairs lie above, so that the share must reach the recall itself, with no tolerance.
    """
    hits = total = 0
    for name in SETS:
        for unit in UNITS:
            for threshold in THRESHOLDS[::2]:
                edges, _ = found(name, unit, threshold, recall=recall, scheme=scheme, pairs="all")
                true = {p: j for p, j in truth(name, unit).items() if j >= threshold}
                got, wanted = comparable(name, unit, edges), comparable(name, unit, true)
                check_edges(got, wanted)
                hits += len(got)
                total += len(wanted)
    assert total > 50_000
    assert hits / total >= recall, (hits, total)


@pytest.mark.parametrize("name", STRANGERS)
@pytest.mark.parametrize("unit", UNITS)
def test_notes_without_near_duplicates_give_no_edge(name: str, unit: str) -> None:
    true = truth(name, unit)
    for threshold in THRESHOLDS:
        edges, _ = found(name, unit, threshold, pairs="all")
        check_edges(edges, true)
        if unit != "c5" or name == "aci_bench":
            assert not edges


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("clustering", ["bounded", "star", "components"])
def test_clusters_and_removals_hold_what_they_promise(name: str, clustering: str) -> None:
    spec = ShingleSpec.parse("word:4")
    edges, result = found(name, "w4", 0.7, tree_threshold=0.4, cluster=clustering, recall=0.99)
    sets = neardup.shingle_sets(texts(name)["text"], spec)
    members = [
        frozenset(sets.values[a:b].tolist())
        for a, b in zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
    ]

    def similarity(a: int, b: int) -> float:
        return len(members[a] & members[b]) / len(members[a] | members[b])

    cluster = result.clusters["cluster"].to_pylist()
    kept_by = result.clusters["kept_by"].to_pylist()
    kept = result.clusters["kept"].to_pylist()
    stated = result.clusters["similarity"].to_pylist()
    groups: dict[int, list[int]] = {}
    for doc, label in enumerate(cluster):
        groups.setdefault(label, []).append(doc)
    for label, docs in groups.items():
        assert label == docs[0]
        if clustering == "bounded":
            assert all(similarity(a, b) >= 0.4 for a, b in combinations(docs, 2))
    for doc, keeper in enumerate(kept_by):
        assert kept[doc] == (keeper is None) == (stated[doc] is None)
        if keeper is not None:
            assert kept[keeper] and cluster[keeper] == cluster[doc]
            assert stated[doc] == similarity(doc, keeper) >= 0.7
    assert result.clean().num_rows == sum(kept) < len(kept)
    # A true pair is found if it ends in one cluster or as an edge.
    if clustering != "star":
        true = comparable(name, "w4", {p: j for p, j in truth(name, "w4").items() if j >= 0.7})
        hits = sum(cluster[a] == cluster[b] or (a, b) in edges for a, b in true)
        assert hits >= 0.99 * len(true)
        assert result.summary["counts"]["not_compared"] == 0


def test_the_share_found_does_not_hang_on_one_seed() -> None:
    shares = []
    for seed in range(5):
        edges, _ = found("license_rules", "w8", 0.5, recall=0.9, seed=seed, pairs="all")
        shares.append(len(edges) / len(truth("license_rules", "w8")))
    assert np.mean(shares) >= 0.9, shares
