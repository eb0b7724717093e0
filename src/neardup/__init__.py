"""Find near-duplicate texts, exactly verified, and get a clean corpus.

import neardup
run = neardup.dedup("notes.jsonl", threshold=0.8, out="out")
run.clusters, run.keep_mask, run.clean(), run.explain("note-17")
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

# Names are resolved when they are first used: `neardup --help` imports nothing heavy.
_HOMES = {
    "neardup.api.against": "AgainstRun against",
    "neardup.api.decontaminating": "DecontaminateRun decontaminate",
    "neardup.api.copying": "PassagesRun copied passages",
    "neardup.api.dedup": "dedup plan sketch_corpus",
    "neardup.api.lessons": "characteristic_matrix minhash shingles",
    "neardup.api.linking": "blocks link",
    "neardup.api.indexes.indexing": "Index",
    "neardup.api.finished.open_folder": "open",
    "neardup.api.finished.runs": "DedupRun",
    "neardup.api.saved_signatures": "read_signatures save_signatures",
    "neardup.state.shards": "Shard",
    "neardup.client.remote_index": "RemoteIndex connect",
    "neardup.errors": "ColumnError DependencyError DuplicateIdError FormatError InputError "
    "InputNotFoundError NeardupError OutputError RecallWarning RecipeError RefusedError "
    "ResumeError SpecError StoreError",
    "neardup.forecast.tune": "tune",
    "neardup.options.option_groups": "PageForm Reading Resources Writing",
    "neardup.frame.run": "Run",
    "neardup.inspect.compare": "compare similarity",
    "neardup.match.bucketing": "candidate_pairs",
    "neardup.recipe": "Recipe",
    "neardup.linkage.fields": "Field",
    "neardup.api.indexes.record_index": "RecordIndex",
    "neardup.api.finished.data_cards": "data_card",
    "neardup.api.finished.link_runs": "Blocks LinkRun",
    "neardup.sketch.bands": "Bands candidate_probability choose_bands",
    "neardup.sketch.sketcher": "band_keys signatures",
    "neardup.sketch.tokenising": "shingle_sets",
    "neardup.spec": "ShingleSpec Spec preset",
}

__all__ = ["__version__", *(name for names in _HOMES.values() for name in names.split())]

# `as` is for type checkers: these names are public.
if TYPE_CHECKING:
    from neardup.api.against import AgainstRun as AgainstRun
    from neardup.api.against import against as against
    from neardup.api.copying import PassagesRun as PassagesRun
    from neardup.api.copying import copied as copied
    from neardup.api.copying import passages as passages
    from neardup.api.decontaminating import DecontaminateRun as DecontaminateRun
    from neardup.api.decontaminating import decontaminate as decontaminate
    from neardup.api.dedup import dedup as dedup
    from neardup.api.dedup import plan as plan
    from neardup.api.dedup import sketch_corpus as sketch_corpus
    from neardup.api.finished.data_cards import data_card as data_card
    from neardup.api.finished.link_runs import Blocks as Blocks
    from neardup.api.finished.link_runs import LinkRun as LinkRun
    from neardup.api.finished.open_folder import open as open
    from neardup.api.finished.runs import DedupRun as DedupRun
    from neardup.api.indexes.indexing import Index as Index
    from neardup.api.indexes.record_index import RecordIndex as RecordIndex
    from neardup.api.lessons import characteristic_matrix as characteristic_matrix
    from neardup.api.lessons import minhash as minhash
    from neardup.api.lessons import shingles as shingles
    from neardup.api.linking import blocks as blocks
    from neardup.api.linking import link as link
    from neardup.api.saved_signatures import read_signatures as read_signatures
    from neardup.api.saved_signatures import save_signatures as save_signatures
    from neardup.client.remote_index import RemoteIndex as RemoteIndex
    from neardup.client.remote_index import connect as connect
    from neardup.errors import ColumnError as ColumnError
    from neardup.errors import DependencyError as DependencyError
    from neardup.errors import DuplicateIdError as DuplicateIdError
    from neardup.errors import FormatError as FormatError
    from neardup.errors import InputError as InputError
    from neardup.errors import InputNotFoundError as InputNotFoundError
    from neardup.errors import NeardupError as NeardupError
    from neardup.errors import OutputError as OutputError
    from neardup.errors import RecallWarning as RecallWarning
    from neardup.errors import RecipeError as RecipeError
    from neardup.errors import RefusedError as RefusedError
    from neardup.errors import ResumeError as ResumeError
    from neardup.errors import SpecError as SpecError
    from neardup.errors import StoreError as StoreError
    from neardup.forecast.tune import tune as tune
    from neardup.frame.run import Run as Run
    from neardup.inspect.compare import compare as compare
    from neardup.inspect.compare import similarity as similarity
    from neardup.linkage.fields import Field as Field
    from neardup.match.bucketing import candidate_pairs as candidate_pairs
    from neardup.options.option_groups import PageForm as PageForm
    from neardup.options.option_groups import Reading as Reading
    from neardup.options.option_groups import Resources as Resources
    from neardup.options.option_groups import Writing as Writing
    from neardup.recipe import Recipe as Recipe
    from neardup.sketch.bands import Bands as Bands
    from neardup.sketch.bands import candidate_probability as candidate_probability
    from neardup.sketch.bands import choose_bands as choose_bands
    from neardup.sketch.sketcher import band_keys as band_keys
    from neardup.sketch.sketcher import signatures as signatures
    from neardup.sketch.tokenising import shingle_sets as shingle_sets
    from neardup.spec import ShingleSpec as ShingleSpec
    from neardup.spec import Spec as Spec
    from neardup.spec import preset as preset
    from neardup.state.shards import Shard as Shard


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            value = getattr(importlib.import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'neardup' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
