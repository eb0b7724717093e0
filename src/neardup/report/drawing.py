"""What the figures share: colours, axes, legends, and the words that go with each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np
from matplotlib.ticker import Formatter, MaxNLocator, PercentFormatter

from neardup.core.tune import candidate_probability
from neardup.report.figures import INK, Chart, style
from neardup.report.numbers import percent, short

__all__ = [
    "COLOURS",
    "FINE",
    "SIMILARITY",
    "ShortFormatter",
    "count_axis",
    "found",
    "line",
    "new_axes",
    "nothing",
    "probabilities",
    "put_legend",
    "share_axes",
    "styled",
    "threshold_line",
    "told",
]

P = ParamSpec("P")

# Close to blue, vermilion, green and purple of Okabe and Ito, and a grey; each has a contrast of
# 3 and more to white and to near black.
COLOURS = ("#1f80c0", "#d55e00", "#009e73", "#c070a0", "#7f7f7f")
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 2, 1.5, 2)), (0, (9, 3)))
SIMILARITY = "similarity of a pair (Jaccard)"
#: Where curves are computed.
FINE = np.linspace(0, 1, 401)


def styled(make: Callable[P, Chart]) -> Callable[P, Chart]:
    """Let a function draw in our style."""

    @functools.wraps(make)
    def inside(*args: P.args, **more: P.kwargs) -> Chart:
        with style():
            return make(*args, **more)

    return inside


class ShortFormatter(Formatter):
    """Ticks as `neardup.report.numbers.short` writes numbers."""

    def __call__(self, value: float, _: int | None = None) -> str:
        return short(value)


def new_axes(heading: str, x: str, y: str, legend: bool = False) -> tuple[Chart, Any]:
    """Return a figure with one pair of axes, and room for a legend below."""
    figure = Chart(figsize=(6.2, 4.8 if legend else 4.2), layout="constrained", heading=heading)
    axes = figure.subplots()
    axes.set(title=heading, xlabel=x, ylabel=y)
    return figure, axes


def line(k: int) -> dict[str, Any]:
    """Return how the k-th line looks: told apart by colour, and by dashes."""
    return {"color": COLOURS[k], "linestyle": _DASHES[k]}


def probabilities(num_bands: int, rows: int) -> np.ndarray:
    """Return float64[401]: P(candidate) at `FINE`."""
    return np.array([candidate_probability(s, num_bands, rows) for s in FINE])


def found(similarity: float, bands: tuple[int, int]) -> str:
    """Return P(candidate) in percent."""
    return percent(candidate_probability(float(similarity), *bands))


def share_axes(axes: Any) -> None:
    """Let both axes go from 0 to 1, the second one in percent."""
    axes.set_xlim(0, 1.01)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))


def threshold_line(axes: Any, edge_threshold: float | None) -> None:
    """Draw the edge threshold, if there is one."""
    if edge_threshold is not None:
        axes.axvline(
            edge_threshold,
            color=INK,
            linewidth=1.4,
            linestyle=(0, (3, 2)),
            label=f"edge threshold {edge_threshold:g}",
        )


def count_axis(axes: Any, counts: np.ndarray, even: bool = False) -> None:
    """Let the second axis hold counts: logarithmic where small ones would not be seen, else.

    Args:
        counts: What is drawn.
        even: Never logarithmic.
    """
    some = counts[counts > 0]
    if len(some) and some.max() > 300 * some.min() and not even:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter("")
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_formatter(ShortFormatter())


def put_legend(figure: Chart, *axes: Any) -> None:
    """Put one legend of all that has a label below the axes."""
    handles, labels = [], []
    for one in axes:
        more = one.get_legend_handles_labels()
        handles += more[0]
        labels += more[1]
    long = sum(map(len, labels)) > 48
    if labels:
        figure.legend(
            *(handles, labels),
            loc="outside lower center",
            ncols=2 if long else len(labels),
            handlelength=2.8,
        )


def nothing(figure: Chart, axes: Any, words: str) -> Chart:
    """Say in place of a drawing that there is nothing to draw."""
    axes.set(xscale="linear", yscale="linear", xticks=[], yticks=[])
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=INK)
    return told(figure, [words])


def told(figure: Chart, says: Sequence[str]) -> Chart:
    """Give the figure its text alternative."""
    figure.alternative = f"{figure.heading}: {'; '.join(says)}."
    return figure
