"""Near-duplicate texts: raw files to verified clusters and a clean corpus.

import neardup
result = neardup.dedup("notes.jsonl", spec=neardup.preset("clinical"))
result.clusters, result.edges, result.clean(), result.summary
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names are resolved when they are asked for, so that `neardup --help` imports nothing heavy.
_HOMES = {
    "Audit": "neardup.run.auditing",
    "Bands": "neardup.core.tune",
    "Choice": "neardup.core.points",
    "Comparison": "neardup.core.compare",
    "Difference": "neardup.report.differences",
    "Document": "neardup.run.explanation",
    "Explanation": "neardup.run.explanation",
    "Meeting": "neardup.run.explanation",
    "NeardupError": "neardup.errors",
    "Neighbour": "neardup.run.explanation",
    "Point": "neardup.core.points",
    "Repeat": "neardup.run.explanation",
    "Result": "neardup.api",
    "Shard": "neardup.run.storage",
    "ShingleSpec": "neardup.spec",
    "Signer": "neardup.core.sign",
    "Spec": "neardup.spec",
    "Storage": "neardup.run.storage",
    "Tuning": "neardup.core.points",
    "audit": "neardup.run.auditing",
    "band_keys": "neardup.core.band",
    "candidate_pairs": "neardup.core.band",
    "candidate_probability": "neardup.core.tune",
    "choose_bands": "neardup.core.tune",
    "compare": "neardup.core.compare",
    "dedup": "neardup.api",
    "dedup_files": "neardup.api",
    "differences": "neardup.report.differences",
    "evaluate": "neardup.run.evaluation",
    "explain": "neardup.run.explaining",
    "plan": "neardup.api",
    "preset": "neardup.spec",
    "recluster": "neardup.api",
    "shingle_sets": "neardup.core.shingle",
    "sign": "neardup.core.sign",
    "sign_files": "neardup.api",
    "similarity": "neardup.core.verify",
    "tune": "neardup.core.points",
    "write_report": "neardup.report.page",
}

if TYPE_CHECKING:
    from neardup.api import Result, dedup, dedup_files, plan, recluster, sign_files
    from neardup.core.band import band_keys, candidate_pairs
    from neardup.core.compare import Comparison, compare
    from neardup.core.points import Choice, Point, Tuning, tune
    from neardup.core.shingle import shingle_sets
    from neardup.core.sign import Signer, sign
    from neardup.core.tune import Bands, candidate_probability, choose_bands
    from neardup.core.verify import similarity
    from neardup.errors import NeardupError
    from neardup.report.differences import Difference, differences
    from neardup.report.page import write_report
    from neardup.run.auditing import Audit, audit
    from neardup.run.evaluation import evaluate
    from neardup.run.explaining import explain
    from neardup.run.explanation import Document, Explanation, Meeting, Neighbour, Repeat
    from neardup.run.storage import Shard, Storage
    from neardup.spec import ShingleSpec, Spec, preset

__all__ = [
    "Audit",
    "Bands",
    "Choice",
    "Comparison",
    "Difference",
    "Document",
    "Explanation",
    "Meeting",
    "NeardupError",
    "Neighbour",
    "Point",
    "Repeat",
    "Result",
    "Shard",
    "ShingleSpec",
    "Signer",
    "Spec",
    "Storage",
    "Tuning",
    "__version__",
    "audit",
    "band_keys",
    "candidate_pairs",
    "candidate_probability",
    "choose_bands",
    "compare",
    "dedup",
    "dedup_files",
    "differences",
    "evaluate",
    "explain",
    "plan",
    "preset",
    "recluster",
    "shingle_sets",
    "sign",
    "sign_files",
    "similarity",
    "tune",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'neardup' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
