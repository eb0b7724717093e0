"""Charts over similarity, each a function from plain numbers to a Matplotlib figure.

They are made without pyplot: no window, no global state. Colours can be distinguished by those who
see few of them, and lines differ in dashes too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from neardup.sketch.bands import candidate_probability

__all__ = ["drawn", "new_axes", "observed_curve", "s_curves", "save", "similarity_histogram"]

Bands = tuple[int, int]
#: Colour of text and axes.
_INK = "#1b1f24"
# Close to blue, vermilion and green of Okabe and Ito, and a grey; each has a contrast of 3 and more
# to white.
_COLOURS, _GREY = ("#1f80c0", "#d55e00", "#009e73"), "#7f7f7f"
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.3)))
_SIMILARITY, _CANDIDATE = "similarity of a pair (Jaccard)", "P(candidate)"
#: Where S-curves are computed.
_FINE = np.linspace(0, 1, 401)
#: Draws in our style, whatever the settings of Matplotlib are; they are put back.
_style = partial(matplotlib.style.context, ["default", Path(__file__).with_name("chart.mplstyle")])


#: Has a function draw in our style.
drawn = _style()


@_style()
def save(chart: Figure, path: Path) -> None:
    """Write a chart as SVG or PNG, the same for equal charts."""
    about = ("Date", "Creator", "Format", "Type") if path.suffix == ".svg" else ("Software",)
    chart.savefig(path, facecolor="white", dpi=110, metadata=dict.fromkeys(about))


@_style()
def s_curves(choices: Sequence[Bands], point: tuple[float, float]) -> Figure:
    """Draw P(candidate) by similarity for some bands and rows, and a point that is asked for.

    Two regions of the first choice are shaded: missed pairs above the curve from the point on, and
    below it, up to there, pairs that are compared in vain.
    """
    chart, axes = new_axes("Which pairs become candidates", _SIMILARITY, _CANDIDATE)
    curve = candidate_probability(_FINE, *choices[0])
    for colour, hatch, limit, where, label in (
        (_COLOURS[1], "//", 1, point[0] <= _FINE, "missed (false negatives)"),
        (_COLOURS[0], "\\\\", 0, point[0] >= _FINE, "in vain (false positives)"),
    ):
        look = {"facecolor": colour, "edgecolor": colour, "alpha": 0.35, "linewidth": 0}
        axes.fill_between(_FINE, limit, curve, where=where, hatch=hatch, label=label, **look)
    for k, bands in enumerate(choices):
        _s_curve(axes, k, bands, "{} bands of {}")
    look = {"ms": 10, "mew": 2, "mfc": "none", "mec": _INK, "clip_on": False}
    axes.plot(*point, "^", label="at least, asked for", **look)
    return _finished(chart, shares=True)


@_style()
def observed_curve(audit: Mapping[str, Any]) -> Figure:
    """Draw which share of the pairs shares a bucket, by similarity, next to the S-curve."""
    heading = "Pairs that share a bucket, predicted and observed"
    chart, axes = new_axes(heading, _SIMILARITY, "share of pairs that share a bucket")
    bands = audit["bands"]["num_bands"], audit["bands"]["rows"]
    _s_curve(axes, 0, bands, "predicted, {} bands of {}")
    look: dict[str, Any] = {"color": _INK, "linewidth": 1.4, "linestyle": (0, (3, 2))}
    axes.axvline(audit["threshold"], label=f"threshold {audit['threshold']:g}", **look)
    columns = ("similarity", "observed", "observed_low", "observed_high")
    x, y, low, high = (np.array([line[of] for line in audit["curve"]]) for of in columns)
    error = np.maximum(0, [y - low, high - y])
    look = {"fmt": "o", "color": _COLOURS[1], "ms": 6, "capsize": 4, "linewidth": 1.6}
    axes.errorbar(x, y, error, label="observed, with 95 % interval", **look)
    return _finished(chart, shares=True)


@_style()
def similarity_histogram(
    counts: Sequence[int], candidates: Callable[[np.ndarray], np.ndarray]
) -> Figure:
    """Draw how many pairs of records have which similarity, and P(candidate) over it.

    ``counts`` are pairs in classes of equal width from 0 to 1; their axis is logarithmic from 1 on.
    """
    chart, axes = new_axes("All pairs by similarity", "similarity of two records", "pairs")
    edges = np.linspace(0, 1, len(counts) + 1)
    look = {"width": edges[1], "align": "edge", "color": _COLOURS[0], "alpha": 0.6}
    axes.bar(edges[:-1], counts, label="pairs", **look)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_xlim(0, 1)
    other = axes.twinx()
    other.plot(_FINE, candidates(_FINE), **_line(1), label=_CANDIDATE)
    other.set(ylabel=_CANDIDATE, ylim=(0, 1.02))
    return _finished(chart)


def new_axes(heading: str, x: str, y: str) -> tuple[Figure, Any]:
    """Return a chart with axes that have these names."""
    chart = Figure(figsize=(6.2, 4.8), layout="constrained")
    axes = chart.subplots()
    axes.set(title=heading, xlabel=x, ylabel=y)
    return chart, axes


def _line(k: int) -> dict[str, Any]:
    """Return how the k-th line looks: distinguished by colour, and by dashes."""
    return {"color": _COLOURS[k], "linestyle": _DASHES[k]}


def _s_curve(axes: Any, k: int, bands: Bands, label: str) -> None:
    axes.plot(_FINE, candidate_probability(_FINE, *bands), **_line(k), label=label.format(*bands))


def _finished(chart: Figure, shares: bool = False) -> Figure:
    """Put one legend below the axes; both go from 0 to 1 if they have ``shares``."""
    if shares:
        axes: Any = chart.axes[0]
        axes.set(xlim=(0, 1.01), ylim=(0, 1.02))
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    handles: list[Any] = []
    labels: list[str] = []
    for axes in chart.axes:
        handles += axes.get_legend_handles_labels()[0]
        labels += axes.get_legend_handles_labels()[1]
    columns = 2 if sum(map(len, labels)) > 48 else len(labels)
    chart.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=2.8)
    return chart
