"""Section 9.1: what banding finds too much and what it misses, against the exact join.

521 notes and 10 near-duplicates with a tenth of their words changed. For edge thresholds of 0.2,
0.3 and 0.4, bands from 10 to 100 and rows from 1 to 5, the candidate pairs are compared with the
pairs that `neardup.core.join` finds without banding, and with what 1 - (1 - s**rows)**num_bands
says of the similarities that there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.notes import Source, near_duplicates
from experiments.pairs import Pairs, count_errors, first_bands, predicted_errors
from neardup.core.join import join
from neardup.core.threads import Pool

__all__ = ["BANDS", "ROWS", "THRESHOLDS", "accuracy"]

THRESHOLDS = (0.2, 0.3, 0.4)
BANDS = range(10, 101, 10)
ROWS = range(1, 6)
DUPLICATES = 10
CHANGED = 0.1


def accuracy(source: Source) -> dict[str, Any]:
    """Count for one source.

    Returns:
        ``notes``, ``duplicates``, ``pairs`` (all of them), ``true`` (pairs by edge threshold) and
        ``rows``: for each setting what was counted and what was to be expected.
    """
    texts = source.notes + near_duplicates(source.notes, DUPLICATES, (CHANGED, CHANGED), seed=2)
    pairs = Pairs(texts)
    true = {threshold: _true_pairs(pairs, threshold) for threshold in THRESHOLDS}
    lines = []
    for rows in ROWS:
        first = first_bands(pairs, max(BANDS), rows)
        for num_bands in BANDS:
            for threshold in THRESHOLDS:
                similarity = np.where(true[threshold], 1.0, 0.0)  # the join decides who is one
                counted = count_errors(similarity, first < num_bands, threshold)
                expected = predicted_errors(pairs.similarity, num_bands, rows, threshold)
                lines.append(
                    {
                        "edge_threshold": threshold,
                        "rows": rows,
                        "bands": num_bands,
                        "candidates": int((first < num_bands).sum()),
                        "false": counted.false,
                        "missed": counted.missed,
                        "predicted_false": round(expected.false, 2),
                        "predicted_missed": round(expected.missed, 2),
                    }
                )
    return {
        "notes": len(source.notes),
        "duplicates": DUPLICATES,
        "pairs": len(pairs.a),
        "true": {str(threshold): int(found.sum()) for threshold, found in true.items()},
        "rows": lines,
    }


def _true_pairs(pairs: Pairs, edge_threshold: float) -> np.ndarray:
    """Return which pairs the exact join finds: bool[pairs]."""
    docs = np.flatnonzero(pairs.sets.size).astype(np.int32)
    with Pool() as pool:
        joined = join(pairs.sets, docs, edge_threshold, pool)
    true = np.zeros(len(pairs.a), dtype=np.bool_)
    true[pairs.index(joined.a, joined.b)] = True
    return true
