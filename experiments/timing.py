"""Section 9.2: time and memory, by bands, notes and words, with the designs of the paper.

Memory is that of processes that are watched from outside. Where no Cassandra runs, its rows have no
numbers, and the tables say so. Each job runs once in each round, so that what disturbs a round
disturbs all stores.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.notes import SynthSpec, write
from experiments import paper
from experiments.claims_time import spikes
from experiments.designs import check_design
from experiments.jobs import whole_job
from experiments.notes import synthetic_notes
from experiments.pairs import SHINGLE
from experiments.sizes import FULL, PARTITION, Sizes
from experiments.stores import Store, empty_afterwards, find_stores, measure, opened
from neardup.recipe import Recipe
from neardup.sketch.sketcher import Sketcher
from neardup.state import Header

__all__ = ["timing"]

#: What one setting is while another one changes.
BANDS, ROWS = paper.BANDS
WORDS = 300
#: The store that is filled with as many partitions as in the paper, too.
IN_PARTS = "Design 2, SQLite"
#: Stores whose memory is watched by the writes of figure 7: those in the process itself.
WRITTEN = ("Design 1, SQLite", "Design 2, SQLite")

Line = dict[str, Any]


def notes_of_write(store: Store) -> int:
    """Return how many notes' keys are written together: Design 1 waits for no other note."""
    return 1 if "Design 1" in store.name else paper.FLUSH


def timing(sizes: Sizes = FULL) -> dict[str, Any]:
    """Measure all of it.

    Returns:
        ``bands``, ``notes`` and ``words``: seconds of whole jobs, from JSON lines to clusters, of
        each round; ``memory``: their peak bytes; ``flush``: ``seconds``, by store of each note,
        sketched one by one, in the fastest pass, ``passes``, by pass and store what
        `experiments.claims_time.spikes` returns, and the ``load`` of the machine; ``stored``: peak
        bytes of a store that is filled and read by itself; ``written``: the same, filled by the
        writes of ``flush``. ``stores`` has the names, and whether each was there; ``settings`` what
        was fixed.

    Raises:
        StoreError: A store does not have the design of its name.
    """
    found = find_stores()
    there = [store for store in found if store.url is not None]
    with tempfile.TemporaryDirectory(prefix="neardup-") as name, empty_afterwards(found[-1].url):
        jobs = Jobs(Path(name), sizes)
        for store in there:  # compiled code is loaded, and tables are made
            check_design(store, store.at(jobs.folder))
            jobs.seconds(store, jobs.line(store, notes=min(sizes.job_notes)))
        stored = [jobs.stored(s, n) for n in sizes.stored for s in there]
        stored += [jobs.stored(s, n, paper.PARTS) for n in sizes.stored for s in there]
        return {
            "stores": {store.name: store.url is not None for store in found},
            "settings": {
                "bands": BANDS,
                "rows": ROWS,
                "words": WORDS,
                "notes": sizes.base_notes,
                "rounds": sizes.rounds,
                "flush": paper.FLUSH,
                "passes": sizes.passes,
                "parts": paper.PARTS,
            },
            **jobs.timed(there),
            "memory": [jobs.memory(s, n) for n in sizes.job_notes for s in there],
            "flush": jobs.flushes(there),
            "stored": [line for line in stored if line],
            "written": jobs.written(there),
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

    def line(self, store: Store, **changes: int) -> Line:
        """Return what is measured, without its seconds yet."""
        base = {"bands": BANDS, "rows": ROWS, "notes": self.sizes.base_notes, "words": WORDS}
        return {"store": store.name, **(base | changes), "seconds": []}

    def timed(self, stores: list[Store]) -> dict[str, list[Line]]:
        """Time whole jobs: by bands in memory, by notes and words in each store; in rounds."""
        curves: dict[str, list[tuple[Store, Line]]] = {
            "bands": [
                (stores[0], self.line(stores[0], bands=bands, rows=rows))
                for rows in self.sizes.rows
                for bands in self.sizes.job_bands
            ],
            "notes": [(s, self.line(s, notes=n)) for n in self.sizes.job_notes for s in stores],
            "words": [(s, self.line(s, words=w)) for w in self.sizes.job_words for s in stores],
        }
        for _ in range(self.sizes.rounds):
            for jobs in curves.values():
                for store, line in jobs:
                    line["seconds"].append(round(self.seconds(store, line), 4))
        return {what: [line for _, line in jobs] for what, jobs in curves.items()}

    def seconds(self, store: Store, line: Line) -> float:
        """Time one whole job."""
        path = self.notes(line["notes"], line["words"])
        return whole_job(store.at(self.folder), path, line["bands"], line["rows"])

    def memory(self, store: Store, notes: int) -> Line:
        """Watch the memory of one whole job in a process of its own."""
        path = str(self.notes(notes, WORDS))
        return self._peak(store, notes, "job", path, str(BANDS), str(ROWS))

    def stored(self, store: Store, notes: int, parts: int = 0) -> Line:
        """Watch the memory of a store by itself.

        Args:
            store: Which one.
            notes: How many.
            parts: Partitions that they are in, for `IN_PARTS` alone; 0 for partitions of 10,000.
        """
        if parts and store.name != IN_PARTS:
            return {}
        size = max(1, notes // parts) if parts else PARTITION
        found = self._peak(store, notes, "keys", str(notes), str(BANDS), str(size))
        return {**found, "store": f"{store.name}, {parts} parts"} if parts else found

    def written(self, stores: list[Store]) -> list[Line]:
        """Watch the memory of stores that are filled by the writes of figure 7."""
        return [
            self._peak(store, n, "keys", str(n), str(BANDS), str(notes_of_write(store)))
            for n in self.sizes.written
            for store in stores
            if store.name in WRITTEN
        ]

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

    def flushes(self, stores: list[Store]) -> dict[str, Any]:
        """Go through the notes several times, with each store in turn."""
        notes = synthetic_notes()[: self.sizes.notes // paper.FLUSH * paper.FLUSH]
        sketcher = Sketcher(Recipe(SHINGLE, num_bands=BANDS, rows=ROWS))
        sketcher(notes[: paper.FLUSH])  # compiled code is loaded here
        passes = [
            {store.name: self._flush(store, sketcher, notes) for store in stores}
            for _ in range(self.sizes.passes)
        ]
        return {
            "load": round(os.getloadavg()[0], 1),
            "seconds": {
                store.name: np.min([one[store.name] for one in passes], axis=0).round(7).tolist()
                for store in stores
            },
            "passes": [
                {
                    name: [round(value, 7) for value in spikes(seconds, paper.FLUSH)]
                    for name, seconds in one.items()
                }
                for one in passes
            ],
        }

    def _flush(self, store: Store, sketcher: Sketcher, notes: list[str]) -> list[float]:
        """Return the seconds of each note: sketched, and written, or that of all that wait."""
        seconds, waiting, each = [], [], notes_of_write(store)
        with opened(store.at(self.folder), "flush") as target:
            target.create(Header("flush", BANDS))
            for number, note in enumerate(notes, start=1):
                begin = time.perf_counter()
                waiting.append(sketcher([note]).keys)
                if number % each == 0:
                    keys = np.ascontiguousarray(np.concatenate(waiting).T)
                    target.put(number // each - 1, keys, b"")
                    waiting = []
                seconds.append(time.perf_counter() - begin)
        return seconds
