"""Runs experiments by name, and stores what they find."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import neardup
from experiments import lists as without_bands
from experiments import notes, results, teaching, tutorial
from experiments.accuracy import accuracy
from experiments.claims import ACCURACY, CLUSTERING
from experiments.clustering import clustering
from experiments.notes import REAL, Source, sources
from experiments.records import records
from experiments.scale import corpus, limits
from experiments.sizes import Sizes
from experiments.stores import server
from experiments.timing import timing
from experiments.verdicts import judged

__all__ = ["note_run", "run_all"]


def run_all(names: Sequence[str], out: Path, sizes: Sizes) -> Iterator[tuple[str, float]]:
    """Run experiments, yield their names and seconds.

    What is timed runs first, and nothing runs beside it.
    """
    timed = ("time", teaching.NAME)
    for name in sorted(names, key=lambda name: name not in timed):
        yield name, _seconds(name, out, sizes)


def _seconds(name: str, out: Path, sizes: Sizes) -> float:
    """Run an experiment, return how long it took."""
    begin = time.perf_counter()
    _run(name, out, sizes)
    return time.perf_counter() - begin


def note_run(name: str, out: Path, seconds: float) -> None:
    """Keep how long an experiment took, and with which versions."""
    versions: dict[str, Any] = {
        "neardup": neardup.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }
    before = results.load(out, "runs") or {}
    results.store(out, "runs", {**before, name: {"seconds": round(seconds), **versions}})


def _say_missing(folders: Sequence[str], before: dict[str, Any]) -> None:
    """Say which data are not there, and whether earlier counts of them are kept."""
    absent = [name for name in folders if not (notes.DATA / name).is_dir()]
    if absent:
        where = f"{', '.join(absent)} not found in {notes.DATA} (NEARDUP_DATA)"
        kept = "; earlier counts of these are kept" if before else ""
        print(f"{where}: synthetic data only{kept}", flush=True)


def _run(name: str, out: Path, sizes: Sizes) -> None:
    if name == "time":
        machine = {
            "cores": len(os.sched_getaffinity(0)),
            "processor": platform.machine(),
            "python": platform.python_version(),
            "load": round(os.getloadavg()[0], 1),
        }
        with server():
            measured = {"machine": machine, **timing(sizes)}
        results.store(out, name, measured)
        lines = [
            {"against": what, **row, "round": number, "seconds": seconds}
            for what in ("bands", "notes", "words")
            for row in measured[what]
            for number, seconds in enumerate(row["seconds"], start=1)
        ]
        results.write_csv(out, "time", lines)
        lines = [{"of": w, **row} for w in ("memory", "stored") for row in measured[w]]
        results.write_csv(out, "memory", lines)
    elif name == "limits":
        results.store(out, name, limits())
    elif name == without_bands.NAME:
        results.store(out, name, without_bands.lists(sizes))
    elif name == "corpus":
        results.store(out, name, corpus())
    elif name == teaching.NAME:
        results.store(out, name, teaching.teaching(sizes.lines, sizes.adverts, sizes.rounds))
    elif name == tutorial.NAME:
        before = results.load(out, name) or {}
        _say_missing(("cora",), before)
        results.store(out, name, tutorial.tutorial(before or None))
    elif name == "records":
        before = results.load(out, name) or {}
        _say_missing(("cora", "rldata500"), before.get("cora", {}))
        results.store(out, name, records(before))
    else:
        before = results.load(out, name) or {}
        # Counts of real notes stay where the notes are not: they would be the same.
        kept = {real: before[real] for real in REAL if real in before}
        _say_missing(tuple(REAL), kept)
        every = kept | _drawn(name, sizes)
        every = {key: every[key] for key in ("synthetic", *REAL) if key in every}
        results.store(out, name, every)
        results.write_csv(out, name, _rows(every))


def _drawn(name: str, sizes: Sizes) -> dict[str, Any]:
    """Return by source what was counted in the first draw, and verdicts of all draws."""
    found: dict[str, Any] = {}
    for seed in range(1, 1 + sizes.draws):
        for source in sources(sizes.notes, seed):
            counts, verdicts = _counted(name, source, sizes, seed)
            first = found.setdefault(source.name, {"title": source.title, **counts, "draws": []})
            first["draws"].append(verdicts)
    return found


def _counted(name: str, source: Source, sizes: Sizes, seed: int) -> tuple[Any, Any]:
    """Return the counts of one draw of a source, and its verdicts by number of bands."""
    if name == "accuracy":
        counts = accuracy(source, sizes, seed)
        return counts, {"": judged(ACCURACY, counts)}
    counts = clustering(source, sizes, seed)
    settings = counts["settings"].items()
    return counts, {bands: judged(CLUSTERING, setting) for bands, setting in settings}


def _rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the counts of all sources as lines of a table."""
    lines = []
    for key, source in found.items():
        if "rows" in source:
            lines += [{"source": key, **row} for row in source["rows"]]
        for bands, setting in source.get("settings", {}).items():
            lines += [{"source": key, "bands and rows": bands, **row} for row in setting["rows"]]
    return lines
