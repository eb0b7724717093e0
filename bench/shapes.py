"""How the time grows with the number of documents, for corpora of every shape.

    python bench/shapes.py [--only mixed,chain] [--factor 10] [--runs 3] [--scale 1]

Each corpus is taken at two sizes; growth is the exponent between the CPU seconds of both, without
those of 100 documents (start-up). Writes bench/results/shapes.json.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness import DATA, SHAPES, clear, measure, median, neardup, save, say, synthetic, table
from notes import Family

LIMIT = 600.0


class Case(NamedTuple):
    """A corpus that can be of any size, the sizes to take, and options of `neardup dedup`."""

    make: Callable[[int], Path | None]
    sizes: tuple[int, int]
    options: tuple[str, ...] = ()


def notes(shape: str, **changes: Any) -> Callable[[int], Path | None]:
    return lambda size: synthetic(shape, size, ("parquet",), **changes).parquet


def family(low: float, high: float) -> Callable[[int], Path | None]:
    """All documents but one are members of a family."""

    def make(size: int) -> Path | None:
        families = (Family(size - 1, low, high),)
        return synthetic("few", size, ("parquet",), exact=0.0, families=families).parquet

    return make


def few_words(size: int) -> Path:
    """Texts of 5 out of 20 words: nearly all share shingles with many others."""
    draws = np.random.default_rng(1).integers(0, 20, (size, 5))
    return texts(f"words-{size}", [" ".join(f"w{i}" for i in row) for row in draws.tolist()])


def chain(size: int) -> Path:
    """Each text shares all but 8 of its 100 words with the next one: one component."""
    words = [f"w{i}" for i in range(8 * size + 100)]
    return texts(f"chain-{size}", [" ".join(words[8 * i : 8 * i + 100]) for i in range(size)])


def texts(name: str, values: list[str]) -> Path:
    DATA.mkdir(exist_ok=True)
    path = DATA / f"{name}.parquet"
    pq.write_table(pa.table({"text": values}), path)
    return path


CASES = {shape: Case(notes(shape), (100_000, 1_000_000)) for shape in SHAPES} | {
    "family around": Case(family(0.65, 0.75), (6_000, 24_000)),
    "family around, bounded": Case(family(0.65, 0.75), (6_000, 24_000), ("--cluster", "bounded")),
    "family below": Case(family(0.4, 0.4), (12_500, 50_000)),
    "family at 0.6, allpairs": Case(family(0.6, 0.6), (3_000, 12_000), ("--method", "allpairs")),
    "5 of 20 words": Case(few_words, (75_000, 300_000)),
    "chain": Case(chain, (10_000, 40_000), ("--cluster", "components")),
}


def timed(path: Path, runs: int, options: tuple[str, ...]) -> dict[str, Any]:
    """Medians of some runs, or why one failed."""
    output, done = DATA / "out-shapes", []
    for _ in range(runs):
        clear(output)
        done.append(measure(neardup(path, output, *options), LIMIT))
        if done[-1]["failed"]:
            break
    clear(output)
    return median(done) or {"failed": done[-1]["failed"]}


def growth(case: Case, runs: int, scale: float) -> dict[str, Any]:
    sizes = [max(100, round(size * scale)) for size in case.sizes]
    found = {}
    for size in (100, *sizes):
        path = case.make(size)
        assert path is not None
        found[size] = timed(path, runs, case.options)
        if "failed" in found[size]:
            break
    result: dict[str, Any] = {"sizes": sizes, "options": case.options, "runs": found}
    result["failed"] = next((run["failed"] for run in found.values() if "failed" in run), None)
    if not result["failed"]:
        start = found[100]["cpu_seconds"]
        small, large = (max(found[size]["cpu_seconds"] - start, 0.01) for size in sizes)
        result["exponent"] = math.log(large / small) / math.log(sizes[1] / sizes[0])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(CASES).replace(", ", "+"), help="by comma")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes, for a trial")
    args = parser.parse_args()
    results = {}
    for name in (name.replace("+", ", ") for name in args.only.split(",")):
        results[name] = growth(CASES[name], args.runs, args.scale)
        say(f"{name}: {results[name]}")
    rows = []
    for name, found in results.items():
        seconds = [
            f"{size:,}: {found['runs'][size]['seconds']:.1f} s" if not found["failed"] else ""
            for size in found["sizes"]
        ]
        rows.append([name, *seconds, found["failed"] or f"{found['exponent']:.2f}"])
    print(table(["corpus", "time", "time", "exponent"], rows))
    if args.scale == 1.0:
        print(save("shapes", {"cases": results}))


if __name__ == "__main__":
    main()
