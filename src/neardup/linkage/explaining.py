"""Why two records are one, or are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.errors import SpecError
from neardup.linkage.blocks.record_blocks import hashed_sets, rare_enough, shared_weight
from neardup.linkage.decision.weights.agreement_classes import EQUAL, MISSING
from neardup.linkage.decision.weights.model import KNOWN, Agreements, probability
from neardup.linkage.field_similarity import Pairs, compare, with_words
from neardup.linkage.link_steps import Linked
from neardup.match.verifying import similarities
from neardup.sketch.bands import candidate_probability
from neardup.threads import Pool


def check_two(x: int, y: int) -> None:
    """Raise SpecError where two numbers are those of the same record."""
    if x == y:
        raise SpecError("both ids are those of the same record", "give those of two records")


def explain_pair(linked: Linked, x: int, y: int, texts: bool = True) -> dict[str, Any]:
    """Explain a pair, given by numbers of records; see `LinkRun.explain`.

    Raises:
        SpecError: The two are the same record.
    """
    check_two(x, y)
    blocked = linked.blocked
    spec, found = blocked.spec, blocked.candidates
    features = blocked.features._replace(swapped=linked.decision.model.swapped)
    a, b = (np.array([doc], np.int32) for doc in sorted((x, y)))
    hashed = hashed_sets(features.records, np.append(a, b), found.common)
    ends = np.zeros(1, np.int32), np.ones(1, np.int32)
    with Pool(1) as pool:
        compared = compare(features, spec, a, b, pool)
        if len(blocked.records.ids) > 1 and len(spec.fields) > 1:
            pair = Pairs(a, b, pool)
            compared = with_words(compared, blocked.records, features, spec, pair)
        rarity = float(shared_weight(features, a, b, pool)[0])
        jaccard = max(0.0, float(similarities(hashed, *ends, 0.0, pool)[0]))
    row = np.flatnonzero((found.a == a[0]) & (found.b == b[0]))
    decision, classes = linked.decision, compared.classes
    if decision.agreements.classes.shape[1] > len(spec.fields):
        # Whether they are each other's best is known of candidates only.
        best = decision.agreements.classes[row[:1], -1] if len(row) else np.zeros(1, np.int8)
        classes = np.column_stack([classes, best])
    pair_of = Agreements(a, b, classes, compared.similarity)
    bits = decision.model.parts(pair_of, decision.values)
    log_odds = float(decision.model.log_odds(pair_of, decision.values)[0])
    known = None
    if len(row) and abs(float(decision.log_odds[row[0]])) >= KNOWN:
        log_odds = float(decision.log_odds[row[0]])
        marked = decision.labels is not None and row[0] in decision.labels.rows(found)
        known = "marked" if marked else "must agree"
    names = [*((f.name, f.compare) for f in spec.fields), ("each other's best", "rank")]
    fields = []
    for k, (name, how) in zip(range(classes.shape[1]), names, strict=False):
        line: dict[str, Any] = {"field": name, "compare": how, "bits": None}
        if bits["fields"]:
            line["bits"] = round(bits["fields"][k], 4)
        if k < len(spec.fields):
            column, similarity = blocked.records.columns[k], compared.by_field[0, k]
            if texts:
                line["values"] = [str(column[doc].as_py()) for doc in (x, y)]
            line["similarity"] = None if np.isnan(similarity) else round(float(similarity), 6)
            equal = classes[0, k] == EQUAL
            line["frequency"] = int(decision.values.counts[a[0], k]) if equal else None
            line["missing"] = bool(classes[0, k] == MISSING)
            line["swapped"] = compared.swapped is not None and bool(compared.swapped[0, k])
        fields.append(line)
    return {
        "fields": fields,
        **{name: round(bits[name], 4) for name in ("prior", "dependences", "veto", "labels")},
        "total": round(bits["total"], 4),
        "log_odds": log_odds,
        "known": known,
        "score": float(probability(np.array([log_odds]))[0]),
        "decide_at": spec.decide_at,
        "similarity": float(compared.similarity[0]),
        "match": bool(len(row)) and bool(np.isin(row, linked.pairs)[0]),
        "same_cluster": bool(linked.clusters[x] == linked.clusters[y]),
        "candidate": bool(len(row)),
        "block_similarity": jaccard,
        "candidate_probability": candidate_probability(
            jaccard, found.bands.num_bands, found.bands.rows
        ),
        "shared_weight": rarity,
        "enough_weight": rare_enough(features.counted),
    }
