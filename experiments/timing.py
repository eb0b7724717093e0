"""Section 9.2: time and memory, by bands, notes and words, with the designs of the paper.

* Whole jobs, from JSON lines to clusters and the clean corpus: against bands, against notes,
  against words of a note; and the memory of such jobs, each in a process of its own that is
  watched from outside.
* Notes signed a hundred at a time, with the keys put into the store whenever a part is full: the
  time of each hundred shows when that was.
* The store by itself, filled and read back by a process that is watched in the same way.

Where no Cassandra runs, its lines have no figures, and the tables say so.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from sys import executable
from typing import Any

import numpy as np

from experiments.matrix import opened
from experiments.measured import NEARDUP, Store, measure, stores
from experiments.pairs import SHINGLE
from neardup.api import dedup_files
from neardup.core.band import band_keys
from neardup.core.sign import Signer, sign
from neardup.run.storage import Storage
from neardup.spec import preset
from neardup.stores import Header
from neardup.synth import SynthSpec, generate, write

__all__ = ["timing"]

#: What one setting is while another one changes.
BANDS, NOTES, WORDS = 50, 5_000, 300
ROWS = 2
BANDS_TRIED = (10, 25, 50, 75, 100)
NOTES_TRIED = (2_500, 5_000, 10_000, 20_000)
WORDS_TRIED = (75, 150, 300, 600)
#: Notes whose keys are put into the store together, and in a step that is timed.
PART, STEP, FLUSHED = 2_500, 100, 10_000
#: Notes in the store by itself; 0 for a process that does nothing.
MATRIX = (0, 50_000, 100_000, 200_000, 400_000)
#: Design 1 has a row for each key. More than so many are left out where only memory is of interest.
MOST_CELLS = {"Design 1, SQLite": 5_000_000, "Design 1, Cassandra": 250_000}
#: Runs of a job whose fastest counts; with Cassandra one.
REPEATED = 3
#: Of the notes, signed and stored together.
PART_BYTES = 2_000_000


def timing(cassandra: str | None = None) -> dict[str, Any]:
    """Measure all of it.

    Args:
        cassandra: URL of a server; by default that of ``make cassandra``, if it runs.

    Returns:
        ``bands``, ``notes`` and ``words``: seconds of whole jobs; ``memory``: peak bytes of whole
        jobs; ``flush``: seconds of each step by store; ``matrix``: peak bytes of the store by
        itself. ``stores`` has the names, and whether each was there.
    """
    found = stores(cassandra)
    there = [store for store in found if store.url is not None]
    with tempfile.TemporaryDirectory(prefix="neardup-") as name, _left_empty(there):
        folder = Path(name)
        _job(there[0], folder, notes=min(NOTES_TRIED))  # compiled code is loaded here
        jobs: dict[str, Any] = {
            "bands": [_job(s, folder, bands=b) for b in BANDS_TRIED for s in there],
            "notes": [_job(s, folder, notes=n) for n in NOTES_TRIED for s in there],
            "words": [_job(s, folder, words=w) for w in WORDS_TRIED for s in there],
            "memory": [_job_memory(s, folder, n) for n in NOTES_TRIED for s in there],
        }
        return {
            "stores": {store.name: store.url is not None for store in found},
            **jobs,
            "flush": {store.name: _flush(store, folder) for store in there},
            "matrix": [_matrix(store, notes) for notes in MATRIX for store in there],
        }


def _job(
    store: Store, folder: Path, bands: int = BANDS, notes: int = NOTES, words: int = WORDS
) -> dict[str, Any]:
    """Time one whole job; of a few the fastest, as the others were disturbed."""
    path = _made(folder, notes, words)
    spec = preset("clinical").replace(num_bands=bands, rows=ROWS)
    storage = Storage(store=str(store.url), design=store.design, part_bytes=PART_BYTES)
    seconds = []
    for _ in range(1 if "Cassandra" in store.name else REPEATED):
        begin = time.perf_counter()
        dedup_files(
            path, folder / "out", id="id", spec=spec, storage=storage, threads=2, overwrite=True
        )
        seconds.append(round(time.perf_counter() - begin, 3))
    line = {"store": store.name, "bands": bands, "notes": notes, "words": words}
    return {**line, "seconds": min(seconds)}


def _job_memory(store: Store, folder: Path, notes: int) -> dict[str, Any]:
    """Watch the memory of one whole job in a process of its own."""
    command = [NEARDUP, "dedup", str(_made(folder, notes, WORDS)), "-o", str(folder / "out")]
    command += ["--preset", "clinical", "--id", "id", "--bands", str(BANDS), "--rows", str(ROWS)]
    command += ["--store", str(store.url), "--design", str(store.design)]
    command += ["--part-size", str(PART_BYTES), "--threads", "2", "--quiet", "--overwrite"]
    return _peak(store, notes, command)


def _matrix(store: Store, notes: int) -> dict[str, Any]:
    """Watch the memory of a store by itself."""
    command = [executable, "-m", "experiments.matrix", str(store.url), str(store.design)]
    return _peak(store, notes, [*command, str(notes), str(BANDS), "10000"])


def _peak(store: Store, notes: int, command: list[str]) -> dict[str, Any]:
    """Return the most memory that a command takes; nothing where it would take too long."""
    line = {"store": store.name, "bands": BANDS, "notes": notes}
    if notes * BANDS > MOST_CELLS.get(store.name, notes * BANDS):
        return {**line, "anonymous_bytes": None}
    return {**line, "anonymous_bytes": measure(command)["anonymous_bytes"]}


def _made(folder: Path, notes: int, words: int) -> Path:
    """Return the file with so many notes of so many words; made if it is not there."""
    path = folder / f"notes-{notes}-{words}.jsonl"
    if not path.exists():
        spec = SynthSpec(notes, near=0.2, exact=0.1, family=(), words=(words, words))
        write(spec, path, folder / "truth.parquet", overwrite=True)
    return path


def _flush(store: Store, folder: Path) -> list[float]:
    """Return the seconds that each step of notes took, signed and, where a part is full, stored."""
    spec = SynthSpec(FLUSHED, family=(), words=(WORDS, WORDS))
    texts = generate(spec)["text"]
    signer = Signer(BANDS * ROWS)
    sign(texts[:STEP], signer, SHINGLE)  # compiled code is loaded here
    steps, waiting = [], []
    with opened(str(store.url), store.design, folder, run="flush") as target:
        target.create(Header("flush", BANDS))
        for first in range(0, FLUSHED, STEP):
            begin = time.perf_counter()
            keys = band_keys(sign(texts[first : first + STEP], signer, SHINGLE), BANDS, ROWS)
            waiting.append(keys)
            if STEP * len(waiting) >= PART:
                target.put(first // PART, np.concatenate(waiting, axis=1), b"")
                waiting = []
            steps.append(round(time.perf_counter() - begin, 5))
        target.drop()
    return steps


@contextlib.contextmanager
def _left_empty(there: list[Store]) -> Iterator[None]:
    """Remove our keyspace from Cassandra at the end, and before, where a run was killed."""
    urls = {str(store.url) for store in there if "Cassandra" in store.name}
    for url in urls:
        _remove(url)
    try:
        yield
    finally:
        for url in urls:
            _remove(url)


def _remove(url: str) -> None:
    from neardup.stores.cassandra_place import parse
    from neardup.stores.cassandra_session import Session

    session = Session(parse(url), 30.0)
    session.open()
    session.change("DROP KEYSPACE IF EXISTS <>")
    session.close()
