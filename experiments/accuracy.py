"""Section 9.1: what banding finds too much and what it misses, against exact similarities.

The notes and 10 near-duplicates with a tenth of their words changed. For thresholds of 0.2, 0.3
and 0.4, bands from 10 to 100 and rows from 1 to 5, the candidate pairs are compared with the pairs
that reach the threshold, and with what 1 - (1 - s**rows)**num_bands predicts.
"""

from __future__ import annotations

from typing import Any

from experiments.notes import Source, near_duplicates
from experiments.pairs import Pairs, errors, first_bands
from experiments.sizes import FULL, Sizes
from neardup.sketch.bands import candidate_probability

__all__ = ["THRESHOLDS", "accuracy"]

THRESHOLDS = (0.2, 0.3, 0.4)
CHANGED = (0.1, 0.1)


def accuracy(source: Source, sizes: Sizes = FULL, seed: int = 1) -> dict[str, Any]:
    """Count for one draw of a source.

    Returns:
        ``notes``, ``duplicates``, ``pairs`` (all of them), ``true`` (pairs by threshold) and
        ``rows``: for each setting what was counted and what was predicted.
    """
    changed = near_duplicates(source.notes, sizes.few, CHANGED, seed=seed + 1)
    pairs = Pairs(source.notes + changed)
    lines = []
    for rows in sizes.rows:
        first = first_bands(pairs, max(sizes.bands), rows)
        for num_bands in sizes.bands:
            candidate = first < num_bands
            chance = candidate  # predictions are of the first draw: no verdict needs them
            if seed == 1:
                chance = candidate_probability(pairs.similarity, num_bands, rows)
            for threshold in THRESHOLDS:
                counted = errors(pairs.similarity, candidate, threshold)
                predicted = errors(pairs.similarity, chance, threshold)
                lines.append(
                    {
                        "threshold": threshold,
                        "rows": rows,
                        "bands": num_bands,
                        "candidates": int(candidate.sum()),
                        "false": int(counted.false),
                        "missed": int(counted.missed),
                        "predicted_false": round(predicted.false, 2),
                        "predicted_missed": round(predicted.missed, 2),
                    }
                )
    return {
        "notes": len(source.notes),
        "duplicates": sizes.few,
        "pairs": len(pairs.a),
        "true": {str(t): int((pairs.similarity >= t).sum()) for t in THRESHOLDS},
        "rows": lines,
    }
