"""How long each clustering takes where one template family is the whole corpus.

    python bench/clusterings.py [--runs 1] [--limit 120]

Prints the table of docs/method.md, seconds of the stages `verify and cluster` and `second round`,
and writes bench/results/clusterings.json. A run beyond the limit is given up and said so.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from harness import NEARDUP, machine, measure, table, write_result

#: Notes of the family, beside one other note, and values of a slot: 2 put its members astride 0.7,
#: 1000 far below.
FAMILIES = {"20,000 far": (20_000, 1000), "20,000 near": (20_000, 2), "5,000 near": (5000, 2)}
WAYS = {
    "bounded": [],
    "bounded, second round": ["--second-round"],
    "star": ["--cluster", "star"],
    "components": ["--cluster", "components"],
    "bounded-mst": ["--cluster", "bounded-mst"],
    "bounded-mst, second round": ["--cluster", "bounded-mst", "--second-round"],
    "louvain": ["--cluster", "louvain"],
}
STAGES = ("verify and cluster", "second round")


def once(notes: Path, out: Path, options: list[str], limit: float) -> dict[str, Any]:
    shutil.rmtree(out, ignore_errors=True)
    done = measure([NEARDUP, "dedup", str(notes), "-o", str(out), "--quiet", *options], limit)
    if done["failed"]:
        return {"failed": done["failed"]}
    record = json.loads((out / "run.json").read_text())
    return {
        "seconds": sum(record["seconds"].get(stage, 0.0) for stage in STAGES),
        "whole": done["seconds"],
        "peak_anonymous": record["peak_anonymous"],
        "edges": record["counts"]["edges"],
        "quality": record["quality"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120)
    args = parser.parse_args()
    found: dict[str, dict[str, Any]] = {way: {} for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        notes, out = Path(name, "notes.jsonl"), Path(name, "out")
        for family, (size, values) in FAMILIES.items():
            make = ["synth", "-n", str(size + 1), "--near", "0", "--exact", "0", "--quiet"]
            make += ["--family", str(size), "--family-values", str(values), "--overwrite"]
            subprocess.run([NEARDUP, *make, "-o", str(notes)], check=True)
            for way, options in WAYS.items():
                runs = [once(notes, out, options, args.limit) for _ in range(args.runs)]
                found[way][family] = runs
                print(way, family, runs, flush=True)
    path = write_result("clusterings", {"machine": machine(), "runs": found})
    rows = [[way, *(cell(runs) for runs in by.values())] for way, by in found.items()]
    print(table(["seconds", *FAMILIES], rows), f"\n{path}")


def cell(runs: list[dict[str, Any]]) -> str:
    failed = [run["failed"] for run in runs if "failed" in run]
    return failed[0] if failed else f"{statistics.median(run['seconds'] for run in runs):.1f}"


if __name__ == "__main__":
    main()
