"""Tables, charts and paragraphs as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

__all__ = ["chart", "count", "per_cent", "table", "with_links_to", "wrapped"]

_WIDTH = 100


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first column is left-aligned, the others right."""
    rule = ["---", *("--:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def chart(name: str, alt: str) -> str:
    """Return an image, with a link to it as PNG."""
    return f"![{alt}]({name}.svg)\n\n[as PNG]({name}.png)"


def with_links_to(folder: Path, text: str) -> str:
    """Keep links to files that are there, seen from a folder; of others leave the text.

    >>> with_links_to(Path("."), "see [this](no/such.md#part), ![a chart](no.svg)")
    'see this, ![a chart](no.svg)'
    """

    def kept(link: re.Match[str]) -> str:
        return link[0] if not link[2] or (folder / link[2]).exists() else link[1]

    return re.sub(r"(?<!!)\[([^]]+)\]\(([^)#]*)[^)]*\)", kept, text)


def wrapped(text: str) -> str:
    """Break paragraphs and items of lists into lines of 100 characters; leave all else.

    >>> wrapped("one\\ntwo\\n\\n| a |\\n| --- |")
    'one two\\n\\n| a |\\n| --- |'
    """
    found = []
    for section in text.split("\n\n"):
        if section.startswith("* "):
            items = ("* " + item for item in section.removeprefix("* ").split("\n* "))
            found.append("\n".join(_filled(item, "  ") for item in items))
        elif section.startswith(("|", "!", "#", "```")):
            found.append(section)
        else:
            found.append(_filled(section, ""))
    return "\n\n".join(found)


def _filled(text: str, indent: str) -> str:
    return textwrap.fill(
        " ".join(text.split()),
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def count(value: float | None) -> str:
    """Return a number with separators; a dash for none.

    >>> count(3398), count(None)
    ('3,398', '-')
    """
    return "-" if value is None else f"{value:,.0f}"


def per_cent(share: float) -> str:
    """Return a share in per cent.

    >>> per_cent(3398 / 6388)
    '53.2 %'
    """
    return f"{100 * share:.1f} %"
