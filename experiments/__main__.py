"""Run experiments, draw the charts, write the page; see the package."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import neardup
from experiments import notes, page, page_records, plots, results, teaching, tutorial
from experiments.accuracy import accuracy
from experiments.clustering import clustering, other_draws
from experiments.notes import REAL, sources
from experiments.records import records
from experiments.scale import corpus, limits
from experiments.sizes import FULL, Sizes
from experiments.stores import ROOT
from experiments.timing import timing
from neardup.errors import NeardupError

OUT = ROOT / "docs/paper"
EXPERIMENTS = ("accuracy", "clustering", "time", "limits", "corpus")
#: Of another paper, with a page of its own.
OTHERS = ("records", teaching.NAME, tutorial.NAME)


def main(arguments: Sequence[str] | None = None, sizes: Sizes = FULL) -> None:
    """Run what is asked for; the page is written in any case."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    known = ", ".join((*EXPERIMENTS, *OTHERS, "page"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {known}; all by default")
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT,
        help="folder of the numbers and the page; docs/paper, whose ones are replaced, by default",
    )
    given = parser.parse_args(arguments)
    unknown = set(given.names) - {*EXPERIMENTS, *OTHERS, "page"}
    if unknown:
        parser.error(f"no experiment {', '.join(sorted(unknown))}; known are {known}")
    given.out.mkdir(parents=True, exist_ok=True)
    for name in (*EXPERIMENTS, *OTHERS):
        if not given.names or name in given.names:
            begin = time.perf_counter()
            try:
                _run(name, given.out, sizes)
            except NeardupError as error:
                sys.exit(f"error: {error.message}\nhint: {error.hint}")
            seconds = time.perf_counter() - begin
            _note_run(name, given.out, seconds)
            print(f"{name:12} {seconds:6.1f} s", flush=True)
    begin = time.perf_counter()
    plots.draw(given.out)
    page.write(given.out)
    page_records.write(given.out)
    teaching.page(given.out)
    tutorial.page(given.out)
    print(f"{'page':12} {time.perf_counter() - begin:6.1f} s: {given.out / 'index.md'}", flush=True)


def _note_run(name: str, out: Path, seconds: float) -> None:
    """Keep how long an experiment took, and with which versions."""
    versions: dict[str, Any] = {
        "neardup": neardup.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }
    before = results.load(out, "runs") or {}
    results.store(out, "runs", {**before, name: {"seconds": round(seconds), **versions}})


def _say_missing(folders: Sequence[str]) -> None:
    absent = [name for name in folders if not (notes.DATA / name).is_dir()]
    if absent:
        where = f"{', '.join(absent)} not found in {notes.DATA} (NEARDUP_DATA)"
        print(f"{where}: synthetic data only; earlier counts of these are kept", flush=True)


def _run(name: str, out: Path, sizes: Sizes) -> None:
    if name == "time":
        machine = {
            "cores": len(os.sched_getaffinity(0)),
            "processor": platform.machine(),
            "python": platform.python_version(),
            "load": round(os.getloadavg()[0], 1),
        }
        measured = {"machine": machine, **timing(sizes)}
        results.store(out, name, measured)
        lines = [{"against": w, **row} for w in ("bands", "notes", "words") for row in measured[w]]
        results.write_csv(out, "time", lines)
        lines = [{"of": w, **row} for w in ("memory", "stored") for row in measured[w]]
        results.write_csv(out, "memory", lines)
    elif name == "limits":
        results.store(out, name, limits())
    elif name == "corpus":
        results.store(out, name, corpus())
    elif name == teaching.NAME:
        results.store(out, name, teaching.teaching(sizes.lines, sizes.adverts))
    elif name == tutorial.NAME:
        _say_missing(("cora",))
        results.store(out, name, tutorial.tutorial(results.load(out, name)))
    elif name == "records":
        _say_missing(("cora", "rldata500"))
        results.store(out, name, records(results.load(out, name)))
    else:
        _say_missing(tuple(REAL))
        experiment = {"accuracy": accuracy, "clustering": clustering}[name]
        found = {
            source.name: (source, experiment(source, sizes)) for source in sources(sizes.notes)
        }
        # Counts of real notes stay where the notes are not: they would be the same.
        before = results.load(out, name) or {}
        kept = {real: before[real] for real in REAL if real in before}
        new = {key: {"title": s.title, **counts} for key, (s, counts) in found.items()}
        if name == "clustering":
            new["synthetic"]["others"] = other_draws(sizes)
        order = ["synthetic", *REAL]
        every = {key: (kept | new)[key] for key in order if key in kept | new}
        results.store(out, name, every)
        rows = [{"source": key, **row} for key in every for row in every[key]["rows"]]
        results.write_csv(out, name, rows)


if __name__ == "__main__":
    main()
