"""A run equals the definition in plain Python, whatever its settings and however it works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import made_corpora
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference_text as reference
import Stemmer
from engine_answers import answer_of

import neardup
from common import Tune, tries
from neardup.deduplication import comparing
from neardup.sketch.bands import recipe_for
from neardup.spec import ShingleSpec, Spec
from neardup.testing import (
    EngineAnswer,
    EngineContract,
    definition,
    engine_contract,
    small_corpora,
)


def tokens_of(text: str | None, shingle: ShingleSpec) -> tuple[Any, ...]:
    if shingle.unit == "char":
        return tuple(reference.characters(text or "", shingle.keep_case))
    words = reference.words(text or "", shingle.keep_case)
    if not words:  # a text of signs is one token
        return tuple(["".join((text or "").split())] if (text or "").strip() else [])
    return tuple(Stemmer.Stemmer(shingle.stem).stemWords(words) if shingle.stem else words)


def shingles_of(texts: Sequence[str | None], shingle: ShingleSpec) -> list[set[Any]]:
    """Sets of n consecutive tokens, all of them where they are fewer, without a kernel."""
    sets: list[set[Any]] = []
    for text in texts:
        t, seen, found = tokens_of(text, shingle), Counter[Any](), set()
        for i in range(max(1, len(t) - shingle.n + 1) if t else 0):
            value = t[i : i + shingle.n]
            seen[value] += shingle.bag
            found.add((value, seen[value]))
        sets.append(found)
    return sets


def check(run: neardup.DedupRun, rows: pa.Table, spec: Spec) -> None:
    """Compare a run with the definition, and its columns with each other."""
    engine_contract.check(answer_of(run), rows, spec, shingles=shingles_of)
    check_columns(run, rows, spec)


def check_columns(run: neardup.DedupRun, rows: pa.Table, spec: Spec) -> None:
    assert run.recipe == recipe_for(spec)
    order = np.array(definition.keep_order(rows, spec.replace(keep="first")))
    found = run.clusters
    assert found["doc_id"].to_pylist() == rows["id"].take(pa.array(order)).to_pylist()
    assert found["doc"].to_pylist() == list(range(len(rows)))
    assert found["kept"].to_pylist() == [of is None for of in found["duplicate_of"].to_pylist()]
    assert run.keep_mask[order].tolist() == found["kept"].to_pylist()
    if run.edges is not None:
        numbers = dict(zip(found["doc_id"].to_pylist(), found["doc"].to_pylist(), strict=True))
        for row in run.edges.to_pylist():
            assert numbers[row["id_a"]] < numbers[row["id_b"]]


class TestBatch(EngineContract):
    """From frames and files of all formats; the paths of large corpora too."""

    seeds = tries(45, 150)

    @pytest.fixture(autouse=True)
    def seeded(self, request: pytest.FixtureRequest, tune: Tune) -> None:
        """The paths that only large corpora take, for every third seed."""
        given = getattr(request.node, "callspec", None)
        self.seed: int = 0 if given is None else given.params.get("seed", 0)
        if self.seed % 3 == 1:
            rng = np.random.default_rng(self.seed)
            tune(
                large_bucket=int(rng.choice([1, 3, 8])),
                indexed_bucket=int(rng.choice([0, 2])),
                clear_share=float(rng.choice([0.0, 0.3])),
                resolved_in_large=int(rng.choice([1, 9])),
            )

    def shingles(self, texts: Sequence[str | None], shingle: ShingleSpec) -> list[set[Any]]:
        return shingles_of(texts, shingle)

    def answer(self, documents: pa.Table, spec: Spec, folder: Path) -> EngineAnswer:
        how = ["frame", "jsonl", "csv", "parquet", "arrow"][self.seed % 5]
        source: Any = documents
        if how != "frame":
            source = made_corpora.write(documents, folder / "in", how, 1 + self.seed % 3)
        run = neardup.dedup(
            source,
            id="id",
            spec=spec,
            out=folder / "out" if self.seed % 4 else None,
            threads=1 + self.seed % 2,
            memory="640MB" if self.seed % 7 == 1 else None,
            progress=False,
        )
        check_columns(run, documents, spec)
        return answer_of(run)

    def answer_after(
        self, old: pa.Table, documents: pa.Table, spec: Spec, folder: Path
    ) -> EngineAnswer:
        run = neardup.against(documents, old, id="id", spec=spec)
        assert run.summary["counts"]["old_documents"] == old.num_rows
        return answer_of(run)


class TestLeastMemory(EngineContract):
    """From several partitions, with the least memory and one thread, and with eight."""

    seeds = 0

    def answer(self, documents: pa.Table, spec: Spec, folder: Path) -> EngineAnswer:
        path = folder / "rows.parquet"
        pq.write_table(documents, path, row_group_size=50)
        least = neardup.plan(path, id="id", threads=1).memory_minimum
        settings: list[dict[str, Any]] = [
            {"threads": 1, "memory": least + 10**6},
            {"threads": 8},
        ]
        one, eight = (
            neardup.dedup(path, id="id", spec=spec, out=folder / str(number), **more)
            for number, more in enumerate(settings)
        )
        assert one.clusters.equals(eight.clusters)
        return answer_of(one)


def test_the_comparison_needs_no_luck_with_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tune: Tune
) -> None:
    # Everything that can be mapped to files is.
    rng = np.random.default_rng(5)
    rows = small_corpora.random_documents(rng, 400)
    spec = Spec(threshold=0.5, pairs="all")
    tune(scratch_bytes=0)
    expected = neardup.dedup(rows, id="id", spec=spec, progress=False)
    monkeypatch.setattr(comparing.Scratch, "fits", lambda self, size: False)
    source = made_corpora.write(rows, tmp_path / "in", "jsonl", 3)
    run = neardup.dedup(source, id="id", spec=spec, out=tmp_path / "out", progress=False)
    assert run.clusters.drop_columns(["file", "row"]).equals(expected.clusters)
    assert run.edges is not None
    assert run.edges.equals(expected.edges)
    check(run, rows, spec)
