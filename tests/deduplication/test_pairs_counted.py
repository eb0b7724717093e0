"""`--pairs count`: the counts are those of the list, in all and in each cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import reference_sets as reference

import neardup
from common import Tune
from neardup.errors import SpecError
from neardup.match.pair_counts import CLASSES
from neardup.testing import small_corpora
from neardup.views.text.summary_text import rows


def settings_of(seed: int, rng: np.random.Generator) -> neardup.Spec:
    return neardup.Spec().replace(
        threshold=float(rng.choice([0.3, 0.5, 0.7, 0.73, 1.0])),
        cluster=("star", "disjoint-sets", "bounded", "components")[seed % 4],
        within=(None, "group")[seed % 2],
        keep=("first", "longest")[seed % 2],
        order_by=(None, "rank")[seed // 2 % 2],
        shingle=("word:2", "char:3")[seed % 2],
    )


def check(counted: neardup.DedupRun, listed: neardup.DedupRun) -> None:
    assert counted.clusters.equals(listed.clusters)
    edges = listed.edges
    assert edges is not None and not listed.summary["counts"]["not_compared"]
    cluster = listed.clusters["cluster"].to_pylist()
    columns = (edges[name].to_pylist() for name in ("doc_a", "doc_b", "similarity"))
    total, within = reference.tally_pairs(list(zip(*columns, strict=True)), cluster, CLASSES)
    record = counted.summary
    found = {float(low): pairs for low, pairs in record["pairs_by_similarity"].items() if pairs}
    assert found == dict(total)
    assert record["counts"]["pairs"] == len(edges)
    assert record["counts"]["pairs_in_clusters"] == sum(within.values())
    table = counted.table("pair_counts")
    assert {(row["cluster"], row["similarity"]): row["pairs"] for row in table.to_pylist()} == dict(
        within
    )
    assert table.equals(table.sort_by([("cluster", "ascending"), ("similarity", "ascending")]))


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_those_of_the_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    documents = small_corpora.random_documents(rng, int(rng.integers(1, 250)))
    spec = settings_of(seed, rng)
    runs = (
        neardup.dedup(documents, id="id", threads=threads, spec=spec.replace(pairs=pairs))
        for threads, pairs in ((1 + seed % 2, "count"), (2, "all"))
    )
    check(*runs)


def test_all_pairs_of_a_large_bucket_are_counted() -> None:
    """More than are listed: 1,500 texts of which any two differ in two of 40 words."""
    words = [f"w{number}" for number in range(40)]
    texts = [" ".join([*words, f"own{number}"]) for number in range(1500)]
    run = neardup.dedup(texts, spec=neardup.Spec(neardup.ShingleSpec(n=1), pairs="count"))
    counts = run.summary["counts"]
    assert counts["pairs"] == counts["pairs_in_clusters"] == 1500 * 1499 // 2
    assert run.summary["pairs_by_similarity"]["0.95"] == counts["pairs"]
    assert run.table("pair_counts").to_pylist() == [
        {"cluster": 0, "similarity": 0.95, "pairs": counts["pairs"]}
    ]


def test_without_ids_and_in_a_folder(tmp_path: Path, tune: Tune) -> None:
    """Counting says how long it will take, and needs no ids; a run in a folder has the same."""
    tune(estimate_after=0.0)
    texts = small_corpora.similar_texts()["text"]
    spec = neardup.Spec(pairs="count")
    ours = neardup.dedup(pa.table({"text": texts}), spec=spec)
    lines = tmp_path / "texts.jsonl"
    lines.write_text("".join(json.dumps({"text": text or ""}) + "\n" for text in texts.to_pylist()))
    stored = neardup.dedup(lines, out=tmp_path / "out", spec=spec, keep_run=True)
    for run in (stored, neardup.open(tmp_path / "out")):
        assert run.summary["counts"]["pairs"] == ours.summary["counts"]["pairs"] > 0
        assert run.table("pair_counts").equals(ours.table("pair_counts"))
    assert (tmp_path / "out" / "pair_counts.parquet").exists()
    assert not (tmp_path / "out" / "edges.parquet").exists()
    labels = [row.label for row in rows(stored.summary)]
    assert "pairs" in labels


def test_reclustering_counts_again(tmp_path: Path) -> None:
    documents = small_corpora.similar_texts()
    run = neardup.dedup(documents, id="id", out=tmp_path / "out", spec=neardup.Spec(pairs="count"))
    higher = run.recluster(threshold=0.9)
    known = neardup.dedup(documents, id="id", spec=neardup.Spec(threshold=0.9, pairs="all"))
    assert known.edges is not None
    assert higher.summary["counts"]["pairs"] <= len(known.edges)
    assert set(higher.summary["pairs_by_similarity"]) == {"0.9", "0.95", "1"}
    assert "pairs" not in run.recluster(pairs="kept").summary["counts"]
    plain = neardup.dedup(documents, id="id", out=tmp_path / "plain")
    again = plain.recluster(pairs="count")
    assert again.summary["counts"]["pairs"] == run.summary["counts"]["pairs"]


@pytest.mark.parametrize("documents", [[], ["", " "]])
def test_nothing_has_no_pairs(documents: Any) -> None:
    run = neardup.dedup(documents, spec=neardup.Spec(pairs="count"))
    assert run.summary["counts"]["pairs"] == 0
    assert run.table("pair_counts").num_rows == 0


def test_an_exact_search_has_no_buckets() -> None:
    with pytest.raises(SpecError, match="method 'allpairs' has no buckets"):
        neardup.Spec(pairs="count", method="allpairs")
