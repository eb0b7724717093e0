"""Sections 11 and 12: what 4 GB of memory hold, and ten million notes.

Section 11 is arithmetic: that of the paper, and our plan of the memory of a run. Section 12 is the
runs of bench/ten_million.py and bench/paper_shape.py, which take minutes and 50 GB of disk; nothing
of them is run here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments import paper
from experiments.stores import ROOT
from neardup.memory_plan import MemoryPlan, Workload, plan_memory

__all__ = ["RESULTS", "corpus", "fitting_notes", "in_shape", "limits", "plan"]

RESULTS = ROOT / "bench/results/ten_million-10000000.json"
BANDS = 50
#: Bytes of text and of the id of a note, as those of bench/ten_million.py.
TEXT, ID = 2_100, 16
#: Counts of runs in the paper's shape.
SHAPE_COUNTS = (
    "candidates",
    "candidate_pairs",
    "set_pairs_compared",
    "set_pairs_saved",
    "not_compared",
    "pairs",
    "pairs_in_clusters",
    "clusters_of_two_or_more",
    "largest_cluster",
)
#: The stage up to which band keys are computed and stored, and those that write the clean corpus.
_FIRST, _WRITING = "read and sketch", ("write clean corpus", "write tables")


def limits() -> dict[str, Any]:
    """Return how many notes our plan allows, with keys in memory and with keys in a store.

    ``per_note`` is what a further note takes in the latter case, in bytes.
    """
    return {
        "memory": paper.MEMORY,
        "bands": BANDS,
        "text_bytes": TEXT,
        "notes": {"in memory": fitting_notes(held=True), "in a store": fitting_notes(held=False)},
        "per_note": (plan(2_000_000).minimum - plan(1_000_000).minimum) / 1_000_000,
    }


def plan(documents: int, bands: int = BANDS) -> MemoryPlan:
    """Return the plan of a run of so many notes with two threads in 4 GB."""
    workload = Workload(documents, documents * TEXT, documents * ID, bands, threads=2, char=False)
    return plan_memory(workload, paper.MEMORY)


def fitting_notes(held: bool) -> int:
    """Return how many notes the plan lets into the memory, to two digits, rounded down.

    Args:
        held: All band keys are in memory; else they are read from the store, band by band.
    """

    def fits(documents: int) -> bool:
        found = plan(documents)
        return found.minimum <= found.memory and (
            found.keys <= found.memory - found.minimum or not held
        )

    low, high = 0, 2**31 - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    unit: int = 10 ** max(0, len(str(low)) - 2)
    return low // unit * unit


def corpus(results: Path = RESULTS) -> dict[str, Any] | None:
    """Return the numbers of the runs of ten million notes that the paper has too.

    Args:
        results: What bench/ten_million.py wrote.

    Returns:
        Numbers by name: of ``clinical``, and of ``paper``, the same with the bands of the paper,
        where it has been run; ``shape``, what `in_shape` returns; None where there is no run.

    Raises:
        LookupError: A run and the ground truth are of different notes.
    """
    if not results.exists():
        return None
    measured = json.loads(results.read_text(encoding="utf-8"))
    about, found = measured["corpus"], {}
    for preset in ("clinical", "paper"):
        run = measured["presets"].get(preset)
        if run and run["median"]:
            counts = run["runs"][-1]["record"]["counts"]
            copies = counts.get("equal_tokens", counts.get("exact_duplicates"))  # its earlier name
            if copies != about["equal"]["copies"]:
                raise LookupError(f"{results}: the run and the ground truth are of different notes")
            found[preset] = _numbers(run, about)
    if not found:
        return None
    version = measured["machine"]["versions"]["neardup"]
    return {**found, "version": version, "shape": in_shape(results.parent)}


def in_shape(folder: Path) -> dict[str, Any] | None:
    """Return the numbers of the largest run of bench/paper_shape.py in a folder, None without one.

    Returns:
        ``known``: notes, and clusters by the ground truth; ``version``; ``runs``: by bands, such as
        ``"50 x 2"``, the medians and the counts of the last run.
    """
    paths = sorted(folder.glob("paper_shape-*.json"), key=lambda path: int(path.stem[12:]))
    if not paths:
        return None
    measured = json.loads(paths[-1].read_text(encoding="utf-8"))
    runs = {}
    for each in measured["bands"].values():
        record, middle = each["runs"][-1]["record"], each["median"]
        stages = record["seconds"]
        runs["{num_bands} x {rows}".format(**record["bands"])] = {
            **{name: record["counts"][name] for name in SHAPE_COUNTS},
            "seconds": round(middle["seconds"], 1),
            "cpu_seconds": round(middle["cpu_seconds"], 1),
            "first_seconds": round(stages[_FIRST], 1),
            "sets_seconds": round(stages["clusters"], 1),
            "count_seconds": round(stages["count pairs"], 1),
            "private_bytes": middle["anonymous_bytes"],
            "load": round(each["runs"][-1]["load_before"], 1),
        }
    version = measured["machine"]["versions"]["neardup"]
    return {"known": measured["corpus"], "version": version, "runs": runs}


def _numbers(run: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    record = run["runs"][-1]["record"]
    counts, stages, bands = record["counts"], record["seconds"], record["bands"]
    seconds = run["median"]["seconds"]
    writing = sum(stages.get(name, 0.0) for name in _WRITING)
    return {
        "notes": about["documents"],
        "bytes": about["bytes"],
        "runs": len(run["runs"]),
        "seconds": round(seconds, 1),
        "first_seconds": round(stages[_FIRST], 1),
        "second_seconds": round(seconds - stages[_FIRST] - writing, 1),
        "writing_seconds": round(writing, 1),
        "private_bytes": run["median"]["anonymous_bytes"],
        "planned_bytes": plan(about["documents"], bands["num_bands"]).minimum,
        "bands": f"{bands['num_bands']} bands of {bands['rows']} rows",
        "hashes": bands["num_bands"] * bands["rows"],
        "candidates": counts["candidates"],
        "pairs_compared": counts["pairs_compared"],
        "not_compared": counts["not_compared"],
        "edges": counts["edges"],
        "equal_groups": about["equal"]["groups"],
        "largest_equal": about["equal"]["largest"],
        "clusters": counts["clusters_of_two_or_more"],
        "largest_cluster": counts["largest_cluster"],
        "removed": counts["removed"],
    }
