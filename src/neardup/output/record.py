"""The content of ``run.json``: settings, counts, and the source."""

import hashlib
import json
from typing import Any

import numpy as np

from neardup.deduplication.clock import Clock
from neardup.deduplication.documents.order_notes import order_notes
from neardup.deduplication.documents.text_notes import text_notes
from neardup.deduplication.job import Job
from neardup.deduplication.local import Outcome
from neardup.output.tables import id_type
from neardup.state.about_work import about_work, bands_of
from neardup.values.json_values import JSON

#: Input files that are listed one by one: a message can name the one that has changed.
_LISTED = 1000


def about_run(outcome: Outcome) -> dict[str, Any]:
    """Return the members of ``run.json`` that only runs have, see ``docs/formats.md``."""
    job, answer, recipe = outcome.job, outcome.answer, outcome.recipe
    # Whether the input can't be read again by its name.
    once = not job.reading.get("given") or any(file.copy for file in job.source.files)
    return {
        "spec": job.spec.as_dict(),
        "recipe": recipe.as_dict(),
        "recipe_digest": recipe.digest,
        "run": job.resources.run,
        "source": None if once else about_source(job, outcome.corpus.ends),
        "frame": about_frame(job) if once else None,
        "texts_digest": texts_digest(outcome.corpus.hashes),
        "secret_ids": job.secret_ids,
        "private_ids": job.private_ids,
        "output": dict(job.output),
        "id_type": str(id_type(outcome)),
        "tree_threshold": job.spec.minimum_in_cluster if job.spec.cluster == "bounded" else None,
        "bands": bands_of(recipe, job.spec.threshold),
        "counts": answer.counts,
        "notes": [*_text_notes(outcome), *order_notes(outcome.corpus.columns, job.spec)],
        "bucket_sizes": answer.bucket_sizes,
        "candidates_by_band": answer.candidates_by_band,
        "store": outcome.store,
    }


def _text_notes(outcome: Outcome) -> list[str]:
    corpus = outcome.corpus
    counts: list[int] = np.diff(corpus.ends, prepend=0).tolist()
    files = [file for file, _, _ in corpus.partitions]
    return text_notes(outcome.job.source.files, zip(files, counts, corpus.missing, strict=False))


def about_clock(clock: Clock) -> dict[str, Any]:
    """Return the members that the record of every command has, for one that had a clock."""
    clock.lap("other")
    return about_work(clock.seconds, clock.sizes)


def digest_of(manifest: JSON) -> str:
    """Return the SHA-256 (hex) of all that was asked for, with names, sizes, times of inputs."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def texts_digest(hashes: np.ndarray) -> str:
    """Return the SHA-256 (hex) of all texts by the hashes of their tokens, uint64[documents, 2]."""
    return hashlib.sha256(np.ascontiguousarray(hashes).tobytes()).hexdigest()


def inputs_digest(inputs: list[list[Any]]) -> str:
    """Return the SHA-256 (hex) of the entries of the input files, without their paths."""
    return digest_of([[size, time] for _, size, time in inputs])


def about_frame(job: Job) -> dict[str, Any]:
    """How a frame or a pipe was read, which may be given again."""
    columns = job.source.columns
    return {
        "given": job.reading.get("given", []),
        "text": list(columns.text),
        "id": columns.id,
        "encoding_errors": columns.encoding_errors,
    }


def about_source(job: Job, ends: np.ndarray) -> dict[str, Any]:
    """Return the location of the texts; ``ends`` are those of the partitions."""
    inputs = [found[:3] for found in job.inputs]
    return {
        "directory": job.directory,
        **job.reading,
        # One line, not one for each partition.
        "partition_documents": " ".join(map(str, np.diff(ends, prepend=0).tolist())),
        "files": len(inputs),
        "files_digest": inputs_digest(inputs),
        "inputs": inputs if len(inputs) <= _LISTED else [],
    }
