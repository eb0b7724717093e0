"""`--cluster disjoint-sets` in a run: threads, records, reclustering, and what is refused."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup
from neardup.errors import SpecError
from neardup.result_record.dedup_record import SET_COUNTS
from neardup.testing import small_corpora
from neardup.views.text.summary_text import rows

SETTINGS: dict[str, Any] = {"cluster": "disjoint-sets", "threshold": 0.6, "id": "id"}


@pytest.fixture(scope="module")
def documents() -> Any:
    return small_corpora.random_documents(np.random.default_rng(3), 300)


def test_threads_and_folders_change_nothing(documents: Any, tmp_path: Path) -> None:
    one, two = (
        neardup.dedup(documents, out=tmp_path / str(threads), threads=threads, **SETTINGS)
        for threads in (1, 2)
    )
    assert one.clusters.equals(two.clusters)
    assert one.summary["counts"] == two.summary["counts"]
    again = neardup.open(tmp_path / "2", source=documents)
    assert again.clusters.equals(one.clusters)
    assert again.edges is None


def test_counts_are_in_the_summary(documents: Any) -> None:
    run = neardup.dedup(documents, **SETTINGS)
    counts = run.summary["counts"]
    pairs, compared, saved = (counts[name] for name in SET_COUNTS)
    assert pairs - compared == saved > 0
    lines = {row.label: row for row in rows(run.summary)}
    assert lines["candidates"].number == f"{pairs:,}"
    assert lines["sets"].number == f"{compared:,}"
    assert f"{saved:,} saved" in lines["sets"].remark
    star = neardup.dedup(documents, **{**SETTINGS, "cluster": "star"})
    assert not set(SET_COUNTS) & set(star.summary["counts"])
    assert star.keep_mask.tolist() == run.keep_mask.tolist()


def test_documents_of_a_set_reach_the_tree_threshold(documents: Any) -> None:
    spec = neardup.Spec(cluster="disjoint-sets", threshold=0.6, tree_threshold=0.45)
    run = neardup.dedup(documents, id="id", spec=spec)
    texts = documents["text"].to_pylist()
    of: dict[int, list[int]] = {}
    for doc, cluster in enumerate(run.clusters["cluster"].to_pylist()):
        of.setdefault(cluster, []).append(doc)
    pairs = [p for docs in of.values() for p in combinations(docs, 2)]
    assert len(pairs) > 100
    assert min(neardup.similarity(texts[a], texts[b]) for a, b in pairs) >= 0.45


def test_pairs_can_be_listed_as_well(documents: Any) -> None:
    run = neardup.dedup(documents, pairs="all", **SETTINGS)
    assert run.edges is not None
    assert run.clusters.equals(neardup.dedup(documents, **SETTINGS).clusters)


def test_reclustering_from_and_to_disjoint_sets(documents: Any, tmp_path: Path) -> None:
    sets = neardup.dedup(documents, out=tmp_path / "sets", **SETTINGS)
    star = neardup.dedup(documents, out=tmp_path / "star", **{**SETTINGS, "cluster": "star"})
    to = star.recluster(cluster="disjoint-sets")
    assert to.clusters.equals(sets.clusters)
    assert to.summary["counts"]["set_pairs_saved"] == sets.summary["counts"]["set_pairs_saved"]
    away = neardup.open(tmp_path / "sets", source=documents).recluster(
        cluster="star", out=tmp_path / "away", clean=False
    )
    assert away.clusters.equals(star.clusters)
    assert not set(SET_COUNTS) & set(away.summary["counts"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "allpairs"}, "made from buckets, which method 'allpairs' does not have"),
        ({"tree_threshold": 0.7, "threshold": 0.6}, "tree threshold 0.7 is above the threshold"),
        ({"tree_threshold": -0.1}, "tree threshold"),
        ({"only_same": True}, "cluster"),
        ({"cluster": "disjoint sets"}, "no clustering 'disjoint sets'"),
    ],
)
def test_what_does_not_fit_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        neardup.Spec(**{"cluster": "disjoint-sets", **settings})


def test_an_empty_corpus_has_no_sets() -> None:
    run = neardup.dedup([], cluster="disjoint-sets")
    assert [run.summary["counts"][name] for name in SET_COUNTS] == [0, 0, 0]
