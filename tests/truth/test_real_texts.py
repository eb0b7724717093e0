"""Real texts: a run equals the definition in plain Python, and exact truth where it is known.

The texts are not part of the project. They are looked for where ``NEARDUP_DATA`` points, or in
``shared/data`` beside the checkout.
"""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from collections.abc import Hashable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import reference_text as reference

import neardup
from neardup import ShingleSpec, Spec, preset
from neardup.testing import definition

DATA = Path(os.environ.get("NEARDUP_DATA") or Path(__file__).parents[3] / "shared" / "data")
SETS = ("mtsamples", "mts_dialog", "license_rules", "textreuse_samples")
#: Notes without near-duplicates.
STRANGERS = ("aci_bench", "primock57")
#: No pairs are known of these, or only who is who.
OTHERS = ("mts_dialog_backtranslated",)
RECORDS = ("rldata500", "restaurant", "cora", "febrl1", "febrl2", "febrl3", "abt_buy")
UNITS = {"w8": "word:8", "w4": "word:4", "c5": "char:5"}
THRESHOLDS = (0.5, 0.7, 0.9)
Pairs = dict[tuple[int, int], float]
#: What is between blanks, with a character that regular expressions may take otherwise.
NOT_ASCII = re.compile(r"((?<!\S)\S*[^\x00-\x7f]\S*)")

pytestmark = pytest.mark.skipif(
    not (DATA / SETS[0] / "docs.parquet").exists(), reason=f"no real texts in {DATA}"
)


@functools.cache
def texts(name: str) -> pa.Table:
    if name in RECORDS:
        return pyarrow.csv.read_csv(DATA / name / "records.csv").select(["text"])
    return pq.read_table(DATA / name / "docs.parquet", columns=["text"])


@functools.cache
def words(name: str) -> list[list[str]]:
    """The tokens of each document by plain Python."""
    return [
        [
            word
            for part in ([text] if text.isascii() else NOT_ASCII.split(text))
            for word in (theirs(part) if part.isascii() else reference.words(part))
        ]
        for text in texts(name)["text"].to_pylist()
    ]


def theirs(text: str) -> list[str]:
    """The words that the truth was made of."""
    return re.findall(r"\w+", text.lower())


@functools.cache
def unlike(name: str, unit: str) -> frozenset[int]:
    """Documents that the truth cuts otherwise.

    It takes a run of Chinese as one word. It knows no canonical equivalence, and soft hyphens and
    blanks without width are characters to it, which end words.
    """
    column = texts(name)["text"].to_pylist()
    if unit == "c5":
        return frozenset(
            row
            for row, text in enumerate(column)
            if not text.isascii()
            and list(map(ord, " ".join(text.lower().split()))) != reference.characters(text)
        )
    return frozenset(
        row
        for row, (text, ours) in enumerate(zip(column, words(name), strict=True))
        if not text.isascii() and theirs(text) != ours
    )


@functools.cache
def shingles(name: str, shingle: str) -> list[set[Hashable]]:
    """The shingles of each document by plain Python; equal ones are one number."""
    unit, n = shingle.split(":")
    if unit == "word":
        tokens: list[Any] = words(name)
    else:
        tokens = [reference.characters(text) for text in texts(name)["text"].to_pylist()]
    numbers: dict[Any, int] = defaultdict(count().__next__)
    size = int(n)
    found = []
    for t in tokens:
        runs = zip(*(t[i:] for i in range(size)), strict=False)
        whole = [tuple(t)] if 0 < len(t) < size else []
        found.append({numbers[shingle] for shingle in (*runs, *whole)})
    return found


@functools.cache
def truth(name: str, unit: str) -> Pairs:
    table = pq.read_table(DATA / name / f"truth_{unit}.parquet", columns=["a", "b", "jaccard"])
    return {(a, b): j for a, b, j in zip(*(c.to_pylist() for c in table.columns), strict=True)}


def comparable(name: str, unit: str, pairs: Pairs) -> Pairs:
    return {p: j for p, j in pairs.items() if not unlike(name, unit).intersection(p)}


def listed(run: neardup.DedupRun) -> Pairs:
    assert run.edges is not None
    columns = (run.edges[c].to_pylist() for c in ("doc_a", "doc_b", "similarity"))
    return {(a, b): j for a, b, j in zip(*columns, strict=True)}


@functools.cache
def found(name: str, unit: str, threshold: float, **settings: Any) -> Pairs:
    spec = Spec(ShingleSpec(UNITS[unit]), threshold=threshold, pairs="all", **settings)
    return listed(neardup.dedup(texts(name), spec=spec))


def check_edges(edges: Pairs, true: Pairs) -> None:
    for pair, value in edges.items():
        assert pair in true, pair
        assert abs(value - true[pair]) <= 1e-9, pair


# The definition, in plain Python.


def check_equals_definition(run: neardup.DedupRun, name: str) -> None:
    """Compare a run of the star, in the order of the input, with the definition."""
    spec = Spec.from_dict(run.summary["spec"])
    sets = shingles(name, str(spec.shingle))
    of, how, _, edges = definition.defined(texts(name), spec, shingles=lambda *_: sets)
    clusters = run.clusters
    kept = [target < 0 for target in of]
    assert clusters["doc"].to_pylist() == list(range(len(sets)))
    assert clusters["kept"].to_pylist() == kept
    assert clusters["duplicate_of"].to_pylist() == [None if d < 0 else d for d in of]
    assert clusters["similarity"].to_pylist() == how
    assert clusters["cluster"].to_pylist() == [d if d >= 0 else i for i, d in enumerate(of)]
    assert not any(kept[a] and kept[b] for a, b in edges)
    assert run.clean().num_rows == sum(kept)


@pytest.mark.long
@pytest.mark.parametrize("threshold", [None, 0.6, 0.9])
@pytest.mark.parametrize("name", [*SETS, *STRANGERS, *OTHERS])
def test_a_run_equals_the_definition(name: str, threshold: float | None) -> None:
    run = neardup.dedup(texts(name), threshold=threshold)
    assert (Spec.from_dict(run.summary["spec"]) == preset("web")) == (threshold is None)
    check_equals_definition(run, name)
    if threshold != 0.9:
        assert (run.summary["counts"]["removed"] > 0) == (name not in STRANGERS)


@pytest.mark.long
@pytest.mark.parametrize("threshold", [None, 0.6, 0.8])
@pytest.mark.parametrize("settings", ["web", "records"])
@pytest.mark.parametrize("name", RECORDS)
def test_a_run_on_records_equals_the_definition(
    name: str, settings: str, threshold: float | None
) -> None:
    run = neardup.dedup(texts(name), preset=settings, threshold=threshold)
    check_equals_definition(run, name)
    removed = run.summary["counts"]["removed"]
    assert removed > 20 or settings == "web" or threshold == 0.8, removed


def test_a_run_on_files_equals_the_definition(tmp_path: Path) -> None:
    run = neardup.dedup(DATA / "mtsamples" / "docs.parquet", out=tmp_path / "out")
    check_equals_definition(run, "mtsamples")


# Truth that others computed.


@pytest.mark.long
@pytest.mark.parametrize(("unit", "most"), [("w8", 8), ("w4", 8), ("c5", 13)])
def test_few_documents_are_left_out(unit: str, most: int) -> None:
    assert sum(len(unlike(name, unit)) for name in (*SETS, *STRANGERS)) <= most


@pytest.mark.long
@pytest.mark.parametrize("name", [*SETS, *STRANGERS])
@pytest.mark.parametrize("unit", UNITS)
def test_allpairs_finds_exactly_the_truth(name: str, unit: str) -> None:
    for threshold in THRESHOLDS if unit != "c5" else (0.7,):  # characters take the longest
        edges = found(name, unit, threshold, method="allpairs")
        true = {p: j for p, j in truth(name, unit).items() if j >= threshold}
        got, wanted = comparable(name, unit, edges), comparable(name, unit, true)
        check_edges(got, wanted)
        assert got.keys() == wanted.keys()


@pytest.mark.long
@pytest.mark.parametrize("unit", ["w4", "w8", "c5"])
def test_documents_that_the_truth_cuts_otherwise(unit: str) -> None:
    """The same question answered by plain Python, for those few."""
    sets, few = shingles("license_rules", UNITS[unit]), unlike("license_rules", unit)
    assert few
    pairs = {(min(a, b), max(a, b)) for a in few for b in range(len(sets)) if a != b}
    threshold = 0.7 if unit == "c5" else 0.5
    expected = definition.edges(sets, pairs, threshold)
    edges = found("license_rules", unit, threshold, method="allpairs")
    assert {p: j for p, j in edges.items() if few.intersection(p)} == expected


@pytest.mark.long
@pytest.mark.parametrize(
    ("scheme", "recall", "units", "least"),
    [
        ("affine32", 0.9, ["w8", "w4"], 20_000),
        ("affine32", 0.99, ["w8", "w4", "c5"], 50_000),
        ("affine32", 0.999, ["w8", "w4"], 20_000),
        ("oph32", 0.99, ["w8", "w4"], 20_000),
    ],
)
def test_banding_finds_the_share_that_was_asked_for(
    scheme: str, recall: float, units: list[str], least: int
) -> None:
    """Pooled over sets, shingles and thresholds, seed 0.

    A pair is found with probability ``recall`` if it lies at the threshold, and more often above.
    If all pairs lay at it and those of one connected component were found or lost together, the
    share found would have the variance r (1 - r) sum(w**2), with w the components' shares of the
    pairs. Most pairs lie above, so that the share must reach the recall itself, with no tolerance.
    """
    hits = total = 0
    for name in SETS:
        for unit in units:
            for threshold in (0.5, 0.8):
                edges = found(name, unit, threshold, recall=recall, scheme=scheme)
                true = {p: j for p, j in truth(name, unit).items() if j >= threshold}
                got, wanted = comparable(name, unit, edges), comparable(name, unit, true)
                check_edges(got, wanted)
                hits += len(got)
                total += len(wanted)
    assert total > least
    assert hits / total >= recall, (hits, total)


@pytest.mark.parametrize("name", STRANGERS)
@pytest.mark.parametrize("unit", UNITS)
def test_notes_without_near_duplicates_give_no_edge(name: str, unit: str) -> None:
    true = truth(name, unit)
    for threshold in THRESHOLDS:
        edges = found(name, unit, threshold)
        check_edges(edges, true)
        if unit != "c5" or name == "aci_bench":
            assert not edges


@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("clustering", ["bounded", "components"])
def test_clusters_hold_what_they_promise(name: str, clustering: str) -> None:
    spec = Spec(ShingleSpec("word:4"), cluster=clustering)
    run = neardup.dedup(texts(name), spec=spec)
    sets, edges = shingles(name, "word:4"), listed(run)
    cluster = run.clusters["cluster"].to_pylist()
    groups: dict[int, list[int]] = {}
    for doc, label in enumerate(cluster):
        groups.setdefault(label, []).append(doc)
    for label, docs in groups.items():
        assert label == docs[0]
        if clustering == "bounded":
            for doc in docs[1:]:
                others = docs[: docs.index(doc)]
                assert all(definition.jaccard(sets[doc], sets[other]) >= 0.4 for other in others)
    if clustering == "components":
        assert all(cluster[a] == cluster[b] for a, b in edges)
    # A true pair ends in one cluster, or as an edge.
    true = comparable(name, "w4", {p: j for p, j in truth(name, "w4").items() if j >= 0.7})
    hits = sum(cluster[a] == cluster[b] or (a, b) in edges for a, b in true)
    assert hits >= 0.99 * len(true)


@pytest.mark.long
def test_the_share_found_does_not_hang_on_one_seed() -> None:
    shares = []
    for seed in range(4):
        edges = found("license_rules", "w8", 0.5, recall=0.9, seed=seed)
        shares.append(len(edges) / len(truth("license_rules", "w8")))
    assert np.mean(shares) >= 0.9, shares
