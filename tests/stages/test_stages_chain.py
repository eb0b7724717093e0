"""The chain of stages in two processes, over shuffled batches, equals a run of the engine."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from stage_chain import Chain

import neardup
from neardup import Recipe, ShingleSpec, Spec
from neardup.testing import small_corpora

SPEC = Spec(shingle=ShingleSpec(n=2), threshold=0.6, num_bands=8, rows=2)


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    recipe = Recipe(SPEC.shingle, SPEC.scheme, SPEC.seed, 8, 2)
    found = Chain(recipe, random.Random(4))
    yield found
    found.close()


def corpora() -> dict[str, list[str | None]]:
    rng = np.random.default_rng(11)
    template = " ".join(f"w{i}" for i in range(60))
    large = [
        f"{template} " + " ".join(f"x{v}" for v in rng.integers(0, 20, 4)) for _ in range(1600)
    ]
    return {"mixed": small_corpora.random_texts(rng, 350), "a large bucket": large}


@pytest.mark.parametrize(("name", "threshold"), [("mixed", 0.6), ("a large bucket", 0.92)])
def test_the_chain_equals_a_run(name: str, threshold: float, chain: Chain) -> None:
    some, spec = corpora()[name], SPEC.replace(threshold=threshold)
    docs = pa.array(range(len(some)), pa.int64())
    whole = pa.RecordBatch.from_arrays([docs, pa.array(some, pa.string())], names=["doc", "text"])
    texts = [whole.slice(low, 50) for low in range(0, len(some), 50)]
    runs = {
        cluster: neardup.dedup(some, spec=spec.replace(cluster=cluster, pairs="all"), threads=2)
        for cluster in ("star", "bounded", "components")
    }
    kept_only = neardup.dedup(some, spec=spec)

    sketches = chain.sketches(texts)
    first = chain.firsts(sketches)
    chosen = {doc for doc, stands in first.items() if doc == stands}
    buckets = chain.buckets(sketches, chosen)
    sets = chain.sets(texts, chosen)
    answers = chain.per_component("match_stage", "resolve", buckets, sets, threshold=threshold)
    found = {row["doc"]: row for batch in answers for row in batch.to_pylist()}
    assert set(found) == chosen

    # What a document is a duplicate of: by similarity, or since another stands for it.
    rows = kept_only.clusters.to_pylist()
    assert sum(not row["kept"] for row in rows) > 20
    for row in rows:
        doc = row["doc"]
        if doc not in first:
            assert row["kept"]  # empty
            continue
        stands = found[first[doc]]
        if stands["duplicate_of"] is not None:
            expected = stands["duplicate_of"], stands["similarity"]
        else:
            expected = (None, None) if first[doc] == doc else (first[doc], 1.0)
        assert (row["duplicate_of"], row["similarity"]) == expected, doc

    # Pairs: a bucket is in one process, whatever is in the other.
    edges = chain.per_component(
        "match_stage", "pairs", buckets, sets, threshold=threshold, threads=2, answers=answers
    )
    pairs = {(e["a"], e["b"]): e["similarity"] for b in edges for e in b.to_pylist()}
    run_edges = runs["star"].edges
    assert run_edges is not None
    listed = {
        (e["doc_a"], e["doc_b"]): e["similarity"]
        for e in run_edges.to_pylist()
        if {e["doc_a"], e["doc_b"]} <= chosen
    }
    assert pairs == listed
    assert (runs["star"].summary["counts"]["not_compared"] > 0) == (name != "mixed")

    for method, run in runs.items():
        clusters = chain.per_component(
            "cluster_stage", "cluster", edges, sets, method=method, tree_threshold=0.4
        )
        labels = {row["doc"]: row["cluster"] for b in clusters for row in b.to_pylist()}
        assert set(labels) == {doc for pair in pairs for doc in pair}
        of = run.labels.tolist()
        if method == "star" and runs["star"].summary["counts"]["not_compared"]:
            continue  # what is kept is decided by comparing, not by the list of edges
        assert labels == {doc: of[doc] for doc in labels}, method


def test_a_chain_of_nothing(chain: Chain) -> None:
    none = pa.RecordBatch.from_arrays(
        [pa.array([], pa.int64()), pa.array([], pa.string())], names=["doc", "text"]
    )
    sketches = chain.sketches([none, none])
    assert chain.firsts(sketches) == {}
    one = pa.RecordBatch.from_arrays(
        [pa.array([7], pa.int64()), pa.array(["alone here"])], names=["doc", "text"]
    )
    sketches = chain.sketches([one])
    assert chain.firsts(sketches) == {7: 7}
    buckets = chain.buckets(sketches, {7})
    assert sum(len(b) for b in buckets) == 0
    answers = chain.per_component(
        "match_stage", "resolve", buckets, chain.sets([one], {7}), threshold=0.5
    )
    rows = [row for b in answers for row in b.to_pylist()]
    assert rows == [{"doc": 7, "duplicate_of": None, "similarity": None}]
