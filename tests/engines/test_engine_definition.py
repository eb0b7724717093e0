"""A run equals the definition in plain Python, whatever its settings and however it works."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import made_corpora
import numpy as np
import pyarrow as pa
import pytest
import reference_text as reference
import Stemmer

import neardup
import oracle
from common import tries
from neardup.engines import comparing
from neardup.match import large_buckets
from neardup.match import resolve as resolving
from neardup.recipe import Recipe
from neardup.sketch.sketcher import Sketcher
from neardup.spec import PRESETS, ShingleSpec, Spec, preset

SHINGLES = [
    ShingleSpec(),
    ShingleSpec(n=2),
    ShingleSpec(n=1),
    ShingleSpec(n=3, stem="english"),
    ShingleSpec(unit="char", n=3),
    ShingleSpec(unit="char", n=5, keep_case=True),
    ShingleSpec(n=2, bag=True),
    ShingleSpec(n=2, keep_case=True),
]


def tokens_of(text: str | None, shingle: ShingleSpec) -> tuple[Any, ...]:
    if shingle.unit == "char":
        return tuple(reference.characters(text or "", shingle.keep_case))
    words = reference.words(text or "", shingle.keep_case)
    return tuple(Stemmer.Stemmer(shingle.stem).stemWords(words) if shingle.stem else words)


def sets_of(tokens: list[tuple[Any, ...]], shingle: ShingleSpec) -> list[set[Any]]:
    if not shingle.bag:
        return made_corpora.shingle_sets(tokens, shingle.n)
    sets: list[set[Any]] = []
    for t in tokens:
        seen: dict[Any, int] = {}
        found = set()
        for i in range(max(1, len(t) - shingle.n + 1) if t else 0):
            value = tuple(t[i : i + shingle.n])
            seen[value] = seen.get(value, 0) + 1
            found.add((value, seen[value]))
        sets.append(found)
    return sets


def keep_values(rows: pa.Table, spec: Spec) -> list[tuple[object, ...]]:
    """What documents are kept by, the lowest first."""
    ranks = rows["rank"].to_pylist() if spec.order_by else [0] * len(rows)
    how, _, column = spec.keep.partition(":")
    if spec.keep == "first":
        return [(r,) for r in ranks]
    if spec.keep == "longest":
        return [(-len(t or ""), r) for t, r in zip(rows["text"].to_pylist(), ranks, strict=True)]
    sign = -1 if how == "max" else 1
    values = rows[column].to_pylist()
    return [(v is None, sign * (v or 0), r) for v, r in zip(values, ranks, strict=True)]


def check(run: neardup.DedupRun, rows: pa.Table, spec: Spec) -> None:
    """Compare a run with the definition."""
    documents = len(rows)
    recipe = Recipe.from_dict(run.summary["recipe"])
    tokens = [tokens_of(text, spec.shingle) for text in rows["text"].to_pylist()]
    sets = sets_of(tokens, spec.shingle)
    keys = Sketcher(recipe)(rows["text"]).keys.tolist() if recipe.num_bands else None
    order = oracle.keep_order(keep_values(rows, spec))
    of, how, edges = oracle.whole_result(tokens, sets, keys, order, spec.threshold)

    numbers = np.arange(documents)
    if spec.order_by:
        numbers = np.array(rows["rank"].to_pylist())
    ids = rows["id"].to_pylist()
    by_id = {row["doc_id"]: row for row in run.clusters.to_pylist()}
    assert list(by_id) == [ids[p] for p in np.argsort(numbers)]
    for position in range(documents):
        row = by_id[ids[position]]
        assert row["doc"] == numbers[position]
        assert row["kept"] == (of[position] < 0)
        assert row["duplicate_of"] == (None if of[position] < 0 else ids[of[position]])
        assert row["similarity"] == how[position]
        if spec.cluster == "star":
            stands = position if of[position] < 0 else of[position]
            assert row["cluster"] == numbers[stands]
    if spec.cluster == "components" and run.summary["counts"]["not_compared"] == 0:
        rank = {position: place for place, position in enumerate(order)}
        labels = oracle.components(documents, [(rank[a], rank[b]) for a, b in edges])
        for position in range(documents):
            label = numbers[order[labels[rank[position]]]]
            assert by_id[ids[position]]["cluster"] == label
    # The promises, from the outside.
    kept = {p for p in range(documents) if by_id[ids[p]]["kept"]}
    assert not any(a in kept and b in kept for a, b in edges)
    assert run.keep_mask.tolist() == [p in kept for p in range(documents)]
    if spec.pairs == "all" and run.summary["counts"]["not_compared"] == 0:
        assert run.edges is not None
        listed = {(e["id_a"], e["id_b"]): e["similarity"] for e in run.edges.to_pylist()}
        expected = {}
        for (a, b), similarity in edges.items():
            x, y = (a, b) if numbers[a] < numbers[b] else (b, a)
            expected[ids[x], ids[y]] = similarity
        assert listed == expected


def random_spec(rng: np.random.Generator) -> Spec:
    """Settings, at random."""

    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    if rng.random() < 0.2:
        base = preset(one_of(*PRESETS))
        return base.replace(keep=one_of("first", "max:quality"), order_by=one_of(None, "rank"))
    spec = Spec(
        shingle=SHINGLES[rng.integers(len(SHINGLES))],
        scheme=one_of("affine32", "oph32"),
        seed=int(rng.integers(5)),
        threshold=float(one_of(0.3, 0.5, 0.7, 0.7, 0.8, 1.0)),
        keep=one_of("first", "first", "longest", "max:quality", "min:quality"),
        order_by=one_of(None, None, "rank"),
        method=one_of("lsh", "lsh", "lsh", "allpairs"),
        pairs=one_of("kept", "kept", "all"),
        cluster=one_of("star", "star", "star", "bounded", "components"),
    )
    if spec.method == "lsh" and rng.random() < 0.5:
        spec = replace(spec, num_bands=int(rng.integers(1, 12)), rows=int(rng.integers(1, 4)))
    return spec


@pytest.mark.parametrize("seed", range(tries(45, 150)))
def test_a_run_equals_the_definition(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([11, seed])
    rows = made_corpora.table(rng, int(rng.integers(1, 90)))
    spec = random_spec(rng)
    if seed % 3 == 0:  # the paths that only large corpora take
        monkeypatch.setattr(large_buckets, "LARGE", int(rng.choice([1, 3, 8])))
        monkeypatch.setattr(large_buckets, "_INDEXED", int(rng.choice([0, 2])))
        monkeypatch.setattr(large_buckets, "_CLEAR", float(rng.choice([0.0, 0.3])))
        monkeypatch.setattr(resolving, "_SMALL_BATCH", int(rng.choice([1, 9])))
    threads = 1 + seed % 2
    how = ["frame", "jsonl", "csv", "parquet", "arrow"][seed % 5]
    out = tmp_path / "out" if seed % 4 else None
    source: Any = rows
    if how != "frame":
        source = made_corpora.write(rows, tmp_path / "in", how, int(rng.integers(1, 4)))
        if how == "csv":  # a null and an empty text are the same there
            rows = rows.set_column(1, "text", [[t or "" for t in rows["text"].to_pylist()]])
    run = neardup.dedup(
        source,
        id="id",
        spec=spec,
        out=out,
        threads=threads,
        memory="640MB" if seed % 7 == 0 else None,
        progress=False,
    )
    check(run, rows, spec)


def test_the_comparison_needs_no_luck_with_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Everything that can be mapped to files is.
    rng = np.random.default_rng(5)
    rows = made_corpora.table(rng, 400)
    spec = Spec(threshold=0.5, pairs="all")
    monkeypatch.setattr("neardup.files.scratch._SMALL", 0)
    expected = neardup.dedup(rows, id="id", spec=spec, progress=False)
    monkeypatch.setattr(comparing.Scratch, "fits", lambda self, size: False)
    source = made_corpora.write(rows, tmp_path / "in", "jsonl", 3)
    run = neardup.dedup(source, id="id", spec=spec, out=tmp_path / "out", progress=False)
    assert run.clusters.drop_columns(["file", "row"]).equals(expected.clusters)
    assert run.edges is not None
    assert run.edges.equals(expected.edges)
    check(run, rows, spec)
