"""neardup dedup on ten million notes (22 GB of JSON lines) with 4 GB of memory.

    python bench/ten_million.py [--size 10000000] [--presets clinical,web,paper] [--runs 1] [--keep]

Needs some 50 GB of disk; the notes are removed afterwards unless --keep is given. Writes
bench/results/ten_million-SIZE.json: what was measured, and what run.json says. The preset
`paper` is `clinical` with 50 bands of 2 rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil

import numpy as np

from harness import DATA, SEED, clear, measure, median, neardup, save, say, synthetic, table
from notes import Family, SynthSpec
from notes.roles import EXACT, NEAR, assign_roles

MEMORY = "4GB"
LIMIT = 3600.0
#: Template families among 10,000,000 notes; fewer notes have smaller ones, in proportion.
FAMILIES = (100_000, 30_000, 10_000, 3_000, 1_000)
#: Bytes of disk for a note and what a run stores for it, at most.
DISK = 4_500
#: Notes whose ground truth is looked at together.
_BATCH = 1 << 20
_PAPER = ("--bands", "50", "--rows", "2"), "clinical"


def equal_notes(spec: SynthSpec) -> dict[str, int]:
    """Notes that are equal to the one that they were derived from, by the ground truth.

    Returns ``groups`` of equal notes, the number of notes in the ``largest``, and ``copies``: all
    of them but one of each group.
    """
    copies = np.zeros(spec.documents, dtype=np.int32)
    for first in range(0, spec.documents, _BATCH):
        roles = assign_roles(spec, first, min(first + _BATCH, spec.documents))
        unchanged = (roles.role == EXACT) | ((roles.role == NEAR) & (roles.edits == 0))
        np.add.at(copies, roles.source[unchanged], 1)
    return {
        "groups": int((copies > 0).sum()),
        "largest": int(copies.max()) + 1,
        "copies": int(copies.sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=10_000_000)
    parser.add_argument("--presets", default="clinical,web,paper", help="by comma")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the notes in bench/data")
    args = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    free = shutil.disk_usage(DATA).free
    if free < args.size * DISK:
        raise SystemExit(
            f"{free / 1e9:.0f} GB of disk are free; {args.size * DISK / 1e9:.0f} needed"
        )
    sizes = [max(2, round(size * args.size / 10_000_000)) for size in FAMILIES]
    families = tuple(Family(size) for size in sizes)
    corpus = synthetic("mixed", args.size, ("jsonl",), families=families)
    equal = equal_notes(SynthSpec.shaped("mixed", args.size, SEED, families=families))
    notes, out, results = corpus.jsonl, DATA / "out-ten-million", {}
    assert notes is not None
    for preset in args.presets.split(","):
        runs = []
        for turn in range(args.runs):
            clear(out)
            os.sync()  # what is still to be written would be written meanwhile
            more, of = _PAPER if preset == "paper" else ((), preset)
            words = neardup(notes, out, "--memory", MEMORY, "--id", "id", *more, preset=of)
            run = measure(words, LIMIT, disk=[out, out / ".run"])
            say(f"{preset} {turn + 1}: {run}")
            if not run["failed"]:
                run["record"] = json.loads((out / "run.json").read_text())
                del run["record"]["source"]  # names of folders, and a line for each partition
            runs.append(run)
            clear(out)
        results[preset] = {"median": median(runs), "runs": runs}
    rows = []
    for preset, found in results.items():
        middle = found["median"]
        cells = [found["runs"][-1]["failed"], "", "", ""]
        if middle:
            seconds, mb = middle["seconds"], corpus.bytes / 1e6
            peaks = (f"{middle[key] / 1e6:,.0f}" for key in ("peak_bytes", "anonymous_bytes"))
            cells = [f"{seconds:.0f} s", f"{mb / seconds:.0f}", *peaks]
        rows.append([preset, *cells])
    print(table(["preset", "time", "MB/s", "peak MB", "private MB"], rows))
    about = {
        "documents": args.size,
        "bytes": corpus.bytes,
        "families": sizes,
        "equal": equal,
        "memory": MEMORY,
    }
    print(save(f"ten_million-{args.size}", {"corpus": about, "presets": results}))
    if not args.keep:
        clear(notes)


if __name__ == "__main__":
    main()
