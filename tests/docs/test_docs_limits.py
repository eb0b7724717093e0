"""Each limit in the documentation is the constant in the code that it names."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "running.md"
ROW = re.compile(r"\| (.+) \| ([\d,]+) \| `([\w.]+)` \|")


def limits() -> list[tuple[str, int, str]]:
    section = PAGE.read_text(encoding="utf-8").partition("## Limits\n")[2]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    found = [ROW.fullmatch(row) for row in rows]
    assert len(rows) > 10 and all(found), rows
    return [(m[1], int(m[2].replace(",", "")), m[3]) for m in found if m]


@pytest.mark.parametrize(("what", "value", "name"), limits())
def test_the_limit_is_that_of_the_code(what: str, value: int, name: str) -> None:
    assert pkgutil.resolve_name(f"neardup.{name}") == value, what
