"""Measure neardup against the targets it was given; print target, measured, met.

    python bench/targets.py [--runs 3] [--only memory,family]

The comparisons with peers are read from what run.py wrote. Writes bench/results/targets.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from harness import (
    DATA,
    PEERS,
    RESULTS,
    Corpus,
    machine,
    measure,
    median,
    neardup,
    table,
    write_result,
)
from run import LARGEST_TRUTH, OURS, clear

Line = tuple[str, str, str, bool | None]  # what, target, measured, met
SIGN = """
import statistics, sys, time
import pyarrow.compute as pc
import pyarrow.parquet as pq
from neardup.core.shingle import as_text
from neardup.core.sign import Signer, sign
texts = as_text(pq.read_table(sys.argv[1], columns=["text"])["text"])
batches = [texts.slice(i, 4096) for i in range(0, len(texts), 4096)]
signer = Signer(128)
sign(batches[0], signer)
times = []
for _ in range(int(sys.argv[2])):
    begin = time.perf_counter()
    for batch in batches:
        sign(batch, signer)
    times.append(time.perf_counter() - begin)
print(pc.sum(pc.binary_length(texts)).as_py() / statistics.median(times))
"""


def standard(documents: int, share: float = 0.05, values: int = 1000) -> Corpus:
    """The corpus that run.py compares on."""
    return Corpus(documents, round(documents * share), values)


def time_neardup(corpus: Corpus, runs: int, *options: str, **environment: str) -> dict[str, Any]:
    output = DATA / "out-targets"
    measured = []
    for _ in range(runs):
        clear(output)
        command = neardup(corpus.parquet, output, *options)
        measured.append(measure(command, environment=environment))
    clear(output)
    middle = median(measured)
    if not middle:
        raise RuntimeError(next(run["failed"] for run in measured if run["failed"]))
    return middle


def compared(documents: int) -> dict[str, Any]:
    path = RESULTS / f"compare-{documents}.json"
    if not path.exists():
        raise RuntimeError(f"run bench/run.py --sizes {documents} first")
    return json.loads(path.read_text())


def fastest_of_ours(found: dict[str, Any]) -> float:
    """Each tool reads the format that suits it best, neardup too."""
    return min(
        float(found[tool]["median"]["seconds"])
        for tool in ("neardup", "neardup-jsonl")
        if found.get(tool, {}).get("median")
    )


def peers_at(documents: int, fastest: float, others: dict[str, float]) -> Iterable[Line]:
    found = compared(documents)["tools"]
    ours = fastest_of_ours(found)
    times = {p: found[p]["median"]["seconds"] for p in PEERS if found.get(p, {}).get("median")}
    best = min(times, key=times.__getitem__)
    wanted = {best: fastest, **{p: w for p, w in others.items() if p in times}}
    for name, ratio in wanted.items():
        what = f"whole job, {documents:,} notes, against {name}"
        what += " (the fastest peer)" if name == best else ""
        measured = times[name] / ours
        yield what, f">= {ratio:g} x", f"{measured:.2f} x", measured >= ratio


def whole_job(_: int) -> Iterable[Line]:
    yield from peers_at(100_000, 1.5, {"gaoya": 5, "datasketch": 10})


def million(_: int) -> Iterable[Line]:
    yield from peers_at(1_000_000, 2, {})
    result = compared(1_000_000)
    seconds = fastest_of_ours(result["tools"])
    speed = result["corpus"]["bytes"] / 1e6 / seconds
    yield "whole job, 1,000,000 notes", ">= 200 MB/s", f"{speed:.0f} MB/s", speed >= 200


def quality(_: int) -> Iterable[Line]:
    for path in sorted(RESULTS.glob("compare-*.json")):
        result = json.loads(path.read_text())
        if result["corpus"]["documents"] > LARGEST_TRUTH:
            continue
        for tool in OURS:
            score = result["tools"].get(tool, {}).get("quality")
            if not score:
                continue
            where = f"{tool}, {result['corpus']['documents']:,} notes"
            recall = min(score["recall"], score["recall_outside_family"])
            yield f"recall, {where}", ">= 0.99", f"{recall:.5f}", recall >= 0.99
            precision = score["precision"]
            yield f"precision, {where}", "1", f"{precision:.5f}", precision == 1


def allpairs(runs: int) -> Iterable[Line]:
    corpus = standard(100_000).make()
    lsh = time_neardup(corpus, runs)["seconds"]
    ratio = time_neardup(corpus, runs, "--method", "allpairs")["seconds"] / lsh
    yield "allpairs against lsh, 100,000 notes", "<= 10 x", f"{ratio:.2f} x", ratio <= 10


def memory(_: int) -> Iterable[Line]:
    for documents in (100_000, 1_000_000):
        result = compared(documents)
        limit = 2 * result["corpus"]["bytes"] / 1e6 + 300
        for tool in OURS:
            middle = result["tools"].get(tool, {}).get("median")
            if middle and tool != "neardup-all":  # which is asked for more than clusters
                peak = middle["peak_bytes"] / 1e6
                what = f"peak memory, {tool}, {documents:,} notes"
                yield what, f"<= {limit:,.0f} MB", f"{peak:,.0f} MB", peak <= limit


def family(runs: int) -> Iterable[Line]:
    none = time_neardup(standard(100_000, 0).make(), runs)["seconds"]
    for values, where in ((1000, "below 0.7"), (2, "astride 0.7")):
        fifth = time_neardup(standard(100_000, 0.2, values).make(), runs)["seconds"]
        what = f"a fifth of 100,000 notes one family {where}, against none"
        yield what, "<= 2 x", f"{fifth / none:.2f} x", fifth / none <= 2


def scaling(runs: int) -> Iterable[Line]:
    begin = time_neardup(standard(100).make(), runs)["seconds"]
    each = {
        n: (time_neardup(standard(n).make(), runs)["seconds"] - begin) / n
        for n in (10_000, 1_000_000)
    }
    ratio = each[1_000_000] / each[10_000]
    what = "time per note, 1,000,000 against 10,000, start-up taken off"
    yield what, "<= 1.2 x", f"{ratio:.2f} x", ratio <= 1.2


def signing(runs: int) -> Iterable[Line]:
    core = min(os.sched_getaffinity(0))
    source = str(standard(100_000).make().parquet)
    command = ["taskset", "-c", str(core), sys.executable, "-c", SIGN, source, str(runs)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    speed = float(done.stdout) / 1e6
    what = "Arrow text to signatures (word:5, 128 x 32 bit), one core"
    yield what, ">= 250 MB/s", f"{speed:.0f} MB/s", speed >= 250


def starting(runs: int) -> Iterable[Line]:
    corpus = standard(100).make()
    with tempfile.TemporaryDirectory() as cache:
        first = time_neardup(corpus, 1, NUMBA_CACHE_DIR=cache)["seconds"]
    later = time_neardup(corpus, runs)["seconds"]
    yield "first use (100 notes, kernels compiled)", "<= 20 s", f"{first:.1f} s", first <= 20
    yield "later starts (100 notes)", "< 1 s", f"{later:.2f} s", later < 1


TARGETS: dict[str, Callable[[int], Iterable[Line]]] = {
    "whole-job": whole_job,
    "million": million,
    "quality": quality,
    "allpairs": allpairs,
    "memory": memory,
    "family": family,
    "scaling": scaling,
    "signing": signing,
    "starting": starting,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default=",".join(TARGETS), help="by comma")
    args = parser.parse_args()
    lines: list[Line] = []
    for name in args.only.split(","):
        try:
            lines += TARGETS[name](args.runs)
        except (RuntimeError, subprocess.CalledProcessError, KeyError) as error:
            lines.append((name, "", f"not measured: {error}", None))
        print(f"{name}: {lines[-1][2]}", file=sys.stderr, flush=True)
    verdict = {True: "yes", False: "NO", None: ""}
    rows = [[what, target, measured, verdict[met]] for what, target, measured, met in lines]
    print("\n" + table(["what", "target", "measured", "met"], rows))
    keys = ("what", "target", "measured", "met")
    content = [dict(zip(keys, line, strict=True)) for line in lines]
    write_result("targets", {"machine": machine(), "runs": args.runs, "lines": content})


if __name__ == "__main__":
    main()
