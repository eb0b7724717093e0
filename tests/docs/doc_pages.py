"""The pages of the documentation, and what is in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Written by `make experiments`, and tested with the experiments.
PAPER = DOCS / "paper"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.rglob("*.md")),
    ROOT / "bench" / "README.md",
]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
_GENERATED = re.compile(r"^<!-- ::: .*?^<!-- /::: -->$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")


class Block(NamedTuple):
    """A block of code: its language, its text, and the line of the page that it begins in."""

    language: str
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


def name(page: Path) -> str:
    """Return the path of a page, from the top of the project."""
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """Return a page without its blocks, and without the docstrings of a page of the reference."""
    return FENCE.sub("", _GENERATED.sub("", page.read_text(encoding="utf-8")))


def section(page: str, title: str) -> str:
    """Return the part of a page of the documentation from a heading to the next of its level."""
    text = (DOCS / page).read_text(encoding="utf-8")
    level = title.partition(" ")[0]
    _, found, rest = text.partition(f"\n{title}\n")
    assert found, f"{page} has no {title}"
    return re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.M)[0]
