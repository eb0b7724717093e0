"""All that `neardup plan` says, as plain values."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from neardup.core.expect import About
from neardup.core.threads import Pool
from neardup.core.tune import Bands, candidate_probability
from neardup.run.advice import Seen, advice
from neardup.run.job import Job, guess, refined
from neardup.run.parts import Recipe, choose, require_documents
from neardup.run.planning import THOROUGH, Look, foresee, sample_of
from neardup.run.rates import Trial
from neardup.run.sampling import Headed, Sample
from neardup.run.signing import Head
from neardup.run.similarities import similarities
from neardup.run.source import Source

__all__ = ["survey"]

#: Similarities at which it is said with what probability a pair is found.
_POINTS = tuple(round(0.05 * k, 2) for k in range(2, 21))
#: Chunks that are timed, at most.
_CHUNKS = 8


def survey(job: Job, place: Path | None = None) -> dict[str, Any]:
    """Look at a corpus, and say what a run will find, take and cost.

    Args:
        job: What the run would be given.
        place: Where the outputs would lie; the folder for temporary files by default.

    Returns:
        Plain values, see ``docs/running.md``.

    Raises:
        InputError: The input can't be used; its leaves say why.
    """
    corpus = job.corpus
    with Pool(job.threads) as pool:
        head = Head(Source(corpus), pool)
        if job.prepare is not None:
            job.prepare()
        documents, size, whole = head.sample()
        first = Headed(documents, size, whole)
        require_documents(first.count, [file.path for file in corpus.inputs])
        bands = choose(job.spec, documents, pool)
        recipe = Recipe.of(job.spec, bands, job.columns)
        plan = guess(job, documents, size, whole, bands, pool.threads, True)
        trial = Trial(min(_CHUNKS, 2 * pool.threads), job.storage.chunk_bytes, 1 << 62)
        look = Look(THOROUGH, trial, place or Path(tempfile.gettempdir()), True)
        found = foresee(job, recipe, first, plan, look, pool)
        alike = similarities(found.sample, found.met, recipe, job.spec.edge_threshold, pool)
        e, sample = found.expected, found.sample
        # What the store is decided by is what the run will know: its first documents.
        plan = refined(
            job,
            plan,
            documents=round(e.documents.value),
            exact=sample.exact,
            text=int(e.text),
            ids=int(e.columns),
            columns=int(e.table),
            threads=pool.threads,
        )
    return {
        **asdict(plan),
        "disk": plan.disk,
        "inputs": corpus.total_bytes,
        "rows": 0 if bands is None else bands.rows,
        "predicted_recall": None if bands is None else bands.recall,
        "threads": pool.threads,
        "sample": sample_of(sample),
        "documents_between": _between(e.documents),
        "lengths": _lengths(sample),
        "short": _share((sample.tokens > 0) & (sample.tokens < job.spec.shingle.n)),
        "empty": _share(sample.tokens == 0),
        "exact_duplicates": _about(e.exact_duplicates),
        "similarities": alike.as_dict(),
        "edges": _about(e.edges),
        "curve": _curve(bands),
        "candidates": {**_about(e.candidates), "by_band": [round(float(c)) for c in e.by_band]},
        "families": [asdict(family) for family in alike.families],
        "predicted": found.as_record(),
        "rates": asdict(found.rates),
        "warnings": advice(Seen(sample, e, alike), job.spec),
    }


def _about(found: About) -> dict[str, int]:
    low, high = _between(found)
    return {"expected": round(float(found.value)), "low": low, "high": high}


def _between(found: About) -> list[int]:
    return [round(float(found.low)), round(float(found.high))]


def _share(which: np.ndarray) -> float:
    return float(which.mean()) if len(which) else 0.0


def _lengths(sample: Sample) -> dict[str, dict[str, float]]:
    """Of texts in bytes, in tokens, and in shingles."""
    found = {}
    for name, values in (
        ("bytes", sample.lengths),
        ("tokens", sample.tokens),
        ("shingles", sample.shingles),
    ):
        low, median, high = np.percentile(values, [5, 50, 95]).tolist()
        found[name] = {
            "median": median,
            "mean": float(values.mean()),
            "low": low,
            "high": high,
            "longest": int(values.max()),
        }
    return found


def _curve(bands: Bands | None) -> list[dict[str, float]]:
    if bands is None:
        return []
    return [
        {"similarity": s, "probability": candidate_probability(s, bands.num_bands, bands.rows)}
        for s in _POINTS
    ]
