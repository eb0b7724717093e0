"""neardup and its peers side by side, raw files to clusters.

    python bench/run.py [--sizes 10000,100000,1000000] [--runs 3] [--tools daft,neardup] [--quick]

Every run is a fresh process with two threads; the runs of the tools take turns. Prints a table for
each size and writes bench/results/compare-SIZE.json.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness import (
    DATA,
    PEERS,
    Corpus,
    machine,
    measure,
    median,
    missing_peer,
    neardup,
    peer,
    table,
    write_result,
)
from quality import Truth, read_neardup, read_peer

OURS = {
    "neardup": ("parquet", []),
    "neardup-jsonl": ("jsonl", []),
    "neardup-all": ("parquet", ["--pairs", "all"]),
}
LABELS = {
    "neardup-jsonl": "neardup, JSON lines",
    "neardup-all": "neardup --pairs all",
    "text_dedup": "text-dedup",
}
#: Above this, the exact join gives more pairs (of the family) than memory holds.
LARGEST_TRUTH = 200_000


def command(tool: str, corpus: Corpus, output: Path) -> list[str]:
    if tool in OURS:
        form, options = OURS[tool]
        return neardup(getattr(corpus, form), output, *options)
    return peer(tool, corpus.parquet, output)  # for each of them the faster format to read


def read_output(tool: str, output: Path) -> tuple[Any, Any, Any]:
    return read_neardup(output) if tool in OURS else read_peer(output)


def clear(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.with_suffix(".pairs").unlink(missing_ok=True)


def find_truth(corpus: Corpus) -> Truth:
    output = DATA / f"{corpus.name}.allpairs"
    edges = output / "edges.parquet"
    if not edges.exists():
        options = ["--method", "allpairs", "--pairs", "all"]
        subprocess.run(neardup(corpus.parquet, output, *options), check=True)
    return Truth.read(edges, corpus.parquet)


def warm(corpus: Corpus) -> None:
    """Read the files once, so that no tool has to wait for the disk."""
    for path in (corpus.jsonl, corpus.parquet):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def compare(corpus: Corpus, tools: list[str], args: argparse.Namespace) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {tool: [] for tool in tools}
    scores: dict[str, dict[str, Any]] = {}
    truth = find_truth(corpus) if corpus.documents <= LARGEST_TRUTH else None
    warm(corpus)
    for turn in range(args.runs):
        for tool in tools:
            if any(run["failed"] for run in runs[tool]):
                continue
            reason = missing_peer(tool) if tool in PEERS else None
            output = DATA / f"out-{tool}"
            clear(output)
            if reason is None:
                limits = (args.limit, int(args.memory * 1e9))
                run = measure(command(tool, corpus, output), *limits)
            else:
                run = {"failed": reason}
            print(f"{corpus.documents:,} {tool} {turn + 1}: {run}", file=sys.stderr, flush=True)
            runs[tool].append(run)
            if truth is not None and tool not in scores and not run["failed"]:
                scores[tool] = truth.score(*read_output(tool, output))
            clear(output)
    return {
        tool: {"median": median(runs[tool]), "quality": scores.get(tool), "runs": runs[tool]}
        for tool in tools
    }


def number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def report(corpus: Corpus, results: dict[str, Any]) -> str:
    header = ["tool", "s", "documents/s", "MB/s", "CPU s", "peak MB"]
    header += ["recall", "family aside", "precision", "in clusters"]
    rows = []
    for tool, result in results.items():
        label, middle, score = LABELS.get(tool, tool), result["median"], result["quality"] or {}
        if not middle:
            reason = next(run["failed"] for run in result["runs"] if run["failed"])
            rows.append([f"{label}: {reason}", *[""] * (len(header) - 1)])
            continue
        rows.append(
            [
                label,
                f"{middle['seconds']:.2f}",
                f"{corpus.documents / middle['seconds']:,.0f}",
                f"{corpus.bytes / 1e6 / middle['seconds']:.0f}",
                f"{middle['cpu_seconds']:.1f}",
                f"{middle['peak_bytes'] / 1e6:,.0f}",
                number(score.get("recall"), ".4f"),
                number(score.get("recall_outside_family"), ".4f"),
                number(score.get("precision"), ".4f"),
                number(score.get("precision_in_clusters"), ".4f"),
            ]
        )
    return table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000,100000,1000000", help="documents, by comma")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tools", default=",".join([*OURS, *PEERS]), help="by comma")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one run")
    parser.add_argument("--memory", type=float, default=16, help="GB for one run")
    parser.add_argument("--family", type=float, default=0.05, help="share of the template family")
    parser.add_argument(
        "--family-values",
        type=int,
        default=1000,
        help="values of each of its slots: 1000 puts the family below 0.7, 2 astride it",
    )
    parser.add_argument("--quick", action="store_true", help="10,000 documents, one run")
    args = parser.parse_args()
    if args.quick:
        args.sizes, args.runs = "10000", 1
    tools = args.tools.split(",")
    if unknown := set(tools) - {*OURS, *PEERS}:
        parser.error(
            f"no tool {', '.join(sorted(unknown))}; known are {', '.join([*OURS, *PEERS])}"
        )
    for size in map(int, args.sizes.split(",")):
        corpus = Corpus(size, round(size * args.family), args.family_values).make()
        results = compare(corpus, tools, args)
        megabytes = corpus.bytes / 1e6
        print(f"\n{size:,} notes, {megabytes:,.0f} MB, {corpus.family:,} of them one family\n")
        print(report(corpus, results), flush=True)
        content = {
            "machine": machine(),
            "corpus": {**vars(corpus), "bytes": corpus.bytes},
            "runs": args.runs,
            "tools": results,
        }
        suffix = "" if args.family_values == 1000 else f"-values{args.family_values}"
        write_result(f"compare-{size}{suffix}", content)


if __name__ == "__main__":
    main()
