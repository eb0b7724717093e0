"""Section 12: the paper's ten million notes beside those of bench/ten_million.

Nothing is run here but the count of groups of equal notes, which follows from the recipe of the
made notes; the run itself takes minutes and 50 GB of disk, see bench/README.md.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow.compute as pc

from experiments.measured import ROOT
from neardup.synth import SynthSpec, truth

__all__ = ["NOTES", "corpus", "measured_run"]

NOTES = 10_000_000
RESULTS = ROOT / "bench/results/ten_million.json"
#: Positions that are looked at together.
_SLICE = 1 << 18
#: Stages up to the one that puts keys into the store; the others find, compare, keep and write.
_FIRST = ("kernels", "read and sign")


def measured_run() -> dict[str, Any]:
    """Return what bench/ten_million wrote of the ten million.

    Raises:
        LookupError: It holds no run of that size.
    """
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    for run in found["scaling"]:
        if run["documents"] == NOTES and run["failed"] is None:
            return {**run, "notes": found["notes"], "machine": found["machine"]}
    raise LookupError(f"{RESULTS} has no run of {NOTES:,} notes")


def corpus() -> dict[str, Any]:
    """Return the figures of that run that the paper has too.

    Returns:
        ``notes``, ``bytes``, ``seconds`` (and those of a first and a second step),
        ``anonymous_bytes`` and counts.
    """
    run = measured_run()
    record, counts = run["record"], run["record"]["counts"]
    seconds = record["seconds"]
    first = sum(seconds[stage] for stage in _FIRST)
    copies, groups = _equal(_spec(run))
    if copies != counts["equal_bytes"]:
        raise LookupError(f"{RESULTS} is of other notes than neardup synth makes")
    return {
        "notes": run["documents"],
        "bytes": run["notes_bytes"],
        "seconds": run["median"]["seconds"],
        "first_seconds": round(first, 1),
        "second_seconds": round(run["median"]["seconds"] - first, 1),
        "anonymous_bytes": run["median"]["anonymous_bytes"],
        "bands": f"{record['bands']['num_bands']} x {record['bands']['rows']}",
        "candidates": counts["candidates"],
        "verified": counts["verified"],
        "exact_groups": groups,
        "exact_copies": copies,
        "clusters": counts["clusters_of_two_or_more"],
        "largest_cluster": counts["largest_cluster"],
        "removed": counts["removed"],
    }


def _spec(run: dict[str, Any]) -> SynthSpec:
    notes = run["notes"]
    return SynthSpec(
        run["documents"],
        seed=notes["seed"],
        near=notes["near"],
        exact=notes["exact"],
        family=tuple(run["families"]),
        family_values=notes["family_values"],
    )


def _equal(spec: SynthSpec) -> tuple[int, int]:
    """Count notes that are equal to the one that they were made from, and these."""
    sources = np.zeros(spec.documents, dtype=np.bool_)
    copies = 0
    for first in range(0, spec.documents, _SLICE):
        table = truth(spec, first, min(first + _SLICE, spec.documents))
        unchanged = pc.fill_null(pc.equal(table["changed"], 0.0), False)
        found = table["source"].filter(pc.or_(pc.equal(table["kind"], "exact"), unchanged))
        sources[found.to_numpy()] = True
        copies += len(found)
    return copies, int(sources.sum())
