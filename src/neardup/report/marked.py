"""Differences of two texts as one text in which they are marked, for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterable

from neardup.report.differences import Difference
from neardup.report.visible import visible

__all__ = ["LEGEND", "marked"]

_RED, _GREEN, _PLAIN = "\x1b[9;31m", "\x1b[4;32m", "\x1b[0m"
#: What the marks mean, without colour and with it.
LEGEND = {
    False: "[-only in the first-] {+only in the second+}",
    True: f"{_RED}only in the first{_PLAIN} {_GREEN}only in the second{_PLAIN}",
}


def marked(parts: Iterable[Difference], colour: bool) -> str:
    """Return both texts as one: what only the first has comes before what the second has there.

    Args:
        parts: From `neardup.differences`.
        colour: Mark by colours, strokes and lines, not by brackets.
    """
    shown = []
    for part in parts:
        if part.op == "equal":
            shown.append(visible(part.text_a))
            continue
        for text, opening, closing, paint in (
            (part.text_a, "[-", "-]", _RED),
            (part.text_b, "{+", "+}", _GREEN),
        ):
            if text and colour:
                shown.append(_painted(visible(text), paint))
            elif text:
                shown.append(opening + visible(text) + closing)
    return "".join(shown)


def _painted(text: str, paint: str) -> str:
    """Each line by itself, as pagers want it, with its end to be seen."""
    return "\n".join(
        f"{paint}{line}{_PLAIN}" if line else "" for line in text.replace("\n", "↵\n").split("\n")
    )
