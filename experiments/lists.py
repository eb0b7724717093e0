"""Section 3.6: the two methods without bands, a list for each minhash value, and sorted pairs.

Two notes are candidates where any entry of their signatures is the same. The first method has a
list of the notes of each value in memory, the second one sorts pairs of value and note, by an
external merge sort: runs that fit into memory are sorted and written, and then merged. Banding with
as many entries stands beside. Each method runs in a process by itself, whose memory is measured.

The section says that a pair with a similarity of 1/M has an even chance with M entries.
"""

from __future__ import annotations

import heapq
import itertools
import multiprocessing
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper import BANDS
from experiments.sizes import FULL, Sizes
from neardup.match.bucketing import group
from neardup.sketch.sketcher import band_keys, signatures
from neardup.spec import ShingleSpec, preset
from neardup.synth.demo_notes import NoteSpec, batches

__all__ = ["METHODS", "NAME", "by_lists", "by_sorting", "chance", "lists"]

NAME = "lists"
Pair = tuple[int, int]
#: Entries of a signature.
ENTRIES = BANDS[0] * BANDS[1]
#: Pairs of value and note that are sorted at once, and read at once of each run.
_RUN, _READ = 1 << 20, 1 << 14
_ENTRY = np.dtype([("entry", "<u4"), ("value", "<u8"), ("note", "<u4")])


def by_lists(signed: np.ndarray) -> set[Pair]:
    """Return the candidate pairs of signatures, [notes, entries], by a list for each value."""
    of: dict[Pair, list[int]] = defaultdict(list)
    for entry, values in enumerate(signed.T):
        for note, value in enumerate(values.tolist()):
            of[entry, value].append(note)
    return _pairs(of.values())


def by_sorting(signed: np.ndarray, run: int = _RUN) -> set[Pair]:
    """Return the same by an external merge sort, in runs of so many pairs of value and note."""
    notes, entries = signed.shape
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for first in range(0, notes * entries, run):
            at = np.arange(first, min(first + run, notes * entries))
            some = np.empty(len(at), _ENTRY)
            some["entry"], some["note"] = np.divmod(at, notes)
            some["value"] = signed[some["note"], some["entry"]]
            some.sort(order=["entry", "value", "note"])
            runs.append(Path(folder, f"{first}.npy"))
            np.save(runs[-1], some)
        merged = heapq.merge(*map(_read, runs))
        groups = itertools.groupby(merged, key=lambda each: each[:2])
        return _pairs([each[2] for each in equal] for _, equal in groups)


def _read(run: Path) -> Iterator[tuple[int, int, int]]:
    rows = np.load(run, mmap_mode="r")
    for first in range(0, len(rows), _READ):
        yield from rows[first : first + _READ].tolist()


def by_bands(signed: np.ndarray) -> set[Pair]:
    """Return the candidate pairs of banding."""
    found = set[Pair]()
    for keys in band_keys(signed, *BANDS).T:
        members, starts = group(keys)
        found |= _pairs(part.tolist() for part in np.split(members, starts[1:-1]))
    return found


def _pairs(lists: Iterable[list[int]]) -> set[Pair]:
    return {pair for notes in lists for pair in itertools.combinations(notes, 2)}


METHODS: dict[str, Callable[[np.ndarray], set[Pair]]] = {
    "a list for each value": by_lists,
    "sorted pairs": by_sorting,
    "{} bands of {} rows".format(*BANDS): by_bands,
}


def lists(sizes: Sizes = FULL) -> dict[str, Any]:
    """Measure all methods.

    Returns:
        ``entries``; ``rows``: ``notes``, ``method``, ``candidates``, ``seconds`` and ``bytes``, by
        which the memory of the process grew; ``chance``, see there.
    """
    shingle, rows = preset("clinical").shingle, []
    texts = [note["text"] for notes, _ in batches(NoteSpec(max(sizes.listed))) for note in notes]
    signed = signatures(texts, ENTRIES, shingle=shingle)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "signatures.npy")
        for notes in sizes.listed:
            np.save(path, signed[:notes])
            for method in METHODS:
                with context.Pool(1) as pool:
                    found = pool.apply(_measured, (path, method))
                rows.append({"notes": notes, "method": method, **found})
    return {"entries": ENTRIES, "rows": rows, "chance": chance(sizes.pairs)}


def _measured(path: Path, method: str) -> dict[str, Any]:
    METHODS[method](np.load(path)[:50])  # kernels are loaded
    signed = np.load(path)
    before = _peak()
    begin = time.perf_counter()
    candidates = len(METHODS[method](signed))
    seconds = time.perf_counter() - begin
    return {"candidates": candidates, "seconds": round(seconds, 2), "bytes": _peak() - before}


def _peak() -> int:
    """Return the largest resident memory of this process; that of its parent does not count."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def chance(pairs: int) -> dict[str, Any]:
    """Find how often pairs with a similarity of 1/M agree in one of M entries.

    Returns:
        ``pairs``, ``found``, and ``predicted``: 1 - (1 - 1/M)**M.
    """
    # Two sets of h and M + 1 - h items have M in all, and one in common.
    half, item = (ENTRIES + 1) // 2, itertools.count()
    texts = []
    for _ in range(pairs):
        shared = next(item)
        for size in (half, ENTRIES + 1 - half):
            own = itertools.islice(item, size - 1)
            texts.append(" ".join(f"i{number}" for number in (shared, *own)))
    signed = signatures(texts, ENTRIES, shingle=ShingleSpec(n=1))
    found = int((signed[::2] == signed[1::2]).any(axis=1).sum())
    return {"pairs": pairs, "found": found, "predicted": 1 - (1 - 1 / ENTRIES) ** ENTRIES}
