"""Answers about a linkage: plain values that print as the command shows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.arrays import array_of
from neardup.linkage.decision.weights.model import probability
from neardup.linkage.link_steps import Linked
from neardup.values.shown import Shown


class LinkEvaluation(Shown, dict[str, Any]):
    """A linkage next to the ground truth; see ``docs/formats.md``."""

    shown_as = "link", "evaluate"


class LinkExplanation(Shown, dict[str, Any]):
    """Why two records are one, or are not: match weights that add up to log odds, in bits."""

    shown_as = "link", "explain"


class LinkComparison(Shown, list[dict[str, Any]]):
    """The fields of two records next to each other, in a row each."""

    shown_as = "link", "compare"


class RecordExplanation(Shown, dict[str, Any]):
    """A record of a linkage, with its cluster and its candidates, most likely first."""

    shown_as = "link", "record"


def explain_record(linked: Linked, x: int, limit: int) -> RecordExplanation:
    """Explain a record, given by its number; see `LinkRun.explain`.

    Args:
        linked: The linkage.
        x: Number of the record.
        limit: Candidates, and other records of the cluster, that are named at most.
    """
    blocked, decision = linked.blocked, linked.decision
    found, records, spec = blocked.candidates, blocked.records, blocked.spec
    ids = records.public_ids

    def id_of(doc: int) -> Any:
        second = len(ids) > 1 and doc >= records.sizes[0]
        return ids[second].take(array_of(np.array([doc - records.sizes[0] * second])))[0].as_py()

    rows = np.flatnonzero((found.a == x) | (found.b == x))
    rows = rows[np.lexsort((rows, -decision.log_odds[rows]))]
    members = np.flatnonzero(linked.clusters == linked.clusters[x])
    members = members[members != x]
    lines = []
    for row in rows[:limit].tolist():
        other = int(found.b[row] if found.a[row] == x else found.a[row])
        of = decision.agreements
        parts = decision.model.parts(of.take(np.array([row])), decision.values)
        bits = parts["fields"] or [None] * len(spec.names)
        line = {
            "id": id_of(other),
            "score": float(probability(decision.log_odds[row : row + 1])[0]),
            "similarity": float(of.similarity[row]),
            "match": bool(np.isin(row, linked.pairs)),
            "same_cluster": bool(linked.clusters[other] == linked.clusters[x]),
            "total": round(parts["total"], 4),
            "bits": [None if b is None else round(b, 4) for b in bits[: len(spec.names)]],
        }
        lines.append(line)
    return RecordExplanation(
        id=id_of(x),
        cluster=int(linked.clusters[x]),
        size=len(members) + 1,
        members=[id_of(doc) for doc in members[:limit].tolist()],
        candidates=len(rows),
        matches=int(np.isin(rows, linked.pairs).sum()),
        decide_at=spec.decide_at,
        fields=spec.names,
        pairs=lines,
    )
