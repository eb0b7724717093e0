"""The job of the paper in the paper's shape: its clusters, 50 bands of 2 rows, and our bands.

    python bench/paper_shape.py [--size 10000000] [--memory 4GB] [--runs 1] [--keep]

The notes are those of `neardup synth --shape paper`. With both bands, disjoint sets are made and
all pairs are counted. Needs 4.5 kB of disk a note; the notes are removed afterwards unless --keep
is given. Writes bench/results/paper_shape-SIZE.json and prints a table beside the paper's numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any

from harness import DATA, NEARDUP, clear, measure, median, save, say, table

LIMIT = 4 * 3600.0
#: Bytes of disk for a note and what a run stores for it, at most; and for the latter alone.
DISK, DISK_OF_RUN = 4_500, 2_600
COMMON = ("--preset", "clinical", "--cluster", "disjoint-sets", "--pairs", "count", "--id", "id")
BANDS = {"50 x 2": ("--bands", "50", "--rows", "2"), "ours": ()}
#: Of the paper, with 10 million notes.
PAPER = {
    "seconds": "75 h + 24 h",
    "pairs": "341,000,000",
    "clusters_of_two_or_more": "13,233",
    "largest_cluster": "9,849",
}
COUNTS = {
    "candidates, each band": "candidates",
    "candidate pairs": "candidate_pairs",
    "compared for the sets": "set_pairs_compared",
    "saved": "set_pairs_saved",
    "left out": "not_compared",
    "pairs counted": "pairs",
    "of them in clusters": "pairs_in_clusters",
    "notes equal to one before": "equal_tokens",
    "clusters at 0.75": "clusters_of_two_or_more",
    "notes of the largest": "largest_cluster",
}


def notes_of(size: int) -> Path:
    """Return the file of so many notes."""
    return DATA / f"paper-shape-{size}.jsonl"


def made(size: int) -> dict[str, Any]:
    """Write the notes unless they are there; return what is known of their clusters."""
    import numpy as np

    from neardup.synth.demo_notes import NoteSpec, write
    from neardup.synth.paper_shape import cluster_sizes

    path = notes_of(size)
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        write(NoteSpec(size, shape="paper"), path, overwrite=True)
    sizes, equal = cluster_sizes(size)
    return {
        "path": path,
        "documents": size,
        "bytes": path.stat().st_size,
        "clusters": len(sizes),
        "largest": int(sizes.max(initial=0)),
        "pairs": int((sizes * (sizes - 1) // 2).sum()),
        "equal_groups": int(np.count_nonzero(equal > 1)),
        "largest_equal": int(equal.max(initial=0)),
    }


def rows_of(found: dict[str, Any]) -> list[list[str]]:
    """Return the lines of the table: a name, the paper, and each of the bands."""

    def line(name: str, key: str, cells: list[str]) -> list[str]:
        return [name, PAPER.get(key, ""), *cells]

    records = [runs["runs"][-1].get("record") for runs in found.values()]
    middles = [runs["median"] for runs in found.values()]
    lines = [
        line("bands", "", [_bands(record) for record in records]),
        line("time, s", "seconds", [f"{m['seconds']:,.0f}" if m else "failed" for m in middles]),
        line("CPU, s", "", [f"{m['cpu_seconds']:,.0f}" if m else "" for m in middles]),
        line("private memory, MB", "", [_megabytes(m) for m in middles]),
    ]
    for stage in ("read and sketch", "clusters", "count pairs"):
        cells = [f"{r['seconds'][stage]:,.0f}" if r else "" for r in records]
        lines.append(line(f"{stage}, s", "", cells))
    for name, key in COUNTS.items():
        lines.append(line(name, key, [f"{r['counts'][key]:,}" if r else "" for r in records]))
    return lines


def _bands(record: dict[str, Any] | None) -> str:
    return "" if record is None else "{num_bands} x {rows}".format(**record["bands"])


def _megabytes(middle: dict[str, Any]) -> str:
    return f"{middle['anonymous_bytes'] / 1e6:,.0f}" if middle else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=10_000_000)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the notes in bench/data")
    args = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    free = shutil.disk_usage(DATA).free
    needed = (DISK_OF_RUN if notes_of(args.size).exists() else DISK) * args.size
    if free < needed:
        raise SystemExit(f"{free / 1e9:.0f} GB are free; {needed / 1e9:.0f} needed")
    corpus = made(args.size)
    path, out, results = corpus.pop("path"), DATA / "out-paper-shape", {}
    for name, bands in BANDS.items():
        runs = []
        for turn in range(args.runs):
            clear(out)
            os.sync()  # what is still to be written would be written meanwhile
            means = ("--memory", args.memory, "--no-clean", "--quiet")
            words = [NEARDUP, "dedup", str(path), "-o", str(out), *COMMON, *bands, *means]
            run = measure(words, LIMIT, disk=[out, out / ".run"])
            say(f"{name} {turn + 1}: {run}")
            if not run["failed"]:
                run["record"] = json.loads((out / "run.json").read_text())
                del run["record"]["source"]  # names of folders, and a line for each partition
            runs.append(run)
            clear(out)
        results[name] = {"median": median(runs), "runs": runs}
    print(table([f"{args.size:,} notes", "paper, 10,000,000", *results], rows_of(results)))
    print(save(f"paper_shape-{args.size}", {"corpus": corpus, "bands": results}))
    if not args.keep:
        for each in path.parent.glob(f"{path.stem}.*"):
            clear(each)


if __name__ == "__main__":
    main()
