"""What `neardup plan` and a run itself foresee, beside what came true.

    python bench/plan.py [--sizes 10000,100000,1000000] [--runs 3] [--keep] [--data DIR]

Plan and run take turns, each a fresh process. Made notes are removed after their last run unless
--keep is given; real texts are taken from --texts, where they are there. Prints a table and writes
bench/results/plan.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness import DATA, NEARDUP, machine, measure, table, write_result

#: Within this factor a prediction counts as good.
FACTOR = 1.5
TEXTS = ("mtsamples", "mts_dialog")
WHAT = ("seconds", "memory", "candidates", "documents", "disk")


def corpora(args: argparse.Namespace) -> dict[str, tuple[Path, list[str]]]:
    """The corpora by name, each with the options that it is read with."""
    found = {}
    for size in (int(s) for s in args.sizes.split(",") if s):
        found[f"{size:,} notes"] = args.data / f"plan-{size}.jsonl", ["--id", "id"]
    for name in TEXTS:
        path = args.texts / name / "docs.parquet"
        if path.exists():
            found[name] = path, []
        else:
            print(f"{name}: left out, {path} is not there", file=sys.stderr)
    return found


def make(path: Path) -> None:
    """Write the notes, unless they are there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        size = path.stem.rpartition("-")[2]
        command = [NEARDUP, "synth", "-n", size, "-o", str(path), "--seed", "1", "--quiet"]
        subprocess.run(command, check=True)
        path.with_suffix(".truth.parquet").unlink()


def plan(source: Path, options: list[str]) -> dict[str, Any]:
    command = [NEARDUP, "plan", str(source), "--preset", "clinical", *options, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def dedup(source: Path, out: Path, options: list[str]) -> dict[str, Any]:
    shutil.rmtree(out, ignore_errors=True)
    os.sync()  # what is still to be written would be written meanwhile
    command = [NEARDUP, "dedup", str(source), "-o", str(out), "--preset", "clinical", "--quiet"]
    done = measure([*command, *options], disk=[out])
    if done["failed"]:
        sys.exit(f"{source}: {done['failed']}")
    return {**done, "record": json.loads((out / "run.json").read_text())}


def audit(out: Path, sample: int) -> dict[str, Any]:
    command = [NEARDUP, "audit", str(out), "--sample", str(sample), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return {name: found[name] for name in ("recall", "recall_low", "recall_high", "missed_pairs")}


def of_record(predicted: dict[str, Any], names: list[str]) -> dict[str, float]:
    """The figures that are compared, of what was foreseen."""
    return {
        "seconds": sum(predicted["seconds"][name] for name in names),
        **{name: predicted[name] for name in WHAT[1:]},
    }


def actual(done: dict[str, Any], names: list[str]) -> dict[str, float]:
    record = done["record"]
    return {
        "seconds": sum(record["seconds"][name] for name in names),
        "memory": record["peak_anonymous"],
        "candidates": record["counts"]["candidates"],
        "documents": record["counts"]["documents"],
        "disk": done["disk_bytes"][0],
    }


def medians(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(f[name] for f in found) for name in found[0]}


def compare(source: Path, options: list[str], args: argparse.Namespace) -> dict[str, Any]:
    """Plan and run a corpus some times; medians of each figure, and their ratios."""
    out = args.data / "out-plan"
    planned, foreseen, came, stages, took = [], [], [], [], []
    bands = True
    for _ in range(args.runs):
        said = plan(source, options)
        done = dedup(source, out, options)
        record = done["record"]
        # What it took to load the kernels is known by the time that a run looks ahead.
        known = record["predicted"]["seconds"].keys() - {"kernels"}
        names = [name for name in record["seconds"] if name in known]
        planned.append(of_record(said["predicted"], names))
        foreseen.append(of_record(record["predicted"], names))
        came.append(actual(done, names))
        stages.append(
            {
                name: [
                    said["predicted"]["seconds"][name],
                    record["predicted"]["seconds"][name],
                    record["seconds"][name],
                ]
                for name in names
            }
        )
        took.append([record["predicted"]["took"], done["seconds"]])
        chosen = record["bands"]
        bands = bands and (said["num_bands"], said["rows"]) == (
            chosen["num_bands"],
            chosen["rows"],
        )
        bands = bands and said["store"] == record["store"]["store"]
    recall = audit(out, args.sample)
    shutil.rmtree(out)
    came_true = medians(came)
    result: dict[str, Any] = {
        "actual": came_true,
        "plan": medians(planned),
        "run": medians(foreseen),
        "same_bands_and_store": bands,
        "recall": {
            "predicted": {k: v for k, v in said["predicted"].items() if k.startswith("recall")},
            "audited": recall,
        },
        "stages": {
            name: dict(
                zip(
                    ("plan", "run", "actual"),
                    (statistics.median(s[name][k] for s in stages) for k in range(3)),
                    strict=True,
                )
            )
            for name in stages[0]
        },
        "foreseeing_seconds": statistics.median(t[0] for t in took),
        "process_seconds": statistics.median(t[1] for t in took),
    }
    for who in ("plan", "run"):
        result[f"{who}_ratio"] = {
            name: round(result[who][name] / max(1e-9, came_true[name]), 3)
            for name in WHAT
            if came_true[name]
        }
    return result


def good(ratio: float) -> str:
    return f"{ratio:.2f}" + ("" if 1 / FACTOR <= ratio <= FACTOR else " !")


def recall_row(found: dict[str, Any]) -> list[str]:
    predicted, audited = found["recall"]["predicted"], found["recall"]["audited"]
    inside = predicted["recall_low"] <= audited["recall"] <= predicted["recall_high"]
    return [
        f"{predicted['recall']:.4f}",
        f"{predicted['recall_low']:.4f}-{predicted['recall_high']:.4f}",
        f"{audited['recall']:.4f}",
        "yes" if inside else "no !",
    ]


def report(results: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, found in results.items():
        for who in ("plan", "run"):
            ratios = found[f"{who}_ratio"]
            cells = [good(ratios[what]) if what in ratios else "" for what in WHAT]
            rows.append([f"{name}, {who}", *cells])
    ratios = table(["predicted / actual", *WHAT], rows)
    rows = [
        [
            name,
            *recall_row(found),
            f"{found['foreseeing_seconds']:.2f}",
            f"{found['process_seconds']:.1f}",
            "yes" if found["same_bands_and_store"] else "no !",
        ]
        for name, found in results.items()
    ]
    heads = ["recall", "predicted", "interval", "audited", "within", "looking, s", "run, s", "same"]
    return f"{ratios}\n\n{table(heads, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000,100000,1000000", help="made notes, by comma")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sample", type=int, default=1000, help="documents that are audited")
    parser.add_argument("--data", type=Path, default=DATA, help="folder for notes and outputs")
    texts = os.environ.get("NEARDUP_DATA", "")
    parser.add_argument("--texts", type=Path, default=Path(texts), help="folder of real texts")
    parser.add_argument("--keep", action="store_true", help="leave the notes")
    parser.add_argument("--no-write", action="store_true", help="only print")
    args = parser.parse_args()
    results = {}
    for name, (source, options) in corpora(args).items():
        made = source.parent == args.data
        if made:
            make(source)
        load = os.getloadavg()[0]
        results[name] = {"load_before": load, **compare(source, options, args)}
        print(f"{name}: {results[name]['plan_ratio']}", file=sys.stderr, flush=True)
        if made and not args.keep:
            source.unlink()
    print(report(results))
    if not args.no_write:
        about = machine()
        write_result("plan", {"machine": about, "factor": FACTOR, "corpora": results})


if __name__ == "__main__":
    main()
