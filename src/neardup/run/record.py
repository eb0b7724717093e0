"""What ``run.json`` holds: what was asked for, what came out, and where it came from."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow

from neardup import __version__
from neardup.core.threads import available_cores
from neardup.kernels.text import unicode_version
from neardup.run.events import peak_memory
from neardup.run.job import Job
from neardup.run.pipeline import Outcome

__all__ = ["FORMAT", "inputs_digest", "record"]

#: Version of the layout of ``run.json`` and of the tables.
FORMAT = 2
#: Input files that are listed one by one, so that a message can name the one that has changed.
_LISTED = 1000


def record(outcome: Outcome, job: Job, edges: int) -> dict[str, Any]:
    """Return what ``run.json`` holds, see ``docs/formats.md``.

    Args:
        outcome: What a run found.
        job: What it was given.
        edges: Rows of the table of edges.
    """
    bands = outcome.bands
    return {
        "format": FORMAT,
        "spec": job.spec.as_dict(),
        "digest": job.spec.digest,
        "asked": job.digest,
        "run": job.storage.name,
        "source": _source(outcome, job),
        "secret_ids": job.secret_ids,
        "output": job.output,
        "recluster": job.origin,
        "versions": {
            "neardup": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
            "pyarrow": pyarrow.__version__,
            "unicode": unicode_version(),
        },
        "bands": None
        if bands is None
        else {
            "num_bands": bands.num_bands,
            "rows": bands.rows,
            "num_hashes": bands.num_bands * bands.rows,
            "predicted_recall": bands.recall,
        },
        "counts": {**outcome.totals, **asdict(outcome.counts), "edges": edges},
        "quality": outcome.quality,
        "bucket_sizes": outcome.bucket_sizes,
        "candidates_by_band": outcome.candidates_by_band,
        "store": outcome.store,
        "passes": outcome.passes,
        "predicted": job.predicted,
        "seconds": {name: round(value, 4) for name, value in job.stages.seconds.items()},
        "bytes": job.stages.sizes,
        "peak_memory": peak_memory(),
        "peak_anonymous": job.stages.memory.peak if job.stages.memory else 0,
        "stage_memory": dict(job.stages.memory.stages) if job.stages.memory else {},
        "disk": max(job.disk, 0 if job.folder is None else job.folder.size()),
        "cores": available_cores(),
    }


def inputs_digest(inputs: list[list[Any]]) -> str:
    """Return the SHA-256 (hex) of what the input files are told by, without their paths."""
    told = [[size, time] for _, size, time in inputs]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _source(outcome: Outcome, job: Job) -> dict[str, Any] | None:
    """What it takes to find the texts again; None where they can't be read twice."""
    if not job.given or any(file.is_pipe for file in job.corpus.inputs):
        return None
    inputs = job.identity["inputs"]
    counts = np.diff(outcome.facts.ends, prepend=0).tolist()
    return {
        "directory": str(Path.cwd()),
        "given": job.given,
        **{name: job.identity[name] for name in ("text", "id", "input_format", "encoding_errors")},
        "chunk_bytes": job.storage.chunk_bytes,
        "part_bytes": job.storage.part_bytes,
        # One line, not one for each chunk.
        "chunk_documents": " ".join(map(str, counts)),
        "chunk_sizes": " ".join(map(str, outcome.facts.sizes.tolist())),
        "files": len(inputs),
        "files_digest": inputs_digest(inputs),
        "inputs": inputs if len(inputs) <= _LISTED else [],
    }
