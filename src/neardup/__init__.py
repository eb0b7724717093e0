"""Find near-duplicate texts, exactly verified, and get a clean corpus.

import neardup
run = neardup.dedup("notes.jsonl", threshold=0.8, out="out")
run.clusters, run.keep_mask, run.clean(), run.explain("note-17")
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# Names are resolved when they are asked for, so that `neardup --help` imports nothing heavy.
_HOMES = {
    "neardup.api.comparing_corpora": "decontaminate",
    "neardup.api.dedup": "dedup plan sketch_corpus",
    "neardup.api.linking": "blocks link",
    "neardup.api.indexing": "Index",
    "neardup.api.runs": "Run open",
    "neardup.state.shards": "Shard",
    "neardup.errors": "NeardupError",
    "neardup.forecast.tune": "tune",
    "neardup.inspect.compare": "compare similarity",
    "neardup.match.bucketing": "candidate_pairs",
    "neardup.recipe": "Recipe",
    "neardup.records.fields": "Field",
    "neardup.records.growing.record_index": "RecordIndex",
    "neardup.records.outcome.link_runs": "Blocks LinkRun",
    "neardup.sketch.bands": "Bands candidate_probability choose_bands",
    "neardup.sketch.sketcher": "band_keys signatures",
    "neardup.sketch.tokenising": "shingle_sets",
    "neardup.spec": "ShingleSpec Spec preset",
}

if TYPE_CHECKING:
    from neardup.api.comparing_corpora import decontaminate
    from neardup.api.dedup import dedup, plan, sketch_corpus
    from neardup.api.indexing import Index
    from neardup.api.linking import blocks, link
    from neardup.api.runs import Run
    from neardup.api.runs import open as open
    from neardup.errors import NeardupError
    from neardup.forecast.tune import tune
    from neardup.inspect.compare import compare, similarity
    from neardup.match.bucketing import candidate_pairs
    from neardup.recipe import Recipe
    from neardup.records.fields import Field
    from neardup.records.growing.record_index import RecordIndex
    from neardup.records.outcome.link_runs import Blocks, LinkRun
    from neardup.sketch.bands import Bands, candidate_probability, choose_bands
    from neardup.sketch.sketcher import band_keys, signatures
    from neardup.sketch.tokenising import shingle_sets
    from neardup.spec import ShingleSpec, Spec, preset
    from neardup.state.shards import Shard

__all__ = [
    "Bands",
    "Blocks",
    "Field",
    "Index",
    "LinkRun",
    "NeardupError",
    "Recipe",
    "RecordIndex",
    "Run",
    "Shard",
    "ShingleSpec",
    "Spec",
    "__version__",
    "band_keys",
    "blocks",
    "candidate_pairs",
    "candidate_probability",
    "choose_bands",
    "compare",
    "decontaminate",
    "dedup",
    "link",
    "open",
    "plan",
    "preset",
    "shingle_sets",
    "signatures",
    "similarity",
    "sketch_corpus",
    "tune",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            value = getattr(importlib.import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'neardup' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
