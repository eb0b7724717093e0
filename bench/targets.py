"""neardup against its targets: what, target, measured, met.

    python bench/targets.py [--runs 3]

Reads what run.py, shapes.py and ten_million.py wrote, measures starts, and writes
bench/results/targets.json. What was not measured says so.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from typing import Any

from harness import (
    DATA,
    SHAPES,
    clear,
    load,
    measure,
    median,
    missing_peer,
    neardup,
    real_texts,
    save,
    synthetic,
    table,
)

SIZES = (100_000, 1_000_000)
Line = tuple[str, str, str, bool | None]  # what, target, measured, met


def value(name: str, tool: str, key: str = "seconds") -> float | None:
    """A median of run.py."""
    found = (load(name) or {}).get("tools", {}).get(tool, {}).get("median", {})
    return found.get(key)


def line(what: str, measured: float | None, at_most: float, unit: str, why: str = "") -> Line:
    target = f"<= {at_most:g} {unit}"
    if measured is None:
        return what, target, f"not measured{': ' * bool(why)}{why}", None
    return what, target, f"{measured:.2f} {unit}", measured <= at_most


def times_as_fast(what: str, name: str, peer: str, wanted: float) -> Line:
    """Whole process against a peer, Parquet each."""
    ours, theirs = value(name, "neardup"), value(name, peer)
    target = f">= {wanted:g} x"
    if ours is None or theirs is None:
        runs = (load(name) or {}).get("tools", {}).get(peer, {}).get("runs", [])
        reasons = [run["failed"] for run in runs if run["failed"]] or [missing_peer(peer)]
        return what, target, f"not measured: {reasons[0] or 'run bench/run.py'}", None
    return what, target, f"{theirs / ours:.2f} x", theirs / ours >= wanted


def against_peers() -> Iterator[Line]:
    for size, wanted in zip(SIZES, (1.5, 2.0), strict=True):
        for shape in SHAPES:
            yield times_as_fast(
                f"{shape}, {size:,}, against daft", f"{shape}-{size}", "daft", wanted
            )
    wanted_of = {"gaoya": 4, "rensa": 5, "datasketch": 8, "rensa-single": 5, "datasketch-single": 8}
    for peer, wanted in wanted_of.items():
        yield times_as_fast(f"around, 100,000, against {peer}", "around-100000", peer, wanted)
    for size, wanted in zip(SIZES, (5, 8), strict=True):
        what = f"mixed, {size:,}, against duplodocus"
        yield times_as_fast(what, f"mixed-{size}", "duplodocus", wanted)
    for corpus in real_texts():
        yield times_as_fast(f"{corpus.name}, against daft", corpus.name, "daft", 1.0)


def by_shape() -> Iterator[Line]:
    for size, limit in zip(SIZES, (700, 1500), strict=True):
        times = {shape: value(f"{shape}-{size}", "neardup") for shape in SHAPES}
        known = {shape: time for shape, time in times.items() if time is not None}
        ratio = max(known.values()) / known["few"] if len(known) == len(SHAPES) else None
        yield line(f"slowest shape against few, {size:,}", ratio, 1.5, "x")
        for shape in SHAPES:
            name = f"{shape}-{size}"
            one, other = value(name, "neardup"), value(name, "neardup-jsonl")
            ratio = None if one is None or other is None else one / other
            yield line(f"{shape}, {size:,}, Parquet against JSON lines", ratio, 1.0, "x")
            for tool in ("neardup", "neardup-jsonl"):
                peak = value(name, tool, "peak_bytes")
                peak = None if peak is None else peak / 1e6
                yield line(f"{shape}, {size:,}, peak memory, {tool}", peak, limit, "MB")


def quality() -> Iterator[Line]:
    for shape in SHAPES:
        tools = (load(f"{shape}-100000") or {}).get("tools", {})
        scores = tools.get("neardup", {}).get("quality", {})
        for name, wanted in (("recall", 0.99), ("precision", 1.0), ("pair_precision", 1.0)):
            found = scores.get(name)
            measured = "not measured" if found is None else f"{found:.5f}"
            met = None if found is None else found >= wanted
            yield f"{shape}, 100,000, {name}", f">= {wanted:g}", measured, met


def ten_million() -> Iterator[Line]:
    presets = (load("ten_million-10000000") or {}).get("presets", {})
    for preset in ("clinical", "web"):
        seconds = presets.get(preset, {}).get("median", {}).get("seconds")
        yield line(f"10,000,000 notes, 4 GB of memory, {preset}", seconds, 130, "s")


def growth() -> Iterator[Line]:
    cases: dict[str, Any] = (load("shapes") or {}).get("cases", {})
    for name, case in cases.items():
        what, failed = f"growth of time, {name}", case["failed"]
        if failed:
            yield what, "<= 1.3 (exponent)", failed, False
        else:
            yield line(what, case["exponent"], 1.3, "(exponent)")
    if not cases:
        yield line("growth of time", None, 1.3, "(exponent)", "run bench/shapes.py")


def starts(runs: int) -> Iterator[Line]:
    path, output = synthetic("mixed", 100, ("jsonl",)).jsonl, DATA / "out-targets"
    assert path is not None

    def one(**environment: str) -> dict[str, Any]:
        clear(output)
        return measure(neardup(path, output), environment=environment)

    with tempfile.TemporaryDirectory() as cache:
        first = one(NUMBA_CACHE_DIR=cache)
    later = median([one() for _ in range(max(runs, 3))])
    clear(output)
    yield line("100 lines, later start, CPU", later.get("cpu_seconds"), 0.55, "s")
    seconds = None if first["failed"] else first["seconds"]
    yield line("first use ever, compiling included", seconds, 7, "s", first["failed"] or "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    lines = [*against_peers(), *by_shape(), *quality(), *ten_million(), *growth()]
    lines += starts(args.runs)
    verdict = {True: "met", False: "NOT MET", None: ""}
    short = [
        [what, target, found.split(":")[0], verdict[met]] for what, target, found, met in lines
    ]
    print(table(["what", "target", "measured", ""], short))
    for reason in sorted({row[2] for row in lines if ": " in row[2]}):
        print(f"\n{reason}")
    counts = [sum(row[3] is met for row in lines) for met in (True, False, None)]
    print("\n{} met, {} not met, {} not measured".format(*counts))
    names = ("what", "target", "measured", "met")
    save("targets", {"lines": [dict(zip(names, row, strict=True)) for row in lines]})


if __name__ == "__main__":
    main()
