"""One record of a linkage: its cluster, and its pairs with their match weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from neardup.arrays import array_of
from neardup.records.decision.model import probability
from neardup.records.link_steps import Linked
from neardup.records.outputs.link_tables import public_ids
from neardup.report.numbers import aligned, labelled
from neardup.report.visible import name

_WIDTH = 20


class RecordExplanation(dict[str, Any]):
    """A record of a linkage, with its cluster and its candidates, most likely first."""

    def __str__(self) -> str:
        what = "score" if self["score"] else "probability"
        head = ["record", what, "match", "cluster", "bits", *map(name, self["fields"])]
        rows = [
            [
                name(str(line["id"])),
                f"{line['probability']:.4f}",
                "yes" if line["match"] else "no",
                "the same" if line["same_cluster"] else "",
                f"{line['total']:+.2f}",
                *("" if bits is None else f"{bits:+.2f}" for bits in line["bits"]),
            ]
            for line in self["pairs"]
        ]
        text = labelled(self._lines(), _WIDTH)
        return f"{text}\n\n{aligned(head, rows, 1)}" if rows else text

    __repr__ = __str__

    def _lines(self) -> Iterator[tuple[str, str]]:
        yield "record", name(str(self["id"]))
        members = ", ".join(name(str(id_)) for id_ in self["members"])
        more = self["size"] - 1 - len(self["members"])
        members += f" and {more:,} more" if more else ""
        yield "cluster", f"{self['cluster']}, of {self['size']:,}"
        yield "with", members or "no other record"
        yield "candidates", f"{self['candidates']:,}, of which {self['matches']:,} match"


def explain_record(linked: Linked, x: int, limit: int) -> RecordExplanation:
    """Explain a record, given by its number; see `LinkRun.explain`.

    Args:
        linked: The linkage.
        x: Number of the record.
        limit: Candidates, and other records of the cluster, that are named at most.
    """
    blocked, decision = linked.blocked, linked.decision
    found, records, spec = blocked.candidates, blocked.records, blocked.spec
    ids = public_ids(records)

    def id_of(doc: int) -> Any:
        second = len(ids) > 1 and doc >= records.first
        return ids[second].take(array_of(np.array([doc - records.first * second])))[0].as_py()

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
            "probability": float(probability(decision.log_odds[row : row + 1])[0]),
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
        score=bool(linked.dependent),
        decide_at=spec.decide_at,
        fields=spec.names,
        pairs=lines,
    )
