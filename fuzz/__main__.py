"""Look for inputs that break neardup.

    python -m fuzz TARGET [--cases N] [--seconds S] [--seed K] [--workers W]
    python -m fuzz replay FILE...

Each case follows from the seed and its number alone. What breaks is stored in fuzz/findings.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fuzz.runner import FINDINGS, TARGETS, Limits, replay, run


def main(arguments: list[str] | None = None) -> int:
    """Return 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=[*TARGETS, "replay"])
    parser.add_argument("files", nargs="*", type=Path, help="of replay: findings")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    if given.target == "replay":
        for path in given.files:
            replay(path)
        return 0
    limits = Limits(given.cases, given.seconds, given.workers)
    done, found = run(given.target, given.seed, limits, FINDINGS)
    print(f"{given.target}: {done:,} cases, {len(found)} findings")
    for path in found:
        why = path.with_name(path.name + ".why").read_text().splitlines()
        print(f"  {path}: {next(filter(None, reversed(why)))}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
