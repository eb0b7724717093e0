"""An explanation, or a comparison of two texts, as it is shown: on a terminal, and as a page."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from neardup.report.differences import Difference, Fold, differences, folded
from neardup.report.numbers import counted
from neardup.report.visible import html_page, visible

_RED, _GREEN, _PLAIN = "\x1b[9;31m", "\x1b[4;32m", "\x1b[0m"


@dataclass(frozen=True)
class View:
    """What came out in a sentence, notes with a label each, and none, one or two named texts."""

    head: str
    notes: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    texts: tuple[str, ...] = ()

    @functools.cached_property
    def parts(self) -> list[Difference]:
        """The differences of the two texts; nothing without two."""
        return differences(*self.texts) if len(self.texts) == 2 else []

    def folded(self, context: int | None) -> Iterator[Difference | Fold]:
        return folded(self.parts, context)


def render(view: View, colour: bool = False, context: int | None = None) -> str:
    """Return the headline, the notes, and the texts with their differences marked."""
    width = max((len(label) for label, _ in view.notes), default=0)
    lines = [visible(view.head)]
    lines += [f"{label:<{width}}  {visible(note)}" for label, note in view.notes]
    if any(part.op != "equal" for part in view.parts):
        legend = f"{_only('only in the first', 0, colour)} {_only('only in the second', 1, colour)}"
        shown = (_marked(part, colour) for part in view.folded(context))
        lines += ["", legend, "", "".join(shown)]
    elif view.texts:
        lines += ["", visible(view.texts[0])]
    return "\n".join(lines)


def _marked(part: Difference | Fold, colour: bool) -> str:
    """Return a part of both texts: what only the first has comes before what the second has."""
    if isinstance(part, Fold):
        return f"\n[... {counted(part.words, 'equal word')} ...]\n"
    if part.op == "equal":
        return visible(part.text_b)
    return _only(part.text_a, 0, colour) + _only(part.text_b, 1, colour)


def _only(text: str, side: int, colour: bool) -> str:
    """Return what only one text has, marked; nothing without text."""
    text = visible(text)
    if not colour:
        return text and ("[-", "{+")[side] + text + ("-]", "+}")[side]
    # Each line is painted by itself, as pagers want it, and its end is visible.
    paint = (_RED, _GREEN)[side]
    lines = text.replace("\n", "↵\n").split("\n")
    return "\n".join(line and f"{paint}{line}{_PLAIN}" for line in lines)


def page(view: View, context: int | None = None) -> str:
    """Return a page with a headline, notes, and the texts with what differs marked in each."""
    parts, sides = list(view.folded(context)), []
    for side, text in enumerate(view.texts):
        sides.append((view.names[side], [_of_side(part, side) for part in parts] or [("", text)]))
    return html_page("views.html.jinja", ["plain.css", "views.css"], view=view, sides=sides)


def _of_side(part: Difference | Fold, side: int) -> tuple[str, str]:
    """Return how a part of one text is shown (``""``, ``del``, ``ins``, a count), and the text."""
    text = part.text_b if side else part.text_a
    if isinstance(part, Fold):
        return counted(part.words, "equal word"), text
    return "" if part.op == "equal" else ("del", "ins")[side], text
