"""The figures: what was counted or measured, drawn; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, PercentFormatter

__all__ = [
    "accuracy_figure",
    "excluded_figure",
    "flush_figure",
    "memory_figure",
    "modularity_figure",
    "save",
    "time_figure",
]

#: Colours that people with any kind of sight tell apart (Okabe and Ito).
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PINK = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
_ROWS = {
    1: (VERMILION, "o"),
    2: (ORANGE, "s"),
    3: (GREEN, "^"),
    4: (BLUE, "D"),
    5: (PINK, "v"),
}
_STORES = {
    "memory": (BLACK, "o", "-"),
    "Design 1, SQLite": (VERMILION, "s", "-"),
    "Design 2, SQLite": (BLUE, "^", "-"),
    "Design 1, Cassandra": (ORANGE, "s", "--"),
    "Design 2, Cassandra": (SKY, "^", "--"),
}
_METHODS = {
    "bounded": (BLUE, "o", "-", 10.0),
    "bounded, second round": (GREEN, "s", "-", 6.5),
    "bounded-mst": (ORANGE, "D", "--", 5.0),
    "bounded-mst, second round": (BLACK, "x", ":", 6.5),
    "louvain, edges": (VERMILION, "^", ":", 6.5),
    "louvain, candidates": (PINK, "v", "-", 6.5),
}
_STYLE = {
    "font.size": 13,
    "axes.titlesize": 13,
    "axes.labelsize": 13,
    "legend.fontsize": 12,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "neardup",
    "savefig.dpi": 140,
    "figure.facecolor": "white",
}


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as SVG and PNG; the same figure gives the same bytes."""
    with mpl.rc_context(_STYLE):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})


def _styled(make: Callable[..., Figure]) -> Callable[..., Figure]:
    def inside(*args: Any) -> Figure:
        with mpl.rc_context(_STYLE):
            return make(*args)

    return inside


def _panels(count: int, width: float, height: float, sharey: bool = False) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, count, squeeze=False, sharey=sharey)[0]


def _thousands(axis: Any) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _edge_thresholds(panel: Any, values: Sequence[float]) -> None:
    panel.set_xticks(values, [f"{value:.2f}" for value in values], fontsize=11)
    panel.set_xlabel("edge threshold")


@_styled
def accuracy_figure(lines: Sequence[dict[str, Any]], title: str, edge_threshold: float) -> Figure:
    """Draw false candidates and missed pairs against bands, a line for each number of rows."""
    figure, axes = _panels(2, 10, 4.3)
    shown = [line for line in lines if line["edge_threshold"] == edge_threshold]
    for panel, what, label in (
        (axes[0], "false", "false candidates (linear below 1)"),
        (axes[1], "missed", "missed pairs (linear below 1)"),
    ):
        for rows, (colour, marker) in _ROWS.items():
            chosen = [line for line in shown if line["rows"] == rows]
            bands = [line["bands"] for line in chosen]
            panel.plot(bands, [line[what] for line in chosen], marker, color=colour, ms=6)
            panel.plot(bands, [line[f"predicted_{what}"] for line in chosen], "--", color=colour)
        panel.set_yscale("symlog", linthresh=1)
        top = max(max(line[what], line[f"predicted_{what}"]) for line in shown)
        panel.set_ylim(-0.05, max(10, 1.6 * top))
        panel.set_xlim(5, 105)
        panel.set_xlabel("bands")
        panel.set_ylabel(label)
        _thousands(panel.yaxis)
    handles = [
        Line2D([], [], color=colour, marker=marker, ls="", label=f"{rows} row{'s' * (rows > 1)}")
        for rows, (colour, marker) in _ROWS.items()
    ]
    handles += [
        Line2D([], [], color="#666666", marker="o", ls="", label="counted"),
        Line2D([], [], color="#666666", ls="--", label="predicted"),
    ]
    figure.legend(handles=handles, loc="outside right center", frameon=False)
    figure.suptitle(f"{title}, edge threshold {edge_threshold}")
    return figure


@_styled
def time_figure(lines: Sequence[dict[str, Any]], what: str, label: str) -> Figure:
    """Draw the seconds of whole jobs, a line for each store."""
    figure, (panel,) = _panels(1, 7.5, 4.2)
    for name, (colour, marker, style) in _STORES.items():
        chosen = [line for line in lines if line["store"] == name]
        if chosen:
            x, y = [line[what] for line in chosen], [line["seconds"] for line in chosen]
            panel.plot(x, y, marker=marker, color=colour, ls=style, label=name)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks(sorted({line[what] for line in lines}))
    panel.minorticks_off()
    _thousands(panel.xaxis)
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.set_xlabel(label)
    panel.set_ylabel("whole job (seconds)")
    figure.legend(loc="outside right center", frameon=False)
    return figure


@_styled
def flush_figure(steps: dict[str, list[float]], step: int) -> Figure:
    """Draw the time of each step of notes, a panel for each store."""
    names = [name for name in _STORES if name in steps]
    figure = Figure(figsize=(8, 1.2 + 1.4 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), 1, squeeze=False, sharex=True)[:, 0]
    for panel, name in zip(panels, names, strict=True):
        colour = _STORES[name][0]
        notes = [step * (i + 1) for i in range(len(steps[name]))]
        panel.plot(notes, [1000 * seconds for seconds in steps[name]], color=colour, lw=1.3)
        panel.set_title(name, loc="left")
        panel.set_yscale("log")
        panel.set_ylim(*_decades(steps.values()))
        panel.yaxis.set_major_locator(LogLocator(numticks=6))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    panels[-1].set_xlabel("notes signed")
    panels[-1].set_xlim(left=0)
    _thousands(panels[-1].xaxis)
    figure.supylabel(f"milliseconds for {step} notes", fontsize=13)
    return figure


def _decades(values: Iterable[list[float]]) -> tuple[float, float]:
    """Return limits of milliseconds that all values lie between."""
    every = [1000 * value for some in values for value in some]
    return min(every) / 1.5, max(every) * 1.6


@_styled
def memory_figure(
    jobs: Sequence[dict[str, Any]], matrices: Sequence[dict[str, Any]], base: int
) -> Figure:
    """Draw peaks of anonymous memory: whole jobs, and the store by itself above an empty one."""
    figure, axes = _panels(2, 10.5, 4.3)
    for panel, lines, off in ((axes[0], jobs, 0), (axes[1], matrices, base)):
        for name, (colour, marker, style) in _STORES.items():
            chosen = [
                (line["notes"], (line["anonymous_bytes"] - off) / 1e6)
                for line in lines
                if line["store"] == name and line["anonymous_bytes"] is not None
            ]
            if chosen:
                x, y = zip(*chosen, strict=True)
                panel.plot(x, y, marker=marker, color=colour, ls=style)
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=0)
        panel.set_xlabel("notes")
        panel.set_ylabel("peak of anonymous memory (MB)")
        _thousands(panel.xaxis)
        _thousands(panel.yaxis)
        panel.locator_params(axis="x", nbins=5)
    axes[0].set_title("whole job")
    axes[1].set_title("store by itself, above an empty process")
    names = {line["store"] for line in (*jobs, *matrices)}
    handles = [
        Line2D([], [], color=colour, marker=marker, ls=style, label=name)
        for name, (colour, marker, style) in _STORES.items()
        if name in names
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


@_styled
def excluded_figure(
    lines: Sequence[dict[str, Any]], title: str, paper: dict[float, float]
) -> Figure:
    """Draw the share of candidate pairs that were not compared, with the paper's beside it."""
    figure, (panel,) = _panels(1, 7, 4.2)
    x = [line["edge_threshold"] for line in lines]
    y = [line["saved"] / line["candidates"] for line in lines]
    panel.plot(x, y, marker="o", color=BLUE, label=title)
    panel.plot(list(paper), list(paper.values()), "D", color=VERMILION, ms=8, label="paper")
    panel.set_ylim(0, max(0.7, 1.1 * max(y)))
    panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    _edge_thresholds(panel, x)
    panel.set_ylabel("candidate pairs not compared")
    panel.legend(frameon=False)
    return figure


@_styled
def modularity_figure(lines: Sequence[dict[str, Any]], title: str) -> Figure:
    """Draw modularity and clusters against the edge threshold, a line for each clustering."""
    figure, axes = _panels(2, 10, 4.6)
    for panel, what, label in (
        (axes[0], "modularity", "modularity, weighted by similarity"),
        (axes[1], "clusters_of_two_or_more", "clusters of two and more"),
    ):
        for name, (colour, marker, style, size) in _METHODS.items():
            chosen = [line for line in lines if line["method"] == name]
            x, y = [line["edge_threshold"] for line in chosen], [line[what] for line in chosen]
            hollow = {"mfc": "white"} if name == "bounded" else {}
            panel.plot(x, y, marker=marker, ms=size, color=colour, ls=style, label=name, **hollow)
        _edge_thresholds(panel, x)
        panel.set_ylabel(label)
    axes[1].set_ylim(bottom=0)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title)
    return figure
