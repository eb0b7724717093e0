"""A linkage against known pairs: its candidates, and its decision, each by itself.

Pairs completeness, pairs quality and reduction ratio are those of P. Christen, Data Matching,
Springer 2012, chapter 7. They are about candidates; precision and recall are about the decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from neardup.errors import SpecError
from neardup.inspect.agreement import PairCounts, b_cubed, pair_counts
from neardup.inspect.evaluate import Judge, Pairs
from neardup.inspect.ground_truth import read_truth
from neardup.output.results import Results
from neardup.records.link_tables import Decided

#: Thresholds at which the decision is scored.
_STEPS = [k / 100 for k in range(1, 101)]


def evaluate_links(
    found: Decided,
    truth: Any,
    *,
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    missing: str = "error",
) -> dict[str, Any]:
    """Compare candidates and decision with the truth, see `neardup.api.link_runs.LinkRun`."""
    records = sum(len(ids) for ids in found.ids)
    first, second = found.ids[0], found.ids[-1]
    of = SimpleNamespace(ids=first, name="the linkage", record={"secret_ids": True})
    known = read_truth(cast(Results, of), truth, columns, kind, missing, second)
    if known.kind == "judged" or (known.kind == "groups" and len(found.ids) > 1):
        raise SpecError(
            f"the truth holds {known.kind}; expected pairs", "give pairs of ids with `kind`='pairs'"
        )
    if len(found.ids) > 1:
        known = replace(known, others=np.where(known.others < 0, -1, known.others + len(first)))
    judge = Judge(known, records)
    alike = judge.alike(Pairs(found.a.astype(np.int64), found.b.astype(np.int64), np.empty(0)))
    about = {
        "records": records,
        "sources": len(found.ids),
        "truth": {"kind": known.kind, "pairs": judge.pairs, "skipped": known.skipped},
        "blocking": _blocking(found, alike, judge.pairs, records),
    }
    if found.similarity is not None:
        about["decision"] = _decision(found, judge, alike)
    return about


def _blocking(found: Decided, alike: np.ndarray, true: int, records: int) -> dict[str, Any]:
    candidates, right = len(found.a), int(alike.sum())
    return {
        "candidates": candidates,
        "found": right,
        "pairs_completeness": right / true if true else None,
        "pairs_quality": right / candidates if candidates else None,
        "reduction_ratio": 1 - candidates / found.possible if found.possible else None,
        "candidates_per_record": candidates / records,
    }


def _decision(found: Decided, judge: Judge, alike: np.ndarray) -> dict[str, Any]:
    similarity, match, labels = found.similarity, found.match, found.labels
    assert similarity is not None
    assert match is not None
    assert labels is not None
    pairs = PairCounts(int(alike[match].sum()), int(match.sum()), judge.pairs)
    order = np.argsort(similarity, kind="stable")
    ascending, hits = similarity[order], np.append(0, np.cumsum(alike[order]))
    lines = []
    for threshold in _STEPS:
        begin = int(np.searchsorted(ascending, threshold))
        counts = PairCounts(int(hits[-1] - hits[begin]), len(ascending) - begin, judge.pairs)
        lines.append({"threshold": threshold, **counts.scores()})
    scored = [line for line in lines if line["f1"] is not None]
    return {
        "threshold": found.threshold,
        "pairs": pairs.scores(),
        "clusters": {
            "pairwise": pair_counts(labels, judge.labels).scores(),
            "b_cubed": b_cubed(labels, judge.labels),
        },
        "by_threshold": lines,
        "best": max(scored, key=lambda line: (line["f1"], -line["threshold"]), default=None),
    }
