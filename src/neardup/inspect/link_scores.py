"""A linkage against known pairs: its candidates, and its decision, each by itself.

Pairs completeness, pairs quality and reduction ratio are those of P. Christen, Data Matching,
Springer 2012, chapter 7. They are about candidates; precision and recall are about the decision.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.arrays import numbers
from neardup.cluster.agreement import Agreement, b_cubed, pair_counts
from neardup.errors import FormatError, SpecError
from neardup.inspect.evaluate import Judge
from neardup.linkage.decision.clusters import Scored, matches
from neardup.linkage.decision.weights.model import logit
from neardup.linkage.decision.weights.model import probability as probability_of
from neardup.linkage.outputs.link_tables import COUNTS, DecidedPairs
from neardup.options.input_tables import read_table
from neardup.options.option_groups import Reading
from neardup.results.ground_truth import KnownIds, read_truth, truth_ids

#: Scores at which the decision is scored, and bounds of the classes of reliability.
_STEPS = [*(k / 1000 for k in (1, 2, 5)), *(k / 100 for k in range(1, 100)), 0.995, 0.999]
_CLASSES = (0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1)


def evaluate_links(
    found: DecidedPairs,
    truth: Any,
    *,
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    missing: str = "error",
    how: Reading | None = None,
) -> dict[str, Any]:
    """Compare candidates and decision with the truth, see `LinkRun.evaluate`."""
    judge, about = _judge(found.ids, truth, columns, kind, missing, how)
    alike = judge.alike(found.a.astype(np.int64), found.b.astype(np.int64))
    about["blocking"] = _blocking(found, alike, judge.pairs, about["records"])
    if found.log_odds is not None:
        about["decision"] = _decision(found, judge, alike)
    return about


def evaluate_clusters(
    clusters: pa.Table,
    truth: Any,
    *,
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    missing: str = "error",
    how: Reading | None = None,
) -> dict[str, Any]:
    """Compare only clusters with the truth, see `RecordIndex.evaluate`."""
    ids = clusters.column("id").combine_chunks()
    judge, about = _judge((ids,), truth, columns, kind, missing, how)
    labels = numbers(clusters.column("cluster").combine_chunks())
    return {**about, "clusters": _clusters(labels, judge)}


def _judge(
    ids: tuple[Any, ...],
    truth: Any,
    columns: Sequence[str] | None,
    kind: str | None,
    missing: str,
    how: Reading | None,
) -> tuple[Judge, dict[str, Any]]:
    records = sum(map(len, ids))
    of = KnownIds(ids[0], "the linkage", True, ids[-1])
    known = read_truth(of, truth, columns, kind, missing, how)
    if known.kind == "judged" or (known.kind == "groups" and len(ids) > 1):
        raise SpecError(
            f"the truth has {known.kind}; expected pairs",
            "give a table with two columns, an id of each file, and name them with `columns`",
        )
    if len(ids) > 1:
        known = replace(known, others=np.where(known.others < 0, -1, known.others + len(ids[0])))
    judge = Judge(known, records)
    about = {"kind": known.kind, "pairs": judge.pairs, "skipped": known.skipped}
    return judge, {"records": records, "sources": len(ids), "truth": about}


def _clusters(labels: np.ndarray, judge: Judge) -> dict[str, Any]:
    return {
        "pairwise": pair_counts(labels, judge.labels).scores(),
        "b_cubed": b_cubed(labels, judge.labels),
    }


def evaluate_pairs(
    path: Path,
    truth: Any,
    *,
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    missing: str = "error",
    how: Reading | None = None,
) -> dict[str, Any]:
    """Compare candidates that `neardup blocks` wrote with the truth, see `evaluate_links`.

    The file has no ids of records without candidates. Those that the truth names count as such.

    Raises:
        FormatError: It is no Parquet file of candidates.
        InputError: The truth can't be read, or no candidate has an id of one of its columns.
    """
    is_parquet = path.suffix.lower() == ".parquet"
    table = read_table(path, str(path)) if is_parquet else pa.table({})
    about = (pq.read_schema(path).metadata or {}).get(COUNTS.encode()) if is_parquet else None
    if about is None:
        raise FormatError(
            f"{path} has no candidates of neardup blocks as Parquet",
            "write them with neardup blocks -o pairs.parquet",
        )
    counts = json.loads(about)
    named = [table.column(c).cast(pa.large_string()) for c in ("id_a", "id_b")]
    there = [_joined(*named)] * 2 if counts["sources"] == 1 else named
    known = list(map(_joined, named, truth_ids(truth, there, columns, kind, how)))
    if counts["sources"] == 1:
        known = [_joined(*known)] * 2
    first, second = (pc.unique(ids) for ids in known)
    a, b = (
        numbers(pc.index_in(ids.combine_chunks(), value_set=of)).astype(np.int64)
        for ids, of in zip(named, (first, second), strict=True)
    )
    sources: tuple[Any, ...] = (first,)
    if counts["sources"] > 1:
        sources, b = (first, second), b + len(first)
    found = DecidedPairs(sources, np.minimum(a, b), np.maximum(a, b), counts["possible"])
    result = evaluate_links(found, truth, columns=columns, kind=kind, missing=missing, how=how)
    result["records"] = counts["records"]
    result["blocking"]["candidates_per_record"] = len(a) / max(counts["records"], 1)
    return result


def _joined(one: Any, more: Any) -> Any:
    return pa.chunked_array([*one.chunks, *more.chunks], pa.large_string())


def _blocking(found: DecidedPairs, alike: np.ndarray, true: int, records: int) -> dict[str, Any]:
    candidates, right = len(found.a), int(alike.sum())
    return {
        "candidates": candidates,
        "found": right,
        "pairs_completeness": right / true if true else None,
        "pairs_quality": right / candidates if candidates else None,
        "reduction_ratio": 1 - candidates / found.possible if found.possible else None,
        "candidates_per_record": candidates / max(records, 1),
    }


def _decision(found: DecidedPairs, judge: Judge, alike: np.ndarray) -> dict[str, Any]:
    log_odds, match, labels, at = found.log_odds, found.match, found.labels, found.decide_at
    assert log_odds is not None
    assert match is not None
    assert labels is not None
    assert at is not None
    pairs = Agreement(int(alike[match].sum()), int(match.sum()), judge.pairs)
    lines = []
    for score in sorted({*_STEPS, at}):
        if score == at:
            counts = pairs
        else:
            scored = Scored(found.a, found.b, log_odds - logit(score))
            given = matches(scored, found.file)
            counts = Agreement(int(alike[given].sum()), len(given), judge.pairs)
        lines.append({"score": score, **counts.scores()})
    scores = [line for line in lines if line["f1"] is not None]
    probabilities = probability_of(log_odds)
    return {
        "decide_at": at,
        "pairs": pairs.scores(),
        "clusters": _clusters(labels, judge),
        "by_score": lines,
        # Of several, the one that is closest to the threshold of the run.
        "best": max(scores, key=lambda line: (line["f1"], -abs(line["score"] - at)), default=None),
        "brier": float(((probabilities - alike) ** 2).mean()) if len(alike) else None,
        "reliability": _reliability(probabilities, alike),
    }


def _reliability(probabilities: np.ndarray, alike: np.ndarray) -> list[dict[str, Any]]:
    """Return, for classes of probability, the candidates, their mean, and the true share."""
    which = np.searchsorted(_CLASSES[1:-1], probabilities, side="right")
    lines = []
    for k, (low, high) in enumerate(pairwise(_CLASSES)):
        in_class = which == k
        count = int(in_class.sum())
        line = {"from": low, "to": high, "pairs": count, "predicted": None, "true": None}
        if count:
            line["predicted"] = float(probabilities[in_class].mean())
            line["true"] = float(alike[in_class].mean())
        lines.append(line)
    return lines
