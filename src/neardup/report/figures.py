"""Figures as objects, as inline SVG for pages, and as files."""

from __future__ import annotations

import contextlib
import hashlib
import html
import io
import os
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from neardup.errors import SpecError
from neardup.report.outfile import check_file, write_file
from neardup.report.svg import tidy

__all__ = ["ENDINGS", "INK", "Chart", "alternative", "check_path", "save", "style", "to_svg"]

#: Files that `save` can write.
ENDINGS = (".svg", ".png", ".html")
#: Colour of text and axes; inline SVG has ``currentColor`` in its place. Nothing else has it.
INK = "#1b1f24"

_RC: dict[str, Any] = {
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.labelsize": 12,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.alpha": 0.18,
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.7,
    "axes.formatter.useoffset": False,
    # Text as outlines: drawn alike wherever it is opened, whichever fonts are there.
    "svg.fonttype": "path",
    "svg.hashsalt": "neardup",
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "grid.color"), INK
    ),
    **dict.fromkeys(("xtick.color", "ytick.color", "hatch.color", "patch.edgecolor"), INK),
}
_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif;
  background: #fff; color: #1b1f24; }
figure { margin: 0; }
svg { display: block; width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #15181c; color: #e3e6ea; } }
"""


class Chart(Figure):
    """A Matplotlib figure that says what it shows, and that notebooks draw without pyplot.

    Attributes:
        heading: What it shows, in a few words.
        alternative: What is to be seen in it, in one or two sentences, for those who can't see it.
    """

    def __init__(self, *args: Any, heading: str = "", alternative: str = "", **more: Any) -> None:
        super().__init__(*args, **more)
        FigureCanvasAgg(self)
        self.heading = heading
        self.alternative = alternative

    def _repr_html_(self) -> str:
        return to_svg(self)

    def _repr_png_(self) -> bytes:
        return _png(self)


def alternative(figure: Figure) -> str:
    """Return the text alternative of a figure that `neardup.report.charts` made; else ``""``."""
    return str(getattr(figure, "alternative", ""))


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Draw in our style, whatever the user's settings of Matplotlib are; they are put back."""
    ours = {
        name: value
        for name, value in dict.items(matplotlib.rcParamsDefault)
        if not name.startswith(("backend", "interactive", "toolbar", "webagg", "timezone"))
    }
    with matplotlib.rc_context():
        dict.update(matplotlib.rcParams, ours)
        matplotlib.rcParams.update(_RC)
        yield


def to_svg(figure: Figure, standalone: bool = False) -> str:
    """Return a figure as one ``<svg>`` element, to be put into a page.

    It has ``role="img"``, a title and a description. Its background is transparent, and text and
    axes have the colour of the text around it, so that it can be read on light and on dark pages.
    It holds no style sheet, no style attribute, no script and no reference to anything elsewhere.
    Its ids begin with a digest of what it shows, so that several can be in one page. Equal figures
    give equal text.

    Args:
        figure: From `neardup.report.charts`, or any other Matplotlib figure.
        standalone: For a file of its own: dark ink on a white background.
    """
    drawn = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with style():
        figure.savefig(
            drawn,
            format="svg",
            metadata=nothing,
            **({"facecolor": "white"} if standalone else {"transparent": True}),
        )
    return tidy(
        drawn.getvalue(),
        title=str(getattr(figure, "heading", "")),
        description=alternative(figure),
        colours={} if standalone else {INK: "currentColor"},
    )


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file, which appears as a whole; one that exists is replaced.

    Args:
        figure: From `neardup.report.charts`, or any other Matplotlib figure.
        path: ``.svg``, ``.png`` (200 dots per inch), or ``.html`` for a page with the figure and
            its text alternative, light or dark as the reader's system is.

    Returns:
        The path.

    Raises:
        SpecError: Another ending.
        OutputError: The file can't be written.
    """
    path = check_path(path)
    kind = path.suffix.lower()
    if kind == ".png":
        data = _png(figure, dpi=200)
    elif kind == ".svg":
        data = ('<?xml version="1.0" encoding="utf-8"?>\n' + to_svg(figure, True)).encode()
    else:
        data = _page(figure).encode()
    write_file(path, data)
    return path


def check_path(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """Return the path if `save` can write there, as far as can be told; to be asked before work.

    Args:
        path: Where the figure is to go.
        inputs: Files that are never replaced.

    Raises:
        SpecError: The ending is not one of `ENDINGS`.
        OutputError: As for `neardup.report.outfile.check_file`.
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise SpecError(
            f"no figure can be written as {path.name!r}", "known endings are " + ", ".join(ENDINGS)
        )
    return check_file(path, inputs)


def _png(figure: Figure, dpi: float = 110) -> bytes:
    drawn = io.BytesIO()
    with style():
        figure.savefig(drawn, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    return drawn.getvalue()


def _page(figure: Figure) -> str:
    heading = html.escape(str(getattr(figure, "heading", "")) or "Figure")
    digest = b64encode(hashlib.sha256(_PAGE_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{heading}</h1>\n<figure>\n{to_svg(figure)}\n"
        f"<figcaption>{html.escape(alternative(figure))}</figcaption>\n</figure>\n</body>\n</html>\n"
    )
