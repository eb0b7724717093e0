"""A finished run against the truth that a user has."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neardup.core.evaluate import Scores, agreement, codes, components, labels_of, scores
from neardup.errors import InputError
from neardup.run.finished import FinishedRun
from neardup.run.truth import Truth, read_truth

__all__ = ["evaluate"]


def evaluate(
    out: str | Path,
    truth: Any,
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    missing: str = "error",
    only_named: bool = False,
) -> dict[str, Any]:
    """Compare the edges and clusters of a run with the truth.

    The definitions are in ``docs/method.md``, the layout of the result in ``docs/formats.md``.

    Args:
        out: The output folder of `neardup.dedup_files`.
        truth: A file, or a table (Arrow's, a frame, a dict of columns), with two columns: pairs of
            ids, or an id and its group. A null in the second says that the document has none.
        columns: Their names; without it they are looked for: ``doc_id_a`` and ``doc_id_b``,
            ``id_a`` and ``id_b``, ``doc_id`` and ``cluster``, ``id`` and ``group``, and some more.
        kind: ``"pairs"``, ``"links"`` (pairs of which all that they connect are alike) or
            ``"groups"``, where the names don't tell.
        missing: ``"error"``, or ``"skip"`` to leave out rows with ids that the run has not.
        only_named: Leave out the documents that the truth does not name; else they are taken to be
            like no other.

    Returns:
        Plain values; a score that has nothing to divide by is None.

    Raises:
        NeardupError: The run or the truth can't be read, or don't fit together.
    """
    run = FinishedRun(out)
    known = read_truth(run, truth, columns, kind, missing)
    if known.skipped and not len(known.docs):
        name = truth if isinstance(truth, (str, os.PathLike)) else "the truth"
        raise InputError(
            f"{name}: none of its rows has ids that {run.out} has",
            "the ids of the run are the column doc_id of its clusters.parquet; without --id they "
            "are positions from 0",
        )
    labels = run.array("cluster")
    edges = run.edges(["doc_a", "doc_b", "similarity"])
    a, b, similarity = (np.asarray(column.to_numpy()) for column in edges.columns)
    named = np.zeros(run.documents, dtype=np.bool_)
    named[known.docs] = True
    if known.kind != "groups":
        named[known.others[known.others >= 0]] = True
    if only_named:
        both = named[a] & named[b]
        a, b, similarity = a[both], b[both], similarity[both]
    true_labels, is_true, true, within = _compare(known, run.documents, labels, a, b)
    scope = named if only_named else slice(None)
    clusters = agreement(labels[scope], true_labels[scope])
    found = within + int((is_true & (labels[a] != labels[b])).sum())
    shared = int(is_true.sum())
    return {
        "documents": run.documents,
        "edge_threshold": run.spec.edge_threshold,
        "pairs": run.spec.pairs,
        "truth": {
            "kind": known.kind,
            "pairs": true,
            "documents": int(named.sum()),
            "skipped": known.skipped,
            "only_named": only_named,
        },
        "edges": {"given": len(a), "true": shared, **_plain(scores(shared, len(a), true))},
        "clusters": {
            "pairwise": {
                "given": clusters.given,
                "true": clusters.shared,
                **_plain(clusters.pairwise),
            },
            "b_cubed": _plain(clusters.b_cubed),
            "adjusted_rand_index": _number(clusters.adjusted_rand),
        },
        "blocking": _blocking(run, shared, found, true, only_named),
        "by_threshold": _by_threshold(run.spec.edge_threshold, similarity, is_true, true),
    }


def _compare(
    known: Truth, documents: int, labels: np.ndarray, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Labels of true clusters; which edges are true; true pairs; those within one cluster."""
    there = known.others >= 0
    x, y = known.docs[there], known.others[there]
    if known.kind != "pairs":
        groups = known.kind == "groups"
        true_labels = (labels_of if groups else components)(documents, x, y)
        both = agreement(labels, true_labels)
        return true_labels, true_labels[a] == true_labels[b], both.true, both.shared
    true = codes(documents, x, y)
    is_true = np.isin(np.minimum(a, b) * documents + np.maximum(a, b), true)
    within = int((labels[true // max(1, documents)] == labels[true % max(1, documents)]).sum())
    return components(documents, x, y), is_true, len(true), within


def _blocking(
    run: FinishedRun, shared: int, found: int, true: int, only_named: bool
) -> dict[str, Any]:
    counts = run.record["counts"]
    # Pairs that were looked at: compared exactly, or known to be equal without that.
    compared = max(counts["verified"] + counts["exact_duplicates"], counts["edges"])
    possible = run.documents * (run.documents - 1) // 2
    return {
        "compared": compared,
        "found": found,
        "pairs_completeness": _number(found / true if true else math.nan),
        "pairs_quality": _number(shared / compared if compared and not only_named else math.nan),
        "reduction_ratio": _number(1 - compared / possible if possible else math.nan),
    }


def _by_threshold(
    threshold: float, similarity: np.ndarray, is_true: np.ndarray, true: int
) -> list[dict[str, Any]]:
    """Scores of the edges from the edge threshold on, and from each hundredth above it."""
    order = np.argsort(similarity, kind="stable")
    ascending, hits = similarity[order], np.cumsum(is_true[order])
    steps = [k / 100 for k in range(1, 101) if k / 100 > threshold]
    lines = []
    for least in [threshold, *steps]:
        begin = int(np.searchsorted(ascending, least))
        given = len(ascending) - begin
        before = int(hits[begin - 1]) if begin else 0
        shared = (int(hits[-1]) if len(hits) else 0) - before
        lines.append(
            {
                "edge_threshold": least,
                "given": given,
                "true": shared,
                **_plain(scores(shared, given, true)),
            }
        )
    return lines


def _plain(values: Scores) -> dict[str, float | None]:
    return {name: _number(value) for name, value in values._asdict().items()}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
