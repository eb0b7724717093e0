"""Damaged files of an interrupted run: resumed to the same result, or refused in one line."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import neardup
from fuzz import paths  # noqa: F401  (the tests can be imported)
from fuzz.mutate import mutate
from neardup.errors import NeardupError

#: Events of a run after which it is interrupted, in turns.
_EVENTS = (3, 8, 14)


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return which run is damaged, and the seed of the damage."""
    return f"after-{_EVENTS[rng.integers(len(_EVENTS))]}", rng.bytes(8)


def check(ending: str, data: bytes, folder: Path) -> None:
    """Damage one file of a run folder and resume."""
    source, begun, expected = _interrupted(int(ending.partition("-")[2]))
    rng = np.random.default_rng(list(data))
    out = folder / os.urandom(4).hex()
    shutil.copytree(begun, out)
    files = sorted(path for path in (out / ".run").rglob("*") if path.is_file())
    for path in rng.choice(np.array(files, dtype=object), size=1 + int(rng.random() < 0.2)):
        path.write_bytes(mutate(path.read_bytes(), files[0].read_bytes(), rng))
    try:
        run = neardup.dedup(source, id="id", out=out, resume=True, progress=False, threads=1)
    except NeardupError as error:
        assert "\n" not in f"{error}{error.hint}", "an error of several lines"
        return
    assert run.clusters.equals(expected), "another result than that of a whole run"
    assert pq.read_table(out / "clean").num_rows == run.summary["counts"]["kept"]


@functools.cache
def _interrupted(events: int) -> tuple[Path, Path, pa.Table]:
    """Return the input, the folder of a run that was interrupted, and the whole result."""
    from neardup.testing import small_corpora

    place = Path(tempfile.mkdtemp(prefix="neardup-fuzz-"))
    rows = small_corpora.random_documents(np.random.default_rng(3), 300)
    source = place / "input.parquet"
    pq.write_table(rows, source, row_group_size=40)
    expected = neardup.dedup(source, id="id", progress=False).clusters
    seen: Iterator[int] = iter(range(events))

    def listen(event: object) -> None:
        del event
        if next(seen, None) is None:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        neardup.dedup(source, id="id", out=place / "begun", progress=listen, threads=1)
    return source, place / "begun", expected
