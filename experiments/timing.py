"""Section 9.2: time and memory, by bands, notes and words, with the designs of the paper.

Memory is that of processes that are watched from outside. Where no Cassandra runs, its rows have no
numbers, and the tables say so.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.notes import SynthSpec, write
from experiments.designs import check_design
from experiments.jobs import whole_job
from experiments.notes import synthetic_notes
from experiments.pairs import SHINGLE
from experiments.sizes import FULL, Sizes
from experiments.stores import Store, empty_afterwards, find_stores, measure, opened
from neardup.recipe import Recipe
from neardup.sketch.sketcher import Sketcher
from neardup.state import Header

__all__ = ["timing"]

#: What one setting is while another one changes.
BANDS, ROWS, WORDS = 50, 2, 300
#: Notes whose keys are written together in figure 7, as in the paper.
FLUSH = 50
#: Documents of a partition of a store by itself.
PARTITION = 10_000

Line = dict[str, Any]


def timing(sizes: Sizes = FULL) -> dict[str, Any]:
    """Measure all of it.

    Returns:
        ``bands``, ``notes`` and ``words``: seconds of whole jobs, from JSON lines to clusters;
        ``memory``: their peak bytes; ``flush``: seconds of each note, sketched one by one, by
        store; ``stored``: peak bytes of a store that is filled and read by itself. ``stores`` has
        the names, and whether each was there; ``settings`` what was fixed.
    """
    found = find_stores()
    there = [store for store in found if store.url is not None]
    with tempfile.TemporaryDirectory(prefix="neardup-") as name, empty_afterwards(found[-1].url):
        jobs = Jobs(Path(name), sizes)
        for store in there:  # compiled code is loaded, and tables are made
            check_design(store, store.at(jobs.folder))
            jobs.timed(store, notes=min(sizes.job_notes))
        return {
            "stores": {store.name: store.url is not None for store in found},
            "settings": {
                "bands": BANDS,
                "rows": ROWS,
                "words": WORDS,
                "notes": sizes.base_notes,
                "repeats": sizes.repeats,
                "flush": FLUSH,
                "flush_repeats": sizes.flush_repeats,
            },
            "bands": [
                jobs.timed(there[0], bands=bands, rows=rows)
                for rows in sizes.rows
                for bands in sizes.job_bands
            ],
            "notes": [jobs.timed(s, notes=n) for n in sizes.job_notes for s in there],
            "words": [jobs.timed(s, words=w) for w in sizes.job_words for s in there],
            "memory": [jobs.memory(s, n) for n in sizes.job_notes for s in there],
            "flush": {store.name: jobs.flushes(store) for store in there},
            "stored": [jobs.stored(s, n) for n in sizes.stored for s in there],
        }


@dataclasses.dataclass
class Jobs:
    """Runs jobs.

    Attributes:
        folder: For notes, and files of stores.
        sizes: How much.
    """

    folder: Path
    sizes: Sizes

    def timed(self, store: Store, **changes: int) -> Line:
        """Time one whole job; of a few the fastest, as the others were disturbed."""
        base = {"bands": BANDS, "rows": ROWS, "notes": self.sizes.base_notes, "words": WORDS}
        line = base | changes
        path = self.notes(line["notes"], line["words"])
        seconds = [
            whole_job(store.at(self.folder), path, line["bands"], line["rows"])
            for _ in range(1 if store.in_server else self.sizes.repeats)
        ]
        return {"store": store.name, **line, "seconds": round(min(seconds), 4)}

    def memory(self, store: Store, notes: int) -> Line:
        """Watch the memory of one whole job in a process of its own."""
        path = str(self.notes(notes, WORDS))
        return self._peak(store, notes, "job", path, str(BANDS), str(ROWS))

    def stored(self, store: Store, notes: int) -> Line:
        """Watch the memory of a store by itself."""
        return self._peak(store, notes, "keys", str(notes), str(BANDS), str(PARTITION))

    def _peak(self, store: Store, notes: int, what: str, *arguments: str) -> Line:
        """Return the peak of the private memory; None where it would take too long."""
        line: Line = {"store": store.name, "notes": notes, "private_bytes": None}
        if store.takes(notes * BANDS):
            command = [sys.executable, "-m", "experiments.jobs", what, store.at(self.folder)]
            found = measure([*command, *arguments])
            line["private_bytes"] = found["anonymous_bytes"]
        return line

    def notes(self, notes: int, words: int) -> Path:
        """Return the file with so many notes of so many words."""
        path = self.folder / f"notes-{notes}-{words}.jsonl"
        if not path.exists():
            spec = SynthSpec(notes, near=0.2, exact=0.1, families=(), words=(words, words))
            write(spec, path, self.folder / "truth.parquet", overwrite=True)
        return path

    def flushes(self, store: Store) -> list[float]:
        """Return the seconds of each note: sketched, and at every 50th, keys of 50 are written.

        The notes are gone through several times. The fastest counts for each, as the others were
        disturbed.
        """
        notes = synthetic_notes()[: self.sizes.notes // FLUSH * FLUSH]
        sketcher = Sketcher(Recipe(SHINGLE, num_bands=BANDS, rows=ROWS))
        sketcher(notes[:FLUSH])  # compiled code is loaded here
        passes = []
        for _ in range(self.sizes.flush_repeats):
            seconds, waiting = [], []
            with opened(store.at(self.folder), "flush") as target:
                target.create(Header("flush", BANDS))
                for number, note in enumerate(notes, start=1):
                    begin = time.perf_counter()
                    waiting.append(sketcher([note]).keys)
                    if number % FLUSH == 0:
                        keys = np.ascontiguousarray(np.concatenate(waiting).T)
                        target.put(number // FLUSH - 1, keys, b"")
                        waiting = []
                    seconds.append(time.perf_counter() - begin)
            passes.append(seconds)
        return [round(float(value), 7) for value in np.min(passes, axis=0)]
