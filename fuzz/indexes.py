"""Damaged files of an index: each answer is as before, or an error that says what is damaged.

python -m fuzz.indexes [--cases N] [--seed K]     # counts, for each kind of index

"""

from __future__ import annotations

import argparse
import concurrent.futures
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import paths  # noqa: F401  (the tests can be imported)
from fuzz.damage import damage
from fuzz.made_indexes import KINDS, answers, made
from neardup.errors import NeardupError, OutputError, StoreError

#: What damage leads to; the last two are findings.
OUTCOMES = ("harmless", "detected", "unclear", "wrong")


def make(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return which kind of index is damaged, and the seed of the damage."""
    return KINDS[rng.integers(len(KINDS))], rng.bytes(8)


def check(ending: str, data: bytes, folder: Path) -> None:
    """Damage an index and ask it."""
    outcome, what = judged(ending, np.random.default_rng(list(data)), folder)
    assert outcome in OUTCOMES[:2], what


def judged(kind: str, rng: np.random.Generator, folder: Path) -> tuple[str, str]:
    """Damage an index and ask it; return the outcome, and what was damaged and asked."""
    whole = made(kind)
    state = ("closed", "open")[rng.integers(2)]
    place = folder / os.urandom(4).hex()
    shutil.copytree(whole.folders[state], place)
    try:
        way, name = damage(place, whole.older, rng)
        found = answers(kind, place)
        outcome, of = _outcome(found, whole.expected[state], place)
    finally:
        shutil.rmtree(place)
    return outcome, f"{way}, {state} {name}: {of}"


def _outcome(found: dict[str, Any], expected: dict[str, Any], place: Path) -> tuple[str, str]:
    errors = {name: answer for name, answer in found.items() if isinstance(answer, NeardupError)}
    wrong = [name for name in found if name not in errors and found[name] != expected[name]]
    if wrong:
        return "wrong", ", ".join(wrong)
    for name, error in errors.items():
        clear = isinstance(error, StoreError | OutputError) and str(place) in error.message
        if not clear or not error.hint or "\n" in f"{error}{error.hint}".replace("\nhint: ", ""):
            return "unclear", f"{name}: {type(error).__name__}: {error}"
    if errors:
        return "detected", ", ".join(f"{name}: {error.message}" for name, error in errors.items())
    return "harmless", ""


def _case(seed: int, kind: str, number: int) -> tuple[str, str]:
    folder = Path(tempfile.gettempdir())
    try:
        return judged(kind, np.random.default_rng([seed, KINDS.index(kind), number]), folder)
    except Exception as error:  # noqa: BLE001  (all of them are findings)
        return "unclear", f"{type(error).__name__}: {error}"


def main(arguments: list[str] | None = None) -> int:
    """Print how many of so many damaged indexes of each kind had which outcome."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.indexes")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kinds", default=",".join(KINDS))
    given = parser.parse_args(arguments)
    findings = 0
    with concurrent.futures.ProcessPoolExecutor(
        given.workers, multiprocessing.get_context("spawn")
    ) as pool:
        for kind in given.kinds.split(","):
            work = partial(_case, given.seed, kind)
            results = list(pool.map(work, range(given.cases), chunksize=10))
            counts = Counter(outcome for outcome, _ in results)
            print(f"{kind}: " + ", ".join(f"{counts[name]:,} {name}" for name in OUTCOMES))
            for number, (outcome, what) in enumerate(results):
                if outcome in OUTCOMES[2:]:
                    print(f"  case {number}: {outcome}: {what}")
                    findings += 1
            sys.stdout.flush()
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
