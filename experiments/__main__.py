"""Run experiments, draw the charts, write the page; see the package."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from experiments import own_cora, page, page_records, plots, teaching, tutorial
from experiments.page import EXPERIMENTS, OTHERS
from experiments.running import note_run, run_all
from experiments.sizes import FULL, QUICK
from experiments.stores import ROOT
from neardup.errors import NeardupError

OUT = ROOT / "docs/paper"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is asked for; the page is written in any case."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    known = ", ".join((*EXPERIMENTS, *OTHERS, "page"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {known}; all by default")
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT,
        help="folder of the numbers and the page; docs/paper, whose ones are replaced, by default",
    )
    parser.add_argument(
        "--quick", action="store_true", help="try little, to see that all of it runs; needs --out"
    )
    parser.add_argument(
        "--cora",
        type=Path,
        metavar="FILE",
        help="with `records`: print the tutorial's counts next to those of a CSV file of Cora, "
        "such as the tutorial's own, and write nothing",
    )
    given = parser.parse_args(arguments)
    if given.cora is not None:
        if given.names != ["records"]:
            parser.error("--cora is of `records` alone")
        _print_cora(given.cora)
        return
    unknown = set(given.names) - {*EXPERIMENTS, *OTHERS, "page"}
    if unknown:
        parser.error(f"no experiment {', '.join(sorted(unknown))}; known are {known}")
    if given.quick and given.out == OUT:
        parser.error("--quick would replace the numbers of the page; give --out")
    given.out.mkdir(parents=True, exist_ok=True)
    chosen = [n for n in (*EXPERIMENTS, *OTHERS) if not given.names or n in given.names]
    try:
        for name, seconds in run_all(chosen, given.out, QUICK if given.quick else FULL):
            note_run(name, given.out, seconds)
            print(f"{name:12} {seconds:6.1f} s", flush=True)
    except NeardupError as error:
        sys.exit(f"error: {error.message}\nhint: {error.hint}")
    begin = time.perf_counter()
    plots.draw(given.out)
    page_records.write(given.out)
    teaching.page(given.out)
    tutorial.page(given.out)
    page.write(given.out)  # the last one: it links to those that are there
    print(f"{'page':12} {time.perf_counter() - begin:6.1f} s: {given.out / 'index.md'}", flush=True)


def _print_cora(path: Path) -> None:
    try:
        print(own_cora.compared(path))
    except NeardupError as error:
        sys.exit(f"error: {error.message}\nhint: {error.hint}")


if __name__ == "__main__":
    main()
