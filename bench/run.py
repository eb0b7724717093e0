"""neardup and its peers next to each other, files to clusters.

    python bench/run.py [--shapes few,mixed,above,around,below,real] [--sizes 100000,1000000]
                        [--tools neardup,daft] [--runs 3] [--quick]

Every run is a fresh process with two threads; the runs of the tools take turns. Prints a table for
each corpus and writes bench/results/SHAPE-SIZE.json. ``real`` is each set of texts above 1 MB in
the folder NEARDUP_DATA.
"""

from __future__ import annotations

import argparse
import subprocess
from typing import Any

from harness import (
    DATA,
    OURS,
    PEERS,
    SHAPES,
    TOOLS,
    Corpus,
    Run,
    clear,
    command,
    measure,
    median,
    missing_peer,
    neardup,
    real_texts,
    save,
    say,
    synthetic,
    table,
)
from quality import Truth, read_neardup, read_peer

#: Above this the pairs of a family are more than memory holds.
LARGEST_TRUTH = 200_000
SCORES = ("recall", "precision", "pair_recall", "pair_precision")
#: daft numbers rows in the order in which its threads read them, once it groups: what it finds
#: can't be compared with the file.
UNSCORED = ("daft",)


def find_truth(corpus: Corpus) -> Truth:
    output = DATA / f"{corpus.name}-{corpus.parquet.stem}.allpairs"
    edges = output / "edges.parquet"
    if not edges.exists():
        options = ["--method", "allpairs", "--pairs", "all"]
        subprocess.run(neardup(corpus.parquet, output, *options), check=True)
    return Truth.read(edges, corpus.parquet)


def warm(corpus: Corpus) -> None:
    """Read the files once, so that no tool has to wait for the disk."""
    for path in filter(None, (corpus.jsonl, corpus.parquet)):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def once(tool: str, corpus: Corpus, args: argparse.Namespace) -> Run:
    """One run of a tool; its output stays."""
    output = DATA / f"out-{tool}"
    clear(output)
    reason = missing_peer(tool) if tool not in OURS else None
    words = command(tool, corpus, output)
    if reason or words is None:
        return {"failed": reason}
    return measure(words, args.limit, int(args.memory * 1e9))


def compare(corpus: Corpus, tools: list[str], args: argparse.Namespace) -> dict[str, Any]:
    tools = [tool for tool in tools if command(tool, corpus, DATA) is not None]
    runs: dict[str, list[Run]] = {tool: [] for tool in tools}
    scores: dict[str, dict[str, Any]] = {}
    known = corpus.documents <= LARGEST_TRUTH and not args.no_quality
    truth = find_truth(corpus) if known else None
    warm(corpus)
    for turn in range(args.runs):
        for tool in tools:
            if any(run["failed"] for run in runs[tool]):
                continue
            run = once(tool, corpus, args)
            say(f"{corpus.name} {tool} {turn + 1}: {run}")
            runs[tool].append(run)
            output = DATA / f"out-{tool}"
            scored = truth is not None and tool not in UNSCORED and tool not in scores
            if scored and output.exists() and not run["failed"]:
                read = read_neardup if tool in OURS else read_peer
                scores[tool] = truth.score(read(output))
            clear(output)
    return {
        tool: {"median": median(runs[tool]), "quality": scores.get(tool, {}), "runs": runs[tool]}
        for tool in tools
    }


def report(corpus: Corpus, results: dict[str, Any]) -> str:
    header = ["tool", "s", "documents/s", "MB/s", "CPU s", "peak MB", "private MB", *SCORES]
    rows, notes = [], []
    for tool, result in results.items():
        middle = result["median"]
        if not middle:
            reason = next(run["failed"] for run in result["runs"] if run["failed"])
            notes.append(f"\n\n{tool}: {reason}")
            continue
        seconds = middle["seconds"]
        row = [tool, f"{seconds:.2f}", f"{corpus.documents / seconds:,.0f}"]
        row += [f"{corpus.bytes / 1e6 / seconds:.0f}", f"{middle['cpu_seconds']:.1f}"]
        row += [f"{middle[key] / 1e6:,.0f}" for key in ("peak_bytes", "anonymous_bytes")]
        values = (result["quality"].get(name) for name in SCORES)
        rows.append([*row, *("" if value is None else f"{value:.4f}" for value in values)])
    return table(header, rows) + "".join(notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join([*SHAPES, "real"]), help="by comma")
    parser.add_argument("--sizes", default="100000,1000000", help="documents, by comma")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tools", default=",".join([*OURS, *PEERS]), help="by comma")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one run")
    parser.add_argument("--memory", type=float, default=16, help="GB for one run")
    parser.add_argument("--no-quality", action="store_true", help="no recall, no precision")
    parser.add_argument("--quick", action="store_true", help="10,000 documents, one run")
    args = parser.parse_args()
    if args.quick:
        args.sizes, args.runs = "10000", 1
    shapes, tools = args.shapes.split(","), args.tools.split(",")
    unknown = set(tools) - {*TOOLS} | set(shapes) - {*SHAPES, "real"}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    sizes = [int(size) for size in args.sizes.split(",")]
    jobs = [(shape, size) for size in sizes for shape in shapes if shape != "real"]
    corpora = [lambda job=job: synthetic(*job) for job in jobs]
    corpora += [lambda corpus=corpus: corpus for corpus in real_texts() if "real" in shapes]
    for make in corpora:
        corpus = make()
        results = compare(corpus, tools, args)
        print(f"\n{corpus.name}, {corpus.bytes / 1e6:,.0f} MB\n\n{report(corpus, results)}")
        about = {"name": corpus.name, "documents": corpus.documents, "bytes": corpus.bytes}
        save(corpus.name, {"corpus": about, "runs": args.runs, "tools": results})


if __name__ == "__main__":
    main()
