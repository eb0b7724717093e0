"""The content of ``run.json``: settings, counts, and the source."""

import hashlib
from typing import Any

import numpy as np

from neardup.deduplication.clock import Clock
from neardup.deduplication.documents.order_notes import order_notes
from neardup.deduplication.documents.text_notes import text_notes
from neardup.deduplication.job import Job
from neardup.deduplication.local import Outcome
from neardup.io.source import Skipped
from neardup.io.streams import input_notes, written_notes
from neardup.output.tables import id_type
from neardup.sketch.document_groups import note_on_groups
from neardup.spec import BOUNDED
from neardup.state.about_work import about_work, bands_of
from neardup.values.readable import counted


def about_run(outcome: Outcome) -> dict[str, Any]:
    """Return the members of ``run.json`` that only runs have, see ``docs/formats.md``."""
    job, answer, recipe = outcome.job, outcome.answer, outcome.recipe
    return {
        "spec": job.spec.as_dict(),
        "recipe": recipe.as_dict(),
        "recipe_digest": recipe.digest,
        "run": job.resources.run,
        **job.input.record(outcome.corpus.ends),
        "texts_digest": texts_digest(outcome.corpus.hashes),
        "output": dict(job.output),
        "id_type": str(id_type(outcome)),
        "tree_threshold": job.spec.minimum_in_cluster if job.spec.cluster in BOUNDED else None,
        "bands": bands_of(recipe, job.spec.threshold),
        "counts": answer.counts,
        "notes": [
            *_text_notes(outcome),
            *_note_on_boilerplate(job),
            *order_notes(outcome.corpus.columns, job.spec),
            *note_on_groups(answer.counts.get("without_group", 0), recipe.within),
        ],
        "bucket_sizes": answer.bucket_sizes,
        "candidates_by_band": answer.candidates_by_band,
        "pairs_by_similarity": answer.pairs_by_similarity,
        "store": outcome.store,
    }


def _note_on_boilerplate(job: Job) -> list[str]:
    if job.boilerplate is None:
        return []
    texts = counted(job.boilerplate.num_rows, "text")
    many = f"{job.spec.boilerplate:,} documents or more"
    return [f"boilerplate: {texts} of 25 words or more in {many}, which were not compared"]


def _text_notes(outcome: Outcome) -> list[str]:
    corpus = outcome.corpus
    counts: list[int] = np.diff(corpus.ends, prepend=0).tolist()
    files = [file for file, _, _ in corpus.partitions]
    every = outcome.job.source.files
    notes = written_notes(every) + input_notes(Skipped.total(corpus.skipped), every)
    return notes + text_notes(every, zip(files, counts, corpus.missing, strict=False))


def about_clock(clock: Clock) -> dict[str, Any]:
    """Return the members that the record of every command has, for one that had a clock."""
    clock.lap("other")
    return about_work(clock.seconds, clock.sizes)


def texts_digest(hashes: np.ndarray) -> str:
    """Return the SHA-256 (hex) of all texts by the hashes of their tokens, uint64[documents, 2]."""
    return hashlib.sha256(np.ascontiguousarray(hashes).tobytes()).hexdigest()
