"""Charts drawn by Matplotlib."""

from __future__ import annotations

from typing import Any

from neardup.errors import DependencyError
from neardup.values.shown import Chart, Curve, Curves, CurveSplit
from neardup.values.visible import name

_COLOURS = ("#2a9d8f", "#e76f51", "#264653", "#8c4a78")
#: Characters of a label, at most.
_LABEL = 40


def draw(chart: Chart | Curves, ax: Any = None) -> Any:
    """Draw a chart on axes, or on new ones, and return them.

    Raises:
        DependencyError: Matplotlib is not installed.
    """
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise DependencyError(
                "Matplotlib is not installed", "pip install matplotlib"
            ) from error
        size = (7, 1 + 0.35 * len(chart.bars)) if isinstance(chart, Chart) else (7, 4)
        ax = pyplot.subplots(figsize=size, layout="constrained")[1]
    # A notebook shows the figure, and would show the axes as text below it.
    ax._ipython_display_ = lambda **_: None
    if isinstance(chart, Chart):
        _bars(chart, ax)
    else:
        _curves(chart, ax)
    ax.set_title(_plain(chart.title), loc="left")
    return ax


def _bars(chart: Chart, ax: Any) -> None:
    rows = range(len(chart.bars))
    ax.barh(rows, [bar.share for bar in chart.bars], color=_COLOURS[0])
    for row, bar in zip(rows, chart.bars, strict=True):
        ax.annotate(
            _plain(bar.note), (bar.share, row), (4, 0), textcoords="offset points", va="center"
        )
        if bar.mark is not None:
            ax.plot([bar.mark] * 2, [row - 0.4, row + 0.4], color=_COLOURS[1])
    ax.set_yticks(rows, [_plain(name(bar.label, _LABEL)) for bar in chart.bars])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xticks([])
    ax.set_xlim(0, 1.45)


def _curves(chart: Curves, ax: Any) -> None:
    for number, one in enumerate(chart.curves):
        colour = _COLOURS[number % len(_COLOURS)]
        heights = [float("nan") if value is None else value for value in one.heights]
        # Between two gaps there is no line, only its point.
        style = "o" if one.points else ".-" if None in one.heights else "-"
        ax.plot(one.at, heights, style, color=colour, label=_plain(one.name))
    if chart.split is not None:
        _areas(chart.curves[0], chart.split, ax)
    if len(chart.curves) > 1 or chart.split is not None:
        ax.legend()
    if chart.ticks:
        ax.set_xticks([at for at, _ in chart.ticks], [_plain(label) for _, label in chart.ticks])
    ax.set_xlabel(_plain(chart.across))
    ax.set_ylabel(_plain(chart.up))
    if chart.logarithmic:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)


def _areas(curve: Curve, split: CurveSplit, ax: Any) -> None:
    before, behind = ([sign * (at - split.at) <= 0 for at in curve.at] for sign in (1, -1))
    look = {"alpha": 0.5, "linewidth": 0}
    ax.fill_between(
        curve.at, curve.heights, where=before, label=split.below, color="#e9c46a", **look
    )
    ax.fill_between(
        curve.at, curve.heights, 1, where=behind, label=split.above, color=_COLOURS[1], **look
    )
    ax.axvline(split.at, color=_COLOURS[2], linestyle=":")


def _plain(text: str) -> str:
    """Keep a text from being read as a formula."""
    return text.replace("$", r"\$")
