"""Random corpora and settings: a run against the definition in plain Python."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import neardup
from fuzz import paths  # noqa: F401  (the tests can be imported)


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return the seed that a corpus, its settings and the way of the run follow from."""
    return "seed", rng.bytes(8)


def check(ending: str, data: bytes, folder: Path) -> None:
    """Run with these settings; the result is that of the definition."""
    import made_corpora
    import test_engine_definition as definition

    from neardup.testing import small_corpora

    del ending
    rng = np.random.default_rng(list(data))
    rows = small_corpora.random_documents(rng, int(rng.integers(1, 90)))
    spec = small_corpora.random_spec(rng)
    how = str(rng.choice(["frame", "jsonl", "csv", "parquet", "arrow"]))
    source: object = rows
    if how != "frame":
        source = made_corpora.write(
            rows, folder / os.urandom(4).hex(), how, int(rng.integers(1, 4))
        )
        if how == "csv":  # a null and an empty text are the same there
            rows = rows.set_column(1, "text", [[t or "" for t in rows["text"].to_pylist()]])
    threads = int(rng.integers(1, 4))
    out = folder / os.urandom(4).hex() if rng.random() < 0.2 else None
    run = neardup.dedup(source, id="id", spec=spec, out=out, threads=threads, progress=False)
    definition.check(run, rows, spec)
