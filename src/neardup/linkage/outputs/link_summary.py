"""The record of a linkage: settings, counts, threshold and match weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from neardup.linkage.decision.clusters import Scored, matches
from neardup.linkage.link_steps import Blocked, Linked

#: Scores for which pairs are counted.
SCORES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)


def about_link(linked: Linked) -> dict[str, Any]:
    """Return the members of ``run.json`` that only a linkage has."""
    threshold, records = linked.decision.threshold, linked.blocked.records
    spec, new = linked.blocked.spec, linked.blocked.new
    clusters, rows = np.unique(linked.clusters[new:], return_index=True)
    sizes = linked.sizes[new:][rows]
    counts = {
        **blocks_of(linked.blocked),
        "pairs": len(linked.pairs),
        "clusters": int((sizes > 1).sum()),
        "largest": int(sizes.max(initial=0)),
        "entities": len(clusters),
    }
    return {
        "spec": spec.as_dict(),
        "counts": counts,
        "threshold": {
            "value": threshold.value,
            "kind": threshold.kind,
            "bottom": threshold.bottom,
            "modes": None if threshold.modes is None else list(threshold.modes),
            "histogram": threshold.counts.tolist(),
        },
        "scores": _scores(linked),
        "model": linked.decision.model.as_dict(),
        "notes": list(linked.notes),
        "names": list(records.names),
        "sizes": list(records.sizes),
        "columns": [list(of_file) for of_file in records.read],
        "id": records.id,
        "placeholders": [[field, str(value)] for field, value in records.placeholders],
        "private_ids": records.private_ids,
        "id_types": [_alias(ids.type) for ids in records.ids],
    }


def _alias(kind: pa.DataType) -> str:
    """Return a name of a type of ids, which `pyarrow.type_for_alias` takes."""
    return "large_string" if pa.types.is_large_string(kind) else str(kind)


def _scores(linked: Linked) -> list[dict[str, Any]]:
    """Return how many pairs there are from each of some scores on."""
    found = linked.blocked.candidates
    pairs = Scored(found.a, found.b, np.empty(0))
    blocked = linked.blocked
    file = blocked.records.file if blocked.spec.one_to_one else None
    lines = []
    for at in SCORES:
        scored = pairs._replace(margin=linked.decision.margin(at))
        count = len(matches(scored, file))
        lines.append({"score": at, "pairs": count})
    return lines


def blocks_of(blocked: Blocked) -> dict[str, Any]:
    """Return counts, bands and recall of candidates, as plain values."""
    found = blocked.candidates
    candidates, records = len(found.a), len(blocked.records) - blocked.new
    return {
        "records": records,
        **blocked.records.skipped.counts(),
        "sources": len(blocked.records.sizes),
        "against": None if blocked.against is None else blocked.against.records,
        "possible": found.possible,
        "candidates": candidates,
        "candidates_per_record": candidates / max(records, 1),
        "reduction_ratio": 1 - candidates / found.possible if found.possible else None,
        "compared": found.compared,
        "not_compared": found.not_compared,
        "left_out": found.left_out,
        "each": found.each,
        "copies": found.copies.number,
        "common_shingles": int(found.common.sum()),
        "bands": found.bands.num_bands,
        "rows": found.bands.rows,
        "block_at": blocked.spec.block_at,
        "recall": found.bands.recall,
        "blocks": [{**block._asdict(), "fields": [*block.fields]} for block in found.blocks],
    }
