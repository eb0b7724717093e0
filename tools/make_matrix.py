"""Write into ``docs/running.md`` what each command has: ``make_matrix.py [--check]``.

The methods are those of the classes of results; the promises are those of the tests of parity, of
which one fails where a mark is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from neardup.commands import COMMANDS
from neardup.frame.run import class_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "running.md"
MARKS = {"verbs": "<!-- verbs -->", "promises": "<!-- promises -->"}
sys.path.insert(0, str(ROOT / "tests" / "parity"))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown."""
    names = list(head)
    lines = [names, ["---", *[":-:"] * (len(names) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verbs() -> str:
    """Return a row for each method of a result, and a column for each kind of result."""
    kinds: dict[str, list[str]] = {}
    for command in COMMANDS:
        kinds.setdefault(class_of(command).__name__, []).append(f"`{command}`")
    methods = {class_of(command).__name__: class_of(command).verbs() for command in COMMANDS}
    every = sorted({verb for found in methods.values() for verb in found})
    rows = [
        [f"`{verb}`", *("x" if verb in methods[kind] else "" for kind in kinds)] for verb in every
    ]
    made = [["made by", *(", ".join(commands) for commands in kinds.values())]]
    return table(["", *(f"`{kind}`" for kind in kinds)], [*made, *rows])


def promises() -> str:
    """Return a row for each promise, a column for each command and Spark, and the reasons."""
    from parity_cells import CELLS, LACKS, SPARK_LACKS

    commands = [*COMMANDS, "spark"]
    reasons: list[str] = []
    rows = []
    for cell, what in CELLS.items():
        row = [what]
        for command in commands:
            lacks = {"spark": SPARK_LACKS.get(cell), **LACKS.get(cell, {})}
            reason = lacks.get(command.rpartition("--")[2])
            if reason is not None and reason not in reasons:
                reasons.append(reason)
            row.append("x" if reason is None else f"({reasons.index(reason) + 1})")
        rows.append(row)
    below = [f"({number}) {reason}" for number, reason in enumerate(reasons, 1)]
    return "\n\n".join([table(["", *(f"`{name}`" for name in commands)], rows), *below])


def page() -> str:
    """Return the page with its generated tables."""
    text = PAGE.read_text(encoding="utf-8")
    for name, made in (("verbs", verbs()), ("promises", promises())):
        begin, end = MARKS[name], MARKS[name].replace("<!-- ", "<!-- /")
        head, _, rest = text.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            raise SystemExit(f"{PAGE.name} has no {begin}")
        text = f"{head}{begin}\n{made}\n{end}{tail}"
    return text


def main() -> None:
    made = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(made, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != made:
        raise SystemExit(f"{PAGE.name} is not what the code says; run `make docs`")


if __name__ == "__main__":
    main()
