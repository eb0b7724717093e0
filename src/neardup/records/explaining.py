"""Why two records are one, or are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.match.verifying import similarities
from neardup.records.blocking import hashed_sets, rare_enough, shared_weight
from neardup.records.field_similarity import compare, field_weights
from neardup.records.link_steps import Linked
from neardup.sketch.bands import candidate_probability
from neardup.threads import Pool


def explain_pair(linked: Linked, x: int, y: int) -> dict[str, Any]:
    """Explain a pair, given by numbers of records; see `LinkRun.explain`."""
    blocked = linked.blocked
    spec, features, found = blocked.spec, blocked.features, blocked.candidates
    a, b = (np.array([doc], np.int32) for doc in sorted((x, y)))
    hashed = hashed_sets(features.records, np.append(a, b), found.common)
    ends = np.zeros(1, np.int32), np.ones(1, np.int32)
    with Pool(1) as pool:
        compared = compare(features, spec, a, b, pool)
        rarity = float(shared_weight(features, a, b, pool)[0][0])
        jaccard = max(0.0, float(similarities(hashed, *ends, 0.0, pool)[0]))
    place = np.flatnonzero((found.a == a[0]) & (found.b == b[0]))
    value = float(compared.similarity[0])
    weights = field_weights(features, spec)
    fields = [
        {
            "field": field.name,
            "values": [str(column[doc].as_py()) for doc in (x, y)],
            "compare": field.compare,
            "similarity": None if np.isnan(similarity) else round(float(similarity), 6),
            "weight": round(float(weight), 4),
        }
        for field, column, similarity, weight in zip(
            spec.fields, blocked.records.columns, compared.by_field[0], weights, strict=True
        )
    ]
    return {
        "fields": fields,
        "similarity": value,
        "threshold": linked.threshold.value,
        "match": bool(len(place)) and bool(np.isin(place, linked.pairs)[0]),
        "same_cluster": bool(linked.clusters[x] == linked.clusters[y]),
        "candidate": bool(len(place)),
        "block_similarity": jaccard,
        "probability": candidate_probability(jaccard, found.bands.num_bands, found.bands.rows),
        "shared_weight": rarity,
        "enough_weight": rare_enough(features.counted),
    }
