"""Tables, figures and paragraphs as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

__all__ = ["count", "figure", "per_cent", "seconds", "table", "wrapped"]

_WIDTH = 100


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first column is left-aligned, the others right."""
    rule = ["---", *("--:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def figure(name: str, alt: str) -> str:
    """Return an image, with a link to it as PNG."""
    return f"![{alt}]({name}.svg)\n\n[as PNG]({name}.png)"


def wrapped(text: str) -> str:
    """Break paragraphs and items of lists into lines of 100 characters; leave all else.

    >>> wrapped("one\\ntwo\\n\\n| a |\\n| --- |")
    'one two\\n\\n| a |\\n| --- |'
    """
    blocks = []
    for block in text.split("\n\n"):
        if block.startswith("* "):
            items = ("* " + item for item in block.removeprefix("* ").split("\n* "))
            blocks.append("\n".join(_filled(item, "  ") for item in items))
        elif block.startswith(("|", "!", "#")):
            blocks.append(block)
        else:
            blocks.append(_filled(block, ""))
    return "\n\n".join(blocks)


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


def seconds(value: float) -> str:
    """Return a time of seconds.

    >>> seconds(0.4567), seconds(12.345)
    ('0.46', '12.3')
    """
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"
