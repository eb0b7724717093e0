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
    "Bands": "neardup.core.tune",
    "NeardupError": "neardup.errors",
    "Result": "neardup.api",
    "ShingleSpec": "neardup.spec",
    "Signer": "neardup.core.sign",
    "Shard": "neardup.run.storage",
    "Spec": "neardup.spec",
    "Storage": "neardup.run.storage",
    "band_keys": "neardup.core.band",
    "candidate_pairs": "neardup.core.band",
    "candidate_probability": "neardup.core.tune",
    "choose_bands": "neardup.core.tune",
    "dedup": "neardup.api",
    "dedup_files": "neardup.api",
    "plan": "neardup.api",
    "preset": "neardup.spec",
    "shingle_sets": "neardup.core.shingle",
    "sign": "neardup.core.sign",
    "sign_files": "neardup.api",
    "similarity": "neardup.core.verify",
}

if TYPE_CHECKING:
    from neardup.api import Result, dedup, dedup_files, plan, sign_files
    from neardup.core.band import band_keys, candidate_pairs
    from neardup.core.shingle import shingle_sets
    from neardup.core.sign import Signer, sign
    from neardup.core.tune import Bands, candidate_probability, choose_bands
    from neardup.core.verify import similarity
    from neardup.errors import NeardupError
    from neardup.run.storage import Shard, Storage
    from neardup.spec import ShingleSpec, Spec, preset

__all__ = [
    "Bands",
    "NeardupError",
    "Result",
    "Shard",
    "ShingleSpec",
    "Signer",
    "Spec",
    "Storage",
    "__version__",
    "band_keys",
    "candidate_pairs",
    "candidate_probability",
    "choose_bands",
    "dedup",
    "dedup_files",
    "plan",
    "preset",
    "shingle_sets",
    "sign",
    "sign_files",
    "similarity",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'neardup' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
