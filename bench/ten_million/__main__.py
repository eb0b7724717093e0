"""neardup dedup on up to ten million notes: time, memory and disk, and how they grow.

    python bench/ten_million [--sizes 10000,100000,1000000,10000000] [--data DIR] [--quick]

Every run is a fresh process. Prints tables and writes bench/results/ten_million.json, after each
size anew; see bench/README.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from notes import EXACT, FAMILIES, NEAR, OF, SEED, Notes, fitting
from runs import MEMORY, compare, scale, touch

from harness import DATA, RESULTS, machine, write_result
from report import fit, targets, text

PARTS = ("scaling", "store", "overhead", "design")
#: Of each comparison, for each entry the largest of the sizes up to it.
COMPARED = {"store": (1_000_000,), "overhead": (100_000, 1_000_000), "design": (100_000,)}
SINGLE = 5_000_000


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000,100000,1000000,10000000", help="by comma")
    parser.add_argument("--data", type=Path, default=DATA, help="folder for notes and outputs")
    parser.add_argument("--format", choices=["jsonl", "parquet"], default="jsonl", help="of notes")
    parser.add_argument(
        "--runs", type=int, help=f"of each size; 3 without it, 1 from {SINGLE:,} notes"
    )
    parser.add_argument("--repetitions", type=int, default=5, help="of each comparison")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by comma")
    parser.add_argument(
        "--family-values", type=int, default=1000, help="values of each slot; see neardup synth"
    )
    parser.add_argument("--keep", action="store_true", help="leave the notes in the folder")
    parser.add_argument("--add", action="store_true", help="add to the results that are there")
    parser.add_argument("--no-touch", action="store_true", help="don't touch free memory first")
    parser.add_argument("--quick", action="store_true", help="10,000 and 100,000 notes, few runs")
    args = parser.parse_args()
    if args.quick:
        args.sizes, args.runs, args.repetitions = "10000,100000", 1, 2
    args.sizes = sorted({int(size) for size in args.sizes.split(",")})
    args.only = args.only.split(",")
    if unknown := set(args.only) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    if args.sizes[0] < 1000:
        parser.error("the smallest size is 1,000")
    return args


def compared(sizes: list[int], only: list[str]) -> dict[int, list[str]]:
    """Which comparisons are made at which sizes."""
    found: dict[int, list[str]] = {}
    for name, limits in COMPARED.items():
        for limit in limits:
            size = max((size for size in sizes if size <= limit), default=None)
            if name in only and size is not None and name not in found.get(size, ()):
                found.setdefault(size, []).append(name)
    return found


def start(args: argparse.Namespace, name: str, disk: dict[str, Any]) -> dict[str, Any]:
    """What the results hold before the first run."""
    content: dict[str, Any] = {
        "machine": machine(),
        "memory": MEMORY,
        "notes": {
            "format": args.format,
            "near": NEAR,
            "exact": EXACT,
            "families": list(FAMILIES),
            "families_of": OF,
            "family_values": args.family_values,
            "seed": SEED,
        },
        "disk": disk,
        "scaling": [],
        "comparisons": [],
    }
    path = RESULTS / f"{name}.json"
    if args.add and path.exists():
        before = json.loads(path.read_text())
        if before["notes"] != content["notes"]:
            raise SystemExit(f"{path.name} is of other notes; leave out --add")
        content |= {key: before[key] for key in ("scaling", "comparisons")}
    return content


def put(found: list[dict[str, Any]], new: dict[str, Any]) -> None:
    """Add a result in order of size, instead of an earlier one of the same."""

    def place(entry: dict[str, Any]) -> tuple[int, int]:
        return PARTS.index(entry.get("name", "scaling")), entry["documents"]

    found[:] = sorted([*(e for e in found if place(e) != place(new)), new], key=place)


def main() -> None:
    args = options()
    sizes, free, note = fitting(args.sizes, args.format, args.data)
    if note:
        print(note, file=sys.stderr)
    name = "ten_million" + ("" if args.format == "jsonl" else f"-{args.format}")
    name += "" if args.family_values == 1000 else f"-values{args.family_values}"
    name += "-quick" if args.quick else ""
    content = start(
        args, name, {"free_bytes": free, "asked": args.sizes, "taken": sizes, "note": note}
    )
    if not args.no_touch:
        print("touching free memory", file=sys.stderr, flush=True)
        content["touched"] = touch()
        print(f"touched: {content['touched']}", file=sys.stderr, flush=True)
    versus = compared(sizes, args.only)

    def save() -> None:
        content["fit"] = fit(content["scaling"])
        content["targets"] = targets(content["scaling"], content["fit"], content["comparisons"])
        write_result(name, content)

    save()
    for size in sizes:
        if "scaling" not in args.only and size not in versus:
            continue
        notes = Notes(size, args.format, args.family_values, args.data.resolve())
        print(f"{size:,} notes: making them", file=sys.stderr, flush=True)
        try:
            notes.make()
            if "scaling" in args.only:
                put(content["scaling"], scale(notes, args.runs or (1 if size >= SINGLE else 3)))
                save()
            for part in versus.get(size, ()):
                put(content["comparisons"], compare(part, notes, args.repetitions))
                save()
        finally:
            if not args.keep:
                notes.remove()
    print(text(content))


if __name__ == "__main__":
    main()
