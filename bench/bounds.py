"""Private memory of the commands that read a finished run.

    python bench/bounds.py [--documents 1000000] [--threads 2] [--commands audit,report]

Writes bench/data/groups-N.parquet (texts of 40 words, each five of them near-duplicates of one
another), two runs of them in bench/data (one with all pairs listed), and
bench/results/bounds-N.json. Commands that have --memory get the least that they accept. The peak is
that of the pages of no file (`RssAnon`) of all processes together.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness import DATA, NEARDUP, clear, measure, save, say, table
from memory import SCHEMA, VOCABULARY, least

WORDS, GROUP, ROWS = 40, 5, 50_000
#: With ``{run}``, ``{source}``, ``{out}``; and whether it has --memory.
COMMANDS: dict[str, tuple[str, bool]] = {
    "audit": ("audit {run} --quiet", True),
    "recluster": ("recluster {run} -o {out} --threshold 0.85 --quiet", True),
    "recluster, no corpus": ("recluster {run} -o {out} --threshold 0.85 --no-clean --quiet", True),
    "report": ("report {run} -o {out} --quiet", False),
    "pairs": ("pairs {run} -o {out} --quiet", False),
    "pairs --texts": ("pairs {run} --texts -o {out} --quiet", False),
    "evaluate": ("evaluate {run} --truth {run}/clusters.parquet", False),
    "explain": ("explain {run} 4", False),
}
#: Options of the two runs.
RUNS = {"star": [], "all pairs": ["--pairs", "all", "--cluster", "components"]}


def groups_of_texts(documents: int, path: Path) -> Path:
    """Write groups of near-duplicates with ids, unless they are there."""
    if path.exists():
        return path
    DATA.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    letters = rng.integers(97, 123, (VOCABULARY, 6), dtype=np.uint8)
    letters[:, 5] = ord(" ")
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for low in range(0, documents, ROWS):
            rows = min(ROWS, documents - low)
            words = rng.integers(0, VOCABULARY, (rows, WORDS), dtype=np.int32)
            words = np.repeat(words[::GROUP], GROUP, axis=0)[:rows]
            words[:, -1] = rng.integers(0, VOCABULARY, rows)
            data = np.ascontiguousarray(letters[words].reshape(-1))
            ends = np.arange(0, len(data) + 1, WORDS * 6, dtype=np.int64)
            text = pa.LargeStringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(data))
            writer.write_table(pa.table([np.arange(low, low + rows), text], schema=SCHEMA))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--commands", default=",".join(k for k in COMMANDS if "," not in k))
    args = parser.parse_args()
    source = groups_of_texts(args.documents, DATA / f"groups-{args.documents}.parquet")
    results = []
    for name, options in RUNS.items():
        run = DATA / f"out-bounds-{name.replace(' ', '-')}"
        clear(run)
        words = ["dedup", str(source), "--id", "id", "-o", str(run), "--quiet", *options]
        results.append(measured("dedup", name, words, True, args.threads, run))
        for command, (given, has_memory) in COMMANDS.items():
            if command.partition(",")[0] not in args.commands.split(","):
                continue
            out = DATA / "out-bounds"
            ending = {"report": ".html", "pairs": ".csv"}.get(command.split()[0], "")
            target = out.with_suffix(ending)
            clear(target)
            words = given.format(run=run, source=source, out=target).split()
            results.append(measured(command, name, words, has_memory, args.threads, target))
            clear(target)
    save(f"bounds-{args.documents}", {"documents": args.documents, "runs": results})
    cells = [
        [
            row["command"],
            row["run"],
            str(row["memory_mb"] or ""),
            f"{row['anonymous_bytes'] / 1e6:,.0f}",
            f"{row['seconds']:.0f}",
        ]
        for row in results
    ]
    print(table(["command", "run", "--memory, MB", "peak MB", "seconds"], cells))


def measured(
    command: str, run: str, words: list[str], has_memory: bool, threads: str, out: Path
) -> dict[str, object]:
    """Run a command with the least memory that it accepts, if it has the option."""
    known = subprocess.run(
        [NEARDUP, words[0], "--help"], capture_output=True, text=True, check=True
    ).stdout
    words = [*words, "--threads", threads] if "--threads" in known else words
    memory = (least(words) or 600) if has_memory else None
    clear(out)  # of a command that accepts any memory
    limit = [] if memory is None else ["--memory", f"{memory}MB"]
    row = {"command": command, "run": run, "memory_mb": memory}
    row |= measure([NEARDUP, *words, *limit])
    say(str(row))
    return row


if __name__ == "__main__":
    main()
