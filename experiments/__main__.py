"""Run experiments, draw the figures, write the page; see the package."""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path
from typing import Any

from experiments import figures, page, results
from experiments.accuracy import accuracy
from experiments.clustering import clustering, other_notes
from experiments.corpus import corpus
from experiments.limits import limits
from experiments.measured import ROOT
from experiments.notes import sources
from experiments.timing import timing

OUT = ROOT / "docs/paper"
PARTS = ("accuracy", "time", "clustering", "limits", "corpus", "page")


def main() -> None:
    """Run what is asked for; the page is written in any case."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; or all")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the page")
    parser.add_argument("--cassandra", metavar="URL", help="that of make cassandra if not given")
    given = parser.parse_args()
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    given.out.mkdir(parents=True, exist_ok=True)
    for part in PARTS[:-1]:
        if not given.parts or part in given.parts:
            begin = time.perf_counter()
            _run(part, given.out, given.cassandra)
            print(f"{part:12} {time.perf_counter() - begin:6.1f} s", flush=True)
    begin = time.perf_counter()
    figures.draw(given.out)
    page.write(given.out)
    print(f"{'page':12} {time.perf_counter() - begin:6.1f} s: {given.out / 'index.md'}", flush=True)


def _run(part: str, out: Path, cassandra: str | None) -> None:
    if part in ("accuracy", "clustering"):
        experiment = {"accuracy": accuracy, "clustering": clustering}[part]
        found = results.load(out, part) or {}
        # Counts of real notes stay where the notes are not: they would be the same.
        for source in sources():
            found[source.name] = {"title": source.title, **experiment(source)}
        if part == "clustering":
            found["made"]["others"] = other_notes()
        results.store(out, part, found)
        lines = [{"source": name, **row} for name in found for row in found[name]["rows"]]
        results.write_csv(out, part, lines)
    elif part == "time":
        measured = {"machine": _machine(), **timing(cassandra)}
        results.store(out, part, measured)
        lines = [{"against": w, **row} for w in ("bands", "notes", "words") for row in measured[w]]
        results.write_csv(out, "time", lines)
        lines = [{"of": w, **row} for w in ("memory", "matrix") for row in measured[w]]
        results.write_csv(out, "memory", lines)
    else:
        results.store(out, part, {"limits": limits, "corpus": corpus}[part]())


def _machine() -> dict[str, Any]:
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


if __name__ == "__main__":
    main()
