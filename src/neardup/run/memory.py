"""How much memory, disk and how many passes a run will take, before it begins."""

from __future__ import annotations

import os
import re
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from neardup.errors import SpecError

__all__ = ["AnonymousPeak", "Estimate", "default_memory", "estimate", "free_memory", "parse_size"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

# Measured, in bytes.
#: Interpreter, libraries and compiled kernels.
_BASE = 170_000_000
#: What a thread needs to turn chunks into keys, and their documents into sets.
_THREAD = 90_000_000
_THREAD_CHAR = 420_000_000
#: Pairs that are compared together, tables that are being written, pages of the store.
_SHARED = 150_000_000
#: Of a document, while all are looked at: masks, positions and sums.
_PASSING = 96
#: Of a document and range of keys that is grouped.
GROUPING = 34
#: Of a document, while all are put in the order in which they are kept rather.
_ORDERING = 32
#: Taken for grouping, whatever there is.
_LEAST_GROUPING = 64_000_000
#: Of a shingle, while an exact join of all pairs is made.
_JOIN = 16
#: Of documents that are held, so that they need not be read again, where everything fits.
HELD = 160 << 20
#: Facts and clusters of a document, which lie in memory or in mapped files.
_STATE = 130
#: Of the facts, what the store keeps besides keys; ids are counted from the sample.
FACTS = 40


def parse_size(text: str) -> int:
    """Return bytes: ``4GB`` is 4 * 10**9, ``4GiB`` 4 * 2**30.

    Raises:
        SpecError: It is no size.

    Examples:
        >>> parse_size("1.5GB")
        1500000000
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if found is None or (found[3] and not found[2]):
        raise SpecError(f"{text!r} is not a size", "write it as 500MB, 4GB or 4GiB")
    return int(float(found[1]) * (_BINARY if found[3] else _UNITS)[found[2]])


def default_memory() -> int:
    """Return half of the memory that is free now, in bytes."""
    return free_memory() // 2


def free_memory() -> int:
    """Return the memory that is free now, or may be made so by dropping cached files, in bytes."""
    free = 4 << 30
    with suppress(OSError, ValueError, AttributeError):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError):
        found = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
        if found:
            free = int(found[1]) * 1024
    # In a container its own limit counts.
    with suppress(OSError, ValueError):
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        free = min(free, limit - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    return max(free, 0)


@dataclass(frozen=True)
class Estimate:
    """What a run is expected to take, in bytes.

    Attributes:
        documents: How many there are, about.
        documents_exact: Whether that is known.
        text: Bytes of text.
        num_bands: Bands; 0 without banding.
        memory: What may be used.
        needed: What everything would take in memory.
        least: What it takes at the very least.
        store: ``memory`` or ``sqlite`` or a URL: where the band matrix lies.
        keys: The band matrix.
        facts: What is kept of each document besides.
        state: Clusters and what belongs to them.
        sets: Shingle sets, if every document meets another one.
        outputs: Of the tables, if every document is kept.
        budget: Of the arrays that are held in memory; the others are mapped.
        passes: Ranges of keys in which a band is grouped.
    """

    documents: int
    documents_exact: bool
    text: int
    num_bands: int
    memory: int
    needed: int
    least: int
    store: str
    keys: int
    facts: int
    state: int
    sets: int
    outputs: int
    budget: int
    passes: int

    @property
    def disk(self) -> int:
        """Bytes of the run folder at most, without the outputs."""
        stored = self.keys + self.facts if "://" not in self.store else 0
        mapped = max(0, self.state + self.facts + 8 * self.documents - self.budget)
        return stored + self.sets + mapped

    def check(self) -> None:
        """Refuse what can't be done.

        Raises:
            SpecError: The memory is less than the least.
        """
        if self.memory < self.least:
            raise SpecError(
                f"--memory is {show(self.memory)}; about {self.documents:,} documents need at "
                f"least {show(self.least)}",
                "give more memory, or fewer --threads",
            )


def estimate(
    *,
    documents: int,
    documents_exact: bool,
    text: int,
    ids: int,
    columns: int,
    num_bands: int,
    memory: int | None,
    store: str,
    threads: int,
    char: bool,
    join: bool,
    ordered: bool,
    mapped_sets: bool,
) -> Estimate:
    """Work out what a run takes.

    Args:
        documents, documents_exact, text, num_bands: As in `Estimate`.
        ids: Bytes of the columns that the run holds.
        columns: Bytes of the input as an uncompressed table.
        memory: What may be used; None for half of what is free.
        store: What is asked for; ``auto`` is decided here.
        threads: Threads.
        char: Whether shingles are of characters.
        join: Whether all pairs are joined, without banding.
        ordered: Whether documents are kept by length or by a column.
        mapped_sets: Whether the sets lie in a mapped file anyway.
    """
    memory = default_memory() if memory is None else memory
    keys = 8 * num_bands * documents
    facts = FACTS * documents + ids
    state = _STATE * documents
    # A shingle for each character, or for each word of six letters with its blank.
    sets = 8 * text if char else 8 * text // 7
    working = _BASE + _SHARED + threads * (_THREAD_CHAR if char else _THREAD)
    passing = _PASSING * documents + (_JOIN * sets // 8 if join else 0)
    if ordered:
        passing += _ORDERING * documents
    # Facts are there twice, as the store has them and one behind the other.
    needed = working + passing + keys + 2 * facts + state + GROUPING * documents
    if not mapped_sets:
        needed += sets
    if store == "auto" or store.startswith("memory"):
        needed += min(HELD, 2 * text)
    everything = GROUPING * documents
    least = working + passing + min(_LEAST_GROUPING, everything)
    if store == "auto":
        store = "memory" if needed <= memory else "sqlite"
    room = max(0, memory - least)
    # A third for grouping, the rest for arrays.
    grouping = max(_LEAST_GROUPING, room // 3)
    passes = max(1, -(-everything // grouping))
    budget = max(0, room - min(grouping, everything))
    return Estimate(
        documents,
        documents_exact,
        text,
        num_bands,
        memory,
        needed,
        least,
        store,
        keys,
        facts,
        state,
        sets,
        columns + 40 * documents + ids,
        budget,
        passes,
    )


def show(size: int) -> str:
    """Return a size as people write it.

    >>> show(4_321_000_000)
    '4.3 GB'
    """
    for unit, scale in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 1000:.0f} kB"


class AnonymousPeak:
    """Watches the anonymous resident memory of this process (``RssAnon``) while it is open.

    Pages of mapped files don't count: the kernel drops them when it needs the memory.
    """

    def __init__(self, pause: float = 0.05) -> None:
        self._pause = pause
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="neardup-memory", daemon=True)
        self.peak = 0
        #: The peak in each stage, in bytes; empty where it can't be told.
        self.stages: dict[str, int] = {}
        self._open: set[str] = set()
        self._lock = threading.Lock()

    def _watch(self) -> None:
        while not self._end.wait(self._pause):
            self._look()

    def _look(self) -> None:
        now = anonymous()
        self.peak = max(self.peak, now)
        with self._lock:
            for name in self._open if now else ():
                self.stages[name] = max(self.stages.get(name, 0), now)

    def begin(self, stage: str) -> None:
        """Watch a stage by itself, until its `end`."""
        with self._lock:
            self._open.add(stage)
        self._look()

    def end(self, stage: str) -> None:
        self._look()
        with self._lock:
            self._open.discard(stage)

    def __enter__(self) -> Self:
        self._look()
        if self.peak:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()


def anonymous() -> int:
    """Return the anonymous resident memory of this process in bytes; 0 where it can't be told."""
    if sys.platform != "linux":
        return 0
    with suppress(OSError, ValueError, AttributeError):
        status: Any = Path("/proc/self/status").read_text()
        found = re.search(r"RssAnon:\s+(\d+)", status)
        return int(found[1]) * 1024 if found else 0
    return 0
