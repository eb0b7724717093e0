"""Runs of `neardup dedup`, one by one and against each other."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from notes import Notes

from harness import NEARDUP, measure

MEMORY = "4GB"
LIMIT = 7200.0
KEYS = ("seconds", "cpu_seconds", "peak_bytes", "anonymous_bytes", "read_bytes", "written_bytes")
KEYS = (*KEYS, "out_bytes", "run_bytes", "disk_taken_bytes")
RECORD = ("bands", "counts", "bucket_sizes", "store", "passes", "seconds", "bytes")
RECORD = (*RECORD, "peak_memory", "peak_anonymous", "versions")
#: The same job from Python, without a run folder; the settings of memory are those of the command.
API = """
import sys
import neardup
storage = neardup.Storage(store="memory", memory=4 * 10**9)
spec = neardup.preset("clinical")
neardup.dedup(sys.argv[1], id="id", spec=spec, storage=storage).write(sys.argv[2])
"""
API_ENVIRONMENT = {"MIMALLOC_PURGE_DELAY": "100"}
TOUCH = """
import mmap, sys
size, step = int(sys.argv[1]), 1 << 24
with mmap.mmap(-1, size) as memory:
    for _ in range(size // step):
        memory.write(b"\\1" * step)
"""

Command = tuple[list[str], dict[str, str]]


def touch(share: float = 0.8) -> dict[str, Any]:
    """Write to so much of the free memory once; a virtual machine may get it only then."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
    size = int(share * found["MemFree"]) >> 24 << 24
    begin = time.perf_counter()
    if size:
        subprocess.run([sys.executable, "-S", "-c", TOUCH, str(size)], check=False)
    return {"bytes": size, "seconds": round(time.perf_counter() - begin, 2)}


def dedup(notes: Notes, out: Path, *options: str) -> Command:
    common = ["--preset", "clinical", "--memory", MEMORY, "--id", "id", "--quiet"]
    return [NEARDUP, "dedup", str(notes.path), "-o", str(out), *common, *options], {}


def api(notes: Notes, out: Path) -> Command:
    return [sys.executable, "-c", API, str(notes.path), str(out)], API_ENVIRONMENT


def digest(out: Path) -> str:
    """Of the tables that say what was found."""
    total = hashlib.sha256()
    for name in ("clusters.parquet", "edges.parquet"):
        total.update((out / name).read_bytes())
    return total.hexdigest()[:16]


def one(command: Command, out: Path) -> dict[str, Any]:
    """Run it in a fresh process; return what was seen from outside and what run.json says."""
    shutil.rmtree(out, ignore_errors=True)
    os.sync()  # what is still to be written would be written meanwhile
    words, environment = command
    run = measure(words, LIMIT, environment=environment, disk=[out, out / ".run"])
    run["out_bytes"], run["run_bytes"] = run.pop("disk_bytes")
    if not run["failed"]:
        record = json.loads((out / "run.json").read_text())
        run["record"] = {key: record.get(key) for key in RECORD}
        run["result"] = digest(out)
    shutil.rmtree(out, ignore_errors=True)
    return run


def say(what: str, run: dict[str, Any]) -> None:
    text = run["failed"] or (
        f"{run['seconds']:.2f} s, {run['anonymous_bytes'] / 1e9:.2f} GB anonymous, "
        f"{run['out_bytes'] / 1e9:.2f} GB of disk"
    )
    print(f"{what}: {text} (load before {run['load_before']:.1f})", file=sys.stderr, flush=True)


def scale(notes: Notes, runs: int) -> dict[str, Any]:
    """Run `neardup dedup` some times; medians, and the record of the last run."""
    done: list[dict[str, Any]] = []
    out = notes.folder / "out-ten-million"
    for turn in range(runs):
        run = one(dedup(notes, out), out)
        say(f"{notes.documents:,} notes, run {turn + 1} of {runs}", run)
        done.append(run)
        if run["failed"]:
            break
    result: dict[str, Any] = {
        "documents": notes.documents,
        "families": notes.families,
        "notes_bytes": notes.bytes,
        "runs": done,
        "failed": done[-1]["failed"],
    }
    if not result["failed"]:
        result["median"] = {key: statistics.median(run[key] for run in done) for key in KEYS}
        stages = [run["record"]["seconds"] for run in done]
        result["record"] = done[-1].pop("record") | {
            "seconds": {
                name: statistics.median(s.get(name, 0) for s in stages) for name in stages[-1]
            }
        }
        for run in done:
            record = run.pop("record", None)
            if record:
                run["stages"] = record["seconds"]
    return result


def variants(name: str, notes: Notes, out: Path) -> tuple[tuple[str, Command], tuple[str, Command]]:
    """The two sides of a comparison; the second is what the first is measured by."""
    if name == "store":
        one_, other = ["--store", "sqlite", "--design", "2"], ["--store", "memory"]
    elif name == "design":
        one_, other = ["--store", "sqlite", "--design", "1"], ["--store", "sqlite", "--design", "2"]
    else:
        return ("neardup dedup", dedup(notes, out)), ("API, no run folder", api(notes, out))
    labels = [" ".join(options).replace("--", "") for options in (one_, other)]
    return (labels[0], dedup(notes, out, *one_)), (labels[1], dedup(notes, out, *other))


def compare(name: str, notes: Notes, repetitions: int) -> dict[str, Any]:
    """Run both sides in turns, the first to go changing; medians, and the ratio of each pair."""
    out = notes.folder / "out-ten-million"
    sides = variants(name, notes, out)
    labels = [label for label, _ in sides]
    runs: dict[str, list[dict[str, Any]]] = {label: [] for label in labels}
    result: dict[str, Any] = {"name": name, "documents": notes.documents, "sides": labels}
    for turn in range(repetitions):
        for label, command in sides if turn % 2 == 0 else sides[::-1]:
            run = one(command, out)
            say(f"{notes.documents:,} notes, {name} {turn + 1} of {repetitions}, {label}", run)
            if run["failed"]:
                return {**result, "failed": f"{label}: {run['failed']}"}
            record = run.pop("record")
            runs[label].append(run | {"stages": record["seconds"], "store": record["store"]})
    first, second = ([run["seconds"] for run in runs[label]] for label in labels)
    ratios = [a / b for a, b in zip(first, second, strict=True)]
    cpu = [statistics.median(run["cpu_seconds"] for run in runs[label]) for label in labels]
    return {
        **result,
        "failed": None,
        "seconds": [statistics.median(first), statistics.median(second)],
        "ratio_of_medians": statistics.median(first) / statistics.median(second),
        "ratios": ratios,
        "median_ratio": statistics.median(ratios),
        "cpu_ratio": cpu[0] / cpu[1],
        "same_result": len({run["result"] for done in runs.values() for run in done}) == 1,
        "runs": runs,
    }
