"""neardup passages and a suffix array of words, on notes with and without a common template.

    python bench/passages.py [--size 100000] [--runs 3] [--large 1000000 10000000]
    python bench/passages.py --templates 10 1000 4000 [--size 20000] [--runs 3]

The tools take turns; each run is a fresh process that reads JSON lines and writes what it found.
The sizes of --large are measured too, by neardup alone, with 1 GB of memory. Writes
bench/results/passages-SIZE.json.

With --templates, dedup with and without --boilerplate instead, on documents of 100 random words
behind one of so many templates of 60 words.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from pathlib import Path
from typing import Any

from harness import (
    BENCH,
    DATA,
    NEARDUP,
    measure,
    median,
    neardup,
    peer_python,
    save,
    say,
    synthetic,
    table,
)

WORDS = 25
SHAPES = ("few", "mixed")
TEMPLATE = 200


def with_template(source: Path) -> Path:
    """The same notes, each with a template of 200 words in the middle."""
    path = source.with_name(f"template-in-the-middle-{source.name}")
    if not path.exists():
        template = " ".join(f"form{i}" for i in range(TEMPLATE))
        with source.open(encoding="utf-8") as lines, path.open("w", encoding="utf-8") as out:
            for line in lines:
                row = json.loads(line)
                words = row["text"].split(" ")
                at = len(words) // 2
                row["text"] = " ".join([*words[:at], template, *words[at:]])
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def of_templates(count: int, documents: int) -> Path:
    """Documents of 100 random words, each behind one of so many templates."""
    path = DATA / f"templates-{count}-{documents}.jsonl"
    if not path.exists():
        draw = random.Random(1)
        with path.open("w", encoding="utf-8") as out:
            for number in range(documents):
                words = [f"form{number % count}x{i}" for i in range(60)]
                words += [f"w{draw.randrange(100_000)}" for _ in range(100)]
                out.write(json.dumps({"text": " ".join(words)}) + "\n")
    return path


def templates(counts: list[int], documents: int, runs: int) -> None:
    """Measure ``dedup --boilerplate`` by the number of templates."""
    rows = []
    for count in counts:
        source, out = of_templates(count, documents), DATA / "out"
        for options in ((), ("--boilerplate", "3")):
            found = median([measure(neardup(source, out, *options)) for _ in range(runs)])
            kept = json.loads((out / "run.json").read_text())["counts"]["kept"]
            figures = f"{found['cpu_seconds']:.2f}", f"{found['anonymous_bytes'] / 1e6:,.0f}"
            rows.append([str(count), " ".join(options) or "without", *figures, str(kept)])
    print(table(["templates", "options", "CPU seconds", "private MB", "kept"], rows))


def periodic(size: int) -> Path:
    """One document of so many bytes of "0 0 0 ..."."""
    path = DATA / f"periodic-{size}.jsonl"
    if not path.exists():
        path.write_text(json.dumps({"id": "p", "text": "0 " * (size // 2)}) + "\n")
    return path


def ours(source: Path, *options: str) -> list[str]:
    common = ["--words", str(WORDS), "--overwrite", "--quiet", "--threads", "2"]
    return [NEARDUP, "passages", str(source), "-o", str(DATA / "out"), *common, *options]


def theirs(source: Path) -> list[str]:
    script = BENCH / "peers" / "with_pydivsufsort.py"
    words = ["--words", str(WORDS)]
    return [str(peer_python("pydivsufsort")), str(script), str(source), str(DATA / "peer"), *words]


def copied(name: str) -> int | None:
    """Copied words that a tool has just found."""
    path = DATA / "peer" if name == "pydivsufsort" else DATA / "out" / "run.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    return int(found.get("counts", found)["copied_words"])


def compare(ways: dict[str, list[str]], runs: int, warm: int = 0) -> dict[str, dict[str, Any]]:
    """Run commands in turns, after ``warm`` turns that read the files into the page cache."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    words: dict[str, Any] = {}
    disk: dict[str, int] = {}
    for turn in range(-warm, runs):
        for name, command in ways.items():
            one = measure(command)
            if turn < 0:
                continue
            found[name].append(one)
            words[name] = copied(name)
            if name != "pydivsufsort":
                record = json.loads((DATA / "out" / "run.json").read_text())
                disk[name] = record["temporary_bytes"]
    shutil.rmtree(DATA / "out", ignore_errors=True)
    return {
        name: {**median(each), "copied_words": words[name], "temporary": disk.get(name)}
        for name, each in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--large", type=int, nargs="*", default=[])
    parser.add_argument("--templates", type=int, nargs="*", default=[])
    args = parser.parse_args()
    if args.templates:
        templates(args.templates, args.size, args.runs)
        return
    results: dict[str, Any] = {}
    peer = (BENCH / ".venvs" / "pydivsufsort" / "installed").exists()
    for shape in SHAPES:
        source = synthetic(shape, args.size, ["jsonl"]).jsonl
        assert source is not None
        ways = {
            "tables": ours(source),
            "cut": ours(source, "--cut"),
            "template-in-the-middle": ours(with_template(source)),
            "words-10": ours(source, "--words", "10"),
        }
        results[shape] = {"bytes": source.stat().st_size, **compare(ways, args.runs, 1)}
        if peer:  # by itself: what follows a process of several GB is slower
            results[shape] |= compare({"pydivsufsort": theirs(source)}, args.runs)
    results["periodic"] = compare({"50 MB": ours(periodic(50_000_000))}, 1)
    for size in args.large:
        source = synthetic("mixed", size, ["jsonl"]).jsonl
        assert source is not None
        large = compare({"tables": ours(source, "--memory", "1GB")}, 1)
        results[f"mixed-{size}"] = {"bytes": source.stat().st_size, **large}
        source.unlink()
    rows = []
    for shape, of in results.items():
        for name, run in of.items():
            if isinstance(run, dict) and run.get("seconds"):
                seconds, peak = run["seconds"], run["peak_bytes"]
                rows.append([shape, name, f"{seconds:.2f}", f"{peak / 1e6:,.0f}"])
                rows[-1] += [str(run["copied_words"]), str(run["temporary"])]
    header = ["shape", "what", "seconds", "peak MB", "copied words", "temporary bytes"]
    print(table(header, rows))
    say(str(save(f"passages-{args.size}", results)))


if __name__ == "__main__":
    main()
